"""Templates: whose they are, when they hold, and the sets that wait for them."""

import json
import struct

import pytest

from capture.netflow.templates import template_table as table
from capture.netflow.templates.pending_sets import LONGEST_WAIT_NS, MOST_OF_AN_EXPORTER_BYTES
from capture.netflow.wire.reasons import STILL_WAITING
from tests.capture.netflow.sender import (
    FLOW,
    NOW_NS,
    Collector,
    Field,
    flow,
    ipfix,
    netflow9,
    one_set,
    options_template,
    options_template_9,
    template,
)

SWAPPED: tuple[Field, ...] = ((12, 4), (8, 4), *FLOW[2:])
KNOWN = one_set(2, template(256, FLOW))
DATA = one_set(256, flow())


def test_several_templates_in_a_set() -> None:
    """Each of them decodes its own sets."""
    collector = Collector()
    rows = collector.rows(
        ipfix(one_set(2, template(256, FLOW), template(300, SWAPPED)), one_set(300, flow()), one_set(256, flow()))
    )
    assert [row["src_addr"] for row in rows] == ["10.0.0.2", "10.0.0.1"]
    assert collector.account().templates == 2


def test_redefinition() -> None:
    """Data before a new definition goes by the old one, data after by the new one, within one batch."""
    again = one_set(2, template(256, SWAPPED))
    rows = Collector().rows(
        ipfix(KNOWN, DATA), ipfix(DATA, sequence=1), ipfix(DATA, again, DATA, sequence=2), ipfix(DATA, sequence=4)
    )
    assert [row["src_addr"] for row in rows] == ["10.0.0.1"] * 3 + ["10.0.0.2"] * 2


def test_exporters_share_ids() -> None:
    """Templates of one id from two addresses, or of two domains of one, are different templates."""
    collector = Collector()
    collector.rows(ipfix(KNOWN), source="192.0.2.1")
    collector.rows(ipfix(one_set(2, template(256, SWAPPED))), source="192.0.2.2")
    collector.rows(ipfix(one_set(2, template(256, SWAPPED)), domain=2), source="192.0.2.1")
    assert [row["src_addr"] for row in collector.rows(ipfix(DATA), source="192.0.2.1")] == ["10.0.0.1"]
    assert [row["src_addr"] for row in collector.rows(ipfix(DATA), source="192.0.2.2")] == ["10.0.0.2"]
    assert [row["src_addr"] for row in collector.rows(ipfix(DATA, domain=2), source="192.0.2.1")] == ["10.0.0.2"]


def test_another_port() -> None:
    """Data from another port of the same exporter is decoded with its template, unless that port has its own."""
    collector = Collector()
    collector.rows(ipfix(KNOWN), port=1000)
    assert [r["src_addr"] for r in collector.rows(ipfix(DATA), port=2000)] == ["10.0.0.1"]
    collector.rows(ipfix(one_set(2, template(256, SWAPPED)), sequence=1), port=3000)
    assert [r["src_addr"] for r in collector.rows(ipfix(DATA, sequence=1), port=1000)] == ["10.0.0.1"]
    assert [r["src_addr"] for r in collector.rows(ipfix(DATA, sequence=2), port=3000)] == ["10.0.0.2"]
    assert any("another port" in text for text in collector.account().warnings)


@pytest.mark.parametrize(("number", "gone"), [(256, {256}), (2, {256, 257})])
def test_withdrawal(number: int, gone: set[int]) -> None:
    """Over TCP a template, or all of a session, is forgotten (RFC 7011 section 8.1); sets wait for it again."""
    collector = Collector()
    both = one_set(2, template(256, FLOW), template(257, FLOW))
    collector.rows(ipfix(both), ipfix(one_set(2, struct.pack("!HH", number, 0))), tcp=True)
    assert collector.account().templates == 2 - len(gone)
    rows = collector.rows(ipfix(one_set(256, flow(1)), one_set(257, flow(2))), tcp=True)
    assert [row["bytes"] for row in rows] == ([2] if gone == {256} else [])
    assert len(collector.rows(ipfix(both, sequence=2), tcp=True)) == len(gone)


