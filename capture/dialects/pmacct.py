"""pmacct's JSON (print and Kafka plugins) as columns of `FLOWS`.

pmacct writes one row for each combination of its configured aggregation keys. Keys: CONFIG-KEYS and src/pmacct-data.h
of pmacct 1.7.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from capture.dialects.dialect import RecordDialect, dates_only, numbers, text_column
from capture.dialects.time_text import Times, times

# Columns that only change their name.
_RENAMED = {
    "peer_ip_src": "sampler_address",
    "ip_src": "src_addr",
    "ip_dst": "dst_addr",
    "port_src": "src_port",
    "port_dst": "dst_port",
    "ip_proto": "proto",
    "tos": "ip_tos",
    "tcp_flags": "tcp_flags",
    "iface_in": "in_if",
    "iface_out": "out_if",
    "bytes": "bytes",
    "packets": "packets",
}
_STARTS = ("timestamp_start", "timestamp_arrival", "stamp_inserted")
_OTHERS = ("timestamp_end", "stamp_updated", "sampling_rate", "event_type")


def _translate(table: pa.Table, doubts: Counter[str]) -> pa.Table:
    table = table.filter(pc.fill_null(pc.is_in(text_column(table, "event_type"), pa.array(["purge"])), True))
    columns = {ours: text_column(table, theirs) for theirs, ours in _RENAMED.items() if theirs in table.column_names}
    return pa.table(columns | _times(table, doubts) | _rates(table, doubts))


def _times(table: pa.Table, doubts: Counter[str]) -> dict[str, pa.Array]:
    """When rows start, end and arrive: the exporter's times; where it gave none, arrival; else pmacct's time bins."""
    read = {name: dates_only(times(text_column(table, name))) for name in (*_STARTS, *_OTHERS[:2])}
    start, end = read["timestamp_start"], read["timestamp_end"]
    arrival, bin_start, bin_end = read["timestamp_arrival"], read["stamp_inserted"], read["stamp_updated"]
    by_arrival = ~start.known & arrival.known
    by_bin = ~start.known & ~arrival.known & bin_start.known
    doubts["have no time of the exporter; taken as moments at their arrival"] += int(by_arrival.sum())
    doubts["have only pmacct's time bins (stamp_inserted, stamp_updated)"] += int(by_bin.sum())
    doubts["start but have no end; taken as moments"] += int((start.known & ~end.known).sum())
    first = np.select([start.known, by_arrival, by_bin], [start.ns, arrival.ns, bin_start.ns], 0)
    last = np.select([start.known & end.known, by_bin & bin_end.known], [end.ns, bin_end.ns], first)
    known = start.known | by_arrival | by_bin
    _doubt_zones(tuple(read.values()), doubts)
    return {
        "time_flow_start_ns": numbers(first, known),
        "time_flow_end_ns": numbers(last, known),
        "time_received_ns": numbers(np.where(arrival.known, arrival.ns, last), known),
    }


def _doubt_zones(columns: tuple[Times, ...], doubts: Counter[str]) -> None:
    zoneless = np.logical_or.reduce([column.zoneless for column in columns])
    doubts["have times without a zone; taken as UTC (pmacct: timestamps_utc, timestamps_rfc3339)"] += int(
        zoneless.sum()
    )


def _rates(table: pa.Table, doubts: Counter[str]) -> dict[str, pa.Array]:
    """Sampling rates. pmacct writes 1 for what it scaled itself and for what was not sampled, 0 for what it knows not.

    Both kinds of 1 hold the true volume, hence count as scaled by the sender.
    """
    text = text_column(table, "sampling_rate")
    one = np.asarray(pc.fill_null(pc.equal(text, "1"), False).to_numpy(zero_copy_only=False), np.bool_)
    doubts["have sampling_rate 1: not sampled, or scaled by pmacct; taken as scaled"] += int(one.sum())
    doubts["have no sampling_rate; taken as unknown"] += int(text.null_count)
    return {"sampling_rate": pc.fill_null(text, "0"), "prescaled": pa.array(one)}


PMACCT = RecordDialect(
    name="pmacct JSON",
    signature=(frozenset({"ip_src", "ip_dst"}),),
    columns=frozenset({*_RENAMED, *_STARTS, *_OTHERS}),
    required=(("ip_src",), ("ip_dst",), ("bytes",), _STARTS),
    translate=_translate,
)
