"""Operations of an iteration that never ended -> who did not do what was next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from diagnose.endpoint_index import Numbering
from diagnose.hangs.ring_progress import find_stalled_member
from diagnose.model.standstill import FEWEST_EDGES, Steps, find_last_standing
from reconstruct.numeric.medians import group_medians

# A job that has been silent for so many of its iterations is not between two of them.
SILENT_ITERATIONS = 3.0
# A job may pause for longer than it has been seen so far, but hardly for so long.
LONG_SILENCE_NS = 10_000_000_000
# What happens in this share of the iterations is part of them.
RECURS = 0.6
# Operations that are due within this share of an iteration of the first missing one are missing with it.
SAME_TIME = 0.02
# Ranks of one host that wait for one another fall silent within this share of an iteration.
SILENT_TOGETHER = 0.05
# Who sends something so much later, as a share of an iteration, than its last operation ended says that it is ready.
SPOKE = 0.002
# When more than this share of the endpoints stopped first, the job stopped everywhere at once.
AT_ONCE = 0.4
# An operation counts as done with this share of its usual bytes.
DONE = 0.9
# With less than this share of its usual bytes an iteration has not begun: a job that ends says goodbye.
BEGUN = 0.001
SIDES = ("endpoint", "peer")


@dataclass(frozen=True, slots=True)
class Hang:
    """A job that stopped inside an iteration.

    Attributes:
        iteration: the one that never ended.
        since_ns: its last byte.
        culprits: senders of what should have come next, ascending.
        sending: whether they had begun to send what is missing (stuck in communication) or not (stuck before it).
        silent_ns: from the last byte to the end of the window.
        missing: operations that never happened or never ended.
    """

    iteration: int
    since_ns: int
    culprits: tuple[int, ...]
    sending: bool
    silent_ns: int
    missing: int


def hang(
    operations: Frame,
    edges_ns: Int,
    window_end_ns: int,
    last_sent_ns: Mapping[int, int],
    together: Sequence[tuple[int, ...]] = (),
    steps: Steps | None = None,
) -> Hang | None:
    """Tell a hang from the end of a job: a job that ends stops after a whole iteration, a hang stops inside one.

    A job that is killed, or crashes, stops inside one as well, but everywhere at once: nobody waits for anybody.

    1. The job is silent for three iterations, and so is not the feed: other packets came later. What has been seen for
       less time than it is silent may be a part of an iteration that repeats; it hangs after ten seconds, or where the
       others are seen to wait for somebody. Its last iteration is the unfinished one where nothing came after it and
       some operation is not in it at all: it ended with its last byte, whatever was still to come.
    2. Who waits for nobody did not go on (`diagnose.model.standstill`). Where that is not shown: operations have a
       usual time within the iteration, and of those that are missing in the unfinished one, the first to be due name
       who did not go on. Of several, or of their two ends, it is who fell silent first. A receiver that is ready still
       says so (a clear-to-send), whatever became of the sender: of ends that fell silent nearly together, those that
       spoke after the last operation they had a part in wait for the others. A stream that moved all its bytes of an
       iteration misses none of its operations, wherever pauses parted them this time.
    3. A tensor group computes, and stops, as one. Where one endpoint is the first to fall silent and the others of its
       group still go on, it is the endpoint's own connection; and one such group never is everywhere.
    4. A large ring of small steps falls silent within moments: who got least far, and whom the others ran up against by
       a step a hop, did not go on.

    Args:
        operations: of one job, with those after its last complete iteration.
        edges_ns: (iterations,) end of each complete iteration.
        window_end_ns: last packet or record of any kind.
        last_sent_ns: address code -> last payload byte of any kind it sent; without those that no switch reports.
        together: tensor groups.
        steps: all that its endpoints sent; None where messages are not seen one by one.
    """
    period = float(np.median(np.diff(edges_ns)))
    since = int(max(operations["delivered_ns"].max(), operations["end_ns"].max()))
    begun = bool((operations["iteration"] >= len(edges_ns)).any())
    silent_ns, seen_ns = window_end_ns - since, since - int(operations["start_ns"].min())
    if silent_ns < SILENT_ITERATIONS * period or len(edges_ns) < FEWEST_EDGES:
        return None
    standing, count = find_last_standing(steps, edges_ns) if steps is not None else (None, len(edges_ns))
    if standing is None and seen_ns < silent_ns < LONG_SILENCE_NS:
        return None
    count = count if standing is not None or begun else count - 1
    edges_ns = edges_ns[:count]
    slots = int(operations["slot"].max()) + 1
    usual_ns, usual_bytes, names = _usual(operations, edges_ns, slots)
    stopped = operations.take(operations["iteration"] == count)
    done = _done(stopped, names, slots)
    absent = done < (DONE if begun or standing is not None else BEGUN) * usual_bytes
    absent &= _short(operations, stopped, count, names // slots) >= (1 - DONE) * usual_bytes
    if standing is None and (not absent.any() or done.sum() < BEGUN * usual_bytes.sum()):
        return None
    first = float(usual_ns[absent].min(initial=np.inf))
    due = absent & (usual_ns <= first + SAME_TIME * period)
    later = since + SILENT_ITERATIONS * period  # what anybody sends then belongs to another job, or to the next attempt
    last_sent_ns = {e: t if t <= later else since for e, t in last_sent_ns.items()}
    if standing is not None:
        involved = standing.involved(last_sent_ns, SPOKE * period)
    else:
        involved = _ends(operations, names[due] // slots) & last_sent_ns.keys()
    if not involved:
        return None
    silent = min(last_sent_ns[e] for e in involved)
    nearly = sorted(e for e in involved if last_sent_ns[e] <= silent + SILENT_TOGETHER * period)
    alone = _apart(nearly, last_sent_ns, together, SPOKE * period)
    culprits = alone or _mute(operations, nearly, last_sent_ns, SPOKE * period) or nearly
    if standing is None:
        culprits = _within_ring(operations, names[due] // slots, done[due], culprits)
        if _everywhere(operations, set(culprits), set(nearly), together):
            return None
    own = due & np.isin(names // slots, operations["stream"][np.isin(operations["endpoint"], culprits)])
    sending = bool((done[own] > 0).any()) or (standing is not None and standing.sending)
    return Hang(count, since, tuple(culprits), sending, silent_ns, max(int(absent.sum()), 1))


def _short(operations: Frame, stopped: Frame, count: int, streams: Int) -> Float:
    """(n,) by how much less than usual the stream of each operation moved in the iteration that stopped, in bytes."""
    known, which = np.unique(operations["stream"], return_inverse=True)
    whole = (operations["iteration"] > 0) & (operations["iteration"] < count)
    cell = which[whole] * count + operations["iteration"][whole]
    moved = np.bincount(cell, operations["bytes"][whole], len(known) * count).reshape(len(known), count)
    now = np.bincount(np.searchsorted(known, stopped["stream"]), stopped["bytes"], len(known))
    return np.asarray((np.median(moved[:, 1:], axis=1) - now)[np.searchsorted(known, streams)], np.float64)


def _within_ring(operations: Frame, streams: Int, done: Float, culprits: list[int]) -> list[int]:
    """Of members that stopped within moments in the steps of one ring, the one that the others ran up against."""
    known, first = np.unique(operations["stream"], return_index=True)
    senders, receivers = (operations[side][first[np.searchsorted(known, streams)]].tolist() for side in SIDES)
    sent: dict[tuple[int, int], float] = {}
    for pair, volume in zip(zip(senders, receivers, strict=True), done.tolist(), strict=True):
        sent[pair] = sent.get(pair, 0.0) + volume
    found = find_stalled_member(sent)
    return [found] if found in culprits else culprits


def _everywhere(operations: Frame, culprits: set[int], nearly: set[int], together: Sequence[tuple[int, ...]]) -> bool:
    """Whether so many stopped first that the job stopped as a whole; not where all else went on for a while."""
    everybody = len(np.union1d(operations["endpoint"], operations["peer"]))
    one = len(nearly) < everybody and any(nearly <= set(group) for group in together)
    return not one and len(culprits) > max(AT_ONCE * everybody, 2)  # two are the ends of one exchange


def _apart(
    endpoints: list[int], last_sent_ns: Mapping[int, int], together: Sequence[tuple[int, ...]], spoke_ns: float
) -> list[int]:
    """Those that fell silent first of all while most of their tensor group, of three or more, went on."""
    silent = min(last_sent_ns[e] for e in endpoints)
    first = [e for e in endpoints if last_sent_ns[e] <= silent + spoke_ns]
    fellows = {e: [last_sent_ns.get(f, 0) for group in together if e in group for f in group if f != e] for e in first}
    return [e for e in first if len(fellows[e]) > 1 and np.median(fellows[e]) > last_sent_ns[e] + spoke_ns]


def _mute(operations: Frame, endpoints: list[int], last_sent_ns: Mapping[int, int], spoke_ns: float) -> list[int]:
    """Those that sent nothing after the last operation they had a part in."""
    place = Numbering(np.array(endpoints, np.int64))
    last = np.zeros(len(endpoints) + 1, np.int64)
    for side, ended in zip(SIDES, ("end_ns", "delivered_ns"), strict=True):
        np.maximum.at(last, place.of(operations[side]), operations[ended])
    return [e for n, e in enumerate(endpoints) if last_sent_ns[e] <= last[n] + spoke_ns]


def _ends(operations: Frame, streams: Int) -> set[int]:
    """Senders and receivers of some streams."""
    rows = np.isin(operations["stream"], np.unique(streams))
    return {int(e) for side in SIDES for e in np.unique(operations[side][rows])}


def _keys(operations: Frame, slots: int) -> Int:
    """(operations,) one number for stream and slot."""
    return operations["stream"].astype(np.int64) * slots + operations["slot"]


def _usual(operations: Frame, edges_ns: Int, slots: int) -> tuple[Float, Float, Int]:
    """Median start after the last edge, median bytes, and key, of everything that recurs."""
    rows = operations.take((operations["iteration"] > 0) & (operations["iteration"] < len(edges_ns)))
    names, which, often = np.unique(_keys(rows, slots), return_inverse=True, return_counts=True)
    after = (rows["start_ns"] - edges_ns[rows["iteration"] - 1]).astype(np.float64)
    start = group_medians(after, which, len(names))
    volume = group_medians(rows["bytes"].astype(np.float64), which, len(names))
    recurs = often >= RECURS * (len(edges_ns) - 1)
    return start[recurs], volume[recurs], names[recurs]


def _done(rows: Frame, names: Int, slots: int) -> Float:
    """(names,) bytes moved of each."""
    if not len(names):
        return np.zeros(0)
    keys = _keys(rows, slots)
    place = np.minimum(np.searchsorted(names, keys), len(names) - 1)
    known = names[place] == keys
    return np.bincount(place[known], rows["bytes"][known], len(names)).astype(np.float64)
