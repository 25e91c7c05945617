// Requests to the page's own server; the page talks to no other.

import { onPage } from "./storage.js";

/** A request that was refused: the server's message, and when to try again. */
export class Refused extends Error {
  constructor(status, code, message, retryAfter = 0) {
    super(message);
    Object.assign(this, { status, code, retryAfter });
  }
}

let token = onPage.get("token");

/** The bearer token, kept until the tab is closed. */
export function setToken(value) {
  token = value || null;
  onPage.set("token", token);
}

export const hasToken = () => token !== null;

/** Ask what the server can do: settings, limits, whether it takes feedback, its model. */
export const settings = () => call("settings");

/** Correct texts with the API's `options`; returns one result for each text. */
export async function correct(text, options, signal) {
  const body = { text, options: { ...options, offsets: "utf16", trace: true } };
  const answer = await call("correct", { body, signal });
  return { results: answer.results, model: answer.model };
}

/** Store a decision; called only after the user has agreed. */
export const sendFeedback = (body) => call("feedback", { body });

async function call(path, { body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (token && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Refused(401, "unauthorized", "a token holds visible ASCII characters only");
  }
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(`api/v1/${path}`, {
    method: body ? "POST" : "GET",
    headers,
    body: body && JSON.stringify(body),
    signal,
  });
  if (response.ok) return response.status === 204 ? null : response.json();
  const answer = await response.json().catch(() => null);
  throw new Refused(
    response.status,
    answer?.error?.code ?? "unknown",
    answer?.error?.message ?? `the server answered ${response.status}`,
    Number(response.headers.get("Retry-After")) || 0,
  );
}
