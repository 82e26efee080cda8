// What each field accepts. All fields are checked at once, so that every wrong one is marked with a message of its own.
// The service checks again: it alone decides.

import { rational } from "./exact.js";
import { alphas } from "./state.js";

export const MOST_RADII = 2000;
export const MOST_SERIES = 8;
const MOST = 100_000_000; // of K, and of votes
const MOST_COORDINATES = 2 ** 31 - 1;

const isInteger = (text, least, most) => /^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most;
const isPositive = ({ num }) => num > 0n;
const isBelowOne = ({ num, den }) => num < den;
const isAtMostOne = ({ num, den }) => num <= den;

/** A message if `text` is not an integer from `least` to `most`, otherwise null. */
export function checkInteger(text, name, least, most) {
  return isInteger(text, least, most) ? null : `${name} must be an integer from ${least} to ${most.toLocaleString("en-US")}.`;
}

/** A message if `text` is not a number strictly between 0 and 1, otherwise null. */
export function checkOpenProbability(text, name) {
  const value = rational(text);
  if (value && isPositive(value) && isBelowOne(value)) return null;
  return `${name} must be a number strictly between 0 and 1, such as 0.8 or 4/5; “${text}” is not.`;
}

/** A message if the list of α is empty, too long or has a wrong value, otherwise null. */
export function checkAlphas(values, most) {
  if (!values.length) return "Enter at least one α, such as 0.2.";
  if (values.length > most) return `Enter at most ${most} values of α.`;
  return values.map((alpha) => checkOpenProbability(alpha, "α")).find((message) => message !== null) ?? null;
}

function checkProbability(text, name) {
  const value = rational(text);
  return value && isAtMostOne(value) ? null : `${name} must be a number from 0 to 1, such as 0.99 or 99/100.`;
}

function checkLastRadius({ r_max, d }) {
  if (!r_max) return "Enter the largest radius to draw, such as 12.";
  // Radii end at d, so a larger r_max is fine if d itself can be drawn.
  const isWithin = isInteger(r_max, 0, MOST_RADII) || (/^\d+$/.test(r_max) && isInteger(d, 1, MOST_RADII));
  return isWithin ? null : `The largest radius must be an integer from 0 to ${MOST_RADII} here; the API gives more.`;
}

/** The message for each wrong field that is shown, by its name. Evidence that has not been entered yet is not wrong. */
export function checkFields(state) {
  const { k, d, mode, p, p_b, count, n, failure } = state;
  const messages = {
    k: k ? checkInteger(k, "K", 1, MOST) : "Enter K, such as 255 for bytes.",
    alpha: checkAlphas(alphas(state), MOST_SERIES),
    d: d ? checkInteger(d, "d", 1, MOST_COORDINATES) : "Enter d, such as 784 for 28 · 28 pixels.",
    r_max: checkLastRadius(state),
  };
  if (mode === "p") {
    messages.p = p ? checkProbability(p, "p") : null;
    messages.p_b = p_b ? checkProbability(p_b, "p_b") : null;
  } else {
    messages.n = n ? checkInteger(n, "n", 1, MOST) : null;
    messages.count = count ? checkInteger(count, "count", 0, n && !messages.n ? Number(n) : MOST) : null;
    messages.failure = failure ? checkOpenProbability(failure, "The failure probability") : null;
  }
  return new Map(Object.entries(messages).filter(([, message]) => message !== null));
}

/** A message if `text` is not a number of votes, otherwise null. */
export const checkVotes = (text) => checkInteger(text, "n", 1, MOST);
