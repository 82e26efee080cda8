// What each field accepts. All fields are checked at once, so that every wrong one has its own message. The limits are
// the service's own (limits.js), and the service checks again: it alone decides.

import { formatInteger } from "./dom.js";
import { parseRational } from "./exact.js";
import { LIMITS } from "./limits.js";
import { listAlphas } from "./state.js";

// What fits on the page; the API gives more.
export const MOST_RADII = 2000;
export const MOST_SERIES = 8;
// Votes for a certificate; those that choose the class count towards the same limit.
export const MOST_MODEL_VOTES = Math.min(LIMITS.n.maximum, LIMITS.max_votes - LIMITS.n0);

const isInteger = (text, { minimum, maximum }) => /^\d{1,15}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
const isPositive = ({ num }) => num > 0n;
const isBelowOne = ({ num, den }) => num < den;
const isAtMostOne = ({ num, den }) => num <= den;

/** A message if `text` is not an integer within these limits, otherwise null. */
export function checkInteger(text, name, limits) {
  if (isInteger(text, limits)) return null;
  return `${name} must be an integer from ${formatInteger(limits.minimum)} to ${formatInteger(limits.maximum)}.`;
}

/** A message if `text` is not a number strictly between 0 and 1, otherwise null. */
export function checkOpenProbability(text, name) {
  const value = parseRational(text);
  if (value && isPositive(value) && isBelowOne(value)) return null;
  return `${name} must be a number strictly between 0 and 1, such as 0.8 or 4/5; “${text}” is not.`;
}

/** A message if `text` is not a number from 0 to 1, otherwise null. */
function checkProbability(text, name) {
  const value = parseRational(text);
  return value && isAtMostOne(value) ? null : `${name} must be a number from 0 to 1, such as 0.99 or 99/100.`;
}

/** A message if the list of α is empty, too long or has a wrong value, otherwise null. */
export function checkAlphas(alphas, most) {
  if (!alphas.length) return "Enter at least one α, such as 0.2.";
  if (alphas.length > most) return `Enter at most ${most} values of α.`;
  return alphas.map((alpha) => checkOpenProbability(alpha, "α")).find((message) => message !== null) ?? null;
}

/** A message if a model cannot be asked for so many votes, otherwise null. */
export function checkVotes(text) {
  return checkInteger(text, "n", { ...LIMITS.n, maximum: MOST_MODEL_VOTES });
}

function checkLastRadius({ r_max, d }) {
  if (!r_max) return "Enter the largest radius to draw, such as 12.";
  const limits = { minimum: 0, maximum: MOST_RADII };
  // Radii end at d, so a larger r_max is fine if d itself can be drawn.
  const isWithin = isInteger(r_max, limits) || (/^\d+$/.test(r_max) && isInteger(d, { ...limits, minimum: 1 }));
  return isWithin ? null : `The largest radius must be an integer from 0 to ${MOST_RADII} here; the API gives more.`;
}

/** The message for each wrong field of discrete noise and of the evidence, by its name. */
export function checkFields(state) {
  const { k, alpha, d } = state;
  const messages = {
    k: k ? checkInteger(k, "K", LIMITS.k) : "Enter K, such as 255 for bytes.",
    alpha: checkAlphas(listAlphas(alpha), MOST_SERIES),
    d: d ? checkInteger(d, "d", LIMITS.d) : "Enter d, such as 784 for 28 × 28 pixels.",
    r_max: checkLastRadius(state),
  };
  return new Map([...listMessages(messages), ...checkEvidence(state)]);
}

/** The message for each wrong field of the evidence that is visible, by its name. What is still missing is not wrong. */
export function checkEvidence({ mode, p, p_b, count, n, failure }) {
  const messages = {};
  if (mode === "p") {
    messages.p = p ? checkProbability(p, "p") : null;
    messages.p_b = p_b ? checkProbability(p_b, "p_b") : null;
  } else {
    messages.n = n ? checkInteger(n, "n", LIMITS.n) : null;
    const maximum = n && !messages.n ? Number(n) : LIMITS.count.maximum;
    messages.count = count ? checkInteger(count, "The number of votes for the class", { ...LIMITS.count, maximum }) : null;
    messages.failure = failure ? checkOpenProbability(failure, "The failure probability") : null;
  }
  return new Map(listMessages(messages));
}

const listMessages = (messages) => Object.entries(messages).filter(([, message]) => message !== null);
