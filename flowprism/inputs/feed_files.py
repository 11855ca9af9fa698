"""What `analyze` and `decode` take in: files of any kind that capture reads, folders of them or of `collect`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from capture.configured_rates import SamplingRates
from capture.files.decompression import Progress
from capture.ingest_log import IngestLog
from capture.piecewise_reader import iter_flows
from capture.reader import merged, read_all
from datamodel.errors import InputError
from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.inputs.analysis_window import AnalysisWindow, newest_ns, since

ALL = AnalysisWindow()


def read_inputs(
    paths: Sequence[Path], progress: Progress | None, rates: SamplingRates, period: AnalysisWindow = ALL
) -> IngestResult:
    """The flow records of files and folders, one after the other, as if they were one.

    Of folders only what is of the period is read. What was rejected or lost is reported for all of them.

    Raises:
        InputError: there is none, or one of them cannot be used at all.
    """
    files, folders = _files_and_folders(paths)
    readings = [read_all(files, progress, rates)] if files or not folders else []
    newest = [newest_ns(reading.flows) for reading in readings]
    if folders:
        from storage.lake import lake_reader as lake  # noqa: PLC0415 - importing pyarrow takes as long as a short capture
        from storage.lake.selection import Selection  # noqa: PLC0415

        newest += [lake.find_newest_ns(folder) for folder in folders]
        begin_ns = period.begin_ns(max((n for n in newest if n is not None), default=None))
        readings += [lake.read_lake(folder, Selection(start_ns=begin_ns)) for folder in folders]
    else:
        begin_ns = period.begin_ns(newest[0])
    return merged([_since(reading, begin_ns) for reading in readings])


def input_pieces(
    paths: Sequence[Path], ingest_log: IngestLog, progress: Progress | None, rates: SamplingRates
) -> Iterator[Flows]:
    """The same records piece by piece, first those of files.

    Args:
        paths: files and folders, at least one.
        ingest_log: receives what was rejected or is doubtful.
        progress: as for `capture.reader.read_all`.
        rates: sampling rates of exporters that send none or a wrong one.

    Raises:
        InputError: there is none, or one of them cannot be used at all.
    """
    if not paths:
        raise InputError("no input files given")
    files, folders = _files_and_folders(paths)
    if files:
        yield from iter_flows(files, ingest_log, progress, rates)
    for folder in folders:
        from storage.lake.lake_reader import iter_lake  # noqa: PLC0415 - importing pyarrow takes as long as a short capture

        for reading in iter_lake(folder):
            for reason, count in reading.notes.rejected.items():
                ingest_log.reject(reason, count)
            for warning in reading.notes.warnings:
                ingest_log.warn(warning)
            yield reading.flows


def _files_and_folders(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """(files to read, folders of collected records); of any other folder the files in it and below, by name.

    Raises:
        InputError: there is no file in such a folder.
    """
    files, folders = [path for path in paths if not path.is_dir()], [path for path in paths if path.is_dir()]
    if not folders:
        return files, []
    from storage.lake.object_names import is_store  # noqa: PLC0415 - importing pyarrow takes as long as a short capture

    collected = [folder for folder in folders if is_store(folder)]
    for folder in folders:
        if folder not in collected:
            inside = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
            if not inside:
                raise InputError(f"{folder}: no file in this folder")
            files += inside
    return files, collected


def _since(reading: IngestResult, begin_ns: int | None) -> IngestResult:
    if begin_ns is None:
        return reading
    flows = since(reading.flows, begin_ns)
    return replace(reading, flows=flows, records=len(flows), bytes=int(flows.frame["bytes"].sum()))
