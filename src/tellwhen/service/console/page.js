// What is on the page? Whatever the service says becomes text here, never HTML.
import { written } from "./exact.js";

export const $ = (id) => document.getElementById(id);

/** An element, with its attributes, and what is in it: elements, or text. */
export function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.map((one) => (one instanceof Node ? one : String(one))));
  return made;
}

/** An id. It is kept apart from the text around it, which a right-to-left one would turn around. */
export function idNode(id) {
  const made = element("bdi", {}, id === "" ? "(empty)" : id);
  return typeof id === "string" ? made : element("span", {}, made, element("span", { class: "soft" }, " integer"));
}

export const short = (text, most = 300) => (text.length > most ? `${text.slice(0, most)}…` : text);

export const count = (number, one, many = `${one}s`) => `${figure(number)} ${number === 1 ? one : many}`;

export const figure = (number) => Number(number).toLocaleString("en", { maximumFractionDigits: 2 });

/** An object of an event or a payload, for reading. */
export const jsonNode = (value) => element("pre", {}, short(written(value), 2000));

/** Say what is wrong with a field, or that nothing is. */
export function fieldError(field, message = "") {
  $(`${field.id}-error`).textContent = message;
  if (message) {
    field.setAttribute("aria-invalid", "true");
    field.addEventListener("input", () => fieldError(field), { once: true }); // until it is changed
  } else field.removeAttribute("aria-invalid");
}

/** Wait until nothing was called for a moment. */
export function debounced(run, milliseconds = 250) {
  let waiting;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(run, milliseconds, ...given);
  };
}

/** Ask whether something is really meant. */
export function confirmed(question, yes) {
  const dialog = $("ask");
  $("ask-text").textContent = question;
  $("ask-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true });
  });
}

/** Rows of a table; each cell is text, a number or an element. */
export function fill(table, rows) {
  table.tBodies[0].replaceChildren(
    ...rows.map((cells) =>
      element(
        "tr",
        { role: "row" }, // on a narrow page some are drawn as something else
        ...cells.map((cell) => element("td", { role: "cell", class: isFigure(cell) && "number" }, shown(cell))),
      ),
    ),
  );
}

const isFigure = (cell) => typeof cell === "number" || cell?.figure !== undefined;
const shown = (cell) => (typeof cell === "number" ? figure(cell) : (cell?.figure ?? cell));
