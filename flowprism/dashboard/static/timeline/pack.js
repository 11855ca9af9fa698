/** Spans as the server packs them (flowprism/dashboard/timeline/pack.py), made ready for drawing and finding. */

const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };
const COMPUTING = new Set(["compute", "wait", "idle"]);
export const ROWS = 3; // of a lane: computing and waiting, and two for the network, whose spans may overlap

/** Fetch what `url` answers; throws an Error with a sentence for people. */
export async function load(url) {
  const answer = await fetch(url, { headers: { Accept: "application/octet-stream" } });
  if (!answer.ok) throw new Error(`The spans could not be read: the server answered ${answer.status}.`);
  return unpack(await answer.arrayBuffer());
}

/** @returns {{kinds: string[], lanes: object[], shown: Part, other: Part | null}} */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const columns = {};
  for (const { name, type, offset, length: size } of header.columns) {
    columns[name] = new TYPES[type](buffer, 4 + length + offset, size);
  }
  const part = (name) => (header[name] ? new Part(name, header, columns) : null);
  return { kinds: header.kinds, lanes: header.lanes, shown: part("shown"), other: part("other") };
}

/** The spans of neighbouring iterations, in order of lane, row and start. */
export class Part {
  constructor(name, header, columns) {
    const own = (column) => columns[`${name}.${column}`];
    Object.assign(this, header[name]); // groups, zero_ns, zero_ms, iterations, path
    this.kinds = header.kinds;
    this.size = own("lane").length;
    const row = rowsOf(own("lane"), own("kind"), own("start"), own("end"), header.kinds);
    const order = Uint32Array.from(row, (_, n) => n);
    const lane = own("lane");
    order.sort((a, b) => lane[a] - lane[b] || row[a] - row[b] || a - b);
    for (const column of ["lane", "kind", "start", "end", "peer", "bytes", "group", "iteration"]) {
      const values = own(column);
      this[column] = values.constructor.from(order, (n) => values[n]);
    }
    this.row = Uint8Array.from(order, (n) => row[n]);
    this.first = starts(this.lane, this.row, header.lanes.length);
    this.reach = reaches(this.end, this.first);
    this.unusual = unusual(this.kind, this.start, this.end, header.kinds.length);
    this.end_ms = this.iterations.at(-1)[2];
  }

  /** Index of the first span of a lane's row that ends after a time, and the index after the row's last. */
  after(lane, row, time) {
    const slice = lane * ROWS + row;
    let low = this.first[slice];
    const stop = this.first[slice + 1];
    let high = stop;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.reach[middle] > time) high = middle;
      else low = middle + 1;
    }
    return [low, stop];
  }

  /** The span of a lane at a time: of the given row, else the nearest row that has one; -1 where none is. */
  at(lane, time, row = 0, slack = 0) {
    for (const one of [row, ...[0, 1, 2].filter((r) => r !== row)]) {
      const [first, stop] = this.after(lane, one, time - slack);
      let best = -1;
      for (let n = first; n < stop && this.start[n] <= time + slack; n += 1) {
        if (best < 0 || distance(this, n, time) < distance(this, best, time)) best = n;
      }
      if (best >= 0) return best;
    }
    return -1;
  }
}

function distance(part, n, time) {
  return Math.max(part.start[n] - time, time - part.end[n], 0);
}

/** Row of each span in its lane: 0 for computing, 1 where the network is free, else 2. */
function rowsOf(lane, kind, start, end, kinds) {
  const computing = kinds.map((name) => COMPUTING.has(name));
  const row = new Uint8Array(lane.length);
  let current = -1;
  let free = 0;
  for (let n = 0; n < lane.length; n += 1) {
    if (lane[n] !== current) [current, free] = [lane[n], -Infinity];
    if (computing[kind[n]]) continue;
    row[n] = start[n] >= free ? 1 : 2;
    if (row[n] === 1) free = end[n];
  }
  return row;
}

/** Where each lane's rows begin, shape (lanes * ROWS + 1). */
function starts(lane, row, lanes) {
  const first = new Uint32Array(lanes * ROWS + 1);
  for (let n = 0; n < lane.length; n += 1) first[lane[n] * ROWS + row[n] + 1] += 1;
  for (let n = 1; n < first.length; n += 1) first[n] += first[n - 1];
  return first;
}

/** The latest end so far within each row, so that a search by time finds spans that overlap as well. */
function reaches(end, first) {
  const reach = new Float64Array(end.length);
  for (let slice = 0; slice + 1 < first.length; slice += 1) {
    let latest = -Infinity;
    for (let n = first[slice]; n < first[slice + 1]; n += 1) reach[n] = latest = Math.max(latest, end[n]);
  }
  return reach;
}

const RARE = 0.001; // the share of a kind's spans, the longest ones, that never shrink below a pixel
const UNUSUAL = 3; // and only where they take so many times as long as the kind's median

/** Which spans are far longer than others of their kind: they are drawn a whole pixel wide however far one looks. */
function unusual(kind, start, end, kinds) {
  const flags = new Uint8Array(kind.length);
  for (let one = 0; one < kinds; one += 1) {
    const rows = [];
    for (let n = 0; n < kind.length; n += 1) if (kind[n] === one) rows.push(n);
    if (rows.length < 8) continue;
    const took = Float64Array.from(rows, (n) => end[n] - start[n]).sort();
    const median = took[took.length >> 1];
    const least = Math.max(took[Math.min(Math.floor(took.length * (1 - RARE)), took.length - 1)], UNUSUAL * median);
    for (const n of rows) if (end[n] - start[n] >= least) flags[n] = 1;
  }
  return flags;
}
