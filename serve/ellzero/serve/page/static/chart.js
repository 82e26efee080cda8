// A chart of thresholds against radii that can be pointed at, stepped through by keys, and kept as a picture.

import { certaintyAxis } from "./axis.js";
import { el } from "./dom.js";
import { height } from "./exact.js";
import { plotly } from "./plotly.js";

const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x"];
const DASHES = ["solid", "solid", "solid", "solid", "dash", "dash", "dash", "dash"];
const NARROW = 500;
const MARKER_ROOM = 13; // pixels for each; closer ones would run together
const HIGHEST = 21; // thresholds have 20 decimals; a p far above them all would only flatten the curves
const PICTURE = { format: "png", width: 1000, height: 600, scale: 2 };
const CONFIG = { displayModeBar: false, scrollZoom: false, doubleClick: false, showTips: false };

export class Chart {
  #host;
  #readout;
  #legend;
  #series = [];
  #mark = {};
  #turn = 0;
  #at = null; // {s, i}: the series and row that are read out

  /** `legend`, if given, has the names where the chart is narrow: a legend inside would leave the curves no room. */
  constructor(host, readout, legend = null) {
    [this.#host, this.#readout, this.#legend] = [host, readout, legend];
    host.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#resize()).observe(host);
  }

  /**
   * Draw series {name, rows: [{r, threshold}]}. `mark` may have `level`, a probability as text drawn across with `label`;
   * `chosen`, the index of a series to stress; and `radius`, the row of it to ring.
   */
  async draw(series, mark = {}) {
    [this.#series, this.#mark] = [series, mark];
    if (this.#series[this.#at?.s]?.rows[this.#at.i]) this.#show(this.#at.s, this.#at.i);
    else this.#forget();
    await this.redraw();
  }

  async redraw() {
    const turn = ++this.#turn;
    this.#host.classList.toggle("waiting", this.#series.length > 0 && !this.#host.dataset.drawn);
    const Plotly = await plotly();
    if (turn !== this.#turn || !this.#series.length) return; // while plotly.js was loading, more was asked for
    const first = !this.#host.classList.contains("js-plotly-plot");
    const width = this.#host.clientWidth;
    this.#name(width);
    await Plotly.react(this.#host, this.#traces(width), this.#layout(width), CONFIG);
    if (first) this.#host.on("plotly_hover", ({ points: [point] }) => this.#show(point.curveNumber, point.pointNumber));
    this.#host.dataset.drawn = "true";
    this.#host.classList.remove("waiting");
  }

  /** A picture of the chart with a title, as a data: address. */
  async png(title) {
    const Plotly = await plotly();
    const layout = {
      ...this.#layout(PICTURE.width),
      title: { text: title, x: 0.5, y: 0.97, yanchor: "top", font: { size: 17 } },
      margin: { l: 24, r: 28, t: 84, b: 20 },
    };
    return Plotly.toImage({ data: this.#traces(PICTURE.width), layout }, PICTURE);
  }

  #name(width) {
    if (this.#legend === null) return;
    this.#legend.hidden = width >= NARROW;
    const names = this.#series.map(({ name }, s) => {
      const entry = el("span", {}, name);
      entry.style.setProperty("--entry", `var(--series-${s})`);
      entry.style.setProperty("--dash", DASHES[s] === "dash" ? "dashed" : "solid");
      return entry;
    });
    this.#legend.replaceChildren(...names);
  }

  #traces(width) {
    const { chosen, radius } = this.#mark;
    const paint = painter(this.#host);
    const traces = this.#series.map(({ name, rows }, s) => ({
      x: rows.map((row) => row.r),
      y: rows.map((row) => height(row.threshold)),
      text: rows.map((row) => row.threshold),
      name,
      mode: rows.length * MARKER_ROOM > width ? "lines" : "lines+markers",
      line: { color: paint(`--series-${s}`), width: s === chosen ? 3 : 2, dash: DASHES[s] },
      marker: { color: paint(`--series-${s}`), symbol: SYMBOLS[s], size: 7 },
      hovertemplate: `r = %{x}, ${name}<br>%{text}<extra></extra>`,
      hoverlabel: { bordercolor: paint(`--series-${s}`) },
    }));
    const ringed = this.#series[chosen]?.rows[radius];
    if (ringed) {
      traces.push({
        x: [ringed.r],
        y: [height(ringed.threshold)],
        mode: "markers",
        marker: { symbol: "circle-open", size: 17, color: paint("--ink"), line: { width: 2 } },
        hoverinfo: "skip",
        showlegend: false,
      });
    }
    return traces;
  }

  #layout(width) {
    const paint = painter(this.#host);
    const { level, label } = this.#mark;
    const [ink, soft, line] = [paint("--ink"), paint("--soft"), paint("--line")];
    const known = level === undefined ? null : height(level);
    const mark = known > HIGHEST ? null : known;
    const heights = this.#series.flatMap(({ rows }) => rows.map((row) => height(row.threshold)));
    const narrow = width < NARROW;
    const axis = { gridcolor: line, linecolor: line, zeroline: false, fixedrange: true, automargin: true };
    const last = this.#series[0].rows.length - 1;
    return {
      autosize: true,
      font: { family: getComputedStyle(this.#host).fontFamily, size: 13, color: soft },
      margin: { l: 8, r: 14, t: 8, b: 8 },
      paper_bgcolor: paint("--surface"),
      plot_bgcolor: paint("--surface"),
      hovermode: "closest",
      hoverdistance: 60,
      dragmode: false,
      hoverlabel: { bgcolor: paint("--surface"), font: { color: ink, size: 13, family: "ui-monospace, monospace" } },
      showlegend: !narrow || this.#legend === null,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
      xaxis: {
        ...axis,
        title: { text: "r, coordinates changed", standoff: 10 },
        range: [-0.03 * Math.max(last, 1), 1.03 * Math.max(last, 1)],
        tickformat: ",d",
        tickangle: 0,
        ...(last <= 15 ? { dtick: narrow && last > 8 ? 2 : 1 } : { nticks: narrow ? 6 : 12 }),
      },
      yaxis: {
        ...axis,
        title: { text: narrow ? "τ" : "τ, drawn by log(1 − τ)", standoff: 12 },
        ...certaintyAxis([...heights, mark]),
      },
      ...(mark !== null && this.#levelAt(mark, narrow ? "p" : label, ink)),
    };
  }

  /** A line across, with its label on the left unless a curve is above it there already. */
  #levelAt(mark, text, color) {
    const above = ({ rows }) => (height(rows[Math.floor((rows.length - 1) / 8)].threshold) ?? Infinity) > mark;
    const side = this.#series.some(above) ? { x: 0.995, xanchor: "right" } : { x: 0.005, xanchor: "left" };
    const across = { type: "line", xref: "paper", x0: 0, x1: 1, y0: mark, y1: mark };
    return {
      shapes: [{ ...across, line: { color, width: 1.5, dash: "dot" } }],
      annotations: [{ ...side, xref: "paper", y: mark, yanchor: "bottom", text, showarrow: false, font: { color, size: 13 } }],
    };
  }

  #key(event) {
    if (!this.#series.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.#series[0].rows.length - 1;
    const { s, i } = this.#at ?? { s: Math.max(this.#mark.chosen ?? 0, 0), i: -1 };
    const count = this.#series.length;
    const moves = {
      ArrowRight: [s, Math.min(i + 1, last)],
      ArrowLeft: [s, Math.max(i - 1, 0)],
      ArrowUp: [(s + count - 1) % count, Math.max(i, 0)],
      ArrowDown: [(s + 1) % count, Math.max(i, 0)],
      Home: [s, 0],
      End: [s, last],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    this.#show(...move);
    this.#hover();
  }

  /** Say in words what a point is; the threshold is the service's text. */
  #show(s, i) {
    if (!this.#series[s]) return; // the ring
    this.#at = { s, i };
    const { name, rows } = this.#series[s];
    const { r, threshold } = rows[i];
    const beyond = height(threshold) === null ? " (1 to 20 decimals, too high to draw)" : "";
    const text = `r = ${r}, ${name}: p must exceed ${threshold}${beyond}`;
    if (this.#readout.textContent !== text) this.#readout.textContent = text;
  }

  #forget() {
    this.#at = null;
    this.#readout.textContent = "";
  }

  async #hover() {
    const Plotly = await plotly();
    const { s, i } = this.#at;
    if (height(this.#series[s].rows[i].threshold) === null) Plotly.Fx.unhover(this.#host);
    else Plotly.Fx.hover(this.#host, [{ curveNumber: s, pointNumber: i }]);
  }

  async #resize() {
    if (!this.#host.dataset.drawn || !this.#host.clientWidth) return;
    await this.redraw();
    if (this.#host.clientWidth) await (await plotly()).Plots.resize(this.#host);
  }
}

/** Gives the colours that CSS variables have here and now (page.css registers them as colours), as plotly.js needs them. */
function painter(host) {
  const style = getComputedStyle(host);
  return (variable) => style.getPropertyValue(variable);
}
