/** The matrix: row and column of the cell that is pointed at, by mouse or by arrow keys, and what it holds in words. */

const SVG = "http://www.w3.org/2000/svg";
const WAYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

class Matrix {
  constructor(box) {
    this.box = box;
    this.status = box.parentElement.querySelector(".heat-status");
    this.drawing = box.querySelector("svg");
    this.cells = [...this.drawing.querySelectorAll("[data-cell]")].map((rect) => {
      const [row, column] = rect.dataset.cell.split(" ").map(Number);
      return { rect, row, column, words: rect.querySelector("title")?.textContent ?? "" };
    });
    this.guides = [0, 1].map(() => {
      const guide = document.createElementNS(SVG, "rect");
      guide.setAttribute("class", "guide");
      this.drawing.append(guide);
      return guide;
    });
    this.ground = this.drawing.querySelector("rect.lane").getBBox();
    const of = new Map(this.cells.map((cell) => [cell.rect, cell]));
    this.drawing.addEventListener("pointermove", (event) => {
      const cell = of.get(event.target.closest("[data-cell]"));
      if (cell) this.point(cell, false);
    });
    this.drawing.addEventListener("pointerleave", () => this.point(null, false));
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("blur", () => this.point(null, false));
  }

  key(event) {
    const way = WAYS[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.point(this.at ? this.next(this.at, way) : this.cells[0], true);
  }

  /** The nearest cell that way; of equally near ones the one that lies straightest. */
  next(from, [down, right]) {
    let best = from;
    let least = Infinity;
    for (const cell of this.cells) {
      const [ahead, aside] = down ? [(cell.row - from.row) * down, cell.column - from.column] : [(cell.column - from.column) * right, cell.row - from.row];
      const away = ahead * 1e4 + Math.abs(aside);
      if (ahead > 0 && away < least) [best, least] = [cell, away];
    }
    return best;
  }

  point(cell, byKey) {
    this.at?.rect.classList.remove("pointed");
    this.at = cell;
    for (const guide of this.guides) guide.classList.toggle("on", Boolean(cell));
    if (!cell) return;
    cell.rect.classList.add("pointed");
    const place = cell.rect.getBBox();
    const { x, y, width, height } = this.ground;
    set(this.guides[0], { x, y: place.y, width, height: place.height });
    set(this.guides[1], { x: place.x, y, width: place.width, height });
    this.status.textContent = cell.words;
    if (byKey) cell.rect.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function set(element, values) {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
}

for (const box of document.querySelectorAll(".heat-box")) box.matrix = new Matrix(box);
