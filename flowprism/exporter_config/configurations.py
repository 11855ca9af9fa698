"""Reads the configurations of a folder: running configurations as Oxidized or RANCID keep them, or written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from datamodel.errors import InputError
from flowprism.exporter_config.dialects import DIALECTS, recognize
from flowprism.exporter_config.model import ExportConfig

MOST_BYTES = 64 * 1024 * 1024
_UNREADABLE = "\0"  # no configuration holds it


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not used, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Configurations:
    """What stands in the files."""

    configs: tuple[ExportConfig, ...]
    skipped: tuple[Skipped, ...]


def read_configurations(paths: Iterable[Path]) -> Configurations:
    """Read files, and all files of folders, in the order of their names.

    Raises:
        InputError: a path does not exist, or no file of them all is a configuration that is understood.
    """
    configs: list[ExportConfig] = []
    skipped: list[Skipped] = []
    for file in [file for path in paths for file in _files(path)]:
        try:
            configs.append(_read(file))
        except InputError as error:
            skipped.append(Skipped(str(file), str(error).removeprefix(f"{file}: ")))
    if not configs:
        reasons = f": {skipped[0].file}: {skipped[0].reason}" if skipped else ""
        raise InputError(f"no configuration was understood{reasons}")
    return Configurations(tuple(configs), tuple(skipped))


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not path.is_dir():
        yield path
        return
    for found in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in found.relative_to(path).parts)
        if found.is_file() and not hidden:
            yield found


def _read(file: Path) -> ExportConfig:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError(f"{file}: larger than {MOST_BYTES >> 20} MiB")
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    vendor = None if _UNREADABLE in text else recognize(text)
    if vendor is None:
        raise InputError(f"{file}: not recognized as a vendor's configuration")
    return DIALECTS[vendor].read(text, str(file))
