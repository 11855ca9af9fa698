"""The datagrams that decoders are warmed up with are good ones."""

from __future__ import annotations

from capture.export_decoder import ExportDecoder
from capture.ingest_log import IngestLog
from flowprism.collector.warmup import warm_up


def test_every_protocol_is_decoded() -> None:
    """Each protocol gives a record; nothing is rejected but the one datagram that is no export."""
    exports = ExportDecoder()
    warm_up(exports)
    ingest_log = IngestLog()
    exports.account(ingest_log)
    assert {(exporter.protocol, exporter.records) for exporter in exports.exporters()} == {
        ("sFlow v5", 1), ("NetFlow v5", 1), ("NetFlow v9", 1), ("IPFIX", 1),
    }  # fmt: skip
    assert sum(ingest_log.rejected.values()) == 1
