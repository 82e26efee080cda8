// What the page shows, and the query of its address that describes it.

export const DEFAULTS = Object.freeze({
  k: "255",
  alpha: "0.1, 0.2, 0.3",
  d: "150528",
  r_max: "12",
  view: "chart",
  mode: "p",
  p: "0.99",
  p_b: "",
  count: "99900",
  n: "100000",
  failure: "0.001",
  at: "0.2",
});
const NOISE = ["k", "alpha", "d", "r_max", "at"]; // of discrete noise; another family has fields of its own
const CHOICES = { view: ["chart", "table"], mode: ["p", "votes"] };

/** The state that a query such as "?k=1&alpha=4/5" describes, with defaults for the rest; `isDiscrete` as below. */
export function parseQuery(query, isDiscrete = true) {
  const parameters = new URLSearchParams(query);
  const state = { ...DEFAULTS };
  for (const name of listNames(isDiscrete)) {
    const value = parameters.get(name);
    if (value !== null && (CHOICES[name]?.includes(value) ?? true)) state[name] = value.trim();
  }
  return state;
}

/** The state as a query: all of it for discrete noise. Slashes and commas stay readable, which queries allow. */
export function formatQuery(state, isDiscrete = true) {
  const entries = listNames(isDiscrete).map((name) => [name, state[name]]);
  return "?" + new URLSearchParams(entries).toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
}

const listNames = (isDiscrete) => Object.keys(DEFAULTS).filter((name) => isDiscrete || !NOISE.includes(name));

/** The values of α in a text, each once, as typed. */
export function listAlphas(text) {
  return [...new Set(text.split(/[,;\s]+/).filter(Boolean))];
}

/** The α of the calculator: the selected one, or the first if that one is no longer listed. */
export function getAlpha(state) {
  const alphas = listAlphas(state.alpha);
  return alphas.includes(state.at) ? state.at : alphas[0];
}
