"""A full table of exporters forgets those that have shown little of a real one, and never a live one that has."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from capture.export_decoder import ExportDecoder
from capture.exporters.exporter_table import EXPORTER, MOST_EXPORTERS, ExporterTable, exporter_of, may_forget
from capture.exporters.forgetting import FEWEST_FORGOTTEN, FORGOTTEN, SILENT_NS, forgettable, moves_without
from capture.ingest_log import IngestLog
from capture.tables.key_table import FULL
from tests.capture.batches import arrived
from tests.capture.export_bytes import flow_sample, ipfix, netflow5, record5, sflow
from tests.capture.frames import ethernet, ip, tcp
from tests.capture.netflow.sender import one_set, options_template, template

GOOD, LATER, SPOOFED = 0xFFFF0A000001, 0xFFFF0A000002, 0xFFFF20000000
FIELDS = ((8, 4), (12, 4), (1, 8), (2, 8))
RATE = 500
S = 1_000_000_000
TOO_MANY = "datagram of one exporter too many"
# What an exporter that does not exist sends, once; and how many of them are more than a table holds.
ONCE = netflow5((record5(size=7),))
FLOOD = 72_000


def good(number: int, *, announced: bool = False) -> bytes:
    """The n-th message of an exporter: a record, and its template where it is announced."""
    record = one_set(256, struct.pack("!IIQQ", 1, 2, 1000 + number, 1))
    return ipfix((one_set(2, template(256, FIELDS)), record) if announced else (record,), sequence=number)


def options() -> bytes:
    """The sampling rate of that address, in a domain of its own that sends nothing else."""
    announced = one_set(3, options_template(300, ((149, 4),), ((34, 4),)))
    return ipfix((announced, one_set(300, struct.pack("!II", 0, RATE))), domain=0)


class Feed:
    """A decoder, the datagrams it was given, and the good exporter's records that came out."""

    def __init__(self) -> None:
        self.decoder = ExportDecoder()
        self.now_ns = 10**18
        self.sizes: list[int] = []
        self.rates: set[int] = set()

    def give(self, *datagrams: tuple[int, bytes]) -> None:
        """Decode datagrams of (source, payload), a microsecond apart."""
        times_ns = self.now_ns + np.arange(len(datagrams)) * 1000
        self.now_ns = int(times_ns[-1]) + 1000
        self.decoder.feed(arrived([d for _, d in datagrams], times_ns, (0, [source for source, _ in datagrams])))
        found = self.decoder.take()
        own = found.flows["bytes"] >= 1000
        self.sizes += found.flows["bytes"][own].tolist()
        self.rates |= set(found.flows["sampling_rate"][own].tolist())

    def rejected(self) -> dict[str, int]:
        """What was left out, by reason."""
        ingest_log = IngestLog()
        self.decoder.account(ingest_log)
        return dict(ingest_log.rejected)

    def restart(self) -> None:
        """Go on with another decoder."""
        state = self.decoder.state()
        self.decoder = ExportDecoder()
        self.decoder.restore(state)


