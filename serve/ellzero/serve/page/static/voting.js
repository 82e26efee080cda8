// Votes of a model on an example, watched as they arrive.

import { ask, latest, post, Problem, remove } from "./api.js";
import { byId, el, grouped } from "./dom.js";

const MOST_ALPHAS = 6;
const POLL_MS = 250;
const NONE =
  "This service has no models to vote with. Install ellzero[predict], or name a folder of what ellzero train has saved: ellzero serve --models FOLDER.";

const chosen = { model: null, examples: [], index: 0, alpha: null, job: null };

/** Find the models; the card says so if there are none. */
export const start = latest(async (signal) => {
  const { models } = await ask("models", {}, signal);
  const usable = [];
  for (const model of models) {
    const found = await ask("examples", { model: model.name }, signal).catch((error) => {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      return null;
    });
    if (found) usable.push({ ...model, examples: found.examples });
  }
  byId("voting-body").hidden = !usable.length;
  byId("voting-text").textContent = usable.length
    ? "Every vote is the model's answer on a copy of the input that noise has struck. 100 votes choose a class, fresh ones bound its probability, and the bound gives the radius."
    : models.length
      ? "The models of this service have no example images here; ask it with POST /v1/certify."
      : NONE;
  if (!usable.length) return;
  byId("voting-model").replaceChildren(...usable.map(({ name }) => el("option", { value: name }, name)));
  byId("voting-model").onchange = () => pick(usable.find(({ name }) => name === byId("voting-model").value));
  pick(usable[0]);
}, (problem) => (byId("voting-text").textContent = problem.message));

function pick(model) {
  drop();
  [chosen.model, chosen.examples, chosen.index] = [model, model.examples, 0];
  const { alpha, sigma, gamma } = model.noise;
  const trained = alpha ? `α = ${alpha}` : sigma ? `Gaussian noise, σ = ${sigma}` : gamma ? `uniform noise, γ = ${gamma}` : "no noise known";
  byId("voting-model-hint").textContent = `${model.architecture}, ${model.num_classes} classes, levels 0…${model.levels - 1}; trained with ${trained}`;
  byId("voting-alphas").value = [...new Set([alpha, "0.99", "0.8", "0.6"])].filter(Boolean).join(", ");
  chosen.alpha = isContinuous(model) ? undefined : (alpha ?? "0.9"); // other noise has no α: it is that of the training
  byId("voting-alphas").closest(".field").hidden = byId("voting-noisy").hidden = isContinuous(model);
  const pictures = chosen.examples.map(({ index, label, x }) =>
    picture("voting-example", String(index), x, model, className(label), index === 0),
  );
  byId("voting-examples").replaceChildren(byId("voting-examples").querySelector("legend"), ...pictures);
  noisy();
}

const isContinuous = ({ noise }) => ["gaussian", "uniform"].includes(noise.family);

const alphas = () => [...new Set(byId("voting-alphas").value.split(/[,;\s]+/).filter(Boolean))].slice(0, MOST_ALPHAS);
const className = (label) => chosen.model.class_names[label] ?? String(label);

/** The chosen example under each α, drawn by the service as votes are. */
const noisy = latest(
  async (signal) => {
    if (isContinuous(chosen.model)) return;
    const { name } = chosen.model;
    const wanted = alphas();
    const drawn = await Promise.all(
      wanted.map((alpha) => ask("noisy", { model: name, example: chosen.index, alpha }, signal)),
    );
    if (!wanted.includes(chosen.alpha)) {
      drop();
      chosen.alpha = wanted[0];
    }
    const pictures = drawn.map(({ x }, place) =>
      picture("voting-alpha", wanted[place], x, chosen.model, `α = ${wanted[place]}`, wanted[place] === chosen.alpha),
    );
    byId("voting-noisy").replaceChildren(byId("voting-noisy").querySelector("legend"), ...pictures);
    complain("voting-alphas", "");
  },
  (problem) => complain("voting-alphas", problem.message),
);

