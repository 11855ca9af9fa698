"""Sizes and numbers of the wire formats, and the tables that the kernels of this folder work in.

NetFlow v5 (Cisco's "NetFlow Export Datagram Format"), NetFlow v9 (RFC 3954), IPFIX (RFC 7011).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capture.netflow.wire.reasons import DOUBTS
from capture.packets.packet_columns import Packets
from capture.tables.address_book import Book
from capture.tables.key_table import Keys, Slots
from capture.tables.row_blocks import Blocks

Table = npt.NDArray[np.void]
Words = npt.NDArray[np.int64]
Row = Any  # one row of a table; numba and NumPy have no static type for its fields in common

V5_HEADER_BYTES, V5_RECORD_BYTES = 24, 48
V9_HEADER_BYTES = 20
IPFIX_HEADER_BYTES = 16
SET_HEADER_BYTES = 4
V9_TEMPLATES, V9_OPTIONS_TEMPLATES, IPFIX_TEMPLATES, IPFIX_OPTIONS_TEMPLATES = range(4)  # ids of sets
FIRST_DATA_SET = 256
VARIABLE = 0xFFFF  # a field's length where each record states it (RFC 7011 section 7)

# What a field is loaded into: rows of the matrix that lies between the wire and its interpretation. An address takes
# two of them (high and low word); the second has no name.
(
    SOURCE,
    _,
    DESTINATION,
    _,
    SOURCE_OTHER,
    _,
    DESTINATION_OTHER,
    _,
    SAMPLER,
    _,
    SRC_PORT,
    DST_PORT,
    PROTO,
    BYTES,
    PACKETS,
    START,
    END,
    DURATION,
    INIT,
    IN_IF,
    OUT_IF,
    DIRECTION,
    TOS,
    TCP_FLAGS,
    RATE,
    INTERVAL,
    SPACE,
    POPULATION,
    SIZE,
    CHANCE,
    SELECTOR,
    SAMPLER_ID,
    EVENT_KIND,
    SECTION,
    _,
    SECTION_BYTES,
    REVERSE_BYTES,
    REVERSE_PACKETS,
    REVERSE_START,
    REVERSE_END,
    REVERSE_DURATION,
    REVERSE_TOS,
    REVERSE_TCP_FLAGS,
    BYTES_OUT,
    PACKETS_OUT,
    TARGETS,
) = range(46)
SKIP = -1  # target of a field that is walked over

# How a field is loaded.
UNSIGNED, GATHERED, IPV4_ADDRESS, IPV6_ADDRESS, PLACE, PROBABILITY = range(6)
CERTAIN = 1 << 62  # a probability of 1, as it is loaded

# Units of START, END and DURATION.
NO_TIME, SECONDS, MILLISECONDS, MICROSECONDS, NTP_MICROSECONDS, NTP_NANOSECONDS, DELTA_MICROSECONDS, UPTIME = range(8)

# What the records of a template are.
FLOWS, TELLING_OPTIONS, OPTIONS, WITHOUT_ADDRESSES, WITHOUT_COUNTERS, EMPTY = range(6)

# Any of these gives a sampling rate; bits of `present`.
RATES = 1 << RATE | 1 << INTERVAL | 1 << POPULATION | 1 << CHANCE

# What is special about a template's records; bits.
WALKED = 1  # they must be loaded one by one
BOTH_FAMILIES = 2  # they hold IPv4 and IPv6 addresses; one kind may be empty
BIFLOW = 4  # they count both directions
SECTIONED = 8  # they hold a packet's first bytes
COUNTS_TOTALS = 16
COUNTS_LAYER2 = 32
IP_SECTION = 64  # the packet's first bytes begin at its IP header
EVENTS = 128  # some of them may be events

FIELD = np.dtype(
    [
        ("offset", "i4"),  # in the record; means nothing behind a field of variable length
        ("length", "i4"),  # bytes; VARIABLE where each record states it
        ("target", "i2"),
        ("how", "i2"),
    ],
    align=True,
)

TEMPLATE = np.dtype(
    [
        ("present", "i8"),  # bit t: a field is loaded into target t
        ("used_ns", "i8"),  # when a set last needed it, or it was announced
        ("definition", "i8"),  # where the bytes that announced it lie
        ("definition_bytes", "i4"),
        ("exporter", "i4"),  # row in the exporter table; -1: the row is free
        ("port", "i4"),
        ("id", "i4"),
        ("first_field", "i4"),
        ("fields", "i4"),
        ("record_bytes", "i4"),  # the fewest that a record has; all have them unless a field is variable
        ("variable", "u1"),
        ("options", "u1"),  # announced as an options template
        ("kind", "u1"),
        ("flags", "u1"),
        ("start", "u1"),  # units
        ("end", "u1"),
        ("duration", "u1"),
    ],
    align=True,
)

RATES_SEEN = 16

# What is known of an exporter besides `EXPORTER`, at the same row.
SOURCES = np.dtype(
    [
        ("doubts", "i8", (DOUBTS,)),
        ("rates", "i8", (RATES_SEEN,)),  # exported in its records or for them; the first `rates_seen` are in use
        ("rates_seen", "i8"),
        ("configured_rate", "i8"),
        ("boot_low_ms", "i8"),  # bounds of when its uptime began, UTC
        ("boot_high_ms", "i8"),
        ("boot_at_ms", "i8"),  # time of the header that last narrowed them; 0 where there was none
        ("init_ms", "i8"),  # start of its uptime by its options, UTC; 0 unknown
        ("waiting_bytes", "i8"),
        ("samplers", "i8"),
        ("agent", "i4"),  # first exporter row with the same address
        ("ready", "u1"),  # the driver has filled the row in
    ],
    align=True,
)

SAMPLERS = np.dtype(
    [
        ("scope", "i8"),
        ("id", "i8"),
        ("origin", "i8"),  # exporter and sampler that sent the rate
        ("rate", "i8"),  # 1 in N; AMBIGUOUS where several differ
    ],
    align=True,
)

# Where the walk through a batch stands. All that it needs of the datagram at hand.
PROGRESS = np.dtype(
    [
        ("datagram", "i8"),  # row of the index
        ("at", "i8"),  # next byte
        ("end", "i8"),  # of the datagram
        ("set_end", "i8"),  # 0: the next bytes are a set's header
        ("set_id", "i8"),
        ("set_at", "i8"),
        ("header_at", "i8"),
        ("header_bytes", "i8"),
        ("template", "i8"),  # of the set
        ("exporter", "i8"),
        ("domain", "i8"),
        ("port", "i8"),
        ("protocol", "i8"),
        ("sequence", "i8"),
        ("records", "i8"),  # data records so far; -1 where that cannot be known
        ("received_ns", "i8"),
        ("export_ns", "i8"),
        ("export_uncertainty_ns", "i8"),
        ("uptime_ms", "i8"),
        ("boot_ns", "i8"),
        ("boot_uncertainty_ns", "i8"),
        ("header_rate", "i8"),
        ("sampler", "i8"),  # address code
        ("rows", "i8"),  # of the block in use
        ("opened", "u1"),
        ("began_anew", "u1"),  # by its uptime
        ("sectioned", "u1"),  # the block holds rows of packet sections
        ("again", "u1"),  # sets that waited are decoded: their datagrams have been counted
        ("waiting_full", "u1"),
        ("in_session", "u1"),
    ],
    align=True,
)

CHUNK = 256  # records that are loaded at once; they stay in the first cache
_ODD = 8  # not a power of two: the matrix's rows would evict each other


class Samplers(NamedTuple):
    """Rates from options: `SAMPLERS` rows and their index."""

    rows: Table
    keys: Keys


class Tables(NamedTuple):
    """All arrays that the kernels work in, as one argument."""

    exporters: Table
    exporter_keys: Keys
    full: Words  # of the exporter table
    sources: Table
    templates: Table
    exact: Slots
    loose: Slots
    fields: Table
    definitions: npt.NDArray[np.uint8]
    samplers: Samplers
    book: Book  # of addresses
    waiting: npt.NDArray[np.uint8]
    waiting_index: Table
    waiting_used: Words
    unplaced: Words
    blocks: Blocks  # of the fields of every record
    sections: Blocks  # of what packet sections add
    matrix: Words
    packets: Packets
    progress: Table


def matrix() -> Words:
    """The matrix between wire and interpretation, shape (targets, CHUNK and some)."""
    return np.zeros((TARGETS, CHUNK + _ODD), np.int64)
