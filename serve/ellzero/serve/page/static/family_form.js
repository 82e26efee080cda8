// The fields of a family of noises, built from what the service says of it. Their ids are the names that the service's
// problems have for them: "family.p_add", "limits.add"; "family" is the JSON of a composed family.

import { writeBudget } from "./budgets.js";
import { byId, el, formatInteger } from "./dom.js";
import { LIMITS } from "./limits.js";
import { checkInteger, checkOpenProbability } from "./validation.js";

const COUNTS = { minimum: 0, maximum: LIMITS.d.maximum };
const MOST_LINES = 16;

/** The fields of a family, with the texts of a state. */
export function renderFields(info, state) {
  const noise = info.composed ? [renderDescription(info, state)] : info.parameters.map((one) => renderParameter(one, state.texts[one.name]));
  const limits = Object.entries(state.limits).map(([kind, text]) => renderLimit(info, kind, text));
  return [...noise, ...limits];
}

/** The state with what the fields have. */
export function readFields(state) {
  const read = (texts, getId) => Object.fromEntries(Object.keys(texts).map((name) => [name, byId(getId(name)).value.trim()]));
  return { ...state, texts: read(state.texts, nameText), limits: read(state.limits, nameLimit) };
}

/** The message for each wrong field, by its id. */
export function checkTexts(info, { texts, limits }) {
  const messages = info.composed
    ? [["family", checkDescription(texts.description, info.name)]]
    : info.parameters.map((one) => [`family.${one.name}`, checkParameter(one, texts[one.name])]);
  for (const [kind, text] of Object.entries(limits)) {
    const check = info.kinds_follow === null ? checkCount : checkJson;
    messages.push([nameLimit(kind), check(text, "limits")]);
  }
  return new Map(messages.filter(([, message]) => message !== null));
}

/** The description of the family that valid fields have. Probabilities stay text, which is exact. */
export function buildDescription(info, { texts }) {
  if (info.composed) return JSON.parse(texts.description);
  const read = ({ name, type }) => [name, type === "integer" ? Number(texts[name]) : texts[name]];
  return { family: info.name, ...Object.fromEntries(info.parameters.map(read)) };
}

/** {counts}, the limit of each kind of change in a budget like `shape`; or {message}, what is wrong. */
export function buildLimits({ kinds_follow }, { limits }, shape, kinds) {
  if (kinds_follow === null) return { counts: "" in limits ? [Number(limits[""])] : kinds.map((kind) => Number(limits[kind])) };
  const entered = JSON.parse(limits[""]);
  if (typeof shape === "number") {
    const message = checkCount(String(entered), "limits");
    return message === null ? { counts: [entered] } : { message };
  }
  if (typeof entered !== "object") return { message: `limits must be ${describeShape(shape, kinds)}.` };
  const texts = new Map(listEntries(entered));
  for (const [kind, count] of texts) {
    const message = kinds.includes(kind) ? checkCount(count, `limits.${kind}`) : `There is no kind of change “${kind}”: limits must be ${describeShape(shape, kinds)}.`;
    if (message !== null) return { message };
  }
  return { counts: kinds.map((kind) => Number(texts.get(kind) ?? 0)) };
}

/** All leaves of a nested object as [path, text]. */
function listEntries(object, prefix = "") {
  return Object.entries(object).flatMap(([name, part]) => {
    const path = prefix ? `${prefix}.${name}` : name;
    return part !== null && typeof part === "object" ? listEntries(part, path) : [[path, String(part)]];
  });
}

const describeShape = (shape, kinds) => `like ${JSON.stringify(writeBudget(shape, kinds, kinds.map(() => 1)))}`;

const nameText = (name) => (name === "description" ? "family" : `family.${name}`);
const nameLimit = (kind) => (kind ? `limits.${kind}` : "limits");

function renderParameter({ name, type, meaning, low, high }, text) {
  const range = type === "integer" ? `an integer from ${formatInteger(low)} to ${formatInteger(high)}` : "strictly between 0 and 1, such as 0.01 or 1/100";
  return renderField(`family.${name}`, `${capitalize(meaning)} (${name})`, range, makeInput(text, type === "integer"));
}

function renderDescription({ parameters }, { texts }) {
  const hint = parameters.map(({ name, meaning }) => `${name}: ${meaning}`).join("; ");
  const rows = Math.min(texts.description.split("\n").length, MOST_LINES);
  const area = el("textarea", { value: texts.description, rows });
  return renderField("family", "Description (JSON)", hint, area, "field wide");
}

function renderLimit({ kinds, kinds_follow }, kind, text) {
  if (kinds_follow !== null) {
    return renderField("limits", "Changes of interest, at most (JSON)", `kinds of change: ${kinds_follow}`, makeInput(text, false), "field wide");
  }
  const { name, meaning } = kinds.find((one) => one.name === kind) ?? kinds[0];
  return renderField(nameLimit(kind), `${capitalize(meaning)}, at most (${name})`, "how many are of interest", makeInput(text, true));
}

const makeInput = (value, isInteger) => el("input", { value, autocomplete: "off", inputMode: isInteger ? "numeric" : "text" });

function renderField(id, label, hint, control, className = "field") {
  Object.assign(control, { id, spellcheck: false });
  control.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  return el(
    "div",
    { className },
    el("label", { htmlFor: id }, label),
    control,
    el("p", { className: "hint", id: `${id}-hint` }, hint),
    el("p", { className: "error", id: `${id}-error` }),
  );
}

function capitalize(meaning) {
  const text = meaning.replace(/^the /, "");
  return text[0].toUpperCase() + text.slice(1);
}

function checkParameter({ name, type, low, high }, text) {
  return type === "integer" ? checkInteger(text, name, { minimum: low, maximum: high }) : checkOpenProbability(text, name);
}

const checkCount = (text, name) => checkInteger(text, name, COUNTS);

function checkDescription(text, name) {
  const message = checkJson(text, "The description");
  if (message !== null) return message;
  return JSON.parse(text)?.family === name ? null : `The description must be an object with "family": "${name}".`;
}

function checkJson(text, name) {
  try {
    return JSON.parse(text) === null ? `${name} must not be null.` : null;
  } catch (error) {
    return `${name} must be JSON: ${error.message}`;
  }
}
