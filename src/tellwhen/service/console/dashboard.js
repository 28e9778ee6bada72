// The dashboard: how much comes, how long it takes, and what makes the work.
import { bars, line } from "./charts.js";
import { $, element, figure, fill } from "./page.js";
import { get } from "./service.js";

const POLL_SECONDS = 2;
const POINTS = 150; // five minutes

let polling = null;
let asking = null;
let before = null;
let rates = []; // {events, matches} per second

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

/** What came since the last time? */
function note({ events, matches }) {
  const now = { events, matches, at: performance.now() };
  if (before && events < before.events) rates = []; // the service began anew
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
  $("failure").textContent = stats.failure ? `Changes are not taken: ${stats.failure}` : "";
  for (const name of ["events", "matches"])
    line($(`${name}-line`), rates.map((one) => one[name]), { what: `${name} per second`, every: POLL_SECONDS, most: POINTS });
  const latency = stats.latency.map((one, at) => ({
    label: one.seconds === null ? `over ${duration(stats.latency[at - 1].seconds)}` : duration(one.seconds),
    value: one.events,
  }));
  bars($("latency"), latency, "events by the time they took; the same as the table below");
  fill($("latency-table"), latency.map((one) => [one.label, one.value]));
  fill($("memory"), Object.entries(stats.bytes));
  const mismatches = Object.entries(stats.mismatches);
  $("mismatches").hidden = !mismatches.length;
  $("mismatches-none").hidden = mismatches.length > 0;
  fill($("mismatches"), mismatches);
  fill(
    $("heaviest"),
    stats.heaviest.map((one) => [
      element("code", {}, one.predicate),
      one.subscriptions,
      { figure: one.events === null ? "not known" : `${figure(one.events * 100)} %` },
    ]),
  );
  if ($("plan").textContent !== stats.plan) $("plan").textContent = stats.plan; // or a selection would be lost
}

function tiles(figures) {
  const place = $("tiles");
  for (const [name, value] of Object.entries(figures)) {
    let tile = [...place.children].find((one) => one.firstElementChild.textContent === name);
    if (!tile) place.append((tile = element("div", {}, element("dt", {}, name), element("dd"))));
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

/** The bound that half of the events keep. */
function median(latency) {
  const half = latency.reduce((sum, one) => sum + one.events, 0) / 2;
  if (!half) return "…";
  let sum = 0;
  const found = latency.find((one) => (sum += one.events) >= half);
  return found.seconds === null ? `> ${duration(latency.at(-2).seconds)}` : `≤ ${duration(found.seconds)}`;
}
