// The thresholds as a table, to read, listen to and copy.

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
