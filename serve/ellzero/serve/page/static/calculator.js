// The certified radius of a probability or of votes, and the reason for it, in words.

import { get, Problem } from "./api.js";
import { el, formatInteger, renderTau } from "./dom.js";
import { formatConfidence } from "./exact.js";
import { LIMITS } from "./limits.js";
import { getAlpha } from "./state.js";

const POWER = LIMITS.power;
const TWO_CLASSES =
  "Decided by the two-class rule: up to this radius, the lowest value that p can fall to exceeds the highest that p_b can " +
  "rise to. The rule compares the two, so there is no single threshold and no margin.";

/** The evidence, p or votes; null while it is incomplete. */
export function readEvidence({ mode, p, p_b, count, n, failure }) {
  if (mode === "p") return p ? { p, p_b } : null;
  return count && n ? { count, n, failure } : null;
}

/** The parameters of v1/radius; null while something is missing. */
export function buildQuery(state) {
  const alpha = getAlpha(state);
  const evidence = readEvidence(state);
  return alpha && state.k && state.d && evidence ? { k: state.k, alpha, d: state.d, ...evidence } : null;
}

/** Load the answer to a query; with p_b it has `alone`, the answer without p_b, or null if there is none. */
export async function loadRadius(query, signal) {
  const { p_b, ...rest } = query;
  if (!p_b) return get("radius", query, signal);
  const withoutRunnerUp = get("radius", rest, signal).catch((error) => {
    if (signal.aborted || !(error instanceof Problem)) throw error;
    return null;
  });
  const [answer, alone] = await Promise.all([get("radius", query, signal), withoutRunnerUp]);
  return { ...answer, alone };
}

/** p, or the lower bound on it that the votes prove; null without an answer. */
export const getProbability = (answer) => answer && (answer.p_lower ?? answer.p);

/** The evidence of an answer as a line in a chart: {level, label}. */
export function buildLevel(answer) {
  const p = getProbability(answer);
  if (!p) return {};
  return { level: p, label: answer.count === null ? `p = ${shorten(p)}` : `p ≥ ${shorten(p)}` };
}

/** A number that may have many digits, cut for a label. */
export const shorten = (text) => (text.length > 10 ? `${text.slice(0, 9)}…` : text);

/** The result as elements: the radius in large type, what it means, and the numbers behind it. */
export function renderResult(answer, evidence) {
  if (answer === null) return [renderMissing(evidence)];
  const { radius } = answer;
  const abstains = radius === null;
  const value = abstains ? "abstain" : formatInteger(radius);
  const unit = abstains ? null : el("span", { className: "unit" }, radius === 1 ? "coordinate" : "coordinates");
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "radius" }, value), unit),
    el("p", { id: "meaning" }, abstains ? explainAbstention(answer) : explainRadius(answer)),
    ...(answer.p_b === null || abstains ? [] : [el("p", { id: "rule", className: "sub" }, TWO_CLASSES)]),
    el("dl", { className: "facts" }, ...renderFacts(answer)),
  ];
}

/** What stands where there is no result. */
export function renderMissing(evidence) {
  const hint = evidence ? "No result: see the messages beside the fields." : "Enter a probability or votes above to see what they certify.";
  return el("p", { className: "sub" }, hint);
}

/** "With confidence 99.9 %", which evidence from votes needs; a probability is taken as it is. */
export function describeConfidence(failure) {
  return `With confidence ${formatConfidence(failure) ?? `1 − ${failure}`}`;
}

function explainRadius({ radius, d, failure }) {
  const condition = failure === null ? "" : `${describeConfidence(failure)}, `;
  const sentence = (text) => (condition ? condition + text : text[0].toUpperCase() + text.slice(1));
  if (radius === 0) {
    return sentence("this is the smoothed classifier’s answer for the input itself (r = 0), but it may change if a single coordinate changes.");
  }
  const change = radius === d ? `changing any of the ${formatInteger(d)}` : `changing at most ${formatInteger(radius)} of the ${formatInteger(d)}`;
  return sentence(`${change} coordinates cannot change the smoothed classifier’s answer.`);
}

