// The explanation of a match: a tree of the parts of an expression, as nested lists, which screen readers understand.
import { element } from "./page.js";

const OPEN_DEPTH = 6; // deeper parts are made when they are opened
const PARTS = 200; // of one part that are shown at once

const WORDS = new Map([
  [true, ["true", "✓ true"]],
  [false, ["false", "✗ false"]],
  [null, ["undefined", "? undefined"]],
]);

export function verdict(value) {
  const [kind, words] = WORDS.get(value);
  return element("span", { class: `verdict ${kind}` }, words);
}

/** Create the tree of a response of /v1/explain. */
export const tree = (reason) => element("ul", { class: "tree", "aria-label": "Explanation" }, node(reason, 0));

function node(reason, depth) {
  const line = [verdict(reason.value), " ", element("code", {}, reason.label)];
  if (reason.note) line.push(" ", element("span", { class: "soft" }, reason.note));
  if (!reason.parts.length) return element("li", {}, element("div", { class: "leaf" }, ...line));
  const parts = element("ul");
  const details = element("details", { open: depth < OPEN_DEPTH }, element("summary", {}, ...line), parts);
  const make = () => parts.childElementCount || add(parts, reason.parts, 0, depth + 1);
  if (depth < OPEN_DEPTH) make();
  else details.addEventListener("toggle", make);
  return element("li", {}, details);
}

function add(list, parts, from, depth) {
  list.append(...parts.slice(from, from + PARTS).map((part) => node(part, depth)));
  const left = parts.length - from - PARTS;
  if (left <= 0) return;
  const more = element("button", { type: "button", class: "link" }, `Show more (${left} left)`);
  const line = element("li", {}, more);
  more.addEventListener("click", () => {
    line.remove();
    add(list, parts, from + PARTS, depth);
  });
  list.append(line);
}
