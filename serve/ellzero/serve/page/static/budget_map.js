// The thresholds of budgets with two kinds of change as a map: a cell for each budget, coloured in steps, with the
// certified region outlined. Cells can be pointed at and stepped through with the keyboard, and the map saved as an image.
// Cells are bars: plotly.js styles heat maps inline, which the content security policy refuses.

import { describeCounts, describeRow, describeThreshold, isCertified } from "./budgets.js";
import { buildFrame, CONFIG, escapeMarkup, IMAGE, NARROW, readColours, renderTitled } from "./plot_frame.js";
import { loadPlotly } from "./plotly.js";
import { describeSteps, findStep, listEdges, nameColour, renderSteps } from "./threshold_steps.js";

const GAP_CELLS = 60; // with more cells in a row there is no room for lines between them

export class BudgetMap {
  #host;
  #readout;
  #legend;
  #drawing = null;
  #version = 0;
  #position = null; // [x, y]: the cell that the readout describes

  constructor(host, readout, legend) {
    [this.#host, this.#readout, this.#legend] = [host, readout, legend];
    host.addEventListener("keydown", (event) => this.#handleKey(event));
    host.addEventListener("blur", () => this.#hideLabel());
    new ResizeObserver(() => this.#resize()).observe(host);
  }

  /**
   * Draw `rows` {counts, threshold, exact, min_p}, all budgets of these `kinds` that differ on the `axes` only, two places
   * in the counts. `result` has the largest certified budgets; null if nothing is known.
   */
  async draw({ rows, kinds, axes, result }) {
    const [across, up] = axes;
    const size = axes.map((axis) => 1 + Math.max(...rows.map(({ counts }) => counts[axis])));
    const cells = Array.from({ length: size[1] }, () => Array(size[0]));
    for (const row of rows) cells[row.counts[up]][row.counts[across]] = row;
    const thresholds = rows.filter(({ min_p }) => min_p !== null).map(({ threshold }) => threshold);
    const edges = listEdges(thresholds);
    const steps = describeSteps(edges, thresholds.length < rows.length);
    this.#drawing = { rows, kinds, axes, result, size, cells, edges, steps };
    this.#legend.replaceChildren(...renderSteps(steps));
    const [x, y] = this.#position ?? [];
    if (cells[y]?.[x]) this.#describeCell(x, y);
    else this.#clearReadout();
    await this.redraw();
  }

  async redraw() {
    const version = ++this.#version;
    this.#host.classList.toggle("waiting", this.#drawing !== null && !this.#host.dataset.ready);
    const Plotly = await loadPlotly();
    if (version !== this.#version || this.#drawing === null || !this.#host.clientWidth) return;
    const isFirst = !this.#host.classList.contains("js-plotly-plot");
    await Plotly.react(this.#host, this.#buildTraces(), this.#buildLayout(this.#host.clientWidth), CONFIG);
    if (isFirst) {
      this.#host.on("plotly_hover", ({ points: [point] }) => {
        const { counts } = this.#drawing.rows[point.pointNumber];
        this.#describeCell(...this.#drawing.axes.map((axis) => counts[axis]));
      });
    }
    this.#host.dataset.ready = "true";
    this.#host.classList.remove("waiting");
  }

  /** The map with a title and its legend as a PNG image, as a data: URL. */
  async renderImage(title) {
    const legend = { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" };
    const layout = { ...this.#buildLayout(IMAGE.width), showlegend: true, legend };
    return renderTitled([...this.#buildTraces(), ...this.#buildLegend()], layout, title);
  }

  /** The legend as traces without points, for the image: on the page it is beside the map. */
  #buildLegend() {
    const getColour = readColours(this.#host);
    return this.#drawing.steps.map(({ text, colour }) => {
      const [symbol, color] = colour === null ? ["square-x-open", getColour("--soft")] : ["square", getColour(colour)];
      return { x: [null], y: [null], mode: "markers", name: text, marker: { symbol, color, size: 15, line: { color: getColour("--soft"), width: 1 } } };
    });
  }

  #buildTraces() {
    const { rows, kinds, axes: [across, up], edges, size } = this.#drawing;
    const getColour = readColours(this.#host);
    const [surface, hatch] = [getColour("--surface"), getColour("--soft")];
    const isEndless = ({ min_p }) => min_p === null;
    const bars = {
      type: "bar",
      x: rows.map(({ counts }) => counts[across]),
      y: rows.map(() => 1),
      base: rows.map(({ counts }) => counts[up] - 0.5),
      width: 1,
      hovertext: rows.map((row) => `${escapeMarkup(describeCounts(row.counts, kinds))}<br>${describeThreshold(row)}`),
      hovertemplate: "%{hovertext}<extra></extra>",
      marker: {
        color: rows.map((row) => (isEndless(row) ? hatch : getColour(nameColour(findStep(row.threshold, edges), edges)))),
        line: { color: surface, width: Math.max(...size) > GAP_CELLS ? 0 : 1 },
        pattern: { shape: rows.map((row) => (isEndless(row) ? "/" : "")), bgcolor: surface, size: 6 },
      },
      showlegend: false,
    };
    return [bars, ...this.#outlineCertified(getColour)];
  }

  /** The edge of the certified region as two lines, a wide one of the background's colour below a narrow one. */
  #outlineCertified(getColour) {
    const { result, cells, size: [width] } = this.#drawing;
    if (result === null) return [];
    const heights = Array.from({ length: width }, (_, x) => cells.filter((row) => isCertified(row[x].counts, result.largest)).length);
    const columns = heights.filter((height) => height > 0); // certified columns come first, and never grow
    if (!columns.length) return [];
    const points = [[-0.5, -0.5], ...columns.flatMap((height, x) => [[x - 0.5, height - 0.5], [x + 0.5, height - 0.5]]), [columns.length - 0.5, -0.5], [-0.5, -0.5]];
    const line = { x: points.map(([x]) => x), y: points.map(([, y]) => y), mode: "lines", hoverinfo: "skip", showlegend: false, cliponaxis: false };
    return [
      { ...line, line: { color: getColour("--surface"), width: 8 } },
      { ...line, line: { color: getColour("--series-1"), width: 4 } },
    ];
  }

  #buildLayout(width) {
    const { kinds, axes, size } = this.#drawing;
    const { axis, layout } = buildFrame(this.#host);
    const buildAxis = (place, ticks) => ({
      ...axis,
      showgrid: false,
      title: { text: escapeMarkup(kinds[axes[place]]), standoff: 10 },
      range: [-0.6, size[place] - 0.4],
      tickformat: ",d",
      tickangle: 0,
      ...(size[place] <= 10 ? { dtick: 1 } : { nticks: ticks }),
    });
    return { ...layout, barmode: "overlay", bargap: 0, xaxis: buildAxis(0, width < NARROW ? 6 : 12), yaxis: buildAxis(1, 10) };
  }

  #handleKey(event) {
    if (this.#drawing === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const { size: [width, height] } = this.#drawing;
    const [x, y] = this.#position ?? [-1, 0];
    const targets = {
      ArrowRight: [Math.min(x + 1, width - 1), y],
      ArrowLeft: [Math.max(x - 1, 0), y],
      ArrowUp: [Math.max(x, 0), Math.min(y + 1, height - 1)],
      ArrowDown: [Math.max(x, 0), Math.max(y - 1, 0)],
      Home: [0, y],
      End: [width - 1, y],
    };
    const target = targets[event.key];
    if (!target) return;
    event.preventDefault();
    this.#describeCell(...target);
    this.#showLabel();
  }

  /** Describe a cell in the readout. */
  #describeCell(x, y) {
    const { cells, kinds, result } = this.#drawing;
    this.#position = [x, y];
    const text = describeRow(cells[y][x], kinds, result);
    if (this.#readout.textContent !== text) this.#readout.textContent = text;
  }

  #clearReadout() {
    this.#position = null;
    this.#readout.textContent = "";
  }

  /** Show plotly.js' label at the cell that the readout describes. */
  async #showLabel() {
    const Plotly = await loadPlotly();
    if (document.activeElement !== this.#host || !this.#host.dataset.ready || this.#position === null) return;
    const [x, y] = this.#position;
    Plotly.Fx.hover(this.#host, [{ curveNumber: 0, pointNumber: this.#drawing.rows.indexOf(this.#drawing.cells[y][x]) }]);
  }

  async #hideLabel() {
    if (this.#host.dataset.ready) (await loadPlotly()).Fx.unhover(this.#host);
  }

  async #resize() {
    if (this.#drawing === null || !this.#host.clientWidth) return;
    await this.redraw();
    if (this.#host.clientWidth) await (await loadPlotly()).Plots.resize(this.#host);
  }
}
