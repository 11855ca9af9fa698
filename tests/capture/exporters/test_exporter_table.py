"""Sequence numbers tell what was lost, came twice, came late or began anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9, SFLOW5
from capture.exporters.exporter_table import (
    MOST_EXPORTERS,
    Exporter,
    ExporterTable,
    collect_stats,
    digest,
    exporter_of,
    is_copy,
    track_sequence,
    uptime_fell,
)
from capture.exporters.sequence_runs import IN_ORDER, LATE
from capture.tables.key_table import FULL
from datamodel.telemetry.exporter_stats import ExporterStats

AGENT = 0xFFFF0A000001
WRAP = 1 << 32


def opened(protocol: int = SFLOW5) -> Exporter:
    """A new exporter of a protocol."""
    table = ExporterTable()
    return table.rows[exporter_of(table.rows, table.keys, protocol, 0, AGENT, 0)]


def heard(
    exporter: Exporter,
    sequence: int,
    records: int = 1,
    uptime_ms: int = -1,
    check: int | None = None,
    at_s: int = 1,
    port: int = 4000,
) -> int | None:
    """What becomes of a datagram that arrives; None where it is a copy."""
    number = sequence % WRAP
    if is_copy(exporter, number, at_s * 10**9, 100, number if check is None else check):
        return None
    anew = uptime_fell(exporter, uptime_ms, at_s * 1000)
    return int(track_sequence(exporter, port, number, records, anew))


def account(exporter: Exporter) -> ExporterStats:
    """The exporter's account, without reasons of rejection."""
    return collect_stats(exporter, ())


@pytest.mark.parametrize("first", [0, WRAP - 50])
def test_a_gap_is_loss_also_where_the_numbers_wrap(first: int) -> None:
    """Datagrams missing between two that came are counted, across 2^32 too."""
    exporter = opened()
    for n in (*range(40), *range(47, 100)):
        heard(exporter, first + n)
    assert (account(exporter).lost, account(exporter).datagrams, account(exporter).restarts) == (7, 93, 0)


def test_what_comes_late_is_not_lost() -> None:
    """A datagram that was overtaken is taken off the loss again."""
    exporter = opened()
    verdicts = [heard(exporter, n) for n in (0, 1, 4, 2, 3, 5)]
    assert verdicts == [IN_ORDER, IN_ORDER, IN_ORDER, LATE, LATE, IN_ORDER]
    assert (account(exporter).lost, account(exporter).late) == (0, 2)


def test_a_copy_is_left_out_and_a_namesake_is_not() -> None:
    """The same number and content is a duplicate; the same number alone is not (a template-only IPFIX message)."""
    exporter = opened(IPFIX)
    assert heard(exporter, 100, records=0, check=1) == IN_ORDER
    assert heard(exporter, 100, records=5, check=2) == IN_ORDER
    assert heard(exporter, 100, records=5, check=2) is None
    assert (account(exporter).duplicates, account(exporter).datagrams, account(exporter).lost) == (1, 2, 0)


def test_numbers_that_begin_anew_are_a_restart_not_a_loss() -> None:
    """Neither a jump back to zero nor an uptime that fell counts as four billion lost datagrams."""
    exporter = opened()
    for n in range(10):
        heard(exporter, 3_000_000_000 + n, uptime_ms=10_000_000 + n)
    heard(exporter, 0, uptime_ms=100)
    heard(exporter, 1, uptime_ms=200)
    assert (account(exporter).restarts, account(exporter).lost) == (1, 0)


def test_an_uptime_that_fell_tells_a_restart_from_loss() -> None:
    """Where the numbers go on from a saved value but the uptime began anew, the step between them is no loss."""
    exporter = opened()
    heard(exporter, 10, uptime_ms=500_000)
    heard(exporter, 500, uptime_ms=1_000)
    heard(exporter, 502, uptime_ms=1_100)
    assert (account(exporter).restarts, account(exporter).lost) == (1, 1)


@pytest.mark.parametrize("days", [1, 24, 25, 30, 49])
def test_a_restart_is_seen_however_long_the_agent_was_up(days: int) -> None:
    """An uptime of more than half its 32 bits that begins anew looks like one that went on by weeks: no time for it."""
    exporter = opened()
    heard(exporter, 10, uptime_ms=days * 86_400_000, at_s=1000)
    heard(exporter, 500, uptime_ms=20_000, at_s=1060)
    assert (account(exporter).lost, account(exporter).restarts) == (0, 1)


@pytest.mark.parametrize("silent_s", [5, 3600, 4_000_000])
def test_an_uptime_that_wraps_while_nothing_comes_is_no_restart(silent_s: int) -> None:
    """After any silence an uptime is where the time that passed has brought it, modulo 2^32."""
    exporter = opened()
    before = WRAP - 3000
    heard(exporter, 10, uptime_ms=before, at_s=1000)
    heard(exporter, 12, uptime_ms=(before + silent_s * 1000) % WRAP, at_s=1000 + silent_s)
    assert (account(exporter).lost, account(exporter).restarts) == (1, 0)


def test_an_uptime_that_wraps_is_no_restart() -> None:
    """After 49.7 days the 32 bits of milliseconds begin at zero and nothing has happened."""
    exporter = opened()
    heard(exporter, 10, uptime_ms=WRAP - 100)
    heard(exporter, 11, uptime_ms=50)
    assert (account(exporter).restarts, account(exporter).lost) == (0, 0)


@pytest.mark.parametrize("protocol", [NETFLOW5, IPFIX])
def test_numbers_that_count_records_tell_lost_records(protocol: int) -> None:
    """NetFlow v5 and IPFIX number their records, so a lost datagram of 30 is a loss of 30 records."""
    exporter = opened(protocol)
    for n in (*range(20), *range(22, 40)):
        heard(exporter, 30 * n, records=30)
    assert (account(exporter).lost, account(exporter).lost_unit) == (60, "records")


