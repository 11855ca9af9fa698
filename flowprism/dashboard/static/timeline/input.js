/** Mouse, touch and keyboard on the canvas. Each action is one method of `board` (see ../timeline.js). */

const PAN = 0.15; // of what is in sight, a key press
const ZOOM = 0.7;

/** The keys, by what they do; the page shows the same list. */
const KEYS = {
  ArrowLeft: (board) => board.move((view) => view.pan(-PAN)),
  ArrowRight: (board) => board.move((view) => view.pan(PAN)),
  ArrowUp: (board) => board.stepLane(-1),
  ArrowDown: (board) => board.stepLane(1),
  "+": (board) => board.move((view) => view.zoom(ZOOM, board.focusTime())),
  "=": (board) => board.move((view) => view.zoom(ZOOM, board.focusTime())),
  "-": (board) => board.move((view) => view.zoom(1 / ZOOM, board.focusTime())),
  w: (board) => board.move((view) => view.zoom(ZOOM, board.focusTime())),
  s: (board) => board.move((view) => view.zoom(1 / ZOOM, board.focusTime())),
  a: (board) => board.move((view) => view.pan(-PAN)),
  d: (board) => board.move((view) => view.pan(PAN)),
  Home: (board) => board.move((view) => view.show(...view.all)),
  ",": (board) => board.stepSpan(-1),
  ".": (board) => board.stepSpan(1),
  Enter: (board) => board.zoomToSpan(),
  f: (board) => board.follow(),
  Escape: (board) => board.letGo(),
};

export function listen(canvas, board) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.shiftKey && event.key === "ArrowRight" ? "." : event.shiftKey && event.key === "ArrowLeft" ? "," : event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = KEYS[key];
    if (!action) return;
    event.preventDefault();
    board.keyboard = true;
    action(board);
  });
  canvas.addEventListener("wheel", (event) => wheel(event, canvas, board), { passive: false });
  canvas.addEventListener("dblclick", () => board.zoomToSpan());
  canvas.addEventListener("pointerleave", () => board.hover(null));
  drag(canvas, board);
}

/** With Ctrl (or a pinch on a touch pad) zoom where the pointer is; sideways pan; else the page scrolls. */
function wheel(event, canvas, board) {
  const { view } = board;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const about = view.time(event.clientX - canvas.getBoundingClientRect().left);
    board.move(() => view.zoom(Math.exp(Math.min(Math.max(event.deltaY, -60), 60) / 120), about));
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
    event.preventDefault();
    board.move(() => view.pan((event.deltaX || event.deltaY) / view.width));
  }
}

/** One pointer pans, measures with Shift and, where it did not move, chooses; two zoom. */
function drag(canvas, board) {
  const down = new Map();
  let moved = false;
  let measured = null; // the time where a measurement began
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
    moved = false;
    measured = event.shiftKey ? board.view.time(place(event)[0]) : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = down.get(event.pointerId);
    if (!before) return board.hover(now);
    const apart = spread(down);
    const by = now[0] - before[0];
    if (!moved && Math.abs(by) < 4 && down.size === 1) return undefined;
    moved = true;
    down.set(event.pointerId, now);
    const { view } = board;
    if (measured !== null) return board.measure(measured, view.time(now[0]));
    if (down.size === 2) return board.move(() => view.zoom(apart / Math.max(spread(down), 1), view.time(now[0])));
    return board.move(() => view.pan(-by / (view.width - view.gutter)));
  });
  const up = (event) => {
    if (down.delete(event.pointerId) && !moved && event.type === "pointerup") board.pick(place(event));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}

function spread(down) {
  const [a, b] = [...down.values()];
  return b ? Math.abs(a[0] - b[0]) : 0;
}
