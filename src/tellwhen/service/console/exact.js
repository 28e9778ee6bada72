// JSON without rounding: ids and values are integers of 64 bits, and numbers of JavaScript are exact up to 2^53.

/** Parse JSON; large integers become BigInt. */
export function parsed(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value,
  );
}

/** Return a value as JSON, with BigInt as an integer. */
export function written(value, indent) {
  const exact = (_, one) =>
    typeof one === "bigint" ? (JSON.rawJSON ? JSON.rawJSON(String(one)) : Number(one)) : one;
  return JSON.stringify(value, exact, indent);
}

/** Return the id in a text field: an integer for the type "int", and otherwise the text. */
export function typedId(text, type) {
  if (type === "str") {
    if (!text) throw new Error("Write an id.");
    return text;
  }
  if (!/^[+-]?\d+$/.test(text.trim())) throw new Error("An integer has only digits.");
  const exact = BigInt(text.trim().replace("+", ""));
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

export const typeOf = (id) => (typeof id === "string" ? "str" : "int");
