// Discrete against Gaussian noise, for bits.

import { ask } from "./api.js";
import { givenConfidence } from "./calculator.js";
import { el, grouped } from "./dom.js";
import { aboveHalf } from "./exact.js";
import { lastRadius } from "./series.js";
import { chosenAlpha } from "./state.js";

export const APPLIES = "For bits (K = 1) with α > 1/2, some Gaussian noise, followed by rounding, keeps a bit just as often, so the two certificates can be compared.";

/**
 * The comparison for a state and a probability p (null without), or null if it does not apply. Without a usable r_max it
 * has the radii but no rows.
 */
export async function loadComparison(state, p, signal) {
  const alpha = chosenAlpha(state);
  if (state.k !== "1" || !alpha || !aboveHalf(alpha) || !state.d) return null;
  return ask("compare", { k: 1, alpha, d: state.d, p, r_max: lastRadius(state) }, signal);
}

export function buildSeries({ rows, sigma }, alpha) {
  const pick = (name) => rows.map((row) => ({ r: row.r, threshold: row[name] }));
  return [
    { name: `discrete, α = ${alpha}`, rows: pick("discrete") },
    { name: `Gaussian, σ = ${sigma.toPrecision(4)}`, rows: pick("gaussian") },
  ];
}

/** The two radii side by side; `failure` is that of the votes, null for a probability. */
export function renderRadii({ discrete, gaussian, p }, failure) {
  if (p === null) return [el("p", { className: "sub" }, "Enter a probability or votes to compare the two certified radii.")];
  const given = givenConfidence(failure);
  const said = given ? `${given}, the smoothed classifier’s answer cannot change within` : "The smoothed classifier’s answer cannot change within";
  const at = el("p", { className: "sub", id: "comparison-given" }, said);
  return [at, renderRadius("discrete-radius", discrete, "discrete noise"), renderRadius("gaussian-radius", gaussian, "Gaussian noise")];
}

function renderRadius(id, radius, label) {
  const big = el("strong", { id }, radius === null ? "abstain" : grouped(radius));
  return el("p", { className: radius === null ? "big abstain" : "big" }, big, el("span", { className: "unit" }, label));
}

export function describe({ sigma, rows }, alpha) {
  const same = `Gaussian noise with σ = ${sigma.toPrecision(4)}, followed by rounding, keeps a bit with the same probability α = ${alpha}.`;
  return rows.length ? `${same} The lower curve certifies more.` : same;
}
