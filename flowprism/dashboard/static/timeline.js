/** The timeline page: reads the spans, draws them, and keeps what is in sight in the address so that it can be shared. */

import { colours } from "./timeline/colours.js";
import { listen } from "./timeline/input.js";
import { overlay } from "./timeline/overlay.js";
import { load } from "./timeline/pack.js";
import { Painter } from "./timeline/paint.js";
import { AXIS, View } from "./timeline/view.js";
import { duration, kindName, rate, sentence, volume } from "./timeline/words.js";

const NARROW = 600;
const HIGHEST = 0.72; // of the window

class Board {
  constructor(root, pack) {
    this.root = root;
    this.pack = pack;
    this.canvas = root.querySelector("canvas");
    this.scroller = root.querySelector(".tl-scroll");
    this.space = root.querySelector(".tl-space");
    this.announced = root.querySelector(".tl-announced");
    this.tip = root.querySelector(".tl-tip");
    this.details = root.querySelector(".tl-span");
    this.hint = root.querySelector(".tl-hint");
    this.context = this.canvas.getContext("2d");
    this.view = new View(pack);
    this.painter = new Painter();
    this.chosen = null;
    this.measured = null; // two times, ms, in order
    this.lane = -1;
    this.keyboard = false;
    this.frames = []; // how long the last pictures took, ms; what the tests and `data-frame-ms` read
    this.recolour();
    this.restore();
    this.resize();
    listen(this.canvas, this);
    this.scroller.addEventListener("scroll", () => this.move(() => {}));
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    new MutationObserver(() => this.recolour()).observe(document.documentElement, { attributes: true });
  }

  // --- drawing

  recolour() {
    this.colours = colours(this.pack.kinds);
    this.draw();
  }

  resize() {
    const { view } = this;
    if (!this.scroller.clientWidth) return; // the page is being left, or folded away
    view.width = this.scroller.clientWidth;
    view.gutter = view.width < NARROW ? 72 : 132;
    view.height = Math.round(innerHeight * HIGHEST);
    view.arrange(view.sort, view.rows);
    const height = AXIS + view.total;
    view.height = Math.min(view.height, height);
    const edges = this.scroller.offsetHeight - this.scroller.clientHeight;
    this.scroller.style.height = `${view.height + edges}px`; // or it would scroll by its own edges
    this.space.style.height = `${height}px`;
    this.ratio = devicePixelRatio;
    this.canvas.width = Math.round(view.width * this.ratio);
    this.canvas.height = Math.round(view.height * this.ratio);
    this.canvas.style.width = `${view.width}px`;
    this.canvas.style.height = `${view.height}px`;
    this.draw();
  }