@pytest.mark.parametrize("number", [256, 2])
def test_withdrawal_over_udp(number: int) -> None:
    """Over UDP a withdrawal is ignored and counted (RFC 7011 section 8.4); what stands behind it in its set is read."""
    collector = Collector()
    withdrawing = one_set(2, struct.pack("!HH", number, 0), template(257, SWAPPED))
    rows = collector.rows(ipfix(KNOWN), ipfix(withdrawing, DATA, one_set(257, flow(2))))
    assert [(row["bytes"], row["src_addr"]) for row in rows] == [(1000, "10.0.0.1"), (2, "10.0.0.2")]
    assert collector.account().templates == 2
    assert collector.rejected() == {"template withdrawals over UDP (ignored, as RFC 7011 section 8.4 says)": 1}


def test_withdrawal_of_all_options_templates() -> None:
    """Set 3 withdraws options templates only."""
    collector = Collector()
    options = one_set(3, options_template(300, ((149, 4),), ((34, 4),)))
    collector.rows(ipfix(KNOWN, options), ipfix(one_set(3, struct.pack("!HH", 3, 0))), tcp=True)
    assert collector.account().templates == 1
    assert len(collector.rows(ipfix(DATA), tcp=True)) == 1


def test_sets_wait_for_their_template() -> None:
    """Data before its template is decoded when that comes, dated by its own header; nothing is counted lost."""
    collector = Collector()
    assert collector.rows(ipfix(one_set(256, flow(1), flow(2)), sequence=0)) == []
    assert collector.rows(ipfix(one_set(256, flow(3)), sequence=2), at_ns=NOW_NS + 10**9) == []
    rows = collector.rows(ipfix(KNOWN, one_set(256, flow(4)), sequence=3), at_ns=NOW_NS + 2 * 10**9)
    assert [(row["bytes"], row["time_received_ns"] - NOW_NS) for row in rows] == [
        (1, 0), (2, 0), (3, 10**9), (4, 2 * 10**9)
    ]  # fmt: skip
    account = collector.account()
    assert (account.records, account.lost, dict(account.rejected)) == (4, 0, {})


def test_sets_go_on_waiting_over_a_restart() -> None:
    """What waits is counted as such, goes with the state, and is decoded where the template comes only afterwards."""
    first, second = Collector(), Collector()
    first.rows(ipfix(one_set(256, flow(1), flow(2))))
    assert first.rejected() == {STILL_WAITING: 1}
    second.decoder.restore(json.loads(json.dumps(first.decoder.state())))
    assert [row["bytes"] for row in second.rows(ipfix(KNOWN, sequence=2))] == [1, 2]
    assert second.rejected() == {}


def test_options_data_may_wait_too() -> None:
    """A rate told before its options template holds for what comes after that."""
    collector = Collector()
    collector.rows(netflow9(one_set(257, struct.pack("!III", 0, 7, 500))))
    known = one_set(1, options_template_9(257, ((1, 4),), ((48, 4), (50, 4))))
    (row,) = collector.rows(netflow9(known, one_set(0, template(256, FLOW)), one_set(256, flow()), sequence=1))
    assert row["sampling_rate"] == 500


def test_waiting_ends() -> None:
    """A set whose template does not come within half an hour is given up and counted."""
    collector = Collector()
    collector.rows(ipfix(DATA))
    collector.rows(ipfix(KNOWN, domain=9), at_ns=NOW_NS + LONGEST_WAIT_NS + 2)
    assert collector.rejected() == {"set whose template did not come in time": 1}
    assert collector.rows(ipfix(KNOWN, sequence=1), at_ns=NOW_NS + LONGEST_WAIT_NS + 3) == []


def test_waiting_room_of_an_exporter_is_bounded() -> None:
    """One that sends data without end but no template fills its own room only, and the rest is counted."""
    collector = Collector()
    big = one_set(256, *[flow()] * 1500)
    sent = MOST_OF_AN_EXPORTER_BYTES // len(big) + 3
    for i in range(sent):
        collector.rows(ipfix(big, sequence=i))
    refused = collector.rejected()["set without a template that found no room to wait"]
    assert 3 <= refused <= 4
    collector.rows(ipfix(DATA), source="192.0.2.2")
    assert len(collector.rows(ipfix(KNOWN, sequence=1), source="192.0.2.2")) == 1
    assert len(collector.rows(ipfix(KNOWN, sequence=sent))) == (sent - refused) * 1500


def test_known_template_again_changes_nothing() -> None:
    """A template that comes again with every datagram is the same template."""
    collector = Collector()
    rows = collector.rows(*[ipfix(KNOWN, one_set(256, flow(i)), sequence=i) for i in range(50)])
    assert [row["bytes"] for row in rows] == list(range(50))
    assert collector.account().templates == 1


