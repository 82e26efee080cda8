// The results of runs over data sets: certified accuracy compared, and the inputs of one run.

import { abortPrevious, get } from "./api.js";
import * as accuracyFigure from "./accuracy_figure.js";
import { Chart } from "./chart.js";
import { announce, byId, el, formatInteger } from "./dom.js";
import { formatConfidence } from "./exact.js";
import { canDraw, captionInputs, drawInputs, renderInputs, turnOrder } from "./inputs_table.js";
import { formatMean, formatShare } from "./percent.js";
import { formatRuns, parseRuns } from "./runs_state.js";
import { MOST_SERIES } from "./validation.js";

const PAGE_ROWS = 12;
const COMPARED_AT_FIRST = 4;
const BANDS =
  "ACC@r is the share of inputs whose answer is certified to be right whatever r units change; μ(R) is the mean radius, in which wrong answers and abstentions count 0. " +
  "Bands, and ± after μ(R), cover 95 % over inputs from the same source.";

let state = parseRuns(location.search); // replaced, never changed: a request keeps the state that it was made for
let runs = []; // of /v1/results, those with a result
let reports = []; // of the compared runs
let handleChange = () => {};
const chart = new Chart(accuracyFigure, byId("runs-chart"), byId("runs-readout"), byId("runs-legend"));

/** Have `handle` called whenever the part of the address has changed. */
export function onRunsChanged(handle) {
  handleChange = handle;
}

/** The part of the address that describes the panel. */
export const formatRunsQuery = () => formatRuns(state);

export const redrawRuns = () => chart.redraw();

/** Load the list of runs and show those that the state names; the panel is hidden where there are none. */
export const loadRuns = abortPrevious(
  async (signal) => {
    const { results, unusable, complete } = await get("results", {}, signal);
    byId("runs").hidden = !results.length && !unusable.length;
    runs = results.filter(({ inputs }) => inputs > 0);
    showUnusable(unusable);
    byId("runs-body").hidden = !runs.length;
    const waiting = results.length - runs.length;
    const notes = [
      waiting ? `${waiting === 1 ? "One run has" : `${formatInteger(waiting)} runs have`} no results yet.` : "",
      complete ? "" : "There are more results folders than are listed here.",
    ];
    byId("runs-text").textContent = [BANDS, ...notes].filter(Boolean).join(" ");
    if (runs.length) await showRuns();
  },
  (problem) => {
    byId("runs-body").hidden = true; // what it shows may be out of date
    byId("runs-text").textContent = problem.message;
  },
);

function showUnusable(unusable) {
  byId("runs-unusable").hidden = !unusable.length;
  byId("runs-unusable-list").replaceChildren(...unusable.map(({ name, reason }) => el("li", {}, el("code", {}, name), `: ${reason}`)));
}

/** The names of the compared runs; without a choice, of the first ones. */
function listCompared() {
  const names = runs.map(({ name }) => name);
  const chosen = (state.compared ?? []).filter((name) => names.includes(name));
  return chosen.length ? chosen : names.slice(0, COMPARED_AT_FIRST);
}

/** The name of the run whose inputs are listed. */
function getSelected() {
  const compared = listCompared();
  return compared.includes(state.selected) ? state.selected : compared[0];
}

async function showRuns() {
  renderRuns();
  await Promise.all([showReports(), showInputs()]);
}

/** The table of runs, with a box for each that puts it into the chart. */
function renderRuns() {
  const compared = listCompared();
  const focused = document.activeElement?.name === "runs-compared" ? document.activeElement.value : null;
  const rows = runs.map((run) => {
    const place = compared.indexOf(run.name);
    const box = el("input", { type: "checkbox", name: "runs-compared", value: run.name, checked: place >= 0 });
    box.disabled = place < 0 && compared.length >= MOST_SERIES;
    const label = el("label", {}, box, el("span", {}, run.name));
    if (place >= 0) label.style.setProperty("--entry", `var(--series-${place})`);
    const votes = run.evidence === "exact" ? "exact" : formatInteger(run.n);
    const numbers = [formatMean(run.mean_radius, run.mean_radius_error), formatInteger(run.inputs), votes];
    const texts = [run.noise, `${run.data}, ${run.split}`, run.model];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, label),
      ...numbers.map((text) => el("td", { className: "number" }, text)),
      ...texts.map((text) => el("td", {}, text)),
    );
  });
  byId("runs-rows").replaceChildren(...rows);
  byId("runs-rows").querySelector(`[value="${CSS.escape(focused ?? "")}"]`)?.focus();
  byId("runs-selected").replaceChildren(...compared.map((name) => el("option", { value: name, selected: name === getSelected() }, name)));
}

/** Load the reports of the compared runs, draw their curves, and say what the selected run is. */
const showReports = abortPrevious(
  async (signal) => {
    const names = listCompared();
    reports = await Promise.all(names.map((name) => get("results/report", { name }, signal)));
    byId("runs-columns").hidden = false;
    byId("runs-note").textContent = "";
    const series = extendSeries(reports.map(({ info, accuracy }) => ({ name: info.name, rows: accuracy })));
    byId("runs-summary").textContent = `${names.join("; ")}; r from 0 to ${series[0].rows.length - 1}.`;
    showFacts();
    await chart.draw(series, { selected: names.indexOf(getSelected()) });
  },
  (problem) => {
    byId("runs-columns").hidden = true; // curves and facts of another choice
    byId("runs-note").textContent = problem.message;
  },
);

