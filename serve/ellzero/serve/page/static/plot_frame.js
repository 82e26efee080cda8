// What all charts have in common: how plotly.js is set up, the colours of the current theme, and the frame.

import { loadPlotly } from "./plotly.js";

export const NARROW = 500; // pixels
export const IMAGE = { format: "png", width: 1000, height: 600, scale: 2 };
export const CONFIG = { displayModeBar: false, scrollZoom: false, doubleClick: false, showTips: false };

/** A function that gives the current colour of a CSS variable (page.css registers them), as plotly.js needs it. */
export function readColours(host) {
  const style = getComputedStyle(host);
  return (variable) => style.getPropertyValue(variable);
}

/** The layout of a chart in `host`, but for its axes; and what its axes share, as `axis`. */
export function buildFrame(host) {
  const getColour = readColours(host);
  const [ink, soft, line, surface] = ["--ink", "--soft", "--line", "--surface"].map(getColour);
  return {
    axis: { gridcolor: line, linecolor: line, zeroline: false, fixedrange: true, automargin: true },
    layout: {
      autosize: true,
      font: { family: getComputedStyle(host).fontFamily, size: 13, color: soft },
      margin: { l: 8, r: 14, t: 8, b: 8 },
      paper_bgcolor: surface,
      plot_bgcolor: surface,
      hovermode: "closest",
      hoverdistance: 60,
      dragmode: false,
      hoverlabel: { bgcolor: surface, font: { color: ink, size: 13, family: "ui-monospace, monospace" } },
    },
  };
}

/** Traces and a layout with a title as a PNG image, as a data: URL. */
export async function renderTitled(data, layout, text) {
  const Plotly = await loadPlotly();
  const title = { text, x: 0.5, y: 0.97, yanchor: "top", font: { size: 17 } };
  return Plotly.toImage({ data, layout: { ...layout, title, margin: { l: 24, r: 28, t: 84, b: 20 } } }, IMAGE);
}

/** Plotly takes tags in a text for markup, and names can be anything. */
export const escapeMarkup = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
