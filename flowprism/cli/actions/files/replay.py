"""A replay from the command line: read the capture, send its datagrams, say how it went."""

from __future__ import annotations

import math
from pathlib import Path

import typer

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from datamodel.errors import InputError
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import SendResult, send


def parse_pace(speed: float | None, rate: float | None, *, flat_out: bool) -> SendPace:
    """How fast to send, from the options.

    Raises:
        InputError: they contradict each other, or a number is not above 0.
    """
    if sum((speed is not None, rate is not None, flat_out)) > 1:
        raise InputError("--speed, --rate and --flat-out exclude each other")
    for name, value in (("speed", speed), ("rate", rate)):
        if value is not None and not (0 < value < math.inf):
            raise InputError(f"--{name} {value:g}: expected a number above 0")
    return SendPace(math.inf if flat_out else speed or 1.0, rate or 0.0)


def replay_capture(path: Path, to: str, how: SendPace) -> None:
    """Send the datagrams of `path` and print what was sent.

    Raises:
        InputError: the file holds no export datagrams, or nothing can be sent to `to`.
    """
    host, port = _endpoint(to)
    ingest_log = IngestLog()
    sent = send(read_datagrams(path, ingest_log), host, port, how)
    typer.echo(_summary(sent, to))
    if sent.cut:
        ingest_log.reject("datagram that the capture does not hold whole", sent.cut)
    for reason, count in ingest_log.notes().rejected.items():
        typer.echo(f"left out: {count} × {reason}")
    for warning in ingest_log.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if sent.refused:
        typer.echo(f"warning: {to} refused {sent.refused} datagrams: no process listens there", err=True)


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError(f"--to {text}: expected HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _summary(sent: SendResult, to: str) -> str:
    rate = sent.datagrams / sent.seconds if sent.seconds else 0.0
    mean_ms = 1000 * sent.late_s / sent.datagrams if sent.datagrams else 0.0
    return (
        f"sent {sent.datagrams} datagrams ({sent.bytes} bytes) to {to} in {sent.seconds:.3f} s ({rate:.0f}/s); "
        f"late by {mean_ms:.3f} ms on average, {1000 * sent.latest_s:.3f} ms at most"
    )
