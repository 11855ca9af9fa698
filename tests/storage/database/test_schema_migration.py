"""Tables go from version to version and back with what is in them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select, text

from datamodel.errors import InputError
from datamodel.reports.scan import JobScan
from storage.database.access import take_lease
from storage.database.components import components
from storage.database.connection import Database, connected
from storage.database.scans.scan_records import ScanResult, layouts, rollups, save_scan, scans
from storage.database.scans.summaries import PartSummary, parsed
from storage.database.schema_migration import downgrade, upgrade, version
from storage.database.tables import INCIDENTS, METADATA, PARTS, SCANS
from tests.storage.database import results

if TYPE_CHECKING:
    from tests.storage.conftest import Cluster


def test_tables_are_those_that_the_code_declares(database: Database) -> None:
    """Steps and declarations agree in every column, key and index."""
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert version(connection) == "0015"


def test_down_and_up_with_data(database: Database) -> None:
    """Stepping back loses only what the older version has no table for; stepping forth again loses nothing."""
    left = results.result()
    save_scan(database, left)
    take_lease(database, "one", "a", 0, 10)
    with database.writing() as connection:
        downgrade(connection, "0001")
        assert not inspect(connection).has_table("leases")
        assert connection.execute(select(INCIDENTS.c.id)).scalars().all() == ["i1"]
    with database.writing() as connection:
        upgrade(connection)
    assert scans(database) == [left.kept]
    assert len(layouts(database, "j1")) == 1
    assert rollups(database, "j1", results.HOUR_NS, 0, 1000) == left.rollups
    assert take_lease(database, "one", "b", 0, 10)


def test_down_to_nothing(database: Database) -> None:
    """The first step can be taken back too, tables with data in them included."""
    save_scan(database, results.result())
    with database.writing() as connection:
        downgrade(connection, "base")
        assert set(inspect(connection).get_table_names()) <= {"alembic_version"}
    with database.writing() as connection:
        upgrade(connection)
    assert scans(database) == []


def test_an_interrupted_step_is_none(database: Database) -> None:
    """Where a step fails in the middle, the tables and their version are as before."""
    with suppress(KeyboardInterrupt), database.writing() as connection:
        downgrade(connection, "0001")
        raise KeyboardInterrupt
    with database.reading() as connection:
        assert version(connection) == "0015"
        assert inspect(connection).has_table("leases")


def test_component_statuses_of_the_version_before_are_removed(database: Database) -> None:
    """A status whose kind is the keeper would be refused; components report again at once."""
    with database.writing() as connection:
        downgrade(connection, "0006")
        row = {"name": "keeper a", "kind": "keeper", "started_ns": 1, "seen_ns": 2, "document": "{}"}
        connection.execute(PARTS.insert().values(row))
        upgrade(connection)
    assert components(database) == []


def test_opening_twice_is_once(address: str) -> None:
    """A database that is up to date is left alone."""
    first = Database(address)
    save_scan(first, results.result())
    second = Database(address)
    assert len(scans(second)) == 1
    first.close()
    second.close()


def test_a_newer_database_is_refused(address: str) -> None:
    """Tables of a version that is not known are left alone, and named."""
    opened = Database(address)
    with opened.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    opened.close()
    with pytest.raises(InputError, match=r"made by a newer flowprism \(tables 9999\)"):
        Database(address)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("nonsense", "nonsense: Could not parse"),
        ("mysql://localhost/x", "results are kept in SQLite or PostgreSQL"),
        ("postgresql://nobody:secret@localhost:1/x", r"nobody:\*\*\*@localhost:1/x: "),
        ("sqlite:////proc/no/results.sqlite", "/proc/no/results.sqlite: "),
    ],
)
def test_wrong_addresses(wrong: str, said: str) -> None:
    """An address that cannot be used is one line, without its password."""
    with pytest.raises(InputError, match=said) as raised:
        Database(wrong)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_sqlite_is_durable_and_shared(tmp_path: Path) -> None:
    """A write-ahead log that is synced with each transaction; references hold."""
    engine = connected(f"sqlite:///{tmp_path}/folder/x.sqlite")
    with engine.connect() as connection:
        names = ("journal_mode", "synchronous", "foreign_keys")
        assert [connection.execute(text(f"PRAGMA {name}")).scalar() for name in names] == ["wal", 2, 1]
    engine.dispose()


def test_a_restarted_server_is_used_again(cluster: Cluster) -> None:
    """A server that was killed and started again costs nothing committed, and needs no new `Database`."""
    opened = Database(cluster.new())
    save_scan(opened, results.result())
    cluster.stop()
    cluster.start()
    assert len(scans(opened)) == 1
    opened.close()


def test_scans_of_before_get_their_summary(database: Database) -> None:
    """Lists tell of scans that an older version kept what they tell of new ones."""
    late = JobScan(id="j1", label=None, tenant="t1", verdict="unknown")
    scan = results.kept().scan.model_copy(update={"jobs": (late,)})
    save_scan(database, ScanResult(replace(results.kept(), scan=scan), jobs=[results.job()]))
    with database.writing() as connection:
        told = connection.execute(select(SCANS.c.summary)).scalar_one()
        downgrade(connection, "0003")
        upgrade(connection)
        assert connection.execute(select(SCANS.c.summary)).scalar_one() == told
    assert parsed(told).tenants == {"t1": PartSummary(1, 0, "unknown")}
    assert parsed(told).whole == PartSummary(1, 0, "findings")
