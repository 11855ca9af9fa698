"""`flowprism backfill`, as it is typed; what it does is in `flowprism.cli.backfilling`."""

from __future__ import annotations

from typing import Annotated

import typer

from flowprism.cli.serve import File


def backfill(
    file: File = None,
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="Windows that end at this time or later.")] = "",
    until: Annotated[
        str, typer.Option(metavar="TIME", help="Windows that end by this time; now, where it is not given.")
    ] = "",
    policy: Annotated[str, typer.Option(metavar="NAME", help="Whose windows; the first policy's by default.")] = "",
    fill: Annotated[bool, typer.Option("--fill", help="Keep the verdicts of windows that were never scanned.")] = False,
) -> None:
    """Analyse past windows again with today's code, and say where it tells something else than was kept.

    Exits 0 where all is the same, 1 where something differs, 2 where a window
    cannot be compared. Nothing that was kept is changed.
    """
    from flowprism.cli import backfilling  # here, so that `--help` need not wait for the rest

    raise typer.Exit(backfilling.run(file, begin, until, policy, fill=fill))
