"""Outputs of commands, and one line that names the file where they cannot be written."""

from __future__ import annotations

import sys
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


def check_output(path: Path | None) -> None:
    """Refuse what cannot be written before the minutes of work, not after.

    Raises:
        InputError: its folder is not there, or it is a folder.
    """
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: {path.parent} is not a directory")
    if path is not None and path.is_dir():
        raise InputError(f"{path}: cannot be written: is a directory")


def write_text(text: str, out: Path | None) -> None:
    """Write a text to a file, or to stdout where none is named.

    Raises:
        InputError: it cannot be written.
    """
    with name_output_errors(out or "stdout"):
        if out is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            out.write_text(text, "utf-8")
