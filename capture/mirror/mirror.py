"""Mirrored packets to flow records: keeps the tables of `capture.mirror.packet_tracker` and turns them into `Flows`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.ingest_log import IngestLog
from capture.mirror.flow_eviction import evict_flows, release_rows
from capture.mirror.flow_table import EXPORTER_ENTRY, FLOW, NONE, ROW, Slots, Table, rehash
from capture.mirror.packet_tracker import (
    COUNTS,
    DUPLICATES,
    FIRST_REASON,
    FLOWS,
    FRAGMENTS,
    HEADERS_CUT,
    NEW_FLOWS_A_PACKET,
    NEW_ROWS_A_PACKET,
    PACKETS,
    RECENT,
    RESTARTS,
    ROWS,
    track_packets,
)
from capture.packets.packet_columns import REASONS, Packets
from capture.tables.addresses import from_words
from datamodel.frame import Array, Frame
from datamodel.telemetry import flows as columns
from datamodel.telemetry.flows import Flows, recode

RECENT_PACKETS = 1 << 14
SETTLED_NS = 1_000_000_000  # ten times the longest record; acknowledgements take milliseconds
IDLE_NS = 600 * 1_000_000_000  # a checkpoint or an evaluation is no end of a flow
FEW_FLOWS = 1 << 12

_DOUBTS = {
    FRAGMENTS: "IP fragments count under port 0, for only the first of a datagram names its ports",
    HEADERS_CUT: "RoCE packets were cut off before their RETH or AETH; message sizes are incomplete",
    RESTARTS: "sequence numbers restarted: several connections used the same ports or queue pair",
}


class Mirror:
    """Follows the packets of one mirror. Memory: about 300 bytes a flow and 120 a record, whatever the packets."""

    def __init__(self) -> None:
        self._flows: Table = np.empty(0, FLOW)
        self._rows: Table = np.empty(0, ROW)
        self._slots: Slots = np.empty(0, np.int32)
        self._recent: Table = np.zeros(RECENT_PACKETS, RECENT)
        self._recent["what"] = NONE
        self._counts = np.zeros(COUNTS, np.int64)
        self._last_ns = np.zeros(0, np.int64)  # per entry of the flow table, as of the last `take`

    def __len__(self) -> int:
        """Flow records not taken so far."""
        return int(self._counts[ROWS])

    @property
    def packets(self) -> int:
        """Packets that count in records, each once."""
        return int(self._counts[PACKETS])

    @property
    def exporters(self) -> tuple[str, ...]:
        """Addresses of the exporters seen, also of those that showed nothing but duplicates; sorted."""
        table = self._flows[: self._counts[FLOWS]]
        entries = table[table["ports"] == EXPORTER_ENTRY]
        return tuple(sorted(from_words(int(entry["src_high"]), int(entry["src_low"])) for entry in entries))

    def feed(self, packets: Packets) -> None:
        """Take in a batch of packets, in the order they were captured."""
        self._make_room(len(packets))
        track_packets(packets, self._flows, self._slots, self._rows, self._recent, self._counts)

    def _make_room(self, packets: int) -> None:
        flows_used, rows_used = int(self._counts[FLOWS]), int(self._counts[ROWS])
        self._flows = _enlarged(self._flows, flows_used, NEW_FLOWS_A_PACKET * packets)
        self._rows = _enlarged(self._rows, rows_used, NEW_ROWS_A_PACKET * packets)
        if len(self._slots) < 2 * (flows_used + NEW_FLOWS_A_PACKET * packets):
            self._slots = np.full(1 << (2 * len(self._flows)).bit_length(), NONE, np.int32)
            rehash(self._flows, flows_used, self._slots)

    def account(self, ingest_log: IngestLog) -> None:
        """Report what was rejected or guessed to `ingest_log`."""
        for reason, text in enumerate(REASONS):
            ingest_log.reject(text, int(self._counts[FIRST_REASON + reason]))
        ingest_log.reject("duplicate packets (seen at several places)", int(self._counts[DUPLICATES]))
        for place, text in _DOUBTS.items():
            if self._counts[place]:
                ingest_log.warn(f"{self._counts[place]} {text}")

    def flows(self) -> Flows:
        """The flow records not taken so far, in the order of their first packets."""
        return self._records(self._rows[: self._counts[ROWS]])

    def take(self, before_ns: int) -> Flows:
        """The flow records that ended before `before_ns`, which are then forgotten; for mirrors that never end.

        What was taken, piece by piece, are the same records as all at once would have been, provided that `before_ns`
        lies SETTLED_NS behind the newest packet fed; only acknowledgements that come later than that are missed. Flows
        that were silent for IDLE_NS are forgotten too, once they are most of what is remembered.
        """
        rows, used = self._rows[: self._counts[ROWS]], int(self._counts[FLOWS])
        taken = self._records(rows[rows["end_ns"] < before_ns])
        last_ns = np.zeros(used, np.int64)
        last_ns[: len(self._last_ns)] = self._last_ns
        np.maximum.at(last_ns, rows["flow"], rows["end_ns"])
        self._last_ns = last_ns
        places = np.empty(len(rows), np.int32)
        self._counts[ROWS] = release_rows(self._flows, used, self._rows, len(rows), before_ns, places)
        self._forget(last_ns >= before_ns - IDLE_NS)
        return taken

    def _forget(self, keep: npt.NDArray[np.bool_]) -> None:
        """Forget all flows but those to keep, if they are so few that it is worth the while."""
        if 2 * np.count_nonzero(keep) >= len(keep) or len(keep) < FEW_FLOWS:
            return
        places = np.empty(len(keep), np.int32)
        left = evict_flows(self._flows, len(keep), keep.astype(np.int32), places)
        self._counts[FLOWS] = left
        self._last_ns = self._last_ns[places >= 0]
        self._slots[:] = NONE
        rehash(self._flows, left, self._slots)
        rows = self._rows[: self._counts[ROWS]]
        for column in ("flow", "sampler"):
            rows[column] = np.where(rows[column] >= 0, places[rows[column]], NONE)
        # These name flows by their places. Without them, a packet whose two observations lie before and after this very
        # moment counts twice.
        self._recent["what"] = NONE

    def _records(self, rows: Table) -> Flows:
        table = self._flows[: self._counts[FLOWS]]
        sources, destinations, book = _address_codes(table)
        flow = table[rows["flow"]]
        ports = flow["ports"]
        sampler = np.where(rows["sampler"] >= 0, sources[rows["sampler"]] if len(sources) else NONE, NONE)
        frame = Frame(
            columns.FLOWS,
            {
                "time_received_ns": rows["end_ns"],
                "time_flow_start_ns": rows["start_ns"],
                "time_flow_end_ns": rows["end_ns"],
                "sampler_address": sampler,
                "observation_domain_id": rows["session"],
                "src_addr": sources[rows["flow"]],
                "dst_addr": destinations[rows["flow"]],
                "src_port": flow["src_port"],
                "dst_port": ports & 0xFFFF,
                "proto": ports >> 32 & 0xFF,
                "bytes": rows["bytes"],
                "packets": rows["packets"],
                "ip_tos": rows["tos"],
                "tcp_flags": rows["tcp_flags"],
                "src_qp": _source_queue_pairs(table)[rows["flow"]],
                "dst_qp": _queue_pairs(flow),
                "network": flow["queue_pair"] >> 32,
                "psn_first": rows["psn_first"],
                "psn_last": rows["psn_last"],
                "roce_opcode_first": rows["opcode_first"],
                "roce_opcode_last": rows["opcode_last"],
                "message_bytes": rows["message_bytes"],
                "ecn_ce_packets": rows["ecn_ce"],
                "cnp_packets": rows["cnp"],
                "nak_packets": rows["nak"],
                "retransmitted_packets": rows["retransmitted"],
                "trimmed_packets": rows["trimmed"],
                "payload_bytes": rows["payload_bytes"],
                "time_acknowledged_ns": rows["acknowledged_ns"],
            },
        )
        return recode(frame, book)


def _enlarged(table: Table, used: int, more: int) -> Table:
    """`table` with room for `more` rows behind the `used` ones."""
    if used + more <= len(table):
        return table
    larger = np.empty(max(2 * len(table), used + more), table.dtype)
    larger[:used] = table[:used]
    return larger


def _address_codes(table: Table) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], tuple[str, ...]]:
    """Per entry of the flow table the codes of its source and destination, and the text of every code."""
    words = np.concatenate([np.stack([table[f"{side}_high"], table[f"{side}_low"]], axis=1) for side in ("src", "dst")])
    book, code = np.unique(words, axis=0, return_inverse=True)
    codes = code.reshape(2, len(table)).astype(np.int32)
    return codes[0], codes[1], tuple(from_words(int(high), int(low)) for high, low in book)


def _source_queue_pairs(table: Table) -> Array:
    """Per entry of the flow table its sender's queue pair, where responses were matched to requests; else -1."""
    known = table["partner"] >= 0
    return np.where(known, _queue_pairs(table)[np.where(known, table["partner"], 0)], NONE)


def _queue_pairs(table: Table) -> Array:
    """Queue pair of each entry of the flow table; -1 where there is none."""
    return table["queue_pair"].astype(np.int32).astype(np.int64)
