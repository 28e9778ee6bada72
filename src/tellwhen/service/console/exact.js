// JSON without rounding: ids and values are integers of 64 bits, and JavaScript's numbers end at 2^53.

/** JSON as a value; large integers become BigInt. */
export function parsed(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value,
  );
}

/** A value as JSON; the way back. */
export function written(value, indent) {
  const exact = (_, one) =>
    typeof one === "bigint" ? (JSON.rawJSON ? JSON.rawJSON(String(one)) : Number(one)) : one;
  return JSON.stringify(value, exact, indent);
}

/** The id that was typed: a text or, if it is said to be one, an integer. */
export function typedId(text, type) {
  if (type === "str") {
    if (!text) throw new Error("Write an id.");
    return text;
  }
  if (!/^[+-]?\d+$/.test(text.trim())) throw new Error("An integer is written in digits.");
  const exact = BigInt(text.trim().replace("+", ""));
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

export const typeOf = (id) => (typeof id === "string" ? "str" : "int");
