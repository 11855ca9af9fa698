"""Damaged datagrams cost what they are worth: counted, in bounded time, with the same result everywhere."""

import os
import subprocess
import sys
import time

import pytest

from capture.netflow.describe import WireTemplates, describe
from tests.capture.export_bytes import netflow5, record5
from tests.capture.netflow.sender import (
    FLOW,
    REVERSE,
    VARIABLE,
    Collector,
    flow,
    ipfix,
    netflow9,
    one_set,
    options_template,
    options_template_9,
    template,
)
from tests.effort import processor_s
from tests.fuzz.mutation import mutated

MUTATIONS = 20_000


def seeds() -> list[bytes]:
    """Datagrams that between them use every part of the decoder."""
    biflow = template(258, (*FLOW, (1, 4, REVERSE), (2, 4, REVERSE), (96, VARIABLE)))
    section = template(259, ((312, 2), (315, VARIABLE)))
    options = one_set(3, options_template(300, ((302, 4),), ((34, 4), (160, 8))))
    return [
        netflow5((record5(size=1), record5(size=2))),
        ipfix(one_set(2, template(256, FLOW), biflow, section), one_set(256, flow(1), flow(2))),
        ipfix(one_set(258, flow(3) + bytes(8) + b"\x02ab"), one_set(259, b"\0\x40\x20" + bytes(32)), sequence=2),
        ipfix(options, one_set(300, bytes(16)), one_set(257, bytes(30)), sequence=4),
        netflow9(one_set(0, template(256, FLOW)), one_set(256, flow(4)), one_set(300, bytes(9))),
        netflow9(one_set(1, options_template_9(257, ((1, 4),), ((48, 1), (50, 4)))), one_set(257, bytes(9))),
    ]


def outcome(count: int) -> str:
    """All that a decoder makes of so many damaged datagrams, condensed."""
    collector = Collector()
    collector.rows(*seeds())
    rows = []
    damaged = list(mutated(seeds(), count, seed=3))
    for i in range(0, count, 500):
        rows += [
            sorted(row.items()) for row in collector.rows(*damaged[i : i + 500], at_ns=1_700_000_000_000_000_000 + i)
        ]
    return repr((len(rows), rows[-50:], collector.decoder.exporters(), collector.decoder.rejected))


@pytest.mark.slow
def test_mutations_are_survived() -> None:
    """Twenty thousand damaged datagrams: no rows out of nothing, and an account of each."""
    collector = Collector()
    damaged = list(mutated(seeds(), MUTATIONS, seed=1))
    Collector().rows(*seeds())  # compiles what is not compiled yet
    began_s = time.process_time()
    rows = sum(len(frame) for i in range(0, MUTATIONS, 1000) for frame in feed(collector, damaged[i : i + 1000]))
    assert time.process_time() - began_s < 60
    accounts = collector.decoder.exporters()
    assert sum(account.records for account in accounts) == rows > 1000
    assert sum(sum(account.rejected.values()) for account in accounts) > 1000


def feed(collector: Collector, payloads: list[bytes]) -> list[list[object]]:
    """The rows of a batch."""
    return [list(collector.rows(*payloads))]


def test_mutations_are_described() -> None:
    """The plain reading comes to an end on all of them, too."""
    templates = WireTemplates()
    assert sum(1 for payload in mutated(seeds(), 5000, seed=2) for _ in describe(payload, templates)) > 5000


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_other_ways_to_run_the_kernels(compiled: bool, bounds_checked: dict[str, str]) -> None:
    """Without compilation (which is how they are fuzzed) and with bounds checks, the result is the same."""
    program = "from tests.capture.netflow.test_damage import outcome; print(outcome(500))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=bounds_checked if compiled else os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == outcome(500), run.stderr[-2000:]


def test_a_datagram_cut_by_the_capture() -> None:
    """It is decoded as far as it goes, the cut is counted, and its sequence tells no loss."""
    collector = Collector()
    whole = ipfix(one_set(2, template(256, FLOW)), one_set(256, flow(1), flow(2)))
    rows = collector.rows(whole[:-10], cut=True)
    rows += collector.rows(ipfix(one_set(256, flow(3)), sequence=2))
    assert [row["bytes"] for row in rows] == [1, 3]
    assert collector.rejected()["export datagram cut by the capture; what lies behind the cut is missing"] == 1
    assert collector.account().lost == 0


def test_zero_filled_tail() -> None:
    """Zeros behind the last set are filling, not damage."""
    collector = Collector()
    rows = collector.rows(netflow9(one_set(0, template(256, FLOW)), one_set(256, flow()), bytes(40)))
    assert len(rows) == 1
    assert collector.rejected() == {}


def test_lying_set_length() -> None:
    """A set that claims more than its datagram holds gives its whole records."""
    collector = Collector()
    known = ipfix(one_set(2, template(256, FLOW)))
    lie = bytearray(ipfix(one_set(256, flow(1), flow(2))))
    lie[18:20] = b"\xff\xff"
    assert len(collector.rows(known, bytes(lie))) == 2
    assert collector.rejected() == {"set longer than its datagram; the whole records in it were decoded": 1}


def test_set_shorter_than_a_record() -> None:
    """Something that is no whole record of its template is counted, unless it is filling, and tells no loss."""
    known = ipfix(one_set(2, template(256, FLOW)))
    for content, count in ((b"\1" * 13, 1), (bytes(13), 0), (b"", 0)):
        collector = Collector()
        assert collector.rows(known, ipfix(one_set(256, content))) == []
        assert len(collector.rows(ipfix(one_set(256, flow()), sequence=count))) == 1
        assert collector.rejected().get("set shorter than one record of its template", 0) == count
        assert collector.account().lost == 0


def test_template_flood_is_linear() -> None:
    """Datagrams full of one-field templates are read in a time that grows with their bytes."""
    flood = [
        ipfix(one_set(2, *[template(256 + (i * 1000 + k) % 65000, ((1, 1 + k % 8),)) for k in range(1000)]), sequence=i)
        for i in range(20)
    ]
    collector = Collector()
    Collector().rows(*seeds())  # compiles what is not compiled yet
    assert processor_s(lambda: collector.rows(*flood)) < 30
    assert collector.account().templates == 4096
