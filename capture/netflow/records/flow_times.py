"""When flows began and ended: start, end and duration of each row, and how far they may be off."""

from __future__ import annotations

from capture.exporters.datagram import IPFIX
from capture.jit import jit, wide
from capture.netflow.wire.exporter_uptime import (
    AHEAD_NS,
    CLOCK_SET_NS,
    FAR_AHEAD_NS,
    FAR_NS,
    IMPOSSIBLE,
    LAST_MS,
    MICROSECOND_NS,
    MILLISECOND_NS,
    OLD_NS,
    SECOND_NS,
    absolute,
    at_uptime,
    half_width_ns,
    length_ms,
    plain,
)
from capture.netflow.wire.netflow_layout import (
    DURATION,
    END,
    INIT,
    MICROSECONDS,
    MILLISECONDS,
    NTP_MICROSECONDS,
    NTP_NANOSECONDS,
    START,
    UPTIME,
    Row,
    Words,
)
from capture.netflow.wire.reasons import (
    AHEAD,
    END_BEFORE_START,
    FAR_OFF,
    IMPOSSIBLE_TIME,
    NO_BOOT_TIME,
    NO_TIMES,
    NOT_NTP,
    UPTIME_OFF,
)
from capture.tables.row_blocks import Block

_MASK32 = 0xFFFFFFFF
_NO_BOOT_UNCERTAINTY_NS = 60 * SECOND_NS  # a record is exported within its active timeout, usually a minute


@jit
def times(
    progress: Row, source: Row, agent: Row, matrix: Words, block: Block, template: Row, present: int, rows: int
) -> None:
    """Write start, end and their uncertainty of `rows` rows of the block, from the first columns of the matrix.

    Args:
        progress: the datagram, and the first row of the block.
        source: what is known of the exporter.
        agent: likewise, of the first exporter with its address.
        matrix: loaded values.
        block: of flow records.
        template: what the values were loaded by.
        present: bit t: target t of the matrix is filled.
        rows: how many.
    """
    start, end, row = block["time_flow_start_ns"], block["time_flow_end_ns"], wide(progress["rows"])
    has_start, has_end = present >> START & 1, present >> END & 1
    if (template["start"] == UPTIME or template["end"] == UPTIME) and progress["protocol"] == IPFIX:
        uptime_base(progress, source, agent, matrix, present, rows)
    half = write_times(progress, source, matrix, block, template, present, rows)
    if not has_start and not has_end:
        source["doubts"][NO_TIMES] += rows
        half = wide(progress["export_uncertainty_ns"])
        for i in range(row, row + rows):
            start[i] = progress["export_ns"]
            end[i] = progress["export_ns"]
    elif not has_start or not has_end:
        unit_ns = wide(MICROSECOND_NS) if template["duration"] == MICROSECONDS else wide(MILLISECOND_NS)
        unit_ns *= present >> DURATION & 1
        for i in range(rows):
            length_ns = (matrix[DURATION, i] & _MASK32) * unit_ns
            if has_start:
                end[row + i] = start[row + i] + length_ns
            else:
                start[row + i] = end[row + i] - length_ns
    uncertainty = block["time_uncertainty_ns"]
    for i in range(row, row + rows):
        uncertainty[i] = half
    if not plausible(start, end, wide(progress["export_ns"]), row, rows):
        by_uptime = wide(template["end"] if has_end else template["start"]) == UPTIME
        repair_times(progress, source, start, end, uncertainty, rows, by_uptime)


@jit
def write_times(progress: Row, source: Row, matrix: Words, block: Block, template: Row, present: int, rows: int) -> int:
    """Write the starts and ends of records; returns their uncertainty in ns."""
    start, end, row, half = block["time_flow_start_ns"], block["time_flow_end_ns"], wide(progress["rows"]), wide(0)
    has_start, has_end = present >> START & 1, present >> END & 1
    if has_end:
        half = convert_times(progress, source, matrix[END], wide(template["end"]), end, rows)
    if has_start and has_end and template["start"] == UPTIME and template["end"] == UPTIME:
        for i in range(rows):
            start[row + i] = end[row + i] - length_ms(matrix[START, i], matrix[END, i]) * MILLISECOND_NS
    elif has_start:
        half = max(half, convert_times(progress, source, matrix[START], wide(template["start"]), start, rows))
    return half


@jit
def plausible(start: Words, end: Words, export_ns: int, row: int, rows: int) -> bool:
    """Whether all times are in the day before their export, or shortly after it, and in the right order."""
    earliest, latest, shortest = wide(export_ns), wide(export_ns), wide(0)
    for i in range(row, row + rows):
        earliest = min(earliest, start[i], end[i])
        latest = max(latest, start[i], end[i])
        shortest = min(shortest, end[i] - start[i])
    return export_ns - earliest <= OLD_NS and latest - export_ns <= AHEAD_NS and shortest >= 0


