"""What export datagrams say, record by record and untouched, whatever their protocol."""

from __future__ import annotations

from collections.abc import Iterator

from capture.exporters.datagram import NO_EXPORT, PROTOCOLS, SFLOW5, Datagrams
from capture.netflow import describe as netflow
from capture.sflow import describe as sflow
from capture.tables.addresses import from_words


class WireRecords:
    """Describes datagrams in order of arrival; templates announced in one serve those that follow."""

    def __init__(self) -> None:
        self._templates = netflow.WireTemplates()

    def of(self, batch: Datagrams) -> Iterator[dict[str, object]]:
        """The records of a batch: one dict each, fields by their standard names; "error" says where reading stopped."""
        for row in batch.index:
            payload = batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes()
            source = from_words(int(row["source_high"]), int(row["source_low"]))
            if row["protocol"] == SFLOW5:
                yield from sflow.describe(payload)
            elif row["protocol"] != NO_EXPORT:
                yield from netflow.describe(payload, self._templates, source, int(row["source_port"]))
            if row["cut"]:
                protocol = PROTOCOLS[row["protocol"]]
                error = f"cut by the capture, which holds {len(payload)} bytes of this datagram"
                yield {"protocol": protocol, "exporter": source, "error": error}
