// Discrete noise compared with Gaussian noise, for bits.

import { get } from "./api.js";
import { describeConfidence } from "./calculator.js";
import { el, formatInteger } from "./dom.js";
import { exceedsHalf } from "./exact.js";
import { getLastRadius } from "./series.js";
import { getAlpha } from "./state.js";

export const REQUIREMENTS =
  "For bits (K = 1) and α > 1/2, there is a Gaussian noise that, followed by rounding, keeps a bit with the same probability, so the two certificates can be compared.";

/**
 * Load the comparison for a state and a probability p (or null); null if the noises cannot be compared. Without a valid
 * r_max it has the radii but no rows.
 */
export async function loadComparison(state, p, signal) {
  const alpha = getAlpha(state);
  if (state.k !== "1" || !alpha || !exceedsHalf(alpha) || !state.d) return null;
  return get("compare", { k: 1, alpha, d: state.d, p, r_max: getLastRadius(state) }, signal);
}

/** The two series of the chart. */
export function buildSeries({ rows, sigma }, alpha) {
  const pickRows = (name) => rows.map((row) => ({ r: row.r, threshold: row[name] }));
  return [
    { name: `discrete, α = ${alpha}`, rows: pickRows("discrete") },
    { name: `Gaussian, σ = ${sigma.toPrecision(4)}`, rows: pickRows("gaussian") },
  ];
}

/** The two radii as elements; `failure` is that of the votes, null for a probability. */
export function renderRadii({ discrete, gaussian, p }, failure) {
  if (p === null) return [el("p", { className: "sub" }, "Enter a probability or votes to compare the two certified radii.")];
  const condition = failure === null ? "The" : `${describeConfidence(failure)}, the`;
  const meaning = `${condition} smoothed classifier’s answer cannot change within the radius`;
  return [
    el("p", { className: "sub", id: "comparison-meaning" }, meaning),
    renderRadius("discrete-radius", discrete, "discrete noise"),
    renderRadius("gaussian-radius", gaussian, "Gaussian noise"),
  ];
}

function renderRadius(id, radius, label) {
  const value = el("strong", { id }, radius === null ? "abstain" : formatInteger(radius));
  return el("p", { className: radius === null ? "big abstain" : "big" }, value, el("span", { className: "unit" }, label));
}

/** The comparison in a sentence or two. */
export function describeComparison({ sigma, rows }, alpha) {
  const noise = `Gaussian noise with σ = ${sigma.toPrecision(4)}, followed by rounding, keeps a bit with the same probability α = ${alpha}.`;
  return rows.length ? `${noise} The lower curve certifies more.` : noise;
}
