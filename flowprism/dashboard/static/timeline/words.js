/** Numbers and spans in words, the same way as the server says them (flowprism/rendering/units.py). */

/** Three significant digits, never with an exponent. */
export function significant(value) {
  if (!Number.isFinite(value)) return "unknown";
  if (value === 0) return "0";
  const digits = Math.max(2 - Math.floor(Math.log10(Math.abs(value))), 0);
  const text = value.toFixed(Math.min(digits, 20));
  return Math.abs(Number(text)) >= 100 && digits > 0 ? value.toFixed(Math.max(digits - 1, 0)) : text;
}

/** A duration given in milliseconds: `1.02 s`, `153 ms`, `8.60 µs`. */
export function duration(ms) {
  const seconds = ms / 1e3;
  if (seconds === 0) return "0 s";
  if (Math.abs(seconds) >= 120) return `${Math.floor(seconds / 60)} min ${String(Math.round(seconds % 60)).padStart(2, "0")} s`;
  for (const [scale, unit] of [[1, "s"], [1e3, "ms"], [1e6, "µs"]]) {
    if (Math.abs(seconds) * scale >= 0.9995) return `${significant(seconds * scale)} ${unit}`;
  }
  return `${significant(seconds * 1e9)} ns`;
}

/**
 * Times of ticks that lie `step` apart, all in ms: the offset that all of them count from, "" where three digits tell
 * them apart, and a text for each.
 */
export function tickWords(ticks, step) {
  const most = Math.max(...ticks.map(Math.abs), step);
  if (step * (1 + 1e-9) >= 10 ** (Math.floor(Math.log10(most)) - 2)) return ["", ticks.map(duration)];
  const decimals = Math.max(-Math.floor(Math.log10(step) + 1e-9), 0);
  return [`${ticks[0].toFixed(decimals)} ms`, ticks.map((time) => `+${duration(Math.round((time - ticks[0]) / step) * step)}`)];
}

/** Bytes in decimal units: `512 B`, `1.53 GB`. */
export function volume(bytes) {
  let step = 0;
  let value = bytes;
  for (; Math.abs(value) >= 999.5 && step < 5; step += 1) value /= 1000;
  return `${step === 0 ? value.toFixed(0) : significant(value)} ${["", "k", "M", "G", "T", "P"][step]}B`;
}

/** Bytes of a span of so many ms per second. */
export function rate(bytes, ms) {
  return `${volume((bytes / Math.max(ms, 1e-6)) * 1e3)}/s`;
}

/** A kind of span as people say it. */
export function kindName(name) {
  return { pp_send: "pipeline send", pp_recv: "pipeline receive", dp_comm: "gradient exchange", ep_comm: "expert exchange", cp_comm: "context exchange" }[name] ?? name;
}

/** One span in one sentence: what, how long, with or for whom, how much, when. */
export function sentence(pack, part, n) {
  const name = part.kinds[part.kind[n]];
  const lane = pack.lanes[part.lane[n]];
  let text = `${lane.name}: ${kindName(name)} ${duration(part.end[n] - part.start[n])}`;
  if (part.peer[n] >= 0) text += ` ${{ wait: "for", pp_recv: "from" }[name] ?? "to"} ${pack.lanes[part.peer[n]].full}`;
  if (part.bytes[n] > 0) text += `, ${volume(part.bytes[n])} at ${rate(part.bytes[n], part.end[n] - part.start[n])}`;
  return `${text}, from ${duration(part.start[n])} of the iteration on`;
}
