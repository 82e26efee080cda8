// A chart against radii that can be pointed at, stepped through with the keyboard, and saved as an image. A figure says
// what is drawn: threshold_figure.js, accuracy_figure.js.

import { el } from "./dom.js";
import { buildFrame, CONFIG, IMAGE, NARROW, readColours, renderTitled } from "./plot_frame.js";
import { loadPlotly } from "./plotly.js";

const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x"];
const DASHES = ["solid", "solid", "solid", "solid", "dash", "dash", "dash", "dash"];

export class Chart {
  #figure;
  #host;
  #readout;
  #legend;
  #series = [];
  #marks = {};
  #version = 0;
  #position = null; // {s, i}: the series and row that the readout describes

  /**
   * A figure has `radiusTitle` and the functions `buildTraces`, whose first traces are those of the series;
   * `buildLayout`; `describe`, a point in words; and `isDrawn`, whether a row has a place in the chart. `legend`, if any,
   * lists the names where the chart is narrow: a legend inside would leave the curves no room.
   */
  constructor(figure, host, readout, legend = null) {
    [this.#figure, this.#host, this.#readout, this.#legend] = [figure, host, readout, legend];
    host.addEventListener("keydown", (event) => this.#handleKey(event));
    host.addEventListener("blur", () => this.#hideLabel());
    new ResizeObserver(() => this.#resize()).observe(host);
  }

  /**
   * Draw series {name, rows: [{r, …}]}, all with the same radii from 0 on. `marks` are the figure's; `selected` is the
   * index of a series to emphasize.
   */
  async draw(series, marks = {}) {
    [this.#series, this.#marks] = [series, marks];
    const { s, i } = this.#position ?? {};
    if (series[s]?.rows[i]) this.#describePoint(s, i);
    else this.#clearReadout();
    await this.redraw();
  }

  async redraw() {
    const version = ++this.#version;
    this.#host.classList.toggle("waiting", this.#series.length > 0 && !this.#host.dataset.ready);
    const Plotly = await loadPlotly();
    if (version !== this.#version || !this.#series.length) return; // a newer drawing was started meanwhile
    const isFirst = !this.#host.classList.contains("js-plotly-plot");
    const width = this.#host.clientWidth;
    this.#renderLegend(width);
    await Plotly.react(this.#host, this.#buildTraces(width), this.#buildLayout(width), CONFIG);
    if (isFirst) {
      this.#host.on("plotly_hover", ({ points: [point] }) => this.#describePoint(point.curveNumber, point.pointNumber));
    }
    this.#host.dataset.ready = "true";
    this.#host.classList.remove("waiting");
  }

  /** The chart with a title as a PNG image, as a data: URL. */
  async renderImage(title) {
    return renderTitled(this.#buildTraces(IMAGE.width), this.#buildLayout(IMAGE.width), title);
  }

  #renderLegend(width) {
    if (this.#legend === null) return;
    this.#legend.hidden = width >= NARROW;
    const entries = this.#series.map(({ name }, s) => {
      const entry = el("span", {}, name);
      entry.style.setProperty("--entry", `var(--series-${s})`);
      entry.style.setProperty("--dash", DASHES[s] === "dash" ? "dashed" : "solid");
      return entry;
    });
    this.#legend.replaceChildren(...entries);
  }

  #buildTraces(width) {
    const getColour = readColours(this.#host);
    const style = (s) => ({
      line: { color: getColour(`--series-${s}`), width: s === this.#marks.selected ? 3 : 2, dash: DASHES[s] },
      marker: { color: getColour(`--series-${s}`), symbol: SYMBOLS[s], size: 7 },
      hoverlabel: { bordercolor: getColour(`--series-${s}`) },
    });
    return this.#figure.buildTraces(this.#series, this.#marks, { width, style, getColour });
  }

  #buildLayout(width) {
    const { axis, layout } = buildFrame(this.#host);
    const ink = readColours(this.#host)("--ink");
    const isNarrow = width < NARROW;
    const last = this.#series[0].rows.length - 1;
    const { yaxis, ...figure } = this.#figure.buildLayout(this.#series, this.#marks, { isNarrow, ink });
    return {
      ...layout,
      showlegend: !isNarrow || this.#legend === null,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
      xaxis: {
        ...axis,
        title: { text: this.#figure.radiusTitle, standoff: 10 },
        range: [-0.03 * Math.max(last, 1), 1.03 * Math.max(last, 1)],
        tickformat: ",d",
        tickangle: 0,
        ...(last <= 15 ? { dtick: isNarrow && last > 8 ? 2 : 1 } : { nticks: isNarrow ? 6 : 12 }),
      },
      yaxis: { ...axis, ...yaxis },
      ...figure,
    };
  }

  #handleKey(event) {
    if (!this.#series.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.#series[0].rows.length - 1;
    const { s, i } = this.#position ?? { s: Math.max(this.#marks.selected ?? 0, 0), i: -1 };
    const count = this.#series.length;
    const targets = {
      ArrowRight: [s, Math.min(i + 1, last)],
      ArrowLeft: [s, Math.max(i - 1, 0)],
      ArrowUp: [(s + count - 1) % count, Math.max(i, 0)],
      ArrowDown: [(s + 1) % count, Math.max(i, 0)],
      Home: [s, 0],
      End: [s, last],
    };
    const target = targets[event.key];
    if (!target) return;
    event.preventDefault();
    this.#describePoint(...target);
    this.#showLabel();
  }

  /** Describe a point in the readout. */
  #describePoint(s, i) {
    if (!this.#series[s]?.rows[i]) return; // what the figure draws beside the series
    this.#position = { s, i };
    const text = this.#figure.describe(this.#series[s], i);
    if (this.#readout.textContent !== text) this.#readout.textContent = text;
  }

  #clearReadout() {
    this.#position = null;
    this.#readout.textContent = "";
  }

  /** Show plotly.js' label at the point that the readout describes. */
  async #showLabel() {
    const Plotly = await loadPlotly();
    if (document.activeElement !== this.#host) return; // left while plotly.js was loading
    const { s, i } = this.#position;
    if (!this.#figure.isDrawn(this.#series[s].rows[i])) Plotly.Fx.unhover(this.#host);
    else Plotly.Fx.hover(this.#host, [{ curveNumber: s, pointNumber: i }]);
  }

  async #hideLabel() {
    if (this.#host.dataset.ready) (await loadPlotly()).Fx.unhover(this.#host);
  }

  async #resize() {
    if (!this.#host.dataset.ready || !this.#host.clientWidth) return;
    await this.redraw();
    if (this.#host.clientWidth) await (await loadPlotly()).Plots.resize(this.#host);
  }
}
