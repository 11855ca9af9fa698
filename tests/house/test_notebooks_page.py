"""docs/notebooks.md lists the public names, columns, dtypes and units that there are."""

from __future__ import annotations

import inspect
import re

import pytest

import flowprism
from flowprism.notebook.columns import FRAMES, FrameColumns
from tests.house.checkout import ROOT, rows

PAGE = "docs/notebooks.md"


def public_names() -> set[str]:
    """What `import flowprism` offers, and what an analysis has."""
    members = {f"AnalysisFrames.{name}" for name in vars(flowprism.AnalysisFrames) if not name.startswith("_")}
    return {f"flowprism.{name}" for name in flowprism.__all__} | members


def written() -> dict[str, str]:
    """Name -> what stands between its parentheses on the page; empty without any."""
    cells = (row[0].strip("`") for row in rows(PAGE, "Names"))
    return {name.partition("(")[0]: name.partition("(")[2].rstrip(")") for name in cells}


def test_every_public_name_is_listed() -> None:
    """No more and no less."""
    assert set(written()) == public_names()


@pytest.mark.parametrize("name", [name for name, arguments in written().items() if arguments])
def test_arguments_are_as_written(name: str) -> None:
    """Names, order and defaults."""
    owner, _, own = name.partition(".")
    called = getattr(flowprism if owner == "flowprism" else flowprism.AnalysisFrames, own)
    parameters = [one for one in inspect.signature(called).parameters.values() if one.name != "self"]
    expected = [one.name if one.default is one.empty else f"{one.name}={one.default}" for one in parameters]
    assert written()[name].split(", ") == expected


@pytest.mark.parametrize("declared", FRAMES, ids=lambda one: one.name)
def test_columns_are_as_written(declared: FrameColumns) -> None:
    """Name, dtype, unit and meaning of each column, in order."""
    text = (ROOT / PAGE).read_text()
    (heading,) = re.findall(rf"^## (AnalysisFrames\.{declared.name}\b.*)$", text, re.MULTILINE)
    assert rows(PAGE, heading) == [[c.name, c.dtype, c.unit, c.meaning] for c in declared.columns]


def test_no_frame_is_left_out() -> None:
    """The page has a section for each frame and no other."""
    headings = re.findall(r"^## AnalysisFrames\.(\w+)", (ROOT / PAGE).read_text(), re.MULTILINE)
    assert headings == [one.name for one in FRAMES]
