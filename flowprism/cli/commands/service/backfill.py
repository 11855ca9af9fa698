"""`flowprism backfill`, as it is typed; what it does is in `flowprism.cli.actions.service.backfill`."""

from __future__ import annotations

from typing import Annotated

import typer

from flowprism.cli.commands.service.serve import File


def backfill(
    file: File = None,
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="Windows that end at this time or later.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Windows that end by this time; default: now.")] = "",
    policy: Annotated[str, typer.Option(metavar="NAME", help="Policy of the windows; default: the first one.")] = "",
    fill: Annotated[
        bool, typer.Option("--fill", help="Store the verdicts of windows that were never scanned.")
    ] = False,
) -> None:
    """Analyze past windows again with the current code and report what differs from the stored verdicts.

    Exits 0 where all is the same, 1 where something differs, 2 where a window
    cannot be compared. Nothing that was kept is changed.
    """
    # Here, so that `--help` need not wait for the rest.
    from flowprism.cli.actions.service.backfill import backfill_windows

    raise typer.Exit(backfill_windows(file, begin, until, policy, fill=fill))