def test_a_flood_of_spoofed_exporters_costs_a_live_one_nothing() -> None:
    """Templates, rate and counters stay, also where a domain has options alone; a new exporter finds room."""
    feed = Feed()
    feed.give((GOOD, options()), (GOOD, good(0, announced=True)), *((GOOD, good(n)) for n in range(1, 10)))
    number = 11  # record 10 is lost
    for first in range(0, FLOOD, FLOOD // 9):
        feed.give((GOOD, good(number)), *((SPOOFED + n, ONCE) for n in range(first, first + FLOOD // 9)))
        number += 1
        if first == FLOOD // 9 * 7:
            feed.restart()
    feed.give((LATER, good(0, announced=True)))
    assert feed.sizes == [1000 + n for n in range(number) if n != 10] + [1000]
    assert feed.rates == {RATE, 0}  # LATER exports none
    (account,) = feed.decoder.exporters(1)
    assert (account.datagrams, account.lost, account.restarts, account.sampling_rates) == (number - 1, 1, 0, (RATE,))
    forgotten = feed.rejected()[FORGOTTEN]
    assert TOO_MANY not in feed.rejected()
    assert feed.decoder.exporters_known == FLOOD + 3 - forgotten <= MOST_EXPORTERS


def test_a_state_of_a_version_that_forgot_none_is_taken_up() -> None:
    """An upgrade costs no template and no rate."""
    feed = Feed()
    feed.give((GOOD, options()), (GOOD, good(0, announced=True)))
    state = json.loads(feed.decoder.state())
    for part in ("sflow", "netflow"):
        state[part]["exporters"] = state[part]["exporters"][0]
    feed.decoder = ExportDecoder()
    feed.decoder.restore(json.dumps(state).encode())
    feed.give((GOOD, good(1)))
    assert (feed.sizes, feed.rates) == ([1000, 1001], {RATE})


def test_data_sources_go_with_their_exporters() -> None:
    """Spoofed sFlow agents leave no data sources behind, and a known agent's rate goes on being checked."""
    frame, decoder = ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100))), ExportDecoder()

    def agent(number: int) -> bytes:
        return sflow((flow_sample(frame, number, pool=1000 * number),), sequence=number, uptime_ms=number)

    for number in range(1, 120):
        decoder.feed(arrived([agent(number)], [10**18 + number * 1000]))
    spoofed = sflow((flow_sample(frame),), agent="11.0.0.0")
    payloads = [spoofed.replace(b"\x0b\0\0\0", struct.pack("!I", 0x0B000000 + n), 1) for n in range(FLOOD)]
    decoder.feed(arrived(payloads, 10**18 + 120_000 + np.arange(FLOOD)))
    decoder.feed(arrived([agent(120)], [2 * 10**18]))
    assert json.loads(decoder.state())["sflow"]["refused"] == 0
    (account,) = decoder.exporters(1)
    assert (account.datagrams, account.lost, account.warnings) == (120, 0, ())
    ingest_log = IngestLog()
    decoder.account(ingest_log)
    assert set(ingest_log.rejected) == {FORGOTTEN}


def test_the_data_sources_of_one_agent_take_nobody_s_room() -> None:
    """One agent that names a hundred thousand sources: those of an agent that comes later are checked."""
    frame, decoder = ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100))), ExportDecoder()
    for number in range(1, 1001):
        samples = tuple(flow_sample(frame, interface=number * 100 + n) for n in range(100))
        decoder.feed(arrived([sflow(samples, sequence=number)], [10**18 + number * S]))
    decoder.feed(arrived([sflow((flow_sample(frame),), agent="10.255.0.2")], [2 * 10**18]))
    liar, other = decoder.exporters()
    assert sum(liar.rejected.values()) > 30_000
    assert other.rejected == {}


