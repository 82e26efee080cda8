// A certificate from the votes of a model on an example, shown while the votes arrive.

import { ask, latest, post, Problem, remove } from "./api.js";
import { byId, el, grouped } from "./dom.js";
import { confidence } from "./exact.js";
import { markField } from "./fields.js";
import { drawPicture, imageSize } from "./picture.js";
import { checkAlphas, checkVotes } from "./validation.js";

const MOST_ALPHAS = 6;
const POLL_MS = 250;
const FAILURE = "0.001";
const INTRODUCTION =
  "Each vote is the model’s answer on a noisy copy of the input. 100 votes choose a class; n further votes bound its probability from below, and the bound gives the certified radius.";
const NO_MODELS =
  "This service has no models. Install ellzero[predict] for the demo model, or name a folder of models saved by ellzero train: ellzero serve --models FOLDER.";
const NOTHING_TO_SHOW = "None of this service’s models can be tried here; send inputs of your own to POST /v1/certify.";

const chosen = { model: null, examples: [], index: 0, alpha: null, job: null };

/** Load the models and offer those that have example images; name the others with the reason. */
export const loadModels = latest(async (signal) => {
  const { models, unusable = [] } = await ask("models", {}, signal);
  const candidates = await Promise.all(models.map((model) => loadExamples(model, signal)));
  const offered = candidates.filter(({ examples }) => examples);
  byId("voting-body").hidden = !offered.length;
  const text = models.length || unusable.length ? NOTHING_TO_SHOW : NO_MODELS;
  byId("voting-text").textContent = offered.length ? INTRODUCTION : text;
  showOthers([...candidates.filter(({ examples }) => !examples), ...unusable]);
  if (!offered.length) return;
  byId("voting-model").replaceChildren(...offered.map(({ name }) => el("option", { value: name }, name)));
  byId("voting-model").onchange = () => selectModel(offered.find(({ name }) => name === byId("voting-model").value));
  selectModel(offered[0]);
}, (problem) => (byId("voting-text").textContent = problem.message));

