"""Outputs that cannot be written: one line that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datamodel.errors import InputError


@contextmanager
def name_output_errors(path: Path | str) -> Iterator[None]:
    """A full disk says what is wrong but not with which file. A reader that has gone (`head`) is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
