// The page: inputs → address → questions → what is shown.

import { hasKey, keepKey, latest, Problem } from "./api.js";
import * as calculator from "./calculator.js";
import { Chart } from "./chart.js";
import * as comparison from "./comparison.js";
import { byId, el, offer } from "./dom.js";
import { complain, fill, read, settle } from "./fields.js";
import * as series from "./series.js";
import { alphas, chosenAlpha, fromQuery, toQuery } from "./state.js";
import { table } from "./table.js";
import { linkButton, themeSwitch } from "./toolbar.js";
import { start as startVoting } from "./voting.js";

const WAIT_MS = 150;
const ASK_KEY = "This service asks for an API key. It is kept until this tab is closed.";
const FIELDS = ["k", "alpha", "d", "r_max", "p", "p_b", "count", "n", "failure"];

let state = fromQuery(location.search); // never changed, only replaced: a question keeps the one it was asked for
const shown = { key: null, series: [], k: null, alpha: null, answer: null };
const chart = new Chart(byId("chart"), byId("chart-readout"), byId("chart-legend"));
const comparisonChart = new Chart(byId("comparison-chart"), byId("comparison-readout"));

// Asking. Each part shows its answer as it comes; what it complains about stands by its field.

const refresh = latest(async (signal) => {
  const now = state;
  const wrong = new Set();
  const part = (card, work) =>
    busy(card, signal, () => work(now, signal)).catch((error) => {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      report(error, wrong);
    });
  const calculated = part("calculator", calculate);
  await Promise.all([part("drawn", draw), calculated, calculated.then(() => part("comparison", compare))]);
  settle(FIELDS.filter((name) => !wrong.has(name)));
  if (!wrong.has("notice")) byId("notice").hidden = true;
});

const plan = latest(
  async (signal, now, answer) => {
    const place = byId("plan");
    place.replaceChildren();
    await busy("plan", signal, async () => {
      const text = answer && (await calculator.samples(now, answer, signal));
      if (text) place.replaceChildren(el("h3", {}, "Samples"), el("p", { id: "samples" }, text));
    });
  },
  (problem) => byId("plan").replaceChildren(el("p", { className: "sub" }, problem.message)),
);

async function draw(now, signal) {
  const key = [now.k, now.alpha, now.d, now.r_max].join("|");
  if (shown.key !== key) {
    shown.key = null; // until the answer is there, and if it is a problem, the old chart stands, dimmed by its card
    shown.series = await series.load(now, signal);
    [shown.key, shown.k] = [key, now.k];
  }
  showDrawn();
}

async function calculate(now, signal) {
  let answer = null;
  try {
    const question = calculator.question(now);
    if (question) answer = await calculator.load(question, signal);
  } finally {
    if (!signal.aborted) {
      [shown.answer, shown.alpha] = [answer, chosenAlpha(now)];
      byId("verdict").replaceChildren(...calculator.verdict(answer, calculator.given(now)));
      plan(now, answer);
      showDrawn();
    }
  }
}

async function compare(now, signal) {
  let found = null;
  try {
    found = await comparison.load(now, evidence(), signal);
  } finally {
    if (!signal.aborted) showComparison(found, chosenAlpha(now));
  }
}

/** p, or what the votes prove of it. */
const evidence = () => shown.answer && (shown.answer.p_lower ?? shown.answer.p);

async function busy(id, signal, work) {
  byId(id).setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    if (!signal.aborted) byId(id).removeAttribute("aria-busy");
  }
}

// Showing.

function showDrawn() {
  byId("drawn").classList.toggle("stale", shown.key === null);
  if (!shown.series.length) return;
  byId("csv").disabled = byId("png").disabled = false;
  const isTable = state.view === "table";
  byId("chart-view").hidden = isTable;
  byId("table-view").hidden = !isTable;
  byId("table-view").replaceChildren(...(isTable ? [table(shown.series, shown.k)] : []));
  if (shown.key === null) return;
  const named = shown.series.map(({ alpha, rows }) => ({ name: `α = ${alpha}`, rows }));
  const chosen = shown.series.findIndex(({ alpha }) => alpha === shown.alpha);
  const names = named.map(({ name }) => name).join("; ");
  byId("chart-summary").textContent = `K = ${shown.k}; ${names}; r from 0 to ${named[0].rows.length - 1}.`;
  chart.draw(named, { ...level(), chosen, radius: shown.answer?.radius ?? undefined });
}

function showComparison(found, alpha) {
  byId("comparison-body").hidden = found === null;
  if (found === null) {
    const example = el("button", { type: "button", id: "example" }, "Show it for K = 1, α = 4/5");
    example.addEventListener("click", () => show({ ...state, k: "1", alpha: "4/5", at: "4/5" }));
    byId("comparison-text").replaceChildren(comparison.APPLIES, " ", example);
    return;
  }
  byId("comparison-text").textContent = comparison.sentence(found, alpha);
  byId("comparison-radii").replaceChildren(...comparison.radii(found));
  byId("comparison-drawn").hidden = !found.rows.length;
  if (found.rows.length) comparisonChart.draw(comparison.series(found, alpha), level());
}

/** The evidence as a line across a chart. */
function level() {
  const p = evidence();
  if (!p) return {};
  const short = p.length > 10 ? `${p.slice(0, 9)}…` : p;
  return { level: p, label: shown.answer.count === null ? `p = ${short}` : `p ≥ ${short}` };
}

/** The inputs that depend on others: a chip for each α, and the fields of the evidence chosen. */
function showChoices() {
  const kept = chosenAlpha(state);
  const focused = document.activeElement?.name === "at";
  const chips = alphas(state).slice(0, series.MOST_SERIES).map((alpha, index) => {
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
  if (!locked && problem.field && complain(problem.field, problem.message)) {
    wrong.add(problem.field);
    return;
  }
  wrong.add("notice");
  const first = locked && !hasKey();
  byId("notice-text").textContent = first ? ASK_KEY : problem.message;
  byId("key-form").hidden = !locked;
  byId("retry").hidden = locked;
  byId("notice").hidden = false;
}

// Acting.

let timer = 0;

function changed() {
  state = read(state.at);
  history.replaceState(null, "", toQuery(state) + location.hash);
  showChoices();
  clearTimeout(timer);
  timer = setTimeout(refresh, WAIT_MS);
}

/** Show another state, as if it had been typed. */
function show(other) {
  state = other;
  fill(state);
  showChoices();
  changed();
}

for (const id of ["noise", "evidence", "key-form"]) byId(id).addEventListener("submit", (event) => event.preventDefault());
for (const id of ["noise", "evidence", "view"]) byId(id).addEventListener("input", changed);
byId("key-form").addEventListener("submit", () => {
  keepKey(byId("api-key").value);
  refresh();
  startVoting();
});
byId("retry").addEventListener("click", () => refresh());
byId("csv").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([series.csv(shown.series, shown.k)], { type: "text/csv" }));
  offer(`ellzero-thresholds-k${shown.k}.csv`, url);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
});
byId("png").addEventListener("click", async () => {
  offer(`ellzero-thresholds-k${shown.k}.png`, await chart.png(`What p must exceed to certify radius r, K = ${shown.k}`));
});
linkButton(() => location.origin + location.pathname + toQuery(read(state.at)));
themeSwitch(() => {
  chart.redraw();
  comparisonChart.redraw();
});

fill(state);
showChoices();
refresh();
startVoting();
