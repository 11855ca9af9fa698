"""Each recorded case is analysed once in a session, with and without its inventory."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from datamodel.reports.analysis import Analysis
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from tests.acceptance.cases import Analysed, case


@pytest.fixture(scope="session")
def analysed(shared: Path) -> Analysed:
    """`analysed(name, inventory)` is the analysis of a case; a second call gives the same value again."""

    @cache
    def analysis(name: str, inventory: bool) -> Analysis:
        found = case(shared, name)
        known = load_inventory(found.inventory) if inventory else None
        return analyze([found.records], known, AnalysisOptions())

    return analysis
