// The figure of certified accuracy: ACC@r against r as steps, each curve within its band.

import { formatShare } from "./percent.js";
import { escapeMarkup } from "./plot_frame.js";

export const radiusTitle = "r, units changed";

export const isDrawn = () => true;

/** A point in words. */
export function describe({ name, rows }, i) {
  const { r, share, low, high } = rows[i];
  return `ACC@${r}, ${name}: ${formatShare(share)} (${formatShare(low, Math.floor)} – ${formatShare(high, Math.ceil)})`;
}

/** Traces of series {name, rows: [{r, share, low, high}]}: the curves, then their bands. */
export function buildTraces(series, marks, { style, getColour }) {
  const curves = series.map(({ name, rows }, s) => ({
    x: rows.map((row) => row.r),
    y: rows.map((row) => row.share),
    text: rows.map((row) => `${formatShare(row.share)} (${formatShare(row.low, Math.floor)} – ${formatShare(row.high, Math.ceil)})`),
    name: escapeMarkup(shorten(name)),
    mode: rows.length > 40 ? "lines" : "lines+markers",
    hovertemplate: "ACC@%{x}: %{text}<extra></extra>",
    ...style(s),
    line: { ...style(s).line, shape: "hv" },
  }));
  const bands = series.map(({ rows }, s) => ({
    ...outlineBand(rows),
    mode: "lines",
    line: { width: 0 },
    fill: "toself",
    fillcolor: getColour(`--series-${s}`),
    opacity: 0.16,
    hoverinfo: "skip",
    showlegend: false,
  }));
  return [...curves, ...bands];
}

export function buildLayout(series, marks, { isNarrow }) {
  return {
    yaxis: {
      title: { text: isNarrow ? "ACC@r" : "ACC@r, certified and right", standoff: 12 },
      range: [-0.02, 1.04],
      tickformat: ".0%",
    },
  };
}

/** The outline of a band of steps: along the upper ends to the right, and back along the lower ends. */
function outlineBand(rows) {
  const [upper, lower] = ["high", "low"].map((end) =>
    rows.flatMap((row, i) => (i + 1 < rows.length ? [[row.r, row[end]], [rows[i + 1].r, row[end]]] : [[row.r, row[end]]])),
  );
  const points = [...upper, ...lower.reverse()];
  return { x: points.map(([x]) => x), y: points.map(([, y]) => y) };
}

const MOST_CHARACTERS = 40; // of a name beside the curves; its end tells more than its beginning
const shorten = (name) => (name.length > MOST_CHARACTERS ? `…${name.slice(1 - MOST_CHARACTERS)}` : name);
