// What every page does: the clock, the key that leads to the search, and news as they come.
import { startClock } from "./clock.js";
import { startLive } from "./live.js";

startClock(document.getElementById("clock"));
startLive();

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const find = document.getElementById("find");
  if (!find) return;
  event.preventDefault();
  find.focus();
  find.select();
});
