"""Where things are kept: a local folder or a bucket, behind the few operations that both can do.

Nothing is appended to or changed in place, because object stores cannot: an object is put once, under a name that no
other ever had, and removed at last. Only what engines other than ours read is replaced, as a whole. On a local disk
`put` and `replace` return when content and name are durable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa
from pyarrow import fs

from datamodel.errors import InputError

Content: TypeAlias = bytes | pa.Buffer

_SECRETS = re.compile(r"//[^/@]*@")  # what an address may hold before its host; messages do not repeat it


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object that is there: its name, its size and when it was put, UTC."""

    name: str
    size_bytes: int
    modified_ns: int


class ObjectStore(Protocol):
    """Objects by name; names are parts joined by "/"."""

    @property
    def name(self) -> str:
        """What messages call the place."""

    def put(self, objects: Sequence[tuple[str, Content]]) -> None:
        """Make new objects durable, all of them or (where this raises) none.

        Raises:
            FileExistsError: a name is taken; nothing was changed.
            OSError: one could not be written.
        """

    def replace(self, name: str, content: Content) -> None:
        """Have an object of this content: readers find the one before or this one, never a part. One caller at a time.

        Raises:
            OSError: it could not be written.
        """

    def read(self, name: str) -> bytes:
        """An object's content.

        Raises:
            FileNotFoundError: there is none.
            OSError: it cannot be read.
        """

    def open(self, name: str) -> pa.NativeFile:
        """An object for reading parts of it; raises as `read` does."""

    def list(self, under: str) -> list[ObjectInfo]:
        """All objects whose names begin with the folder `under`, sorted by name.

        Raises:
            OSError: the place cannot be read.
        """

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; those that are not there do not matter.

        Raises:
            OSError: one could not be removed.
        """


class LocalStore:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        """Nothing is made yet.

        Args:
            folder: it may be missing; then the place is empty.
        """
        self.folder = folder

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    def put(self, objects: Sequence[tuple[str, Content]]) -> None:
        """See `ObjectStore.put`."""
        written: list[Path] = []
        try:
            for name, content in objects:
                path = self.folder / name
                self._make_folder(path.parent)
                _write_new(path, content, written)
            for folder in sorted({path.parent for path in written}):
                sync_folder(folder)
        except OSError:
            for path in written:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            raise

    def replace(self, name: str, content: Content) -> None:
        """See `ObjectStore.replace`."""
        path = self.folder / name
        self._make_folder(path.parent)
        unfinished = path.with_name(f".{path.name}.new")
        unfinished.unlink(missing_ok=True)  # left by a process that was killed
        written: list[Path] = []
        try:
            _write_new(unfinished, content, written)
            unfinished.rename(path)
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)

    def read(self, name: str) -> bytes:
        """See `ObjectStore.read`."""
        return (self.folder / name).read_bytes()

    def open(self, name: str) -> pa.NativeFile:
        """See `ObjectStore.open`."""
        path = self.folder / name
        return pa.memory_map(str(path)) if path.stat().st_size else pa.BufferReader(b"")

    def list(self, under: str) -> list[ObjectInfo]:
        """See `ObjectStore.list`."""
        return sorted(self._walk(self.folder / under, under), key=lambda found: found.name)

    def remove(self, names: Iterable[str]) -> None:
        """See `ObjectStore.remove`."""
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def _make_folder(self, folder: Path) -> None:
        """Have a folder, and its name durable. The first ones are not made: their disk may be away."""
        if folder.parent != self.folder and not folder.is_dir():
            self._make_folder(folder.parent)
            with suppress(FileExistsError):  # a concurrent commit made it
                folder.mkdir()
            sync_folder(folder.parent)

    def _walk(self, folder: Path, prefix: str) -> Iterator[ObjectInfo]:
        try:
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            name = f"{prefix}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(folder / entry.name, name)
            else:
                with suppress(FileNotFoundError):  # removed since the folder was listed
                    status = entry.stat()
                    yield ObjectInfo(name, status.st_size, status.st_mtime_ns)


class BucketStore:
    """A prefix of a bucket, or of any file system that pyarrow knows.

    A name that is taken is refused, but two concurrent writers are not detected: what must have one writer
    only is held by the caller.
    """

    def __init__(self, filesystem: fs.FileSystem, prefix: str, name: str) -> None:
        """Take the objects of `filesystem` whose names begin with `prefix`."""
        self._filesystem, self._prefix, self._name = filesystem, prefix.rstrip("/"), name

    @property
    def name(self) -> str:
        """The address, without what stands behind its question mark."""
        return self._name

    def put(self, objects: Sequence[tuple[str, Content]]) -> None:
        """See `ObjectStore.put`."""
        written: list[str] = []
        try:
            for name, content in objects:
                path = self._path(name)
                if self._filesystem.get_file_info(path).type != fs.FileType.NotFound:
                    raise FileExistsError(17, "exists", f"{self.name}/{name}")
                written.append(name)
                with self._filesystem.open_output_stream(path, compression=None) as stream:
                    stream.write(content)
        except OSError:
            with suppress(OSError):
                self.remove(written)
            raise

    def replace(self, name: str, content: Content) -> None:
        """See `ObjectStore.replace`."""
        with self._filesystem.open_output_stream(self._path(name), compression=None) as stream:
            stream.write(content)

    def read(self, name: str) -> bytes:
        """See `ObjectStore.read`."""
        with self._filesystem.open_input_stream(self._path(name), compression=None) as stream:
            content: bytes = stream.read()
        return content

    def open(self, name: str) -> pa.NativeFile:
        """See `ObjectStore.open`."""
        return self._filesystem.open_input_file(self._path(name))

    def list(self, under: str) -> list[ObjectInfo]:
        """See `ObjectStore.list`."""
        selector = fs.FileSelector(self._path(under), allow_not_found=True, recursive=True)
        files = [info for info in self._filesystem.get_file_info(selector) if info.type == fs.FileType.File]
        skip = len(self._prefix) + 1
        found = [ObjectInfo(info.path[skip:], info.size, info.mtime_ns or 0) for info in files]
        return sorted(found, key=lambda one: one.name)

    def remove(self, names: Iterable[str]) -> None:
        """See `ObjectStore.remove`."""
        for name in names:
            with suppress(FileNotFoundError):
                self._filesystem.delete_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name}"


def is_address(location: ObjectStore | Path | str) -> bool:
    """Whether a location is an address of an object store, and no folder's path."""
    return isinstance(location, str) and "://" in location


def redact_address(location: Path | str) -> str:
    """What messages call a location: a path as it is, an address without its options and what is secret in it."""
    if not is_address(location):
        return str(location)
    return _SECRETS.sub("//", str(location).partition("?")[0]).rstrip("/")


def open_store(location: ObjectStore | Path | str) -> ObjectStore:
    """The place of a folder's path or of an address such as `s3://bucket/prefix?endpoint_override=...`.

    Raises:
        InputError: pyarrow knows no such address.
    """
    if isinstance(location, Path):
        return LocalStore(location)
    if not isinstance(location, str):
        return location
    if not is_address(location):
        return LocalStore(Path(location))
    try:
        filesystem, prefix = fs.FileSystem.from_uri(location)
    except (ValueError, OSError) as error:
        raise InputError(f"{redact_address(location)}: {' '.join(str(error).split())}") from None
    return BucketStore(filesystem, prefix, redact_address(location))


def sync_folder(folder: Path) -> None:
    """Make the names of the files in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(path: Path, content: Content, written: list[Path]) -> None:
    with path.open("xb", buffering=0) as file:
        written.append(path)
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
