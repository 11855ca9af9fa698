"""Documents that a command reads from a file as JSON, and texts that it writes to a file or to stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from datamodel.document import Document
from datamodel.errors import InputError
from flowprism.cli.output_errors import name_output_errors

AnyDocument = TypeVar("AnyDocument", bound=Document)


def read_document(file: Path, document: type[AnyDocument], called: str) -> AnyDocument:
    """Read a document that another command wrote; `called` is its name in an error.

    Raises:
        InputError: there is no such file, or it is another one.
    """
    try:
        return document.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    except ValidationError as error:
        raise InputError(f"{file}: is no {called} as JSON ({error.errors()[0]['msg']})") from error


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
