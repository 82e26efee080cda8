// Requests to the service that this page came from.

const KEY = "ellzero-api-key";
let key = readKey();

/** What went wrong, in words, and the field that it is about (null if none). status 0: no answer at all. */
export class Problem extends Error {
  constructor(status, detail, field = null) {
    super(detail);
    this.status = status;
    this.field = field;
  }
}

/** The answer to GET v1/<name>; empty parameters are left out. Throws Problem, or AbortError once `signal` is aborted. */
export async function ask(name, parameters, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return request(`v1/${name}?${new URLSearchParams(given)}`, {}, signal);
}

/** The answer to POST v1/<name> with a JSON body, as `ask` gives it. */
export async function post(name, body, signal) {
  return request(`v1/${name}`, { method: "POST", body: JSON.stringify(body) }, signal);
}

/** The answer to DELETE v1/<name>. */
export async function remove(name, signal) {
  return request(`v1/${name}`, { method: "DELETE" }, signal);
}

async function request(url, options, signal) {
  const headers = { accept: "application/json" };
  if (options.body) headers["content-type"] = "application/json";
  if (key) headers["x-api-key"] = key;
  let response;
  try {
    response = await fetch(url, { ...options, headers, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem(0, "The service cannot be reached. Is it still running?");
  }
  const body = await response.json().catch(() => null);
  signal.throwIfAborted();
  if (response.ok && body !== null) return body;
  throw new Problem(response.status, explain(response.status, body), body?.field ?? null);
}

/** Keep a key until the tab is closed, without the characters that no header can carry. */
export function keepKey(typed) {
  key = typed.replace(/[^\x20-\x7e]/g, "").trim();
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // A browser that keeps nothing forgets it when the page is left.
  }
}

export function hasKey() {
  return key !== null;
}

function readKey() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/**
 * `work(signal, ...)` such that each call ends the one before: an old answer never overwrites a newer one. Problems go to
 * `failed`; an abort is silent.
 */
export function latest(work, failed = () => {}) {
  let controller = new AbortController();
  return async (...args) => {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    try {
      await work(signal, ...args);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      failed(error);
    }
  };
}

function explain(status, body) {
  if (typeof body?.detail === "string" && body.detail) return body.detail;
  return `The service answered with an error (${status}).`;
}
