"""Records of a cache that draws packets of bursts that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, UDP, Flows

SECOND, MS = 10**9, 10**6
START = 1_700_000_000 * SECOND
PACKET_BYTES = 4140
NAMES = tuple(f"10.0.0.{n}" for n in range(1, 17))


@dataclass(frozen=True, slots=True)
class Burst:
    """Packets that one endpoint sends another: evenly from `start_s` on for `lasts_s`."""

    src: int
    dst: int
    start_s: float
    lasts_s: float
    packets: int


def drawn(bursts: list[Burst], rate: int, seed: int, *, active_s: float = 1.0, points: int = 1) -> Flows:
    """The records of a cache that draws 1 packet in `rate`, a second without any ends them, `active_s` cut them.

    Args:
        bursts: by connection in order of time.
        rate: of drawing.
        seed: of chance.
        active_s: active timeout.
        points: how many exporters see all of it, each with packets of its own; the first draws twice as many.
    """
    chance = np.random.default_rng(seed)
    rows = []
    for point in range(points):
        for ends in sorted({(b.src, b.dst) for b in bursts}):
            own = [b for b in bursts if (b.src, b.dst) == ends]
            share = (1 if point == 0 else 0.5) / rate
            times = [b.start_s + b.lasts_s * np.sort(chance.random(chance.binomial(b.packets, share))) for b in own]
            rows += [(*ends, point, *record) for record in _records(np.concatenate(times), active_s)]
    src, dst, point, first, last, count = np.array(rows).T
    whole = {"src_addr": src, "dst_addr": dst, "sampler_address": 8 + point, "packets": count}
    columns = {name: column.astype(np.int64) for name, column in whole.items()}
    columns |= {
        "time_flow_start_ns": START + np.rint(first * SECOND).astype(np.int64),
        "time_flow_end_ns": START + np.rint(last * SECOND).astype(np.int64),
        "src_port": columns["src_addr"] * 16 + columns["dst_addr"],
        "dst_port": np.full(len(rows), 4791),
        "proto": np.full(len(rows), UDP),
        "bytes": columns["packets"] * PACKET_BYTES,
        "sampling_rate": np.full(len(rows), rate),
        "metered": columns["packets"] > 1,
    }
    return Flows(Frame(FLOWS, columns), NAMES)


def _records(times: np.ndarray, active_s: float) -> list[tuple[float, float, int]]:
    found: list[tuple[float, float, int]] = []
    for time in times.tolist():
        first, last, count = found[-1] if found else (-np.inf, -np.inf, 0)
        if time - last >= 1 or time - first >= active_s:
            found.append((time, time, 1))
        else:
            found[-1] = (first, time, count + 1)
    return found
