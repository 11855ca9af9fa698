"""Flow records as a stream of Arrow record batches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from capture.configured_rates import SamplingRates
from capture.ingest_log import IngestLog
from datamodel.telemetry.flows import ADDRESS_COLUMNS, FLOWS, Flows
from flowprism.inputs.feed_files import input_pieces
from flowprism.notebook.columns import TYPES

# The columns of flow-record files, with addresses as dictionaries.
SCHEMA = pa.schema(
    [
        (c.name, TYPES["category"] if c.name in ADDRESS_COLUMNS else pa.from_numpy_dtype(np.dtype(c.dtype)))
        for c in FLOWS
    ]
)


def flow_batches(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """The records of all inputs, one after the other; at the end a warning says what was left out or is doubtful.

    Raises:
        InputError: an input cannot be used at all.
    """
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(paths))


def _batches(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    ingest_log = IngestLog()
    for flows in input_pieces(paths, ingest_log, None, SamplingRates()):
        if len(flows):
            yield _batch(flows)
    notes = ingest_log.notes()
    for text in (*(f"left out: {count} {reason}" for reason, count in notes.rejected.items()), *notes.warnings):
        warnings.warn(text, stacklevel=2)


def _batch(flows: Flows) -> pa.RecordBatch:
    book = pa.array(flows.addresses, pa.string())
    columns = []
    for field in SCHEMA:
        values = flows.frame[field.name]
        if field.name in ADDRESS_COLUMNS:
            columns.append(pa.DictionaryArray.from_arrays(pa.array(values, mask=values < 0), book))
        else:
            columns.append(pa.array(values, field.type))
    return pa.record_batch(columns, schema=SCHEMA)
