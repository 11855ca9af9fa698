// The server writes times in the viewer's zone. Which one that is, only the browser knows, and tells in a cookie. What
// was written in another zone, as the first page is, is written anew while it is read, before anything is painted: this
// script is no module, because modules run after the first paint.
"use strict";
(() => {
  const COOKIE = "flowprism_zone";
  const A_YEAR_S = 31536000;
  const root = document.documentElement;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
  if (root.dataset.zone === zone) return;
  document.cookie = `${COOKIE}=${zone}; path=/; max-age=${A_YEAR_S}; samesite=lax`;
  root.dataset.zone = zone;

  const clockOf = (timeZone) => {
    const styles = { timeZone, hourCycle: "h23", dateStyle: "short", timeStyle: "medium" };
    const shape = new Intl.DateTimeFormat("en-GB", styles);
    const month = new Intl.DateTimeFormat("en-GB", { timeZone, month: "short" });
    return (ms) => {
      const part = Object.fromEntries(shape.formatToParts(ms).map(({ type, value }) => [type, value]));
      const time = `${part.hour}:${part.minute}:${part.second}`;
      const date = `${+part.day} ${month.format(ms).slice(0, 3)}`;
      return { day: `${part.year}-${part.month}-${part.day}`, time, date };
    };
  };
  const [own, utc] = [clockOf(zone), clockOf("UTC")];
  const [ownToday, utcToday] = [own(Date.now()).day, utc(Date.now()).day];
  const dated = (one, today) => (one.day === today ? one.time : `${one.day} ${one.time}`);

  /** Both times of a moment, as `Clock` in clock.py writes them; no own one where the zone shows UTC. */
  const both = (ms) => {
    const [here, there] = [own(ms), utc(ms)];
    const same = here.day === there.day && here.time === there.time;
    const inUtc = !same && here.day === there.day ? there.time : dated(there, utcToday);
    return [same ? "" : dated(here, ownToday), `${inUtc} UTC`];
  };
  const span = (text, css) => Object.assign(document.createElement("span"), { textContent: text, className: css });
  const writers = {
    time: (one) => {
      const [here, there] = both(Date.parse(one.dateTime));
      if (!here) one.textContent = there;
      else one.replaceChildren(span(here, ""), " ", span(there, "utc"));
    },
    "[data-span]": (one) => {
      const [from, to] = one.dataset.span.split(" ").map((iso) => Date.parse(iso));
      const [first, last] = [own(from), own(to)];
      const until = first.day === last.day ? last.time : dated(last, ownToday);
      one.textContent = `${dated(first, ownToday)} to ${until}`;
      one.title = `${both(from)[1]} to ${both(to)[1]}`;
    },
    "text[data-time]": (one) => {
      const at = own(Number(one.dataset.time) * 1000);
      const inSeconds = one.textContent.length === 8 || !at.time.endsWith(":00");
      one.textContent = at.time === "00:00:00" ? at.date : at.time.slice(0, inSeconds ? 8 : 5);
    },
    "#clock": (one) => {
      const [here, there] = [own(Date.now()), utc(Date.now())];
      one.querySelector("b").textContent = here.time;
      one.querySelector(".utc").textContent = here.time === there.time ? "UTC" : `${there.time} UTC`;
    },
  };

  // What the parser has not come past may still be growing.
  const whole = (node) => document.readyState !== "loading" || (node && (node.nextSibling || whole(node.parentNode)));
  const written = new WeakSet();
  const write = () => {
    for (const [which, writer] of Object.entries(writers)) {
      for (const one of document.querySelectorAll(which)) {
        if (written.has(one) || !whole(one)) continue;
        written.add(one);
        writer(one);
      }
    }
  };
  const reading = new MutationObserver(write);
  reading.observe(root, { childList: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => {
    write();
    // Whoever keeps no cookies is written to in UTC later, too.
    if (document.cookie.includes(`${COOKIE}=`)) reading.disconnect();
  });
})();
