"""The sampling rate of a record: from itself, from options, from the header, from the operator."""

import math
import struct
from ipaddress import ip_address

import pytest

from capture.configured_rates import SamplingRates
from tests.capture.netflow.sender import (
    FLOW,
    VARIABLE,
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
        (((310, 4),), (64,), 64),
        (((34, 4),), (0,), 0),
        (((34, 4), (305, 4), (306, 4)), (0, 1, 7), 8),
        (((305, 4), (306, 4), (309, 4), (310, 4)), (0, 0, 1, 128), 128),
        (((309, 4), (310, 4)), (5, 4), 0),
    ],
)
def test_told_by_records(fields: tuple[Field, ...], values: tuple[int, ...], expected: int) -> None:
    """samplingInterval, samplerRandomInterval, packet interval and space, size and population, whichever is filled."""
    collector = Collector()
    known = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), *fields)))
    (row,) = collector.rows(ipfix(known, one_set(256, ENDS + b"\x01" + struct.pack(f"!{len(values)}I", *values))))
    assert row["sampling_rate"] == expected
    assert collector.account().sampling_rates == (expected,)


@pytest.mark.parametrize(
    ("form", "probability", "expected"),
    [
        ("!d", 1.0, 1),
        ("!d", 1 / 4096, 4096),
        ("!d", 1 / 1000, 1000),
        ("!f", 1 / 1000, 1000),
        ("!f", 1 / 3_000_000, 3_000_000),
        ("!d", 2.0**-41, 0),
        ("!d", 0.0, 0),
        ("!d", -0.5, 0),
        ("!f", -0.5, 0),
        ("!d", 1.5, 0),
        ("!d", math.nan, 0),
        ("!f", math.inf, 0),
        ("!d", 5e-324, 0),
    ],
)
@pytest.mark.parametrize("variable", [False, True])
def test_told_as_a_probability(form: str, probability: float, expected: int, variable: bool) -> None:
    """SamplingProbability (RFC 5477), 64 bits or shortened to 32, is the reciprocal of the rate, if it can be one."""
    collector = Collector()
    value = struct.pack(form, probability)
    tail: tuple[Field, ...] = ((82, VARIABLE),) if variable else ()
    known = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), (311, len(value)), *tail)))
    (row,) = collector.rows(ipfix(known, one_set(256, ENDS + b"\x01" + value + (b"\x02ab" if variable else b""))))
    assert row["sampling_rate"] == expected
    assert not any("whole number" in text for text in collector.account().warnings)


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [
        (((305, 4), (306, 4)), struct.pack("!II", 2, 1), 2),
        (((305, 4), (306, 4)), struct.pack("!II", 4, 5), 2),
        (((309, 4), (310, 4)), struct.pack("!II", 3, 1000), 333),
        (((311, 8),), struct.pack("!d", 0.3), 3),
    ],
)
def test_rounded_rates_are_told(fields: tuple[Field, ...], value: bytes, expected: int) -> None:
    """Where N of one in N is no whole number the nearest stands for it, and a warning says so."""
    collector = Collector()
    known = one_set(3, options_template(300, ((149, 4),), fields))
    collector.rows(ipfix(known, one_set(300, struct.pack("!I", 1) + value)))
    (row,) = collector.rows(ipfix(KNOWN, DATA, sequence=1))
    assert row["sampling_rate"] == expected
    assert any("1 records give a sampling rate of one in no whole number" in t for t in collector.account().warnings)


@pytest.mark.parametrize(
    ("algorithm", "warned"), [(0, False), (1, False), (2, True), (3, False), (4, False), (8, True)]
)
def test_selectors_that_are_no_samplers(algorithm: int, warned: bool) -> None:
    """Options of a selector that goes by time or by content are warned of: no rate makes up for what it leaves out."""
    collector = Collector()
    known = one_set(3, options_template(300, ((302, 4),), ((304, 2), (307, 4), (308, 4))))
    collector.rows(ipfix(known, one_set(300, struct.pack("!IHII", 1, algorithm, 1000, 9000))))
    (row,) = collector.rows(ipfix(KNOWN, DATA, sequence=1))
    assert row["sampling_rate"] == 0
    assert any("goes by time or content" in text for text in collector.account().warnings) == warned


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
    assert any("the configured one is used" in text for text in collector.account().warnings)
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
