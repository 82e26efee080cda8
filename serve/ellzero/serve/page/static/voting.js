// The certificate of a model: from the votes of a network, shown while they arrive, or exact for a tree or forest.

import { abortPrevious, get, post, Problem, remove } from "./api.js";
import { describeConfidence } from "./calculator.js";
import { byId, el, formatInteger } from "./dom.js";
import { formatConfidence } from "./exact.js";
import { renderExactCertificate } from "./exact_certificate.js";
import { markField } from "./fields.js";
import { LIMITS } from "./limits.js";
import { getInput, onInputSelected, renderChoice, showInputs } from "./model_input.js";
import { getImageSize, MOST_PIXELS } from "./picture.js";
import { listAlphas } from "./state.js";
import { checkAlphas, checkVotes, MOST_MODEL_VOTES } from "./validation.js";

const MOST_ALPHAS = 6;
const DEFAULT_VOTES = 20_000;
const POLL_MS = 250;
const INTRODUCTION =
  `Each vote is the model’s answer on a noisy copy of the input. ${LIMITS.n0} votes choose a class; n further votes bound ` +
  "its probability from below, and the bound gives the certified radius.";
const EXACT_INTRODUCTION =
  "The probability of each class under noise follows exactly from the trees, and so does the certified radius: no votes are needed.";
const NO_MODELS =
  "This service has no models. Install ellzero[predict] for the demo model, or name a folder of models saved by ellzero train or ellzero tree fit: ellzero serve --models FOLDER.";
const NO_PICTURES = "None of this service’s models can be tried here; send inputs of your own to POST /v1/certify.";

const selection = { model: null, alpha: null, job: null };

/** Load the models and offer trees, forests and networks for small images; name the others with the reason. */
export const loadModels = abortPrevious(
  async (signal) => {
    const { models, unusable = [] } = await get("models", {}, signal);
    const usable = models.filter(canTry);
    const offers = await Promise.all(usable.map((model) => loadExamples(model, signal)));
    const others = models.filter((model) => !canTry(model)).map(({ name, shape }) => ({ name, reason: describeShape(shape) }));
    byId("voting-body").hidden = !offers.length;
    if (!offers.length) byId("voting-text").textContent = models.length || unusable.length ? NO_PICTURES : NO_MODELS;
    showOthers([...others, ...unusable]);
    if (!offers.length) return;
    byId("voting-model").replaceChildren(...offers.map(({ name }) => el("option", { value: name }, name)));
    byId("voting-model").onchange = () => selectModel(offers.find(({ name }) => name === byId("voting-model").value));
    selectModel(offers[0]);
  },
  (problem) => (byId("voting-text").textContent = problem.message),
);

const isExact = ({ kind }) => kind === "tree" || kind === "forest";
const canTry = (model) => isExact(model) || getImageSize(model.shape) !== null;
const describeShape = (shape) =>
  `its inputs, of shape ${shape.join(" × ")}, are not images of at most ${MOST_PIXELS} × ${MOST_PIXELS} pixels`;

/** The model with its examples; if there are none, with the reason. */
async function loadExamples(model, signal) {
  try {
    const { examples } = await get("examples", { model: model.name }, signal);
    return { ...model, examples };
  } catch (error) {
    if (signal.aborted || !(error instanceof Problem)) throw error;
    return { ...model, examples: [], reason: error.message };
  }
}

function showOthers(others) {
  byId("voting-others").hidden = !others.length;
  byId("voting-others-list").replaceChildren(
    ...others.map(({ name, reason }) => el("li", {}, el("code", {}, name), `: ${reason}`)),
  );
}

function selectModel(model) {
  discardVotes();
  selection.model = model;
  const { alpha } = model.noise;
  byId("voting-text").textContent = isExact(model) ? EXACT_INTRODUCTION : INTRODUCTION;
  byId("voting-model-hint").textContent = isExact(model)
    ? `a smoothed ${model.kind} on ${formatInteger(model.shape[0])} features of 0 and 1; α = ${alpha}`
    : `${model.architecture}, ${model.num_classes} classes, ${formatInteger(model.levels)} levels per coordinate; ${describeTraining(model.noise)}`;
  byId("voting-alphas").value = [...new Set([alpha, "0.99", "0.8", "0.6"])].filter(Boolean).join(", ");
  selection.alpha = hasOwnNoise(model) ? undefined : (alpha ?? "0.9");
  byId("voting-alphas").closest(".field").hidden = byId("voting-noisy").hidden = hasOwnNoise(model);
  const ofVotes = ["voting-n", "voting-stopping"].map((id) => byId(id).closest(".field"));
  for (const hidden of [...ofVotes, byId("voting-cancel"), byId("voting-bars")]) hidden.hidden = isExact(model);
  showInputs(model, getClassName);
  showNoisy();
}

function describeTraining({ alpha, sigma, gamma }) {
  if (alpha) return `trained with α = ${alpha}`;
  if (sigma) return `trained with Gaussian noise, σ = ${sigma}`;
  if (gamma) return `trained with uniform noise, γ = ${gamma}`;
  return "its file does not name the noise it was trained with";
}