  /** Draw with the next frame, once however often it is asked for. */
  draw() {
    if (this.waiting || !this.colours) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  drawNow() {
    const began = performance.now();
    const { context, view, ratio } = this;
    view.top = this.scroller.scrollTop;
    const path = this.control("path")?.checked ? this.pack.shown.path : null;
    context.setTransform(1, 0, 0, 1, 0, 0);
    this.painter.paint(context, view, this.colours, ratio, path ? 0.35 : 1);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    overlay(context, view, this.colours, { path, chosen: this.chosen, measured: this.measured, lane: this.lane, keyboard: this.keyboard });
    this.frames.push(performance.now() - began);
    if (this.frames.length > 120) this.frames.shift();
    this.root.dataset.frameMs = this.frames.at(-1).toFixed(2);
  }

  // --- what is in sight

  move(change) {
    change(this.view);
    this.hover(null);
    this.draw();
    this.remember();
  }

  /** The time that zooming by key keeps in place: the chosen span's where it is in sight, else the middle. */
  focusTime() {
    const { view, chosen } = this;
    const time = chosen ? (chosen.part.start[chosen.n] + chosen.part.end[chosen.n]) / 2 : NaN;
    return time >= view.from && time <= view.to ? time : (view.from + view.to) / 2;
  }

  zoomToSpan() {
    if (!this.chosen) return;
    const { part, n } = this.chosen;
    const margin = Math.max(part.end[n] - part.start[n], 0.001) * 0.5;
    this.move((view) => view.show(part.start[n] - margin, part.end[n] + margin));
  }

  rearrange() {
    this.view.arrange(this.control("sort")?.value ?? "stage", this.control("rows")?.value ?? "fit");
    this.resize();
    this.remember();
  }

  // --- choosing spans

  /** How long it is between two times: a band over all lanes, and in words. */
  measure(from, to) {
    const within = (time) => Math.min(Math.max(time, this.view.all[0]), this.view.all[1]);
    this.measured = [within(Math.min(from, to)), within(Math.max(from, to))];
    this.announced.textContent = `${duration(this.measured[1] - this.measured[0])} measured`;
    this.hover(null);
    this.draw();
  }

  letGo() {
    this.measured = null;
    this.choose(null);
  }

  hover(place) {
    const found = place && this.spanAt(place);
    this.tip.hidden = !found;
    this.canvas.classList.toggle("tl-over", Boolean(found));
    if (!found) return;
    this.tip.textContent = sentence(this.pack, found.part, found.n);
    const left = Math.min(place[0] + 14, this.view.width - this.tip.offsetWidth - 8);
    this.tip.style.transform = `translate(${Math.max(left, 0)}px, ${place[1] + 18}px)`;
  }

  spanAt([x, y]) {
    const { view } = this;
    const lane = view.laneAt(y);
    if (lane < 0 || x < view.gutter) return null;
    const [part, row] = view.rowAt(lane, y);
    const n = part.at(lane, view.time(x), row, ((view.to - view.from) / view.width) * 2);
    return n < 0 ? null : { part, n };
  }

  pick(place) {
    this.keyboard = false;
    this.lane = this.view.laneAt(place[1]);
    this.choose(this.spanAt(place));
  }

  choose(span) {
    this.chosen = span;
    if (span) this.lane = span.part.lane[span.n];
    this.tell();
    this.draw();
    this.remember();
  }

  /** Go to the lane above or below; its span at the same time is chosen. */
  stepLane(by) {
    const { view } = this;
    const place = this.lane < 0 ? -1 : view.place[this.lane];
    const lane = view.order[Math.min(Math.max(place + by, 0), view.order.length - 1)];
    const n = this.pack.shown.at(lane, this.focusTime());
    this.lane = lane;
    this.reveal(lane);
    this.choose(n < 0 ? null : { part: this.pack.shown, n });
  }

  /** Go to the span before or after in the lane, whatever its row. */
  stepSpan(by) {
    if (!this.chosen) return this.stepLane(1);
    const { part, n } = this.chosen;
    const lane = part.lane[n];
    const rows = [];
    for (let one = part.first[lane * 3]; one < part.first[lane * 3 + 3]; one += 1) rows.push(one);
    rows.sort((a, b) => part.start[a] - part.start[b] || part.row[a] - part.row[b]);
    const next = rows[Math.min(Math.max(rows.indexOf(n) + by, 0), rows.length - 1)];
    this.bring(part.start[next], part.end[next]);
    return this.choose({ part, n: next });
  }

  /** From a span to what the endpoint that it was with did then. */
  follow() {
    const peer = this.chosen ? this.chosen.part.peer[this.chosen.n] : -1;
    if (peer < 0) return;
    const { part, n } = this.chosen;
    const found = part.at(peer, part.end[n] - 1e-6, 0, 0.01);
    this.lane = peer;
    this.reveal(peer);
    if (found >= 0) this.choose({ part, n: found });
  }

  /** Scroll a lane into sight. */
  reveal(lane) {
    const { view, scroller } = this;
    const top = view.y[lane];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + view.laneHeight > scroller.scrollTop + view.height - AXIS) {
      scroller.scrollTop = top + view.laneHeight - view.height + AXIS + 8;
    }
  }

  /** Pan until a stretch of time is in sight. */
  bring(start, end) {
    const { view } = this;
    if (start >= view.from && end <= view.to) return;
    const length = view.to - view.from;
    const from = Math.min(Math.max((start + end) / 2 - length / 2, end - length), start);
    this.view.show(from, from + length);
  }

