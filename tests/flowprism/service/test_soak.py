"""Ten minutes of a feed whose faults come and go, while the service and all that it stands on are stopped or killed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.flowprism.service.soak.feed import order_of, seconds_of
from tests.flowprism.service.soak.soaking import KILLS, Deed, Soak

FAULTS = 3
# After the first fault so much health that no window is left in which the service was away before the next one begins.
ORDER = order_of(FAULTS, first_gap=46)
# The collector is attacked while all is well. The database goes away in the middle of the second fault, the receiver of
# alerts during the third.
DEEDS: tuple[Deed, ...] = (
    *KILLS, (250, "attack"), (350, "stop postgresql"), (380, "kill alerter"), (390, "stop kafka"), (430, "kill api"),
    (440, "kill compactor"), (475, "receiver away"), (525, "receiver back"),
)  # fmt: skip
MEMORY_FROM_S = 300.0
# Until the minutes in which the service was away, and the one in which the exporters were heard last, have left the
# window.
MOST_DOUBTED = 24
# Caches of compiled code and of Arrow fill for some minutes; what leaks grows with every scan.
MOST_GROWTH_RATIO = 1.15
MOST_STOP_S = 15.0


@pytest.mark.slow
@pytest.mark.soak
def test_faults_come_and_go_while_everything_goes_away(tmp_path: Path) -> None:
    """Every fault is exactly one incident, every alert arrives, no window is missed, memory is flat."""
    with Soak(tmp_path / "soak", ORDER) as soak:
        before: list[int] = []
        threading.Timer(MEMORY_FROM_S, lambda: before.append(soak.memory_bytes())).start()
        soak.play(DEEDS)
        grown = soak.memory_bytes() / before[0]
        said, (code, stop_s) = soak.result(), soak.stop()
        soak.database.close()
    doubted = said.pop("windows_unknown")
    assert set(doubted) <= {
        "lost % of a minute: what the window shows is not trusted",
        "no training job was recognised",  # in the first window, which holds the beginning of the feed only
    }
    assert sum(doubted.values()) <= MOST_DOUBTED
    assert said.pop("windows") >= seconds_of(ORDER) / 10 - 3
    alerts = said.pop("alerts")
    assert set(alerts) == {"sent"}
    assert alerts["sent"] >= 2 * FAULTS  # a beginning and an end; it may have escalated in between
    said.pop("alerts_heard_twice")  # is allowed, with the same key
    assert said == {
        "seconds": round(seconds_of(ORDER)),
        "windows_missed": 0,
        "windows_twice": 0,
        "faults": FAULTS,
        "incidents": FAULTS,
        "incidents_elsewhere": [],
        "faults_without_incident": 0,
        "alerts_not_heard": [],
        "bodies_of_a_key": 1,
    }
    assert (code, stop_s < MOST_STOP_S) == (0, True)
    assert grown <= MOST_GROWTH_RATIO
