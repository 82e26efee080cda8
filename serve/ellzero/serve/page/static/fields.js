// The input fields of the page: their values, and the messages beside them.

import { byId } from "./dom.js";
import { DEFAULTS } from "./state.js";

const RADIOS = ["view", "mode"];
const TEXTS = Object.keys(DEFAULTS).filter((name) => !RADIOS.includes(name) && name !== "at");

/** Write a state into the fields, except for the selected α. */
export function fillFields(state) {
  for (const name of TEXTS) byId(name).value = state[name];
  for (const name of RADIOS) document.querySelector(`input[name=${name}][value=${state[name]}]`).checked = true;
}

/** Read the state from the fields; `at` is the selected α if there is none to read. */
export function readFields(at) {
  const state = { ...DEFAULTS };
  for (const name of TEXTS) state[name] = byId(name).value.trim();
  for (const name of RADIOS) state[name] = document.querySelector(`input[name=${name}]:checked`).value;
  return { ...state, at: document.querySelector("input[name=at]:checked")?.value ?? at };
}

/**
 * The visible field that a problem is about: the one of that name, or of the longest part of it that has one, as
 * "family.members.edges" is about the field "family". null if there is none.
 */
export function findField(name) {
  const parts = name.split(".");
  const names = parts.map((_, cut) => parts.slice(0, parts.length - cut).join("."));
  return names.find((one) => byId(`${one}-error`) && byId(one).checkVisibility()) ?? null;
}

/** Show a message beside a field, or clear it if there is none; false if the field is missing or hidden. */
export function markField(name, message) {
  const [input, place] = [byId(name), byId(`${name}-error`)];
  if (!place || !input.checkVisibility()) return false;
  if (message) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
  if (place.textContent !== (message ?? "")) place.textContent = message ?? ""; // no second announcement of the same text
  return true;
}

/** Show these messages, a Map from field to message, and clear those of all other fields about noise and evidence. */
export function markFields(messages) {
  for (const place of document.querySelectorAll("#noise .error, #slice .error, #evidence .error")) {
    const name = place.id.slice(0, -"-error".length);
    if (!messages.has(name)) {
      byId(name).removeAttribute("aria-invalid");
      place.textContent = "";
    } else markField(name, messages.get(name));
  }
}
