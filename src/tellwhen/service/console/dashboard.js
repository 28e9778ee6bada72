// The dashboard: rates, matching times, memory, and the most costly predicates.
import { bars, line } from "./charts.js";
import { $, element, figure, fill } from "./page.js";
import { get } from "./service.js";

const POLL_SECONDS = 2;
const POINTS = 150; // five minutes
const SHOWN_MAX = 10;

let polling = null;
let asking = null;
let before = null;
let rates = []; // {events, matches} per second
let planned = null; // the plan that is shown

export const view = {
  start() {
    document.addEventListener("visibilitychange", () => polling !== null && !document.hidden && poll());
  },
  show() {
    poll();
  },
  hide() {
    clearTimeout(polling);
    asking?.abort();
    polling = asking = null;
  },
};

async function poll() {
  clearTimeout(polling);
  asking?.abort();
  const mine = (asking = new AbortController());
  let seconds = POLL_SECONDS;
  try {
    const stats = await get("v1/stats", { signal: mine.signal });
    if (asking !== mine) return;
    note(stats);
    show(stats);
    $("dashboard-status").textContent = "";
  } catch (error) {
    if (asking !== mine) return;
    $("dashboard-status").textContent = error.message;
    seconds = error.retryAfter ?? POLL_SECONDS;
  }
  polling = setTimeout(() => !document.hidden && poll(), seconds * 1000);
}

/** Add the rates since the previous poll. */
function note({ events, matches }) {
  const now = { events, matches, at: performance.now() };
  if (before && events < before.events) rates = []; // the service was restarted
  else if (before) {
    const seconds = (now.at - before.at) / 1000;
    rates.push({ events: (events - before.events) / seconds, matches: (matches - before.matches) / seconds });
    rates = rates.slice(-POINTS);
  }
  before = now;
}

function show(stats) {
  const last = rates.at(-1);
  tiles({
    subscriptions: figure(stats.subscriptions),
    "events per second": last ? rate(last.events) : "…",
    "matches per second": last ? rate(last.matches) : "…",
    events: figure(stats.events),
    matches: figure(stats.matches),
    "median time per event": median(stats.latency),
    memory: bytes(Object.values(stats.bytes).reduce((sum, one) => sum + one, 0)),
    journal: bytes(stats.journal_bytes),
    listeners: figure(stats.listeners),
    "messages lost": figure(stats.lost),
  });
  $("failure").hidden = !stats.failure;
  $("failure").textContent = stats.failure ? `Changes are rejected: ${stats.failure}` : "";
  for (const name of ["events", "matches"])
    line($(`${name}-line`), rates.map((one) => one[name]), { what: `${name} per second`, every: POLL_SECONDS, most: POINTS });
  const latency = stats.latency.map((one, at) => ({
    label: one.seconds === null ? `over ${duration(stats.latency[at - 1].seconds)}` : duration(one.seconds),
    value: one.events,
  }));
  bars($("latency"), latency, "events by matching time, as in the table below");
  fill($("latency-table"), latency.map((one) => [one.label, one.value]));
  fill($("memory"), Object.entries(stats.bytes));
  const wrong = Object.entries(stats.mismatches).sort((one, other) => other[1] - one[1]);
  const others = wrong.slice(SHOWN_MAX).reduce((sum, one) => sum + one[1], 0);
  fillIfAny("mismatches", others ? [...wrong.slice(0, SHOWN_MAX), ["others", others]] : wrong);
  const code = (name) => (name === null ? "" : element("code", {}, ...wrapping(name)));
  fillIfAny("unseen", Object.entries(stats.unseen).slice(0, SHOWN_MAX).map((names) => names.map(code)));
  fill(
    $("heaviest"),
    stats.heaviest.map((one) => [
      element("code", {}, ...wrapping(one.predicate)),
      one.subscriptions,
      { figure: one.events === null ? "unknown" : `${figure(one.events * 100)} %` },
    ]),
  );
  if (planned !== stats.plan) plan(stats.plan); // only then, because redrawing clears a selection
}

function fillIfAny(id, rows) {
  $(id).hidden = !rows.length;
  $(`${id}-none`).hidden = rows.length > 0;
  fill($(id), rows);
}

/** Let names of attributes wrap after their dots if they are longer than a line, and nowhere else. */
const wrapping = (text) =>
  text.split(/((?:[\p{L}\p{N}_]+\.)+\p{L}[\p{L}\p{N}_]*)/u).map((part, at) => {
    const words = part.split(/(?<=\.)/).flatMap((word, number) => (number ? [element("wbr"), word] : [word]));
    return at % 2 ? element("span", { class: "name" }, ...words) : part;
  });

/** Show the plan; long lines continue below their words, not below their numbers. */
function plan(text) {
  planned = text;
  const lines = text.split("\n");
  const before = lines.flatMap((line) => line.match(/^ +(?=\d)/)?.[0].length ?? []); // spaces before numbers
  const spare = before.length ? Math.min(...before) - 2 : 0;
  $("plan").replaceChildren(
    ...lines.map((line) => {
      const shown = line.startsWith("  ") ? line.slice(spare) : line;
      const made = element("span", {}, ...wrapping(shown));
      made.style.setProperty("--hang", `${shown.match(/^(?: +[\d,]+)? +/)?.[0].length ?? 2}ch`);
      return made;
    }),
  );
}

function tiles(figures) {
  const place = $("tiles");
  for (const [name, value] of Object.entries(figures)) {
    let tile = [...place.children].find((one) => one.dataset.name === name);
    if (!tile) place.append((tile = element("div", { "data-name": name }, element("dt"), element("dd"))));
    tile.firstElementChild.textContent = value === "1" ? name.replace(/^(match)es\b|^(\w+)s\b/, "$1$2") : name;
    tile.lastElementChild.textContent = value;
  }
}

const rate = (value) => figure(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));

export const duration = (seconds) => (seconds < 1 ? `${figure(seconds * 1000)} ms` : `${figure(seconds)} s`);

function bytes(number) {
  for (const unit of ["bytes", "KB", "MB", "GB"]) {
    if (number < 1000) return `${figure(unit === "bytes" ? number : Math.round(number * 10) / 10)} ${unit}`;
    number /= 1000;
  }
  return `${figure(number)} TB`;
}

/** Return the upper bound of the bucket with the median. */
function median(latency) {
  const half = latency.reduce((sum, one) => sum + one.events, 0) / 2;
  if (!half) return "…";
  let sum = 0;
  const found = latency.find((one) => (sum += one.events) >= half);
  return found.seconds === null ? `> ${duration(latency.at(-2).seconds)}` : `≤ ${duration(found.seconds)}`;
}
