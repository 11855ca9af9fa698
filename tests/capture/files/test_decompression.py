"""Files as streams of decompressed blocks."""

import gzip
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from capture.files.decompression import BLOCK_BYTES, ahead, read_blocks
from capture.ingest_log import IngestLog
from datamodel.errors import InputError
from tests.capture.frames import save

CONTENT = random.Random(1).randbytes(300_000) + bytes(5_000_000)  # noqa: S311 - a fixed seed is the point


def unpacked(path: Path, ingest_log: IngestLog | None = None) -> bytes:
    """The whole content of a file."""
    return b"".join(read_blocks(path, ingest_log or IngestLog()))


@pytest.mark.parametrize(
    "packed",
    [
        CONTENT,
        gzip.compress(CONTENT),
        gzip.compress(CONTENT[:1000]) + bytes(512) + gzip.compress(CONTENT[1000:]),
        zstandard.compress(CONTENT),
        zstandard.compress(CONTENT[:1000]) + zstandard.compress(CONTENT[1000:]),
    ],
    ids=["plain", "gzip", "gzip-members", "zstd", "zstd-frames"],
)
def test_compression_is_recognised_by_content(tmp_path: Path, packed: bytes) -> None:
    """Plain, gzip and Zstandard, the latter two also in several parts, give the same bytes whatever the name."""
    ingest_log = IngestLog()
    assert unpacked(save(tmp_path, packed, "anything"), ingest_log) == CONTENT
    assert ingest_log.warnings == []


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_truncated_file_gives_what_it_holds(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """A compressed file that ends early yields its first part and a warning that names it."""
    ingest_log = IngestLog()
    packed = pack(CONTENT)
    part = unpacked(save(tmp_path, packed[: len(packed) // 2], "cut.pcap"), ingest_log)
    assert part
    assert CONTENT.startswith(part)
    assert len(ingest_log.warnings) == 1
    assert ingest_log.warnings[0].startswith("cut.pcap: ")
    assert "ends early (truncated file)" in ingest_log.warnings[0]


def zstd_checked(content: bytes) -> bytes:
    """A Zstandard frame with a checksum; without one, damage inside stored bytes shows nowhere."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


@pytest.mark.parametrize("pack", [gzip.compress, zstd_checked])
def test_damaged_file_gives_what_precedes(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Damage in the middle is told; nothing behind it is made up."""
    ingest_log = IngestLog()
    packed = bytearray(pack(CONTENT[:300_000]))
    packed[200_000:200_100] = bytes(100)
    part = unpacked(save(tmp_path, bytes(packed), "bad.pcap"), ingest_log)
    assert len(part) <= 300_000
    assert ingest_log.warnings[0].startswith("bad.pcap: ")
    assert "damaged" in ingest_log.warnings[0]


def test_blocks_are_bounded(tmp_path: Path) -> None:
    """However well a file is compressed, a gzip stream comes in blocks of bounded size."""
    path = save(tmp_path, gzip.compress(bytes(20 * BLOCK_BYTES)))
    assert max(len(block) for block in read_blocks(path, IngestLog())) <= BLOCK_BYTES


def test_progress_counts_bytes_of_the_file(tmp_path: Path) -> None:
    """Progress runs up to the size of the compressed file."""
    path = save(tmp_path, gzip.compress(CONTENT))
    told: list[tuple[int, int]] = []
    for _ in read_blocks(path, IngestLog(), lambda done, total: told.append((done, total))):
        pass
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_unusable_paths(tmp_path: Path) -> None:
    """A missing file, a directory and an empty file are errors of one line that names them."""
    for path, cause in (
        (tmp_path / "none.pcap", "no such file"),
        (tmp_path, "is a directory"),
        (save(tmp_path, b"", "empty.pcap"), "file is empty"),
    ):
        with pytest.raises(InputError) as error:
            unpacked(path)
        assert str(error.value).startswith(f"{path}: ")
        assert cause in str(error.value)
        assert "\n" not in str(error.value)


def test_abandoned_blocks_wait_for_no_thread() -> None:
    """Closing a half-read file waits for no thread: the garbage collector may do it where waiting deadlocks."""
    go_on = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        go_on.wait(30)

    items = ahead(source())
    assert next(items) == 1
    closing = threading.Thread(target=items.close)  # type: ignore[attr-defined]
    closing.start()
    closing.join(10)
    still_waits = closing.is_alive()
    go_on.set()
    closing.join()
    assert not still_waits
