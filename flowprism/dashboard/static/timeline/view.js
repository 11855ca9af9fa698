/** What of the spans is in sight: a stretch of time across, lanes down; all lengths in CSS pixels. */

import { ROWS } from "./pack.js";

export const AXIS = 34; // height of the time axis above the lanes
const HEADING = 20;
const SMALLEST_MS = 0.001;

export class View {
  /** @param pack what `pack.js` read */
  constructor(pack) {
    this.pack = pack;
    this.all = [0, Math.max(pack.shown.end_ms, pack.other?.end_ms ?? 0)];
    [this.from, this.to] = this.all;
    this.width = 800;
    this.height = 400;
    this.top = 0;
    this.gutter = 120;
    this.arrange("stage", "fit");
  }

  /** Put the lanes in order, one below the other. */
  arrange(sort, rows) {
    this.sort = sort;
    this.rows = rows;
    const { lanes } = this.pack;
    this.order = lanes.map((_, n) => n);
    if (sort === "lateness") this.order.sort((a, b) => (lanes[b].late_s ?? -Infinity) - (lanes[a].late_s ?? -Infinity) || a - b);
    const first = (lane) => sort === "stage" && lanes[lane].suspect;
    this.order.sort((a, b) => first(b) - first(a)); // stable: each keeps its order
    const staged = sort === "stage" && lanes.some((lane) => lane.stage !== null);
    const doubled = this.pack.other ? 1.6 : 1;
    const fitting = (this.height - AXIS - 60) / lanes.length;
    this.laneHeight = Math.round({ small: 5, large: 34 }[rows] ?? Math.min(Math.max(fitting, 7), 26)) * doubled;
    this.y = new Float64Array(lanes.length);
    this.headings = [];
    let y = 4;
    this.place = new Uint32Array(lanes.length);
    this.order.forEach((lane, place) => {
      this.place[lane] = place;
      const group = (one) => (first(one) ? "suspects" : lanes[one].stage === null ? "in no stage" : `stage ${lanes[one].stage}`);
      if ((staged || first(this.order[0])) && (place === 0 || group(lane) !== group(this.order[place - 1]))) {
        this.headings.push([y, staged || first(lane) ? group(lane) : "others"]);
        y += HEADING;
      }
      this.y[lane] = y;
      y += this.laneHeight;
    });
    this.total = y + 8;
  }

  x(time) {
    return this.gutter + ((time - this.from) / (this.to - this.from)) * (this.width - this.gutter);
  }

  time(x) {
    return this.from + ((x - this.gutter) / (this.width - this.gutter)) * (this.to - this.from);
  }

  /** Top of a lane within the canvas. */
  laneTop(lane) {
    return AXIS + this.y[lane] - this.top;
  }

  /** The lane at a height of the canvas, -1 where none is. */
  laneAt(y) {
    const inside = y - AXIS + this.top;
    return y < AXIS ? -1 : (this.order.find((lane) => inside >= this.y[lane] && inside < this.y[lane] + this.laneHeight) ?? -1);
  }

  /** Lanes too low for strips: computing and network share one. */
  get dense() {
    return this.laneHeight < (this.pack.other ? 16 : 10);
  }

  /** Lanes that are in sight, from the top. */
  visible() {
    return this.order.filter((lane) => this.laneTop(lane) < this.height && this.laneTop(lane) + this.laneHeight > AXIS);
  }

  /** Top and height, within the lane, of the strip that a row of a part takes. */
  strip(part, row) {
    const own = this.pack.other ? (part === this.pack.shown ? [0, 0.6] : [0.62, 0.34]) : [0, 1];
    const gap = this.laneHeight >= 14 ? 3 : this.laneHeight >= 6 ? 1 : 0;
    const [top, height] = [own[0] * (this.laneHeight - gap), own[1] * (this.laneHeight - gap)];
    const rows = this.dense ? [[0, 1], [0, 1], [0, 1]] : [[0, 0.46], [0.46, 0.27], [0.73, 0.27]];
    return [top + rows[row][0] * height, rows[row][1] * height];
  }

  /** The row of a lane, and the part, at a height of the canvas. */
  rowAt(lane, y) {
    const inside = y - this.laneTop(lane);
    for (const part of [this.pack.shown, this.pack.other].filter(Boolean)) {
      for (let row = 0; row < ROWS; row += 1) {
        const [top, height] = this.strip(part, row);
        if (inside >= top && inside < top + height) return [part, row];
      }
    }
    return [this.pack.shown, 0];
  }

  /** Show a stretch of time, kept within what there is. */
  show(from, to) {
    const length = Math.min(Math.max(to - from, SMALLEST_MS), this.all[1] - this.all[0]);
    const start = Math.min(Math.max(from, this.all[0]), this.all[1] - length);
    [this.from, this.to] = [start, start + length];
  }

  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  /** Show `factor` times as long a stretch; the given time stays where it is. */
  zoom(factor, about = (this.from + this.to) / 2) {
    const length = Math.min(Math.max((this.to - this.from) * factor, SMALLEST_MS), this.all[1] - this.all[0]);
    const share = (about - this.from) / (this.to - this.from);
    this.show(about - share * length, about + (1 - share) * length);
  }
}
