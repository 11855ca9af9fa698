"""What the alerter component does besides delivering alerts."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from flowprism.service.alerts import alerter as alert_delivery
from flowprism.service.components import alerter
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.config.settings import Settings
from flowprism.service.reports import weekly_sender
from tests.flowprism.service.alerts.conftest import apprise_loaded
from tests.flowprism.service.alerts.listening import listening
from tests.flowprism.service.queries.fabric.stored_offenders import stored_offenders

__all__ = ["apprise_loaded"]


def test_weekly_report_is_sent_by_the_component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is set up during the week, whose scans compared hosts; it ends when it is stopped."""
    monkeypatch.setattr(weekly_sender, "_LOOK_S", 0.02)
    monkeypatch.setattr(alert_delivery, "_LOOK_S", 0.02)
    stored_offenders(tmp_path, time.time_ns()).database.close()
    with listening(b"HTTP/1.1 200 OK\r\n\r\n") as server:
        receiver = {"name": "mail", "kind": "apprise", "url": f"json://127.0.0.1:{server.port}/"}
        said = {
            "store": {"results": f"sqlite:///{tmp_path}/results.sqlite"},
            "alerts": {"receivers": [receiver], "weekly_report": ["mail"]},
        }
        context = ComponentContext("alerter", Settings.model_validate(said), "tests")
        component = threading.Thread(target=alerter.run, args=(context,), daemon=True)
        component.start()
        (came,) = server.wait(1)
        context.stop.set()
        component.join(60)
    assert not component.is_alive()
    assert came.json["title"] == "1 repeat offender of 20 hosts"
