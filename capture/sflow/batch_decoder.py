"""One pass over a batch of sFlow datagrams: samples to flow records, counters and drops under construction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import SFLOW5, Index
from capture.exporters.exporter_table import (
    MOST_EXPORTERS,
    REFUSED,
    Exporter,
    Table,
    digest,
    exporter_of,
    is_copy,
    may_forget,
    track_sequence,
    uptime_fell,
)
from capture.exporters.sequence_runs import IN_ORDER
from capture.jit import jit, wide
from capture.packets.headers import be32
from capture.packets.packet_columns import Record
from capture.sflow.counters import counter_row, counts_interface, queue_row
from capture.sflow.drops import drop_row
from capture.sflow.flows import flow_row, note_ends, sampled_packet
from capture.sflow.reasons import (
    BYTES_LEFT,
    CAPTURE_CUT,
    FINE,
    LONG_SAMPLE,
    NO_COUNTED_INTERFACE,
    SAMPLES_MISSING,
    SOURCES_FULL,
    THINNED,
    TOO_LONG,
    UNKNOWN_SAMPLE,
)
from capture.sflow.samples import (
    LONGEST_HOLD_NS,
    MOST_SOURCES,
    direction,
    follow_source,
    hold_ns,
    interface,
    place_in_time,
    rate,
    source_of,
)
from capture.sflow.sflow_layout import (
    COUNTER_SAMPLE,
    COUNTER_SAMPLE_EXPANDED,
    DISCARDED,
    DISCARDED_PACKET,
    FLOW_SAMPLE,
    FLOW_SAMPLE_EXPANDED,
    LONGEST_DATAGRAM_BYTES,
    SMALLEST_SAMPLE_BYTES,
)
from capture.sflow.thinning import is_left_out
from capture.sflow.walk import (
    counter_fields,
    counter_structures,
    datagram_head,
    doubts,
    flow_fields,
    flow_structures,
)
from capture.tables.address_book import Book, code_of, expect, known_code
from capture.tables.key_table import FULL, Keys, Words
from capture.tables.prefetch import LINE_BYTES, prefetch
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import BLOCK_ROWS, Block, Blocks

Counts = npt.NDArray[np.int64]

# Why `decode_batch` stopped before the end; index into `state["stopped"]`.
AT_END, ROWS_FULL, EXPORTERS_SHORT, SOURCES_SHORT, ADDRESSES_SHORT = range(5)

_CHECKED_BYTES = 16
_AHEAD = 2  # datagrams for which memory is asked before they are read
ROWS = 4096 + 72  # of counters and drops: more than the largest datagram has samples

# An agent, and two addresses a sample.
ADDRESSES_A_DATAGRAM = 1 + 2 * (LONGEST_DATAGRAM_BYTES // SMALLEST_SAMPLE_BYTES)

STATE = np.dtype(
    [
        ("flows", "i8"),
        ("counters", "i8"),
        ("drops", "i8"),
        ("stopped", "i8"),
        ("in_order", "i8"),
        ("named", "i8"),  # flow records that have their address codes; the others are of the datagram at hand
        ("one_in", "i8"),  # flow samples that one stands for, see `capture.sflow.thinning`
        ("thinned", "i8"),  # flow samples left out for that
    ]
)


class Memory(NamedTuple):
    """What decoding remembers; arrays that kernels fill but never enlarge."""

    exporters: Table
    exporter_keys: Keys
    full: Counts  # of the exporter table
    agents: Table  # one `AGENT` row an exporter
    sources: Table
    source_keys: Keys
    strays: Counts  # datagrams that belong to no exporter, by reason
    configured: Book  # exporters whose rate an operator gave
    configured_rates: Counts  # of these, and last that of all others


class Output(NamedTuple):
    """Where rows go, and the rows at hand, each as a table of one."""

    book: Book  # of addresses
    ends: Words  # source and destination, two words each, of the datagram's flow records, shape (ROWS, 4)
    flows: Blocks
    counters: Blocks
    drops: Blocks
    state: Table  # `STATE`
    head: Table  # `HEAD`
    sample: Table  # `SAMPLE`
    moment: Table  # `MOMENT`
    packet: Table  # `PACKET`


@jit
def decode_batch(data: Bytes, index: Index, first: int, memory: Memory, output: Output) -> int:
    """Decode datagrams from `first` on until the batch ends or something is short; answers where to go on.

    `state["stopped"]` says why it ended: mostly because a table has no room for the rows of one more datagram,
    however large. The datagram it answers with is untouched.
    """
    state, head, moment = output.state[0], output.head[0], output.moment[0]
    state["stopped"] = AT_END
    last = min(first + BLOCK_ROWS, len(index))
    for i in range(first, last):
        datagram = index[i]
        if datagram["protocol"] != SFLOW5:
            continue
        ask_for(data, index, i + _AHEAD)
        at = datagram["offset"]
        end = at + min(wide(datagram["bytes"]), wide(LONGEST_DATAGRAM_BYTES))
        most = (end - at) // SMALLEST_SAMPLE_BYTES
        if state["flows"] + most > BLOCK_ROWS or max(state["counters"], state["drops"]) + most > ROWS:
            state["stopped"] = ROWS_FULL
            return i
        reason = datagram_head(data, at, end, head)
        if reason:
            memory.strays[reason] += 1
            continue
        if output.book.used[0] + 1 + 2 * most > len(output.book.words):
            state["stopped"] = ADDRESSES_SHORT
            return i
        may_stop = may_forget(memory.full, wide(datagram["time_ns"]))
        if memory.source_keys.used[0] + most > len(memory.sources) and (len(memory.sources) < MOST_SOURCES or may_stop):
            state["stopped"] = SOURCES_SHORT
            return i
        high, low = head["agent_high"], head["agent_low"]
        place = exporter_of(memory.exporters, memory.exporter_keys, wide(SFLOW5), high, low, head["sub_agent"])
        if place == FULL:
            if len(memory.exporters) < MOST_EXPORTERS or may_stop:
                state["stopped"] = EXPORTERS_SHORT
                return i
            memory.full[REFUSED] += 1
            continue
        agent = memory.agents[place]
        if not agent["begun"]:
            begin_agent(agent, high, low, memory)
        agent["source_high"] = datagram["source_high"]
        agent["source_low"] = datagram["source_low"]
        exporter = memory.exporters[place]
        if not register_datagram(data, at, end, datagram, head, exporter, state, moment):
            continue
        moment["sampler"] = code_of(output.book, high, low)
        moment["domain"] = head["sub_agent"]
        if datagram["bytes"] > LONGEST_DATAGRAM_BYTES:
            exporter["rejected"][TOO_LONG] += 1
        state["named"] = state["flows"]
        samples(data, end, datagram["cut"] != 0, place, exporter, agent, memory, output)
        exporter["records"] += state["flows"] - state["named"]
        name_ends(output.book, output.ends, output.flows[0], state["named"], state["flows"])
    return last


@jit
def ask_for(data: Bytes, index: Index, i: int) -> None:
    """Ask memory for datagram `i`, if there is one, which will be read soon."""
    if i < len(index):
        at = wide(index[i]["offset"])
        for line in range(at, at + wide(index[i]["bytes"]), LINE_BYTES):
            prefetch(data, line)


@jit
def name_ends(book: Book, ends: Words, block: Block, first: int, last: int) -> None:
    """Write the address codes of flow records `first` to `last`.

    All of a datagram's at once: each search waits for memory, and in a row the processor does several at a time.
    """
    for row in range(first, last):
        k = row - first
        block["src_addr"][row] = code_of(book, ends[k, 0], ends[k, 1])
        block["dst_addr"][row] = code_of(book, ends[k, 2], ends[k, 3])


@jit
def begin_agent(agent: Record, high: int, low: int, memory: Memory) -> None:
    """Look up the rate that an operator gave for an exporter seen for the first time."""
    # An unknown address has code -1, which is the place of all others.
    place = known_code(memory.configured.words, memory.configured.slots, high, low)
    agent["configured"] = memory.configured_rates[place]
    agent["begun"] = 1


@jit
def register_datagram(
    data: Bytes, at: int, end: int, datagram: Record, head: Record, exporter: Exporter, state: Record, moment: Record
) -> bool:
    """Enter a datagram into its exporter's account, and its time into `moment`; False where it is a copy."""
    time_ns = wide(datagram["time_ns"])
    held = hold_ns(exporter, time_ns)
    # Copies agree in all of it. Other datagrams of the same number have another uptime, if nothing else.
    check = digest(data, max(at, end - _CHECKED_BYTES), end) ^ head["uptime_ms"] ^ (end - at) << 32
    if is_copy(exporter, head["sequence"], time_ns, end - at, check):
        return False
    restarted = uptime_fell(exporter, head["uptime_ms"], time_ns // 1_000_000)
    verdict = track_sequence(exporter, wide(datagram["source_port"]), head["sequence"], head["samples"], restarted)
    state["in_order"] = 1 if verdict == IN_ORDER else 0
    moment["arrival_ns"] = time_ns
    moment["hold_ns"] = held if verdict == IN_ORDER else wide(LONGEST_HOLD_NS)
    return True


@jit
def samples(
    data: Bytes, end: int, cut: bool, place: int, exporter: Exporter, agent: Record, memory: Memory, output: Output
) -> None:
    """Decode the samples of one datagram, as far as it goes."""
    state, head, sample, rejected = output.state[0], output.head[0], output.sample[0], exporter["rejected"]
    at, left = head["at"], head["samples"]
    output.moment[0]["samples"] = left
    while left > 0 and at + 8 <= end:
        kind, size = be32(data, at), be32(data, at + 4)
        at += 8
        output.moment[0]["place"] = head["samples"] - left
        partly = at + size > end
        if partly and not cut:
            rejected[LONG_SAMPLE] += 1
            return
        fault = walk_records(data, kind, at, min(at + size, end), partly, sample)
        if fault:
            rejected[CAPTURE_CUT if partly else fault] += 1
        elif kind in (COUNTER_SAMPLE, COUNTER_SAMPLE_EXPANDED):
            doubts(sample, rejected)
            counted(data, rejected, state, sample, output.moment[0], output.counters[0])
        else:
            doubts(sample, rejected)
            if kind != DISCARDED_PACKET:
                row = source_of(memory.sources, memory.source_keys, place, sample)
                if row == FULL:
                    rejected[SOURCES_FULL] += 1
                elif state["in_order"]:  # what comes late says nothing about the present
                    follow_source(memory.sources[row], agent, sample, exporter)
            if kind != DISCARDED_PACKET and is_left_out(head, sample, state["one_in"], agent["configured"]):
                rejected[THINNED] += 1
                state["thinned"] += 1
            else:
                interpret(data, kind, agent, rejected, output)
        at += size + (-size & 3)
        left -= 1
    if left > 0:
        rejected[CAPTURE_CUT if cut else SAMPLES_MISSING] += 1
    elif at < end:
        rejected[BYTES_LEFT] += 1


@jit
def walk_records(data: Bytes, kind: int, at: int, end: int, cut: bool, sample: Record) -> int:
    """Fill `sample` from the sample of type `kind` at `at`; FINE or the reason why nothing of it is known."""
    if kind == FLOW_SAMPLE or kind in (FLOW_SAMPLE_EXPANDED, DISCARDED_PACKET):
        fault = flow_fields(data, kind, at, end, sample)
        if fault == FINE:
            flow_structures(data, end, cut, sample)
        return fault
    if kind in (COUNTER_SAMPLE, COUNTER_SAMPLE_EXPANDED):
        fault = counter_fields(data, kind, at, end, sample)
        if fault == FINE:
            counter_structures(data, end, cut, sample)
        return fault
    return UNKNOWN_SAMPLE


@jit
def counted(data: Bytes, rejected: Counts, state: Record, sample: Record, moment: Record, block: Block) -> None:
    """Make a row of a counter sample that speaks of an interface or of the device."""
    if counter_row(data, sample, moment, block, state["counters"]):
        state["counters"] += 1
    if sample["pause_at"] >= 0 and not counts_interface(sample):
        rejected[NO_COUNTED_INTERFACE] += 1


@jit
def interpret(data: Bytes, kind: int, agent: Record, rejected: Counts, output: Output) -> None:
    """Make a row of a sampled packet, and one of the queue it waited in, and one of its discard."""
    state, sample, moment, packet = output.state[0], output.sample[0], output.moment[0], output.packet[0]
    place_in_time(moment, agent, sample)
    moment["in_if"] = interface(sample["in_format"], sample["in_value"])
    moment["out_if"] = interface(sample["out_format"], sample["out_value"])
    discarded = kind == DISCARDED_PACKET
    stands_for = wide(1)
    if not discarded:
        moment["direction"] = direction(sample, moment["in_if"], moment["out_if"])
        moment["sampling_rate"] = rate(agent, sample["sampling_rate"]) * state["one_in"]
        if sample["queue_depth"] >= 0:
            queue_row(sample, moment, output.counters[0], state["counters"])
            state["counters"] += 1
        if sample["out_format"] == DISCARDED:
            stands_for = max(moment["sampling_rate"], wide(1))
            sample["reason"] = sample["out_value"]
    reason = sampled_packet(data, sample, packet, agent)
    if not discarded:
        if reason == FINE:
            note_ends(packet, output.ends, state["flows"] - state["named"])
            expect(output.book, packet["src_high"], packet["src_low"])
            expect(output.book, packet["dst_high"], packet["dst_low"])
            flow_row(packet, moment, output.flows[0], state["flows"])
            state["flows"] += 1
        else:
            rejected[reason] += 1
    if discarded or sample["out_format"] == DISCARDED:
        source = destination = wide(-1)
        if reason == FINE:
            source = code_of(output.book, packet["src_high"], packet["src_low"])
            destination = code_of(output.book, packet["dst_high"], packet["dst_low"])
        drop_row(moment, sample["reason"], stands_for, source, destination, output.drops[0], state["drops"])
        state["drops"] += 1
