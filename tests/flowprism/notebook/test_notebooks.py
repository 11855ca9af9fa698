"""The notebooks of docs/notebooks run from their first cell to the last, each in a folder of its own."""

from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.house.checkout import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an error, and its last cell shows something."""
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.reads(path.read_text(), as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert book.cells[-1]["outputs"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """They would change with every run; docs/notebooks.md names it."""
    book = json.loads(path.read_text())
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in book["cells"])
    assert f"notebooks/{path.name}" in (ROOT / "docs" / "notebooks.md").read_text()


def test_there_are_four() -> None:
    """The tests above hold something."""
    assert len(NOTEBOOKS) == 4
