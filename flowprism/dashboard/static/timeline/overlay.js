/** What lies over the painted spans: time axis, names of lanes, the critical path, and the span that is chosen. */

import { AXIS } from "./view.js";
import { duration, kindName, tickWords } from "./words.js";

const LABEL_PX = 12;

/** Draw everything that is not a span. */
export function overlay(context, view, colours, state) {
  context.save();
  hatch(context, view, colours);
  if (!state.path) labels(context, view, colours);
  if (state.path) path(context, view, colours, state.path);
  if (state.chosen) chosen(context, view, colours, state.chosen, state.keyboard);
  axis(context, view, colours);
  names(context, view, colours, state);
  if (state.measured) measured(context, view, colours, state.measured);
  context.restore();
}

/** Round values, 1, 2 or 5 times a power of ten apart, in [from, to]. */
export function roundTicks(from, to, about) {
  const rough = (to - from) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).reduce((a, b) => (Math.abs(Math.log(a / rough)) <= Math.abs(Math.log(b / rough)) ? a : b));
  const ticks = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n += 1) ticks.push(n * step);
  return ticks;
}

function axis(context, view, colours) {
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, view.width, AXIS);
  context.font = `11.5px ${colours.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.lineWidth = 1;
  const ticks = roundTicks(view.from, view.to, Math.max(Math.floor((view.width - view.gutter) / 110), 2));
  const [offset, words] = tickWords(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : view.to - view.from);
  if (offset) offsetOf(context, view, colours, offset);
  for (const [n, time] of ticks.entries()) {
    const x = Math.round(view.x(time)) + 0.5;
    context.strokeStyle = colours.rule;
    context.globalAlpha = 0.45;
    line(context, x, AXIS - 4, x, view.height);
    context.globalAlpha = 1;
    context.fillStyle = colours.quiet;
    context.fillText(words[n], Math.min(Math.max(x, view.gutter + 16), view.width - context.measureText(words[n]).width / 2 - 2), AXIS - 13);
  }
  for (const [index, start] of view.pack.shown.iterations) iterationEdge(context, view, colours, index, start);
  context.strokeStyle = colours.rule;
  line(context, 0, AXIS - 0.5, view.width, AXIS - 0.5);
}

/** What the ticks count from, above the names of lanes. */
function offsetOf(context, view, colours, offset) {
  context.fillStyle = colours.ink;
  context.textAlign = "right";
  context.fillText(offset, view.gutter - 8, AXIS - 13);
  context.textAlign = "center";
}

/** A measured stretch of time over all lanes. */
function measured(context, view, colours, [from, to]) {
  clip(context, view);
  const [left, right] = [view.x(from), view.x(to)];
  context.fillStyle = colours.accent;
  context.globalAlpha = 0.16;
  context.fillRect(left, AXIS, right - left, view.height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = 1;
  for (const x of [left, right]) line(context, Math.round(x) + 0.5, AXIS, Math.round(x) + 0.5, view.height);
  context.font = `650 12px ${colours.font}`;
  context.textBaseline = "middle";
  const text = duration(to - from);
  const half = context.measureText(text).width / 2 + 6;
  const middle = Math.min(Math.max((left + right) / 2, view.gutter + half), view.width - half);
  context.fillStyle = colours.ground;
  context.fillRect(middle - half, AXIS + 4, 2 * half, 20);
  context.fillStyle = colours.ink;
  context.textAlign = "center";
  context.fillText(text, middle, AXIS + 14);
  context.restore();
}

function iterationEdge(context, view, colours, index, start) {
  const x = Math.round(view.x(start)) + 0.5;
  if (view.pack.shown.iterations.length < 2 || x < view.gutter || x > view.width) return;
  context.strokeStyle = colours.quiet;
  context.setLineDash([3, 3]);
  line(context, x, AXIS, x, view.height);
  context.setLineDash([]);
  context.textAlign = "left";
  context.fillStyle = colours.quiet;
  context.fillText(`iteration ${index}`, x + 4, 8);
  context.textAlign = "center";
}

/** The gutter: each lane's name where there is room for it, else every second, fourth ...; stages as headings. */
function names(context, view, colours, state) {
  context.fillStyle = colours.ground;
  context.fillRect(0, AXIS, view.gutter, view.height);
  context.textBaseline = "middle";
  let every = 1;
  while (view.laneHeight * every < LABEL_PX) every *= 2;
  for (const lane of view.visible()) {
    const { name, suspect } = view.pack.lanes[lane];
    const picked = lane === state.lane;
    if (view.place[lane] % every && !picked) continue;
    context.textAlign = "right";
    context.font = `${picked || suspect ? "650 " : ""}11.5px ${colours.font}`;
    context.fillStyle = suspect ? colours.critical : picked ? colours.ink : colours.quiet;
    const y = view.laneTop(lane) + view.laneHeight / 2;
    if (y > AXIS) context.fillText(fitted(context, name, view.gutter - 14), view.gutter - 8, y);
  }
  context.textAlign = "left";
  context.font = `600 11.5px ${colours.font}`;
  for (const [y, text] of view.headings) {
    const top = AXIS + y - view.top;
    if (top < AXIS - 8 || top > view.height) continue;
    context.fillStyle = colours.quiet;
    context.fillText(text, 4, top + 11);
    context.strokeStyle = colours.rule;
    line(context, view.gutter, Math.round(top + 11) + 0.5, view.width, Math.round(top + 11) + 0.5);
  }
}

/** A text that is too wide loses its middle. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let keep = text.length - 1;
  const cut = () => `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
  while (keep > 2 && context.measureText(cut()).width > width) keep -= 1;
  return cut();
}