@pytest.mark.parametrize(("protocol", "unit"), [(IPFIX, "datagrams"), (NETFLOW9, "records")])
def test_an_exporter_that_counts_the_other_way_is_understood(protocol: int, unit: str) -> None:
    """Some exporters number datagrams where the protocol says records, or the reverse; their loss is still right."""
    exporter = opened(protocol)
    for n in (*range(50), *range(53, 100)):
        heard(exporter, n if unit == "datagrams" else 23 * n, records=23)
    assert (account(exporter).lost, account(exporter).lost_unit) == (3 if unit == "datagrams" else 69, unit)
    assert account(exporter).restarts == 0


@pytest.mark.parametrize("protocol", [NETFLOW5, IPFIX])
def test_numbers_that_count_their_own_records_in_are_understood(protocol: int) -> None:
    """Open vSwitch and softflowd number the newest record, not the first; nothing is lost, and a real gap is seen."""
    exporter = opened(protocol)
    total = 0
    for n in range(60):
        records = 8 if n == 0 else 28 if n == 1 else 20
        total += records
        if n not in (40, 41):
            heard(exporter, total - 1, records)
    assert (account(exporter).lost, account(exporter).lost_unit) == (40, "records")
    assert (account(exporter).late, account(exporter).restarts) == (0, 0)


@pytest.mark.parametrize("sizes", [[12] * 16, [12, 11, 7, 3] * 4])
def test_records_of_options_that_are_not_counted_are_no_restart(sizes: list[int]) -> None:
    """Softflowd counts this message's flows in and leaves out options, which it sends again now and then."""
    exporter, sent = opened(IPFIX), 0
    for n, flows in enumerate(sizes):
        sent += flows
        heard(exporter, sent, flows + (n % 15 == 0))
    assert (account(exporter).lost, account(exporter).restarts) == (0, 0)


def test_messages_of_templates_that_end_alike_are_no_copies() -> None:
    """Messages without records share a number; that two have one size and one end does not make them one."""
    data = np.frombuffer(bytes.fromhex("000a0064") + bytes(12) + bytes([0, 2]) + bytes(82), np.uint8)
    other = data.copy()
    other[25] = 1
    assert digest(data, 0, len(data)) != digest(other, 0, len(other))


def test_records_that_cannot_be_counted_leave_the_next_number_open() -> None:
    """A message whose template is unknown holds nobody knows how many records; what follows is not called a loss."""
    exporter = opened(IPFIX)
    for n in range(20):
        heard(exporter, 10 * n, records=10)
    heard(exporter, 200, records=-1)
    heard(exporter, 234, records=10)
    assert account(exporter).lost == 0


@given(st.lists(st.sampled_from(["kept", "lost", "twice", "swapped"]), min_size=1, max_size=200), st.integers(0, 9))
def test_the_account_equals_the_truth(fates: list[str], first: int) -> None:
    """Whatever mix of loss, copies and neighbours that change places: lost and duplicates are exact."""
    exporter = opened()
    heard(exporter, first)
    sent = [(first + 1 + n, fate) for n, fate in enumerate(fates)]
    order: list[int] = []
    for number, fate in sent:
        if fate == "swapped" and order:
            order.insert(len(order) - 1, number)
        elif fate != "lost":
            order.extend([number] * (2 if fate == "twice" else 1))
    for number in order:
        heard(exporter, number)
    present = set(order)
    last = max(present, default=first)
    assert account(exporter).duplicates == len(order) - len(present)
    assert account(exporter).lost == sum(1 for number, fate in sent if fate == "lost" and number < last)


def test_a_million_invented_exporters_find_the_table_full() -> None:
    """Memory is bounded: beyond the limit an exporter is refused, and those known stay known."""
    table = ExporterTable()
    table.make_room(1_000_000)
    first = exporter_of(table.rows, table.keys, SFLOW5, 0, AGENT, 0)
    answers = [exporter_of(table.rows, table.keys, SFLOW5, 0, AGENT, n) for n in range(1, MOST_EXPORTERS + 10)]
    assert len(table.rows) == MOST_EXPORTERS
    assert answers.count(FULL) == 10
    assert exporter_of(table.rows, table.keys, SFLOW5, 0, AGENT, 0) == first


def test_growing_keeps_every_exporter() -> None:
    """A table that grows finds again whom it knew."""
    table = ExporterTable()
    places = []
    for n in range(500):
        table.make_room(1)
        places.append(exporter_of(table.rows, table.keys, SFLOW5, n, AGENT, 7))
    again = [exporter_of(table.rows, table.keys, SFLOW5, n, AGENT, 7) for n in range(500)]
    assert again == places == list(range(500))


def test_a_restored_table_goes_on_counting() -> None:
    """What was lost while the collector was down is seen as a gap afterwards."""
    table = ExporterTable()
    exporter = table.rows[exporter_of(table.rows, table.keys, SFLOW5, 0, AGENT, 0)]
    heard(exporter, 10)
    later = ExporterTable()
    later.restore(table.state())
    exporter = later.rows[exporter_of(later.rows, later.keys, SFLOW5, 0, AGENT, 0)]
    heard(exporter, 15)
    assert (account(exporter).datagrams, account(exporter).lost) == (2, 4)


def test_digests_differ_where_the_last_bytes_or_the_size_do() -> None:
    """A digest tells datagrams of one number apart."""
    data = np.arange(200, dtype=np.uint8)
    other = data.copy()
    other[-1] ^= 1
    assert len({int(digest(data, 0, 200)), int(digest(other, 0, 200)), int(digest(data, 0, 196))}) == 3
