"""The shell: wires the rooms into one analysis and shows it to people. Everything here may import every other room.

For notebooks it offers `analyze`, `open`, `read_flows` and `AnalysisFrames`, imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowprism.notebook.analysis import AnalysisFrames
    from flowprism.notebook.entry_points import analyze, open, read_flows  # noqa: A004 - as in `gzip.open`

__version__ = "0.1.0"
__all__ = ["AnalysisFrames", "analyze", "open", "read_flows"]

_PLACES = {
    "AnalysisFrames": "flowprism.notebook.analysis",
    "analyze": "flowprism.notebook.entry_points",
    "open": "flowprism.notebook.entry_points",
    "read_flows": "flowprism.notebook.entry_points",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