/** Waiting is hatched where it is wide enough, so that it differs from computing without color. */
function hatch(context, view, colours) {
  if (view.laneHeight < 8) return;
  const wait = view.pack.kinds.indexOf("wait");
  clip(context, view);
  context.strokeStyle = colours.hatch;
  context.lineWidth = 1;
  context.beginPath();
  wide(view, wait, 5, (left, right, top, height) => {
    for (let x = left - height + 4; x < right; x += 6) {
      const from = Math.max(x, left);
      const to = Math.min(x + height, right);
      context.moveTo(from, top + height - (from - x));
      context.lineTo(to, top + height - (to - x));
    }
  });
  context.stroke();
  context.restore();
}

/** What a span is and how long it took, inside it where it fits. */
function labels(context, view, colours) {
  if (view.laneHeight < 22) return;
  clip(context, view);
  context.font = `11px ${colours.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = colours.ink;
  const compute = view.pack.kinds.indexOf("compute");
  wide(view, compute, 64, (left, right, top, height, part, n) => {
    const text = `${kindName("compute")} ${duration(part.end[n] - part.start[n])}`;
    if (height >= 11 && context.measureText(text).width < right - left - 10) context.fillText(text, left + 5, top + height / 2 + 0.5);
  });
  context.restore();
}

/** Visit the spans of one kind in sight that are at least so many pixels wide. */
function wide(view, kind, least, visit) {
  const leastMs = ((view.to - view.from) * least) / (view.width - view.gutter);
  for (const lane of view.visible()) {
    for (const part of [view.pack.shown, view.pack.other]) {
      if (!part) continue;
      const [begin, stop] = part.after(lane, 0, view.from);
      const [inside, height] = view.strip(part, 0);
      for (let n = begin; n < stop && part.start[n] < view.to; n += 1) {
        if (part.kind[n] !== kind || part.end[n] - part.start[n] < leastMs) continue;
        const [left, right] = [Math.max(view.x(part.start[n]), view.gutter), Math.min(view.x(part.end[n]), view.width)];
        visit(left, right, view.laneTop(lane) + inside, height, part, n);
      }
    }
  }
}

/** The critical path: its stretches in the lanes, joined where it goes from one endpoint to another. */
function path(context, view, colours, steps) {
  clip(context, view);
  context.strokeStyle = colours.ink;
  context.lineJoin = "round";
  const kind = (name) => colours.css[view.pack.kinds.indexOf(name)] ?? colours.quiet;
  const middle = (lane) => view.laneTop(lane) + view.laneHeight * (view.pack.other ? 0.3 : 0.5);
  const half = Math.min(view.laneHeight * 0.3, 7);
  let before = null;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [lane, , start] of steps) {
    if (before !== null && lane >= 0 && before >= 0 && lane !== before) {
      context.moveTo(view.x(start), middle(before));
      context.lineTo(view.x(start), middle(lane));
    }
    before = lane;
  }
  context.stroke();
  context.lineWidth = 1;
  for (const [lane, name, start, end] of steps) {
    if (lane < 0 || end < view.from || start > view.to) continue;
    const left = Math.max(view.x(start), view.gutter - 2);
    const width = Math.max(Math.min(view.x(end), view.width + 2) - left, 1.5);
    context.fillStyle = kind(name);
    context.fillRect(left, middle(lane) - half, width, 2 * half);
    if (width > 3) context.strokeRect(left + 0.5, middle(lane) - half, width - 1, 2 * half);
  }
  context.restore();
}

/** The chosen span outlined, and a line to the endpoint it was for. */
function chosen(context, view, colours, { part, n }, keyboard) {
  clip(context, view);
  const lane = part.lane[n];
  const [inside, height] = view.strip(part, part.row[n]);
  const left = view.x(part.start[n]);
  const width = Math.max(view.x(part.end[n]) - left, 2);
  const top = view.laneTop(lane) + inside;
  context.strokeStyle = colours.accent;
  context.lineWidth = keyboard ? 3 : 2;
  context.strokeRect(left - 1, top - 1, width + 2, height + 2);
  const peer = part.peer[n];
  if (peer >= 0) {
    const x = part.kinds[part.kind[n]] === "wait" ? left + width : left + width / 2;
    const to = view.laneTop(peer) + view.laneHeight / 2;
    const down = to > top;
    context.beginPath();
    context.moveTo(x, down ? top + height : top);
    context.lineTo(x, to);
    context.moveTo(x - 4, to + (down ? -6 : 6));
    context.lineTo(x, to);
    context.lineTo(x + 4, to + (down ? -6 : 6));
    context.stroke();
  }
  context.restore();
}

function clip(context, view) {
  context.save();
  context.beginPath();
  context.rect(view.gutter, AXIS, view.width - view.gutter, view.height - AXIS);
  context.clip();
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
