"""Times as collectors print them."""

import pyarrow as pa
import pytest

from capture.dialects.time_text import times

SECOND = 1_795_188_348  # 2026-11-20 15:25:48 UTC


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2026-11-20 15:25:48", SECOND * 10**9),
        (" 2026-11-20 15:25:48.391 ", SECOND * 10**9 + 391_000_000),
        ("2026-11-20T15:25:48.391000001Z", SECOND * 10**9 + 391_000_001),
        ("2026-11-20T16:25:48.5+01:00", SECOND * 10**9 + 500_000_000),
        ("2026-11-20T09:55:48-0530", SECOND * 10**9),
        ("1795188348", SECOND * 10**9),
        ("1795188348.407000", SECOND * 10**9 + 407_000_000),
        ("1795188348391", SECOND * 10**9 + 391_000_000),
        ("1795188348391002", SECOND * 10**9 + 391_002_000),
        ("1795188348391002003", SECOND * 10**9 + 391_002_003),
    ],
)
def test_forms_of_a_time(text: str, ns: int) -> None:
    """Dates, seconds with a fraction, and whole numbers of any unit give the same moment."""
    found = times(pa.array([text, None]))
    assert (found.ns.tolist(), found.known.tolist()) == ([ns, 0], [True, False])


@pytest.mark.parametrize(
    "text",
    ["0000-00-00 00:00:00.000000", "2026-02-31 00:00:00", "2026-11-20", "yesterday", "", "-5", "0",
     "99999999999999999999", "9999999999999999999", "2026-11-20 15:25:48 +1", "2026-11-20 25:00:00",
     "9999-01-01 00:00:00"],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    """Zero dates, dates that no calendar has and whatever else are not known, and raise nothing."""
    found = times(pa.array([text, "1795188348"]))
    assert (found.known.tolist(), found.ns[0]) == ([False, True], 0)


def test_zone_and_granularity_are_told() -> None:
    """A date without a zone is marked, and so is a time without anything finer than seconds."""
    found = times(pa.array(["2026-11-20 15:25:48", "2026-11-20 15:25:48.1Z", "1795188348", "1795188348.5"]))
    assert found.zoneless.tolist() == [True, False, False, False]
    assert found.whole_seconds.tolist() == [True, False, True, False]


def test_numbers_are_times_too() -> None:
    """A column of whole numbers is read like their texts."""
    assert times(pa.array([SECOND, SECOND * 1000], pa.int64())).ns.tolist() == [SECOND * 10**9] * 2
