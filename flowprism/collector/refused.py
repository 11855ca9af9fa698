"""Sources that were not let in, as the receivers counted them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from capture.receive.ring_header import Header
from capture.tables.addresses import from_words

OTHERS = "others"  # sources beyond those counted separately


def refused_sources(headers: Iterable[Header]) -> dict[str, int]:
    """Refused datagrams by source address, most first."""
    counts = Counter[str]()
    for header in headers:
        for entry in header["refused_sources"]:
            if entry["datagrams"]:
                counts[from_words(int(entry["high"]), int(entry["low"]))] += int(entry["datagrams"])
        if header["refused_elsewhere"]:
            counts[OTHERS] += int(header["refused_elsewhere"])
    return dict(counts.most_common())
