// Which family of noises the page shows, and the part of its address that says so: the fields of the API's own query,
// ?family=sparse&p_add=0.01&p_del=0.6&limits=add:5,delete:20, or the JSON of a composed family as its description.

export const DISCRETE = "discrete"; // the default, with an address and cards of its own

/**
 * The state of a family as it comes from the service: its example. `texts` are what the fields have: parameters by name,
 * or the `description` of a composed family; `limits` by kind of change, or one text under "". `axes` are the two kinds of
 * a map, and `fixed` the numbers of all others.
 */
export function makeExample({ name, composed, kinds_follow, parameters, example, limits }) {
  const texts = composed
    ? { description: writeJson(example) }
    : Object.fromEntries(parameters.map((parameter) => [parameter.name, String(example[parameter.name])]));
  const counts = typeof limits === "number" || kinds_follow !== null ? { "": JSON.stringify(limits) } : limits;
  return { name, texts, limits: mapValues(counts, String), axes: [], fixed: {} };
}

/** The state that a query describes, with the example for what it leaves out; axes and fixed numbers are not checked. */
export function parseFamily(query, info) {
  const parameters = new URLSearchParams(query);
  const state = makeExample(info);
  const texts = Object.fromEntries(Object.entries(state.texts).map(([name, text]) => [name, parameters.get(name)?.trim() ?? text]));
  return {
    ...state,
    texts: info.composed ? { description: changeJson(texts.description, writeJson) } : texts,
    limits: parseLimits(parameters.get("limits"), state.limits),
    axes: parameters.get("axes")?.split(",") ?? [],
    fixed: Object.fromEntries((parameters.get("fixed") ?? "").split(",").filter(Boolean).map((entry) => entry.split(":"))),
  };
}

/** The state as a query; commas, colons and slashes stay readable, which queries allow. */
export function formatFamily({ name, texts, limits, axes, fixed }) {
  const parameters = new URLSearchParams({ family: name, ...mapValues(texts, compact) });
  parameters.set("limits", "" in limits ? limits[""] : joinEntries(limits));
  if (axes.length) parameters.set("axes", axes.join(","));
  if (Object.keys(fixed).length) parameters.set("fixed", joinEntries(fixed));
  return parameters.toString().replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/** The name of the family in a query. */
export const parseName = (query) => new URLSearchParams(query).get("family")?.trim() || DISCRETE;

/** JSON written in another way; any other text as it is. */
function changeJson(text, write) {
  try {
    return write(JSON.parse(text));
  } catch {
    return text;
  }
}

const writeJson = (value) => JSON.stringify(value, null, 2);

/** An object without the line breaks between its parts; any other text as it is. */
const compact = (text) => (text.startsWith("{") ? changeJson(text, (value) => JSON.stringify(value)) : text);

function parseLimits(text, example) {
  if (text === null) return example;
  if ("" in example) return { "": text.trim() };
  const counts = Object.fromEntries(text.split(",").map((entry) => entry.split(":")));
  return Object.fromEntries(Object.keys(example).map((kind) => [kind, counts[kind]?.trim() ?? "0"])); // as in the API
}

const joinEntries = (entries) => Object.entries(entries).map(([kind, count]) => `${kind}:${count}`).join(",");
const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
