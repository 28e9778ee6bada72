// Live matches: published events with the ids of their matches.
import { ExpressionField } from "./expression.js";
import { $, count, element, figure, idNode, jsonNode } from "./page.js";
import { listen, Refused } from "./service.js";

const SHOWN = 100;
const IDS = 20; // of one event
const DRAW_MILLISECONDS = 250; // thousands may come in a second
const RETRY_SECONDS_MAX = 30;

let filter;
let listening = null; // ends it
let isPaused = false;
let waiting = []; // not drawn yet
let drawing = null;
let total = 0;
let lost = 0;
let test = () => {};

export const view = {
  start(_, { go }) {
    test = (event) => go("test", { event });
    filter = new ExpressionField($("live-filter"), $("live-filter-box"));
    $("live-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (listening) stop("Not listening.");
      else begin();
    });
    $("live-filter").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.defaultPrevented) {
        event.preventDefault();
        if (!listening) begin();
      }
    });
    $("live-pause").addEventListener("click", () => {
      isPaused = !isPaused;
      $("live-pause").setAttribute("aria-pressed", String(isPaused));
      $("live-pause").textContent = isPaused ? "Resume" : "Pause";
      draw();
    });
    $("live-clear").addEventListener("click", () => {
      waiting = [];
      total = lost = 0;
      $("news").replaceChildren();
      $("live-lost").hidden = true;
      sayCount();
    });
  },
  show() {},
  hide() {}, // listening continues while another view is shown
};

function say(words) {
  $("live-status").textContent = words; // screen readers announce this, and not the count below, which changes all the time
}

function sayCount() {
  const held = isPaused && waiting.length ? ` ${count(waiting.length, "new one", "new ones")} while paused.` : "";
  $("live-count").textContent = total ? `${count(total, "event")} with matches so far.${held}` : "";
}

function buttons() {
  $("live-start").textContent = listening ? "Stop" : "Listen";
  $("live-pause").disabled = !listening;
  $("live-clear").disabled = false;
  $("live-subscriber").disabled = $("live-filter").disabled = Boolean(listening);
}

function stop(words) {
  listening?.abort();
  listening = null;
  isPaused = false;
  $("live-pause").setAttribute("aria-pressed", "false");
  $("live-pause").textContent = "Pause";
  draw();
  buttons();
  say(words);
}

async function begin() {
  const mine = (listening = new AbortController());
  const asked = new URLSearchParams();
  if ($("live-subscriber").value.trim()) asked.set("subscriber", $("live-subscriber").value.trim());
  if (filter.value.trim()) asked.set("filter", filter.value);
  buttons();
  let seconds = 1;
  while (listening === mine) {
    try {
      await listen(`v1/live?${asked}`, mine.signal, () => ((seconds = 1), say("Listening.")), take);
    } catch (error) {
      if (listening !== mine) return;
      if (error instanceof Refused && error.status !== 429 && error.status < 500) {
        const message = error.message.replace(/^subscription \d+: /, "");
        stop(error.kind === "ParseError" ? "Not listening: the filter is not a valid expression." : `Not listening: ${message}`);
        if (error.kind === "ParseError") filter.say({ message, position: error.position });
        return;
      }
    }
    if (listening !== mine) return;
    say(`The connection ended; trying again in ${count(seconds, "second")}.`);
    await new Promise((go) => setTimeout(go, seconds * 1000));
    seconds = Math.min(seconds * 2, RETRY_SECONDS_MAX);
  }
}

function take(kind, data) {
  if (kind === "match") {
    total += 1;
    waiting.push({ ...data, at: new Date() });
    if (waiting.length > SHOWN) waiting.shift(); // it would not be shown
  } else if (kind === "lost") {
    lost += data.count;
    $("live-lost").hidden = false;
    $("live-lost").textContent =
      `${count(lost, "event")} ${lost === 1 ? "was" : "were"} dropped, because this page reads too slowly. Use a filter to get fewer events.`;
  }
  drawing ??= setTimeout(draw, DRAW_MILLISECONDS);
}

function draw() {
  clearTimeout(drawing);
  drawing = null;
  if (!isPaused && waiting.length) {
    $("news").prepend(...waiting.reverse().map(item));
    waiting = [];
    while ($("news").childElementCount > SHOWN) $("news").lastElementChild.remove();
  }
  sayCount();
}

function item({ event, matches, at }) {
  const ids = matches.slice(0, IDS).map((id) => element("li", {}, idNode(id)));
  if (matches.length > IDS) ids.push(element("li", {}, `and ${figure(matches.length - IDS)} more`));
  return element(
    "li",
    { class: "fresh" },
    element(
      "div",
      { class: "row" },
      element("span", {}, element("time", { class: "soft" }, at.toLocaleTimeString()), ` ${count(matches.length, "match", "matches")}`),
      element("button", { type: "button", class: "link", onclick: () => test(event) }, "Test this event"),
    ),
    element("ul", { class: "ids", "aria-label": "Matches" }, ...ids),
    jsonNode(event),
  );
}
