"""Statements of a configuration -> what they say about sampling, and which of them are not understood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from flowprism.exporter_config.model import PacketSampling, Unread, sorted_ports

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class SamplingStatements:
    """What statements say.

    Attributes:
        sampling: the last statement of a kind counts, as on the device; None where none was understood.
        seen: how many statements there are.
        unread: those that were not understood.
    """

    sampling: PacketSampling | None
    seen: int
    unread: tuple[Unread, ...]


def take_statements(
    statements: Iterable[S],
    take: Callable[[PacketSampling, S], PacketSampling | None],
    describe: Callable[[S], Unread],
    blank: PacketSampling,
    *,
    begun: bool = False,
) -> SamplingStatements:
    """Take one statement after the other.

    Args:
        statements: of the file, in its order.
        take: the settings with one statement more; None where it is not understood.
        describe: how a statement that is not understood is named.
        blank: the vendor's defaults.
        begun: whether there is a sampling section even where it says nothing.
    """
    sampling, seen, unread = blank if begun else None, 0, []
    for statement in statements:
        seen += 1
        taken = take(sampling or blank, statement)
        if taken is None:
            unread.append(describe(statement))
        else:
            sampling = taken
    if sampling is not None:
        sampling = replace(sampling, ports=sorted_ports(sampling.ports))
    return SamplingStatements(sampling, seen, tuple(unread))
