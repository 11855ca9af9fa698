"""`flowprism collect`, as it is typed; what it does is in `flowprism.cli.collecting`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.options import SamplingRates


def collect(
    out: Annotated[
        str, typer.Option(metavar="LAKE", help="Folder for the records, which `analyze` reads, or s3://BUCKET/PREFIX.")
    ],
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[tcp:]HOST:PORT",
            help="Listen here; may be repeated (default *:6343, *:2055, *:4739, tcp:*:4739).",
        ),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERFACE", help="Follow packets mirrored to this interface, - for a pcap stream; may be repeated."
        ),
    ] = None,
    erspan: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="End ERSPAN sessions at this address of ours; may be repeated."),
    ] = None,
    kafka: Annotated[
        str, typer.Option(metavar="TOPIC[,TOPIC]...", help="Read topics that another collector writes to.")
    ] = "",
    kafka_setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A librdkafka setting, bootstrap.servers at least; may be repeated."),
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", help="Workers that share the exporters.")] = 1,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="Only this network may send; may be repeated.")
    ] = None,
    sampling_rate: SamplingRates = None,
    commit_every: Annotated[
        float, typer.Option(metavar="SECONDS", help="Make records durable at least so often.")
    ] = 5.0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Also pack records and remove old ones, as `flowprism keep --every 10` does.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="For lock and status, where LAKE is no folder.")
    ] = None,
) -> None:
    """Receive sFlow, NetFlow, IPFIX, mirrored packets or Kafka topics, and keep the flow records.

    SIGTERM or Ctrl-C ends it; what was received is then stored. How it goes
    is in LAKE/status.json, every second (DIR/status.json beside a bucket). The usual ports are opened where
    no other source is named.
    """
    from flowprism.cli import collecting  # here, so that `--help` need not wait for the rest

    inputs = collecting.Inputs(listen or (), mirror or (), erspan or (), kafka, kafka_setting or ())
    lake = collecting.Lake(out, folder, keep)
    collecting.run(lake, inputs, workers, allow or (), sampling_rate or (), commit_every)