/** Whether the noise can only be that of the training: continuous noise, and that of trees and forests. */
const hasOwnNoise = (model) => isExact(model) || ["gaussian", "uniform"].includes(model.noise.family);
const getClassName = (label) => selection.model.class_names[label] ?? String(label);
const readAlphas = () => listAlphas(byId("voting-alphas").value);

/** Check both fields and mark each wrong one; whether both are right. */
function checkVotingFields() {
  const alphasMessage = hasOwnNoise(selection.model) ? null : checkAlphas(readAlphas(), MOST_ALPHAS);
  const votesMessage = isExact(selection.model) ? null : checkVotes(byId("voting-n").value.trim());
  markField("voting-alphas", alphasMessage);
  markField("voting-n", votesMessage);
  return alphasMessage === null && votesMessage === null;
}

/** Offer each α; an example is shown with noise that the service draws as it draws noise for votes. */
const showNoisy = abortPrevious(
  async (signal) => {
    checkVotingFields();
    const alphas = readAlphas();
    if (hasOwnNoise(selection.model) || checkAlphas(alphas, MOST_ALPHAS) !== null) return;
    const { name } = selection.model;
    const { example } = getInput();
    const noisy = await Promise.all(
      alphas.map((alpha) => (example === null ? { x: null } : get("noisy", { model: name, example, alpha }, signal))),
    );
    if (!alphas.includes(selection.alpha)) {
      discardVotes();
      selection.alpha = alphas[0];
    }
    const choices = noisy.map(({ x }, place) =>
      renderChoice("voting-alpha", alphas[place], x, `α = ${alphas[place]}`, alphas[place] === selection.alpha),
    );
    byId("voting-noisy").replaceChildren(byId("voting-noisy").querySelector("legend"), ...choices);
  },
  (problem) => markField("voting-alphas", problem.message),
);

/** Send a request and show its votes as they arrive; without a request, only stop following the votes in progress. */
const followVotes = abortPrevious(
  async (signal, request = null) => {
    if (!request) return;
    byId("voting-start").disabled = true;
    try {
      let job = await post("certify", request, signal);
      selection.job = job.id ?? null; // a certificate that is ready at once is not a job
      byId("voting-cancel").disabled = selection.job === null;
      while (job.state === "waiting" || job.state === "running") {
        showCounts(job.counts[0]);
        showProgress(job);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        job = await get(`jobs/${job.id}`, {}, signal);
      }
      showOutcome(job);
    } finally {
      if (!signal.aborted) enableStart();
    }
  },
  (problem) => {
    if (problem.field === "n") markField("voting-n", problem.message);
    else byId("voting-progress").textContent = problem.message;
  },
);

function startCertifying() {
  clearOutcome();
  if (!checkVotingFields()) {
    document.querySelector("#voting [aria-invalid]").focus();
    return;
  }
  const { model, alpha } = selection;
  const stopping = byId("voting-stopping").value;
  const votes = isExact(model) ? {} : { n: Number(byId("voting-n").value.trim()), alpha, failure: LIMITS.failure, stopping, wait: 0 };
  followVotes({ model: model.name, x: getInput().x, ...votes });
}

/** Cancel and forget the votes: they must not appear beside another input, model or noise. */
function discardVotes() {
  cancelJob();
  followVotes();
  enableStart();
  clearOutcome();
}

/** Say when the chosen rule stops. */
function explainStopping() {
  const [{ dataset }] = byId("voting-stopping").selectedOptions;
  byId("voting-stopping-hint").textContent = `${dataset.hint}; the certificate holds with the same confidence`;
}

function cancelJob() {
  if (selection.job) remove(`jobs/${selection.job}`, new AbortController().signal).catch(() => {});
}

function enableStart() {
  selection.job = null;
  byId("voting-start").disabled = false;
  byId("voting-cancel").disabled = true;
}

function showProgress({ state, votes, votes_at_most, eta_seconds }) {
  const remaining = eta_seconds === null ? "" : `, about ${Math.ceil(eta_seconds)} s left`;
  byId("voting-progress").textContent =
    `${state}: ${formatInteger(votes)} of at most ${formatInteger(votes_at_most)} votes${remaining}. ` +
    `The certificate will hold with confidence ${formatConfidence(LIMITS.failure)}.`;
}

function showOutcome(job) {
  const answer = job.certificate ?? (job.results ? job : null);
  if (!answer) {
    byId("voting-progress").textContent = `The votes were ${job.state}: ${job.reason}.`;
    return;
  }
  const [result] = answer.results;
  if (result.exact) {
    byId("voting-verdict").replaceChildren(...renderExactCertificate(result, answer, selection.model.kind, getClassName));
    return;
  }
  showCounts(result.counts);
  byId("voting-progress").textContent =
    `${formatInteger(result.drawn)} of ${formatInteger(answer.n)} votes were needed${describeLooks(result.looks)}; seed ${answer.seed}, ${formatSeconds(answer.seconds)}.`;
  byId("voting-verdict").replaceChildren(...renderCertificate(result, answer));
}

