// A figure with a time axis, [data-zoom]: dragging over it leads to the page of the time that was marked. The links
// above it do the same by keyboard and without scripts.

const LEAST_PX = 6;

let drag = null;

const inFigure = (target) => target.closest?.("[data-zoom]");

function partAt(figure, x) {
  const box = figure.getBoundingClientRect();
  const from = Number(figure.dataset.from);
  const to = Number(figure.dataset.to);
  return Math.min(Math.max(((x - box.left) / box.width - from) / (to - from), 0), 1);
}

function timeAt(figure, part) {
  const start = Number(figure.dataset.startMs);
  return start + part * (Number(figure.dataset.endMs) - start);
}

function mark(from, to) {
  const { figure, band } = drag;
  const width = figure.clientWidth;
  const first = Number(figure.dataset.from) * width;
  const whole = (Number(figure.dataset.to) - Number(figure.dataset.from)) * width;
  band.setAttribute("x", first + Math.min(from, to) * whole);
  band.setAttribute("width", Math.abs(to - from) * whole);
}

function begin(event) {
  const figure = event.button === 0 && event.pointerType !== "touch" && inFigure(event.target);
  if (!figure) return;
  const over = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  over.setAttribute("class", "range-over");
  over.setAttribute("aria-hidden", "true");
  const band = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  band.setAttribute("class", "range-pick");
  band.setAttribute("height", "100%");
  over.append(band);
  figure.append(over);
  drag = { figure, band, over, from: partAt(figure, event.clientX), x: event.clientX };
  event.preventDefault();
}

function end(event) {
  const { figure, over, from, x } = drag;
  over.remove();
  drag = null;
  if (event.type === "pointercancel" || Math.abs(event.clientX - x) < LEAST_PX) return;
  const to = partAt(figure, event.clientX);
  const [first, last] = [Math.min(from, to), Math.max(from, to)].map((part) => timeAt(figure, part));
  if (last - first < 1000) return;
  const address = new URL(location.href);
  address.searchParams.delete("last");
  address.searchParams.set("from", new Date(first).toISOString());
  address.searchParams.set("to", new Date(last).toISOString());
  location.assign(address);
}

document.addEventListener("pointerdown", begin);
document.addEventListener("pointermove", (event) => {
  if (drag) mark(drag.from, partAt(drag.figure, event.clientX));
});
document.addEventListener("pointerup", (event) => drag && end(event));
document.addEventListener("pointercancel", (event) => drag && end(event));
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !drag) return;
  drag.over.remove();
  drag = null;
});

const show = () => {
  document.querySelectorAll(".zoom-hint").forEach((hint) => (hint.hidden = false));
  // A figure that is wider than the window shows its newest end first.
  document.querySelectorAll(".scroll > [data-zoom]").forEach(({ parentElement: box }) => (box.scrollLeft = box.scrollWidth));
};
show();
addEventListener("renewed", show);
