// The thresholds that are drawn, listed and downloaded: one series for each α, a row for each radius.

import { ask } from "./api.js";
import { alphas } from "./state.js";
import { MOST_RADII } from "./validation.js";

/** How far to draw: r_max, but never beyond d; null if that is not a number or too far. A d that is not a number sets no limit. */
export function lastRadius(state) {
  const [r_max, d] = [state.r_max, state.d].map((text) => (/^\d+$/.test(text) ? BigInt(text) : null));
  if (r_max === null) return null;
  const last = d === null || r_max < d ? r_max : d;
  return last > BigInt(MOST_RADII) ? null : Number(last);
}

/**
 * A series {alpha, rows: [{r, threshold}]} for each α of a state that has been checked, with all of r = 0 … r_max and
 * thresholds as exact text.
 */
export async function loadSeries(state, signal) {
  const values = alphas(state);
  const r_max = lastRadius(state);
  const answers = await Promise.all(values.map((alpha) => ask("thresholds", { k: state.k, alpha, r_max }, signal)));
  return answers.map((answer, index) => ({ alpha: values[index], rows: extendRows(answer, r_max) }));
}

/** The rows up to r_max. A column ends early where all further thresholds equal its last one: 1, or 1/2 if it is flat. */
function extendRows({ rows }, r_max) {
  const all = rows.map(({ r, threshold }) => ({ r, threshold }));
  const { threshold } = all.at(-1);
  while (all.length <= r_max) all.push({ r: all.length, threshold });
  return all;
}

/** The series as CSV, thresholds as the text they are. */
export function writeCsv(series, k) {
  const lines = series.flatMap(({ alpha, rows }) => rows.map(({ r, threshold }) => `${k},${alpha},${r},${threshold}`));
  return ["k,alpha,r,threshold", ...lines, ""].join("\r\n");
}
