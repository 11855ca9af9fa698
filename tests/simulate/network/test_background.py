from dataclasses import replace

import numpy as np
import pytest

from simulate.bursts import Sequences, bursts
from simulate.network.background import bulk, calls, none, scrapes, together
from simulate.run import run_jobs
from tests.simulate.cases import FABRIC, job

CLIENTS, SERVERS = np.arange(10, 14), np.array([16, 17])


def test_files_move_between_clients_and_servers_about_as_often_as_said() -> None:
    """Half up, half down, of about the size asked for."""
    made = bulk(CLIENTS, SERVERS, 500.0, 1.0, 20e6, np.random.default_rng(1))
    assert len(made.src) == pytest.approx(4 * 500, rel=0.1)
    assert (np.isin(made.src, SERVERS) != np.isin(made.dst, SERVERS)).all()
    assert np.isin(made.src, SERVERS).mean() == pytest.approx(0.5, abs=0.05)
    assert np.median(made.bytes) == pytest.approx(20e6, rel=0.1)


def test_a_call_is_answered_on_the_same_connection() -> None:
    """Each request has an answer later, with ports and endpoints exchanged."""
    made = calls(CLIENTS, 100.0, 0.5, np.random.default_rng(1))
    half = len(made.src) // 2
    assert half > 100
    assert (made.src[:half] == made.dst[half:]).all()
    assert (made.src_port[:half] == made.dst_port[half:]).all()
    assert (made.start_ns[half:] > made.start_ns[:half]).all()


def test_scrapes_keep_their_beat() -> None:
    """Every target at the same distance."""
    made = scrapes(17, CLIENTS, 20.0, 5.0, 1000)
    for target in CLIENTS:
        assert set(np.diff(np.sort(made.start_ns[made.src == target]))) == {5_000_000_000}


def test_other_traffic_and_a_job_share_the_links() -> None:
    """A NIC busy with copies makes the job whose NIC it is slower; nothing of the copies is lost."""
    alone = run_jobs(FABRIC, {0: job()}, (), none(), 1)
    copies = bulk(np.array([5]), np.array([10]), 0.4, 0.001, 100e6, np.random.default_rng(1))
    both = run_jobs(replace(FABRIC), {0: job()}, (), together([copies]), 1)
    ended = [float(np.nanmax(r.timing.end_ns[: r.traffic_first])) for r in (alone, both)]
    assert ended[1] > ended[0] * 1.01
    table = bursts(both, 0, Sequences(), 1)
    assert table["bytes"][table["job"] < 0].sum() == copies.bytes.sum()
    assert (table["proto"][table["job"] < 0] == 6).all()
