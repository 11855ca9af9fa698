"""A file as a stream of decompressed blocks: plain, gzip or Zstandard, recognised by content.

Decompression runs one block ahead in a thread of its own. A compressed file that ends early or is damaged yields
what could be read, and the ingest_log says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import zstandard

from capture.ingest_log import IngestLog
from datamodel.errors import InputError

try:
    from isal import igzip_lib
    from isal import isal_zlib as inflater

    _InflateError: type[Exception] = cast("type[Exception]", igzip_lib.IsalError)
except ImportError:  # no wheel for this machine: the standard library does the same at about half the speed
    inflater = zlib  # type: ignore[misc]
    _InflateError = zlib.error

Item = TypeVar("Item")
Progress = Callable[[int, int], None]

BLOCK_BYTES = 1 << 20
ZSTD_INPUT_BYTES = 1 << 15  # the decoder cannot bound its output, so its input is bounded instead
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def read_blocks(path: Path, ingest_log: IngestLog, progress: Progress | None = None) -> Iterator[bytes]:
    """The decompressed content of `path`, in blocks of bounded size that are never empty.

    Args:
        path: a plain, gzip (also several members) or Zstandard (also several frames) file.
        ingest_log: receives a truncated or damaged compressed file.
        progress: called with (bytes of the file read, bytes of the file).

    Raises:
        InputError: `path` is missing, a directory, unreadable or empty.
    """
    file, size = _open(path)
    return ahead(_unpacked(file, size, path.name, ingest_log, progress))


def _open(path: Path) -> tuple[BinaryIO, int]:
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected a file")
    try:
        size = path.stat().st_size
        file = path.open("rb")
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}".replace("No such file or directory", "no such file")
        ) from None
    if size == 0 and path.is_file():
        file.close()
        raise InputError(f"{path}: file is empty")
    return file, size


def _unpacked(
    file: BinaryIO, size: int, name: str, ingest_log: IngestLog, progress: Progress | None
) -> Iterator[bytes]:
    with file:
        magic = file.peek(4)[:4] if hasattr(file, "peek") else b""
        step = ZSTD_INPUT_BYTES if magic == ZSTD_MAGIC else BLOCK_BYTES
        chunks = _chunks(file, size, step, progress)
        if magic[:2] == GZIP_MAGIC:
            yield from _inflated(chunks, name, ingest_log)
        elif magic == ZSTD_MAGIC:
            yield from _unzstd(chunks, name, ingest_log)
        else:
            yield from chunks


def _chunks(file: BinaryIO, size: int, step: int, progress: Progress | None) -> Iterator[bytes]:
    done = 0
    while chunk := file.read(step):
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(done, size)


def _inflated(chunks: Iterator[bytes], name: str, ingest_log: IngestLog) -> Iterator[bytes]:
    """Members of a gzip file, one after the other (RFC 1952); zero bytes between them are padding."""
    engine = None
    for chunk in chunks:
        rest = chunk if engine else chunk.lstrip(b"\0")
        while rest:
            engine = engine or inflater.decompressobj(wbits=31)
            try:
                data = engine.decompress(rest, BLOCK_BYTES)
            except _InflateError as error:
                ingest_log.warn(f"{name}: gzip data is damaged ({error}); what precedes the damage was read")
                return
            if data:
                yield data
            if engine.eof:
                rest, engine = engine.unused_data.lstrip(b"\0"), None
            else:
                rest = engine.unconsumed_tail
    if engine is not None:
        ingest_log.warn(f"{name}: gzip data ends early (truncated file); what precedes the end was read")


def _unzstd(chunks: Iterator[bytes], name: str, ingest_log: IngestLog) -> Iterator[bytes]:
    """Frames of a Zstandard file, one after the other (RFC 8878)."""
    engine = None
    for chunk in chunks:
        rest = chunk
        while rest:
            engine = engine or zstandard.ZstdDecompressor().decompressobj()
            try:
                data = engine.decompress(rest)
            except zstandard.ZstdError as error:
                ingest_log.warn(f"{name}: zstd data is damaged ({error}); what precedes the damage was read")
                return
            if data:
                yield data
            rest = engine.unused_data if engine.eof else b""
            engine = None if engine.eof else engine
    if engine is not None:
        ingest_log.warn(f"{name}: zstd data ends early (truncated file); what precedes the end was read")


def ahead(source: Iterator[Item]) -> Iterator[Item]:
    """The items of `source`, each fetched in a thread while the one before it is in use.

    Abandoned, it waits for nothing: the garbage collector may close it inside the start of another thread, and waiting
    for a thread there never ends. The thread ends once nothing refers to the pool.
    """
    pool = ThreadPoolExecutor(1)
    coming = pool.submit(next, source, None)
    while (item := coming.result()) is not None:
        coming = pool.submit(next, source, None)
        yield item
