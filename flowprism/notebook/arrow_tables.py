"""Reports, iterations, spans and pairs as Arrow tables of the declared columns: the same from files and a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datamodel.frame import Frame
from datamodel.reconstructed.traffic import TRAFFIC_CLASSES
from datamodel.reports.findings import Finding
from datamodel.reports.layout import Sizes
from datamodel.reports.report import JobReport
from flowprism.notebook.columns import (
    EVIDENCE,
    FINDINGS,
    ITERATIONS,
    JOBS,
    PAIRS,
    SERVING,
    SUSPECTS,
    TIMELINE,
    TRAFFIC,
    FrameColumns,
)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JobIterations:
    """One job's iterations, (iterations,) each; `error_ns` is -1 where it is not known."""

    job: str
    index: Ints
    start_ns: Ints
    end_ns: Ints
    error_ns: Ints


def build(declared: FrameColumns, columns: Mapping[str, Any]) -> pa.Table:
    """A table of the declared columns, in their order and types; categories are sorted and all in use."""
    made = [_column(columns[field.name], field.type) for field in declared.schema]
    return pa.table(made, schema=declared.schema)


def jobs_table(reports: Sequence[JobReport]) -> pa.Table:
    """One row a job, in order of the ids."""
    rows = sorted(reports, key=lambda one: one.id)
    layouts = [one.layout for one in rows]
    columns = {
        "job": [one.id for one in rows],
        "label": [one.label for one in rows],
        "tenant": [one.tenant for one in rows],
        "endpoints": [len(one.endpoints) for one in rows],
        "hosts": [len(one.hosts) for one in rows],
        "world_size": [one.world_size for one in rows],
        **{name: [getattr(one, name) for one in layouts] for name in Sizes.model_fields},
        "sharding": [one.sharding for one in layouts],
        "layout_confidence_ratio": [one.confidence for one in layouts],
        "iteration_time_s": [one.period_s for one in rows],
        "smallest_slowdown_ratio": [one.detectability.smallest_slowdown_ratio for one in rows],
        "weight_sync_s": [None if one.post_training is None else one.post_training.sync_s for one in rows],
        "rollout_gap_s": [None if one.post_training is None else one.post_training.rollout_gap_s for one in rows],
    }
    return build(JOBS, columns)


def iterations_table(parts: Sequence[JobIterations]) -> pa.Table:
    """Iterations of all jobs, in order of the jobs' ids and of the iterations."""
    parts = sorted(parts, key=lambda one: one.job)
    index, start_ns, end_ns, error_ns = (
        np.concatenate([np.empty(0, np.int64), *(getattr(one, name) for one in parts)])
        for name in ("index", "start_ns", "end_ns", "error_ns")
    )
    codes = np.repeat(np.arange(len(parts), dtype=np.int32), [len(one.index) for one in parts])
    columns = {
        "job": pa.DictionaryArray.from_arrays(codes, pa.array([one.job for one in parts], pa.string())),
        "iteration": index,
        "start": start_ns,
        "end": end_ns,
        "duration_s": (end_ns - start_ns) / 1e9,
        "duration_error_s": pa.array(error_ns / 1e9, mask=error_ns < 0),
    }
    return build(ITERATIONS, columns)


def timeline_table(spans: pa.Table) -> pa.Table:
    """Spans as `flowprism.rendering.formats.timelines_file.to_arrow` gives them, in order of endpoint and time."""
    start_ns, end_ns = (np.asarray(spans[name].to_numpy(), np.int64) for name in ("start_ns", "end_ns"))
    columns = {
        **{name: spans[name] for name in ("endpoint", "iteration", "span", "peer", "bytes", "group")},
        "start": start_ns,
        "end": end_ns,
        "duration_s": (end_ns - start_ns) / 1e9,
    }
    made = build(TIMELINE, columns)
    codes = [made[name].combine_chunks().indices.to_numpy() for name in ("span", "endpoint")]
    return made.take(np.lexsort((codes[0], end_ns, start_ns, codes[1])))


def pairs_table(pairs: pa.Table) -> pa.Table:
    """Pairs as `flowprism.rendering.formats.pairs_arrow.pairs_to_arrow` gives them, in order of sender and receiver."""
    made = build(PAIRS, {name: pairs[name] for name in PAIRS.schema.names})
    keys = [made[name].combine_chunks().indices.to_numpy() for name in ("role", "dst", "src")]
    return made.take(np.lexsort(keys))


