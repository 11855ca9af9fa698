"""Cuts a stretch of time out of a capture; how flowprism/demo/mirror.pcap.gz was made (see the README there).

usage: python -m tests.data.demo.shorten CAPTURE.pcap.gz FROM_S TO_S OUT.pcap.gz

FROM_S and TO_S count from the first packet. Packets are copied as they are; classic little-endian pcap only. The same
arguments give the same bytes.
"""

from __future__ import annotations

import gzip
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

# Magic number -> fractions of a second in the second half of a time stamp.
FRACTIONS = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}
HEADER = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")


def records(file: gzip.GzipFile, fractions: int) -> Iterator[tuple[float, bytes]]:
    """Seconds since the first packet, and the record with its header, of every whole packet."""
    began: tuple[int, int] | None = None
    while len(head := file.read(RECORD.size)) == RECORD.size:
        second, fraction, captured_bytes, _ = RECORD.unpack(head)
        frame = file.read(captured_bytes)
        if len(frame) < captured_bytes:
            return
        began = began or (second, fraction)
        yield second - began[0] + (fraction - began[1]) / fractions, head + frame


def shorten(source: Path, from_s: float, to_s: float, target: Path) -> int:
    """Copy the packets of [from_s, to_s); returns how many.

    Raises:
        ValueError: `source` is no classic little-endian pcap.
    """
    count = 0
    with gzip.open(source) as whole, target.open("wb") as raw:
        header = whole.read(HEADER.size)
        fractions = FRACTIONS.get(int.from_bytes(header[:4], "little"))
        if fractions is None:
            raise ValueError(f"{source}: no classic little-endian pcap")
        with gzip.GzipFile("", "wb", 9, raw, mtime=0) as part:
            part.write(header)
            for at_s, record in records(whole, fractions):
                if from_s <= at_s < to_s:
                    part.write(record)
                    count += 1
    return count


if __name__ == "__main__":
    capture, begin, end, out = sys.argv[1:]
    sys.stdout.write(f"{shorten(Path(capture), float(begin), float(end), Path(out))} packets\n")
