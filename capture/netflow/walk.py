"""The walk through a batch: datagrams, their sets, and the records in them.

The kernel stops where the driver (`capture.netflow.netflow_decoder`) must do something, and goes on where it stopped:
all that it needs to know for that stands in `PROGRESS`.
"""

from __future__ import annotations

from capture.exporters.datagram import NETFLOW5, NETFLOW9, Index
from capture.exporters.exporter_table import track_sequence
from capture.jit import jit, wide
from capture.netflow.records.field_loader import BEYOND, load_columns, load_record
from capture.netflow.records.interpret import interpret
from capture.netflow.records.irregular_records import COUNTED_BACK, SECTION_TELLS, expand_record, rows_without_section
from capture.netflow.records.sampler import ENTRIES_A_SAMPLER, MOST_SAMPLERS, exported_rate, learn_rate, no_sampler
from capture.netflow.templates.pending_sets import keep_waiting
from capture.netflow.templates.template_table import find, find_exact, same_definition
from capture.netflow.wire.datagram_header import CROWDED, NEW_EXPORTER, OPENED, SKIPPED, open_datagram
from capture.netflow.wire.netflow_layout import (
    BIFLOW,
    CHUNK,
    EMPTY,
    EVENTS,
    FIRST_DATA_SET,
    FLOWS,
    INIT,
    IPFIX_OPTIONS_TEMPLATES,
    IPFIX_TEMPLATES,
    OPTIONS,
    RATES,
    SAMPLER_ID,
    SECTIONED,
    SELECTOR,
    SET_HEADER_BYTES,
    TELLING_OPTIONS,
    V9_OPTIONS_TEMPLATES,
    WALKED,
    WITHOUT_ADDRESSES,
    Row,
    Tables,
)
from capture.netflow.wire.reasons import (
    BAD_SET,
    BAD_TEMPLATE,
    BYTES_LEFT,
    EVENT,
    LONG_RECORD,
    LONG_SET,
    NO_ADDRESSES,
    NO_COUNTERS,
    NO_RECORD,
    NO_SAMPLER,
    OPTIONS_DATA,
    OTHER_PORT,
    RESERVED_SET,
    SAMPLERS_FULL,
    SHORT_SET,
    WITHDRAWN_OVER_UDP,
)
from capture.packets.headers import be16
from capture.tables.address_book import Book
from capture.tables.read_buffer import Bytes

# Why the kernel stops.
(
    DONE,
    NEEDS_EXPORTER,
    NEEDS_TEMPLATE,
    NEEDS_BLOCK,
    NEEDS_WAITING_ROOM,
    NEEDS_SAMPLERS,
    NEEDS_ADDRESSES,
    NEEDS_FORGETTING,
) = range(8)
ADDRESSES_A_CHUNK = 3 * CHUNK  # both ends of a record, and the exporter it may name
_LARGEST_INIT_MS = 1 << 43


@jit
def decode_batch(data: Bytes, index: Index, tables: Tables) -> int:
    """Go on with the batch; DONE, or what is needed to go on further."""
    progress = tables.progress[0]
    while progress["datagram"] < len(index):
        if not progress["opened"]:
            if no_room(tables.book, wide(1)):
                return NEEDS_ADDRESSES
            outcome = open_datagram(data, index[progress["datagram"]], tables)
            if outcome == NEW_EXPORTER:
                return NEEDS_EXPORTER
            if outcome == CROWDED:
                return NEEDS_FORGETTING
            progress["opened"] = 1 if outcome == OPENED else 0
            if outcome == SKIPPED:
                progress["datagram"] += 1
                continue
        need = walk_sets(data, tables)
        if need != DONE:
            return need
        if not progress["again"]:
            exporter = tables.exporters[progress["exporter"]]
            restarted = progress["began_anew"] != 0
            track_sequence(
                exporter, wide(progress["port"]), wide(progress["sequence"]), wide(progress["records"]), restarted
            )
        progress["opened"] = 0
        progress["datagram"] += 1
    return DONE


