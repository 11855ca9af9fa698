"""What is said of an input, also where there is very much to say."""

from __future__ import annotations

from capture.ingest_log import IngestLog
from tests.effort import processor_s


def test_each_warning_is_said_once_however_many_there_are() -> None:
    """A hundred thousand exporters with a doubt each take well below a second."""
    ingest_log = IngestLog()

    def warn() -> None:
        for n in range(200_000):
            ingest_log.warn(f"exporter {n % 100_000}: doubtful")

    assert processor_s(warn) < 5
    assert len(ingest_log.warnings) == 100_000
    assert ingest_log.warnings[:2] == ["exporter 0: doubtful", "exporter 1: doubtful"]
