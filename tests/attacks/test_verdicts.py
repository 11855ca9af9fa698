"""One attack at a time beside the recorded job's feed: what is found of the job stays as it is without the attack."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.tables.addresses import MAPPED
from datamodel.telemetry.exporter_stats import ExporterStats
from flowprism.collector.exporter_clocks import ExporterClocks
from flowprism.demo.demo_feed import build_datagrams, load_bundled
from flowprism.pipeline import AnalysisOptions, analyze
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.attacks.test_collector import FIELDS, HOURS, NTP_S
from tests.capture.batches import arrived
from tests.flowprism.service.scans.feeding import fabric

S = 1_000_000_000
BEGIN_NS = 1_780_000_000 * S
GOOD, OTHER = MAPPED | 0x0AFF0001, MAPPED | 0x0AFF0063
LEAVES = (1, 2, 3, 4)
EVERY_NS = S // 20  # one attacking datagram each


class Sent:
    """Datagrams with their times, sources and ports."""

    def __init__(self) -> None:
        """None yet."""
        self.rows: list[tuple[int, int, int, bytes]] = []

    def good(self, numbers: Counter[int] | None = None) -> Sent:
        """Add the recorded feed; `numbers`: that each leaf begins with."""
        found = build_datagrams(load_bundled(fabric()), BEGIN_NS, numbers or Counter())
        for row in found.index:
            at, size = int(row["offset"]), int(row["bytes"])
            self.rows.append((int(row["time_ns"]), GOOD, 40_000, bytes(found.data[at : at + size])))
        return self

    def attack(self, content: Callable[[int, int], bytes]) -> Sent:
        """Add what another exporter sends all the while, by number and time."""
        end_ns = max(row[0] for row in self.rows)
        for number, time_ns in enumerate(range(BEGIN_NS, end_ns, EVERY_NS)):
            self.rows.append((time_ns, OTHER, 50_000, content(number, time_ns)))
        return self

    def observed_again(self, hours: tuple[float, ...]) -> Sent:
        """Add what another exporter tells of the same bursts, by a clock that is hours ahead, by the second."""
        by_clock = [
            build_datagrams(load_bundled(fabric()), BEGIN_NS + round(off * 3600 * S), Counter()) for off in hours
        ]
        for n, time_ns in enumerate(row[0] for row in sorted(self.rows)):
            found = by_clock[(time_ns - BEGIN_NS) // S % len(hours)]
            at, size = int(found.index["offset"][n]), int(found.index["bytes"][n])
            self.rows.append((time_ns + S // 1000, OTHER, 50_000, bytes(found.data[at : at + size])))
        return self

    def changed(self, change: Callable[[bytes, int], tuple[bytes, int]]) -> Sent:
        """With other bytes or ports."""
        changed = ((row[0], row[1], change(row[3], row[2])) for row in self.rows)
        self.rows = [(time_ns, source, port, data) for time_ns, source, (data, port) in changed]
        return self

    def batch(self) -> Datagrams:
        """All in order of time."""
        rows = sorted(self.rows, key=lambda row: row[0])
        found = arrived([row[3] for row in rows], [row[0] for row in rows], (0, [row[1] for row in rows]))
        found.index["source_port"] = [row[2] for row in rows]
        return found


@cache
def pairs() -> list[tuple[int, int, int]]:
    """Source and destination of the recorded bursts, and their bytes."""
    bursts = load_bundled(fabric())
    rows = bursts.rows
    columns = (bursts.addresses[rows["src_addr"]], bursts.addresses[rows["dst_addr"]], rows["bytes"])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def record(number: int, time_ns: int, rate: int, end_ns: int) -> bytes:
    """A message of one record about a pair of the job: its template is with it.

    Args:
        number: of the message.
        time_ns: of the export.
        rate: its sampling rate.
        end_ns: of the flow, which lasted a second.
    """
    source, target, size = pairs()[number % len(pairs())]
    fields = (*FIELDS, (34, 4))
    template = struct.pack("!HH", 256, len(fields)) + b"".join(struct.pack("!HH", *field) for field in fields)
    ends = [((n // S + NTP_S) & 0xFFFFFFFF) << 32 for n in (end_ns - S, end_ns)]
    content = struct.pack("!IIQQQQI", source, target, size, size // 1000 + 1, *ends, rate)
    sets = struct.pack("!HH", 2, 4 + len(template)) + template + struct.pack("!HH", 256, 4 + len(content)) + content
    return struct.pack("!HHIII", 10, 16 + len(sets), time_ns // S & 0xFFFFFFFF, number, 77) + sets


def lying_rate(number: int, time_ns: int) -> bytes:
    """Bytes of the job's own pairs, sampled 1 in four thousand million, or so it says."""
    return record(number, time_ns, 4_000_000_000, time_ns - S // 10)


def changing_rate(number: int, time_ns: int) -> bytes:
    """A rate that is another one each time."""
    return record(number, time_ns, (1, 7, 1000, 1 << 31)[number % 4], time_ns - S // 10)


ATTACKS: dict[str, Callable[[int, int], bytes]] = {
    "a rate that lies": lying_rate,
    "a rate that changes": changing_rate,
}
# How many hours ahead a clock is, by the second.
CLOCKS: dict[str, tuple[float, ...]] = {
    "right": (0,),
    "of 1970": (-BEGIN_NS / S / 3600,),
    "of 2100": (HOURS[900_003] + 24 * 365 * 34,),
    "seven hours ahead": (7,),
    "that jumps": (0, 7, -5, 30, -100),
}


class Found(NamedTuple):
    """What an analysis says is the case: jobs, and findings with the ids of their subjects."""

    jobs: Sequence[tuple[tuple[str, ...], object, int]]
    findings: Sequence[tuple[str, str | None, str, tuple[str, ...]]]


def judged(folder: Path, sent: Sent) -> tuple[Found, dict[tuple[str, int], ExporterStats]]:
    """What the analysis of a collected lake finds, and the accounts of the exporters."""
    decoder, clocks, lake = ExportDecoder(), ExporterClocks(), folder / "lake"
    make_folders(lake)
    store, batch, done = LakeWriter(lake, Writer("20260101T000000000000Z", 0), 1), sent.batch(), 0
    for rows in np.array_split(batch.index, 8):
        decoder.feed(Datagrams(batch.data, rows))
        said, done = decoder.take(), done + len(rows)
        flows = clocks.correct(said.flows, said.addresses)
        store.commit(CommitBatch(done, (flows,), tuple(said.addresses), b""))
    found = analyze([lake], fabric(), AnalysisOptions()).report
    jobs = [(job.endpoints, job.layout, len(job.iterations)) for job in found.jobs]
    findings = [(one.kind, one.cause, one.severity, one.subject.ids) for one in found.findings]
    return Found(jobs, findings), {(one.agent, one.domain): one for one in decoder.exporters()}


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What is found without an attack: one job and its slow link."""
    found, _ = judged(tmp_path_factory.mktemp("good"), Sent().good())
    assert [finding[0] for finding in found.findings] == ["slow_link"]
    return found


def lost(accounts: dict[tuple[str, int], ExporterStats]) -> dict[int, int]:
    """What each leaf lost by its numbers."""
    return {domain: one.lost for (agent, domain), one in accounts.items() if agent == "10.255.0.1"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_rates_that_lie_change_no_verdict(attack: str, unharmed: Found, tmp_path: Path) -> None:
    """Another exporter tells of the job's own pairs, from an address that is allowed."""
    found, accounts = judged(tmp_path, Sent().good().attack(ATTACKS[attack]))
    assert lost(accounts) == dict.fromkeys(LEAVES, 0)
    assert ("10.255.0.99", 77) in accounts
    assert found == unharmed


@pytest.mark.parametrize("clock", CLOCKS)
def test_wrong_clocks_change_no_verdict(clock: str, unharmed: Found, tmp_path: Path) -> None:
    """Another exporter tells of the same bursts, by a clock that is wrong."""
    found, accounts = judged(tmp_path, Sent().good().observed_again(CLOCKS[clock]))
    assert lost(accounts) == dict.fromkeys(LEAVES, 0)
    assert ("10.255.0.99", 4) in accounts
    of_feed = [finding for finding in found.findings if finding[0] == "feed"]
    assert {subject for *_, subject in of_feed} <= {("10.255.0.99",)}, "who has that clock"
    assert found._replace(findings=[one for one in found.findings if one not in of_feed]) == unharmed


def renumbered(sequence: Callable[[int], int]) -> Callable[[bytes, int], tuple[bytes, int]]:
    """IPFIX messages with other sequence numbers."""
    return lambda data, port: (
        data[:8] + struct.pack("!I", sequence(int.from_bytes(data[8:12], "big"))) + data[12:],
        port,
    )


def behind_one_address(data: bytes, port: int) -> tuple[bytes, int]:
    """Leaves 1 and 2 as one domain of one address: a translator of addresses gives each a port of its own."""
    leaf = int.from_bytes(data[12:16], "big")
    return (data[:12] + struct.pack("!I", 1) + data[16:], 50_000 + leaf) if leaf <= 2 else (data, port)


def test_numbers_that_wrap_are_no_loss(unharmed: Found, tmp_path: Path) -> None:
    """Each leaf's counter passes 2^32 in the middle of the feed."""
    found, accounts = judged(tmp_path, Sent().good(Counter(dict.fromkeys(LEAVES, (1 << 32) - 300))))
    assert lost(accounts) == dict.fromkeys(LEAVES, 0)
    assert found == unharmed


def test_numbers_that_begin_anew_are_no_loss(unharmed: Found, tmp_path: Path) -> None:
    """Each leaf restarts once; that is counted."""
    sent = Sent().good().changed(renumbered(lambda number: number if number < 400 else number + (1 << 31)))
    found, accounts = judged(tmp_path, sent)
    assert lost(accounts) == dict.fromkeys(LEAVES, 0)
    assert {one.restarts for one in accounts.values()} == {1}
    assert found == unharmed


def test_two_exporters_behind_one_address_lose_nothing(unharmed: Found, tmp_path: Path) -> None:
    """Sessions keep their templates and numbers apart; what is found of the job is the same."""
    found, accounts = judged(tmp_path, Sent().good().changed(behind_one_address))
    assert lost(accounts) == {1: 0, 3: 0, 4: 0}
    assert found == unharmed


def test_the_same_feed_twice_counts_once(unharmed: Found, tmp_path: Path) -> None:
    """Each datagram comes again at once, from the same address."""
    sent = Sent().good()
    sent.rows = [row for row in sent.rows for _ in range(2)]
    found, accounts = judged(tmp_path, sent)
    assert all(one.duplicates == one.datagrams for one in accounts.values())
    assert lost(accounts) == dict.fromkeys(LEAVES, 0)
    assert found == unharmed