@jit
def walk_sets(data: Bytes, tables: Tables) -> int:
    """Go on with the sets of the datagram at hand."""
    progress = tables.progress[0]
    while progress["at"] < progress["end"] or progress["set_end"]:
        if progress["set_end"] == 0 and not open_set(data, progress, tables.exporters[progress["exporter"]]):
            return DONE
        need = wide(DONE)
        if progress["set_id"] >= FIRST_DATA_SET or progress["protocol"] == NETFLOW5:
            need = data_set(data, tables)
        elif is_template_set(progress):
            need = template_set(data, tables)
        else:
            tables.exporters[progress["exporter"]]["rejected"][RESERVED_SET] += 1
        if need != DONE:
            return need
        progress["at"] = progress["set_end"]
        progress["set_end"] = 0
    return DONE


@jit
def is_template_set(progress: Row) -> bool:
    """Whether the set announces templates: 0 and 1 in NetFlow v9, 2 and 3 in IPFIX."""
    if progress["protocol"] == NETFLOW9:
        return bool(progress["set_id"] <= V9_OPTIONS_TEMPLATES)
    return bool(progress["set_id"] >= IPFIX_TEMPLATES and progress["set_id"] <= IPFIX_OPTIONS_TEMPLATES)


@jit
def open_set(data: Bytes, progress: Row, exporter: Row) -> bool:
    """Read a set's header; False where the rest of the datagram holds none."""
    rejected = exporter["rejected"]
    at, end = progress["at"], progress["end"]
    if at + SET_HEADER_BYTES > end:
        if not all_zero(data, at, end):
            rejected[BYTES_LEFT] += 1
        progress["at"] = end
        return False
    length = be16(data, at + 2)
    if length < SET_HEADER_BYTES:
        if not all_zero(data, at, end):  # some exporters fill their datagrams up with zeros
            rejected[BAD_SET] += 1
            progress["records"] = -1
        progress["at"] = end
        return False
    progress["set_at"] = at
    progress["set_id"] = be16(data, at)
    progress["set_end"] = at + length
    progress["template"] = -1
    if at + length > end:
        progress["set_end"] = end
        if not progress["again"]:
            rejected[LONG_SET] += 1
        progress["records"] = -1
    progress["at"] = at + SET_HEADER_BYTES
    return True


@jit
def all_zero(data: Bytes, at: int, end: int) -> bool:
    """Whether nothing but zeros is left."""
    for i in range(at, end):  # noqa: SIM110 - kernels have no generators
        if data[i]:
            return False
    return True


@jit
def template_set(data: Bytes, tables: Tables) -> int:
    """Go on with a set of template records: those known already are passed over, for another the driver is needed."""
    progress = tables.progress[0]
    options = 1 if progress["set_id"] in (1, 3) else 0
    while progress["at"] + 4 <= progress["set_end"]:
        at = progress["at"]
        template = be16(data, at)
        if template < FIRST_DATA_SET and (progress["protocol"] == NETFLOW9 or be16(data, at + 2)):
            if not all_zero(data, at, progress["set_end"]):
                tables.exporters[progress["exporter"]]["rejected"][BAD_TEMPLATE] += 1
            return DONE
        if is_stray_withdrawal(data, at, progress):
            tables.exporters[progress["exporter"]]["rejected"][WITHDRAWN_OVER_UDP] += 1
            progress["at"] = at + 4
            continue
        row = find_exact(tables, progress["exporter"], progress["port"], template)
        if row < 0 or not same_definition(data, at, progress["set_end"], tables, row, options):
            return NEEDS_TEMPLATE
        tables.templates[row]["used_ns"] = progress["received_ns"]
        progress["at"] = at + tables.templates[row]["definition_bytes"]
    return DONE


