// What a probability or votes certify of a family of noises, in words and as a list of the largest budgets.

import { post } from "./api.js";
import { listCertified, writeBudget } from "./budgets.js";
import { describeConfidence, readEvidence, renderMissing, shorten } from "./calculator.js";
import { el, formatInteger } from "./dom.js";
import { formatConfidence } from "./exact.js";

/** Load what the evidence in the fields certifies; null while it is incomplete. */
export async function loadCertified({ description, shape, kinds, limits }, fields, signal) {
  const evidence = readEvidence(fields);
  if (evidence === null) return null;
  const body = { family: description, limits: writeBudget(shape, kinds, limits) };
  for (const [name, text] of Object.entries(evidence)) {
    if (text) body[name] = name === "count" || name === "n" ? Number(text) : text;
  }
  return post("radius", body, signal);
}

/** What certifies, in words: "at p = 0.95", "by these votes". */
export function describeCause({ p, p_b, count }) {
  if (count !== null) return "by these votes";
  return `at p = ${shorten(p)}${p_b === null ? "" : `, p_b = ${shorten(p_b)}`}`;
}

/** The result as elements. */
export function renderCertified(answer, request, fields) {
  if (answer === null) return [renderMissing(readEvidence(fields))];
  const largest = listCertified(answer, request.kinds);
  const isOne = request.kinds.length === 1;
  const facts = [
    ...(answer.p_lower === null ? [] : [[`with confidence ${formatConfidence(answer.failure)}, p is at least`, answer.p_lower, "p-lower"]]),
    ...(reachesLimit(largest, request.limits) ? [["a limit above was reached", "more may be certified", "at-limit"]] : []),
  ];
  return [
    ...(largest.length && !isOne ? [el("h3", {}, "Largest certified budgets")] : [renderCount(largest)]),
    ...(largest.length && !isOne ? [renderLargest(largest, request.kinds)] : []),
    el("p", { id: "meaning" }, explain(answer, largest, isOne)),
    ...(answer.p_b === null || !largest.length ? [] : [el("p", { id: "rule", className: "sub" }, TWO_CLASSES)]),
    el("dl", { className: "facts" }, ...facts.map(([term, text, id]) => el("div", {}, el("dt", {}, term), el("dd", { id }, text)))),
  ];
}

const TWO_CLASSES = "Decided by the two-class rule, which may certify a budget although p alone does not exceed its threshold.";

function renderCount(largest) {
  if (!largest.length) return el("p", { className: "big abstain" }, el("strong", { id: "certified" }, "abstain"));
  const [[count]] = largest;
  const unit = el("span", { className: "unit" }, count === 1 ? "change" : "changes");
  return el("p", { className: "big" }, el("strong", { id: "certified" }, formatInteger(count)), unit);
}

function renderLargest(largest, kinds) {
  const head = el("tr", {}, ...kinds.map((kind) => el("th", { scope: "col" }, kind)));
  const rows = largest.map((counts) => el("tr", {}, ...counts.map((count) => el("td", {}, formatInteger(count)))));
  const table = el("table", { id: "certified" }, el("thead", {}, head), el("tbody", {}, ...rows));
  const place = el("div", { className: "table-scroll", tabIndex: 0, role: "region" }, table);
  place.setAttribute("aria-label", "Largest certified budgets");
  return place;
}

function explain({ p_b, count, failure }, largest, isOne) {
  const end = " Not even the answer for the input itself is certified, and the smoothed classifier should abstain.";
  if (!largest.length) {
    if (count !== null) return `The votes do not prove with confidence ${formatConfidence(failure)} that the class has more than half of the probability.${end}`;
    return `p does not exceed ${p_b === null ? "1/2" : "p_b"}, so another class may be just as likely.${end}`;
  }
  const condition = count === null ? "" : `${describeConfidence(failure)}, `;
  const changes = isOne ? "so many changes or fewer" : "changes within one of these budgets, at most so many of each kind,";
  const text = `${condition}${changes} cannot change the smoothed classifier’s answer.`;
  return text[0].toUpperCase() + text.slice(1);
}

/** Whether a larger limit might let more be certified: a largest budget has as many changes of some kind as are allowed. */
const reachesLimit = (largest, limits) => largest.some((counts) => counts.some((count, axis) => count === limits[axis] && count > 0));
