"""`python -m flowprism.demo OUT.html`: one analysis of the bundled capture, as text on the screen and as a page."""

from __future__ import annotations

import os
import sys
from importlib.resources import as_file, files
from pathlib import Path

from datamodel.errors import FlowprismError
from flowprism import pipeline
from flowprism.cli.analysis import Outputs, write
from flowprism.cli.analyze import ReportFormat
from flowprism.cli.progress_bars import progress_bars
from flowprism.inventory_file import load_inventory
from flowprism.rendering.names import names_of


def show(page: Path) -> None:
    """Print the report of the bundled capture and write its HTML to `page`.

    Raises:
        FlowprismError: `page` cannot be written.
    """
    bundled = files("flowprism.demo")
    with as_file(bundled / "mirror.pcap.gz") as mirror, as_file(bundled / "inventory.yaml") as fabric:
        inventory = load_inventory(fabric)
        with progress_bars() as progress:
            analysis = pipeline.analyze([mirror], inventory, pipeline.AnalysisOptions(), progress)
    names = names_of(inventory)
    write(analysis, names, ReportFormat.HTML, Outputs(report=page))
    write(analysis, names, ReportFormat.TEXT, Outputs())


def main(arguments: list[str]) -> int:
    """Run `show` on the one argument; 2 and one line on stderr where that cannot be done."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m flowprism.demo OUT.html\n")
        return 2
    try:
        show(Path(arguments[0]))
        sys.stdout.write(f"\nHTML report: {Path(arguments[0]).resolve()}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough (`make run | head`); nor may the flush at exit complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except FlowprismError as error:
        sys.stderr.write(f"flowprism: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
