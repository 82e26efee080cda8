// Families of noises other than the discrete one: their fields, what they certify, and the curve or map of thresholds.

import { get, post, Problem } from "./api.js";
import * as budgetCurve from "./budget_curve.js";
import { BudgetMap } from "./budget_map.js";
import { formatBudgetCsv, isCertified, listCertified, listKinds, readCounts, writeBudget } from "./budgets.js";
import { buildLevel } from "./calculator.js";
import { describeCause, loadCertified, renderCertified } from "./certified.js";
import { Chart } from "./chart.js";
import { byId, el, formatInteger } from "./dom.js";
import { buildDescription, buildLimits, checkTexts, readFields, renderFields } from "./family_form.js";
import { DISCRETE, formatFamily, makeExample, parseFamily, parseName } from "./family_state.js";
import { chooseAxes, listDrawn, readSlice, renderSlice } from "./map_slice.js";
import { renderBudgetTable } from "./table.js";

const opened = location.search; // what the link says, until the families are known
const drafts = new Map(); // what was typed for families that were left, by name
let families = []; // of /v1/families
let unknown = null; // the name in the link, if there is no such family
let state = null; // of the chosen family; null for discrete noise. Replaced, never changed
const shapes = { key: null, shape: null }; // how the budgets of the last composed family are written
const results = { key: null, info: null, request: null, rows: [], certified: null };
const readout = byId("budgets-readout");
const chart = new Chart(budgetCurve, byId("budgets-chart"), readout);
const map = new BudgetMap(byId("budgets-map"), readout, byId("map-legend"));

/** Whether the page shows discrete noise. */
export const isDiscrete = () => (families.length ? state === null : parseName(opened) === DISCRETE);

export const isLoaded = () => families.length > 0;

/** The part of the address that describes the family; empty for discrete noise. */
export function formatFamilyQuery() {
  if (isDiscrete()) return "";
  return `&${state === null ? new URLSearchParams(opened) : formatFamily(state)}`;
}

const getInfo = (name) => families.find((info) => info.name === name);

/** Load what families there are, once, and show the one that the link names. */
export async function loadFamilies(signal) {
  if (families.length) return;
  const { families: all } = await get("families", {}, signal);
  families = all;
  const name = parseName(opened);
  const info = getInfo(name);
  byId("family-name").replaceChildren(...all.map((one) => el("option", { value: one.name }, one.name)));
  if (name === DISCRETE || !info) showChoice(getInfo(DISCRETE));
  else showFamily(parseFamily(opened, info));
  unknown = info ? null : name;
}

/** The message for the choice of a family, by its field. */
export const checkChoice = () => new Map(unknown === null ? [] : [["family-name", `There is no family of noises “${unknown}”.`]]);

/** Read the fields after a change, and show another family if one was chosen. */
export function readForm() {
  if (!families.length) return;
  if (state !== null) state = { ...readFields(state), ...readSlice(state) };
  const { value } = byId("family-name");
  if (value === (state?.name ?? DISCRETE)) return;
  unknown = null;
  if (state !== null) drafts.set(state.name, state);
  showFamily(value === DISCRETE ? null : (drafts.get(value) ?? makeExample(getInfo(value))));
}

function showChoice(info) {
  byId("family-name").value = info.name;
  byId("family-name-hint").textContent = info.models;
}

function showFamily(other) {
  state = other;
  const isOther = state !== null;
  const info = getInfo(isOther ? state.name : DISCRETE);
  showChoice(info);
  byId("family-fields").replaceChildren(...(isOther ? renderFields(info, state) : []));
  for (const id of ["discrete-fields", "thresholds-text", "chart-view", "comparison", "at", "plan"]) byId(id).hidden = isOther;
  for (const id of ["family-fields", "budgets-view"]) byId(id).hidden = !isOther;
  byId("calculator-title").textContent = isOther ? "Certified budgets" : "Certified radius";
  for (const id of ["verdict", "table-view", "slice"]) byId(id).replaceChildren();
  byId("slice").hidden = true;
  delete byId("slice").dataset.key;
  byId("budgets-note").textContent = "";
  Object.assign(results, { key: null, rows: [], certified: null });
}

// Requests.

/**
 * What is asked about: the description of the family, its kinds of change, how its budgets are written (`shape`), and the
 * limits. null if a field is wrong, with its message in `messages`.
 */
export async function prepareRequest(signal, messages) {
  const info = getInfo(state.name);
  const wrong = checkTexts(info, state);
  for (const [name, message] of wrong) messages.set(name, message);
  if (wrong.size) return null;
  const description = buildDescription(info, state);
  const shape = info.kinds_follow === null ? info.limits : await loadShape(description, signal);
  const kinds = listKinds(shape, info.kinds[0]?.name);
  const { counts, message } = buildLimits(info, state, shape, kinds);
  if (message) messages.set("limits", message);
  return message ? null : { description, shape, kinds, limits: counts };
}

/** How a family writes its budgets: the empty one, as the service names all of its kinds. */
async function loadShape(description, signal) {
  const key = JSON.stringify(description);
  if (shapes.key !== key) {
    const { limits } = await post("thresholds", { family: description, limits: {} }, signal);
    [shapes.key, shapes.shape] = [key, limits];
  }
  return shapes.shape;
}

