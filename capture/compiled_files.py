"""Compiled kernels on disk, written by any number of processes at once: one file for each version of a function."""

from __future__ import annotations

import hashlib
import pickle
import secrets
from functools import partial
from pathlib import Path
from typing import TypeAlias

from numba.core.bytecode import FunctionIdentity
from numba.core.caching import IndexDataCacheFile

# numba names compiled functions by a count of the process. Where two processes compile functions of one name, as those
# that sort inside numba, and a third loads both, it calls one in place of the other: a wrong result or a crash (numba
# issue 10486). Numbers drawn at random do not meet, in forked processes either.
FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 62), None)  # type: ignore[assignment]  # noqa: SLF001

# Types of the arguments; processor; hashes of the function's bytecode.
Key: TypeAlias = tuple[tuple[object, ...], tuple[str, ...], tuple[str, ...]]


class CompiledFiles(IndexDataCacheFile):
    """The files of one function, each named by the source and by the types that it was compiled for.

    numba numbers the files of a function and keeps an index. Two processes that save at the same time may take the same
    number, and the index then leads to code for other types, which crashes the process that runs it.
    """

    def __init__(self, folder: str, function: str, stamp: str) -> None:
        super().__init__(folder, function, stamp)  # type: ignore[no-untyped-call]
        self._folder, self._function, self._stamp = Path(folder), function, stamp

    def save(self, key: Key, data: object) -> None:
        """Keep what was compiled for `key`, and remove what is left of other sources."""
        self._save_data(self._name_of(key), data)  # type: ignore[no-untyped-call]
        for file in self._folder.glob(f"{self._function}.*.nbc"):
            if not file.name.startswith(f"{self._function}.{self._stamp}-"):
                file.unlink(missing_ok=True)

    def load(self, key: Key) -> object:
        """What was compiled for `key`; None where nothing was, or its file is not whole."""
        try:
            return self._load_data(self._name_of(key))  # type: ignore[no-untyped-call]
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def _name_of(self, key: Key) -> str:
        types, *words = key
        text = "\0".join([*map(str, types), *(one for few in words for one in few)])
        return f"{self._function}.{self._stamp}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.nbc"


def keep_compiled(dispatcher: object, source: str) -> None:
    """Keep what `dispatcher` compiles, if it keeps anything, for as long as `source`, what it is compiled from, stays.

    numba looks at the function's own file only, but compiles in what it calls from others.
    """
    cache = getattr(dispatcher, "_cache", None)
    files = getattr(cache, "_cache_file", None)
    if cache is not None and files is not None:
        stamp = hashlib.sha256(f"{files._version} {source}".encode()).hexdigest()[:16]  # noqa: SLF001
        cache._cache_file = CompiledFiles(  # noqa: SLF001
            files._cache_path,  # noqa: SLF001
            files._index_name.removesuffix(".nbi"),  # noqa: SLF001
            stamp,
        )
