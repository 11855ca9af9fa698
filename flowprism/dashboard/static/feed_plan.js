// While a plan is measured, the page asks how far that is; when it is over, the page is loaded again.
const EVERY_MS = 2000;
const shown = document.getElementById("measuring");

async function look() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = page.getElementById("measuring");
    if (!now) return location.reload();
    shown.replaceChildren(...now.childNodes);
  } catch {
    // The service may be restarting: the next look will find it.
  }
}

if (shown) setInterval(() => document.hidden || look(), EVERY_MS);
