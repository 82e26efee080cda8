// Elements are built from text; nothing is ever parsed as HTML.

export const byId = (id) => document.getElementById(id);

/** Create an element with properties, and with children that are elements or text (null is left out). */
export function el(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** "τ" with a subscript, as an element. */
export const renderTau = (index) => el("span", {}, "τ", el("sub", {}, String(index)));

/** An integer with thousands separators. */
export const formatInteger = (integer) => Number(integer).toLocaleString("en-US");

/** Have the browser save a file. */
export function downloadFile(name, url) {
  el("a", { href: url, download: name }).click();
}

/** Announce a text to screen readers only. */
export function announce(text) {
  byId("announcement").textContent = text;
}
