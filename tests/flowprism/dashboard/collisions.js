() => {
  // Visible rectangles of texts, cut to the boxes around them that hide or scroll what is beyond.
  const found = [];
  const rects = [];
  const cut = (rect, element) => {
    let { left, top, right, bottom } = rect;
    for (let around = element; around && around !== document.body; around = around.parentElement) {
      const style = getComputedStyle(around);
      if (style.overflowX === "visible" && around.tagName !== "svg") continue;
      const box = around.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return { left, top, right, bottom };
  };
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !element.closest(".hidden, .skip, details:not([open]) > :not(summary), .bar, select, title, noscript, .tl-tip");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const words = node.data.trim();
    const element = node.parentElement;
    if (!words || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || !shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const svg = element.closest("svg");
    for (const whole of range.getClientRects()) {
      const rect = cut(whole, element);
      if (rect.right - rect.left < 1 || rect.bottom - rect.top < 1) continue;
      // In a figure a text is cut off where it leaves the image; a box that hides what is beyond cuts off, too.
      const box = svg?.getBoundingClientRect();
      if (box && (whole.left < box.left - 1 || whole.right > box.right + 1 || whole.bottom > box.bottom + 1.5 || whole.top < box.top - 1.5))
        found.push(`cuts off ${words.slice(0, 60)}`);
      rects.push({ ...rect, words, element });
    }
    const style = getComputedStyle(element);
    if (style.overflowX === "hidden" && style.textOverflow !== "ellipsis" && element.scrollWidth > element.clientWidth + 1)
      found.push(`cuts off ${words.slice(0, 60)}`);
  }
  rects.sort((a, b) => a.top - b.top);
  for (let n = 0; n < rects.length; n++) {
    for (let m = n + 1; m < rects.length && rects[m].top < rects[n].bottom; m++) {
      const [a, b] = [rects[n], rects[m]];
      if (a.element === b.element || a.element.contains(b.element) || b.element.contains(a.element)) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const least = Math.min(a.bottom - a.top, b.bottom - b.top);
      if (wide > 2 && high > 0.35 * least) found.push(`${a.words.slice(0, 50)} lies on ${b.words.slice(0, 50)}`);
    }
  }
  return [...new Set(found)].slice(0, 12);
}
