// The inputs of the page: their values, and the messages beside them.

import { byId } from "./dom.js";
import { DEFAULTS } from "./state.js";

const RADIOS = ["view", "mode"];
const TEXTS = Object.keys(DEFAULTS).filter((name) => !RADIOS.includes(name) && name !== "at");

/** Put a state into the inputs, except for the choice of α. */
export function fillFields(state) {
  for (const name of TEXTS) byId(name).value = state[name];
  for (const name of RADIOS) document.querySelector(`input[name=${name}][value=${state[name]}]`).checked = true;
}

/** The state that the inputs describe. */
export function readFields(at) {
  const state = { ...DEFAULTS };
  for (const name of TEXTS) state[name] = byId(name).value.trim();
  for (const name of RADIOS) state[name] = document.querySelector(`input[name=${name}]:checked`).value;
  return { ...state, at: document.querySelector("input[name=at]:checked")?.value ?? at };
}

/** Show a message beside a field, or take it away if it is empty; false if the field is missing or hidden. */
export function markField(name, message) {
  const [input, place] = [byId(name), byId(`${name}-error`)];
  if (!place || !input.checkVisibility()) return false;
  if (message) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
  if (place.textContent !== (message ?? "")) place.textContent = message ?? "";
  return true;
}

/** Show these messages, a Map from field to message, and take all others of the page's fields away. */
export function markFields(messages) {
  for (const name of TEXTS) {
    if (!messages.has(name)) {
      byId(name).removeAttribute("aria-invalid");
      byId(`${name}-error`).textContent = "";
    } else markField(name, messages.get(name));
  }
}
