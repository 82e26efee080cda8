// What the page shows, and the query of its address that says so.

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
const CHOICES = { view: ["chart", "table"], mode: ["p", "votes"] };

/** The state that a query such as "?k=1&alpha=4/5" describes; the rest has its default. */
export function fromQuery(query) {
  const given = new URLSearchParams(query);
  const state = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) {
    const value = given.get(name);
    if (value !== null && (CHOICES[name]?.includes(value) ?? true)) state[name] = value.trim();
  }
  return state;
}

/** The whole state as a query. Slashes and commas stay readable, as queries allow. */
export function toQuery(state) {
  return "?" + new URLSearchParams(state).toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
}

/** The values of α, each once, as they were typed. */
export function alphas(state) {
  return [...new Set(state.alpha.split(/[,;\s]+/).filter(Boolean))];
}

/** The α of the calculator: the one chosen, or the first if that one is no longer listed. */
export function chosenAlpha(state) {
  const all = alphas(state);
  return all.includes(state.at) ? state.at : all[0];
}
