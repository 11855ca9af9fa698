"""The datagrams that decoders are warmed up with are good ones."""

from __future__ import annotations

from capture.export_decoder import Exports
from capture.ingest_log import Ledger
from flowprism.collector.warmup import warm_up


def test_every_protocol_is_decoded() -> None:
    """Each protocol gives a record; nothing is rejected but the one datagram that is no export."""
    exports = Exports()
    warm_up(exports)
    ledger = Ledger()
    exports.account(ledger)
    assert {(exporter.protocol, exporter.records) for exporter in exports.exporters()} == {
        ("sFlow v5", 1), ("NetFlow v5", 1), ("NetFlow v9", 1), ("IPFIX", 1),
    }  # fmt: skip
    assert sum(ledger.rejected.values()) == 1
