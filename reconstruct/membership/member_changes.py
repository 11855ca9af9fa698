"""Changes of a job's members: connections that end, others that begin, and those that go on.

Connections that end before the job does, while others, silent until then, begin, have been replaced. Between endpoints
that stay, most go on in a live migration (TrainMover, arXiv:2412.12636: only the groups of the swapped host are set up
again) and none after a restart. That something only ends or only begins is no change, and neither is silence: a hole of
the feed, a checkpoint and an exporter's restart leave connections what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from reconstruct.membership.connection_lives import ConnectionLives, ReplacementTime

ChangeKind = Literal["live_migration", "restart", "elastic"]
# Connections that go on carry most of the bytes between endpoints that stay in a live migration.
GOES_ON = 0.5
# Of two that may have had a place, the peers decide; then rail, GPU and bytes, each only where all before it are equal.
PEERS, SEAT, VOLUME = 1.0, 0.1, 0.01
# How long a connection may be silent that is seen too rarely to say.
FOREVER = np.iinfo(np.int64).max

Seat = tuple[int, ...]  # rail and GPU index of an endpoint


@dataclass(frozen=True, slots=True)
class MemberChange:
    """One change.

    Attributes:
        kind: live migration, restart, or elastic where the number of endpoints differs.
        stopped_ns: last byte on a connection that ended.
        resumed_ns: first byte on a new one.
        leavers, joiners: address codes, ascending.
        replaces: endpoint that joined -> the one that had its place.
        peers: endpoint that left or joined -> those that stay and that it exchanged data with, most bytes first.
    """

    kind: ChangeKind
    stopped_ns: int
    resumed_ns: int
    leavers: tuple[int, ...]
    joiners: tuple[int, ...]
    replaces: dict[int, int]
    peers: dict[int, tuple[int, ...]]


def find_changes(lives: ConnectionLives, slack_ns: int, seat_of: Callable[[int], Seat]) -> tuple[MemberChange, ...]:
    """The changes of one job, in order of time.

    Args:
        lives: its connections that carry training traffic; copies of state are not among them.
        slack_ns: connections that are silent for longer before the job ends, or after it began, have ended, or are new.
        seat_of: rail and GPU of an endpoint; equal for all where no inventory says.
    """
    if not len(lives.src):
        return ()
    begin, end = int(lives.start_ns.min()), int(lives.end_ns.max())
    gone = lives.end_ns < end - slack_ns
    new = lives.start_ns > begin + slack_ns
    found: list[MemberChange] = []
    for first_ns, last_ns in _bunches(lives.start_ns[new], slack_ns):
        before = lives.start_ns < first_ns - slack_ns
        after = (lives.end_ns > last_ns) & ((lives.start_ns <= last_ns) | ~new)
        since = found[-1].resumed_ns if found else begin
        ended = before & gone & (lives.end_ns > since) & (lives.end_ns < first_ns + slack_ns)
        if ended.any():
            stopped = int(lives.end_ns[ended].max())
            after &= ~ended
            before &= lives.end_ns > since
            found.append(_change(lives, before, after, (stopped, max(first_ns, stopped)), seat_of))
    return tuple(found)


def changes_at(
    lives: ConnectionLives, times: Sequence[ReplacementTime], patience_ns: Int, seat_of: Callable[[int], Seat]
) -> tuple[MemberChange, ...]:
    """The changes of one job at times that are known.

    Clocks of exporters differ, so what ended may seem to end a little after others began.

    Args:
        lives: its connections; copies of state are not among them.
        times: of each change, ascending.
        patience_ns: (connections,) silence for longer is the end of each; `FOREVER` where it is seen too rarely to say.
        seat_of: rail and GPU of an endpoint; equal for all where no inventory says.
    """
    begin, end = int(lives.start_ns.min()), int(lives.end_ns.max())
    gone = (patience_ns < FOREVER) & (lives.end_ns < end - patience_ns)
    new = (patience_ns < FOREVER) & (lives.start_ns > begin + patience_ns)
    found = []
    for place, (stopped_ns, begun_ns) in enumerate(times):
        since_ns = times[place - 1].begun_ns if place else begin
        until_ns = times[place + 1].stopped_ns if place + 1 < len(times) else end
        before = (lives.start_ns <= stopped_ns) & (lives.end_ns >= since_ns)
        after = (lives.end_ns >= begun_ns) & (lives.start_ns <= until_ns)
        both = before & after
        ended = both & gone & (lives.end_ns - patience_ns < begun_ns)
        begun = both & new & (lives.start_ns + patience_ns > stopped_ns)
        found.append(_change(lives, before & ~begun, after & ~ended, (stopped_ns, begun_ns), seat_of))
    return tuple(found)


def _bunches(times_ns: Int, apart_ns: int) -> list[tuple[int, int]]:
    """First and last of times that lie no further apart than that, one from the next."""
    if not len(times_ns):
        return []
    times = np.sort(times_ns)
    return [(int(part[0]), int(part[-1])) for part in np.split(times, np.flatnonzero(np.diff(times) > apart_ns) + 1)]


def _change(
    lives: ConnectionLives, before: Bool, after: Bool, span_ns: tuple[int, int], seat_of: Callable[[int], Seat]
) -> MemberChange:
    members, later = _ends(lives, before), _ends(lives, after)
    left, joined = np.setdiff1d(members, later), np.setdiff1d(later, members)
    staying = np.intersect1d(members, later)
    among = before & np.isin(lives.src, staying) & np.isin(lives.dst, staying)
    lasting = float(lives.bytes[among & after].sum()) > GOES_ON * float(lives.bytes[among].sum())
    kind: ChangeKind = "elastic" if len(left) != len(joined) else "live_migration" if lasting else "restart"
    sides = {**{int(e): before for e in left}, **{int(e): after for e in joined}}
    moved = {e: _moved(lives, side, e) for e, side in sides.items()}
    replaces = _assigned(left, joined, moved, seat_of) if kind != "elastic" else {}
    kept = set(staying.tolist())
    peers = {e: tuple(p for p in sorted(of, key=lambda p: (-of[p], p)) if p in kept) for e, of in moved.items()}
    return MemberChange(kind, *span_ns, tuple(left.tolist()), tuple(joined.tolist()), replaces, peers)


def _ends(lives: ConnectionLives, some: Bool) -> Int:
    return np.union1d(lives.src[some], lives.dst[some])


def _moved(lives: ConnectionLives, some: Bool, endpoint: int) -> dict[int, float]:
    """Peer -> bytes that one endpoint sent to it."""
    out = some & (lives.src == endpoint)
    peers, place = np.unique(lives.dst[out], return_inverse=True)
    volume = np.bincount(place, lives.bytes[out] / np.maximum(lives.end_ns[out] - lives.start_ns[out], 1), len(peers))
    return dict(zip(peers.tolist(), volume.tolist(), strict=True))


def _assigned(
    left: Int, joined: Int, moved: dict[int, dict[int, float]], seat_of: Callable[[int], Seat]
) -> dict[int, int]:
    """Endpoint that joined -> the one whose place it took: the same peers first, then rail, GPU and bytes."""
    if not len(left):
        return {}
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - a twelfth of a start, and members change rarely

    stays = {p for e in moved for p in moved[e]} - set(left.tolist()) - set(joined.tolist())
    volume = {e: sum(of.values()) for e, of in moved.items()}
    most = max(volume.values()) or 1.0
    cost = np.zeros((len(joined), len(left)))
    for row, new in enumerate(joined.tolist()):
        for column, old in enumerate(left.tolist()):
            a, b = set(moved[new]) & stays, set(moved[old]) & stays
            cost[row, column] = PEERS * (1 - len(a & b) / max(len(a | b), 1)) if a | b else 0.0
            own, other = seat_of(new), seat_of(old)
            cost[row, column] += SEAT * sum(x != y for x, y in zip(own, other, strict=True)) / max(len(own), 1)
            cost[row, column] += VOLUME * abs(volume[new] - volume[old]) / most
    rows, columns = linear_sum_assignment(cost)
    return {int(joined[r]): int(left[c]) for r, c in zip(rows, columns, strict=True)}


def sent_once_bytes(lives: ConnectionLives, change: MemberChange) -> int:
    """Bytes of connections that live within a change only and lead to who trains after it: copies of state.

    Args:
        lives: connections to endpoints of the job that carry no training traffic.
        change: the change.
    """
    inside = (lives.start_ns >= change.stopped_ns) & (lives.end_ns <= change.resumed_ns)
    return round(float(lives.bytes[inside & ~np.isin(lives.dst, change.leavers)].sum()))