def test_own_oldest_template_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter that announces too many loses the one it used longest ago, and no other exporter loses any."""
    monkeypatch.setattr(table, "MOST_OF_AN_EXPORTER", 4)
    collector = Collector()
    collector.rows(ipfix(KNOWN), source="192.0.2.2")
    for i in range(4):
        collector.rows(ipfix(one_set(2, template(256 + i, FLOW))), at_ns=NOW_NS + i)
    collector.rows(ipfix(DATA), at_ns=NOW_NS + 10)  # 256 is in use, 257 the longest unused
    collector.rows(ipfix(one_set(2, template(400, FLOW)), sequence=1), at_ns=NOW_NS + 20)
    assert collector.rejected() == {"templates forgotten, the longest unused first, for there were too many": 1}
    assert len(collector.rows(ipfix(one_set(256, flow()), one_set(257, flow()), sequence=1))) == 1
    assert len(collector.rows(ipfix(DATA), source="192.0.2.2")) == 1


def test_full_table_protects_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all room is taken, a newcomer is refused until somebody's template has gone unused for long."""
    monkeypatch.setattr(table, "MOST_TEMPLATES", 64)
    collector = Collector()
    for i in range(63):
        collector.rows(ipfix(KNOWN, domain=100 + i))
    collector.rows(ipfix(KNOWN, DATA, domain=1))
    assert collector.rejected(1) == {"template that found no room": 1, STILL_WAITING: 1}
    later = NOW_NS + table.UNUSED_NS + 10
    collector.rows(ipfix(DATA, domain=101), at_ns=later)
    assert len(collector.rows(ipfix(KNOWN, DATA, sequence=1), at_ns=later)) == 1
    assert collector.rejected(100) == {"templates forgotten, the longest unused first, for there were too many": 1}


@pytest.mark.parametrize(
    "record",
    [
        struct.pack("!HH", 255, 1) + bytes(4),
        struct.pack("!HH", 256, 9) + bytes(8),
        struct.pack("!HHI", 256, 1, 0x80010004),
        template(256, ((1, 1),) * 1025),
    ],
    ids=["reserved id", "too short", "without its enterprise", "too many fields"],
)
def test_bad_templates(record: bytes) -> None:
    """A template record that cannot be used is counted, and what follows its set is decoded."""
    collector = Collector()
    rows = collector.rows(ipfix(one_set(2, record), one_set(2, template(300, FLOW)), one_set(300, flow())))
    assert len(rows) == 1
    assert sum(collector.rejected().values()) == 1


def test_template_of_empty_records() -> None:
    """Records of no bytes are never ending; their sets are counted and passed over."""
    collector = Collector()
    rows = collector.rows(netflow9(one_set(0, template(256, ((8, 0), (12, 0)))), one_set(256, bytes(40))))
    assert rows == []
    assert collector.rejected() == {"set of records whose template says that they are empty": 1}


def test_restart_goes_on() -> None:
    """Another decoder goes on with the state of the first: templates, sequence numbers, rates."""
    first = Collector()
    options = one_set(3, options_template(300, ((149, 4),), ((34, 4),)))
    first.rows(ipfix(KNOWN, options, one_set(300, struct.pack("!II", 1, 64)), DATA))
    second = Collector()
    second.decoder.restore(json.loads(json.dumps(first.decoder.state())))
    (row,) = second.rows(ipfix(DATA, sequence=2))
    assert (row["bytes"], row["sampling_rate"]) == (1000, 64)
    account = second.account()
    assert (account.records, account.lost, account.templates, account.sampling_rates) == (2, 0, 2, (64,))
    assert second.decoder.state() != first.decoder.state()


@pytest.mark.parametrize("part", ["exporters", "sources", "samplers", "templates", "waiting", "unplaced"])
def test_damaged_state(part: str) -> None:
    """A state that was damaged is refused."""
    collector = Collector()
    collector.rows(ipfix(KNOWN, DATA))
    state = collector.decoder.state()
    del state[part]
    with pytest.raises((ValueError, KeyError, TypeError)):
        Collector().decoder.restore(state)
    with pytest.raises((ValueError, KeyError, TypeError)):
        Collector().decoder.restore(state | {part: "AAAA"})
