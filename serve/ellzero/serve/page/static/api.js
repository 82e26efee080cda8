// Requests to the service that this page came from.

const KEY = "ellzero-api-key";
const [JSON_TYPE, NPY] = ["application/json", "application/x-npy"];
let key = readKey();

/** What went wrong, in words, and the field it is about (null if none). Status 0 means that there was no response. */
export class Problem extends Error {
  constructor(status, detail, field = null) {
    super(detail);
    this.status = status;
    this.field = field;
  }
}

/** GET v1/<path>; empty parameters are left out. Throws Problem, or AbortError once `signal` is aborted. */
export async function get(path, parameters, signal) {
  const query = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return sendRequest(`v1/${path}?${new URLSearchParams(query)}`, {}, signal);
}

/** GET v1/<path> as a .npy file; throws as `get` does. */
export async function getArray(path, parameters, signal) {
  return sendRequest(`v1/${path}?${new URLSearchParams(parameters)}`, {}, signal, NPY);
}

/** POST v1/<path> with a JSON body; throws as `get` does. */
export async function post(path, body, signal) {
  return sendRequest(`v1/${path}`, { method: "POST", body: JSON.stringify(body) }, signal);
}

/** DELETE v1/<path>; throws as `get` does. */
export async function remove(path, signal) {
  return sendRequest(`v1/${path}`, { method: "DELETE" }, signal);
}

async function sendRequest(url, options, signal, accept = JSON_TYPE) {
  const headers = { accept };
  if (options.body) headers["content-type"] = JSON_TYPE;
  if (key) headers["x-api-key"] = key;
  let response;
  try {
    response = await fetch(url, { ...options, headers, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem(0, "The service cannot be reached. Is it still running?");
  }
  const isArray = response.ok && accept === NPY;
  const body = await (isArray ? response.arrayBuffer() : response.json()).catch(() => null);
  signal.throwIfAborted();
  if (response.ok && body !== null) return body;
  throw new Problem(response.status, describeFailure(response.status, body), body?.field ?? null);
}

function describeFailure(status, body) {
  if (typeof body?.detail === "string" && body.detail) return body.detail;
  return `The service answered with an error (${status}).`;
}

/** Keep a key until the tab is closed, without the characters that no header can carry. */
export function storeKey(text) {
  key = text.replace(/[^\x20-\x7e]/g, "").trim();
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // Without storage, the key lasts until the page is left.
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
 * Wrap `work(signal, ...)` so that each call aborts the previous one: an old response never overwrites a newer one.
 * Problems go to `handleProblem`; aborts are silent.
 */
export function abortPrevious(work, handleProblem = () => {}) {
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
      handleProblem(error);
    }
  };
}
