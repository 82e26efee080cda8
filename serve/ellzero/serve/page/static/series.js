// The thresholds that are drawn, listed and downloaded: one series for each α, a row for each radius.

import { ask, Problem } from "./api.js";
import { alphas } from "./state.js";

export const MOST_RADII = 2000;
export const MOST_SERIES = 8;

/** How far to draw: r_max, but never beyond d; null if that is no number or too far. A d that is no number is no limit. */
export function lastRadius(state) {
  const [r_max, d] = [state.r_max, state.d].map((text) => (/^\d+$/.test(text) ? BigInt(text) : null));
  if (r_max === null) return null;
  const last = d === null || r_max < d ? r_max : d;
  return last > BigInt(MOST_RADII) ? null : Number(last);
}

/** A series {alpha, rows: [{r, threshold}]} for each α of the state, all of r = 0 … r_max, thresholds as exact text. */
export async function load(state, signal) {
  const asked = alphas(state);
  if (!state.k) throw new Problem(422, "Give K, such as 255 for bytes.", "k");
  if (!asked.length) throw new Problem(422, "Give at least one α, such as 0.2.", "alpha");
  if (asked.length > MOST_SERIES) throw new Problem(422, `At most ${MOST_SERIES} values can be drawn at once.`, "alpha");
  if (!state.r_max) throw new Problem(422, "Say how far to draw, such as 12.", "r_max");
  const r_max = lastRadius(state);
  if (r_max === null) {
    throw new Problem(422, `r_max must be an integer from 0 to ${MOST_RADII} here; the API gives more.`, "r_max");
  }
  const answers = await Promise.all(asked.map((alpha) => ask("thresholds", { k: state.k, alpha, r_max }, signal)));
  return answers.map((answer, index) => ({ alpha: asked[index], rows: extended(answer, r_max) }));
}

/** The rows up to r_max. A column ends early where all further thresholds equal its last one: 1, or 1/2 if it is flat. */
function extended({ rows }, r_max) {
  const all = rows.map(({ r, threshold }) => ({ r, threshold }));
  const { threshold } = all.at(-1);
  while (all.length <= r_max) all.push({ r: all.length, threshold });
  return all;
}

/** The series as CSV, thresholds as the text they are. */
export function csv(series, k) {
  const lines = series.flatMap(({ alpha, rows }) => rows.map(({ r, threshold }) => `${k},${alpha},${r},${threshold}`));
  return ["k,alpha,r,threshold", ...lines, ""].join("\r\n");
}
