// The event tester: the matches of an event, ranked, with explanations.
import { typedId, written } from "./exact.js";
import { $, count, element, fieldError, figure, idNode, short } from "./page.js";
import { postEvent, subscription } from "./service.js";
import { tree, verdict } from "./tree.js";

const AT_ONCE = 4; // requests for expressions

let asked = 0; // only the last question is answered
let edit = () => {};

export const view = {
  start(about, { go }) {
    edit = (id) => go("subscriptions", { id });
    const may = about.roles.includes("publish");
    $("publish").disabled = !may;
    if (!may) $("publish-help").textContent = "needs a key with the role publish";
    $("event").placeholder = '{"item": "bike", "price": 640, "tags": ["used"]}';
    $("test-form").addEventListener("submit", (event) => {
      event.preventDefault();
      match();
    });
    $("event").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        match();
      }
    });
    $("why-form").addEventListener("submit", (event) => {
      event.preventDefault();
      why();
    });
  },
  show(given) {
    if (given?.event !== undefined) {
      $("event").value = written(given.event, 1);
      match();
    }
  },
  hide() {},
};

/** Return the text of the event, or null if it is not a JSON object. */
function eventText() {
  const field = $("event");
  const text = field.value.trim() || "{}";
  let wrong = "";
  try {
    const value = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      wrong = 'An event is an object, for example {"price": 12}.';
  } catch (error) {
    wrong = `This is not valid JSON: ${error.message}.`;
  }
  fieldError(field, wrong);
  if (wrong) field.focus();
  return wrong ? null : text;
}

async function match() {
  const event = eventText();
  if (event === null) return;
  const number = ++asked;
  const status = $("match-count");
  $("matches").replaceChildren();
  status.textContent = "Asking…";
  const publish = $("publish").checked && !$("publish").disabled;
  const k = Number($("best").value);
  try {
    const begin = performance.now();
    const matched = postEvent(publish ? "v1/publish" : "v1/match", event, { limit: 0 }).then((found) => ({
      ...found,
      milliseconds: performance.now() - begin,
    }));
    const [found, best] = await Promise.all([matched, postEvent("v1/top-k", event, { k })]);
    if (number !== asked) return;
    const shown = best.matches.length < found.count ? `; the best ${best.matches.length} are shown` : "";
    const told = publish ? " Published." : "";
    status.textContent = `${count(found.count, "match", "matches")}${shown}. Answered in ${figure(found.milliseconds)} ms.${told}`;
    const rows = best.matches.map((one, place) => row(one, place, event));
    $("matches").replaceChildren(...rows.map((one) => one.item));
    if (status.getBoundingClientRect().top > innerHeight - 80) status.scrollIntoView(); // on a phone it is further down
    await addExpressions(rows, () => number !== asked);
  } catch (error) {
    if (number === asked) status.textContent = error.message;
  }
}

/** Create the row of a match: a button that opens its explanation. */
function row({ id, score }, place, event) {
  const code = element("code", {}, "…");
  const reasons = element("div", { class: "reasons", id: `reasons-${place}`, "aria-live": "polite", hidden: true });
  const button = element(
    "button",
    { type: "button", class: "match", "aria-expanded": "false", "aria-controls": reasons.id },
    element("span", { class: "soft number" }, `${place + 1}.`),
    element("span", { class: "id" }, idNode(id)),
    element("span", { class: "number" }, element("span", { class: "soft" }, "score "), score === null ? "infinite" : figure(score)),
    code,
  );
  button.addEventListener("click", async () => {
    reasons.hidden = !reasons.hidden;
    button.setAttribute("aria-expanded", String(!reasons.hidden));
    if (reasons.hidden || reasons.childElementCount) return;
    await explain(reasons, id, event);
  });
  return { id, code, item: element("li", {}, button, reasons) };
}

async function explain(place, id, event) {
  place.replaceChildren(element("p", { class: "soft" }, "Asking…"));
  try {
    const found = await postEvent("v1/explain", event, { id });
    const tools = element(
      "div",
      { class: "row" },
      element("span", {}, verdict(found.value), idNode(id)),
      element("button", { type: "button", class: "link", onclick: () => edit(id) }, "Open the subscription"),
    );
    place.replaceChildren(tools, tree(found.tree));
  } catch (error) {
    place.replaceChildren(element("p", { class: "error" }, error.message));
  }
}

/** Load the expressions of matches, a few at a time. */
async function addExpressions(rows, isOver) {
  const waiting = [...rows];
  const work = async () => {
    for (let one = waiting.shift(); one && !isOver(); one = waiting.shift()) {
      try {
        const found = await subscription(one.id);
        one.code.textContent = short(found.expression);
      } catch (error) {
        one.code.textContent = error.status === 404 ? "(removed meanwhile)" : `(not shown: ${error.message})`;
        if (error.status === 429) waiting.splice(0).forEach((left) => (left.code.textContent = "(not shown)"));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function why() {
  const event = eventText();
  if (event === null) return;
  try {
    await explain($("why"), typedId($("why-id").value, $("why-type").value), event);
    $("why").scrollIntoView({ block: "nearest" });
  } catch (error) {
    $("why").replaceChildren(element("p", { class: "error" }, error.message));
  }
}
