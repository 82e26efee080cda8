// Which two kinds of change a map shows, where there are more, and the numbers at which all others are fixed.

import { byId, el, formatInteger } from "./dom.js";
import { checkInteger } from "./validation.js";

// What fits into a map, and along a curve; the API gives more.
const MOST_IN_MAP = 50;
const MOST_IN_CURVE = 500;

/** The places of the two kinds to draw, or of the only one; the first ones unless others are named. */
export function chooseAxes(kinds, names) {
  const places = names.map((name) => kinds.indexOf(name));
  const isChoice = places.length === 2 && places[0] !== places[1] && !places.includes(-1);
  return isChoice ? places : kinds.slice(0, 2).map((_, place) => place);
}

/** How many changes of each kind to list: what fits of the drawn ones, and the fixed numbers of all others. */
export function listDrawn(kinds, axes, limits, fixed) {
  const wrong = new Map();
  const most = kinds.length === 1 ? MOST_IN_CURVE : MOST_IN_MAP;
  const drawn = kinds.map((kind, axis) => {
    if (axes.includes(axis)) return Math.min(limits[axis], most);
    const text = fixed[kind] ?? "0";
    const message = checkInteger(text, kind, { minimum: 0, maximum: limits[axis] });
    if (message !== null) wrong.set(`fixed.${kind}`, message);
    return Number(text);
  });
  return { drawn, wrong };
}

/** Show the choice of axes and the fixed numbers, for three kinds or more. */
export function renderSlice(kinds, axes, limits, fixed) {
  const form = byId("slice");
  const key = JSON.stringify([kinds, axes, limits]);
  if (kinds.length < 3 || form.dataset.key === key) return;
  const focused = document.activeElement?.id;
  const others = kinds.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  form.replaceChildren(
    renderAxis("axis-across", "Across", kinds, axes[0]),
    renderAxis("axis-up", "Up", kinds, axes[1]),
    ...others.map((axis) => renderFixed(kinds[axis], limits[axis], fixed[kinds[axis]] ?? "0")),
  );
  form.dataset.key = key;
  if (focused && form.contains(byId(focused))) byId(focused).focus();
}

/** {axes, fixed} of the fields; of the state if there are none. Two equal axes change places. */
export function readSlice({ axes, fixed }) {
  if (byId("slice").hidden || !byId("axis-across")) return { axes, fixed };
  const chosen = [byId("axis-across"), byId("axis-up")];
  const names = chosen.map(({ value }) => value);
  const before = chosen.map((choice) => choice.dataset.before);
  if (names[0] === names[1]) names[names[0] === before[0] ? 0 : 1] = before[names[0] === before[0] ? 1 : 0];
  const entries = [...byId("slice").querySelectorAll("input")].map((input) => [input.dataset.kind, input.value.trim()]);
  return { axes: names, fixed: Object.fromEntries(entries.filter(([kind]) => !names.includes(kind))) };
}

function renderAxis(id, label, kinds, chosen) {
  const choice = el("select", { id }, ...kinds.map((kind, axis) => el("option", { value: kind, selected: axis === chosen }, kind)));
  choice.dataset.before = kinds[chosen];
  return el("div", { className: "field" }, el("label", { htmlFor: id }, label), choice);
}

function renderFixed(kind, limit, value) {
  const id = `fixed.${kind}`;
  const input = el("input", { id, value, inputMode: "numeric", autocomplete: "off", spellcheck: false });
  input.dataset.kind = kind;
  input.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  return el(
    "div",
    { className: "field" },
    el("label", { htmlFor: id }, kind),
    input,
    el("p", { className: "hint", id: `${id}-hint` }, `fixed, up to ${formatInteger(limit)}`),
    el("p", { className: "error", id: `${id}-error` }),
  );
}
