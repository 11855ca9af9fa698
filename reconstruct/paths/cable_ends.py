"""Interfaces that exporters name -> directed cables of the inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from reconstruct.numeric.factorize import factorize

Side = Literal["in", "out"]


@dataclass(frozen=True, slots=True)
class CableEnds:
    """Directed cables by the interface that their packets leave or enter by.

    Attributes:
        cable: by switch, interface index and side; interfaces that several links name are none's.
        shared: those interfaces, as "switch ifIndex".
    """

    cable: Mapping[tuple[str, int, Side], int]
    shared: tuple[str, ...]

    @classmethod
    def of(cls, links: Sequence[Link]) -> CableEnds:
        """Of the cables of an inventory: directed cable 2 n is link n from a to b, 2 n + 1 from b to a."""
        ends = [((n.a, n.a_port), (n.b, n.b_port)) for n in links]
        met = Counter(port for both in ends for port in both if port[1] is not None)
        shared = tuple(sorted(f"{switch} {port}" for (switch, port), times in met.items() if times > 1))
        found: dict[tuple[str, int, Side], int] = {}
        for n, ((a, a_port), (b, b_port)) in enumerate(ends):
            for switch, port, leaving in ((a, a_port, 2 * n), (b, b_port, 2 * n + 1)):
                if port is not None and met[switch, port] == 1:
                    found[switch, port, "out"], found[switch, port, "in"] = leaving, leaving ^ 1
        return cls(found, shared)

    def cables(
        self, frame: Frame, addresses: Sequence[str], switches: Mapping[str, str], side: Side, interface: str
    ) -> Int:
        """(rows,) directed cable of each row's interface; -1 where it is none of theirs.

        Args:
            frame: rows with `sampler_address`, -1 where it is unknown, and a column of interface indices.
            addresses: address of each code.
            switches: name of the switch of each exporter's address.
            side: whether packets leave or enter by it.
            interface: name of the column.
        """
        ports, place = factorize(frame["sampler_address"].astype(np.int64) << 32 | frame[interface] & 0xFFFFFFFF)
        named = ((p >> 32, p & 0xFFFFFFFF) for p in ports.tolist())
        found = [-1 if who < 0 else self.cable.get((switches.get(addresses[who], ""), n, side), -1) for who, n in named]
        return np.array(found, np.int64)[place]
