"""`flowprism serve` and `flowprism api`, as typed; what they do is in `flowprism.cli.actions.service.serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import ComponentName

File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A YAML file of settings; without one, defaults.")]


def serve(
    file: File = None,
    component: Annotated[list[ComponentName] | None, typer.Option(help="Run only this component; repeatable.")] = None,
) -> None:
    """Run the service: collect, keep, scan, alert, answer.

    Each component is a process of its own and is restarted when it dies. SIGTERM or
    Ctrl-C ends all of them; what was received is then stored.
    """
    from flowprism.cli.actions.service.serve import run_service  # here, so that `--help` need not wait for the rest

    run_service(file, tuple(component or ()))


def api(file: File = None) -> None:
    """Run only the HTTP API and the dashboard, on the data that other hosts store."""
    from flowprism.cli.actions.service.serve import run_component  # as above

    run_component(file, ComponentName.API)
