"""What a decoder says of its exporters, as often as it can be afforded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from capture.ingest_log import IngestLog
from flowprism.collector.decoder_interface import Decoder
from flowprism.collector.exporter_clocks import ExporterClocks

MOST_EXPORTERS_REPORTED = 1000  # by name, those with most records first; all are in the sums
_MOST_WARNINGS = 100
_AFFORDABLE_RATIO = 0.05  # of the decoder's time


class StatsCache:
    """The account of a decoder's exporters and rejects, refreshed only when that costs little of the time.

    A thousand exporters take 0.2 s to report, however many there are (real or spoofed).

    Attributes:
        rejected: what was left out since the beginning of the session, by reason, as of the last account.
        latest: the last account, JSON-able.
    """

    def __init__(self, decoder: Decoder, rejected: Mapping[str, int], clocks: ExporterClocks | None = None) -> None:
        """Begin.

        Args:
            decoder: whose account this is; its state is restored already.
            rejected: what the session had left out until then.
            clocks: of the exporters, where they are corrected.
        """
        self._decoder, self._clocks = decoder, clocks
        self._base = Counter(rejected)
        self._restored = Counter(_account(decoder).rejected)
        self._next = 0.0
        self.rejected: dict[str, int] = dict(rejected)
        self.latest: dict[str, Any] = {}

    def refresh(self, *, force: bool = False) -> bool:
        """Refresh the account if it is cheap enough or forced; returns whether it was."""
        before = time.monotonic()
        if before < self._next and not force:
            return False
        ingest_log = _account(self._decoder)
        now = self._base + (Counter(ingest_log.rejected) - self._restored)
        self.rejected = dict(sorted(now.items()))
        exporters = self._decoder.exporters(MOST_EXPORTERS_REPORTED)
        clocks = self._clocks.warnings() if self._clocks else []
        first = sorted(exporters, key=lambda e: (-e.records, e.protocol, e.agent, e.domain))[:MOST_EXPORTERS_REPORTED]
        self.latest = {
            "exporters_known": self._decoder.exporters_known,
            "exporters": [asdict(exporter) for exporter in first],
            "lost": self._decoder.lost(),
            "rejected": self.rejected,
            "warnings": [*clocks, *ingest_log.warnings][:_MOST_WARNINGS],
        }
        after = time.monotonic()
        self._next = after + max(1.0, (after - before) / _AFFORDABLE_RATIO)
        return True


def _account(decoder: Decoder) -> IngestLog:
    ingest_log = IngestLog()
    decoder.account(ingest_log)
    return ingest_log
