// The certified radius of the evidence at hand, and its reason, in words.

import { ask } from "./api.js";
import { el, grouped, tau } from "./dom.js";
import { rational } from "./exact.js";
import { chosenAlpha } from "./state.js";

const POWER = "0.9";
const PLAN_FAILURE = "0.001";

/** What the service is asked for the radius; null while the evidence is not complete. */
export function question(state) {
  const alpha = chosenAlpha(state);
  const noise = { k: state.k, alpha, d: state.d };
  if (!alpha || !state.k || !state.d) return null;
  if (state.mode === "p") return state.p ? { ...noise, p: state.p, p_b: state.p_b } : null;
  return state.count && state.n ? { ...noise, count: state.count, n: state.n, failure: state.failure } : null;
}

/** The verdict as elements: the radius in large, what it says, and the numbers it rests on. */
export function verdict(answer, question) {
  if (answer === null) {
    const why = question === null ? "Give the evidence above to see what it certifies." : "No answer; the message above says why.";
    return [el("p", { className: "sub" }, why)];
  }
  const { radius } = answer;
  const abstains = radius === null;
  const big = abstains ? "abstain" : grouped(radius);
  const unit = abstains ? null : el("span", { className: "unit" }, radius === 1 ? "coordinate" : "coordinates");
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "radius" }, big), unit),
    el("p", { id: "meaning" }, abstains ? whyAbstain(answer) : meaning(answer)),
    el("dl", { className: "facts" }, ...facts(answer)),
  ];
}

function meaning({ radius, d }) {
  if (radius === 0) return "Certified for the input itself (r = 0), but not if a single coordinate changes.";
  if (radius === d) return `No change of any of the ${grouped(d)} coordinates can change the answer.`;
  return `No change of at most ${grouped(radius)} of the ${grouped(d)} coordinates can change the answer.`;
}

function whyAbstain({ count, p_b }) {
  const end = " So not even r = 0 is certified, and the classifier should say that it does not know.";
  if (count !== null) return "The votes do not prove that the class has more than half of the probability." + end;
  if (p_b !== null) return "p does not exceed p_b, so another class may be as likely." + end;
  return "p does not exceed 1/2, so another class may be as likely." + end;
}

function facts(answer) {
  const { radius, threshold, next_threshold, margin, count, n, p_lower, p_b } = answer;
  const next = radius === null ? 0 : radius + 1;
  const subject = count === null ? "p" : "the bound of p";
  const rows = [];
  const add = (id, value, ...term) => value !== null && rows.push(fact(id, value, ...term));
  add("p-lower", p_lower, "p is at least");
  add("threshold", threshold, `${subject} exceeds `, tau(radius), " (rounded up)");
  add("margin", margin, "by at least");
  add("next-threshold", next_threshold, radius === null ? `${subject} does not exceed ` : "but not ", tau(next), " (rounded up)");
  if (count !== null) {
    if (radius !== null) add("min-count", votes(answer.min_count, n), `votes that certify r = ${radius}`);
    if (radius !== answer.d) add("next-min-count", votes(answer.next_min_count, n), `votes that would certify r = ${next}`);
  }
  if (p_b !== null && radius !== null) rows.push(fact("rule", "two classes", "decided by the rule of"));
  return rows;
}

const votes = (least, n) => (least === null ? `not even all ${grouped(n)}` : `${grouped(least)} of ${grouped(n)}`);
const fact = (id, value, ...term) => el("div", {}, el("dt", {}, ...term), el("dd", { id }, value));

/**
 * How many samples it takes, as text: to prove this radius to an input of this p, or to get votes like these one further.
 * null where there is nothing to plan.
 */
export async function samples(state, answer, signal) {
  const { k, d, radius, p_b } = answer;
  const noise = { k, alpha: chosenAlpha(state), power: POWER };
  if (answer.count !== null) {
    const r = radius === null ? 0 : radius + 1;
    if (r > d) return null;
    const estimate = `${answer.count}/${answer.n}`;
    const plan = await ask("plan", { ...noise, r, p: estimate, failure: state.failure }, signal);
    return further(plan, estimate);
  }
  if (radius === null || p_b !== null) return null;
  const plan = await ask("plan", { ...noise, r: radius, p: answer.p, failure: PLAN_FAILURE }, signal);
  return proving(plan, answer);
}

function further({ r, n, min_count, failure }, estimate) {
  if (n === null) {
    return `If p is about ${estimate}, as these votes suggest, no number of samples up to 100,000,000 certifies r = ${r}.`;
  }
  return (
    `If p is ${estimate}, as these votes suggest, r = ${r} needs ${grouped(n)} samples: then ${grouped(min_count)} votes ` +
    `certify it, which such an input gets with probability ${POWER} (failure ${decimal(failure)}).`
  );
}

function proving({ r, n, min_count, failure }, { d, p, next_threshold }) {
  const enough =
    n === null
      ? `No number of samples up to 100,000,000 proves r = ${r} for such an input with probability ${POWER}.`
      : `To prove r = ${r} by votes takes ${grouped(n)} samples: ${grouped(min_count)} of them certify it, which an input ` +
        `of this p gets with probability ${POWER} (failure ${decimal(failure)}).`;
  if (r === d || next_threshold === null) return enough;
  return `${enough} No number of samples proves r = ${r + 1} while p is ${p}: it has to exceed the next threshold.`;
}

/** "1/1000" as 0.001 where that is exact and short. */
function decimal(text) {
  const { num, den } = rational(text) ?? {};
  const short = den && String(Number(num) / Number(den));
  const back = short && rational(short);
  return back && back.num * den === num * back.den ? short : text;
}
