// The page: inputs → address → requests → results.

import { hasKey, keepKey, latest, Problem } from "./api.js";
import * as calculator from "./calculator.js";
import { Chart } from "./chart.js";
import * as comparison from "./comparison.js";
import { byId, el, offer } from "./dom.js";
import { fillFields, markField, markFields, readFields } from "./fields.js";
import * as series from "./series.js";
import { alphas, chosenAlpha, fromQuery, toQuery } from "./state.js";
import { renderTable } from "./table.js";
import { initCopyLink, initTheme } from "./toolbar.js";
import { checkFields, MOST_SERIES } from "./validation.js";
import { loadModels } from "./voting.js";

const WAIT_MS = 150;
const ASK_KEY = "This service asks for an API key. It is kept until you close this tab.";
const EVIDENCE_FIELDS = ["p", "p_b", "count", "n", "failure"];

let state = fromQuery(location.search); // never changed, only replaced: a request keeps the one it was made for
const shown = { key: null, series: [], k: null, alpha: null, answer: null };
const chart = new Chart(byId("chart"), byId("chart-readout"), byId("chart-legend"));
const comparisonChart = new Chart(byId("comparison-chart"), byId("comparison-readout"));

// Requests. Each part shows its answer as it arrives. All fields are checked first; a part with a wrong field sends nothing.

const refresh = latest(async (signal) => {
  const now = state;
  const wrong = checkFields(now); // and what the service finds
  markFields(wrong);
  const part = (card, work) =>
    showBusy(card, signal, () => work(now, signal, wrong)).catch((error) => {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      report(error, wrong);
    });
  const calculated = part("calculator", calculate);
  await Promise.all([part("drawn", draw), calculated, calculated.then(() => part("comparison", compare))]);
  markFields(wrong);
  if (!wrong.has("notice")) byId("notice").hidden = true;
});

const plan = latest(
  async (signal, now, answer) => {
    const place = byId("plan");
    place.replaceChildren();
    await showBusy("plan", signal, async () => {
      const text = answer && (await calculator.describePlan(now, answer, signal));
      if (text) place.replaceChildren(el("h3", {}, "Votes needed"), el("p", { id: "samples" }, text));
    });
  },
  (problem) => byId("plan").replaceChildren(el("p", { className: "sub" }, problem.message)),
);

async function draw(now, signal, wrong) {
  const key = [now.k, now.alpha, now.d, now.r_max].join("|");
  if (shown.key !== key) {
    shown.key = null; // until the answer arrives, and if it is a problem, the old chart stays, dimmed
    if (!["k", "alpha", "r_max"].some((name) => wrong.has(name))) {
      shown.series = await series.loadSeries(now, signal);
      [shown.key, shown.k] = [key, now.k];
    }
  }
  showDrawn();
}

async function calculate(now, signal, wrong) {
  let answer = null;
  try {
    const query = isUsable(now, wrong, ["k", "d", ...EVIDENCE_FIELDS]) ? calculator.buildQuery(now) : null;
    if (query) answer = await calculator.loadRadius(query, signal);
  } finally {
    if (!signal.aborted) {
      [shown.answer, shown.alpha] = [answer, chosenAlpha(now)];
      byId("verdict").replaceChildren(...calculator.renderResult(answer, calculator.readEvidence(now)));
      plan(now, answer);
      showDrawn();
    }
  }
}

/** Whether these fields and the chosen α are right; other α may be wrong. */
function isUsable(now, wrong, fields) {
  const alpha = chosenAlpha(now);
  if (!alpha || fields.some((name) => wrong.has(name))) return false;
  return !wrong.has("alpha") || !checkFields({ ...now, alpha }).has("alpha");
}

async function compare(now, signal, wrong) {
  let answer = null;
  try {
    if (isUsable(now, wrong, ["k", "d"])) answer = await comparison.loadComparison(now, evidence(), signal);
  } finally {
    if (!signal.aborted) showComparison(answer, chosenAlpha(now));
  }
}

/** p, or the lower bound on it that the votes prove. */
const evidence = () => shown.answer && (shown.answer.p_lower ?? shown.answer.p);

async function showBusy(id, signal, work) {
  byId(id).setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    if (!signal.aborted) byId(id).removeAttribute("aria-busy");
  }
}

// Results.

