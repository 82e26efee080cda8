// The thresholds as a table, to read, listen to and copy.

import { describeStatus } from "./budgets.js";
import { el } from "./dom.js";

/** A table with a row for each radius and a column for each series. */
export function renderTable(series, k) {
  const head = el("tr", {}, el("th", { scope: "col" }, "r"));
  for (const { alpha } of series) head.append(el("th", { scope: "col" }, `α = ${alpha}`));
  const body = el("tbody");
  for (const { r } of series[0].rows) {
    const row = el("tr", {}, el("th", { scope: "row" }, String(r)));
    for (const { rows } of series) row.append(el("td", {}, rows[r].threshold));
    body.append(row);
  }
  const caption = el("caption", {}, `Thresholds τ for K = ${k}: p certifies radius r if it exceeds the threshold`);
  return el("table", {}, caption, el("thead", {}, head), body);
}

/** A table with a row for each budget; `result` has the largest certified ones, null if nothing is known. */
export function renderBudgetTable(rows, kinds, result) {
  const titles = [...kinds, "threshold", "digits", ...(result === null ? [] : [`certified ${result.by}`])];
  const head = el("tr", {}, ...titles.map((title) => el("th", { scope: "col" }, title)));
  const body = rows.map(({ counts, threshold, exact, min_p }) => {
    const note = min_p === null ? "no p exceeds it" : exact ? "exact" : "rounded up";
    const status = result === null ? [] : [describeStatus(counts, { ...result, by: "" }).trim()];
    const [first, ...others] = counts;
    return el("tr", {}, el("th", { scope: "row" }, String(first)), ...[...others, threshold, note, ...status].map((text) => el("td", {}, String(text))));
  });
  const caption = el("caption", {}, "Thresholds of budgets: p certifies a budget if it exceeds the threshold");
  return el("table", {}, caption, el("thead", {}, head), el("tbody", {}, ...body));
}
