"""What `analyze` and `decode` take in: files of any kind that capture reads, and folders that `collect` wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from capture.reading import merged, read_all
from capture.sampling import SamplingRates
from capture.stream import Progress
from datamodel.reading import Reading


def read_inputs(paths: Sequence[Path], progress: Progress | None, rates: SamplingRates) -> Reading:
    """The flow records of files and folders, one after the other, as if they were one.

    Raises:
        InputError: there is none, or one of them cannot be used at all.
    """
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        return read_all(paths, progress, rates)
    from storage.reading import read  # noqa: PLC0415 - importing pyarrow takes as long as reading a short capture

    files = [path for path in paths if not path.is_dir()]
    readings = [read(folder) for folder in folders]
    return merged([read_all(files, progress, rates), *readings] if files else readings)
