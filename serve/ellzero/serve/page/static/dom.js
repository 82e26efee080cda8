// Elements, made from text only: nothing is ever parsed as HTML.

export const byId = (id) => document.getElementById(id);

/** An element with properties, and children that are elements or text. */
export function el(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** "τ" with an index, as an element. */
export const tau = (index) => el("span", {}, "τ", el("sub", {}, String(index)));

/** An integer with separators of thousands, for reading. */
export const grouped = (integer) => Number(integer).toLocaleString("en-US");

/** Offer a file to keep. */
export function offer(name, url) {
  el("a", { href: url, download: name }).click();
}

/** Say something to those who listen, and nothing to those who look. */
export function say(text) {
  byId("said").textContent = text;
}
