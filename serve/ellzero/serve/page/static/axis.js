// The axis of certainty: places are −log10(1 − τ), labels are τ.

const COARSE = [0.5, 0.9];
const FINE = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98];
const place = (value) => -Math.log10(1 - value);

/** {range, tickvals, ticktext} for an axis that shows these heights (nulls are infinitely far up). */
export function certaintyAxis(heights) {
  const finite = heights.filter((height) => height !== null);
  const low = Math.min(place(0.5), ...finite);
  const high = Math.max(place(0.9), ...finite);
  const pad = 0.05 * (high - low);
  const range = [low - pad, high + 1.6 * pad];
  const ticks = ticksUpTo(range[1]).filter(([at]) => at >= range[0]);
  return { range, tickvals: ticks.map(([at]) => at), ticktext: ticks.map(([, text]) => text) };
}

function ticksUpTo(top) {
  const step = Math.max(1, Math.ceil(top / 10));
  const ticks = (top < 2.2 ? FINE : COARSE).map((value) => [place(value), String(value)]);
  if (step > 1) ticks.pop(); // 0.9 would crowd 0.5
  for (let nines = Math.max(2, step); nines <= top; nines += step) ticks.push([nines, nearOne(nines)]);
  return ticks;
}

// Raised digits are letters of their own: plotly.js would style <sup> inline, which the page's policy refuses.
const raised = (number) => [...String(number)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
const nearOne = (nines) => (nines <= 5 ? `0.${"9".repeat(nines)}` : `1 − 10⁻${raised(nines)}`);
