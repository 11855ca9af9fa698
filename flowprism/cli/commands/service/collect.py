"""`flowprism collect`, as it is typed; what it does is in `flowprism.cli.actions.service.collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import SamplingRates


def collect(
    out: Annotated[
        str, typer.Option(metavar="LAKE", help="Folder for the records, which `analyze` reads, or s3://BUCKET/PREFIX.")
    ],
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[tcp:]HOST:PORT",
            help="Listening address; repeatable (default *:6343, *:2055, *:4739, tcp:*:4739).",
        ),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERFACE", help="Interface that receives mirrored packets, - for a pcap stream; repeatable."
        ),
    ] = None,
    erspan: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Local address that terminates ERSPAN sessions; repeatable."),
    ] = None,
    kafka: Annotated[
        str, typer.Option(metavar="TOPIC[,TOPIC]...", help="Kafka topics that another collector writes.")
    ] = "",
    kafka_setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="librdkafka setting, at least bootstrap.servers; repeatable."),
    ] = None,
    workers: Annotated[
        str,
        typer.Option(
            metavar="N[-M]", help="Number of workers that share the exporters; a range such as 1-4: as load demands."
        ),
    ] = "1",
    allow: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="Accept datagrams only from this network; repeatable.")
    ] = None,
    sampling_rate: SamplingRates = None,
    commit_every: Annotated[
        float, typer.Option(metavar="SECONDS", help="Maximum time until records are durable.")
    ] = 5.0,
    no_thinning: Annotated[
        bool, typer.Option("--no-thinning", help="Keep all sFlow samples even if a worker cannot keep up.")
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--compact", help="Also merge segments and remove old records, as `flowprism compact --every 10` does."
        ),
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for lock and status if LAKE is a bucket.")
    ] = None,
) -> None:
    """Receive sFlow, NetFlow, IPFIX, mirrored packets or Kafka topics, and store the flow records.

    SIGTERM or Ctrl-C ends it; what was received is then stored. How it goes
    is in LAKE/status.json, every second (DIR/status.json for a bucket). The usual ports are opened where
    no other source is named.
    """
    from flowprism.cli.actions.service.collect import (  # here, so that `--help` need not wait for the rest
        Inputs,
        Lake,
        Work,
        run_collector,
    )

    inputs = Inputs(listen or (), mirror or (), erspan or (), kafka, kafka_setting or ())
    lake = Lake(out, folder, keep)
    run_collector(lake, inputs, Work(workers, commit_every, thinning=not no_thinning), allow or (), sampling_rate or ())
