"""Measures costs on this machine with the real stages: receive, decode, commit, read back and analyze simulations."""

from __future__ import annotations

import socket
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.receive import ring_header
from capture.receive.receiver import Receiver
from capture.receive.ring import Ring
from capture.receive.sockets import Listen, open_sockets
from capture.receive.source_filter import networks
from flowprism.feed_plan.cost_model import (
    SFLOW,
    Costs,
    CostSample,
    ProtocolCosts,
    StageCost,
    fit_line,
)
from flowprism.pipeline import AnalysisOptions, analyze
from simulate.case import simulate_feeds
from simulate.export.feed_spec import FeedSpec, Kind
from simulate.scenarios.sweep import Cell, sweep
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders

_DATAGRAMS, _DATAGRAM_BYTES, _RING_BYTES = 2_000, 1_344, 1 << 24  # what a socket's buffer of 4 MiB holds
_SPEED_GBPS, _RATE = 400.0, 16_384
_WRITER = Writer("20260101T000000000000Z", 0)
_REPEATS = 3  # the least of them counts: what else the machine does only adds
# Members of a job and samples that a scene is bounded to; iterations of 2 s. Members and records vary independently, so
# that both coefficients can be estimated.
_SCENES = ((8, 15_000), (8, 120_000), (24, 40_000), (48, 15_000), (48, 240_000))
_METERED_SCENES = ((8, 60), (8, 600), (24, 120), (48, 60), (48, 240))  # members, iterations: meters do not sample
_METERED_S = 0.05  # active and inactive timeout: short, for many records of little traffic


@dataclass(frozen=True, slots=True)
class MeasuredMix:
    """What the stages took of one feed.

    Attributes:
        records, endpoints: its size.
        decode_s, commit_s, analyze_s: processor time.
        stored_bytes: segments and manifest.
    """

    records: int
    endpoints: int
    decode_s: float
    commit_s: float
    analyze_s: float
    stored_bytes: int


def measure_costs(protocols: Sequence[Kind]) -> Costs:
    """Measure all stages; each is run once before, so that compiled code is loaded."""
    found = {}
    for protocol in protocols:
        datagrams = [
            (simulated_feed(protocol, *scene, seed), scene[0]) for seed, scene in enumerate(_scenes(protocol), 1)
        ]
        measure_mix(*datagrams[0])
        mixes = [least_mix(*row) for row in datagrams]
        peaks = [peak_bytes(feed) for feed, _ in datagrams]
        found[protocol] = _protocol_costs(mixes, peaks)
    return Costs(measure_receive_s(), found)


def _scenes(protocol: Kind) -> Sequence[tuple[int, int]]:
    return _SCENES if protocol == SFLOW else _METERED_SCENES


def simulated_feed(protocol: Kind, members: int, size: int, seed: int, *, rate: int = _RATE) -> Datagrams:
    """A feed of one job of so many members; `size` bounds samples, or is the number of iterations of a metered one."""
    if protocol == SFLOW:
        cell = Cell(FeedSpec(protocol, rate), _SPEED_GBPS, 2.0, members, samples=size)
    else:
        cell = Cell(
            FeedSpec(protocol, active_s=_METERED_S, inactive_s=_METERED_S), _SPEED_GBPS, 2.0, members, iterations=size
        )
    return simulate_feeds(sweep(cell), seed)[0].datagrams


def _protocol_costs(mixes: Sequence[MeasuredMix], peaks: Sequence[int]) -> ProtocolCosts:
    def line(cost: str, *, with_state: bool = False) -> StageCost:
        samples = [CostSample(mix.records, mix.endpoints, float(getattr(mix, cost))) for mix in mixes]
        return fit_line(samples, with_state=with_state)

    return ProtocolCosts(
        decode=line("decode_s"),
        commit=line("commit_s"),
        analyze=line("analyze_s", with_state=True),
        analyze_bytes=fit_line(
            [CostSample(mix.records, mix.endpoints, float(peak)) for mix, peak in zip(mixes, peaks, strict=True)],
            with_state=True,
        ),
        stored_bytes=line("stored_bytes"),
    )


def least_mix(datagrams: Datagrams, endpoints: int) -> MeasuredMix:
    """The least of some measurements, stage by stage."""
    mixes = [measure_mix(datagrams, endpoints) for _ in range(_REPEATS)]
    least = {name: min(getattr(mix, name) for mix in mixes) for name in ("decode_s", "commit_s", "analyze_s")}
    return replace(mixes[0], **least)


def measure_mix(datagrams: Datagrams, endpoints: int) -> MeasuredMix:
    """Decode, commit, read back and analyze a feed once."""
    with _committed(datagrams) as (folder, mix):
        before = time.process_time()
        analyze([folder], None, AnalysisOptions(tables=False))
        return replace(mix, endpoints=endpoints, analyze_s=time.process_time() - before)


@contextmanager
def _committed(datagrams: Datagrams) -> Iterator[tuple[Path, MeasuredMix]]:
    """A lake with a feed in one commit, and what decoding and committing took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_folders(folder)
        writer = LakeWriter(folder, _WRITER, 1)
        before = time.process_time()
        decoder = ExportDecoder()
        decoder.feed(datagrams)
        decoded = decoder.take()
        decoded_s = time.process_time()
        writer.commit(CommitBatch(len(datagrams), (decoded.flows,), decoded.addresses, decoder.state()))
        committed_s = time.process_time()
        stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        mix = MeasuredMix(decoder.records, 0, decoded_s - before, committed_s - decoded_s, 0.0, stored)
        yield folder, mix


def peak_bytes(datagrams: Datagrams) -> int:
    """Most memory that reading back and analyzing a feed allocates at a time."""
    with _committed(datagrams) as (folder, _):
        tracemalloc.start()
        try:
            analyze([folder], None, AnalysisOptions(tables=False))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def measure_receive_s() -> float:
    """Processor time to receive one full datagram from a socket into the ring."""
    took = []
    for _ in range(3):
        descriptor = ring_header.create(_RING_BYTES)
        ring = Ring(descriptor, _RING_BYTES)
        door = open_sockets((Listen("127.0.0.1", 0),), 1, 4 << 20)[0]
        try:
            sent = _send(door[0].socket.getsockname()[1])
            receiver = Receiver(ring, door, networks(()), lambda: True)
            before = time.process_time()
            receiver.run()
            took.append((time.process_time() - before) / sent)
        finally:
            door[0].socket.close()
    return min(took)


def _send(port: int) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        for _ in range(_DATAGRAMS):
            sender.send(bytes(_DATAGRAM_BYTES))
    return _DATAGRAMS
