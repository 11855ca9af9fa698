"""`flowprism replay`, as it is typed; what it does is in `flowprism.cli.actions.files.replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A capture of export datagrams, or their payloads.")],
    to: Annotated[str, typer.Option(metavar="HOST:PORT", help="The collector to send to.")],
    speed: Annotated[
        float | None, typer.Option(metavar="X", help="Speed relative to the recording (default 1).")
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="N", help="Send N datagrams per second, evenly spaced.")] = None,
    flat_out: Annotated[bool, typer.Option("--flat-out", help="Send as fast as possible.")] = False,
) -> None:
    """Send captured export datagrams to a collector, with their original timing.

    They come from this machine's address: exporters that name no agent
    address of their own (NetFlow, IPFIX) become one.
    """
    from flowprism.cli.actions.files.replay import (  # here, so that `--help` need not wait for the decoders
        parse_pace,
        replay_capture,
    )

    replay_capture(path, to, parse_pace(speed, rate, flat_out=flat_out))
