// The inputs of the page: their values, and messages beside them.

import { byId } from "./dom.js";
import { DEFAULTS } from "./state.js";

const RADIOS = ["view", "mode"];
const TEXTS = Object.keys(DEFAULTS).filter((name) => !RADIOS.includes(name) && name !== "at");

/** Put a state into the inputs. The α chips are the calculator's. */
export function fill(state) {
  for (const name of TEXTS) byId(name).value = state[name];
  for (const name of RADIOS) document.querySelector(`input[name=${name}][value=${state[name]}]`).checked = true;
}

/** The state as the inputs say it. */
export function read(at) {
  const state = { ...DEFAULTS };
  for (const name of TEXTS) state[name] = byId(name).value.trim();
  for (const name of RADIOS) state[name] = document.querySelector(`input[name=${name}]:checked`).value;
  return { ...state, at: document.querySelector("input[name=at]:checked")?.value ?? at };
}

/** Show a message beside a field; false if the page has no such field, or does not show it now. */
export function complain(name, message) {
  const [input, place] = [byId(name), byId(`${name}-error`)];
  if (!place || !input.checkVisibility()) return false;
  input.setAttribute("aria-invalid", "true");
  place.textContent = message;
  return true;
}

/** Take the messages beside these fields away. */
export function settle(names) {
  for (const name of names) {
    byId(name).removeAttribute("aria-invalid");
    byId(`${name}-error`).textContent = "";
  }
}
