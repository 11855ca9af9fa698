"""Planned routes and hashes -> the source port that takes each connection there."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from diagnose.paths.shortest_routes import NONE
from reconstruct.paths.gf2 import Words
from reconstruct.paths.uplink_hash import FIELD_BITS, Headers, UplinkHash

# RoCEv2 senders take their source ports from here (RFC 6335's dynamic ports; the lower 14 bits are free).
FIRST_PORT, PORTS = 0xC000, 0x4000
# Ports tried first: with up to 64 doors almost every connection finds one among them.
_FEW = 1024
_AT_ONCE = 1024
# Ports to try where the hash is not known: as many as miss a door by chance once in twenty times.
_MISSED = 0.05


# Source ports by sending and receiving address, as numbers of headers.
PortsInUse = Mapping[tuple[int, int], set[int]]


def ports_in_use(headers: Headers) -> PortsInUse:
    """Source ports of (n,) connections, by sender and receiver."""
    used: dict[tuple[int, int], set[int]] = {}
    columns = (headers[name].tolist() for name in ("src_addr", "dst_addr", "src_port"))
    for src, dst, port in zip(*columns, strict=True):
        used.setdefault((src, dst), set()).add(port)
    return used


def choose_ports(
    headers: Headers, hops: Int, chosen: Bool, tail: Int, hashes: Mapping[int, UplinkHash], used: PortsInUse
) -> Int:
    """(n,) first free port predicted to take each connection over its route; NONE where there is none.

    Args:
        headers: (n,) fields of the connections, with any source port.
        hops: (n, hops) directed cables of the planned route.
        chosen: (n, hops) whether the switch chooses that cable by a hash.
        tail: (directions,) switch that each leaves.
        hashes: of switches whose hash is known.
        used: by connections there are: no port serves two of one pair.
    """
    found = np.full(len(hops), NONE)
    taken: dict[tuple[int, int], set[int]] = {}
    known = {id(learnt): learnt for learnt in hashes.values()}
    ends = list(zip(headers["src_addr"].tolist(), headers["dst_addr"].tolist(), strict=True))
    for ports in (_FEW, PORTS):
        left = np.flatnonzero(found == NONE)
        left = left[np.lexsort(tail[hops[left]].T[::-1])]  # connections of one switch are looked up together
        kinds = {one: _port_kinds(learnt, ports) for one, learnt in known.items()}
        for first in range(0, len(left), _AT_ONCE):
            rows = left[first : first + _AT_ONCE]
            own = {name: values[rows] for name, values in headers.items()}
            fits = _fitting(own, hops[rows], chosen[rows], tail, hashes, kinds, ports)
            for row, good in zip(rows.tolist(), fits, strict=True):
                busy = taken.setdefault(ends[row], set(used.get(ends[row], ())))
                port = next((p for p in (np.flatnonzero(good) + FIRST_PORT).tolist() if p not in busy), NONE)
                found[row] = port
                busy.add(port)
    return found


def ports_to_try(doors: int, used: set[int]) -> tuple[int, ...]:
    """Free ports of which one in all likelihood takes one door of so many."""
    count = math.ceil(math.log(_MISSED) / math.log(1 - 1 / doors)) if doors > 1 else 1
    free = (port for port in range(FIRST_PORT, FIRST_PORT + PORTS) if port not in used)
    return tuple(port for port, _ in zip(free, range(count), strict=False))


def _fitting(
    headers: Headers, hops: Int, chosen: Bool, tail: Int, hashes: Mapping[int, UplinkHash],
    kinds: Mapping[int, tuple[Words, Int]], ports: int,
) -> Bool:  # fmt: skip
    """(n, ports) whether each port is predicted to lead over every cable that is chosen by a hash."""
    fits = np.ones((len(hops), ports), np.bool_)
    for hop in range(hops.shape[1]):
        switch = tail[hops[:, hop]]
        for one in np.unique(switch[chosen[:, hop]]).tolist():
            rows = np.flatnonzero(chosen[:, hop] & (switch == one))
            if one not in hashes:
                fits[rows] = False
                continue
            own = {name: values[rows] for name, values in headers.items()}
            learnt = hashes[one]
            fits[rows] &= _leading(own, one, learnt, kinds[id(learnt)], hops[rows, hop])
    return fits


def _leading(headers: Headers, switch: int, learnt: UplinkHash, kinds: tuple[Words, Int], door: Int) -> Bool:
    """(n, ports) whether each port leads each connection out of a switch by its (n,) door.

    The residual of a header is that of its addresses, XOR that of its port: ports of one residual lead to one door.
    """
    count = len(door)
    base = learnt.residual(dict(headers) | {"src_port": np.zeros(count, np.uint64)})
    every = (base[:, None, :] ^ kinds[0][None, :, :]).reshape(-1, base.shape[1])
    found = learnt.look_up(every, np.full(len(every), switch)).reshape(count, -1) == door[:, None]
    return np.asarray(found[:, kinds[1]])


def _port_kinds(learnt: UplinkHash, ports: int) -> tuple[Words, Int]:
    """(residuals that ports have, (ports,) which of them each has)."""
    alone = {name: np.zeros(ports, np.uint64) for name in FIELD_BITS}
    alone["src_port"] = np.arange(FIRST_PORT, FIRST_PORT + ports).astype(np.uint64)
    kinds, kind = np.unique(learnt.residual(alone), axis=0, return_inverse=True)
    return kinds, kind.ravel()