/** All curves up to the same radius: where one ends, nothing is certified beyond. */
function extendSeries(series) {
  const last = Math.max(...series.map(({ rows }) => rows.length));
  return series.map(({ name, rows }) => {
    const end = rows.at(-1);
    const more = Array.from({ length: last - rows.length }, (_, place) => ({ ...end, r: rows.length + place }));
    return { name, rows: [...rows, ...more] };
  });
}

function showFacts() {
  const report = reports.find(({ info }) => info.name === getSelected());
  byId("runs-facts").replaceChildren(...listFacts(report).flatMap(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]));
  byId("runs-meaning").textContent = explainCertificates(report);
}

function listFacts({ info, d, abstained, wrong, median_radius, votes_drawn }) {
  const votes = [
    ["Votes", `n = ${formatInteger(info.n ?? 0)} at most, ${formatShare(votes_drawn ?? 0)} of them drawn`],
    ["Failure probability", info.failure],
    ["Stopping", info.stopping],
  ];
  return [
    ["μ(R)", `${formatMean(info.mean_radius, info.mean_radius_error)}, median ${median_radius}`],
    ["Inputs", `${formatInteger(info.inputs)}: ${formatInteger(abstained)} abstained, ${formatInteger(wrong)} wrong`],
    ["Model", info.model],
    ["Data", `${info.data}, ${info.split}; d = ${formatInteger(d)}`],
    ["Noise", info.noise],
    ...(info.evidence === "votes" ? votes : []),
  ];
}

function explainCertificates({ info }) {
  if (info.evidence === "exact") return "The certificates are exact: each holds with certainty.";
  return `Each certificate holds with confidence ${formatConfidence(info.failure)}, by itself; the bands do not include its failure.`;
}

/** Load a page of the selected run's inputs, then their pictures. */
const showInputs = abortPrevious(
  async (signal) => {
    const [name, { sort, offset }] = [getSelected(), state];
    const answer = await get("results/inputs", { name, sort, offset, limit: PAGE_ROWS }, signal);
    if (offset >= answer.total) {
      changeState({ offset: 0 });
      return showInputs();
    }
    showPage(answer, sort);
    if (canDraw(answer)) await drawInputs(byId("inputs-table"), answer, signal);
  },
  (problem) => {
    if (byId("inputs-table").querySelector("caption")?.textContent !== captionInputs(getSelected())) {
      byId("inputs-table").replaceChildren(); // the inputs of another run
      byId("inputs-status").textContent = "";
    }
    byId("inputs-note").textContent = problem.message;
  },
);

function showPage(answer, sort) {
  const { offset, rows, total } = answer;
  const byVotes = runs.find(({ name }) => name === answer.name)?.evidence !== "exact";
  const focused = byId("inputs-table").contains(document.activeElement) ? document.activeElement.value : null;
  byId("inputs-table").replaceChildren(renderInputs(answer, sort, byVotes));
  if (focused) byId("inputs-table").querySelector(`[value="${focused}"]`)?.focus();
  byId("inputs-status").textContent = `${formatInteger(offset + 1)} – ${formatInteger(offset + rows.length)} of ${formatInteger(total)}`;
  byId("inputs-previous").disabled = offset === 0;
  byId("inputs-next").disabled = offset + rows.length >= total;
  byId("inputs-note").textContent = explainPictures(answer);
}

function explainPictures(answer) {
  if (answer.unavailable !== null) return `The inputs themselves cannot be shown: ${answer.unavailable}.`;
  return canDraw(answer) ? "" : `The inputs themselves, of shape ${answer.shape.join(" × ")}, are not images.`;
}

function changeState(change) {
  state = { ...state, compared: listCompared(), selected: getSelected(), ...change };
  handleChange();
}

byId("runs-rows").addEventListener("change", () => {
  const boxes = [...byId("runs-rows").querySelectorAll(":checked")].map(({ value }) => value);
  const kept = listCompared().filter((name) => boxes.includes(name));
  const compared = [...kept, ...boxes.filter((name) => !kept.includes(name))];
  const before = getSelected();
  changeState({ compared: compared.length ? compared : listCompared() });
  if (!compared.length) announce("At least one run is drawn.");
  if (getSelected() !== before) changeState({ offset: 0 });
  showRuns();
});
byId("runs-selected").addEventListener("change", (event) => {
  changeState({ selected: event.target.value, offset: 0 });
  showRuns();
});
byId("inputs-table").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  changeState({ sort: turnOrder(button.value, state.sort), offset: 0 });
  showInputs();
});
byId("inputs-previous").addEventListener("click", () => {
  changeState({ offset: Math.max(0, state.offset - PAGE_ROWS) });
  showInputs();
});
byId("inputs-next").addEventListener("click", () => {
  changeState({ offset: state.offset + PAGE_ROWS });
  showInputs();
});
byId("runs-reload").addEventListener("click", () => loadRuns());
