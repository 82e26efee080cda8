// The figure of thresholds: τ against r, on a scale of log(1 − τ).

import { buildAxis } from "./axis.js";
import { countNines } from "./exact.js";

const MARKER_SPACING = 13; // pixels; closer markers would run together
const MOST_NINES = 21; // thresholds have 20 decimals; a line far above them would only flatten the curves

export const radiusTitle = "r, coordinates changed";

/** Whether a row has a place on the scale: a threshold of 1 is infinitely far up. */
export const isDrawn = ({ threshold }) => countNines(threshold) !== null;

/** A point in words; the threshold is the service's text. */
export function describe({ name, rows }, i) {
  const { r, threshold } = rows[i];
  const note = isDrawn(rows[i]) ? "" : " (1 to 20 decimals, too high to draw)";
  return `r = ${r}, ${name}: p must exceed ${threshold}${note}`;
}

/**
 * Traces of series {name, rows: [{r, threshold}]}. `selected` and `radius`, if there are any, are the series and the row
 * to circle.
 */
export function buildTraces(series, { selected, radius }, { width, style, getColour }) {
  const traces = series.map(({ name, rows }, s) => ({
    x: rows.map((row) => row.r),
    y: rows.map((row) => countNines(row.threshold)),
    text: rows.map((row) => row.threshold),
    name,
    mode: rows.length * MARKER_SPACING > width ? "lines" : "lines+markers",
    hovertemplate: `r = %{x}, ${name}<br>%{text}<extra></extra>`,
    ...style(s),
  }));
  const row = series[selected]?.rows[radius];
  if (row) {
    traces.push({
      x: [row.r],
      y: [countNines(row.threshold)],
      mode: "markers",
      marker: { symbol: "circle-open", size: 17, color: getColour("--ink"), line: { width: 2 } },
      hoverinfo: "skip",
      showlegend: false,
    });
  }
  return traces;
}

/** The layout; `level`, if any, is a probability as text, drawn as a line with `label`. */
export function buildLayout(series, { level, label }, { isNarrow, ink }) {
  const levelNines = level === undefined ? null : countNines(level);
  const drawnLevel = levelNines > MOST_NINES ? null : levelNines;
  const positions = series.flatMap(({ rows }) => rows.map((row) => countNines(row.threshold)));
  return {
    yaxis: {
      title: { text: isNarrow ? "τ" : "τ, on a scale of log(1 − τ)", standoff: 12 },
      ...buildAxis([...positions, drawnLevel]),
    },
    ...(drawnLevel !== null && buildLevel(series, drawnLevel, isNarrow ? "p" : label, ink)),
  };
}

/** A horizontal line, with its label on the left unless a curve is already above it there. */
function buildLevel(series, position, text, color) {
  const isAbove = ({ rows }) => (countNines(rows[Math.floor((rows.length - 1) / 8)].threshold) ?? Infinity) > position;
  const side = series.some(isAbove) ? { x: 0.995, xanchor: "right" } : { x: 0.005, xanchor: "left" };
  const line = { type: "line", xref: "paper", x0: 0, x1: 1, y0: position, y1: position };
  return {
    shapes: [{ ...line, line: { color, width: 1.5, dash: "dot" } }],
    annotations: [{ ...side, xref: "paper", y: position, yanchor: "bottom", text, showarrow: false, font: { color, size: 13 } }],
  };
}
