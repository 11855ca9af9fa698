"""Grades and sentences."""

from __future__ import annotations

import pytest

from datamodel.reports.findings import Subject
from diagnose.finding_text import finding_id, gbps, listed, percent, severity


@pytest.mark.parametrize(
    ("ratio", "grade"),
    [(1.05, "info"), (1.0999, "info"), (1.10, "warning"), (1.1999, "warning"), (1.20, "critical"), (3.0, "critical")],
)
def test_severity_follows_the_iteration_time(ratio: float, grade: str) -> None:
    """A tenth slower is a warning, a fifth is critical."""
    assert severity(ratio) == grade


def test_what_is_probably_at_none_of_four_places_wakes_nobody_up() -> None:
    """One of eleven is info whatever it costs; one of four, or one that is likely beside many, is graded by cost."""
    assert severity(3.0, [1 / 11] * 11) == "info"
    assert severity(3.0, [0.25] * 4) == "critical"
    assert severity(1.15, [0.6, *[0.04] * 10]) == "warning"


def test_an_id_names_one_finding() -> None:
    """The same finding gets the same id; another start, subject, kind or job gets another."""
    same = finding_id("j", "hang", ("a", "b"), 5)
    assert same == finding_id("j", "hang", ("a", "b"), 5)
    others = [("k", "hang", ("a", "b"), 5), ("j", "stall", ("a", "b"), 5), ("j", "hang", ("a",), 5)]
    assert same not in {finding_id(*other) for other in [*others, ("j", "hang", ("a", "b"), 6)]}


def test_parallel_links_between_two_switches_have_ids_of_their_own() -> None:
    """They differ in their ports only; a link whose ports are unknown is known by its ends."""
    first, second, either = (Subject(type="link", ids=("a", "b"), a_port=port) for port in (1, 2, None))
    assert len({finding_id("j", "slow_uplink", one.identity, 5) for one in (first, second, either)}) == 3
    assert either.identity == ("a", "b")


def test_sentences_are_short() -> None:
    """Long lists are cut and counted, ratios are percents, rates get the unit that fits."""
    assert listed(("a", "b")) == "a, b"
    assert listed(("a", "b", "c", "d", "e", "f")) == "a, b, c, d and 2 more"
    assert percent(1.54) == "54 %"
    assert (gbps(12.34e9), gbps(250e6)) == ("12.34 Gbit/s", "250 Mbit/s")
