// The page: fields → address → requests → results.

import { abortPrevious, hasKey, Problem, storeKey } from "./api.js";
import * as calculator from "./calculator.js";
import { Chart } from "./chart.js";
import * as comparison from "./comparison.js";
import { byId, downloadFile, el, formatInteger } from "./dom.js";
import * as families from "./families.js";
import { fillFields, findField, markField, markFields, readFields } from "./fields.js";
import { formatRunsQuery, loadRuns, onRunsChanged, redrawRuns } from "./runs.js";
import { formatCsv, loadSeries } from "./series.js";
import { formatQuery, getAlpha, listAlphas, parseQuery } from "./state.js";
import { renderTable } from "./table.js";
import * as thresholdFigure from "./threshold_figure.js";
import { initCopyLink, initTheme } from "./toolbar.js";
import { checkEvidence, checkFields, MOST_RADII, MOST_SERIES } from "./validation.js";
import { loadModels } from "./voting.js";

const TYPING_MS = 150;
const KEY_NEEDED = "This service requires an API key. It is kept until you close this tab.";
const EVIDENCE_FIELDS = ["p", "p_b", "count", "n", "failure"];

let state = parseQuery(location.search, families.isDiscrete()); // replaced, never changed: a request keeps the state that it was made for
const results = { key: null, series: [], k: null, alpha: null, answer: null };
const chart = new Chart(thresholdFigure, byId("chart"), byId("chart-readout"), byId("chart-legend"));
const comparisonChart = new Chart(thresholdFigure, byId("comparison-chart"), byId("comparison-readout"));

// Requests. All fields are checked first, and a card with a wrong field sends nothing. Each card shows its answer as soon
// as it arrives.

const refresh = abortPrevious(async (signal) => {
  const current = state;
  const messages = new Map(); // by field; the service may add more
  const update = (card, work) =>
    showBusy(card, signal, () => work(current, signal, messages)).catch((error) => {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      showProblem(error, messages);
    });
  const loading = families.isDiscrete() ? offerFamilies(signal) : update("noise", () => families.loadFamilies(signal));
  if (!families.isDiscrete()) await loading; // which fields there are depends on it
  await Promise.all([loading, (families.isDiscrete() ? refreshDiscrete : refreshFamily)(current, signal, messages, update)]);
  for (const [name, message] of families.checkChoice()) messages.set(name, message);
  markFields(messages);
  if (!messages.has("notice")) byId("notice").hidden = true;
});

/** Load the other families; discrete noise needs none of them. */
async function offerFamilies(signal) {
  await families.loadFamilies(signal).catch((error) => {
    if (!(error instanceof Problem)) throw error;
  });
}

async function refreshDiscrete(current, signal, messages, update) {
  for (const [name, message] of checkFields(current)) messages.set(name, message);
  markFields(messages);
  const calculation = update("calculator", updateCalculator);
  await Promise.all([
    update("thresholds", updateThresholds),
    calculation,
    calculation.then(() => update("comparison", updateComparison)),
  ]);
}

async function refreshFamily(current, signal, messages, update) {
  if (!families.isLoaded()) return; // the notice says why
  const wrong = checkEvidence(current);
  for (const [name, message] of wrong) messages.set(name, message);
  let request = null;
  await update("noise", async () => {
    request = await families.prepareRequest(signal, messages);
  });
  markFields(messages);
  await Promise.all([
    update("thresholds", () => families.updateBudgets(request, current, signal, messages)),
    update("calculator", () => families.updateCertified(wrong.size ? null : request, current, signal)),
  ]);
}

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
      answer = await comparison.loadComparison(current, calculator.getProbability(results.answer), signal);
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
  chart.draw(series, { ...calculator.buildLevel(results.answer), selected, radius: results.answer?.radius ?? undefined });
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
  if (answer.rows.length) comparisonChart.draw(comparison.buildSeries(answer, alpha), calculator.buildLevel(results.answer));
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
  const field = problem.field && findField(problem.field);
  if (!isAboutKey && field) {
    markField(field, problem.message);
    messages.set(field, problem.message);
    return;
  }
  messages.set("notice", problem.message);
  byId("notice-text").textContent = isAboutKey && !hasKey() ? KEY_NEEDED : problem.message;
  byId("key-form").hidden = !isAboutKey;
  byId("retry").hidden = isAboutKey;
  byId("notice").hidden = false;
}

/** What can be saved of the thresholds: a name for files, CSV, and an image. */
function exportThresholds() {
  if (!families.isDiscrete()) return families.exportBudgets();
  const title = `What p must exceed to certify radius r, K = ${results.k}`;
  return {
    name: `ellzero-thresholds-k${results.k}`,
    csv: () => formatCsv(results.series, results.k),
    image: () => chart.renderImage(title),
  };
}

// Events.

let timer = 0;

function applyChange() {
  families.readForm();
  state = readFields(state.at);
  writeAddress();
  showChoices();
  clearTimeout(timer);
  timer = setTimeout(refresh, TYPING_MS);
}

function writeAddress() {
  history.replaceState(null, "", formatView(state) + location.hash);
}

/** The whole view as a query. */
function formatView(view) {
  return formatQuery(view, families.isDiscrete()) + families.formatFamilyQuery() + formatRunsQuery();
}

/** Show another state, as if it had been typed. */
function showState(other) {
  state = other;
  fillFields(state);
  showChoices();
  applyChange();
}

for (const id of ["noise", "slice", "evidence", "key-form"]) byId(id).addEventListener("submit", (event) => event.preventDefault());
for (const id of ["noise", "slice", "evidence", "view"]) byId(id).addEventListener("input", applyChange);
byId("key-form").addEventListener("submit", () => {
  storeKey(byId("api-key").value);
  refresh();
  loadModels();
  loadRuns();
});
byId("retry").addEventListener("click", () => refresh());
byId("csv").addEventListener("click", () => {
  const { name, csv } = exportThresholds();
  const url = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  downloadFile(`${name}.csv`, url);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
});
byId("png").addEventListener("click", async () => {
  const { name, image } = exportThresholds();
  downloadFile(`${name}.png`, await image());
});
onRunsChanged(writeAddress);
initCopyLink(() => location.origin + location.pathname + formatView(readFields(state.at)));
initTheme(() => {
  chart.redraw();
  comparisonChart.redraw();
  families.redrawBudgets();
  redrawRuns();
});

byId("r_max-hint").textContent = `up to ${formatInteger(MOST_RADII)}`;
fillFields(state);
showChoices();
refresh();
loadModels();
loadRuns();
