"""The workers of a run where the system has no room or no support for others."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from capture.receive import socket_places, sockets
from capture.receive.sockets import Listen
from flowprism.collector.collector_options import CollectorOptions
from flowprism.collector.processes import process
from flowprism.collector.processes.worker import Process, Worker
from flowprism.collector.workers.crew import Crew
from flowprism.collector.workers.worker_change import WorkerGroup
from storage.lake.writer_session import begin_session


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    """One worker, whose processes cannot be started."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "no room")

    monkeypatch.setattr(process, "start", refused)
    monkeypatch.setattr("flowprism.collector.workers.crew._QUIET_S", 0.0)
    options = CollectorOptions(tmp_path, ring_bytes=1 << 20)
    begun = begin_session(tmp_path, 0)
    with closing(socket_places.SocketPlaces.opened((Listen("127.0.0.1", 0),), 1, 1 << 16)) as places:
        made = Crew(options, begun, places)
        yield made
        for worker in made.workers:
            worker.close()
    os.close(begun.lock)


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone


def test_a_change_that_finds_no_room_leaves_nothing_behind(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of three new rings cannot be made: the first one and all places are given back."""
    crew.sockets.give_back(crew.sockets.take(3))
    gc.collect()
    before, left = descriptors(), [1, 0]

    def create(size_bytes: int) -> int:
        if not left.pop(0):
            raise OSError(errno.EMFILE, "no room")
        return os.memfd_create(str(size_bytes))

    monkeypatch.setattr("flowprism.collector.processes.worker.create", create)
    monkeypatch.setattr("flowprism.collector.processes.worker.header_of", lambda _: [{}])
    crew.ask_for(2)
    crew.watch()
    assert (crew.wanted, crew.change, descriptors()) == (1, None, before)
    assert crew.sockets.take(3) == [1, 2, 3]


def test_a_change_that_has_no_effect_yet_is_called_off(crew: Crew) -> None:
    """New workers that never come up are given up once another number is wanted, with all that they had."""
    crew.sockets.give_back(crew.sockets.take(3))
    gc.collect()  # what other tests left open is closed before it is counted
    before = descriptors()
    for more in (2, -1):
        crew.ask_for(more)
        crew.watch()
    assert len(crew.workers) == 1 + 2
    crew.ask_for(-1)
    crew.watch()
    gc.collect()
    assert (crew.wanted, crew.change, len(crew.workers), descriptors()) == (1, None, 1, before)
    assert crew.sockets.take(3) == [1, 2, 3]


def test_one_worker_needs_no_steering(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel offers no such choice, one worker works; a second is refused before it has a socket."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOPROTOOPT, "not here")

    monkeypatch.setattr(sockets, "steer", refused)
    monkeypatch.setattr(socket_places, "steer", refused)
    with closing(socket_places.SocketPlaces.opened((Listen("127.0.0.1", 0),), 1, 1 << 16)) as places:
        assert places.take(1) == [0]
    crew.ask_for(1)
    crew.watch()
    assert (crew.wanted, crew.change, len(crew.sockets.doors)) == (1, None, 1)


def test_a_process_that_cannot_be_started_is_tried_again(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one that died at its start."""
    crew.watch()
    assert "receiver_process cannot be started: no room; again in 0.1 s" in capsys.readouterr().err
    assert crew.workers[0].deaths == 2
    started: list[object] = []
    monkeypatch.setattr(process, "start", lambda *given, **_: started.append(given))
    kept = Process("module", {}, [])
    kept.keep_up()
    assert started


@pytest.mark.parametrize("emptied", [True, False])
def test_a_group_is_finished_once_its_receivers_have_ended(*, emptied: bool) -> None:
    """A decoder may be faster: what a receiver leaves behind is waited for, and its sockets are its own until then."""
    workers = [SimpleNamespace(finished=True, emptied=True), SimpleNamespace(finished=True, emptied=emptied)]
    assert WorkerGroup("session", [0, 1], cast("list[Worker]", workers)).finished is emptied