def rows(count: int, datagrams: int, last_ns: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Exporters at addresses of their own, each sending since long ago."""
    made = np.zeros(count, EXPORTER)
    made["low"], made["datagrams"], made["last_ns"], made["records"] = np.arange(count), datagrams, last_ns, datagrams
    return made


@pytest.mark.parametrize(
    ("sent_ns", "silent_ns", "forgotten"),
    [(10**17, SILENT_NS, 0), (10**17, SILENT_NS + 1, 2000), (S, S, 0), (S, S + 1, 2000), (0, 1, 2000)],
)
def test_an_exporter_may_be_silent_as_long_as_it_had_sent(sent_ns: int, silent_ns: int, forgotten: int) -> None:
    """An hour at most; of the ones that may be forgotten half go."""
    known = rows(4000, 8, 10**18)
    known["first_ns"] = 10**18 - sent_ns
    assert len(forgettable(known, 10**18 + silent_ns, MOST_EXPORTERS)) == forgotten


def test_a_young_exporter_that_is_silent_stays_where_others_have_shown_less() -> None:
    """Silence for longer than it had sent counts only where nobody else is to be forgotten."""
    known = rows(4 * FEWEST_FORGOTTEN, 1, 10**18)
    known["datagrams"][:10], known["first_ns"][:10], known["last_ns"][:10] = 8, 10**18 - 2 * S, 10**18 - S
    assert forgettable(known, 10**18 + 60 * S, MOST_EXPORTERS).min() >= 10


@pytest.mark.parametrize(("field", "value"), [("datagrams", 7), ("records", 0), ("misfits", 5)])
def test_an_exporter_without_evidence_may_always_be_forgotten(field: str, value: int) -> None:
    """Too few datagrams, no record that could be decoded, or numbers most of which continue no others."""
    known = rows(4000, 8, 10**18)
    assert len(forgettable(known, 10**18, MOST_EXPORTERS)) == 0
    known[field] = value
    assert len(forgettable(known, 10**18, MOST_EXPORTERS)) == 2000


# The numbers of the eight datagrams that each of 65,536 spoofed addresses sends.
SPRAYED = {"gapless": range(8), "at random": (7 << 28, 5, 3 << 29, 11 << 27, 1 << 31, 9, 5 << 28, 13 << 26)}


@pytest.mark.parametrize("numbering", ["gapless", pytest.param("at random", marks=pytest.mark.slow)])
def test_a_table_full_of_eight_datagrams_each_lets_new_exporters_in(numbering: str) -> None:
    """Within a second of theirs, for they took half of one; the exporter known before goes on as it was."""
    feed, number = Feed(), 1
    feed.give((GOOD, options()), (GOOD, good(0, announced=True)))
    feed.now_ns += 10 * S
    for sequence in SPRAYED[numbering]:
        payload = netflow5((record5(size=7),), sequence)
        feed.give((GOOD, good(number)), *((SPOOFED + n, payload) for n in range(MOST_EXPORTERS - 2)))
        number += 1
    assert feed.decoder.exporters_known == MOST_EXPORTERS
    feed.now_ns += S
    feed.give((LATER, good(0, announced=True)), (GOOD, good(number)), *((LATER, good(n)) for n in range(1, 4)))
    assert feed.sizes[-5:] == [1000, 1000 + number, 1001, 1002, 1003]
    (account,) = feed.decoder.exporters(1)
    assert (account.agent, account.datagrams, account.lost) == ("10.0.0.1", number + 1, 0)


def test_the_longest_silent_go_first_and_neighbors_of_live_ones_last() -> None:
    """A few candidates are too few to be worth it."""
    known = rows(2 * FEWEST_FORGOTTEN + 2, 1, 10**18)
    known["last_ns"] += np.arange(len(known))
    known["datagrams"][-1] = 8
    known["low"][0] = known["low"][-1]  # another domain of a live exporter
    chosen = forgettable(known, 2 * 10**18 % SILENT_NS + 10**18, MOST_EXPORTERS)
    assert sorted(chosen) == list(range(1, FEWEST_FORGOTTEN + 1))
    assert len(forgettable(known[:-3], 10**18, MOST_EXPORTERS)) == 0


def test_what_moves_is_found_where_it_went() -> None:
    """The last rows fill the gaps; what lies behind them is empty."""
    values = np.arange(1, 11)
    moves = moves_without(np.array([0, 4, 9]), 10)
    moves.apply(values)
    assert values.tolist() == [8, 2, 3, 4, 9, 6, 7, 0, 0, 0]
    assert moves.places.tolist() == [-1, 1, 2, 3, -1, 5, 6, 0, 4, -1]


def test_a_table_of_live_exporters_refuses_and_asks_again_a_second_later() -> None:
    """None of them gives way, and a flood does not make the table search its rows for every datagram."""
    table = ExporterTable()
    table.make_room(MOST_EXPORTERS)
    for n in range(MOST_EXPORTERS):
        exporter_of(table.rows, table.keys, 1, 0, n, 0)
    table.rows["datagrams"], table.rows["records"], table.rows["last_ns"] = 8, 8, 10**18
    assert exporter_of(table.rows, table.keys, 1, 0, -1, 0) == FULL
    assert may_forget(table.full, 10**18)
    assert table.forget(10**18) is None
    assert not may_forget(table.full, 10**18 + S - 1)
    assert may_forget(table.full, 10**18 + S)
    assert table.forgotten == 0