function showDrawn() {
  byId("drawn").classList.toggle("stale", shown.key === null);
  if (!shown.series.length) return;
  byId("csv").disabled = byId("png").disabled = false;
  const isTable = state.view === "table";
  byId("chart-view").hidden = isTable;
  byId("table-view").hidden = !isTable;
  byId("table-view").replaceChildren(...(isTable ? [renderTable(shown.series, shown.k)] : []));
  if (shown.key === null) return;
  const named = shown.series.map(({ alpha, rows }) => ({ name: `α = ${alpha}`, rows }));
  const chosen = shown.series.findIndex(({ alpha }) => alpha === shown.alpha);
  const names = named.map(({ name }) => name).join("; ");
  byId("chart-summary").textContent = `K = ${shown.k}; ${names}; r from 0 to ${named[0].rows.length - 1}.`;
  chart.draw(named, { ...level(), chosen, radius: shown.answer?.radius ?? undefined });
}

function showComparison(answer, alpha) {
  byId("comparison-body").hidden = answer === null;
  if (answer === null) {
    const example = el("button", { type: "button", id: "example" }, "Show an example: K = 1, α = 4/5");
    example.addEventListener("click", () => show({ ...state, k: "1", alpha: "4/5", at: "4/5" }));
    byId("comparison-text").replaceChildren(comparison.APPLIES, " ", example);
    return;
  }
  byId("comparison-text").textContent = comparison.describe(answer, alpha);
  byId("comparison-radii").replaceChildren(...comparison.renderRadii(answer, shown.answer?.failure ?? null));
  byId("comparison-drawn").hidden = !answer.rows.length;
  if (answer.rows.length) comparisonChart.draw(comparison.buildSeries(answer, alpha), level());
}

/** The evidence as a line across a chart. */
function level() {
  const p = evidence();
  if (!p) return {};
  const short = p.length > 10 ? `${p.slice(0, 9)}…` : p;
  return { level: p, label: shown.answer.count === null ? `p = ${short}` : `p ≥ ${short}` };
}

/** The inputs that depend on others: a choice for each α, and the fields for a probability or for votes. */
function showChoices() {
  const kept = chosenAlpha(state);
  const focused = document.activeElement?.name === "at";
  const chips = alphas(state).slice(0, MOST_SERIES).map((alpha, index) => {
    const input = el("input", { type: "radio", name: "at", value: alpha, checked: alpha === kept });
    const chip = el("label", {}, input, el("span", {}, alpha));
    chip.style.setProperty("--chip", `var(--series-${index})`);
    return chip;
  });
  byId("at").replaceChildren(byId("at").querySelector("legend"), ...chips);
  if (focused) byId("at").querySelector(":checked")?.focus();
  byId("p-fields").hidden = state.mode !== "p";
  byId("votes-fields").hidden = state.mode !== "votes";
}

/** A problem goes next to its field; one that has none, or is about the API key, to the top. */
function report(problem, wrong) {
  const locked = problem.status === 401 || problem.status === 403;
  if (!locked && problem.field && markField(problem.field, problem.message)) {
    wrong.set(problem.field, problem.message);
    return;
  }
  wrong.set("notice", problem.message);
  const first = locked && !hasKey();
  byId("notice-text").textContent = first ? ASK_KEY : problem.message;
  byId("key-form").hidden = !locked;
  byId("retry").hidden = locked;
  byId("notice").hidden = false;
}

// Events.

let timer = 0;

function applyChange() {
  state = readFields(state.at);
  history.replaceState(null, "", toQuery(state) + location.hash);
  showChoices();
  clearTimeout(timer);
  timer = setTimeout(refresh, WAIT_MS);
}

/** Show another state, as if it had been typed. */
function show(other) {
  state = other;
  fillFields(state);
  showChoices();
  applyChange();
}

for (const id of ["noise", "evidence", "key-form"]) byId(id).addEventListener("submit", (event) => event.preventDefault());
for (const id of ["noise", "evidence", "view"]) byId(id).addEventListener("input", applyChange);
byId("key-form").addEventListener("submit", () => {
  keepKey(byId("api-key").value);
  refresh();
  loadModels();
});
byId("retry").addEventListener("click", () => refresh());
byId("csv").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([series.writeCsv(shown.series, shown.k)], { type: "text/csv" }));
  offer(`ellzero-thresholds-k${shown.k}.csv`, url);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
});
byId("png").addEventListener("click", async () => {
  offer(`ellzero-thresholds-k${shown.k}.png`, await chart.png(`What p must exceed to certify radius r, K = ${shown.k}`));
});
initCopyLink(() => location.origin + location.pathname + toQuery(readFields(state.at)));
initTheme(() => {
  chart.redraw();
  comparisonChart.redraw();
});

fillFields(state);
showChoices();
refresh();
loadModels();
