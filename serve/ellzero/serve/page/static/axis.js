// The vertical axis of the charts: positions are nines, −log10(1 − τ), and labels are τ.

const COARSE = [0.5, 0.9];
const FINE = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98];
const toNines = (value) => -Math.log10(1 - value);

/** {range, tickvals, ticktext} of an axis that shows these positions (null is infinitely far up). */
export function buildAxis(positions) {
  const finite = positions.filter((position) => position !== null);
  const low = Math.min(toNines(0.5), ...finite);
  const high = Math.max(toNines(0.9), ...finite);
  const pad = 0.05 * (high - low);
  const range = [low - pad, high + 1.6 * pad];
  const ticks = listTicks(range[1]).filter(([position]) => position >= range[0]);
  return { range, tickvals: ticks.map(([position]) => position), ticktext: ticks.map(([, text]) => text) };
}

function listTicks(top) {
  const step = Math.max(1, Math.ceil(top / 10));
  const ticks = (top < 2.2 ? FINE : COARSE).map((value) => [toNines(value), String(value)]);
  if (step > 1) ticks.pop(); // 0.9 would crowd 0.5
  for (let nines = Math.max(2, step); nines <= top; nines += step) ticks.push([nines, formatNines(nines)]);
  return ticks;
}

// Superscript characters, since plotly.js would style <sup> inline, which the content security policy refuses.
const formatExponent = (number) => [...String(number)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
/** 1 − 10⁻ⁿ as a label. */
export const formatNines = (nines) => (nines <= 5 ? `0.${"9".repeat(nines)}` : `1 − 10⁻${formatExponent(nines)}`);
