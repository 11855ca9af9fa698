"""Makes the API's examples anew: `python -m tests.flowprism.service.api.made_examples`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from datamodel.service.api_models import ComponentStatus
from storage.database.components import save_component
from tests.flowprism.dashboard.fabric.stored_paths import PathScans, case
from tests.flowprism.profiles.stored_profiles import read_profiles_of
from tests.flowprism.service.api.client import Client, client
from tests.flowprism.service.queries.fabric.stored_offenders import stored_offenders
from tests.flowprism.service.queries.fabric.test_repeat_offenders import scanned
from tests.flowprism.service.stored import stored_demo

TARGET = Path("flowprism/service/api/examples.json")
MOST_ITEMS = 2
MOST_TEXT = 400


def main() -> None:
    """Ask every route of a store of the bundled capture once, cut long lists, and write what was told."""
    with tempfile.TemporaryDirectory() as folder:
        stores = stored_demo(Path(folder))
        save_component(
            stores.database,
            ComponentStatus(name="scanner fp1", kind="scanner", started_ns=1_790_000_000_000_000_000,
                 seen_ns=1_790_000_060_000_000_000, figures={"scans_total": 12.0}),
        )  # fmt: skip
        read_profiles_of(stores, Path(folder) / "traces")
        said = {name: cut(answer) for name, answer in answers(client(stores))}
        stores.database.close()
        scans = PathScans.begin(Path(folder) / "paths")
        scans.scan(case())
        said |= {name: cut(answer) for name, answer in path_answers(client(scans.stores))}
        scans.stores.database.close()
        month = stored_offenders(Path(folder) / "month")
        said |= {name: cut(answer) for name, answer in offender_answers(client(month))}
        month.database.close()
        (Path(folder) / "patterns").mkdir()
        late, analysis, _ = scanned(Path(folder) / "patterns")
        answer = client(late).get(f"/api/v1/jobs/{analysis.report.jobs[0].id}/patterns?limit=2").json()
        said |= {"GET /api/v1/jobs/{job}/patterns": answer}
        late.database.close()
    TARGET.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", "utf-8")


def answers(asking: Client) -> list[tuple[str, Any]]:
    """What each route tells, by its name."""
    job = asking.get("/api/v1/jobs").json()["items"][0]["id"]
    incident = asking.get("/api/v1/incidents").json()["items"][0]["incident"]["id"]
    scan = asking.get("/api/v1/scans").json()["items"][0]
    made = asking.post("/api/v1/scan-requests", json={}).json()
    paths = {
        "/api/v1/jobs": {},
        "/api/v1/jobs/{job}": {"job": job},
        "/api/v1/jobs/{job}/layouts": {"job": job},
        "/api/v1/jobs/{job}/iterations": {"job": job},
        "/api/v1/jobs/{job}/trend": {"job": job},
        "/api/v1/jobs/{job}/training-time": {"job": job},
        "/api/v1/jobs/{job}/timeline": {"job": job},
        "/api/v1/jobs/{job}/rates": {"job": job},
        "/api/v1/jobs/{job}/matrix": {"job": job},
        "/api/v1/incidents": {},
        "/api/v1/incidents/{incident}": {"incident": incident},
        "/api/v1/incidents/{incident}/profiles": {"incident": incident},
        "/api/v1/events": {},
        "/api/v1/scans": {},
        "/api/v1/scans/{policy}/{window_start_ns}/{window_end_ns}": scan,
        "/api/v1/scan-requests": {},
        "/api/v1/scan-requests/{name}": {"name": made["id"]},
        "/api/v1/feeds": {},
        "/api/v1/components": {},
        "/api/v1/traffic": {},
        "/api/v1/training-time": {},
        "/api/v1/fabric": {},
        "/api/v1/inventory": {},
        "/api/v1/me": {},
    }
    told = [(f"GET {path}", asking.get(path.format(**names)).json()) for path, names in paths.items()]
    path = f"/api/v1/incidents/{incident}"
    told.append(("POST /api/v1/scan-requests", made))
    for action, body in (
        ("acknowledge", {"text": "looking"}),
        ("accept", {"text": "larger batches"}),
        ("comment", {"text": "cable swapped"}),
    ):
        told.append(
            (f"POST /api/v1/incidents/{{incident}}/{action}", asking.post(f"{path}/{action}", json=body).json())
        )
    mute = {"reason": "part ordered", "until_ns": 4_000_000_000_000_000_000}
    told.append(("POST /api/v1/incidents/{incident}/mute", asking.post(f"{path}/mute", json=mute).json()))
    told.append(("POST /api/v1/incidents/{incident}/unmute", asking.post(f"{path}/unmute").json()))
    document = asking.get("/api/v1/inventory").json()
    told.append(("PUT /api/v1/inventory", asking.request("PUT", "/api/v1/inventory", json=document).json()))
    return told


def path_answers(asking: Client) -> list[tuple[str, Any]]:
    """What the routes of paths answer, of a job whose paths are seen."""
    every = asking.get("/api/v1/paths").json()
    one = asking.get(f"/api/v1/jobs/{every['items'][0]['job']}/paths").json()
    return [("GET /api/v1/paths", every), ("GET /api/v1/jobs/{job}/paths", one)]


def offender_answers(asking: Client) -> list[tuple[str, Any]]:
    """What is said of hosts after a month in which one was late in every job."""
    paths = {"": "?limit=1", "/week": ""}
    routes = {f"/api/v1/repeat-offenders{path}": query for path, query in paths.items()}
    return [(f"GET {route}", asking.get(f"{route}{query}").json()) for route, query in routes.items()]


def cut(said: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with the last two items of each list, and no long text."""
    if isinstance(said, dict):
        return {name: cut(value) for name, value in said.items()}
    if isinstance(said, list):
        return [cut(value) for value in said[-MOST_ITEMS:]]
    return said[:MOST_TEXT] if isinstance(said, str) else said


if __name__ == "__main__":
    main()
