// The inputs of a run as a table: classes, radius and votes of each, and its picture where it is an image.

import { getArray } from "./api.js";
import { el, formatInteger } from "./dom.js";
import { parseInput } from "./npy.js";
import { drawPicture, readImageShape } from "./picture.js";

const COLUMNS = [
  { order: "index", title: "Index" },
  { order: "label", title: "Class" },
  { order: "prediction", title: "Prediction" },
  { order: "radius", title: "Radius", isLargestFirst: true },
  { order: "count", title: "Votes", isLargestFirst: true, isAboutVotes: true },
  { order: "lower_bound", title: "p at least", isLargestFirst: true },
];
const MOST_CHARACTERS = 24; // of a class's name

/** Whether the inputs of an answer of /v1/results/inputs can be drawn. */
export const canDraw = ({ shape, unavailable }) => unavailable === null && readImageShape(shape) !== null;

/** The caption of a run's table. */
export const captionInputs = (name) => `Inputs of ${name}`;

/** The order that a click on a column's header asks for. */
export function turnOrder(column, sort) {
  const first = COLUMNS.find(({ order }) => order === column).isLargestFirst ? `-${column}` : column;
  const second = first === column ? `-${column}` : column;
  return sort === first ? second : first;
}

/** The table of an answer; `byVotes` is false if its certificates are exact. */
export function renderInputs(answer, sort, byVotes) {
  const columns = COLUMNS.filter(({ isAboutVotes }) => byVotes || !isAboutVotes);
  const withPictures = canDraw(answer);
  const head = el("tr", {}, withPictures ? el("th", { scope: "col", className: "picture" }, "Input") : null, ...columns.map((column) => renderHeader(column, sort)));
  const nameClass = (label) => shorten(answer.class_names[label] ?? String(label));
  const body = answer.rows.map((row) => renderRow(row, columns, withPictures, nameClass));
  const caption = el("caption", {}, captionInputs(answer.name));
  return el("table", {}, caption, el("thead", {}, head), el("tbody", {}, ...body));
}

function renderHeader({ order, title }, sort) {
  const isSorted = sort.replace(/^-/, "") === order;
  const direction = sort.startsWith("-") ? "descending" : "ascending";
  const button = el("button", { type: "button", value: order }, title);
  const header = el("th", { scope: "col" }, button);
  if (isSorted) header.ariaSort = direction;
  return header;
}

function renderRow(row, columns, withPictures, nameClass) {
  const cells = {
    index: el("th", { scope: "row" }, String(row.index)),
    label: el("td", {}, nameClass(row.label)),
    prediction: renderPrediction(row, nameClass),
    radius: el("td", {}, row.radius === null ? "abstain" : formatInteger(row.radius)),
    count: el("td", {}, `${formatInteger(row.count)} / ${formatInteger(row.drawn)}${describeLooks(row.looks)}`),
    lower_bound: el("td", {}, cutProbability(row.lower_bound)),
  };
  const picture = withPictures ? el("td", { className: "picture" }) : null;
  const element = el("tr", {}, picture, ...columns.map(({ order }) => cells[order]));
  element.dataset.index = String(row.index);
  return element;
}

const describeLooks = ({ length }) => (length ? `, ${length} ${length === 1 ? "look" : "looks"}` : "");

function renderPrediction({ prediction, label }, nameClass) {
  if (prediction === null) return el("td", {}, "–");
  const isWrong = prediction !== label;
  return el("td", { className: isWrong ? "wrong" : "" }, nameClass(prediction), isWrong ? " (wrong)" : "");
}

/** A lower bound cut after five decimals, never rounded up. */
function cutProbability(bound) {
  const text = bound.toFixed(20);
  return /^[01]\.\d{5}0*$/.test(text) ? text.slice(0, 7) : `${text.slice(0, 7)}…`;
}

const shorten = (name) => (name.length > MOST_CHARACTERS ? `${name.slice(0, MOST_CHARACTERS - 1)}…` : name);

/** Load the inputs of a table's rows and draw them. */
export async function drawInputs(table, { name, shape, levels }, signal) {
  const draw = async (row) => {
    const array = await getArray("results/input", { name, index: row.dataset.index }, signal);
    const canvas = drawPicture(parseInput(array, { shape, levels }), { shape, levels });
    canvas.role = "img";
    canvas.ariaLabel = `input ${row.dataset.index}`;
    row.querySelector(".picture").replaceChildren(canvas);
  };
  await Promise.all([...table.querySelectorAll("tbody tr")].map(draw));
}
