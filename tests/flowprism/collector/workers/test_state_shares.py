"""Which states a worker goes on with after the number of workers changed, once or several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from capture.configured_rates import SamplingRates
from capture.receive.source_filter import words
from capture.receive.steering import worker_of
from capture.states.state_parts import StatePart
from datamodel.errors import InputError
from flowprism.collector.decoder_interface import Decoder
from flowprism.collector.workers.state_shares import join_states, state_parts
from storage.lake.writer_session import PastSession
from tests.flowprism.collector.fake import FakeDecoder

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


class Strict(FakeDecoder):
    """A decoder that knows states of an older version."""

    def join(self, parts: Sequence[StatePart]) -> None:
        """Refuse them."""
        if any(part.state == b"older" for part in parts):
            raise InputError("decoder state: version 5")
        super().join(parts)


@pytest.mark.parametrize("states", [("one", "older", "two"), ("older", "one", "two"), ("older", "older"), ()])
def test_a_state_of_an_older_version_costs_no_other(states: tuple[str, ...]) -> None:
    """Wherever it stands."""
    known = {"one": b'[{"192.0.2.1": 5}, {"192.0.2.1": 0}]', "two": b'[{"192.0.2.2": 7}, {"192.0.2.2": 1}]'}
    parts = [StatePart(known.get(name, b"older"), lambda high, _: high >= 0, has_sums=True) for name in states]
    decoder = join_states(parts, lambda: cast("Decoder", Strict(SamplingRates())))
    assert decoder.exporters_known == len(known.keys() & states)
    assert decoder.lost() == {"datagrams": int("two" in states)}
