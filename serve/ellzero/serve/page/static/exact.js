// Exact numbers: decimal or fraction text → BigInt ratios. Doubles are used for positions on the screen only.

/** Parse "0.99", "1e-3" or "4/5" into {num, den} with den > 0; null if the text is not such a number. */
export function parseRational(text) {
  const trimmed = text.trim();
  const fraction = /^(\d{1,400})\s*\/\s*(\d{1,400})$/.exec(trimmed);
  if (fraction) {
    const den = BigInt(fraction[2]);
    return den === 0n ? null : { num: BigInt(fraction[1]), den };
  }
  const decimal = /^(\d{0,400})(?:\.(\d{0,400}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(trimmed);
  if (!decimal || !(decimal[1] || decimal[2])) return null;
  const [, whole, part = "", exponent = "0"] = decimal;
  const scale = Number(exponent) - part.length;
  const digits = BigInt(whole + part);
  return scale >= 0 ? { num: digits * 10n ** BigInt(scale), den: 1n } : { num: digits, den: 10n ** BigInt(-scale) };
}

/**
 * "99.9 %" for a failure probability of "1/1000": 100·(1 − failure), cut after 12 decimals and never rounded up. null if
 * the text is not a probability.
 */
export function formatConfidence(failure) {
  const { num, den } = parseRational(failure) ?? {};
  if (den === undefined || num > den) return null;
  const unit = 10n ** 12n;
  const scaled = 100n * unit * (den - num);
  const cut = scaled / den;
  const decimals = (cut % unit).toString().padStart(12, "0");
  const end = cut * den === scaled ? decimals.replace(/0+$/, "") : `${decimals}…`;
  return `${cut / unit}${end && `.${end}`} %`;
}

/** Negative, 0 or positive, as the first ratio is below, equal to or above the second. */
export function compareRationals(one, other) {
  const difference = one.num * other.den - other.num * one.den;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether the text is a number strictly above one half. */
export function exceedsHalf(text) {
  const value = parseRational(text);
  return value !== null && 2n * value.num > value.den;
}

/**
 * How many nines a probability x has: −log10(1 − x), from the exact 1 − x; the charts' vertical axis. null for 1, which
 * has infinitely many, and for text that is not a probability.
 */
export function countNines(text) {
  const value = parseRational(text);
  if (value === null || value.num >= value.den) return null;
  return log10(value.den) - log10(value.den - value.num);
}

/** log10 of a positive BigInt of any size, to about 15 digits. */
function log10(value) {
  const text = value.toString();
  return Math.log10(Number(`${text[0]}.${text.slice(1, 18)}`)) + text.length - 1;
}
