// The figure of a family with one kind of change: thresholds against the number of changes, as for discrete noise.

import { describeRow } from "./budgets.js";
import { isDrawn } from "./threshold_figure.js";

export { buildLayout, buildTraces, isDrawn } from "./threshold_figure.js";

export const radiusTitle = "r, changes";

/** A point in words; rows are those of budgets, with what certifies them. */
export function describe(series, i) {
  const row = series.rows[i];
  const note = row.min_p === null || isDrawn(row) ? "" : ", too high to draw";
  return describeRow(row, series.kinds, series.result) + note;
}
