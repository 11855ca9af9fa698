"""Until when the exporters of a job are known to have reported."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from datamodel.durations import MINUTE_NS
from datamodel.service.result_rows import FeedStatistics, JobRecord
from datamodel.telemetry.flows import Flows
from flowprism.service.scans import job_activity
from flowprism.service.scans.job_activity import JobActivity
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.reconstruct.streams.test_stream_builder import rows

SECOND = 1_000_000_000
AGENT, ENDS = "192.168.0.1", ("10.0.0.1", "10.0.0.2")


def message(received_ns: int) -> Flows:
    """One of the job, whose record arrived at once."""
    sent_ns = received_ns - SECOND // 10
    made = rows(
        time_flow_start_ns=[sent_ns], time_flow_end_ns=[sent_ns], time_received_ns=[received_ns], bytes=[10**6],
        packets=[1000], src_addr=[0], dst_addr=[1], sampler_address=[2], observation_domain_id=[1],
    )  # fmt: skip
    return Flows(made.frame, (*ENDS, AGENT))


@pytest.mark.parametrize("waited_s", [0, 50])
def test_a_collector_that_lags_behind_makes_no_job_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited_s: int
) -> None:
    """Datagrams without records of a job show its silence from when their records would be in the lake."""
    monkeypatch.setattr(job_activity, "_ACCOUNT_DELAY_NS", SECOND // 10)
    make_folders(tmp_path / "flows")
    store = LakeWriter(tmp_path / "flows", Writer("20260101T000000000000Z", 0), 1)
    job = JobRecord("a", None, None, 1, 2, 2, 1.0, ENDS, ())
    with closing(Database(f"sqlite:///{tmp_path / 'results.sqlite'}")) as database:
        activity = JobActivity(str(tmp_path / "flows"), database)

        def refreshed(datagrams: int) -> int:
            minute_ns = time.time_ns() // MINUTE_NS * MINUTE_NS
            save_feed_statistics(database, [FeedStatistics(f"{AGENT}/1", minute_ns, MINUTE_NS, datagrams=datagrams)])
            return max([one.lasting_ns for one in activity.refresh([job])], default=0)

        refreshed(1)
        now = message(time.time_ns() - waited_s * SECOND)
        store.commit(CommitBatch(1, (now.frame,), now.addresses, b""))
        refreshed(2)
        time.sleep(1)
        refreshed(3)
        assert SECOND // 2 < refreshed(4) < 30 * SECOND  # a second, and what a busy machine adds
