// The list of subscriptions: search, pages, and the editor.
import * as editor from "./editor.js";
import { learnAttributes } from "./expression.js";
import { $, debounced, element, figure, idNode, short } from "./page.js";
import { get } from "./service.js";

const PAGE = 20;

let pages = [null]; // the cursor of each page up to the current one
let asking = null;

export const view = {
  start(about, { go }) {
    editor.start(about, { go, changed: () => Promise.all([find(), learn()]) });
    const search = () => {
      pages = [null];
      return find();
    };
    $("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      search();
    });
    $("search-form").addEventListener("input", debounced(search, 300));
    $("to-list").addEventListener("click", () => {
      scrollTo({ top: 0 });
      $("subscriptions-title").focus({ preventScroll: true });
    });
    $("page-before").addEventListener("click", () => {
      pages.pop();
      find();
    });
    $("page-next").addEventListener("click", (event) => {
      pages.push(event.currentTarget.next);
      find();
    });
  },
  show(given) {
    find();
    learn();
    if (given?.id !== undefined) editor.open(given.id);
  },
  hide() {},
};

async function learn() {
  const names = Object.keys(await learnAttributes()).slice(0, 1000);
  $("attribute-names").replaceChildren(...names.map((name) => element("option", { value: name })));
}

async function find() {
  asking?.abort();
  asking = new AbortController();
  const asked = new URLSearchParams({ limit: PAGE });
  for (const name of ["text", "mentions", "constant", "subscriber"]) {
    const value = $(`search-${name}`).value;
    if (value.trim()) asked.set(name, value);
  }
  const isSearch = asked.size > 1;
  const start = pages.at(-1);
  if (start !== null) asked.set("start", start);
  try {
    const page = await get(`v1/subscriptions?${asked}`, { signal: asking.signal });
    show(page, isSearch);
  } catch (error) {
    if (error.name === "AbortError") return;
    $("search-status").textContent = error.message;
    if (error.status === 409 && pages.length > 1) {
      // Another version of the index is served, for which the cursors are not valid.
      pages = [null];
      await find();
    }
  }
}

function show(page, isSearch) {
  const number = page.subscriptions.length;
  const first = (pages.length - 1) * PAGE + 1;
  $("search-status").textContent = number
    ? `${isSearch ? "Found" : "Showing"} ${range(first, first + number - 1)}${page.next === null ? "" : "; there are more"}.`
    : isSearch
      ? "No subscriptions were found."
      : "There are no subscriptions yet.";
  $("found").tBodies[0].replaceChildren(...page.subscriptions.map(row));
  $("page-number").textContent = number || pages.length > 1 ? `Page ${pages.length}` : "";
  $("page-before").disabled = pages.length === 1;
  $("page-next").disabled = page.next === null;
  $("page-next").next = page.next;
}

const range = (first, last) => (first === last ? figure(first) : `${figure(first)} to ${figure(last)}`);

function row(one) {
  const open = element("button", { type: "button", class: "link", onclick: () => editor.open(one.id) }, idNode(one.id));
  return element(
    "tr",
    { role: "row" }, // on a narrow page it is drawn as something else
    element("td", { role: "cell" }, open),
    element("td", { role: "cell" }, element("code", {}, short(one.expression))),
    element("td", { role: "cell", class: "number" }, one.score === null ? "infinite" : figure(one.score)),
  );
}
