"""Which switches the streams of a job run between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.reconstructed.streams import Bool, Int
from diagnose.measures.stream_rates import Rates


class SwitchPairs:
    """Switches at both ends of every stream.

    Attributes:
        names: of the switches that endpoints are plugged into.
        leaves, reaches: (s,) number of the switch that each stream starts and ends at; -1 where it is not known.
        known: (s,) both are.
        across: (s,) they differ.
    """

    def __init__(self, rates: Rates, fabric: EndpointLocations) -> None:
        """Look up both ends of every stream."""
        self._cables = Counter(end for link in fabric.links for end in (link.a, link.b))
        self.names = sorted(set(fabric.switch.values()))
        number = {name: n for n, name in enumerate(self.names)}
        codes = np.full(len(fabric.addresses) + 1, -1, np.int64)
        for endpoint, name in fabric.switch.items():
            codes[endpoint] = number[name]
        self.leaves, self.reaches = codes[rates.src], codes[rates.dst]
        self.known = (self.leaves >= 0) & (self.reaches >= 0)
        self.across = self.known & (self.leaves != self.reaches)

    def switches(self, unknown_cables: int) -> Iterator[tuple[str | None, tuple[int, ...], Bool, Bool]]:
        """Each switch that streams leave or reach, how many cables it may have, and which those streams are.

        Where switches are not known, all streams may share a cable of one that is not named, with any number of them.
        """
        for n, name in enumerate(self.names):
            out, into = self.across & (self.leaves == n), self.across & (self.reaches == n)
            if out.any() or into.any():
                yield name, (self._cables[name] or unknown_cables,), out, into
        if not self.names:
            every = np.ones(len(self.leaves), np.bool_)
            yield None, self._unknown(unknown_cables), every, every

    def same_cables(self, streams: Int) -> bool:
        """Whether some streams all cross switches, and all the same two."""
        ends = np.sort(np.stack([self.leaves[streams], self.reaches[streams]]), axis=0)
        return bool(self.across[streams].all() and (ends == ends[:, :1]).all())

    def cables(self, unknown_cables: int) -> int:
        """How many cables all switches of endpoints have."""
        return sum(self._cables[name] or unknown_cables for name in self.names) or self._unknown(unknown_cables)[-1]

    def _unknown(self, unknown_cables: int) -> tuple[int, ...]:
        """Over how many cables streams may be spread, where switches are not known: no more than there are streams."""
        most = max(len(self.leaves) // unknown_cables, 1)
        return tuple(unknown_cables << n for n in range(most.bit_length()))
