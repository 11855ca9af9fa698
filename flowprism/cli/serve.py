"""`flowprism serve` and `flowprism api`, as they are typed; what they do is in `flowprism.cli.serving`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.options import PartName

File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A YAML file of settings; without one, defaults.")]


def serve(
    file: File = None,
    part: Annotated[
        list[PartName] | None, typer.Option(help="Run this part, and none that is not named; may be repeated.")
    ] = None,
) -> None:
    """Run the service: collect, keep, scan, alert, answer.

    Each part is a process of its own, started again when it dies. SIGTERM or
    Ctrl-C ends all of them; what was received is then stored.
    """
    from flowprism.cli import serving  # here, so that `--help` need not wait for the rest

    serving.serve(file, tuple(part or ()))


def api(file: File = None) -> None:
    """Run the HTTP API and the dashboard alone, on what other machines keep."""
    from flowprism.cli import serving  # as above

    serving.run_alone(file, PartName.API)
