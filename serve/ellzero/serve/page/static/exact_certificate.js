// The exact certificate of a tree or forest: its radius, p, and the features that an adversary would change.

import { el, formatInteger } from "./dom.js";

const MOST_DIGITS = 6; // of a probability, behind the point
const MOST_CHARACTERS = 16; // of a fraction; longer ones are hard to read

/** The certificate of one input, as elements; `nameClass` has the names of classes. */
export function renderExactCertificate({ radius, prediction, selected, exact }, { d, noise }, kind, nameClass) {
  const abstains = radius === null;
  const label = abstains ? null : el("span", { className: "unit" }, `feature${radius === 1 ? "" : "s"} around ${nameClass(prediction)}`);
  const owner = abstains ? "either class" : nameClass(selected);
  const certainty = `Exact, no votes: this holds with certainty for this ${kind} smoothed with α = ${noise.alpha}.`;
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "voting-radius" }, abstains ? "abstain" : formatInteger(radius)), label),
    el("p", { id: "voting-meaning" }, `${explainRadius(radius, prediction, d, kind, nameClass)} ${certainty}`),
    el("p", { className: "sub", id: "voting-probability" }, `p = ${formatProbability(exact.p)}, the probability of ${owner} under noise`),
    exact.adversary ? renderAdversary(exact.adversary, selected, nameClass) : null,
  ].filter(Boolean);
}

function explainRadius(radius, prediction, d, kind, nameClass) {
  if (radius === null) return `Both classes have the probability 1/2, so the smoothed ${kind} abstains.`;
  const name = nameClass(prediction);
  if (radius >= d) return `Whichever of the ${formatInteger(d)} features change, the smoothed ${kind}’s answer stays ${name}.`;
  if (radius === 0) return `The smoothed ${kind}’s answer for this input is ${name}, but it can change if a single feature changes.`;
  return `Changing at most ${formatInteger(radius)} of the ${formatInteger(d)} features cannot change the smoothed ${kind}’s answer ${name}.`;
}

function renderAdversary({ changes, p, prediction }, selected, nameClass) {
  const outcome = prediction === null ? "to a tie" : `to ${nameClass(prediction)}`;
  const rest = `p of ${nameClass(selected)} is then ${formatProbability(p)}`;
  const items = changes.map(({ feature, value, name }) => el("li", {}, name ?? `feature ${feature}`, `: ${1 - value} → ${value}`));
  return el(
    "div",
    { id: "voting-adversary" },
    el("p", { className: "sub" }, `${changes.length === 1 ? "This change leads" : `These ${formatInteger(changes.length)} changes lead`} ${outcome}; ${rest}:`),
    el("ul", {}, ...items),
  );
}

/** A short fraction as it is; otherwise its first digits, cut and not rounded. */
function formatProbability({ fraction, lower }) {
  const [whole, digits = ""] = lower.split(".");
  const decimal = digits.length > MOST_DIGITS ? `${whole}.${digits.slice(0, MOST_DIGITS)}…` : lower;
  if (fraction === null || fraction.length > MOST_CHARACTERS) return decimal;
  return fraction.includes("/") ? `${fraction} = ${decimal}` : fraction;
}
