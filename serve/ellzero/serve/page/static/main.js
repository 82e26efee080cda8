// The page: fields → address → requests → results.

import { abortPrevious, hasKey, Problem, storeKey } from "./api.js";
import * as calculator from "./calculator.js";
import { Chart } from "./chart.js";
import * as comparison from "./comparison.js";
import { byId, downloadFile, el, formatInteger } from "./dom.js";
import { fillFields, markField, markFields, readFields } from "./fields.js";
import { formatRunsQuery, loadRuns, onRunsChanged, redrawRuns } from "./runs.js";
import { formatCsv, loadSeries } from "./series.js";
import { formatQuery, getAlpha, listAlphas, parseQuery } from "./state.js";
import { renderTable } from "./table.js";
import * as thresholdFigure from "./threshold_figure.js";
import { initCopyLink, initTheme } from "./toolbar.js";
import { checkFields, MOST_RADII, MOST_SERIES } from "./validation.js";
import { loadModels } from "./voting.js";

const TYPING_MS = 150;
const KEY_NEEDED = "This service requires an API key. It is kept until you close this tab.";
const EVIDENCE_FIELDS = ["p", "p_b", "count", "n", "failure"];

let state = parseQuery(location.search); // replaced, never changed: a request keeps the state that it was made for
const results = { key: null, series: [], k: null, alpha: null, answer: null };
const chart = new Chart(thresholdFigure, byId("chart"), byId("chart-readout"), byId("chart-legend"));
const comparisonChart = new Chart(thresholdFigure, byId("comparison-chart"), byId("comparison-readout"));

// Requests. All fields are checked first, and a card with a wrong field sends nothing. Each card shows its answer as soon
// as it arrives.

const refresh = abortPrevious(async (signal) => {
  const current = state;
  const messages = checkFields(current); // by field; the service may add more
  markFields(messages);
  const update = (card, work) =>
    showBusy(card, signal, () => work(current, signal, messages)).catch((error) => {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      showProblem(error, messages);
    });
  const calculation = update("calculator", updateCalculator);
  await Promise.all([
    update("thresholds", updateThresholds),
    calculation,
    calculation.then(() => update("comparison", updateComparison)),
  ]);
  markFields(messages);
  if (!messages.has("notice")) byId("notice").hidden = true;
});

const updatePlan = abortPrevious(
  async (signal, current, answer) => {
    const place = byId("plan");
    place.replaceChildren();
    await showBusy("plan", signal, async () => {
      const text = answer && (await calculator.describePlan(current, answer, signal));
      if (text) place.replaceChildren(el("h3", {}, "Votes needed"), el("p", { id: "samples" }, text));
    });
  },
  (problem) => byId("plan").replaceChildren(el("p", { className: "sub" }, problem.message)),
);

async function updateThresholds(current, signal, messages) {
  const key = [current.k, current.alpha, current.d, current.r_max].join("|");
  if (results.key !== key) {
    results.key = null; // the old chart stays, dimmed, until there is a new one
    if (!["k", "alpha", "r_max"].some((name) => messages.has(name))) {
      results.series = await loadSeries(current, signal);
      [results.key, results.k] = [key, current.k];
    }
  }
  showThresholds();
}

async function updateCalculator(current, signal, messages) {
  let answer = null;
  try {
    const query = isUsable(current, messages, ["k", "d", ...EVIDENCE_FIELDS]) ? calculator.buildQuery(current) : null;
    if (query) answer = await calculator.loadRadius(query, signal);
  } finally {
    if (!signal.aborted) {
      [results.answer, results.alpha] = [answer, getAlpha(current)];
      byId("verdict").replaceChildren(...calculator.renderResult(answer, calculator.readEvidence(current)));
      updatePlan(current, answer);
      showThresholds();
    }
  }
}

async function updateComparison(current, signal, messages) {
  let answer = null;
  try {
    if (isUsable(current, messages, ["k", "d"])) {
      answer = await comparison.loadComparison(current, getProbability(), signal);
    }
  } finally {
    if (!signal.aborted) showComparison(answer, getAlpha(current));
  }
}

/** Whether these fields and the selected α are right; other α may be wrong. */
function isUsable(current, messages, fields) {
  const alpha = getAlpha(current);
  if (!alpha || fields.some((name) => messages.has(name))) return false;
  return !messages.has("alpha") || !checkFields({ ...current, alpha }).has("alpha");
}

/** p, or the lower bound on it that the votes prove. */
const getProbability = () => results.answer && (results.answer.p_lower ?? results.answer.p);

async function showBusy(id, signal, work) {
  byId(id).setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    if (!signal.aborted) byId(id).removeAttribute("aria-busy");
  }
}

// Results.

