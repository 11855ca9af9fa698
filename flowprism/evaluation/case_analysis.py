"""A case's files analysed as a user would: the records, and the inventory where there is one."""

from __future__ import annotations

from datamodel.cluster.inventory import Inventory
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import Report
from flowprism.evaluation.suite import CaseFiles
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze


def load_case_inventory(files: CaseFiles) -> Inventory | None:
    """The case's inventory, if it has one."""
    return load_inventory(files.inventory) if files.inventory.exists() else None


def analyze_case(files: CaseFiles) -> Report:
    """Our report of a case."""
    return analyze_whole_case(files).report


def analyze_whole_case(files: CaseFiles) -> Analysis:
    """The same with all its tables."""
    return analyze([files.records, *files.further], load_case_inventory(files), AnalysisOptions())
