// Discrete against Gaussian noise, for bits.

import { ask } from "./api.js";
import { el, grouped } from "./dom.js";
import { aboveHalf } from "./exact.js";
import { lastRadius } from "./series.js";
import { chosenAlpha } from "./state.js";

export const APPLIES = "For bits (K = 1) that stay with probability α > 1/2 there is Gaussian noise that keeps a bit, read by rounding, just as often; the two certificates can then be compared.";

/**
 * The comparison for a state and a probability p (null without), or null where it does not apply. It has no rows, but
 * still the radii, while nobody can say how far to draw.
 */
export async function load(state, p, signal) {
  const alpha = chosenAlpha(state);
  if (state.k !== "1" || !alpha || !aboveHalf(alpha) || !state.d) return null;
  return ask("compare", { k: 1, alpha, d: state.d, p, r_max: lastRadius(state) }, signal);
}

export function series({ rows, sigma }, alpha) {
  const pick = (name) => rows.map((row) => ({ r: row.r, threshold: row[name] }));
  return [
    { name: `discrete, α = ${alpha}`, rows: pick("discrete") },
    { name: `Gaussian, σ = ${sigma.toPrecision(4)}`, rows: pick("gaussian") },
  ];
}

/** The two radii side by side. */
export function radii({ discrete, gaussian, p }) {
  if (p === null) return [el("p", { className: "sub" }, "With a p, the two certified radii stand here.")];
  const at = el("p", { className: "sub" }, "Certified radius of the p at hand");
  return [at, one("discrete-radius", discrete, "discrete noise"), one("gaussian-radius", gaussian, "Gaussian noise")];
}

function one(id, radius, label) {
  const big = el("strong", { id }, radius === null ? "abstain" : grouped(radius));
  return el("p", { className: radius === null ? "big abstain" : "big" }, big, el("span", { className: "unit" }, label));
}

export function sentence({ sigma, rows }, alpha) {
  const same = `Gaussian noise of σ = ${sigma.toPrecision(4)} keeps a bit, read by rounding, with the same probability α = ${alpha}.`;
  return rows.length ? `${same} Lower curves certify more.` : same;
}
