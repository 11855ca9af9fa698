// News of the service: regions marked data-live="incident scan" are fetched anew when such news comes, and put in
// place without moving anything else: focus, scrolling and what was unfolded stay.

const AT_MOST_EVERY_MS = 1000;
const COME_BACK_MS = 3000;
const KINDS = ["incident", "scan", "feed"];

// What each region showed when it was put, before modules drew on it.
const shown = new WeakMap();
const regions = (within) => [...within.querySelectorAll("[data-live][id]")];

export function startLive() {
  if (!regions(document).length || !("EventSource" in window)) return;
  for (const region of regions(document)) shown.set(region, region.innerHTML);
  const waiting = new Set();
  let timer = 0;
  let last = 0;
  const soon = (kind) => {
    waiting.add(kind);
    if (timer) return;
    timer = setTimeout(renew, Math.max(0, last + AT_MOST_EVERY_MS - performance.now()));
  };
  const renew = async () => {
    const kinds = new Set(waiting);
    waiting.clear();
    last = performance.now();
    try {
      await refresh(kinds);
    } finally {
      timer = 0;
      if (waiting.size) soon([...waiting][0]);
    }
  };
  listen(soon);
}

// A browser keeps few connections to one host: a hidden page closes its own.
function listen(soon) {
  const sign = document.getElementById("live");
  let stream = null;
  let missed = false;
  const close = () => {
    stream?.close();
    stream = null;
    missed = true;
    if (sign) sign.hidden = true;
  };
  const open = () => {
    if (stream || document.hidden) return;
    const own = new EventSource("/api/v1/stream");
    stream = own;
    for (const kind of KINDS) own.addEventListener(kind, () => soon(kind));
    own.addEventListener("open", () => {
      if (sign) sign.hidden = false;
      if (missed) KINDS.forEach(soon);
      missed = false;
    });
    own.addEventListener("error", () => {
      if (sign) sign.hidden = true;
      missed = true;
      if (own.readyState === EventSource.CLOSED && own === stream) {
        stream = null;
        setTimeout(open, COME_BACK_MS);
      }
    });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  open();
}

/** Fetch this page and put its regions that are concerned in place of those shown. */
export async function refresh(kinds) {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = fresh.title;
  const changed = [];
  for (const old of regions(document)) {
    const concerned = old.dataset.live.split(" ").some((kind) => kinds.has(kind));
    const next = concerned && fresh.getElementById(old.id);
    if (next && put(old, next)) changed.push(next.dataset.say);
  }
  const said = document.getElementById("said");
  const words = changed.filter(Boolean).join(". ");
  if (said && words && said.textContent !== words) said.textContent = words;
  if (changed.length) dispatchEvent(new CustomEvent("renewed"));
}

function put(old, next) {
  const markup = next.innerHTML;
  if (shown.get(old) === markup && old.className === next.className) return false;
  const editing = old.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  if (editing) return false; // what somebody is writing is not taken from under their hands
  const unfolded = [...old.querySelectorAll("details")].map((one) => one.open);
  const focused = old.contains(document.activeElement) ? wayTo(old, document.activeElement) : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  old.className = next.className;
  old.replaceChildren(...document.adoptNode(next).childNodes);
  shown.set(old, markup);
  old.querySelectorAll("details").forEach((one, n) => (one.open = unfolded[n] ?? one.open));
  old.querySelectorAll(".scroll").forEach((one, n) => scrolled[n] && one.scrollTo(...scrolled[n]));
  if (focused) old.querySelector(focused)?.focus({ preventScroll: true });
  return true;
}

function wayTo(region, element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const link = element.getAttribute("href");
  if (link) return `a[href="${CSS.escape(link)}"]`;
  const steps = [];
  for (let at = element; at !== region; at = at.parentElement) {
    steps.unshift(`:nth-child(${[...at.parentElement.children].indexOf(at) + 1})`);
  }
  return `:scope > ${steps.join(" > ")}`;
}
