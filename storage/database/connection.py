"""Opening a results database: SQLite with a write-ahead log, or PostgreSQL; its tables are brought up to date first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Select, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
    TimeoutError,  # noqa: A004 - of the pool; Python's own is not meant
)

from datamodel.errors import InputError, StorageError
from storage.database.schema_migration import upgrade

_BUSY_MS = 15_000  # how long a writer waits for another one


class Database:
    """A results database whose tables are up to date."""

    def __init__(self, address: str) -> None:
        """Connect, and migrate where the tables are of an older version.

        Args:
            address: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`.

        Raises:
            InputError: the address is invalid, no server answers, or the tables are of a newer version.
        """
        self.engine = connected(address)
        self._read: ContextVar[Connection | None] = ContextVar("read", default=None)
        try:
            with self.writing() as connection:
                upgrade(connection)
        except StorageError as error:
            raise InputError(str(error)) from None
        except DBAPIError as error:
            raise InputError(f"{self.name}: {first_line(error)}") from None
        finally:
            self.close()  # the pool opens connections again as they are needed

    @property
    def name(self) -> str:
        """The address without its password."""
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads; inside another one of the same thread, that one.

        Callers with several queries for one answer open it around all of them: on a server, each transaction is several
        messages there and back.

        Raises:
            StorageError: the database cannot be reached; the same may be tried again.
        """
        around = self._read.get()
        if around is not None:
            yield around
            return
        with self._telling(), self.engine.connect() as connection, connection.begin():
            token = self._read.set(connection)
            try:
                yield connection
            finally:
                self._read.reset(token)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that counts wholly or, where the block raises, not at all.

        Raises:
            StorageError: the database cannot be reached, or its disk is full; the same may be tried again.
        """
        with self._telling(), self.engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (OperationalError, InterfaceError, TimeoutError) as error:
            raise StorageError(f"{self.name}: {first_line(error)}") from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def connected(address: str) -> Engine:
    """An engine for an address; nothing is connected yet.

    Raises:
        InputError: the address is none of ours, or the driver is missing.
    """
    try:
        url = make_url(address)
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        if url.get_backend_name() == "sqlite":
            return _sqlite(create_engine(url, connect_args={"timeout": _BUSY_MS / 1000}))
        if url.get_backend_name() == "postgresql":
            return create_engine(url, pool_pre_ping=True)  # notices, before use, that the server was restarted
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise InputError(f"{address.partition('@')[2] or address}: {first_line(error)}") from None
    raise InputError(f"{url.get_backend_name()}: results are kept in SQLite or PostgreSQL")


def is_there(address: str) -> bool:
    """Whether a database may answer at an address: only a file of SQLite's can be seen to be missing."""
    try:
        url = make_url(address)
    except ArgumentError:
        return True  # what is wrong with it is for opening to say
    return url.get_backend_name() != "sqlite" or not url.database or Path(url.database).exists()


def _sqlite(engine: Engine) -> Engine:
    path = engine.url.database
    if path and path != ":memory:":
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(raw: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    raw.isolation_level = None  # transactions are begun below, not by the driver's guess
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_BUSY_MS}"):
        raw.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    """A writer takes its place at once: one that began as a reader could be refused half-way."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows; of those whose key is there already, replace all else.

    Args:
        connection: of a writing transaction.
        table: with a primary key.
        rows: all with the same names, each key once.
    """
    if not rows:
        return
    keys = [column.name for column in table.primary_key]
    statement = _insert(connection, table)
    others = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    # In one order for all: two writers that want the same rows wait for each other, and never in a circle.
    ordered = sorted(rows, key=lambda row: tuple(str(row[name]) for name in keys))
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=others), ordered)


def upsert_selected(connection: Connection, table: Table, names: Sequence[str], query: Select[Any]) -> None:
    """Insert what a query with a condition finds; of rows whose key is there already, replace all else.

    Args:
        connection: of a writing transaction.
        table: with a primary key.
        names: of the query's columns, in their order.
        query: it finds each key once.
    """
    keys = [column.name for column in table.primary_key]
    statement = _insert(connection, table).from_select(list(names), query)
    others = {name: statement.excluded[name] for name in names if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=others))


def insert_new(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row whose key, and whatever else must be unique, is not there yet; whether it was so.

    Of two writers at once the later one waits until the other one's transaction has ended.
    """
    statement = _insert(connection, table).values(row).on_conflict_do_nothing()
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def _insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def first_line(error: Exception) -> str:
    """What a database says is wrong, without the statement."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = str(cause.args[0]) if isinstance(error, SQLAlchemyError) and cause.args else str(cause)
    return text.strip().partition("\n")[0]