function showThresholds() {
  byId("thresholds").classList.toggle("stale", results.key === null);
  if (!results.series.length) return;
  byId("csv").disabled = byId("png").disabled = false;
  const isTable = state.view === "table";
  byId("chart-view").hidden = isTable;
  byId("table-view").hidden = !isTable;
  byId("table-view").replaceChildren(...(isTable ? [renderTable(results.series, results.k)] : []));
  if (results.key === null) return;
  const series = results.series.map(({ alpha, rows }) => ({ name: `α = ${alpha}`, rows }));
  const selected = results.series.findIndex(({ alpha }) => alpha === results.alpha);
  const names = series.map(({ name }) => name).join("; ");
  byId("chart-summary").textContent = `K = ${results.k}; ${names}; r from 0 to ${series[0].rows.length - 1}.`;
  chart.draw(series, { ...buildLevel(), selected, radius: results.answer?.radius ?? undefined });
}

function showComparison(answer, alpha) {
  byId("comparison-body").hidden = answer === null;
  if (answer === null) {
    const example = el("button", { type: "button", id: "example" }, "Show an example: K = 1, α = 4/5");
    example.addEventListener("click", () => showState({ ...state, k: "1", alpha: "4/5", at: "4/5" }));
    byId("comparison-text").replaceChildren(comparison.REQUIREMENTS, " ", example);
    return;
  }
  byId("comparison-text").textContent = comparison.describeComparison(answer, alpha);
  byId("comparison-radii").replaceChildren(...comparison.renderRadii(answer, results.answer?.failure ?? null));
  byId("comparison-plot").hidden = !answer.rows.length;
  if (answer.rows.length) comparisonChart.draw(comparison.buildSeries(answer, alpha), buildLevel());
}

/** The evidence as a line in a chart. */
function buildLevel() {
  const p = getProbability();
  if (!p) return {};
  const short = p.length > 10 ? `${p.slice(0, 9)}…` : p;
  return { level: p, label: results.answer.count === null ? `p = ${short}` : `p ≥ ${short}` };
}

/** Show the fields that depend on others: a choice for each α, and the fields for a probability or for votes. */
function showChoices() {
  const selected = getAlpha(state);
  const hadFocus = document.activeElement?.name === "at";
  const chips = listAlphas(state.alpha).slice(0, MOST_SERIES).map((alpha, index) => {
    const input = el("input", { type: "radio", name: "at", value: alpha, checked: alpha === selected });
    const chip = el("label", {}, input, el("span", {}, alpha));
    chip.style.setProperty("--chip", `var(--series-${index})`);
    return chip;
  });
  byId("at").replaceChildren(byId("at").querySelector("legend"), ...chips);
  if (hadFocus) byId("at").querySelector(":checked")?.focus();
  byId("p-fields").hidden = state.mode !== "p";
  byId("votes-fields").hidden = state.mode !== "votes";
}

/** Show a problem beside its field; one that has no field, or is about the API key, at the top. */
function showProblem(problem, messages) {
  const isAboutKey = problem.status === 401 || problem.status === 403;
  if (!isAboutKey && problem.field && markField(problem.field, problem.message)) {
    messages.set(problem.field, problem.message);
    return;
  }
  messages.set("notice", problem.message);
  byId("notice-text").textContent = isAboutKey && !hasKey() ? KEY_NEEDED : problem.message;
  byId("key-form").hidden = !isAboutKey;
  byId("retry").hidden = isAboutKey;
  byId("notice").hidden = false;
}

// Events.

let timer = 0;

function applyChange() {
  state = readFields(state.at);
  writeAddress();
  showChoices();
  clearTimeout(timer);
  timer = setTimeout(refresh, TYPING_MS);
}

function writeAddress() {
  history.replaceState(null, "", formatQuery(state) + formatRunsQuery() + location.hash);
}

/** Show another state, as if it had been typed. */
function showState(other) {
  state = other;
  fillFields(state);
  showChoices();
  applyChange();
}

for (const id of ["noise", "evidence", "key-form"]) byId(id).addEventListener("submit", (event) => event.preventDefault());
for (const id of ["noise", "evidence", "view"]) byId(id).addEventListener("input", applyChange);
byId("key-form").addEventListener("submit", () => {
  storeKey(byId("api-key").value);
  refresh();
  loadModels();
  loadRuns();
});
byId("retry").addEventListener("click", () => refresh());
byId("csv").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([formatCsv(results.series, results.k)], { type: "text/csv" }));
  downloadFile(`ellzero-thresholds-k${results.k}.csv`, url);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
});
byId("png").addEventListener("click", async () => {
  const title = `What p must exceed to certify radius r, K = ${results.k}`;
  downloadFile(`ellzero-thresholds-k${results.k}.png`, await chart.renderImage(title));
});
onRunsChanged(writeAddress);
initCopyLink(() => location.origin + location.pathname + formatQuery(readFields(state.at)) + formatRunsQuery());
initTheme(() => {
  chart.redraw();
  comparisonChart.redraw();
  redrawRuns();
});

byId("r_max-hint").textContent = `up to ${formatInteger(MOST_RADII)}`;
fillFields(state);
showChoices();
refresh();
loadModels();
loadRuns();
