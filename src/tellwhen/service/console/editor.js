// The editor of one subscription: add, replace or remove it, and try its expression on recent events.
import { parsed, typedId, typeOf, written } from "./exact.js";
import { ExpressionField } from "./expression.js";
import { $, confirmed, count, element, fieldError, jsonNode } from "./page.js";
import { post, subscription } from "./service.js";

let expression;
let opened = null; // the subscription that is edited; null for a new one
let may = false;
let saved = ""; // content of the fields without changes
let tell = {};

export function start(about, given) {
  tell = given;
  may = about.changes && about.roles.includes("manage");
  expression = new ExpressionField($("edit-expression"), $("edit-expression-box"));
  saved = said();
  if (!may) {
    $("editor-reason").hidden = false;
    $("editor-reason").textContent = about.changes
      ? "This key lacks the role manage, so it cannot change subscriptions. You can still try expressions."
      : "This service follows an index that Spark builds, so it cannot be changed here. You can still try expressions.";
    $("edit-save").disabled = $("edit-remove").disabled = true;
  }
  $("editor").addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  $("edit-new").addEventListener("click", beginNew);
  $("to-editor").addEventListener("click", beginNew);
  $("edit-remove").addEventListener("click", remove);
  $("edit-try").addEventListener("click", dryRun);
  $("edit-expression").addEventListener("input", () => $("tried").replaceChildren()); // it was the result of another expression
  $("editor").addEventListener("input", () => $("edit-status").className === "error" && say(""));
}

async function beginNew() {
  if (!(await mayDiscard())) return;
  put(null);
  $("editor").scrollIntoView({ block: innerWidth < 640 ? "start" : "nearest" });
  $("edit-id").focus({ preventScroll: true });
}

/** Show a subscription to change it. */
export async function open(id) {
  try {
    const found = await subscription(id);
    if (!(await mayDiscard())) return;
    put(found);
    $("editor-title").focus();
  } catch (error) {
    say(error.message, true);
  }
}

const said = () => ["id", "type", "score", "expression", "payload", "weights"].map((name) => $(`edit-${name}`).value).join("\0");

const mayDiscard = async () => said() === saved || confirmed("Your changes are not saved. Discard them?", "Discard");

function say(message, isError = false) {
  $("edit-status").textContent = message;
  $("edit-status").className = isError ? "error" : "";
}

function put(one) {
  opened = one;
  $("editor-title").textContent = one ? "Change a subscription" : "New subscription";
  $("edit-id").value = one ? String(one.id) : "";
  $("edit-type").value = one ? typeOf(one.id) : "str";
  $("edit-score").value = one ? (one.score ?? "") : "";
  expression.value = one ? one.expression : "";
  for (const name of ["payload", "weights"])
    $(`edit-${name}`).value = one && Object.keys(one[name]).length ? written(one[name], 1) : "";
  for (const name of ["id", "score", "payload", "weights"]) fieldError($(`edit-${name}`));
  saved = said();
  $("edit-save").textContent = one ? "Replace" : "Add";
  $("edit-remove").hidden = !one;
  $("tried").replaceChildren();
  say(one && one.score === null ? "The score is infinite, which JSON cannot represent. If you save here, the score changes." : "");
}

/** Return the content of the fields, or null if a field is invalid. */
function filledIn() {
  let isRight = true;
  const value = (name, read) => {
    const field = $(`edit-${name}`);
    try {
      fieldError(field);
      return read(field.value);
    } catch (error) {
      if (isRight) {
        field.closest("details")?.setAttribute("open", "");
        field.focus();
      }
      isRight = false;
      fieldError(field, error.message);
      return null;
    }
  };
  const found = {
    id: value("id", (text) => typedId(text, $("edit-type").value)),
    expression: expression.value,
    score: value("score", number),
    payload: value("payload", object),
    weights: value("weights", object),
  };
  if (isRight && !found.expression.trim()) {
    expression.say({ message: "Write an expression." });
    $("edit-expression").focus();
    return null;
  }
  return isRight ? found : null;
}

function number(text) {
  if (!text.trim()) return null;
  if (!Number.isFinite(Number(text))) throw new Error("A score is a number.");
  return Number(text);
}

function object(text) {
  if (!text.trim()) return null;
  let found;
  try {
    found = parsed(text);
  } catch (error) {
    throw new Error(`This is not valid JSON: ${error.message}.`);
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("This must be a JSON object.");
  return found;
}

async function save(replace = null) {
  const one = may && filledIn();
  if (!one) return;
  try {
    // A body can contain any id; an address cannot contain "." and "..".
    const answer = await post("v1/subscriptions", {
      subscriptions: [one],
      replace: replace ?? opened?.id === one.id,
    });
    await tell.changed();
    put(await subscription(one.id));
    say(answer.added ? "Added." : "Replaced.");
  } catch (error) {
    if (error.kind === "DuplicateId") {
      if (await confirmed(`There is a subscription ${written(one.id)} already. Replace it?`, "Replace")) await save(true);
    } else if (error.kind === "ParseError" && error.position !== null) {
      expression.say(error);
      $("edit-expression").focus();
    } else say(error.message, true);
  }
}

async function remove() {
  const one = opened;
  if (!may || !one || !(await confirmed(`Remove the subscription ${written(one.id)}?`, "Remove"))) return;
  try {
    await post("v1/subscriptions/remove", { ids: [one.id] });
    put(null);
    say(`${written(one.id)} was removed.`);
    $("editor-title").focus();
    await tell.changed();
  } catch (error) {
    say(error.message, true);
  }
}

async function dryRun() {
  const place = $("tried");
  const text = expression.value;
  try {
    const found = await post("v1/dry-run", { expression: text });
    if (text !== expression.value) return;
    const words = found.events
      ? `Matches ${found.matches} of the last ${count(found.events, "event")}.`
      : "No events have been published yet, so there is nothing to try the expression on.";
    place.replaceChildren(element("p", {}, words));
    if (!found.examples.length) return;
    const examples = found.examples.map((event) =>
      element(
        "li",
        {},
        jsonNode(event),
        element("button", { type: "button", class: "link", onclick: () => tell.go("test", { event }) }, "Test this event"),
      ),
    );
    place.append(
      element("details", {}, element("summary", {}, count(examples.length, "example")), element("ol", { class: "examples" }, ...examples)),
    );
  } catch (error) {
    if (text !== expression.value) return;
    if (error.position !== null && error.position !== undefined) expression.say(error);
    place.replaceChildren(element("p", { class: "error" }, error.message));
  }
}
