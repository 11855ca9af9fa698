"""Of several replicas one has a lease, for as long as it lives."""

from __future__ import annotations

import time
from pathlib import Path

from flowprism.service.scans.leases import Leases
from storage.database.access import take_lease
from storage.database.connection import Database


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    """It is refused to others and to a second taker of the same replica, renewed, and given back at the end."""
    database = Database(f"sqlite:///{tmp_path / 'r.sqlite'}")
    one, other = Leases(database, "one", 2.0), Leases(database, "other", 2.0)
    with one.held("x") as mine:
        assert mine
        time.sleep(2.5)  # longer than it lasts without being renewed
        with other.held("x") as theirs, one.held("x") as again, other.held("y") as another:
            assert (theirs, again, another) == (False, False, True)
    with other.held("x") as theirs:
        assert theirs


def test_the_lease_of_the_dead_runs_out(tmp_path: Path) -> None:
    """Whoever waits gets it then."""
    database = Database(f"sqlite:///{tmp_path / 'r.sqlite'}")
    now_ns = time.time_ns()
    assert take_lease(database, "x", "dead", now_ns, now_ns + 500_000_000)
    with Leases(database, "one", 5.0).held("x", wait_s=5.0) as mine:
        assert mine
        assert time.time_ns() - now_ns >= 500_000_000
