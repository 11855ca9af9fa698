"""`flowprism.analyze`, `flowprism.open` and `flowprism.read_flows`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from datamodel.cluster.inventory import Inventory
from datamodel.durations import HOUR_NS
from datamodel.errors import InputError
from datamodel.reports.report import Window
from flowprism.notebook.analysis import AnalysisFrames
from flowprism.notebook.data_frames import require

if TYPE_CHECKING:
    import pyarrow as pa

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


def analyze(paths: Paths, inventory: str | PathLike[str] | Inventory | None = None) -> AnalysisFrames:
    """Analyze captures, flow records or collected folders of one window, as `flowprism analyze` does.

    Args:
        paths: one file or folder, or several.
        inventory: its file; None for nothing known of the fabric.

    Raises:
        FlowprismError: an input or the inventory cannot be used, or pandas is not installed.
    """
    require("pandas")
    from flowprism import pipeline
    from flowprism.inputs.inventory_file import load_inventory
    from flowprism.notebook.sources import LocalSource
    from flowprism.worker_pool import WorkerPool

    known = inventory if isinstance(inventory, Inventory | None) else load_inventory(Path(inventory))
    options = pipeline.AnalysisOptions(crew=WorkerPool.asked(None, None))
    return AnalysisFrames(LocalSource(pipeline.analyze(_listed(paths), known, options), known))


def open(  # noqa: A001 - as in `gzip.open`
    url: str, token: str | None = None, start: str | datetime | None = None, end: str | datetime | None = None
) -> AnalysisFrames:
    """What a running service kept, over its HTTP API: the same frames as those of `analyze`.

    Args:
        url: of the service, such as `http://127.0.0.1:8080`.
        token: `fp_...`; None where the service asks for none.
        start: of the time to look at, UTC where it has no time zone; None for an hour before its end.
        end: of that time; None for the end of the newest scan.

    Raises:
        FlowprismError: the service cannot be reached or refuses, the time has no length, or pandas is not installed.
    """
    require("pandas")
    from flowprism.notebook.api_client import ApiClient
    from flowprism.notebook.service_source import ServiceSource, newest_end_ns

    client = ApiClient(url, token)
    end_ns = newest_end_ns(client, time.time_ns()) if end is None else _time_ns(end)
    start_ns = end_ns - HOUR_NS if start is None else _time_ns(start)
    if start_ns >= end_ns:
        raise InputError(f"{start} to {end}: the end is not behind the start")
    return AnalysisFrames(ServiceSource(client, Window(start_ns=start_ns, end_ns=end_ns)))


def read_flows(paths: Paths) -> pa.RecordBatchReader:
    """Flow records of captures, flow-record files or collected folders as a stream of Arrow record batches.

    The columns are those of flow-record files (docs/capture.md), addresses as dictionaries. A batch at a time is in
    memory: iterate over it, or give it to whatever reads Arrow streams.

    Raises:
        InputError: an input cannot be used at all; also while batches are read.
    """
    from flowprism.notebook.flow_batches import flow_batches

    return flow_batches(_listed(paths))


def _listed(paths: Paths) -> list[Path]:
    if isinstance(paths, str | PathLike):
        return [Path(fspath(paths))]
    return [Path(path) for path in paths]


def _time_ns(given: str | datetime) -> int:
    import pandas as pd

    try:
        moment = pd.Timestamp(given)
    except ValueError as error:
        raise InputError(f"{given}: not a time: {error}") from None
    return int((moment.tz_localize("UTC") if moment.tzinfo is None else moment).as_unit("ns").value)
