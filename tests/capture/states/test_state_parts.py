"""Exporters that are divided among workers anew, again and again: what comes out is what a single decoder makes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.receive.steering import worker_of
from capture.states.state_parts import StatePart
from datamodel.errors import InputError
from datamodel.telemetry.exporter_stats import ExporterStats
from tests.capture.frames import tcp_frame
from tests.capture.netflow.sender import (
    FLOW,
    NOW_NS,
    batch,
    ipfix,
    netflow9,
    one_set,
    options_template,
    options_template_9,
    template,
)
from tests.capture.netflow.sender import flow as record
from tests.capture.sflow.wire import datagram, flow, header

SOURCES = [f"192.0.2.{n}" for n in range(1, 13)] + ["2001:db8::1", "2001:db8::2"]
RATE = 512
OPTIONS = (((302, 4),), ((34, 4),))
PACKET = header(tcp_frame(1, 0))
TEMPLATES_9 = [
    one_set(0, template(256, FLOW)),
    one_set(1, options_template_9(300, ((1, 4),), ((34, 4),))),
    one_set(300, bytes(4) + RATE.to_bytes(4, "big")),
]
TEMPLATES_10 = [
    one_set(2, template(256, FLOW)),
    one_set(3, options_template(300, *OPTIONS)),
    one_set(300, (1).to_bytes(4, "big") + RATE.to_bytes(4, "big")),
]


def exported(turn: int) -> Iterator[Datagrams]:
    """What every source sends in a turn: templates in the first one alone, a gap in each, a set without a template."""
    for n, source in enumerate(SOURCES):
        at_ns = NOW_NS + turn * 10**9
        numbers = [number for number in range(4 * turn, 4 * turn + 4) if number % 4 != 1 or n % 2]
        first = [*TEMPLATES_9] if turn == 0 else []
        v9 = [netflow9(*first, sequence=0)] * (turn == 0)
        v9 += [netflow9(one_set(256, record(100 * n + number)), sequence=number + 1) for number in numbers]
        first = [*TEMPLATES_10] if turn == 0 else []
        v10 = [ipfix(*first, sequence=0, domain=7)] * (turn == 0)
        v10 += [ipfix(one_set(256, record(1000 + number)), sequence=number + 1, domain=7) for number in numbers]
        v10 += [ipfix(one_set(999, record(5)), domain=8)] * (turn == 1)
        v10 += [ipfix(one_set(2, template(999, FLOW)), sequence=1, domain=8)] * (turn == 3)
        sampled = [
            datagram(flow(PACKET, sequence=number, pool=1000 * number), sequence=number, agent=f"10.0.0.{n}")
            for number in numbers
        ]
        yield batch([*v9, *v10, *sampled], source, at_ns=at_ns)


def owner(one: Datagrams, workers: int) -> int:
    """The worker that a source's datagrams go to."""
    row = one.index[:1]
    return int(worker_of(row["source_high"], row["source_low"], workers)[0])


def divided(before: list[ExportDecoder], workers: int) -> list[ExportDecoder]:
    """So many decoders that go on for those before."""
    states = [decoder.state() for decoder in before]
    after = []
    for worker in range(workers):

        def owned(high: npt.NDArray[np.int64], low: npt.NDArray[np.int64], own: int = worker) -> npt.NDArray[np.bool_]:
            return np.equal(worker_of(high, low, workers), own)

        decoder = ExportDecoder()
        decoder.join([StatePart(state, owned, number % workers == worker) for number, state in enumerate(states)])
        after.append(decoder)
    return after


def taken(decoders: list[ExportDecoder]) -> list[tuple[int, int, str, int]]:
    """Bytes, rate and exporter of the records decoded since the last time, sorted."""
    found = []
    for decoder in decoders:
        decoded = decoder.take()
        flows = decoded.flows
        found += [
            (int(size), int(rate), decoded.addresses[code], int(domain))
            for size, rate, code, domain in zip(
                flows["bytes"], flows["sampling_rate"], flows["sampler_address"], flows["observation_domain_id"],
                strict=True,
            )
        ]  # fmt: skip
    return sorted(found)


def accounts(decoders: list[ExportDecoder]) -> list[ExporterStats]:
    """Of all exporters."""
    found = [account for decoder in decoders for account in decoder.exporters()]
    return sorted(found, key=lambda e: (e.protocol, e.agent, e.domain))


def test_dividing_changes_nothing() -> None:
    """1 -> 2 -> 4 -> 2 decoders: templates and rates sent once, gaps, pools and waiting sets are as with one."""
    alone, several = ExportDecoder(), [ExportDecoder()]
    for turn, workers in enumerate((1, 2, 4, 2)):
        several = divided(several, workers) if turn else several
        for one in exported(turn):
            alone.feed(one)
            several[owner(one, workers)].feed(one)
        expected = taken([alone])
        assert taken(several) == expected
        assert {rate for _, rate, agent, domain in expected if agent.startswith("192.") and domain != 8} == {RATE}
        assert len(expected) == 147 + (14 if turn == 3 else 0)
    assert len(several) == 2
    assert all(decoder.exporters_known for decoder in several)
    assert accounts(several) == accounts([alone])
    lost = {name: sum(decoder.lost()[name] for decoder in several) for name in alone.lost()}
    assert alone.lost() == lost == {"datagrams": 56, "records": 28}


def test_an_agent_that_two_workers_know_is_taken_once() -> None:
    """An sFlow agent that sends from two addresses goes on as it was heard last; what it lost stays in the sums."""
    first, second = ExportDecoder(), ExportDecoder()
    for decoder, source, numbers in ((first, "192.0.2.1", (1, 4)), (second, "192.0.2.9", (5, 6))):
        for number in numbers:
            decoder.feed(batch([datagram(sequence=number)], source, at_ns=NOW_NS + number))
    (joined,) = divided([first, second], 1)
    (account,) = joined.exporters()
    assert (account.datagrams, account.lost) == (2, 0)
    assert joined.lost()["datagrams"] == 2


def test_a_damaged_part_is_refused() -> None:
    """A state that is cut is an error, not half a state."""
    state = ExportDecoder().state()
    part = StatePart(state[:-9], lambda high, low: high == low, has_sums=True)
    with pytest.raises(InputError, match="decoder state: damaged"):
        ExportDecoder().join([part])
