"""What export datagrams say, record by record and untouched, whatever their protocol."""

from __future__ import annotations

from collections.abc import Iterator

from capture.addresses import from_words
from capture.datagram import NO_EXPORT, SFLOW5, Datagrams
from capture.netflow import describe as netflow
from capture.sflow import describe as sflow


class WireRecords:
    """Tells datagrams in order of arrival; templates announced in one serve those that follow."""

    def __init__(self) -> None:
        self._templates = netflow.WireTemplates()

    def of(self, batch: Datagrams) -> Iterator[dict[str, object]]:
        """The records of a batch: one dict each, fields by their standard names; "error" says where reading stopped."""
        for row in batch.index:
            payload = batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes()
            if row["protocol"] == SFLOW5:
                yield from sflow.describe(payload)
            elif row["protocol"] != NO_EXPORT:
                source = from_words(int(row["source_high"]), int(row["source_low"]))
                yield from netflow.describe(payload, self._templates, source, int(row["source_port"]))
