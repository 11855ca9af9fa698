"""Which part of the states of earlier sessions a worker goes on with: what belongs to the exporters that are now its.

An exporter's state is that of its worker in the newest session in which this worker left one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from capture.receive.steering import worker_of
from capture.states.state_parts import StatePart
from datamodel.errors import InputError
from flowprism.collector.decoder_interface import Decoder
from flowprism.collector.processes import process
from storage.lake.writer_session import PastSession

Words = npt.NDArray[np.int64]


def state_parts(
    past: Sequence[PastSession], worker: int, workers: int, read: Callable[[str], bytes]
) -> list[StatePart]:
    """Parts of what earlier sessions left, for one of so many workers; states that cannot be read are left out.

    Args:
        past: earlier sessions, newest first.
        worker: whose parts.
        workers: how many share the exporters now.
        read: the content of a state by its name; InputError where there is none.
    """
    parts = []
    for place, session in enumerate(past):
        newer = past[:place]
        for before, name in session.states.items():
            if session.workers == workers and before != worker:
                continue
            try:
                state = read(name)
            except InputError as error:
                process.print_message(f"{error}; its templates and counts start over")
                continue
            has_sums = before % workers == worker and not any(before % one.workers in one.states for one in newer)
            parts.append(StatePart(state, _ownership(newer, worker, workers), has_sums))
    return parts


def join_states(parts: Sequence[StatePart], make: Callable[[], Decoder]) -> Decoder:
    """A decoder that goes on with all states that can be read.

    A worker without exporters commits nothing, so that a state of an older version may stay next to newer ones; it must
    not cost what these know.
    """
    decoder = make()
    if not parts:
        return decoder
    try:
        decoder.join(parts)
    except InputError as error:
        process.print_message(f"{error}; its templates and counts start over")
        readable = [part for part in parts if _is_readable(part, make())]
        return join_states(readable, make) if len(readable) < len(parts) else make()
    return decoder


def _is_readable(part: StatePart, decoder: Decoder) -> bool:
    try:
        decoder.join([part])
    except InputError:
        return False
    return True


def _ownership(
    newer: Sequence[PastSession], worker: int, workers: int
) -> Callable[[Words, Words], npt.NDArray[np.bool_]]:
    """Which source addresses are this worker's and of no worker that left a state in a newer session."""

    def owned(high: Words, low: Words) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = worker_of(high, low, workers) == worker
        for session in newer:
            found &= ~np.isin(worker_of(high, low, session.workers), list(session.states))
        return found

    return owned
