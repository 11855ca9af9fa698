"""Reads a document that flowprism wrote to a file as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from datamodel.document import Document
from datamodel.errors import InputError

AnyDocument = TypeVar("AnyDocument", bound=Document)


def read_document(file: Path, document: type[AnyDocument], called: str) -> AnyDocument:
    """Read a document that a command wrote; `called` is its name in an error.

    Raises:
        InputError: the file cannot be read, or is another one; the first wrong field is named.
    """
    try:
        return document.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{file}: no {called}: {where + ': ' if where else ''}{first['msg']}") from error
