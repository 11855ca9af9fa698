"""What a collector's worker saves by thinning out flow samples: processor time of decoding and storing.

usage: python -m benchmarks.service.thinning [--samples N]

In one process, without sockets and sender, so that other work on the machine hardly matters. The input is that of
`benchmarks.service.collector`. `samples/s` is what one core takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.decoding.export_inputs import datagrams
from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import SFLOW5, Datagrams
from flowprism.collector.warmup import warm_up
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer
from storage.lake.writer_session import begin_session

BATCH, COMMIT = 4096, 49_152  # datagrams; a worker under load commits when a quarter of its ring is used
SAMPLES_A_DATAGRAM = 6


def main() -> None:
    """Print a line for each thinning."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_800_000, help="how many are decoded for each line")
    batch = datagrams(SFLOW5, parser.parse_args().samples)
    warm_up(ExportDecoder())
    _measured(batch, 1)  # the first round also pays for memory
    print("".join(f"{head:>12}" for head in ("one in", "decode ns", "store ns", "samples/s")))
    for one_in in (1, 2, 4, 8, 16, 64):
        decode_s, store_s = _measured(batch, one_in)
        count = len(batch) * SAMPLES_A_DATAGRAM
        costs = (f"{1e9 * decode_s / count:.0f}", f"{1e9 * store_s / count:.0f}", f"{count / (decode_s + store_s):.3g}")
        print("".join(f"{value:>12}" for value in (one_in, *costs)), flush=True)


def _measured(batch: Datagrams, one_in: int) -> tuple[float, float]:
    """Processor seconds of decoding and of storing."""
    decoder, decode_s, store_s = ExportDecoder(), 0.0, 0.0
    decoder.thin(one_in)
    with tempfile.TemporaryDirectory() as name:
        session = begin_session(Path(name), 0.0)
        writer = LakeWriter(Path(name), Writer(session.name, 0), 1)
        for first in range(0, len(batch), BATCH):
            before_s = time.process_time()
            decoder.feed(Datagrams(batch.data, batch.index[first : first + BATCH]))
            decoded_s = time.process_time()
            decode_s += decoded_s - before_s
            if (first + BATCH) % COMMIT == 0 or first + BATCH >= len(batch):
                decoded = decoder.take()
                tables = (decoded.flows, decoded.counters, decoded.drops)
                writer.commit(CommitBatch(first + BATCH, tables, decoded.addresses, decoder.state()))
                store_s += time.process_time() - decoded_s
    return decode_s, store_s


if __name__ == "__main__":
    main()
