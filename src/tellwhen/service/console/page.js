// Elements of the page. Content from the service becomes text, never HTML.
import { written } from "./exact.js";

export const $ = (id) => document.getElementById(id);

/** Create an element with attributes and children, which are elements or text. */
export function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.map((one) => (one instanceof Node ? one : String(one))));
  return made;
}

/** Create an element for an id. <bdi> keeps an id in a right-to-left script from reordering the text around it. */
export function idNode(id) {
  const made = element("bdi", {}, id === "" ? "(empty)" : id);
  return typeof id === "string" ? made : element("span", {}, made, element("span", { class: "soft" }, " integer"));
}

export const short = (text, most = 300) => (text.length > most ? `${text.slice(0, most)}…` : text);

export const count = (number, one, many = `${one}s`) => `${figure(number)} ${number === 1 ? one : many}`;

export const figure = (number) => Number(number).toLocaleString("en", { maximumFractionDigits: 2 });

/** Show an event or a payload as JSON. */
export const jsonNode = (value) => element("pre", {}, short(written(value), 2000));

/** Show the error of a field, or remove it if the message is empty. */
export function fieldError(field, message = "") {
  $(`${field.id}-error`).textContent = message;
  if (message) {
    field.setAttribute("aria-invalid", "true");
    field.addEventListener("input", () => fieldError(field), { once: true }); // until it is changed
  } else field.removeAttribute("aria-invalid");
}

/** Return a function that calls `run` once it has not been called itself for some milliseconds. */
export function debounced(run, milliseconds = 250) {
  let waiting;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(run, milliseconds, ...given);
  };
}

/** Ask a question in a dialog; resolve to true if the user confirms. */
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

/** Fill a table with rows; each cell is text, a number or an element. */
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
