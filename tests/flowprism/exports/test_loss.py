"""What is lost is what the counters that an exporter keeps lack: every shape of numbering, through the commands."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from flowprism.cli import app
from simulate.export.feed_spec import KINDS, Kind
from tests.flowprism.exports.captures import RECORDS, Sent, capture, interleaved, numbered


class Account(NamedTuple):
    """What is to be said of an exporter."""

    lost: int = 0
    late: int = 0
    restarts: int = 0


def run(*arguments: str | Path) -> str:
    """What a command prints."""
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def feeds(path: Path) -> dict[str, Any]:
    """What `flowprism feeds` says of a capture's only exporter."""
    (exporter,) = json.loads(run("feeds", path, "--format", "json"))["exporters"]
    return dict(exporter)


def without(sent: list[Sent], *places: int) -> list[Sent]:
    """All datagrams but some."""
    return [one for n, one in enumerate(sent) if n not in places]


def two_uptimes(count: int) -> list[Sent]:
    """One gapless counter of two line cards that were switched on 526 s apart."""
    sent = numbered("netflow9", count)
    return [
        Sent(s.sequence, s.at_s, s.port, s.own_uptime_ms - 526_000 * (n % 2), s.telling) for n, s in enumerate(sent)
    ]


def switched_on(sent: list[Sent], at_s: float) -> list[Sent]:
    """The same with the uptime of an exporter that was switched on then."""
    return [Sent(s.sequence, s.at_s, s.port, round(1000 * (s.at_s - at_s)), s.telling) for s in sent]


def hopping(count: int) -> list[Sent]:
    """One counter, each datagram from a port of its own."""
    return [Sent(s.sequence, s.at_s, 40_000 + n, telling=s.telling) for n, s in enumerate(numbered("ipfix", count))]


SHAPES: dict[str, tuple[Kind, list[Sent], Account]] = {
    "a new session": (
        "ipfix", numbered("ipfix", 20) + numbered("ipfix", 20, 1_278_158, 40_001, 20), Account()),
    "a new session that lacks two": (
        "ipfix", numbered("ipfix", 20) + without(numbered("ipfix", 20, 1_278_158, 40_001, 20), 7, 8),
        Account(2 * RECORDS)),
    "two sessions at a time": (
        "ipfix", interleaved(numbered("ipfix", 30), numbered("ipfix", 30, 5_000, 40_001, 0.5)), Account()),
    "two processes behind one sub-agent": (
        "sflow", interleaved(numbered("sflow", 330, 100), numbered("sflow", 330, 3 * 10**9, from_s=0.5)), Account()),
    "two processes whose numbers are close": (
        "sflow", interleaved(numbered("sflow", 60, 100), numbered("sflow", 60, 700, from_s=0.5)), Account()),
    "two processes, one of which lost three": (
        "sflow",
        interleaved(without(numbered("sflow", 60, 100), 30, 31, 32), numbered("sflow", 60, 9_000_000, from_s=0.5)),
        Account(3)),
    "seven line cards": (
        "netflow9", interleaved(*(numbered("netflow9", 40, 10**7 * n, from_s=n / 8) for n in range(7))), Account()),
    "two uptimes in one counter": ("netflow9", two_uptimes(60), Account()),
    "two uptimes in one counter that lacks one": ("netflow9", without(two_uptimes(60), 30), Account(1)),
    "two uptimes in one counter that lacks two": ("netflow9", without(two_uptimes(60), 29, 30), Account(2)),
    "began anew": (
        "netflow9", [*numbered("netflow9", 30, 500), *switched_on(numbered("netflow9", 30, 0, from_s=30), 29)],
        Account(0, 0, 1)),
    "began anew twice": (
        "sflow",
        [*numbered("sflow", 30, 500), *switched_on(numbered("sflow", 30, 0, from_s=30), 29),
         *switched_on(numbered("sflow", 30, 0, from_s=60), 59)],
        Account(0, 0, 2)),
    "a port each": ("ipfix", hopping(40), Account()),
    "a port each, two lost": ("ipfix", without(hopping(40), 20, 21), Account(2 * RECORDS)),
    "the newest datagram first": (
        "netflow9", [numbered("netflow9", 30)[29], *numbered("netflow9", 29)], Account(0, 29)),
    "neighbours change places": (
        "netflow5", [numbered("netflow5", 40)[n ^ 1] for n in range(40)], Account(0, 20)),
    "wraps": ("netflow9", without(numbered("netflow9", 40, (1 << 32) - 20), 25), Account(1)),
    "random numbers": (
        "ipfix", [Sent(random.Random(n).randrange(1 << 32), n, telling=not n) for n in range(200)], Account()),  # noqa: S311
    "one number for all": ("ipfix", [Sent(7, n, telling=not n) for n in range(60)], Account()),
    "more counters than can be followed": (
        "sflow", interleaved(*(numbered("sflow", 100, 10_000_000 * n, from_s=n / 16) for n in range(12))), Account()),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_loss_is_what_a_counter_lacks(shape: str, tmp_path: Path) -> None:
    """Sessions, line cards and uptimes beside one another lose nothing; what one of them lacks is counted once."""
    kind, sent, expected = SHAPES[shape]
    exporter = feeds(capture(tmp_path / "a.pcap", kind, sent))
    assert exporter["datagrams"] == len(sent)
    assert Account(exporter["lost"], exporter["late"], exporter["restarts"]) == expected


@pytest.mark.parametrize("shape", ["random numbers", "more counters than can be followed"])
def test_numbers_without_order_leave_the_loss_unknown(shape: str, tmp_path: Path) -> None:
    """It is said that nothing is known of it."""
    kind, sent, _ = SHAPES[shape]
    path = capture(tmp_path / "a.pcap", kind, sent)
    assert "its sequence numbers follow no order: what it lost is not known" in feeds(path)["warnings"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_has_one_number_for_the_loss(kind: Kind, tmp_path: Path) -> None:
    """The summary and the finding count the same datagrams, whatever the protocol counts."""
    path = capture(tmp_path / "a.pcap", kind, without(numbered(kind, 60), 20, 21, 22))
    report = json.loads(run("analyze", path, "--format", "json"))
    (finding,) = [f for f in report["findings"] if f["cause"] == "loss"]
    assert report["feed"]["lost_datagrams"] == 3
    assert " lost 3 datagrams on the way" in finding["summary"]
