// The certified radius of the evidence at hand, and its reason, in words.

import { ask, Problem } from "./api.js";
import { el, grouped, tau } from "./dom.js";
import { rational } from "./exact.js";
import { chosenAlpha } from "./state.js";

const POWER = "0.9";
const PLAN_FAILURE = "0.001";
const TWO_CLASSES =
  "Decided by the two-class rule: up to this radius, the least that p can fall to exceeds the most that p_b can grow to. " +
  "It compares the two, so there is no one threshold, and no margin.";

/** The evidence, p or votes; null while it is not complete. */
export function given({ mode, p, p_b, count, n, failure }) {
  if (mode === "p") return p ? { p, p_b } : null;
  return count && n ? { count, n, failure } : null;
}

/** What the service is asked for the radius; null while something is missing. A missing K or α is named by the chart. */
export function question(state) {
  const alpha = chosenAlpha(state);
  const evidence = given(state);
  if (!state.d) throw new Problem(422, "Give d, such as 784 for 28 · 28 pixels.", "d");
  return alpha && state.k && evidence ? { k: state.k, alpha, d: state.d, ...evidence } : null;
}

/** The answer to a question; with p_b it has `alone`, the answer without, or null if that cannot be told. */
export async function load(question, signal) {
  const { p_b, ...rest } = question;
  if (!p_b) return ask("radius", question, signal);
  const without = ask("radius", rest, signal).catch((error) => {
    if (signal.aborted || !(error instanceof Problem)) throw error;
    return null;
  });
  const [answer, alone] = await Promise.all([ask("radius", question, signal), without]);
  return { ...answer, alone };
}

/** The verdict as elements: the radius in large, what it says, and the numbers it rests on. */
export function verdict(answer, evidence) {
  if (answer === null) {
    const why = evidence ? "No answer; the message above says why." : "Give the evidence above to see what it certifies.";
    return [el("p", { className: "sub" }, why)];
  }
  const { radius } = answer;
  const abstains = radius === null;
  const big = abstains ? "abstain" : grouped(radius);
  const unit = abstains ? null : el("span", { className: "unit" }, radius === 1 ? "coordinate" : "coordinates");
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "radius" }, big), unit),
    el("p", { id: "meaning" }, abstains ? whyAbstain(answer) : meaning(answer)),
    ...(answer.p_b === null || abstains ? [] : [el("p", { id: "rule", className: "sub" }, TWO_CLASSES)]),
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
  if (p_b !== null && radius !== null && answer.alone) {
    const { radius: without } = answer.alone;
    add("alone", without === null ? "nothing (abstain)" : `r = ${grouped(without)}`, "without p", el("sub", {}, "b"), ", p alone certifies");
  }
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