@jit
def repair_times(
    progress: Row, source: Row, start: Words, end: Words, uncertainty: Words, rows: int, by_uptime: bool
) -> None:
    """Put right times that cannot be, and count those that are doubtful.

    An uptime that differs from its header's by more than flows last is one of another clock: only how long the flow
    lasted can be known. Times of day may be those of a trace played back, and stay.
    """
    export_ns, row, doubts = wide(progress["export_ns"]), progress["rows"], source["doubts"]
    for i in range(row, row + rows):
        earliest, latest = min(start[i], end[i]), max(start[i], end[i])
        if by_uptime and (end[i] - export_ns > AHEAD_NS or export_ns - end[i] > OLD_NS):
            start[i] = export_ns - max(end[i] - start[i], wide(0))
            end[i] = export_ns
            uncertainty[i] = _NO_BOOT_UNCERTAINTY_NS
            doubts[UPTIME_OFF] += 1
            continue
        if earliest < CLOCK_SET_NS or latest - export_ns > FAR_AHEAD_NS:
            end[i] = export_ns
            start[i] = export_ns
            uncertainty[i] = progress["export_uncertainty_ns"]
            doubts[IMPOSSIBLE_TIME] += 1
            continue
        if export_ns - earliest > OLD_NS:
            doubts[FAR_OFF] += 1
        elif latest - export_ns > AHEAD_NS:
            doubts[AHEAD] += 1
        if end[i] < start[i]:
            start[i] = end[i]
            doubts[END_BEFORE_START] += 1


@jit
def uptime_base(progress: Row, source: Row, agent: Row, matrix: Words, present: int, rows: int) -> None:
    """Determine when the uptime of an IPFIX exporter began; other protocols state it in their headers.

    Its records (systemInitTimeMilliseconds) or its options state it. Where neither does, the newest uptime in the
    set is taken for that of the export.
    """
    init_ms = wide(source["init_ms"] if source["init_ms"] > 0 else agent["init_ms"])
    if present >> INIT & 1:
        init_ms = matrix[INIT, 0]
    if 0 < init_ms < LAST_MS:
        progress["boot_ns"] = init_ms * MILLISECOND_NS
        progress["boot_uncertainty_ns"] = MILLISECOND_NS
        progress["uptime_ms"] = progress["export_ns"] // MILLISECOND_NS - init_ms
        return
    newest = wide(0)
    for i in range(rows):
        newest = max(newest, matrix[END if present >> END & 1 else START, i] & _MASK32)
    source["doubts"][NO_BOOT_TIME] += rows
    progress["boot_ns"] = progress["export_ns"] - newest * MILLISECOND_NS
    progress["boot_uncertainty_ns"] = _NO_BOOT_UNCERTAINTY_NS
    progress["uptime_ms"] = newest


@jit
def convert_times(progress: Row, source: Row, column: Words, unit: int, out: Words, rows: int) -> int:
    """Write the times loaded into a target; what they may be off, in ns."""
    export_ns, row = wide(progress["export_ns"]), wide(progress["rows"])
    if unit == UPTIME:
        boot_ns, now_ms = wide(progress["boot_ns"]), wide(progress["uptime_ms"])
        for i in range(rows):
            out[row + i] = at_uptime(boot_ns, now_ms, column[i] & _MASK32)
        return wide(progress["boot_uncertainty_ns"])
    if unit == MILLISECONDS:
        for i in range(rows):
            value = column[i] if 0 <= column[i] < LAST_MS else wide(IMPOSSIBLE)
            out[row + i] = value * MILLISECOND_NS
    else:
        for i in range(rows):
            out[row + i] = absolute(unit, column[i], export_ns)
    if unit in (NTP_MICROSECONDS, NTP_NANOSECONDS):
        recount(source, unit, column, out, export_ns, row, rows)
    return half_width_ns(unit)


@jit
def recount(source: Row, unit: int, column: Words, out: Words, export_ns: int, row: int, rows: int) -> None:
    """Take times that lie years off as NTP timestamps but close as plain counts for the latter."""
    for i in range(rows):
        if abs(out[row + i] - export_ns) > FAR_NS:
            count_ns = plain(unit, column[i])
            if count_ns > 0 and abs(count_ns - export_ns) <= FAR_NS:
                out[row + i] = count_ns
                source["doubts"][NOT_NTP] += 1
