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
