"""docs/first-cluster.md: its sums are right, and its links lead somewhere."""

from __future__ import annotations

import re

import pytest

from tests.house.checkout import ROOT, rows

PAGE = "docs/first-cluster.md"
PORTS, DATAGRAM_BYTES, SAMPLES, BUSY, DAY_S = 64 * 64, 1300, 6, 5, 86_400
FULL_PORT = 400e9 / 8 / 4200  # packets a second


@pytest.mark.parametrize(("column", "rate"), [(1, 16_384), (2, 65_536)])
def test_the_sums_are_right(column: int, rate: int) -> None:
    """Each row follows from the ones above it and from what other pages measured."""
    said = [row[column].replace(",", "") for row in rows(PAGE, "1. Choose the rate")]
    port = round(FULL_PORT / rate)
    usual = PORTS * port / BUSY
    records = usual * DAY_S
    assert said[:4] == [str(port), str(PORTS), str(PORTS * port), str(round(usual))]
    assert said[4:7] == [
        str(round(usual / SAMPLES)), str(round(usual / SAMPLES * DATAGRAM_BYTES * 8 / 1e6)), f"{records / 1e9:.1f}",
    ]  # fmt: skip
    assert said[7] == f"{records * 6 / 1e9:.0f} to {records * 11 / 1e9:.0f}"


def test_every_claim_leads_to_where_it_is_measured() -> None:
    """Pages and their headings exist."""
    for page, heading in re.findall(r"\]\(([a-z-]+\.md)#?([\w-]*)\)", (ROOT / PAGE).read_text()):
        text = (ROOT / "docs" / page).read_text()
        known = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()
                 if line.startswith("#")}  # fmt: skip
        assert not heading or heading in known, f"{page}#{heading}"
