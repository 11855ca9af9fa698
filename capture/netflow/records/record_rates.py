"""The sampling rate of each row: configured, or exported in its record, its sampler's options or the header."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.netflow.records.sampler import UNKNOWN, exported_rate, only_rate, sampler_rate
from capture.netflow.wire.netflow_layout import RATES, RATES_SEEN, SAMPLER_ID, Row, Samplers, Words
from capture.netflow.wire.reasons import RATE_DIFFERS, RATE_REPLACED, RATE_UNKNOWN
from capture.tables.row_blocks import Block


@jit
def rates(progress: Row, source: Row, samplers: Samplers, matrix: Words, block: Block, present: int, rows: int) -> None:
    """Write the sampling rates of `rows` rows of the block, from the first columns of the matrix."""
    row, out = wide(progress["rows"]), block["sampling_rate"]
    exporter, agent = wide(progress["exporter"]), wide(source["agent"])
    otherwise = only_rate(samplers, exporter, agent)
    if otherwise == UNKNOWN:
        otherwise = wide(progress["header_rate"])
    if not present & (RATES | 1 << SAMPLER_ID):
        rate = judged(source, otherwise, rows)
        for i in range(row, row + rows):
            out[i] = rate
        return
    known, rate = wide(0), otherwise
    for i in range(rows):
        if present & RATES:
            rate = of_record(source, matrix, present, otherwise, i)
        elif matrix[SAMPLER_ID, i] != known:  # 0 stands for none
            known = matrix[SAMPLER_ID, i]
            rate = sampler_rate(samplers, exporter, agent, known) if known else otherwise
        out[row + i] = judged(source, rate, wide(1))


@jit
def of_record(source: Row, matrix: Words, present: int, otherwise: int, column: int) -> int:
    """Return the rate in a record, or else `otherwise`."""
    rate = exported_rate(source, matrix, present, column)
    if rate == UNKNOWN:
        return otherwise
    if otherwise not in (UNKNOWN, rate):
        source["doubts"][RATE_DIFFERS] += 1
    return rate


@jit
def judged(source: Row, exported: int, rows: int) -> int:
    """Return the rate for `rows` rows, configured or exported, and count mismatches."""
    configured = wide(source["configured_rate"])
    if exported == UNKNOWN:
        source["doubts"][RATE_UNKNOWN] += rows
    elif configured not in (UNKNOWN, exported):
        source["doubts"][RATE_REPLACED] += rows
    rate = exported if configured == UNKNOWN else configured
    for k in range(source["rates_seen"]):
        if source["rates"][k] == rate:
            return rate
    if source["rates_seen"] < RATES_SEEN:
        source["rates"][source["rates_seen"]] = rate
        source["rates_seen"] += 1
    return rate
