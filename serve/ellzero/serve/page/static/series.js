// The thresholds to draw, list and download: one series for each α, with a row for each radius.

import { get } from "./api.js";
import { listAlphas } from "./state.js";
import { MOST_RADII } from "./validation.js";

/** How far to draw: r_max, but never beyond d. null if r_max is not a number or too large; any other d sets no limit. */
export function getLastRadius(state) {
  const [r_max, d] = [state.r_max, state.d].map((text) => (/^\d+$/.test(text) ? BigInt(text) : null));
  if (r_max === null) return null;
  const last = d === null || r_max < d ? r_max : d;
  return last > BigInt(MOST_RADII) ? null : Number(last);
}

/**
 * Load a series {alpha, rows: [{r, threshold}]} for each α of a valid state, with all of r = 0 … r_max; thresholds are
 * exact text.
 */
export async function loadSeries(state, signal) {
  const alphas = listAlphas(state.alpha);
  const r_max = getLastRadius(state);
  const answers = await Promise.all(alphas.map((alpha) => get("thresholds", { k: state.k, alpha, r_max }, signal)));
  return answers.map((answer, index) => ({ alpha: alphas[index], rows: extendRows(answer, r_max) }));
}

/** The rows up to r_max. A column ends early if all further thresholds equal its last one: 1, or 1/2 if it is flat. */
function extendRows({ rows }, r_max) {
  const all = rows.map(({ r, threshold }) => ({ r, threshold }));
  const { threshold } = all.at(-1);
  while (all.length <= r_max) all.push({ r: all.length, threshold });
  return all;
}

/** The series as CSV, with thresholds as the service wrote them. */
export function formatCsv(series, k) {
  const lines = series.flatMap(({ alpha, rows }) => rows.map(({ r, threshold }) => `${k},${alpha},${r},${threshold}`));
  return ["k,alpha,r,threshold", ...lines, ""].join("\r\n");
}
