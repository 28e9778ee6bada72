// Small charts as wide as their container, so that labels stay readable.
import { figure } from "./page.js";

const HEIGHT = 140;
const ROOM = { left: 44, right: 8, top: 8, bottom: 22 };

function svg(tag, attributes, ...inside) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

function frame(place, label, top, bottom) {
  const width = Math.max(place.clientWidth, 200);
  const end = HEIGHT - bottom;
  const y = (value) => end - (value / top) * (end - ROOM.top);
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const value of [0, top / 2, top]) {
    drawn.append(
      svg("line", { class: "axis", x1: ROOM.left, x2: width - ROOM.right, y1: y(value), y2: y(value) }),
      svg("text", { x: ROOM.left - 6, y: y(value) + 4, "text-anchor": "end" }, brief(value)),
    );
  }
  place.replaceChildren(drawn);
  return { drawn, width, y };
}

const brief = (value) => value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });

/** Return a round number that is at least every value, for the top of an axis. */
function roundTop(values) {
  const most = Math.max(...values, 1);
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].find((times) => times * unit >= most) * unit;
}

/** Draw values of the last minutes as a line, the newest at the right. */
export function line(place, values, { what, every, most }) {
  const top = roundTop(values);
  const now = values.length ? figure(Math.round(values.at(-1) * 10) / 10) : "unknown";
  const { drawn, width, y } = frame(place, `${what}: now ${now}, at most ${figure(Math.round(Math.max(0, ...values)))}`, top, ROOM.bottom);
  const span = Math.min(most, Math.max(values.length, 60 / every)); // a minute at least
  const step = (width - ROOM.left - ROOM.right) / span;
  const x = (at) => width - ROOM.right - (values.length - 1 - at) * step;
  if (values.length) {
    // A value describes the interval before it, so even a single value is a line.
    const points = [values[0], ...values].map((value, at) => `${x(at - 1).toFixed(1)},${y(value).toFixed(1)}`);
    drawn.append(
      svg("polygon", { class: "area", points: [`${x(-1)},${y(0)}`, ...points, `${x(values.length - 1)},${y(0)}`].join(" ") }),
      svg("polyline", { class: "line", points: points.join(" ") }),
      svg("circle", { class: "dot", cx: x(values.length - 1), cy: y(values.at(-1)), r: 3.5 }),
    );
  } else {
    const middle = (ROOM.left + width - ROOM.right) / 2;
    drawn.append(svg("text", { x: middle, y: y(top / 4), "text-anchor": "middle" }, "waiting for data"));
  }
  const minutes = Math.round(((every * span) / 60) * 10) / 10;
  drawn.append(
    svg("text", { x: ROOM.left, y: HEIGHT - 6 }, `${minutes} ${minutes === 1 ? "minute" : "minutes"} ago`),
    svg("text", { x: width - ROOM.right, y: HEIGHT - 6, "text-anchor": "end" }, "now"),
  );
}

/** Draw {label, value} as bars, without the empty ones at both ends. */
export function bars(place, all, label) {
  const filled = all.flatMap((one, at) => (one.value ? [at] : []));
  const from = Math.max(0, (filled[0] ?? 0) - 1);
  const shown = all.slice(from, Math.max((filled.at(-1) ?? 0) + 2, from + 6));
  const { drawn, width, y } = frame(place, label, roundTop(shown.map((one) => one.value)), ROOM.bottom + 14);
  const step = (width - ROOM.left - ROOM.right) / shown.length;
  const every = Math.ceil(52 / step);
  shown.forEach((one, at) => {
    const x = ROOM.left + at * step;
    const bar = svg("rect", { class: "bar-of", x: x + step * 0.1, width: step * 0.8, y: y(one.value), height: y(0) - y(one.value) });
    bar.append(svg("title", {}, `up to ${one.label}: ${figure(one.value)}`));
    drawn.append(bar);
    if (at % every === 0) drawn.append(svg("text", { x: x + step / 2, y: y(0) + 15, "text-anchor": "middle" }, one.label));
  });
  drawn.append(svg("text", { x: width - ROOM.right, y: HEIGHT - 3, "text-anchor": "end" }, "took up to"));
}