/** An image as a choice. Levels lie in channels, rows and columns. */
function picture(group, value, x, { shape, levels }, label, checked) {
  const [channels, height, width] = shape;
  const canvas = el("canvas", { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let place = 0; place < width * height; place++) {
    const [row, column] = [Math.floor(place / width), place % width];
    for (let colour = 0; colour < 3; colour++) {
      image.data[4 * place + colour] = (255 * x[channels === 3 ? colour : 0][row][column]) / (levels - 1);
    }
    image.data[4 * place + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  const input = el("input", { type: "radio", name: group, value, checked });
  return el("label", {}, input, el("span", {}, canvas, label));
}

/** Take votes, and show them as they come; without a question only end those that are under way. */
const votes = latest(
  async (signal, question = null) => {
    if (!question) return;
    byId("voting-start").disabled = true;
    try {
      let job = await post("certify", question, signal);
      chosen.job = job.id ?? null; // one that was over at once has none
      byId("voting-cancel").disabled = chosen.job === null;
      while (job.state === "waiting" || job.state === "running") {
        show(job.counts[0], job);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        job = await ask(`jobs/${job.id}`, {}, signal);
      }
      finish(job);
    } finally {
      if (!signal.aborted) ended();
    }
  },
  (problem) => {
    if (problem.field === "n") complain("voting-n", problem.message);
    else byId("voting-progress").textContent = problem.message;
  },
);

function certify() {
  clear();
  const n = Number(byId("voting-n").value.trim());
  votes({ model: chosen.model.name, x: chosen.examples[chosen.index].x, n, alpha: chosen.alpha, wait: 0 });
}

/** Something else is chosen now: votes on what was chosen before must not appear beside it. */
function drop() {
  cancel();
  votes();
  ended();
  clear();
}

function cancel() {
  if (chosen.job) remove(`jobs/${chosen.job}`, new AbortController().signal).catch(() => {});
}

function ended() {
  chosen.job = null;
  byId("voting-start").disabled = false;
  byId("voting-cancel").disabled = true;
}

function finish(job) {
  const answer = job.certificate ?? (job.results ? job : null);
  if (!answer) {
    byId("voting-progress").textContent = `The votes were ${job.state}: ${job.reason}.`;
    return;
  }
  const [result] = answer.results;
  show(result.counts);
  byId("voting-progress").textContent =
    `${grouped(result.drawn)} of ${grouped(answer.n)} votes were needed; seed ${answer.seed}, ${answer.seconds.toFixed(1)} s.`;
  byId("voting-verdict").replaceChildren(...verdict(result, answer));
}

function verdict(result, { d, failure, noise }) {
  const abstains = result.radius === null;
  const unit = noise.unit === "pixel" ? "pixel" : "coordinate";
  const bound = `${result.lower_bound.toFixed(20).slice(0, 6)}…`; // cut, not rounded: it is at least that
  const facts = `${grouped(result.count)} votes for ${className(result.selected)}: its probability is at least ${bound}, unless chance misled with probability ${failure}.`;
  const big = abstains ? "abstain" : grouped(result.radius);
  const label = abstains ? null : el("span", { className: "unit" }, `${unit}${result.radius === 1 ? "" : "s"} around ${className(result.prediction)}`);
  return [
    el("p", { className: abstains ? "big abstain" : "big" }, el("strong", { id: "voting-radius" }, big), label),
    el("p", {}, abstains ? "The votes do not prove that the class has more than half of the probability." : `No change of at most ${grouped(result.radius)} of the ${grouped(d)} ${unit}s changes the smoothed answer ${className(result.prediction)}.`),
    el("p", { className: "sub" }, facts),
  ];
}

/** Votes by class as bars; those of the first stage choose the class. */
function show(counts, job = null) {
  const total = Math.max(1, counts.reduce((sum, count) => sum + count, 0));
  const bars = counts.map((count, label) => {
    const bar = el("span", { className: "bar" });
    bar.style.setProperty("--share", `${(100 * count) / total}%`);
    return el("div", {}, el("span", {}, className(label)), bar, el("output", {}, grouped(count)));
  });
  byId("voting-bars").replaceChildren(...bars);
  if (job) {
    const left = job.eta_seconds === null ? "" : `, about ${Math.ceil(job.eta_seconds)} s left`;
    byId("voting-progress").textContent = `${job.state}: ${grouped(job.votes)} of at most ${grouped(job.votes_at_most)} votes${left}`;
  }
}

function clear() {
  for (const id of ["voting-bars", "voting-verdict"]) byId(id).replaceChildren();
  byId("voting-progress").textContent = "";
  complain("voting-n", "");
}

function complain(name, message) {
  byId(`${name}-error`).textContent = message;
  if (message) byId(name).setAttribute("aria-invalid", "true");
  else byId(name).removeAttribute("aria-invalid");
}

byId("voting-examples").addEventListener("input", (event) => {
  drop();
  chosen.index = Number(event.target.value);
  noisy();
});
byId("voting-noisy").addEventListener("input", (event) => {
  drop();
  chosen.alpha = event.target.value;
});
byId("voting-alphas").addEventListener("input", () => noisy());
byId("voting-form").addEventListener("submit", (event) => {
  event.preventDefault();
  certify();
});
byId("voting-cancel").addEventListener("click", cancel);