function explainAbstention({ count, p_b, failure }) {
  const end = " Not even r = 0 is certified, and the smoothed classifier should abstain.";
  if (count !== null) {
    return `The votes do not prove with confidence ${formatConfidence(failure)} that the class has more than half of the probability.${end}`;
  }
  if (p_b !== null) return "p does not exceed p_b, so another class may be just as likely." + end;
  return "p does not exceed 1/2, so another class may be just as likely." + end;
}

function renderFacts(answer) {
  const { radius, threshold, next_threshold, margin, count, n, p_lower, p_b, failure } = answer;
  const next = radius === null ? 0 : radius + 1;
  const subject = count === null ? "p" : "the bound on p";
  const rows = [];
  const add = (id, value, ...term) => value !== null && rows.push(el("div", {}, el("dt", {}, ...term), el("dd", { id }, value)));
  add("p-lower", p_lower, failure === null ? "p is at least" : `with confidence ${formatConfidence(failure)}, p is at least`);
  add("threshold", threshold, `${subject} exceeds `, renderTau(radius), " (rounded up)");
  add("margin", margin, "by at least");
  add("next-threshold", next_threshold, radius === null ? `${subject} does not exceed ` : "but not ", renderTau(next), " (rounded up)");
  if (count !== null) {
    if (radius !== null) add("min-count", formatVotes(answer.min_count, n), `votes needed for r = ${radius}`);
    if (radius !== answer.d) add("next-min-count", formatVotes(answer.next_min_count, n), `votes needed for r = ${next}`);
  }
  if (p_b !== null && radius !== null && answer.alone) {
    const { radius: alone } = answer.alone;
    add("alone", alone === null ? "nothing (abstain)" : `r = ${formatInteger(alone)}`, "without p", el("sub", {}, "b"), ", p alone certifies");
  }
  return rows;
}

const formatVotes = (least, n) => (least === null ? `not even all ${formatInteger(n)}` : `${formatInteger(least)} of ${formatInteger(n)}`);

/**
 * How many votes are needed, as text: to prove this radius for an input of this p, or to certify one radius more than
 * these votes do. null if there is nothing to plan.
 */
export async function describePlan(state, answer, signal) {
  const { k, d, radius, p_b } = answer;
  const noise = { k, alpha: getAlpha(state), power: POWER };
  if (answer.count !== null) {
    const r = radius === null ? 0 : radius + 1;
    if (r > d) return null;
    const estimate = `${answer.count}/${answer.n}`;
    const plan = await get("plan", { ...noise, r, p: estimate, failure: state.failure }, signal);
    return describeNextRadius(plan, estimate);
  }
  if (radius === null || p_b !== null) return null;
  const plan = await get("plan", { ...noise, r: radius, p: answer.p, failure: LIMITS.failure }, signal);
  return describeProof(plan, answer);
}

const MOST_VOTES = formatInteger(LIMITS.n.maximum);

function describeNextRadius({ r, n, min_count, failure }, estimate) {
  if (n === null) {
    return `If p is about ${estimate}, as these votes suggest, no number of votes up to ${MOST_VOTES} certifies r = ${r} with confidence ${formatConfidence(failure)}.`;
  }
  return (
    `If p is ${estimate}, as these votes suggest, r = ${r} takes ${formatInteger(n)} votes: it is certified with confidence ` +
    `${formatConfidence(failure)} if ${formatInteger(min_count)} of them are for the class, which happens with probability ${POWER}.`
  );
}

function describeProof({ r, n, min_count, failure }, { d, p, next_threshold }) {
  const proof =
    n === null
      ? `No number of votes up to ${MOST_VOTES} proves r = ${r} with confidence ${formatConfidence(failure)} for such an input with probability ${POWER}.`
      : `Proving r = ${r} by votes takes ${formatInteger(n)} of them: it is certified with confidence ${formatConfidence(failure)} if ` +
        `${formatInteger(min_count)} are for the class, which happens with probability ${POWER} at this p.`;
  if (r === d || next_threshold === null) return proof;
  return `${proof} No number of votes proves r = ${r + 1} for p = ${p}: p must exceed the next threshold.`;
}
