"""The sampling rate of a record: from itself, from options, from the header, from the operator."""

import struct
from ipaddress import ip_address

import pytest

from capture.sampling import SamplingRates
from tests.capture.netflow.sender import (
    FLOW,
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

ENDS = ip_address("10.0.0.1").packed + ip_address("10.0.0.2").packed
KNOWN, DATA = one_set(2, template(256, FLOW)), one_set(256, flow())
BY_SAMPLER = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), (302, 4))))
OPTIONS = one_set(3, options_template(300, ((302, 4),), ((34, 4),)))


def told(*samplers: tuple[int, int]) -> bytes:
    """Options data of samplers and their rates."""
    return one_set(300, *[struct.pack("!II", *sampler) for sampler in samplers])


def by_sampler(*samplers: int) -> bytes:
    """Data records that name their samplers."""
    return one_set(256, *[ENDS + struct.pack("!BI", 1, sampler) for sampler in samplers])


@pytest.mark.parametrize(
    ("fields", "values", "expected"),
    [
        (((34, 4),), (100,), 100),
        (((50, 4),), (200,), 200),
        (((305, 4), (306, 4)), (1, 999), 1000),
        (((305, 4), (306, 4)), (10, 90), 10),
        (((305, 4),), (512,), 512),
        (((309, 4), (310, 4)), (1, 256), 256),
        (((305, 4), (309, 4), (310, 4)), (1, 1, 256), 256),
        (((34, 4),), (0,), 0),
    ],
)
def test_told_by_records(fields: tuple[Field, ...], values: tuple[int, ...], expected: int) -> None:
    """samplingInterval, samplerRandomInterval, packet interval and space, size and population."""
    collector = Collector()
    known = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), *fields)))
    (row,) = collector.rows(ipfix(known, one_set(256, ENDS + b"\x01" + struct.pack(f"!{len(values)}I", *values))))
    assert row["sampling_rate"] == expected
    assert collector.account().sampling_rates == (expected,)


def test_told_for_samplers() -> None:
    """Each record has the rate of the sampler it names; one that was never told is unknown, and that is said."""
    collector = Collector()
    rows = collector.rows(ipfix(BY_SAMPLER, OPTIONS, told((1, 10), (2, 20)), by_sampler(2, 1, 1, 3)))
    assert [row["sampling_rate"] for row in rows] == [20, 10, 10, 0]
    assert any("1 records come without a sampling rate" in text for text in collector.account().warnings)


def test_the_only_sampler() -> None:
    """Records that name none have the rate of the only one; with two different ones it is unknown."""
    collector = Collector()
    collector.rows(ipfix(KNOWN, OPTIONS, told((1, 64))))
    assert [row["sampling_rate"] for row in collector.rows(ipfix(DATA, sequence=1))] == [64]
    collector.rows(ipfix(told((2, 64)), sequence=2))
    assert [row["sampling_rate"] for row in collector.rows(ipfix(DATA, sequence=3))] == [64]
    collector.rows(ipfix(told((2, 65)), sequence=4))
    assert [row["sampling_rate"] for row in collector.rows(ipfix(DATA, sequence=5))] == [0]


def test_a_sampler_changes_its_rate() -> None:
    """What is told last holds, from there on."""
    collector = Collector()
    rows = collector.rows(ipfix(KNOWN, OPTIONS, told((1, 64)), DATA, told((1, 128)), DATA))
    assert [row["sampling_rate"] for row in rows] == [64, 128]


def test_options_of_another_domain() -> None:
    """Options that come under another domain of the same address count; those of another address do not."""
    collector = Collector()
    collector.rows(ipfix(OPTIONS, told((1, 64)), domain=99))
    (row,) = collector.rows(ipfix(KNOWN, DATA))
    assert row["sampling_rate"] == 64
    (row,) = collector.rows(ipfix(KNOWN, DATA), source="192.0.2.7")
    assert row["sampling_rate"] == 0


def test_netflow9_options() -> None:
    """A v9 options template, whose scope types are numbers of their own."""
    collector = Collector()
    options = one_set(1, options_template_9(257, ((1, 4),), ((48, 1), (49, 1), (50, 4))), padding=2)
    collector.rows(netflow9(options, one_set(257, struct.pack("!IBBI", 9, 3, 2, 400))))
    fields: tuple[Field, ...] = ((8, 4), (12, 4), (1, 1), (48, 1))
    known = one_set(0, template(256, fields))
    (row,) = collector.rows(netflow9(known, one_set(256, ENDS + b"\x01\x03"), sequence=1))
    assert row["sampling_rate"] == 400


def test_configured_rate_wins() -> None:
    """The operator's rate replaces a told one, with a warning, and fills in an unknown one."""
    collector = Collector(SamplingRates({"192.0.2.1": 500}))
    collector.rows(ipfix(KNOWN, OPTIONS, told((1, 64)), DATA))
    assert any("believed" in text and "configured" in text for text in collector.account().warnings)
    (row,) = collector.rows(ipfix(DATA, sequence=2))
    assert row["sampling_rate"] == 500
    collector = Collector(SamplingRates(otherwise=700))
    (row,) = collector.rows(ipfix(KNOWN, DATA))
    assert row["sampling_rate"] == 700


def test_records_and_options_disagree() -> None:
    """The record is believed, and the disagreement is told."""
    collector = Collector()
    known = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), (34, 4))))
    data = one_set(256, ENDS + struct.pack("!BI", 1, 30))
    (row,) = collector.rows(ipfix(known, OPTIONS, told((1, 64)), data))
    assert row["sampling_rate"] == 30
    assert any("another sampling rate than the options" in text for text in collector.account().warnings)


def test_samplers_of_an_exporter_are_bounded() -> None:
    """One that tells samplers without end fills its own share, and the rest is counted."""
    collector = Collector()
    collector.rows(ipfix(OPTIONS))
    for i in range(3):
        collector.rows(ipfix(told(*[(200 * i + k + 1, 10) for k in range(200)]), sequence=200 * i))
    assert collector.rejected()["samplers of one exporter too many"] == 600 - 256
