// Budgets of changes. The service writes one as a number if there is one kind of change, otherwise as an object by kind,
// nested for joint families; here it is a list of counts in the order of the kinds, whose names are paths: "edges.add".
// All decisions are the service's: whether a budget is certified follows from the largest certified ones, in integers.

/** The kinds of change that a budget names; `only` is the name of the one that a number counts. */
export function listKinds(budget, only = "change", prefix = "") {
  if (typeof budget === "number") return [prefix || only];
  return Object.entries(budget).flatMap(([name, part]) => listKinds(part, only, prefix ? `${prefix}.${name}` : name));
}

/** The counts of a budget, one for each kind. */
export function readCounts(budget, kinds) {
  if (typeof budget === "number") return [budget];
  return kinds.map((kind) => kind.split(".").reduce((part, name) => part[name], budget));
}

/** A budget of the same form as `shape` with these counts. */
export function writeBudget(shape, kinds, counts, prefix = "") {
  if (typeof shape === "number") return counts[prefix ? kinds.indexOf(prefix) : 0];
  const write = ([name, part]) => [name, writeBudget(part, kinds, counts, prefix ? `${prefix}.${name}` : name)];
  return Object.fromEntries(Object.entries(shape).map(write));
}

/** The largest certified budgets of an answer, as counts; none if it abstains. */
export function listCertified({ certified }, kinds) {
  if (certified === null) return [];
  return (typeof certified === "number" ? [certified] : certified).map((budget) => readCounts(budget, kinds));
}

/** Whether a budget is certified: whether it is within one of the largest. */
export const isCertified = (counts, largest) => largest.some((most) => counts.every((count, axis) => count <= most[axis]));

/** A budget in words: "add 1, delete 2"; without a name if there is one kind. */
export function describeCounts(counts, kinds) {
  return kinds.length === 1 ? `r = ${counts[0]}` : kinds.map((kind, axis) => `${kind} ${counts[axis]}`).join(", ");
}

/** What p must exceed, in words; the digits are the service's. */
export function describeThreshold({ threshold, exact, min_p }) {
  if (min_p === null) return "no p certifies it, since the threshold is 1";
  return `p must exceed ${threshold} (${exact ? "exact" : "rounded up"})`;
}

/** A row in words. `result` has the largest certified budgets and `by`, what certifies them; null if nothing is known. */
export function describeRow(row, kinds, result) {
  const text = `${describeCounts(row.counts, kinds)}: ${describeThreshold(row)}`;
  return result === null ? text : `${text}; ${describeStatus(row.counts, result)}`;
}

export const describeStatus = (counts, { largest, by }) => `${isCertified(counts, largest) ? "certified" : "not certified"} ${by}`;

/** Rows as CSV, as the service writes it. */
export function formatBudgetCsv(rows, kinds) {
  const lines = rows.map(({ counts, threshold, exact, min_p }) => [...counts, threshold, exact, min_p ?? ""].join(","));
  return [[...kinds, "threshold", "exact", "min_p"].map(quote).join(","), ...lines, ""].join("\r\n");
}

const quote = (name) => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