@jit
def is_stray_withdrawal(data: Bytes, at: int, progress: Row) -> bool:
    """Whether a template record withdraws templates though it came over UDP, where that must be ignored.

    RFC 7011 section 8.4: a datagram that is late, repeated or forged would take the templates from records to come.
    """
    if progress["protocol"] == NETFLOW9 or progress["in_session"] or be16(data, at + 2):
        return False
    return bool(be16(data, at) >= FIRST_DATA_SET or be16(data, at) == progress["set_id"])


@jit
def data_set(data: Bytes, tables: Tables) -> int:
    """Go on with a set of data records."""
    progress = tables.progress[0]
    if progress["template"] < 0:
        row = find(tables, progress["exporter"], progress["port"], progress["set_id"], progress["protocol"])
        if row < 0:
            progress["records"] = -1
            return DONE if keep_waiting(data, tables) else wide(NEEDS_WAITING_ROOM)
        progress["template"] = row
        tables.templates[row]["used_ns"] = progress["received_ns"]
        if progress["protocol"] != NETFLOW5 and tables.templates[row]["port"] != progress["port"]:
            tables.sources[progress["exporter"]]["doubts"][OTHER_PORT] += 1
        if is_short(data, progress, tables.templates[row]):
            tables.exporters[progress["exporter"]]["rejected"][SHORT_SET] += 1
            progress["records"] = -1
    template = tables.templates[progress["template"]]
    kind = template["kind"]
    if kind == FLOWS and not template["flags"] & WALKED:
        return uniform_records(data, tables, template)
    if kind == FLOWS:
        return peculiar_records(data, tables, template)
    if kind == TELLING_OPTIONS:
        return telling_options(data, tables, template)
    other_records(data, tables, template)
    return DONE


@jit
def is_short(data: Bytes, progress: Row, template: Row) -> bool:
    """Whether a whole set holds no record of its template, yet something: its records are of another form.

    A set has at least one record (RFC 7011 section 3.4.3); one that its datagram cut is counted for that already.
    """
    at, end = progress["at"], progress["set_end"]
    if progress["protocol"] == NETFLOW5 or at + template["record_bytes"] <= end or all_zero(data, at, end):
        return False
    return bool(be16(data, progress["set_at"] + 2) == end - progress["set_at"])


@jit
def no_room(book: Book, addresses: int) -> bool:
    """Whether the address book has no room for so many more."""
    return bool(book.used[0] + addresses > len(book.words))


@jit
def count_records(progress: Row, records: int) -> None:
    """Add to the datagram's data records, unless their number cannot be known."""
    if progress["records"] >= 0:
        progress["records"] += records


