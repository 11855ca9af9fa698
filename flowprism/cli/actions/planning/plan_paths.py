"""A plan of paths from the command line: read the records, make it, compare it with an earlier one, write it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from datamodel.cluster.inventory import Inventory
from datamodel.reports.path_plan import PathPlan
from diagnose.paths.follow_up import follow_up
from flowprism.cli.arguments.choices import PlanFormat
from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.cli.output_errors import write_text
from flowprism.cli.progress_bars import progress_bars
from flowprism.gc_tuning import raise_gc_threshold
from flowprism.inputs.document_file import read_document
from flowprism.inputs.inventory_file import load_inventory
from flowprism.path_planning import plan_inputs
from flowprism.pipeline import AnalysisOptions
from flowprism.rendering.formats.path_plan_files import PlanFile, path_plan_file
from flowprism.rendering.formats.path_plan_text import print_path_plan

_PLAIN_COLUMNS = 120


def plan_files(
    paths: tuple[Path, ...],
    inventory: Path,
    rates: tuple[str, ...],
    job: str | None,
    plan_format: PlanFormat,
    out: Path | None,
    applied: Path | None,
) -> None:
    """Plan paths for the jobs of the inputs, and write the plan.

    Raises:
        FlowprismError: an input cannot be used, there is no such job, or the output cannot be written.
    """
    raise_gc_threshold()
    earlier = None if applied is None else read_document(applied, PathPlan, "plan of paths")
    options = AnalysisOptions(rates=parse_sampling_rates(rates), tables=False)
    known = load_inventory(inventory)
    with progress_bars() as progress:
        plan = plan_inputs(paths, known, options, job, progress or _silent)
    text = _text(plan if earlier is None else follow_up(earlier, plan), plan_format, known)
    write_text(text, out)


def _text(plan: PathPlan, plan_format: PlanFormat, inventory: Inventory) -> str:
    if plan_format is not PlanFormat.TEXT:
        return path_plan_file(plan, PlanFile(plan_format.value), inventory)
    held = StringIO()
    print_path_plan(plan, Console(file=held, width=_PLAIN_COLUMNS, highlight=False))
    return held.getvalue()


def _silent(stage: str, done: int, total: int) -> None:
    """Show no progress where stderr is no terminal."""
