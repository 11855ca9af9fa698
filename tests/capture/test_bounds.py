"""No kernel reads outside the bytes it was given, whatever they are, and it says the same compiled and not."""

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET, Packets
from capture.tables.frame_index import INDEX
from tests.capture.frames import (
    A,
    B,
    aeth,
    bth,
    decoded,
    erspan2,
    ethernet,
    ip,
    ip6,
    meaning,
    pcap,
    reth,
    roce_frame,
    tcp_frame,
    udp,
)

LINKS = (0, 1, 12, 14, 101, 108, 113, 147, 228, 229, 276)
VXLAN = b"\x08\0\0\0\0\0\x4d\0"
SAMPLES = (
    tcp_frame(1, 100),
    roce_frame(0x06, 5, 6, reth(4096) + bytes(256)),
    roce_frame(0x11, 5, 6, aeth(0x60)),
    erspan2(roce_frame(0x0B, 5, 6, reth(64) + bytes(68)), "192.0.2.1", 3),
    ethernet(ip(17, udp(1, 4789, VXLAN + tcp_frame(5, 6)), A, B)),
    ethernet(ip(17, udp(1, 6081, b"\x02\0\x65\x58\0\0\0\0" + bytes(8) + tcp_frame(5, 6)), A, B)),
    ethernet(ip6(0, b"\x2c\0" + bytes(6) + b"\x11\0\0\1\0\0\0\1" + udp(1, 4791, bth(4, 5, 6, bytes(64))), "::1", "::2"),
             0x86DD, ((0x88A8, 1), (0x8100, 2))),
    ethernet(b"\0\x01\x01\x40"
             + ip(47, b"\x30\0\x22\xeb" + bytes(8) + b"\x20\0\0\1" + bytes(7) + b"\1" + bytes(8)), 0x8847),
)  # fmt: skip


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Random bytes, or a good frame with bytes changed and its end cut off."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=160))
    frame = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(0, 4))):
        frame[draw(st.integers(0, len(frame) - 1))] = draw(st.integers(0, 255))
    return bytes(frame[: draw(st.integers(0, len(frame)))])


def in_the_middle_of(filler: int, frame: bytes, link: int) -> Packets:
    """The packet row of `frame` with bytes `filler` all around it."""
    data = np.full(len(frame) + 512, filler, np.uint8)
    data[256 : 256 + len(frame)] = np.frombuffer(frame, np.uint8)
    index, row = np.zeros(1, INDEX), np.zeros(1, PACKET)
    index["offset"], index["captured_bytes"], index["wire_bytes"] = 256, len(frame), len(frame)
    index["link"], index["time_ns"] = link, 1
    decode(data, index, row)
    return row


@given(frame=frames(), link=st.sampled_from(LINKS))
def test_bytes_around_a_frame_do_not_matter(frame: bytes, link: int) -> None:
    """A frame decodes to the same row whatever lies before and behind it: nothing outside is read."""
    rows = [in_the_middle_of(filler, frame, link) for filler in (0x00, 0x45, 0xFF)]
    assert meaning(rows[0]) == meaning(rows[1]) == meaning(rows[2])


@given(content=st.binary(max_size=300), start=st.sampled_from([pcap([]), pcap([], order=">"), b"\x0a\x0d\x0d\x0a"]))
def test_any_bytes_behind_a_magic_are_survived(content: bytes, start: bytes) -> None:
    """Containers of random content neither crash nor yield frames outside the file."""
    rows = decoded(start + content) if len(start + content) >= 4 else np.zeros(0, PACKET)
    assert len(rows) <= len(content) // 12


def mutated_capture(seed: int) -> bytes:
    """A capture of good, changed, cut and random frames on one link type."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    out = []
    for i in range(150):
        frame = bytearray(chance.choice(SAMPLES))
        for _ in range(chance.randrange(4)):
            frame[chance.randrange(len(frame))] = chance.randrange(256)
        out.append(
            (10**9 + i * 1000, bytes(frame[: chance.randrange(len(frame) + 1)] if chance.random() < 0.5 else frame))
        )
    return pcap(out)


FOLLOW = """
import sys, hashlib
from pathlib import Path
from capture.reader import read_flows
from tests.capture.test_bounds import digest
print(digest(Path(sys.argv[1])))
"""


def digest(path: Path) -> str:
    """Condensed packet rows and flow records of a capture."""
    from capture.reader import read_flows  # noqa: PLC0415 - also runs in a process of its own

    condensed = hashlib.sha256(repr(meaning(decoded(path.read_bytes()))).encode())
    reading = read_flows(path)
    for column in reading.flows.frame.columns().values():
        condensed.update(column.tobytes())
    condensed.update(repr((reading.flows.addresses, reading.notes)).encode())
    return condensed.hexdigest()


def test_compiled_and_not_say_the_same(tmp_path: Path) -> None:
    """Damaged captures give equal packets, flow records and counts without the compiler, which checks every index."""
    for seed in range(3):
        path = tmp_path / f"{seed}.pcap"
        path.write_bytes(mutated_capture(seed))
        plain = subprocess.run(
            [sys.executable, "-W", "error", "-c", FOLLOW, str(path)],
            env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert plain.stdout.strip() == digest(path)