/** Each look has a share of the failure probability, so the best of them holds with the confidence of all. */
const describeLooks = (looks) => (looks.length ? `, in ${looks.length} ${looks.length === 1 ? "look" : "looks"} of which the best counts` : "");
const formatSeconds = (seconds) => (seconds < 0.1 ? "under 0.1 s" : `${seconds.toFixed(1)} s`);

function renderCertificate({ radius, prediction, selected, count, lower_bound, looks }, { d, failure, noise }) {
  const abstains = radius === null;
  const unit = noise.unit === "pixel" ? "pixel" : "coordinate";
  const value = abstains ? "abstain" : formatInteger(radius);
  const label = abstains ? null : el("span", { className: "unit" }, `${unit}${radius === 1 ? "" : "s"} around ${getClassName(prediction)}`);
  const bound = `${lower_bound.toFixed(20).slice(0, 6)}…`; // cut, not rounded: the probability is at least that
  const votes = `${formatInteger(count)} votes for ${getClassName(selected)}: with the same confidence, its probability is at least ${bound}`;
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "voting-radius" }, value), label),
    el("p", { id: "voting-meaning" }, explainCertificate(radius, prediction, failure, d, unit)),
    el("p", { className: "sub" }, votes),
    ...(looks.length ? [renderLooks(looks, failure)] : []),
  ];
}

/** The looks at the votes, each an ordinary bound by itself. */
function renderLooks(looks, failure) {
  const titles = ["Votes", "For the class", "Share of the failure probability"];
  const rows = looks.map((look) => el("tr", {}, ...[formatInteger(look.n), formatInteger(look.count), formatFailure(look.failure)].map((text) => el("td", {}, text))));
  const head = el("thead", {}, el("tr", {}, ...titles.map((title) => el("th", { scope: "col" }, title))));
  const table = el("table", {}, el("caption", {}, `All looks hold together, but for a probability of ${failure}. The shares were fixed before the votes.`), head, el("tbody", {}, ...rows));
  const summary = el("summary", {}, looks.length === 1 ? "The look" : `The ${looks.length} looks`);
  const scroll = el("div", { className: "table-scroll", tabIndex: 0, role: "region", ariaLabel: "Looks" }, table);
  return el("details", { id: "voting-looks" }, summary, scroll);
}

/** A fraction to three digits, rounded up. */
function formatFailure(fraction) {
  const [numerator, denominator = "1"] = fraction.split("/");
  const [digits, exponent] = ((Number(numerator) / Number(denominator)) * (1 + 1e-15)).toExponential(15).split("e");
  return `${(Math.ceil(Number(digits) * 100) / 100).toFixed(2)}e${exponent}`;
}

function explainCertificate(radius, prediction, failure, d, unit) {
  const condition = describeConfidence(failure);
  if (radius === null) {
    return `The votes do not prove with confidence ${formatConfidence(failure)} that the class has more than half of the probability, so the smoothed classifier abstains.`;
  }
  const name = getClassName(prediction);
  if (radius === 0) {
    return `${condition}, the smoothed classifier’s answer for this input is ${name}, but it may change if a single ${unit} changes.`;
  }
  return `${condition}, changing at most ${formatInteger(radius)} of the ${formatInteger(d)} ${unit}s cannot change the smoothed classifier’s answer ${name}.`;
}

/** Show the votes for each class as bars. */
function showCounts(counts) {
  const total = Math.max(1, counts.reduce((sum, count) => sum + count, 0));
  const bars = counts.map((count, label) => {
    const bar = el("span", { className: "bar" });
    bar.style.setProperty("--share", `${(100 * count) / total}%`);
    return el("div", {}, el("span", {}, getClassName(label)), bar, el("span", { className: "count" }, formatInteger(count)));
  });
  byId("voting-bars").replaceChildren(...bars);
}

function clearOutcome() {
  for (const id of ["voting-bars", "voting-verdict"]) byId(id).replaceChildren();
  byId("voting-progress").textContent = "";
}

byId("voting-alphas-hint").textContent = `up to ${MOST_ALPHAS}, separated by commas; choose below which one to certify with`;
byId("voting-n").value = String(Math.min(DEFAULT_VOTES, MOST_MODEL_VOTES));
explainStopping();
byId("voting-n-hint").textContent = `${LIMITS.n0} others choose the class`;
onInputSelected(() => {
  discardVotes();
  showNoisy();
});
byId("voting-noisy").addEventListener("input", (event) => {
  discardVotes();
  selection.alpha = event.target.value;
});
byId("voting-stopping").addEventListener("change", () => {
  discardVotes();
  explainStopping();
});
byId("voting-alphas").addEventListener("input", () => showNoisy());
byId("voting-n").addEventListener("input", checkVotingFields);
byId("voting-form").addEventListener("submit", (event) => {
  event.preventDefault();
  startCertifying();
});
byId("voting-cancel").addEventListener("click", cancelJob);
