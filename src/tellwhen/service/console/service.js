// Requests to the service, with the key.
import { parsed, typeOf, written } from "./exact.js";

const BASE = new URL("../", import.meta.url); // the console may be served below a path
const KEY = "tellwhen-key";

/** What the page is told: "refused" when the key is not taken, "silent" and "answering" about the service. */
export const news = new EventTarget();

/** The service answered with an error. */
export class Refused extends Error {
  constructor(status, body, retryAfter) {
    super(body.message || `The service answered with status ${status}.`);
    Object.assign(this, { status, kind: body.error, position: body.position ?? null, retryAfter });
  }
}

/** The service did not respond. */
export class Silent extends Error {
  constructor() {
    super("The service does not answer. It may have stopped, or the network is down.");
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (secret) => sessionStorage.setItem(KEY, secret),
  forget: () => sessionStorage.removeItem(KEY),
};

async function send(method, path, { body, signal, secret = key.get() } = {}) {
  const headers = {};
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(new URL(path, BASE), { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    news.dispatchEvent(new Event("silent"));
    throw new Silent();
  }
  news.dispatchEvent(new Event("answering"));
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function refusal(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // something between us and the service answered
  }
  if (answer.status === 401) news.dispatchEvent(new Event("refused"));
  return new Refused(answer.status, body, Number(answer.headers.get("retry-after")) || null);
}

async function read(answer) {
  try {
    return parsed(await answer.text());
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Silent();
  }
}

export const get = async (path, options) => read(await send("GET", path, options));

export const post = async (path, body, options) => read(await send("POST", path, { ...options, body: written(body) }));

/** Send an event as the user wrote it, so that no number is rounded, with other fields. */
export async function postEvent(path, event, body = {}) {
  const others = Object.entries(body).map(([name, value]) => `,"${name}":${written(value)}`);
  return read(await send("POST", path, { body: `{"event":${event}${others.join("")}}` }));
}

/** Return one subscription. Ids of dots are searched, because browsers take dots in an address for folders. */
export async function subscription(id) {
  if (["", ".", ".."].includes(id)) {
    let start = "";
    for (;;) {
      const page = await get(`v1/subscriptions?limit=1000&text=${encodeURIComponent(id)}${start}`);
      const found = page.subscriptions.find((one) => one.id === id);
      if (found) return found;
      if (page.next === null) throw new Refused(404, { message: `There is no subscription ${written(id)}.` });
      start = `&start=${encodeURIComponent(page.next)}`;
    }
  }
  return get(`v1/subscriptions/${encodeURIComponent(id)}?id_type=${typeOf(id)}`);
}

/** Call `take(kind, data)` for each server-sent event, until the signal aborts or the service ends the stream. */
export async function listen(path, signal, opened, take) {
  const answer = await send("GET", path, { signal });
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.data) take(fields.event, parsed(fields.data));
    }
  }
}
