"""Paths: by which interfaces the connections of a network were seen to enter and leave switches, when and how often."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Column, Frame, Schema
from datamodel.reconstructed.streams import Int

PATH_INTERVALS = Schema(
    "stays",
    (
        Column("stream", "i8", "", "number of the stream that was seen"),
        Column("door", "i8", "code", "index into Paths.doors"),
        Column("leaves", "?", "", "whether it left the switch there; else it came in"),
        Column("first_ns", "i8", "ns", "first observation, UTC"),
        Column("last_ns", "i8", "ns", "last observation before it was seen at another port of that switch, UTC"),
        Column("sightings", "i8", "", "consecutive samples and records that show it"),
    ),
)


@dataclass(frozen=True, slots=True)
class Paths:
    """Where streams were seen between switches.

    A stream that always takes the same path has one stay for each side of a switch that reports; one that is moved, one
    more; one whose packets are spread over links, very many.

    Attributes:
        stays: (`PATH_INTERVALS`) by stream, switch, side and time.
        doors: switch and interface index of the ends of links. Links that share one, as members of an aggregate
            under its own index, are not distinguished.
        cables: between switches.
    """

    stays: Frame
    doors: tuple[tuple[str, int], ...]
    cables: tuple[Link, ...]

    def of(self, numbers: Int) -> Paths:
        """The part of some streams, renumbered from 0; `numbers` ascend."""
        own = self.stays.take(np.isin(self.stays["stream"], numbers))
        return replace(self, stays=own.replace(stream=np.searchsorted(numbers, own["stream"])))