def findings_table(found: Sequence[Finding]) -> pa.Table:
    """One row a finding, in order of begin and id."""
    rows = in_order(found)
    columns = {
        "finding": [one.id for one in rows],
        "start": [one.start_ns for one in rows],
        "end": [one.end_ns for one in rows],
        "confidence_ratio": [one.confidence for one in rows],
        "subject_type": [one.subject.type for one in rows],
        "subject": [" ".join(one.subject.ids) for one in rows],
        **{
            name: [getattr(one, name) for one in rows]
            for name in ("job", "kind", "cause", "severity", "slowdown_ratio", "summary", "action")
        },
    }
    return build(FINDINGS, columns)


def suspects_table(found: Sequence[Finding]) -> pa.Table:
    """One row a suspect, in order of the findings."""
    rows = [(one.id, each) for one in in_order(found) for each in one.suspects]
    columns = {
        "finding": [name for name, _ in rows],
        "type": [each.type for _, each in rows],
        "subject": [" ".join(each.ids) for _, each in rows],
        "probability_ratio": [each.probability for _, each in rows],
    }
    return build(SUSPECTS, columns)


def evidence_table(found: Sequence[Finding]) -> pa.Table:
    """One row a measured number, in order of the findings."""
    rows = [(one.id, each) for one in in_order(found) for each in one.evidence]
    columns = {
        "finding": [name for name, _ in rows],
        "start": [each.window_ns[0] for _, each in rows],
        "end": [each.window_ns[1] for _, each in rows],
        **{
            name: [getattr(each, name) for _, each in rows] for name in ("metric", "value", "baseline", "unit", "where")
        },
    }
    return build(EVIDENCE, columns)


def traffic_table(traffic: Frame, addresses: Sequence[str]) -> pa.Table:
    """Rows of `datamodel.reconstructed.traffic.TRAFFIC`, in order of endpoint, minute and class."""
    columns = {
        "endpoint": _named(traffic["endpoint"], addresses),
        "minute": traffic["minute_ns"],
        "traffic_class": _named(traffic["traffic_class"], TRAFFIC_CLASSES),
        **{name: traffic[name] for name in ("sent_bytes", "received_bytes")},
    }
    made = build(TRAFFIC, columns)
    codes = [made[name].combine_chunks().indices.to_numpy() for name in ("traffic_class", "endpoint")]
    return made.take(np.lexsort((codes[0], traffic["minute_ns"], codes[1])))


def serving_table(serving: Frame, addresses: Sequence[str]) -> pa.Table:
    """Rows of `datamodel.reconstructed.traffic.SERVING_PAIRS`, in their order: the largest first."""
    columns = {
        **{name: _named(serving[name], addresses) for name in ("src", "dst")},
        **{name: serving[name] for name in ("bytes", "transfers")},
        "goodput_bps": pa.array(serving["goodput_bps"], from_pandas=True),
    }
    return build(SERVING, columns)


def _named(codes: Ints, names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(names, pa.string()))


def in_order(found: Sequence[Finding]) -> list[Finding]:
    """Findings in order of begin and id."""
    return sorted(found, key=lambda one: (one.start_ns, one.id))


def _column(values: Any, kind: pa.DataType) -> pa.Array:  # noqa: ANN401 - what pyarrow makes columns of
    if pa.types.is_dictionary(kind):
        return _categories(values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.cast(kind)
    return pa.array(values, kind)


def _categories(values: Any) -> pa.DictionaryArray:  # noqa: ANN401 - texts, or texts that Arrow holds already
    """Texts as codes into those in use, sorted; null stays null."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.array(values, pa.string())
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    used = np.zeros(len(encoded.dictionary) + 1, np.bool_)  # the last one serves null
    used[codes] = True
    book = encoded.dictionary.filter(pa.array(used[:-1]))
    order = pc.sort_indices(book).to_numpy()
    table = np.full(len(used), -1, np.int32)
    table[np.flatnonzero(used[:-1])[order]] = np.arange(len(order))
    return pa.DictionaryArray.from_arrays(pa.array(table[codes], mask=codes == len(used) - 1), book.take(order))
