// The certified radius of a probability or of votes, and the reason for it, in words.

import { ask, Problem } from "./api.js";
import { el, grouped, tau } from "./dom.js";
import { confidence } from "./exact.js";
import { chosenAlpha } from "./state.js";

const POWER = "0.9";
const PLAN_FAILURE = "0.001";
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
  const alpha = chosenAlpha(state);
  const evidence = readEvidence(state);
  return alpha && state.k && state.d && evidence ? { k: state.k, alpha, d: state.d, ...evidence } : null;
}

/** The answer to a query; with p_b it has `alone`, the answer without p_b, or null if there is none. */
export async function loadRadius(query, signal) {
  const { p_b, ...rest } = query;
  if (!p_b) return ask("radius", query, signal);
  const without = ask("radius", rest, signal).catch((error) => {
    if (signal.aborted || !(error instanceof Problem)) throw error;
    return null;
  });
  const [answer, alone] = await Promise.all([ask("radius", query, signal), without]);
  return { ...answer, alone };
}

/** The result as elements: the radius in large type, what it means, and the numbers behind it. */
export function renderResult(answer, evidence) {
  if (answer === null) {
    const why = evidence ? "No result: the messages beside the fields say why." : "Enter a probability or votes above to see what they certify.";
    return [el("p", { className: "sub" }, why)];
  }
  const { radius } = answer;
  const abstains = radius === null;
  const big = abstains ? "abstain" : grouped(radius);
  const unit = abstains ? null : el("span", { className: "unit" }, radius === 1 ? "coordinate" : "coordinates");
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "radius" }, big), unit),
    el("p", { id: "meaning" }, abstains ? explainAbstention(answer) : explainRadius(answer)),
    ...(answer.p_b === null || abstains ? [] : [el("p", { id: "rule", className: "sub" }, TWO_CLASSES)]),
    el("dl", { className: "facts" }, ...facts(answer)),
  ];
}

function explainRadius({ radius, d, failure }) {
  const given = givenConfidence(failure);
  if (radius === 0) {
    return `${given ? `${given}, this` : "This"} is the smoothed classifier’s answer for the input itself (r = 0), but it may change if a single coordinate changes.`;
  }
  const change = radius === d ? `changing any of the ${grouped(d)}` : `changing at most ${grouped(radius)} of the ${grouped(d)}`;
  return `${given ? `${given}, ` : ""}${given ? change : change.replace("c", "C")} coordinates cannot change the smoothed classifier’s answer.`;
}

/** "With confidence 99.9 %" for evidence from votes; empty for a probability, which is taken as it is. */
export function givenConfidence(failure) {
  return failure === null ? "" : `With confidence ${confidence(failure) ?? `1 − ${failure}`}`;
}

function explainAbstention({ count, p_b, failure }) {
  const end = " Not even r = 0 is certified, and the smoothed classifier should abstain.";
  if (count !== null) return `The votes do not prove with confidence ${confidence(failure)} that the class has more than half of the probability.${end}`;
  if (p_b !== null) return "p does not exceed p_b, so another class may be just as likely." + end;
  return "p does not exceed 1/2, so another class may be just as likely." + end;
}

function facts(answer) {
  const { radius, threshold, next_threshold, margin, count, n, p_lower, p_b, failure } = answer;
  const next = radius === null ? 0 : radius + 1;
  const subject = count === null ? "p" : "the bound on p";
  const rows = [];
  const add = (id, value, ...term) => value !== null && rows.push(fact(id, value, ...term));
  add("p-lower", p_lower, failure === null ? "p is at least" : `with confidence ${confidence(failure)}, p is at least`);
  add("threshold", threshold, `${subject} exceeds `, tau(radius), " (rounded up)");
  add("margin", margin, "by at least");
  add("next-threshold", next_threshold, radius === null ? `${subject} does not exceed ` : "but not ", tau(next), " (rounded up)");
  if (count !== null) {
    if (radius !== null) add("min-count", votes(answer.min_count, n), `votes needed for r = ${radius}`);
    if (radius !== answer.d) add("next-min-count", votes(answer.next_min_count, n), `votes needed for r = ${next}`);
  }
  if (p_b !== null && radius !== null && answer.alone) {
    const { radius: without } = answer.alone;
    add("alone", without === null ? "nothing (abstain)" : `r = ${grouped(without)}`, "without p", el("sub", {}, "b"), ", p alone certifies");
  }
  return rows;
}

const votes = (least, n) => (least === null ? `not even all ${grouped(n)}` : `${grouped(least)} of ${grouped(n)}`);
const fact = (id, value, ...term) => el("div", {}, el("dt", {}, ...term), el("dd", { id }, value));

/**
 * How many votes are needed, as text: to prove this radius for an input of this p, or to certify one radius more than
 * these votes do. null if there is nothing to plan.
 */
export async function describePlan(state, answer, signal) {
  const { k, d, radius, p_b } = answer;
  const noise = { k, alpha: chosenAlpha(state), power: POWER };
  if (answer.count !== null) {
    const r = radius === null ? 0 : radius + 1;
    if (r > d) return null;
    const estimate = `${answer.count}/${answer.n}`;
    const plan = await ask("plan", { ...noise, r, p: estimate, failure: state.failure }, signal);
    return describeNextRadius(plan, estimate);
  }
  if (radius === null || p_b !== null) return null;
  const plan = await ask("plan", { ...noise, r: radius, p: answer.p, failure: PLAN_FAILURE }, signal);
  return describeProof(plan, answer);
}

function describeNextRadius({ r, n, min_count, failure }, estimate) {
  if (n === null) {
    return `If p is about ${estimate}, as these votes suggest, no number of votes up to 100,000,000 certifies r = ${r}.`;
  }
  return (
    `If p is ${estimate}, as these votes suggest, r = ${r} takes ${grouped(n)} votes: it is certified with confidence ` +
    `${confidence(failure)} if ${grouped(min_count)} of them are for the class, which happens with probability ${POWER}.`
  );
}

function describeProof({ r, n, min_count, failure }, { d, p, next_threshold }) {
  const enough =
    n === null
      ? `No number of votes up to 100,000,000 proves r = ${r} for such an input with probability ${POWER}.`
      : `Proving r = ${r} by votes takes ${grouped(n)} of them: it is certified with confidence ${confidence(failure)} if ` +
        `${grouped(min_count)} are for the class, which happens with probability ${POWER} at this p.`;
  if (r === d || next_threshold === null) return enough;
  return `${enough} No number of votes proves r = ${r + 1} for p = ${p}: p must exceed the next threshold.`;
}
