// The input to certify: one of a model's examples, a blank one, or one from a .npy file.

import { byId, el } from "./dom.js";
import { markField } from "./fields.js";
import { countCoordinates, FileProblem, nest, parseInput } from "./npy.js";
import { drawPicture, getImageSize } from "./picture.js";

const MOST_BYTES = 8; // per number
const MOST_HEADER_BYTES = 65_536;

let model = null;
let inputs = []; // {label, x, example, isFile}: `example` is its index at the service, null if it is not an example
let selected = 0;
let handleSelection = () => {};

/** Have `handle` called whenever another input is selected. */
export function onInputSelected(handle) {
  handleSelection = handle;
}

/** The selected input, {x, example}. */
export const getInput = () => inputs[selected];

/** Offer the inputs of a model: its examples, and a blank one. */
export function showInputs(next, nameClass) {
  model = next;
  const blank = { label: "blank", x: nest(Array(countCoordinates(model)).fill(0), model.shape), example: null };
  const nameExample = (index, label) => (getImageSize(model.shape) ? nameClass(label) : `${index + 1}: ${nameClass(label)}`);
  inputs = [...model.examples.map(({ index, label, x }) => ({ label: nameExample(index, label), x, example: index })), blank];
  byId("voting-examples-hint").textContent = model.reason ?? "";
  byId("voting-file").value = "";
  markField("voting-file", null);
  const k = model.levels - 1;
  byId("voting-file-hint").textContent =
    k === 1
      ? `of shape ${model.shape.join(" × ")}, with numbers 0 and 1`
      : `of shape ${model.shape.join(" × ")}, with integers from 0 to ${k} or floats that are multiples of 1/${k}`;
  selectInput(0);
}

function selectInput(index) {
  selected = index;
  const choices = inputs.map(({ label, x }, place) => renderChoice("voting-example", String(place), x, label, place === index));
  byId("voting-examples").replaceChildren(byId("voting-examples").querySelector("legend"), ...choices);
}

/** A picture, or only its label if `x` is null or not an image, as one of several choices. */
export function renderChoice(group, value, x, label, checked) {
  const input = el("input", { type: "radio", name: group, value, checked });
  const picture = x !== null && getImageSize(model.shape) ? drawPicture(x, model) : null;
  return el("label", {}, input, el("span", {}, picture, label));
}

async function openFile(file) {
  const target = model;
  try {
    const x = parseInput(await readFile(file), target);
    if (target !== model) return; // another model was selected while the file was read
    markField("voting-file", null);
    inputs = [...inputs.filter((input) => !input.isFile), { label: file.name, x, example: null, isFile: true }];
    selectInput(inputs.length - 1);
    handleSelection();
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    markField("voting-file", error.message);
  }
}

async function readFile(file) {
  if (file.size > MOST_HEADER_BYTES + MOST_BYTES * countCoordinates(model)) throw new FileProblem("The file is too large for one input.");
  return file.arrayBuffer();
}

byId("voting-examples").addEventListener("input", (event) => {
  selected = Number(event.target.value);
  handleSelection();
});
byId("voting-file").addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (file) openFile(file);
});
