"""Operations -> delays: how long each endpoint took from what set it going to what it then sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.streams import Float, Int
from datamodel.transfers import ROLES

PP = ROLES.index("pp")

# An event is an input of a send when the send comes no sooner after it than this share of its compute time.
NEVER_FASTER = 0.8

Key = tuple[int, int, int]  # role, direction (stage of the peer minus own stage), slot


@dataclass(frozen=True, slots=True)
class Delays:
    """Compute as the network shows it.

    Attributes:
        endpoints: (e,) address codes.
        keys: what was sent: (role, direction, slot).
        delay_ns: (e, keys, iterations) from the end of what set it going to its start; nan where not seen.
        start_ns: (e, keys, iterations) when it was sent; nan likewise.
    """

    endpoints: Int
    keys: tuple[Key, ...]
    delay_ns: Float
    start_ns: Float

    def per_iteration_ns(self) -> Float:
        """(e, iterations) sum over what an endpoint sends: its compute on the path of messages."""
        return np.asarray(np.nansum(self.delay_ns, axis=1))


def delays(
    operations: Frame, endpoints: Int, stage: Mapping[int, int], iterations: int, sharded: bool
) -> Delays:
    """Measure the delay before everything each endpoint sends.

    1. What an endpoint sends and receives is named by role, direction and place in the iteration, alike for endpoints
       that act alike.
    2. What sets a send going is the event (a message received, an own send or collective ended, in this iteration or the
       one before) that it follows most evenly: compute takes the same time every iteration, waiting does not. The
       peers of a stage vote together.
    3. A collective counts once, when the endpoint's own first byte leaves: its arrival. Sharded training arrives at
       every gather and scatter; otherwise later bytes of a gradient collective only wait for others.
    """
    sends = _events(operations, endpoints, stage, iterations, sharded, sending=True)
    ends = _events(operations, endpoints, stage, iterations, sharded, sending=False)
    keys = tuple(sorted(sends))
    shape = (len(endpoints), len(keys), iterations)
    delay, start = np.full(shape, np.nan), np.full(shape, np.nan)
    stages = np.array([stage.get(int(e), 0) for e in endpoints])
    for own in np.unique(stages):
        peers = np.flatnonzero(stages == own)
        for k, key in enumerate(keys):
            start[peers, k] = sends[key][peers]
            delay[peers, k] = _after_trigger(sends[key][peers], {n: v[peers] for n, v in ends.items()})
    return Delays(endpoints, keys, delay, start)


def _events(
    operations: Frame, endpoints: Int, stage: Mapping[int, int], iterations: int, sharded: bool, *, sending: bool
) -> dict[Key, Float]:
    """Key -> (e, iterations) times: starts of own sends, or ends of everything an endpoint took part in."""
    rows = operations.take(operations["iteration"] >= 0)
    place = {int(e): n for n, e in enumerate(endpoints)}
    level = np.array([stage.get(int(e), 0) for e in endpoints], np.int64)
    out: dict[Key, Float] = {}
    for side in ("endpoint",) if sending else ("endpoint", "peer"):
        own = np.array([place.get(int(e), -1) for e in rows[side]], np.int64)
        other = np.array([place.get(int(e), -1) for e in rows["peer" if side == "endpoint" else "endpoint"]], np.int64)
        time = rows["start_ns" if sending else "end_ns" if side == "endpoint" else "delivered_ns"]
        message = rows["role"] == PP
        towards = np.where(message, level[other] - level[own], 0)
        # a message received and one sent to the same stage are different events
        towards = np.where(message & (side == "peer"), towards * 100, towards)
        slot = rows["slot"].astype(np.int64)
        slot = slot if sharded else np.where(message, slot, 0)
        _collect(out, own, rows["role"], towards, slot, rows["iteration"], time, (len(endpoints), iterations), sending)
    return out


def _collect(
    out: dict[Key, Float],
    own: Int,
    role: Int,
    towards: Int,
    slot: Int,
    iteration: Int,
    time: Int,
    shape: tuple[int, int],
    earliest: bool,
) -> None:
    """Earliest (or latest) time of each key, endpoint and iteration."""
    names = np.stack([role, towards, slot], axis=1)
    unique, which = np.unique(names, axis=0, return_inverse=True)
    which = which.ravel()
    for n, name in enumerate(unique):
        inside = (which == n) & (own >= 0)
        key = (int(name[0]), int(name[1]), int(name[2]))
        if key not in out:
            out[key] = np.full(shape, np.nan)
        at = (own[inside], iteration[inside])
        update = np.fmin if earliest else np.fmax
        update.at(out[key], at, time[inside].astype(np.float64))


def _after_trigger(start: Float, ends: Mapping[Key, Float]) -> Float:
    """(peers, iterations) delay after whatever set the sends going.

    The event that the sends follow most evenly gives the compute time; every other event that they never follow faster
    than that may be an input too, and the latest of the inputs is what counts.
    """
    candidates = [d for times in ends.values() for lag in (0, 1) if (d := _behind(start, times, lag)) is not None]
    if not candidates:
        return np.full(start.shape, np.nan)
    middle = [np.nanmedian(d) for d in candidates]
    unevenness = [float(np.nanmedian(np.abs(d - np.nanmedian(d))) + 0.02 * m) for d, m in zip(candidates, middle, strict=True)]
    best = int(np.argmin(unevenness))
    inputs = [d for d in candidates if np.nanpercentile(d, 5) >= NEVER_FASTER * middle[best]]
    latest = np.fmin.reduce([candidates[best], *inputs])
    return np.where(np.isfinite(start), np.maximum(latest, 0), np.nan)


def _behind(start: Float, times: Float, lag: int) -> Float | None:
    """Delay after an event of this iteration or the one before; None where it does not come first."""
    before = times if lag == 0 else np.concatenate([np.full((len(times), 1), np.nan), times[:, :-1]], axis=1)
    delay = start - before
    seen = np.isfinite(delay)
    if seen.sum() < 0.5 * np.isfinite(start).sum() or not seen.any():
        return None
    return delay if np.nanpercentile(delay, 10) >= 0 else None
