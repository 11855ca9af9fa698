"""The results database that a command of profiles is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from datamodel.errors import InputError
from storage.database.connection import Database, is_there


@contextmanager
def opened_results(address: str) -> Iterator[Database]:
    """Open a results database that is there.

    Raises:
        InputError: there is none at this address.
    """
    if not is_there(address):
        raise InputError(f"{address}: there is no such database")
    database = Database(address)
    try:
        yield database
    finally:
        database.close()