  /** The chosen span, next to the picture and for screen readers. */
  tell() {
    this.details.replaceChildren();
    this.announced.textContent = this.chosen ? sentence(this.pack, this.chosen.part, this.chosen.n) : this.lane >= 0 ? `${this.pack.lanes[this.lane].full}: nothing at this time` : "";
    this.hint.hidden = Boolean(this.chosen);
    if (!this.chosen) return;
    const { part, n } = this.chosen;
    const lane = this.pack.lanes[part.lane[n]];
    const name = part.kinds[part.kind[n]];
    const facts = [
      ["endpoint", lane.full],
      ["what", kindName(name)],
      ["took", duration(part.end[n] - part.start[n])],
      ["from, to", `${duration(part.start[n])}, ${duration(part.end[n])}`],
      ["iteration", String(part.iteration[n])],
    ];
    if (part.peer[n] >= 0) facts.push([{ wait: "for", pp_recv: "from" }[name] ?? "to", this.pack.lanes[part.peer[n]].full]);
    if (part.bytes[n] > 0) facts.push(["moved", `${volume(part.bytes[n])}, ${rate(part.bytes[n], part.end[n] - part.start[n])}`]);
    if (part.group[n] >= 0) facts.push(["group", part.groups[part.group[n]].split(" ")[0] + " " + part.groups[part.group[n]].split(",").length]);
    for (const [term, text] of facts) {
      const entry = document.createElement("div");
      entry.append(Object.assign(document.createElement("dt"), { textContent: term }), Object.assign(document.createElement("dd"), { textContent: text }));
      this.details.append(entry);
    }
  }

  // --- the address

  control(name) {
    return this.root.querySelector(`[name="${name}"]`);
  }

  /** Take what is in sight from the address. */
  restore() {
    const asked = new URLSearchParams(location.search);
    const [from, to] = [Number(asked.get("from_ms")), Number(asked.get("to_ms"))];
    this.view.arrange(this.control("sort")?.value ?? "stage", this.control("rows")?.value ?? "fit");
    if (asked.has("from_ms") && asked.has("to_ms") && to > from) this.view.show(from, to);
    this.lane = this.pack.lanes.findIndex((lane) => lane.address === asked.get("lane"));
  }

  /** Keep it there, soon after it has settled. */
  remember() {
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      const { view } = this;
      const query = new URLSearchParams(location.search);
      const put = (name, value) => (value === null ? query.delete(name) : query.set(name, value));
      const whole = view.from === view.all[0] && view.to === view.all[1];
      put("from_ms", whole ? null : view.from.toFixed(4));
      put("to_ms", whole ? null : view.to.toFixed(4));
      put("lane", this.lane < 0 ? null : this.pack.lanes[this.lane].address);
      for (const name of ["sort", "rows"]) put(name, this.control(name)?.value ?? null);
      put("path", this.control("path")?.checked ? "1" : null);
      history.replaceState(null, "", `${location.pathname}?${query}`);
    }, 150);
  }
}

const BUTTONS = {
  in: (view) => view.zoom(0.5),
  out: (view) => view.zoom(2),
  all: (view) => view.show(...view.all),
  left: (view) => view.pan(-0.3),
  right: (view) => view.pan(0.3),
};

async function start(root) {
  const status = root.querySelector(".tl-status");
  try {
    const board = new Board(root, await load(root.dataset.spans));
    status.hidden = true;
    root.querySelector(".tl-tools").hidden = false;
    for (const button of root.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => board.move(BUTTONS[button.dataset.do]));
    }
    for (const name of ["sort", "rows"]) board.control(name)?.addEventListener("change", () => board.rearrange());
    board.control("path")?.addEventListener("change", () => board.move(() => {}));
    root.board = board;
    root.dataset.ready = "yes";
  } catch (problem) {
    status.textContent = problem.message;
    status.classList.add("hit");
  }
}

for (const root of document.querySelectorAll(".tl")) start(root);
