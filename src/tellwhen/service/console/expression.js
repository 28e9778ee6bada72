// A text field for an expression, which marks errors and completes words.
import { debounced, element } from "./page.js";
import { get, post } from "./service.js";

const WORDS_MAX = 8;
const NAME = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/u;
const BEFORE_CARET = new RegExp(`(?<![\\p{L}\\p{N}_.])${NAME.source}\\.?$`, "u");

const KEYWORDS = [
  "AND", "OR", "NOT", "XOR", "XNOR", "IN (", "NOT IN (", "BETWEEN", "LIKE '", "ILIKE '", "STARTS WITH '", "ENDS WITH '",
  "CONTAINS '", "MATCHES '", "IS NULL", "IS NOT NULL", "HAS ANY (", "HAS ALL (", "HAS NONE (", "IN CIDR '", "TRUE", "FALSE",
  "NULL", "DATE '", "TIMESTAMP '", "CAST(", "abs(", "round(", "lower(", "upper(", "substr(", "length(", "date_part('",
  "coalesce(", "address(",
];
const RESERVED = ["AND", "OR", "NOT", "XOR", "XNOR", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE"];

let attributes = {}; // by name: the type

/** Load the attributes of subscriptions, for completion. */
export async function learnAttributes() {
  try {
    attributes = await get("v1/attributes");
  } catch {
    // without attributes, only words of the language are completed
  }
  return attributes;
}

/** Return a name as it is written in an expression. */
const quoted = (name) =>
  name.match(NAME)?.[0] === name && !RESERVED.includes(name.toUpperCase()) ? name : `"${name.replaceAll('"', '""')}"`;

/** Convert a position in characters to one in UTF-16 units, which JavaScript counts. */
export function placeOf(text, position) {
  let place = 0;
  for (const character of text) {
    if (position-- <= 0) break;
    place += character.length;
  }
  return place;
}

export class ExpressionField {
  constructor(field, box, checked = () => {}) {
    Object.assign(this, { field, box, checked, words: [], active: 0, mark: null, asking: null });
    const id = field.id;
    this.behind = element("div", { class: "behind code", "aria-hidden": "true" });
    this.list = element("ul", { class: "words", id: `${id}-words`, role: "listbox", "aria-label": "Completions", hidden: true });
    this.error = element("p", { class: "error", id: `${id}-error`, role: "status" });
    this.hints = element("ul", { class: "hints", id: `${id}-hints`, "aria-label": "Hints" });
    box.prepend(this.behind);
    box.append(this.list);
    box.after(this.error, this.hints);
    for (const [name, value] of Object.entries({
      "aria-describedby": `${this.error.id} ${this.hints.id}`,
      "aria-autocomplete": "list",
      "aria-haspopup": "listbox",
      "aria-controls": this.list.id,
    }))
      field.setAttribute(name, value);
    const soon = debounced(() => this.check());
    field.addEventListener("input", () => {
      this.mark = null;
      this.draw();
      this.complete();
      soon();
    });
    field.addEventListener("keydown", (event) => this.pressed(event));
    field.addEventListener("scroll", () => (this.behind.scrollTop = field.scrollTop));
    field.addEventListener("blur", () => this.close());
    field.addEventListener("click", () => this.close());
    new ResizeObserver(() => this.draw()).observe(field);
  }

  get value() {
    return this.field.value;
  }

  set value(text) {
    this.field.value = text;
    this.say(null, []);
    this.close();
    if (text.trim()) this.check();
  }

  // errors

  /** Let the service validate the expression. */
  async check() {
    this.asking?.abort();
    const text = this.value;
    if (!text.trim()) return this.say(null, []);
    this.asking = new AbortController();
    try {
      const found = await post("v1/validate", { expression: text }, { signal: this.asking.signal });
      if (text === this.value) this.say(found.error, found.hints);
      this.checked(found);
    } catch (error) {
      if (error.name !== "AbortError" && text === this.value) this.say(error, []);
    }
  }

  /** Show an error at its position, and hints. */
  say(error, hints = []) {
    const text = this.value;
    this.mark = null;
    let words = "";
    if (error) {
      words = error.message;
      if (error.position !== null && error.position !== undefined) {
        const place = placeOf(text, error.position);
        const lines = text.slice(0, place).split("\n");
        const where = lines.length > 1 ? `line ${lines.length}, column` : "column";
        words = `${where} ${[...lines.at(-1)].length + 1}: ${words}`;
        const token = text.slice(place).match(/^(?:[\p{L}\p{N}_.]+|'[^']*'?|"[^"]*"?|\S)/u)?.[0] ?? "";
        // At the end of the text, the mark is empty and follows the last word.
        this.mark = token ? [place, place + token.length] : Array(2).fill(text.trimEnd().length);
      }
      this.field.setAttribute("aria-invalid", "true");
    } else this.field.removeAttribute("aria-invalid");
    this.error.textContent = words;
    this.hints.replaceChildren(...hints.map((hint) => element("li", {}, hint)));
    this.draw();
  }

  /** Draw the text again behind the field, with the mark. */
  draw() {
    const text = this.value;
    if (this.mark) {
      const [from, to] = this.mark;
      const marked = element("mark");
      marked.textContent = text.slice(from, to); // without a node in it if there is nothing: it is styled as empty
      this.behind.replaceChildren(text.slice(0, from), marked, `${text.slice(to)}\n`);
    } else this.behind.replaceChildren(`${text}\n`);
    this.behind.style.right = `${this.field.offsetWidth - this.field.clientWidth - 2}px`; // without the scroll bar
    this.behind.scrollTop = this.field.scrollTop;
  }

  // completion

  /** Show completions of the word before the caret. */
  complete(isWanted = false) {
    const before = this.value.slice(0, this.field.selectionStart);
    const inQuotes = /^(?:[^'"]|'[^']*'|"[^"]*")*['"][^'"]*$/.test(before) && !/^(?:[^'"]|'[^']*'|"[^"]*")*$/.test(before);
    const word = before.match(BEFORE_CARET)?.[0] ?? "";
    if (inQuotes || (!word && !isWanted)) return this.close();
    this.word = word;
    const low = word.toLowerCase();
    const named = Object.entries(attributes)
      .filter(([name]) => name.toLowerCase().includes(low))
      .map(([name, type]) => ({ text: quoted(name), about: type, rank: name.toLowerCase().startsWith(low) ? 0 : 2 }));
    const keywords = KEYWORDS.filter((one) => one.toLowerCase().startsWith(low)).map((text) => ({ text, about: "", rank: 1 }));
    named.sort((a, b) => a.text.localeCompare(b.text)); // keywords are in the order of their use
    const found = [...named, ...keywords].sort((a, b) => a.rank - b.rank).slice(0, WORDS_MAX);
    if (!found.length || found.some((one) => one.text === word)) return this.close();
    this.words = found;
    this.active = 0;
    this.list.replaceChildren(
      ...found.map((one, number) =>
        element(
          "li",
          {
            role: "option",
            id: `${this.list.id}-${number}`,
            "aria-selected": String(number === 0),
            onpointerdown: (event) => {
              event.preventDefault(); // the field keeps the focus
              this.take(number);
            },
          },
          one.text,
          element("span", {}, one.about),
        ),
      ),
    );
    this.list.hidden = false;
    this.place(before.length - word.length);
    this.point(0);
  }

  /** Put the list under the word. */
  place(at) {
    const text = this.value;
    const here = element("span", {}, text.slice(at) || " ");
    this.behind.replaceChildren(text.slice(0, at), here);
    const line = here.getClientRects()[0];
    const box = this.box.getBoundingClientRect();
    this.draw();
    this.list.style.top = `${Math.min(line.bottom - box.top, this.field.offsetHeight) + 4}px`;
    this.list.style.left = `${Math.max(0, Math.min(line.left - box.left, box.width - this.list.offsetWidth))}px`;
  }

  point(number) {
    this.active = (number + this.words.length) % this.words.length;
    [...this.list.children].forEach((one, at) => one.setAttribute("aria-selected", String(at === this.active)));
    this.field.setAttribute("aria-activedescendant", `${this.list.id}-${this.active}`);
  }

  close() {
    this.list.hidden = true;
    this.words = [];
    this.field.removeAttribute("aria-activedescendant");
  }

  take(number) {
    const { text } = this.words[number];
    const end = this.field.selectionStart;
    this.field.setRangeText(/[('"]$/.test(text) ? text : `${text} `, end - this.word.length, this.field.selectionEnd, "end");
    this.close();
    this.field.dispatchEvent(new Event("input"));
    this.close();
  }

  pressed(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return this.complete(true);
    }
    if (this.list.hidden || event.ctrlKey || event.metaKey || event.altKey) return undefined;
    const does = {
      ArrowDown: () => this.point(this.active + 1),
      ArrowUp: () => this.point(this.active - 1),
      Enter: () => this.take(this.active),
      Tab: () => this.take(this.active),
      Escape: () => this.close(),
    }[event.shiftKey ? "" : event.key];
    if (does) {
      event.preventDefault();
      event.stopPropagation();
      does();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) this.close();
    return undefined;
  }
}
