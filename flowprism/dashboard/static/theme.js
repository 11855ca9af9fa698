// The theme that was chosen, before anything is painted: auto (as the system has it), dark or light. This script is no
// module, because modules run after the first paint.
"use strict";
(() => {
  const KEY = "flowprism.theme";
  const WAYS = ["auto", "dark", "light"];
  const chosen = () => {
    try {
      const way = localStorage.getItem(KEY);
      return WAYS.includes(way) ? way : "auto";
    } catch {
      return "auto"; // a browser may keep nothing for us
    }
  };
  const show = (way) => {
    if (way === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = way;
  };
  show(chosen());
  addEventListener("storage", (event) => event.key === KEY && show(chosen()));
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const word = button.querySelector(".theme-word");
    word.textContent = chosen();
    button.hidden = false;
    button.addEventListener("click", () => {
      const way = WAYS[(WAYS.indexOf(chosen()) + 1) % WAYS.length];
      try {
        localStorage.setItem(KEY, way);
      } catch {
        // it holds for this page, then
      }
      show(way);
      word.textContent = way;
      dispatchEvent(new CustomEvent("themechange", { detail: way }));
    });
  });
})();
