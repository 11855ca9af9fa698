// What every page does: the clock, the key that leads to the search, and news as they come.
import { startClock } from "./clock.js";
import { startLive } from "./live.js";

const MARGIN_PX = 12;

startClock(document.getElementById("clock"));
startLive();

// On a narrow window the places scroll sideways, and the one that is shown may lie out of sight.
const places = document.querySelector(".places");
const here = places?.querySelector("[aria-current]");
if (here) places.scrollLeft = here.getBoundingClientRect().right - places.getBoundingClientRect().right + MARGIN_PX;

// What is chosen from a list filters at once; words wait for Enter or the button, which also serve without scripts.
addEventListener("change", (event) => {
  const form = event.target.closest("form.filters");
  // What changes something, as the making of users and tokens does, waits for its button.
  if (form?.method === "get" && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
});

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const find = document.getElementById("find");
  if (!find) return;
  event.preventDefault();
  find.focus();
  find.select();
});
