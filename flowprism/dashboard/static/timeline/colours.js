/** The page's colours as numbers, for a canvas that paints its pixels itself. They come from the style sheet's tokens. */

const TOKENS = {
  compute: "--compute", wait: "--wait", idle: "--idle", pp_send: "--pp", pp_recv: "--pp-light",
  dp_comm: "--dp", ep_comm: "--ep", cp_comm: "--cp",
};

/** Read anew after the theme has changed. */
export function colours(kinds) {
  const probe = document.createElement("span"); // only on an element does a token become the colour of the theme
  document.body.append(probe);
  const token = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const color = read(kinds, token);
  probe.remove();
  return color;
}

function read(kinds, token) {
  return {
    kinds: kinds.map((kind) => numbers(token(TOKENS[kind] ?? "--other"))),
    css: kinds.map((kind) => token(TOKENS[kind] ?? "--other")),
    card: numbers(token("--card")), lane: numbers(token("--faint")), hit: numbers(token("--critical-soft")),
    ink: token("--ink"), quiet: token("--quiet"), rule: token("--rule"), ground: token("--card"),
    accent: token("--accent"), critical: token("--critical"), hatch: token("--wait-line"),
    font: getComputedStyle(document.body).fontFamily,
  };
}

/** Red, green and blue, 0 to 255, of any colour that a style sheet can name. */
function numbers(text) {
  const context = numbers.context ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}
