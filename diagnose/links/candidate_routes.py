"""Paths -> routes: which cables each stream may have passed, and which it must have, of the shortest ways there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.paths import Paths
from datamodel.reconstructed.streams import Bool, Int

# Of packets spread evenly over two cables, five in a row take the same one as rarely as one in twenty times.
FEWEST_ALIKE = 5
# Where connections are seen to change doors more often than this from one sighting to the next, packets are spread.
SPREAD = 0.05
_FAR = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, slots=True)
class Routes:
    """Cables in either direction: number 2 n is cable n from `a` to `b`, 2 n + 1 from `b` to `a`.

    Attributes:
        may, must: (streams, directions) which the stream can have passed, and which every way open to it passes.
        sightings: (directions,) how often slow streams were seen at an end of that cable, on their way.
    """

    may: Bool
    must: Bool
    sightings: Int


def steady(paths: Paths) -> bool:
    """Whether connections keep to their cables, so that a sighting tells where all of one's packets go.

    Hashing by connection keeps them; packet spraying and adaptive routing change doors with every packet or burst.
    """
    stays = paths.stays
    alike = int(stays["sightings"].sum()) - len(stays)
    switch = np.unique([name for name, _ in paths.doors], return_inverse=True)[1][stays["door"]]
    sides = len(np.unique(np.stack([stays["stream"], switch, stays["leaves"]]), axis=1).T) if len(stays) else 0
    changes = len(stays) - sides
    return alike >= FEWEST_ALIKE and changes <= SPREAD * (alike + changes)


def routes(
    paths: Paths, window_ns: tuple[int, int], streams: Int, ends: list[tuple[str | None, str | None]], slow: Bool
) -> Routes:
    """Where streams went within a time, of the shortest ways between the switches at their ends.

    1. Equal-cost routing sends a connection over one of the shortest ways. Each cable of them lies a known number of
       hops from the first switch.
    2. A stream seen at one door passes no other door so many hops away; seen at several, it was moved, and may have
       passed either of them.
    3. What then lies on no way from end to end is not passed. Where one cable is left at some distance, it is. So one
       switch that exports tells of others: the hop after a spine follows from which spine it is.

    Args:
        paths: where streams were seen.
        window_ns: sightings at other times do not count: connections are moved now and then.
        streams: (s,) stream numbers as in `paths`.
        ends: (s) switches that each stream begins and ends at; None where unknown. Such a stream may pass any cable,
            and so may one whose sightings lie on none of the shortest ways.
        slow: (s,) streams whose sightings are counted.
    """
    web = _Web(paths)
    now = paths.stays.take((paths.stays["first_ns"] <= window_ns[1]) & (paths.stays["last_ns"] >= window_ns[0]))
    bounds = np.searchsorted(now["stream"], np.stack([streams, streams + 1]))
    shape = (len(streams), 2 * len(paths.cables))
    may, must, sightings = np.ones(shape, np.bool_), np.zeros(shape, np.bool_), np.zeros(shape[1], np.int64)
    known: dict[tuple[object, ...], tuple[Bool, Bool] | None] = {}
    for n, (begin, end) in enumerate(bounds.T.tolist()):
        seen = tuple(sorted(set(zip(now["door"][begin:end].tolist(), now["leaves"][begin:end].tolist(), strict=True))))
        key = (*ends[n], seen)
        if key not in known:
            known[key] = web.open(*ends[n], seen)
        found = known[key]
        if found is None:
            continue
        may[n], must[n] = found
        if not slow[n]:
            continue
        for door, leaves, count in zip(*(now[c][begin:end] for c in ("door", "leaves", "sightings")), strict=True):
            sightings[may[n] & web.at(int(door), bool(leaves))] += count
    return Routes(may, must, sightings)


class _Web:
    """Switches and the cables between them, either direction apart."""

    def __init__(self, paths: Paths) -> None:
        """Number switches and look up the doors of all cables."""
        cables = paths.cables
        door: dict[tuple[str, int | None], int] = {d: n for n, d in enumerate(paths.doors)}
        names = sorted({end for c in cables for end in (c.a, c.b)})
        self.number = {name: n for n, name in enumerate(names)}
        ways = [w for c in cables for w in (((c.a, c.a_port), (c.b, c.b_port)), ((c.b, c.b_port), (c.a, c.a_port)))]
        self.tail, self.head = (np.array([self.number[w[n][0]] for w in ways], np.int64) for n in (0, 1))
        self.out, self.into = (np.array([door.get(w[n], -1) for w in ways], np.int64) for n in (0, 1))
        self.switch_of_door = np.array([self.number[name] for name, _ in paths.doors], np.int64)
        self.hops: dict[int, Int] = {}

    def at(self, door: int, leaves: bool) -> Bool:
        """(directions,) cables that begin at a door, or end there."""
        return np.asarray((self.out if leaves else self.into) == door)

    def open(self, begin: str | None, end: str | None, seen: tuple[tuple[int, bool], ...]) -> tuple[Bool, Bool] | None:
        """(may, must) of the ways from switch to switch that sightings leave; None where nothing is known of them."""
        if begin is None or end is None or (begin != end and (begin not in self.number or end not in self.number)):
            return None
        nothing = np.zeros(len(self.tail), np.bool_)
        if begin == end:
            return None if seen else (nothing, nothing)
        first, last = self.number[begin], self.number[end]
        hop, rest = self._hops(first), self._hops(last)
        if hop[last] == _FAR:
            return None
        ways = hop[self.tail] + 1 + rest[self.head] == hop[last]
        left = _from_end_to_end(self._allowed(ways, hop, seen), hop, self.tail, self.head, (first, last))
        if not left.any() or not all((left & self.at(door, leaves)).any() for door, leaves in seen):
            return None
        at_hop = np.bincount(hop[self.tail[left]], minlength=int(hop[last]))
        must = left.copy()
        must[left] = at_hop[hop[self.tail[left]]] == 1
        return left, must

    def _allowed(self, ways: Bool, hop: Int, seen: tuple[tuple[int, bool], ...]) -> Bool:
        """Cables of the ways that are as many hops away as a door where the stream was seen only if they are there."""
        allowed = ways.copy()
        for leaves in (True, False):
            doors = np.array([door for door, out in seen if out == leaves], np.int64)
            side, ends = (self.out, self.tail) if leaves else (self.into, self.head)
            allowed &= ~np.isin(hop[ends], hop[self.switch_of_door[doors]]) | np.isin(side, doors)
        return allowed

    def _hops(self, start: int) -> Int:
        """(switches,) cables between a switch and each other."""
        if start not in self.hops:
            hops = np.full(len(self.number), _FAR, np.int64)
            hops[start], far = 0, 0
            while (hops == far).any():
                reached = self.head[hops[self.tail] == far]
                far += 1
                hops[reached[hops[reached] > far]] = far
            self.hops[start] = hops
        return self.hops[start]


def _from_end_to_end(allowed: Bool, hop: Int, tail: Int, head: Int, ends: tuple[int, int]) -> Bool:
    """Allowed cables that lie on a way which is allowed from the first switch to the last."""
    first, last = ends
    onward, back = np.zeros(len(hop), np.bool_), np.zeros(len(hop), np.bool_)
    onward[first], back[last] = True, True
    for far in range(int(hop[last])):
        onward[head[allowed & onward[tail] & (hop[tail] == far)]] = True
    for far in reversed(range(int(hop[last]))):
        back[tail[allowed & back[head] & (hop[tail] == far)]] = True
    return np.asarray(allowed & onward[tail] & back[head])
