// The colours of a map of thresholds: a few steps, from what is easily certified to what no p certifies.

import { formatNines } from "./axis.js";
import { el } from "./dom.js";
import { compareRationals, countNines, parseRational } from "./exact.js";

const FINE = ["0.6", "0.7", "0.8", "0.9", "0.95", "0.98"]; // for thresholds up to 0.99
const COARSE = ["0.75", "0.9", "0.99", "0.999"];
const COLOURS = 7; // page.css has --step-0 … --step-6, from low to high

/** The upper ends of all steps but the last, as text, for these thresholds; closest together where p usually is. */
export function listEdges(thresholds) {
  const top = Math.max(0, ...thresholds.map(countNines).filter((nines) => nines !== null));
  if (top <= 2) return FINE;
  const more = COLOURS - 1 - COARSE.length;
  const stride = Math.max(1, Math.ceil((top - 3) / (more + 1)));
  const high = Array.from({ length: more }, (_, place) => 3 + (place + 1) * stride).filter((nines) => nines < top);
  return [...COARSE, ...high.map((nines) => `0.${"9".repeat(nines)}`)];
}

/** The step of a threshold, by exact comparison: the first whose end it does not exceed. */
export function findStep(threshold, edges) {
  const value = parseRational(threshold);
  const place = edges.findIndex((edge) => compareRationals(value, parseRational(edge)) <= 0);
  return place < 0 ? edges.length : place;
}

/** The colour of a step as a CSS variable; however many steps there are, they reach from the first to the last colour. */
export const nameColour = (step, edges) => `--step-${Math.round((step * (COLOURS - 1)) / edges.length)}`;

/** All steps as {text, colour}; at the end, if there are any, the thresholds that no p exceeds, without a colour. */
export function describeSteps(edges, hasEndless) {
  const steps = [...edges.map((edge) => `up to ${shortenNines(edge)}`), `above ${shortenNines(edges.at(-1))}`];
  const endless = hasEndless ? [{ text: "1: no p certifies it", colour: null }] : [];
  return [...steps.map((text, step) => ({ text, colour: nameColour(step, edges) })), ...endless];
}

/** Steps as the entries of a legend. */
export function renderSteps(steps) {
  const entries = steps.map(({ text, colour }) => {
    const entry = el("span", { className: colour === null ? "endless" : "" }, text);
    if (colour !== null) entry.style.setProperty("--entry", `var(${colour})`);
    return entry;
  });
  return [el("strong", {}, "p must exceed"), ...entries];
}

const shortenNines = (text) => (/^0\.9+$/.test(text) ? formatNines(text.length - 2) : text);
