// The clock in the header, by the second: the viewer's time, next to UTC.

const text = (date, timeZone) =>
  date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone });

export function startClock(place) {
  if (!place) return;
  const own = place.querySelector("b");
  const utc = place.querySelector(".utc");
  const zone = document.documentElement.dataset.zone || "UTC";
  const show = () => {
    const now = new Date();
    const here = text(now, zone);
    const there = text(now, "UTC");
    own.textContent = here;
    utc.textContent = here === there ? "UTC" : `${there} UTC`;
  };
  const tick = () => {
    show();
    setTimeout(tick, 1000 - (Date.now() % 1000));
  };
  tick();
}