/** Load and show the thresholds of the budgets to draw. Where that would take too long, the rest of the page still works. */
export async function updateBudgets(request, fields, signal, messages) {
  byId("budgets-note").textContent = "";
  try {
    await loadBudgets(request, signal, messages);
  } catch (error) {
    if (signal.aborted || !(error instanceof Problem) || error.status !== 422 || error.field !== null) throw error;
    byId("budgets-note").textContent = `The thresholds cannot be shown: ${error.message}.`;
  }
  showBudgets(fields);
}

/** Load the rows to draw, unless they are there; without any, what was drawn stays, dimmed. */
async function loadBudgets(request, signal, messages) {
  const drawnKey = results.key;
  results.key = null;
  if (request === null) return;
  const { description, shape, kinds, limits } = request;
  const axes = chooseAxes(kinds, state.axes);
  renderSlice(kinds, axes, limits, state.fixed);
  const { drawn, wrong } = listDrawn(kinds, axes, limits, state.fixed);
  for (const [name, message] of wrong) messages.set(name, message);
  if (wrong.size) return;
  const key = JSON.stringify([description, drawn, axes]);
  if (drawnKey !== key) {
    const { rows } = await post("thresholds", { family: description, limits: writeBudget(shape, kinds, drawn) }, signal);
    const all = rows.map((row) => ({ ...row, counts: readCounts(row.budget, kinds) }));
    results.rows = all.filter(({ counts }) => counts.every((count, axis) => axes.includes(axis) || count === drawn[axis]));
    Object.assign(results, { info: getInfo(state.name), axes, drawn });
  }
  Object.assign(results, { key, request });
}

/** Load and show what the evidence certifies. */
export async function updateCertified(request, fields, signal) {
  let answer = null;
  try {
    if (request !== null) answer = await loadCertified(request, fields, signal);
  } finally {
    if (!signal.aborted) {
      results.certified = answer && { answer, request };
      byId("verdict").replaceChildren(...renderCertified(answer, request, fields));
      showBudgets(fields);
    }
  }
}

// Results.

/** What is certified of the budgets that are drawn; null if nothing is known. */
function getResult() {
  if (results.certified === null) return null;
  const { answer, request } = results.certified;
  if (nameSubject(request) !== nameSubject(results.request)) return null;
  return { largest: listCertified(answer, request.kinds), by: describeCause(answer), answer };
}

const nameSubject = ({ description, limits }) => JSON.stringify([description, limits]);

function showBudgets({ view }) {
  byId("thresholds").classList.toggle("stale", results.key === null);
  const isTable = view === "table";
  byId("chart-view").hidden = true;
  byId("budgets-view").hidden = isTable || !results.rows.length;
  byId("table-view").hidden = !isTable;
  if (results.key === null) return;
  const { rows, axes, request: { kinds } } = results;
  const result = getResult();
  byId("csv").disabled = byId("png").disabled = false;
  byId("table-view").replaceChildren(...(isTable ? [renderBudgetTable(rows, kinds, result)] : []));
  const isCurve = kinds.length === 1;
  byId("budgets-chart").hidden = !isCurve;
  byId("budgets-map").hidden = byId("map-legend").hidden = isCurve;
  byId("slice").hidden = kinds.length < 3;
  byId("budgets-summary").textContent = summarize(result);
  if (isTable) return;
  if (!isCurve) map.draw({ rows, kinds, axes, result });
  else {
    const end = findEnd(rows);
    const series = rows.slice(0, end + 1).map((row) => ({ ...row, r: row.counts[0] })); // beyond there is nothing to see
    const radius = result?.largest[0]?.[0];
    chart.draw([{ name: labelFamily(), rows: series, kinds, result }], { ...buildLevel(result && result.answer), selected: 0, radius });
  }
}

/** The place of the first row of a curve that no p certifies, or else of the last one. */
function findEnd(rows) {
  const place = rows.findIndex(({ min_p }) => min_p === null);
  return place < 0 ? rows.length - 1 : place;
}

/** What is drawn, in words. */
function summarize(result) {
  const { rows, drawn, axes, request: { kinds, limits } } = results;
  const total = rows.length;
  const end = rows[findEnd(rows)];
  const share = result && rows.filter(({ counts }) => isCertified(counts, result.largest)).length;
  const isCut = axes.some((axis) => drawn[axis] < limits[axis]);
  return [
    result === null ? `${formatInteger(total)} budgets.` : `${formatInteger(share)} of ${formatInteger(total)} budgets are certified ${result.by}${kinds.length > 1 && share ? ": those within the line" : ""}.`,
    kinds.length === 1 && end.min_p === null ? `No p certifies r = ${end.counts[0]} or more.` : "",
    isCut ? `Drawn up to ${axes.map((axis) => `${kinds.length > 1 ? `${kinds[axis]} ` : "r = "}${drawn[axis]}`).join(", ")}.` : "",
  ].filter(Boolean).join(" ");
}

/** The family and its parameters; only the name of one that is composed. */
function labelFamily() {
  const { description } = results.request;
  const { info } = results;
  return info.composed ? info.name : [info.name, ...info.parameters.map(({ name }) => `${name} = ${description[name]}`)].join(", ");
}

export const redrawBudgets = () => Promise.all([chart.redraw(), map.redraw()]);

/** What can be saved of the thresholds: a name for files, CSV, and an image. */
export function exportBudgets() {
  const { rows, info, request: { kinds } } = results;
  const title = `What p must exceed: ${labelFamily()}`;
  return {
    name: `ellzero-thresholds-${info.name}`,
    csv: () => formatBudgetCsv(rows, kinds),
    image: () => (kinds.length === 1 ? chart : map).renderImage(title),
  };
}
