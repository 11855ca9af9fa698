"""What exporters of other vendors sent, through the real collector, beside what `decode` reads from the captures."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from capture.exporters.datagram import SFLOW5
from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.reader import read_flows
from datamodel.errors import InputError
from storage.lake.lake_reader import read_lake
from tests.flowprism.exports.test_cut_files import ARRIVAL, TIMES, Rows, rows, run
from tests.flowprism.test_collect import Running, collecting

pytestmark = pytest.mark.slow

MOST_DATAGRAMS = 400  # of a capture; larger ones say the same again


class Packet(NamedTuple):
    """A datagram of a capture.

    Attributes:
        source: of the exporter: two words of the address, and the port.
        protocol: see `capture.exporters.datagram`.
        content: its payload.
    """

    source: tuple[int, int, int]
    protocol: int
    content: bytes


def packets(path: Path) -> list[Packet]:
    """The export datagrams of a capture; none where it holds other packets too, or not all of a datagram."""
    found: list[Packet] = []
    try:
        for batch in read_datagrams(path, IngestLog()):
            index = batch.index
            if index["cut"].any() or index["in_session"].any():
                return []
            for row in index:
                at, size = int(row["offset"]), int(row["bytes"])
                source = (int(row["source_high"]), int(row["source_low"]), int(row["source_port"]))
                found.append(Packet(source, int(row["protocol"]), bytes(batch.data[at : at + size])))
    except InputError:
        return []
    return found


def agents(sent: list[Packet]) -> set[bytes]:
    """Whom sFlow datagrams are of, with the sub-agent."""
    ends = {b"\0\0\0\1": 16, b"\0\0\0\2": 28}  # by the type of address
    return {p.content[4 : ends[p.content[4:8]]] for p in sent if p.protocol == SFLOW5 and p.content[4:8] in ends}


def replay(running: Running, number: int, sent: list[Packet], sources: dict[tuple[int, int], int]) -> None:
    """Send a capture's datagrams, each source's from an address of its own and from its port.

    Args:
        running: the collector.
        number: of the capture.
        sent: what to send.
        sources: a number for each address of the capture.
    """
    sockets: dict[tuple[int, int, int], socket.socket] = {}
    for packet in sent:
        if packet.source not in sockets:
            sock = sockets[packet.source] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((f"127.{1 + number // 200}.{number % 200}.{sources[packet.source[:2]]}", packet.source[2]))
        sockets[packet.source].sendto(packet.content, ("127.0.0.1", running.port()))
    for sock in sockets.values():
        sock.close()


def chosen(corpus: Path) -> Iterator[tuple[Path, list[Packet]]]:
    """Captures with datagrams that can be sent again; of each sFlow agent one, for all arrive at one collector."""
    known: set[bytes] = set()
    for path in sorted(corpus.rglob("*.pcap*")):
        sent = packets(path)
        if 0 < len(sent) <= MOST_DATAGRAMS and not agents(sent) & known:
            known |= agents(sent)
            yield path, sent


def test_what_is_collected_is_what_is_decoded(shared: Path, tmp_path: Path) -> None:
    """Of every capture of the corpus, with the collector restarted twice, each time anywhere in each of them."""
    captures = list(chosen(shared / "corpus"))
    chance = random.Random(5)  # noqa: S311 - a fixed seed is the point
    cuts = [[0, *sorted(chance.randint(0, len(sent)) for _ in range(2)), len(sent)] for _, sent in captures]
    expected = Rows()
    for n, (path, _) in enumerate(captures):
        out = tmp_path / f"{n}.parquet"
        run("decode", path, "--out", out)
        expected += rows(read_flows(out).flows, ARRIVAL + TIMES)
    for part in range(3):
        with collecting(tmp_path / "lake") as running:
            for n, ((_, sent), ends) in enumerate(zip(captures, cuts, strict=True)):
                sources = {one: n for n, one in enumerate(dict.fromkeys(p.source[:2] for p in sent), 1)}
                replay(running, n, sent[ends[part] : ends[part + 1]], sources)
            running.stop()
    found = rows(read_lake(tmp_path / "lake").flows, ARRIVAL + TIMES)
    assert len(captures) > 30
    assert (found - expected, expected - found) == (Rows(), Rows())
