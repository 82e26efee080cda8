// Which runs the page shows, and the part of its address that says so: ?…&run=a&run=b&inputs=b&sort=-radius&from=20.

import { MOST_SERIES } from "./validation.js";

export const ORDERS = ["index", "label", "prediction", "radius", "count", "lower_bound"];
const DEFAULTS = Object.freeze({ compared: null, selected: null, sort: "index", offset: 0 });

/** The state in a query; `compared` is null if it names no run. */
export function parseRuns(query) {
  const parameters = new URLSearchParams(query);
  const compared = [...new Set(parameters.getAll("run"))].slice(0, MOST_SERIES);
  const [sort, from] = [parameters.get("sort") ?? "", parameters.get("from") ?? ""];
  return {
    compared: compared.length ? compared : DEFAULTS.compared,
    selected: parameters.get("inputs"),
    sort: ORDERS.includes(sort.replace(/^-/, "")) ? sort : DEFAULTS.sort,
    offset: /^\d{1,9}$/.test(from) ? Number(from) : DEFAULTS.offset,
  };
}

/** The state as what follows in a query; empty as long as nothing was chosen. */
export function formatRuns({ compared, selected, sort, offset }) {
  if (compared === null) return "";
  const parameters = new URLSearchParams(compared.map((name) => ["run", name]));
  if (selected !== null && selected !== compared[0]) parameters.append("inputs", selected);
  if (sort !== DEFAULTS.sort) parameters.append("sort", sort);
  if (offset !== DEFAULTS.offset) parameters.append("from", String(offset));
  return `&${parameters.toString().replaceAll("%2F", "/")}`;
}
