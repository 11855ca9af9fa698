"""What each stage of an analysis takes of it, by processor time of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

# What an analysis calls, in its order, under the name of what it is for; the rest is building the report.
STAGES = {
    "flowprism.pipeline": {
        "read_inputs": "read",
        "connections": "connections",
        "select_primary": "duplicates",
        "exporter_clocks": "clocks",
        "feed_findings": "feed",
        "cabling_findings": "cabling",
        "build_streams": "streams",
        "find_jobs": "jobs, iterations",
        "account_traffic": "traffic classes",
    },
    "flowprism.analysis.job_layout": {
        "transfers": "transfers",
        "infer_layout": "layout",
    },
    "flowprism.analysis.job_analysis": {
        "metered": "meters",
        "operations": "operations",
        "diagnose": "diagnosis",
        "events": "events",
        "spans": "timelines",
        "pair_table": "pairs",
        "function_patterns": "patterns",
    },
}


def timed(called: Mapping[str, Mapping[str, str]] = STAGES) -> dict[str, float]:
    """From now on, what each stage takes: stage -> seconds so far."""
    spent = {stage: 0.0 for stages in called.values() for stage in stages.values()}
    for name, stages in called.items():
        module = import_module(name)
        for function, stage in stages.items():
            setattr(module, function, _timed(getattr(module, function), stage, spent))
    return spent


def _timed(function: Callable[..., Any], stage: str, spent: dict[str, float]) -> Callable[..., Any]:
    def measured(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - stands for any of the stages
        before = time.process_time()
        result = function(*arguments, **named)
        spent[stage] += time.process_time() - before
        return result

    return measured
