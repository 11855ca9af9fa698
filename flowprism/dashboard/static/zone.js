// The server writes times in the viewer's zone; which one that is, only the browser knows. It tells in a cookie, and
// a page that was written in another zone is asked for once more.

const COOKIE = "flowprism_zone";
const A_YEAR_S = 31536000;

export function tellZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
  const told = document.documentElement.dataset.zone;
  if (told === zone) return;
  document.cookie = `${COOKIE}=${zone}; path=/; max-age=${A_YEAR_S}; samesite=lax`;
  const kept = document.cookie.split("; ").includes(`${COOKIE}=${zone}`);
  const same = told === "" && new Date().getTimezoneOffset() === 0 && zone === "UTC";
  if (kept && !same) location.reload();
}