/** The model with its examples, or with the reason why it has none to show. */
async function loadExamples(model, signal) {
  if (!imageSize(model.shape)) {
    return { ...model, reason: `its inputs, of shape ${model.shape.join(" × ")}, are not images of at most 64 × 64 pixels` };
  }
  try {
    const { examples } = await ask("examples", { model: model.name }, signal);
    return { ...model, examples };
  } catch (error) {
    if (signal.aborted || !(error instanceof Problem)) throw error;
    return { ...model, reason: error.message };
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
  [chosen.model, chosen.examples, chosen.index] = [model, model.examples, 0];
  const { alpha } = model.noise;
  byId("voting-model-hint").textContent =
    `${model.architecture}, ${model.num_classes} classes, ${grouped(model.levels)} levels per coordinate; ${describeTraining(model.noise)}`;
  byId("voting-alphas").value = [...new Set([alpha, "0.99", "0.8", "0.6"])].filter(Boolean).join(", ");
  chosen.alpha = isContinuous(model) ? undefined : (alpha ?? "0.9"); // continuous noise is that of the training
  byId("voting-alphas").closest(".field").hidden = byId("voting-noisy").hidden = isContinuous(model);
  const pictures = chosen.examples.map(({ index, label, x }) =>
    renderChoice("voting-example", String(index), x, className(label), index === 0),
  );
  byId("voting-examples").replaceChildren(byId("voting-examples").querySelector("legend"), ...pictures);
  showNoisy();
}

function describeTraining({ alpha, sigma, gamma }) {
  if (alpha) return `trained with α = ${alpha}`;
  if (sigma) return `trained with Gaussian noise, σ = ${sigma}`;
  if (gamma) return `trained with uniform noise, γ = ${gamma}`;
  return "its file does not name the noise it was trained with";
}

const isContinuous = ({ noise }) => ["gaussian", "uniform"].includes(noise.family);
const readAlphas = () => [...new Set(byId("voting-alphas").value.split(/[,;\s]+/).filter(Boolean))];
const className = (label) => chosen.model.class_names[label] ?? String(label);

/** Check both fields and mark each wrong one; whether all are right. */
function checkVotingFields() {
  const wrongAlphas = isContinuous(chosen.model) ? null : checkAlphas(readAlphas(), MOST_ALPHAS);
  const wrongVotes = checkVotes(byId("voting-n").value.trim());
  markField("voting-alphas", wrongAlphas);
  markField("voting-n", wrongVotes);
  return wrongAlphas === null && wrongVotes === null;
}

/** Show the chosen example under each α, with noise drawn by the service as it is drawn for votes. */
const showNoisy = latest(
  async (signal) => {
    checkVotingFields();
    const values = readAlphas();
    if (isContinuous(chosen.model) || checkAlphas(values, MOST_ALPHAS) !== null) return;
    const { name } = chosen.model;
    const answers = await Promise.all(
      values.map((alpha) => ask("noisy", { model: name, example: chosen.index, alpha }, signal)),
    );
    if (!values.includes(chosen.alpha)) {
      discardVotes();
      chosen.alpha = values[0];
    }
    const pictures = answers.map(({ x }, place) =>
      renderChoice("voting-alpha", values[place], x, `α = ${values[place]}`, values[place] === chosen.alpha),
    );
    byId("voting-noisy").replaceChildren(byId("voting-noisy").querySelector("legend"), ...pictures);
  },
  (problem) => markField("voting-alphas", problem.message),
);

/** An image as one of several choices. */
function renderChoice(group, value, x, label, checked) {
  const input = el("input", { type: "radio", name: group, value, checked });
  return el("label", {}, input, el("span", {}, drawPicture(x, chosen.model), label));
}

/** Take votes and show them as they arrive; without a request only stop following those in progress. */
const takeVotes = latest(
  async (signal, request = null) => {
    if (!request) return;
    byId("voting-start").disabled = true;
    try {
      let job = await post("certify", request, signal);
      chosen.job = job.id ?? null; // a certificate that was there at once has none
      byId("voting-cancel").disabled = chosen.job === null;
      while (job.state === "waiting" || job.state === "running") {
        showCounts(job.counts[0]);
        showProgress(job);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        job = await ask(`jobs/${job.id}`, {}, signal);
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
  const n = Number(byId("voting-n").value.trim());
  const { x } = chosen.examples[chosen.index];
  takeVotes({ model: chosen.model.name, x, n, alpha: chosen.alpha, failure: FAILURE, wait: 0 });
}

/** Cancel and forget the votes: after another choice they must not appear beside it. */
function discardVotes() {
  cancelJob();
  takeVotes();
  enableStart();
  clearOutcome();
}

function cancelJob() {
  if (chosen.job) remove(`jobs/${chosen.job}`, new AbortController().signal).catch(() => {});
}

function enableStart() {
  chosen.job = null;
  byId("voting-start").disabled = false;
  byId("voting-cancel").disabled = true;
}

function showProgress({ state, votes, votes_at_most, eta_seconds }) {
  const left = eta_seconds === null ? "" : `, about ${Math.ceil(eta_seconds)} s left`;
  byId("voting-progress").textContent =
    `${state}: ${grouped(votes)} of at most ${grouped(votes_at_most)} votes${left}. ` +
    `The certificate will hold with confidence ${confidence(FAILURE)}.`;
}

function showOutcome(job) {
  const answer = job.certificate ?? (job.results ? job : null);
  if (!answer) {
    byId("voting-progress").textContent = `The votes were ${job.state}: ${job.reason}.`;
    return;
  }
  const [result] = answer.results;
  showCounts(result.counts);
  byId("voting-progress").textContent =
    `${grouped(result.drawn)} of ${grouped(answer.n)} votes were needed; seed ${answer.seed}, ${answer.seconds.toFixed(1)} s.`;
  byId("voting-verdict").replaceChildren(...renderCertificate(result, answer));
}

function renderCertificate(result, { d, failure, noise }) {
  const abstains = result.radius === null;
  const unit = noise.unit === "pixel" ? "pixel" : "coordinate";
  const big = abstains ? "abstain" : grouped(result.radius);
  const label = abstains ? null : el("span", { className: "unit" }, `${unit}${result.radius === 1 ? "" : "s"} around ${className(result.prediction)}`);
  const sure = `With confidence ${confidence(failure)}`;
  const bound = `${result.lower_bound.toFixed(20).slice(0, 6)}…`; // cut, not rounded: it is at least that
  const meaning = abstains
    ? `The votes do not prove with confidence ${confidence(failure)} that the class has more than half of the probability.`
    : result.radius === 0
      ? `${sure}, the smoothed classifier’s answer for this input is ${className(result.prediction)}, but it may change if a single ${unit} changes.`
      : `${sure}, changing at most ${grouped(result.radius)} of the ${grouped(d)} ${unit}s cannot change the smoothed classifier’s answer ${className(result.prediction)}.`;
  const votes = `${grouped(result.count)} votes for ${className(result.selected)}: with the same confidence, its probability is at least ${bound}`;
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "voting-radius" }, big), label),
    el("p", { id: "voting-meaning" }, meaning),
    el("p", { className: "sub" }, votes),
  ];
}

/** Votes by class as bars. */
function showCounts(counts) {
  const total = Math.max(1, counts.reduce((sum, count) => sum + count, 0));
  const bars = counts.map((count, label) => {
    const bar = el("span", { className: "bar" });
    bar.style.setProperty("--share", `${(100 * count) / total}%`);
    return el("div", {}, el("span", {}, className(label)), bar, el("span", { className: "count" }, grouped(count)));
  });
  byId("voting-bars").replaceChildren(...bars);
}

function clearOutcome() {
  for (const id of ["voting-bars", "voting-verdict"]) byId(id).replaceChildren();
  byId("voting-progress").textContent = "";
}

byId("voting-examples").addEventListener("input", (event) => {
  discardVotes();
  chosen.index = Number(event.target.value);
  showNoisy();
});
byId("voting-noisy").addEventListener("input", (event) => {
  discardVotes();
  chosen.alpha = event.target.value;
});
byId("voting-alphas").addEventListener("input", () => showNoisy());
byId("voting-n").addEventListener("input", checkVotingFields);
byId("voting-form").addEventListener("submit", (event) => {
  event.preventDefault();
  startCertifying();
});
byId("voting-cancel").addEventListener("click", cancelJob);
