/**
 * Painting spans pixel by pixel, so that the cost of a picture depends on its size and on what is in sight, and so that
 * spans narrower than a pixel mix their colours by the time they take instead of hiding one another.
 *
 * Two rules keep what matters visible however far one looks: no span counts for less than a third of a pixel, and those
 * that take far longer than others of their kind are painted last, at least one pixel wide.
 */

import { ROWS } from "./pack.js";
import { AXIS } from "./view.js";

const LEAST_PX = 1 / 3;

/** A picture's pixels and one line of it in the making; made anew only when the size changes. */
export class Painter {
  resize(width, height) {
    if (this.width === width && this.height === height) return;
    [this.width, this.height] = [width, height];
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.mix = { red: new Float32Array(width), green: new Float32Array(width), blue: new Float32Array(width), cover: new Float32Array(width) };
  }

  /**
   * Paint all lanes in sight onto a canvas.
   * @param {number} ratio device pixels of a CSS pixel
   * @param {number} strength 1 for full colours, less to let something else stand out
   */
  paint(context, view, colours, ratio, strength) {
    this.resize(Math.round(view.width * ratio), Math.round(view.height * ratio));
    this.pixels.fill(rgb(...colours.card));
    for (const lane of view.visible()) {
      const ground = view.pack.lanes[lane].suspect ? colours.hit : colours.lane;
      for (const part of [view.pack.shown, view.pack.other]) {
        if (part) this.lane(view, part, lane, colours, ground, ratio, part === view.pack.other ? 0.55 * strength : strength);
      }
    }
    context.putImageData(this.image, 0, 0);
  }

  lane(view, part, lane, colours, ground, ratio, strength) {
    for (let row = 0; row < ROWS; row += 1) {
      const [inside, height] = view.strip(part, row);
      const top = view.laneTop(lane) + inside;
      const first = Math.max(Math.round(top * ratio), Math.round(AXIS * ratio));
      const last = Math.min(Math.max(Math.round((top + height) * ratio), Math.round(top * ratio) + 1), this.height);
      if (first >= last) continue;
      if (row === 0 || !view.dense) for (const values of Object.values(this.mix)) values.fill(0);
      this.line(view, part, ...part.after(lane, row, view.from), colours.kinds, ratio);
      if (row === ROWS - 1 || !view.dense) this.fill(first, last, Math.round(view.gutter * ratio), ground, strength);
    }
  }

  /** Add the spans from `begin` on to the line of pixels in the making. */
  line(view, part, begin, stop, kinds, ratio) {
    const left = view.gutter * ratio;
    const perMs = ((view.width - view.gutter) * ratio) / (view.to - view.from);
    const strong = [];
    for (let n = begin; n < stop && part.start[n] < view.to; n += 1) {
      const from = left + (part.start[n] - view.from) * perMs;
      const to = left + (part.end[n] - view.from) * perMs;
      if (part.unusual[n] && to - from < 1) strong.push([from, kinds[part.kind[n]]]);
      this.add(Math.max(from, left), Math.min(Math.max(to, from + LEAST_PX), this.width), kinds[part.kind[n]]);
    }
    for (const [from, colour] of strong) this.set(Math.max(Math.floor(from), Math.ceil(left)), colour);
  }

  add(from, to, [red, green, blue]) {
    const { mix } = this;
    const last = Math.min(Math.ceil(to), this.width);
    for (let column = Math.floor(from); column < last; column += 1) {
      const share = Math.min(to, column + 1) - Math.max(from, column);
      mix.red[column] += share * red;
      mix.green[column] += share * green;
      mix.blue[column] += share * blue;
      mix.cover[column] += share;
    }
  }

  set(column, [red, green, blue]) {
    const { mix } = this;
    if (column < this.width) [mix.red[column], mix.green[column], mix.blue[column], mix.cover[column]] = [red, green, blue, 1];
  }

  /** Lay the line over the lane's ground, and copy it to all of the strip's lines. */
  fill(first, last, left, [red, green, blue], strength) {
    const { mix, pixels, width } = this;
    const start = first * width;
    for (let column = left; column < width; column += 1) {
      const cover = mix.cover[column];
      const share = cover > 0 ? (strength * Math.min(cover, 1)) / cover : 0;
      const rest = 1 - strength * Math.min(cover, 1);
      pixels[start + column] = rgb(
        mix.red[column] * share + red * rest,
        mix.green[column] * share + green * rest,
        mix.blue[column] * share + blue * rest,
      );
    }
    for (let line = first + 1; line < last; line += 1) {
      pixels.copyWithin(line * width + left, start + left, start + width);
    }
  }
}

function rgb(red, green, blue) {
  return (255 << 24) | (blue << 16) | (green << 8) | red; // as a little-endian picture holds it
}
