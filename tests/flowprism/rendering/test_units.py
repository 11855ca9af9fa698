"""Numbers as people read them."""

from __future__ import annotations

import pytest

from flowprism.rendering import units


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (4.2e-8, "42.0 ns"),
        (0.0000321, "32.1 µs"),
        (0.153, "153 ms"),
        (0.9999, "1.00 s"),
        (1.0249, "1.02 s"),
        (61.07, "61.1 s"),
        (245, "4 min 05 s"),
        (7_800, "2 h 10 min"),
        (float("nan"), "unknown"),
        (float("inf"), "∞"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Three digits in the unit that fits."""
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (9.996, "10.0"),
        (153.4, "153"),
        (99.96, "100"),
        (12_345.6, "12346"),
        (-1.5, "-1.50"),
    ],
)
def test_significant_digits(value: float, text: str) -> None:
    """Never an exponent, and rounding up does not add a digit."""
    assert units.significant(value) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (512, "512 B"), (999.7, "1.00 kB"), (1_530_000_000, "1.53 GB"), (2e18, "2000 PB")]
)
def test_volumes(count: float, text: str) -> None:
    """Decimal multiples, as exporters and links count."""
    assert units.volume(count) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(0, "0 %"), (0.003, "0.3 %"), (0.0994, "9.9 %"), (0.0999, "10 %"), (1.2, "120 %")]
)
def test_shares(ratio: float, text: str) -> None:
    """A digit after the point only below ten per cent."""
    assert units.share(ratio) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (62e6, "bit/s", "62.0 Mbit/s"),
        (62e6, "bps", "62.0 Mbit/s"),
        (153e6, "ns", "153 ms"),
        (0.92, "s", "920 ms"),
        (1.5, "ratio", "1.50"),
        (12, "packets", "12.0 packets"),
    ],
)
def test_measured_values_carry_their_unit(value: float, unit: str, text: str) -> None:
    """Evidence states what it measured in a readable multiple."""
    assert units.measured(value, unit) == text


def test_times_are_utc() -> None:
    """To the millisecond, whatever the machine's time zone, cut and not rounded into the next second."""
    assert units.utc(1_795_188_044_951_999_999) == "2026-11-20 15:20:44.951"


def test_plurals() -> None:
    """Of what a fabric consists of, too."""
    said = [units.plural(2, noun) for noun in ("host", "leaf", "switch")]
    assert said == ["2 hosts", "2 leaves", "2 switches"]
    assert units.plural(1, "leaf") == "1 leaf"
