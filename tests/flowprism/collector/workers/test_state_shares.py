"""Which states a worker goes on with after the number of workers changed, once or several times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capture.receive.source_filter import words
from capture.receive.steering import worker_of
from datamodel.errors import InputError
from flowprism.collector.workers.state_shares import state_parts
from storage.lake.writer_session import PastSession

SOURCES = [f"192.0.2.{n}" for n in range(1, 200)]
HIGH, LOW = (np.array(column) for column in zip(*map(words, SOURCES), strict=True))


def session(name: str, workers: int, *left: int) -> PastSession:
    """A session of which some workers left a state."""
    return PastSession(name, workers, {worker: f"{name}{worker}" for worker in left})


def taken(past: Sequence[PastSession], workers: int) -> tuple[list[set[str]], list[str]]:
    """From which states each source is taken, over all workers; and from which the sums are."""
    found: list[set[str]] = [set() for _ in SOURCES]
    sums: list[str] = []
    for worker in range(workers):
        for part in state_parts(past, worker, workers, lambda name: name.encode()):
            name = part.state.decode()
            writers = next(one.workers for one in past if one.name == name[0])
            theirs = worker_of(HIGH, LOW, writers) == int(name[1:])  # the others are not in that state
            for number in np.flatnonzero(part.owned(HIGH, LOW) & theirs):
                found[number].add(name)
            sums += [name] if part.has_sums else []
    return found, sorted(sums)


def test_every_exporter_goes_on_with_one_state() -> None:
    """From more or fewer workers, each exporter has the state of the worker it had; each worker's sums go on once."""
    for before, now in ((1, 2), (2, 4), (4, 2), (4, 3), (3, 3)):
        found, sums = taken([session("a", before, *range(before))], now)
        old = worker_of(HIGH, LOW, before)
        assert found == [{f"a{worker}"} for worker in old.tolist()]
        assert sums == [f"a{worker}" for worker in range(before)]


def test_what_a_newer_session_left_out_comes_from_an_older_one() -> None:
    """Of a session in which one worker of two committed, the other's exporters are taken from the one before."""
    found, sums = taken([session("b", 2, 1), session("a", 3, 0, 1, 2)], 4)
    for source, names in enumerate(found):
        high, low = HIGH[source : source + 1], LOW[source : source + 1]
        newer = int(worker_of(high, low, 2)[0]) == 1
        assert names == ({"b1"} if newer else {f"a{int(worker_of(high, low, 3)[0])}"})
    assert sums == ["a0", "a2", "b1"]


def test_a_state_that_cannot_be_read_is_left_out() -> None:
    """The others still hold."""

    def read(name: str) -> bytes:
        if name == "a1":
            raise InputError(name)
        return name.encode()

    assert [part.state for part in state_parts([session("a", 2, 0, 1)], 0, 1, read)] == [b"a0"]