@jit
def uniform_records(data: Bytes, tables: Tables, template: Row) -> int:
    """Decode records of one length, many at once."""
    progress = tables.progress[0]
    size = wide(template["record_bytes"])
    while progress["at"] + size <= progress["set_end"]:
        room = len(tables.blocks[0]["bytes"]) - progress["rows"]
        if room == 0:
            return NEEDS_BLOCK
        if no_room(tables.book, wide(ADDRESSES_A_CHUNK)):
            return NEEDS_ADDRESSES
        records = min((progress["set_end"] - progress["at"]) // size, wide(CHUNK), room)
        first, fields = wide(template["first_field"]), wide(template["fields"])
        load_columns(data, progress["at"], records, size, tables.fields, first, fields, tables.matrix)
        interpret(tables, template, template["present"], records)
        progress["at"] += records * size
        count_records(progress, records)
    return DONE


@jit
def peculiar_records(data: Bytes, tables: Tables, template: Row) -> int:
    """Decode records one by one: of variable length, of both directions, with packet sections, events among them."""
    progress = tables.progress[0]
    step = 2 if template["flags"] & BIFLOW else 1
    present = wide(template["present"])
    if template["flags"] & BIFLOW:
        present |= COUNTED_BACK
    if template["flags"] & SECTIONED:
        present |= SECTION_TELLS
        if not progress["sectioned"]:
            rows_without_section(tables.sections[0], wide(0), wide(progress["rows"]))
            progress["sectioned"] = 1
    while progress["at"] + template["record_bytes"] <= progress["set_end"]:
        room = min(len(tables.blocks[0]["bytes"]) - progress["rows"], wide(CHUNK))
        if room < step:
            return NEEDS_BLOCK
        if no_room(tables.book, wide(ADDRESSES_A_CHUNK)):
            return NEEDS_ADDRESSES
        columns = wide(0)
        while columns + step <= room and next_record(data, tables, template, columns):
            columns += expand_record(data, tables, template, columns)
        interpret(tables, template, present, columns)
    return DONE


@jit
def next_record(data: Bytes, tables: Tables, template: Row, column: int) -> bool:
    """Load the set's next record into a column; False where there is none."""
    progress = tables.progress[0]
    if progress["at"] + template["record_bytes"] > progress["set_end"]:
        return False
    after = load_record(data, progress["at"], progress["set_end"], template, tables.fields, tables.matrix, column)
    if after == BEYOND:
        tables.exporters[progress["exporter"]]["rejected"][LONG_RECORD] += 1
        progress["records"] = -1
        progress["at"] = progress["set_end"]
        return False
    progress["at"] = after
    count_records(progress, 1)
    return True


@jit
def telling_options(data: Bytes, tables: Tables, template: Row) -> int:
    """Learn sampling rates, and when the uptime began, from options data."""
    progress, matrix = tables.progress[0], tables.matrix
    exporter, present = wide(progress["exporter"]), template["present"]
    source = tables.sources[exporter]
    while progress["at"] + template["record_bytes"] <= progress["set_end"]:
        full = tables.samplers.keys.used[0] + ENTRIES_A_SAMPLER > len(tables.samplers.rows)
        if full and len(tables.samplers.rows) < MOST_SAMPLERS:
            return NEEDS_SAMPLERS
        if not next_record(data, tables, template, wide(0)):
            break
        tables.exporters[exporter]["rejected"][OPTIONS_DATA] += 1
        if present >> SELECTOR & 1 and no_sampler(matrix[SELECTOR, 0]):
            source["doubts"][NO_SAMPLER] += 1
        if present & RATES:
            rate = exported_rate(source, matrix, present, wide(0))
            sampler = matrix[SAMPLER_ID, 0] if present >> SAMPLER_ID & 1 else wide(0)
            if rate and not learn_rate(tables.samplers, source, exporter, sampler, rate):
                tables.exporters[exporter]["rejected"][SAMPLERS_FULL] += 1
        if present >> INIT & 1 and 0 < matrix[INIT, 0] < _LARGEST_INIT_MS:
            source["init_ms"] = matrix[INIT, 0]
            tables.sources[source["agent"]]["init_ms"] = matrix[INIT, 0]
    return DONE


@jit
def other_records(data: Bytes, tables: Tables, template: Row) -> None:
    """Count records that are no flows, by what they are instead."""
    progress, kind = tables.progress[0], template["kind"]
    rejected = tables.exporters[progress["exporter"]]["rejected"]
    if kind == EMPTY:
        rejected[NO_RECORD] += 1
        progress["records"] = -1
        return
    if template["variable"]:
        records = wide(0)
        while next_record(data, tables, template, wide(0)):
            records += 1
    else:
        records = (progress["set_end"] - progress["at"]) // template["record_bytes"]
        count_records(progress, records)
    if kind == OPTIONS:
        rejected[OPTIONS_DATA] += records
    elif template["flags"] & EVENTS:
        rejected[EVENT] += records
    elif kind == WITHOUT_ADDRESSES:
        rejected[NO_ADDRESSES] += records
    else:
        rejected[NO_COUNTERS] += records
