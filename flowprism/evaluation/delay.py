"""How long a fault is on before it is named: windows that end ever later after its onset, analysed one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from datamodel.reports.truth import TrueFault, Truth
from flowprism.evaluation.case_analysis import analyze_case
from flowprism.evaluation.outcome import Delay
from flowprism.evaluation.scores import score_case
from flowprism.evaluation.suite import CaseFiles

# Windows end so many iterations after the onset; what none of them names is named too late to help.
ITERATIONS = (1, 2, 3, 4, 6, 8, 12)


def measure_delay(files: CaseFiles, truth: Truth, folder: Path) -> Delay | None:
    """From a case's first dated fault to the end of the first window that names it; None where nothing is to be found.

    A window holds the records that have ended by its end: those an exporter could have sent by then. A fault counts as
    named where the right kind is found with an accepted subject, alone or among suspects.
    """
    fault = next((f for f in truth.faults if not f.optional and f.start_ns is not None), None)
    if fault is None or fault.start_ns is None:
        return None
    ends = [end for job in truth.jobs if job.id == fault.job for _, end in job.iterations if end > fault.start_ns]
    records = pq.read_table(files.records)
    for count in ITERATIONS:
        until = ends[count - 1] if count <= len(ends) else fault.start_ns + count * (fault.iteration_ns or 0)
        window = folder / "window.parquet"
        pq.write_table(records.filter(pc.less_equal(records["time_flow_end_ns"], until)), window)
        if _named(replace(files, records=window), truth, fault):
            return Delay(iterations=count, seconds=round((until - fault.start_ns) / 1e9, 6))
    return Delay(iterations=None, seconds=None)


def _named(files: CaseFiles, truth: Truth, fault: TrueFault) -> bool:
    case = score_case(analyze_case(files), truth)
    return any(found.named > 0 for found in case.faults if found.fault == fault)
