"""Every route x every role x a foreign tenant x no credentials, on a store with a real job of one tenant."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from datamodel.cluster.inventory import Inventory
from datamodel.reports.path_plan import FollowedPlan, JobPathsState, PathPlan, PlannedConnection, PlanOutcome
from datamodel.service.result_rows import Role
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts import passwords
from flowprism.service.access.accounts.tokens import new_token
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from storage.database import access
from storage.database.incidents.incident_records import incidents
from storage.database.scans.path_plans import write_path_plans
from storage.database.scans.scan_records import jobs, scans
from tests.flowprism.feed_plan.sample import InstantPlanner
from tests.flowprism.profiles.stored_profiles import read_profiles_of
from tests.flowprism.service.access.asking import ELSEWHERE, Asker, add_user
from tests.flowprism.service.access.routes_of import MATRIX, Rule, routes_of
from tests.flowprism.service.stored import TENANT, demo_inventory, stored_demo

PEOPLE: dict[str, tuple[Role, str | None]] = {
    "vic": ("viewer", None), "vera": ("viewer", TENANT), "frida": ("viewer", "foreign"),
    "oli": ("operator", None), "ole": ("operator", TENANT), "fritz": ("operator", "foreign"),
    "ann": ("admin", None),
}  # fmt: skip
NOBODY = ""


def fast_inventory() -> Inventory:
    """The bundled one with ports as fast as those that feeds are planned for."""
    document = demo_inventory().model_dump(by_alias=True)
    for host in document["hosts"]:
        for endpoint in host["endpoints"]:
            endpoint["speed_gbps"] = 400
    return Inventory.model_validate(document)


class World:
    """A service, people who are logged in, and the things they ask about."""

    def __init__(self, folder: Path) -> None:
        """Build it once: everybody asks about the same things."""
        self.stores = stored_demo(folder, inventory=fast_inventory())
        settings = Settings.model_validate({"scans": {"policies": [{"name": "health"}]}})
        self.app = application(self.stores, settings, AccessSettings(mode="login", requests_per_minute=100_000))
        self.app.state.planner = InstantPlanner()
        self.askers = {NOBODY: Asker(self.app)}
        for name, (role, tenant) in PEOPLE.items():
            add_user(self.stores.database, name, role, tenant)
            self.askers[name] = Asker(self.app)
        self.job, (self.incident, *_) = jobs(self.stores.database)[0], incidents(self.stores.database)
        self.window = scans(self.stores.database)[0].scan.window
        with self.stores.database.writing() as connection:
            write_path_plans(connection, {self.job.id: self.followed_plan()})
        read_profiles_of(self.stores, folder / "traces")
        self.secrets = {
            self.job.id,
            str(self.job.label),
            TENANT,
            self.incident.id,
            *self.job.hosts,
            *self.job.endpoints,
        }

    def followed_plan(self) -> FollowedPlan:
        """A plan of the job's paths, with a connection between two of its endpoints."""
        src, dst, at_ns = *self.job.endpoints[:2], self.window.end_ns
        kept = PlannedConnection(
            job=self.job.id, src_addr=src, dst_addr=dst, src_port=50_000, queue_pairs=1, dst_qp=None, bytes=1,
            now=None, planned=(), action="keep",
        )  # fmt: skip
        outcome = PlanOutcome(made_ns=at_ns, state="nothing to move", applied={})
        state = JobPathsState(outcome=outcome, since_ns=at_ns, seen_ns=at_ns, before=None, paths=None)
        plan = PathPlan(window=self.window, connections=(kept,))
        return FollowedPlan(state, plan, plan)

    def ask(self, who: str, method: str, path: str, *, exists: bool = True) -> tuple[int, str]:
        """Status and text of a route's answer to somebody, about what there is or about what there is not."""
        rule, database = MATRIX[method, path], self.stores.database
        if "users" in path:
            add_user(database, "victim", "viewer")
        asker = self.askers[who]
        if who and not asker.cookies:
            asker.log_in(who)
        request = json.loads(json.dumps(rule.request).replace("JOB", self.job.id if exists else "no-such"))
        answer = asker.ask(
            method, path.format(**self.names(who, path, exists=exists)) + rule.query,
            {"sec-fetch-site": "same-origin"}, **request,
        )  # fmt: skip
        if (method, path) == ("POST", "/logout") or who == NOBODY:
            asker.cookies.clear()
        return answer.status_code, answer.text

    def names(self, who: str, path: str, *, exists: bool) -> dict[str, Any]:
        """What stands for the names in a path."""
        token, _ = new_token("ole" if who in {"frida", "fritz", NOBODY} else who, ["read"], 1, None)
        if "{token}" in path:
            access.save_token(self.stores.database, token)
        named = "victim" if "users" in path else self.incident.id if "incident" in path else self.job.id
        if "scan-requests" in path:
            named = self.scan_request()
        said: dict[str, Any] = {"job": self.job.id, "incident": self.incident.id, "token": token.id, "name": named}
        said |= {"policy": "health", "window_start_ns": self.window.start_ns, "window_end_ns": self.window.end_ns}
        said |= {"start_ns": self.window.start_ns, "end_ns": self.window.end_ns, "path": "app.css"}
        return said if exists else {name: 1 if name.endswith("_ns") else "no-such" for name in said}

    def scan_request(self) -> str:
        """Id of a scan of the job that its tenant asked for."""
        asker = self.askers["ole"]
        if not asker.cookies:
            asker.log_in("ole")
        body = {"jobs": [self.job.id]}
        answer = asker.ask("POST", "/api/v1/scan-requests", {"sec-fetch-site": "same-origin"}, json=body)
        return str(answer.json()["id"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all: asking changes nothing that another asker's answer depends on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_LOG_COST", 4)
        made = World(tmp_path_factory.mktemp("world"))
    yield made
    made.stores.database.close()


def allowed(rule: Rule, who: str) -> bool:
    """Whether the matrix lets somebody use a route at all."""
    if rule.right == "open":
        return True
    if who == NOBODY:
        return False
    role, tenant = PEOPLE[who]
    needs = {
        "seeing": True, "all": tenant is None, "operating": role != "viewer",
        "operating all": role != "viewer" and tenant is None, "administering": role == "admin",
    }  # fmt: skip
    return needs[rule.right]


def core(world: World, text: str) -> str:
    """What an answer says: of a page its middle, since a clock stands above it; and not the name one asked for."""
    said = text.partition("<main")[2].partition("</main>")[0] or text
    for name in (world.job.id, world.incident.id, "no-such"):
        said = said.replace(name, "NAME")
    return said


# Asked in tests of their own: one needs the old password, and one does not end.
APART = {("PUT", "/api/v1/me/password"), ("GET", "/api/v1/stream")}
# Its examples are of the bundled capture, as those of these tests are.
PUBLIC = ("GET", "/api/v1/openapi.json")
# What somebody asked for is theirs, and of those who see all; others of the same tenant are strangers to it.
BY_AUTHOR = "/api/v1/scan-requests/{name}"


def test_every_route_is_in_the_matrix(world: World) -> None:
    """A new route without an entry has not been thought about."""
    assert set(routes_of(world.app)) == set(MATRIX)


@pytest.mark.parametrize(("method", "path"), sorted(MATRIX.keys() - APART), ids=lambda part: part)
def test_who_may(world: World, method: str, path: str) -> None:
    """Nobody without credentials, no role that is too small; and what is another tenant's is not there."""
    rule = MATRIX[method, path]
    for who in (NOBODY, *PEOPLE):
        status, text = world.ask(who, method, path)
        foreign = who in {"frida", "fritz"} or (path == BY_AUTHOR and who == "vera")
        if not allowed(rule, who):
            assert status == (401 if who == NOBODY else 403), (who, text)
        elif foreign and rule.owned:
            there_is_none = world.ask(who, method, path, exists=False)
            assert (status, core(world, text)) == (there_is_none[0], core(world, there_is_none[1])), who
            assert status in {403, 404}, (who, text)
        else:
            assert status < 400, (who, text)
        if (foreign or who == NOBODY) and (method, path) != PUBLIC and who != "vera":
            told = core(world, text) if rule.owned else text
            # As whole words: a random token may well hold a job's short label.
            assert not [secret for secret in world.secrets if re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", told)], (
                who
            )


@pytest.mark.parametrize("who", [NOBODY, *PEOPLE])
def test_ones_own_password(world: World, who: str) -> None:
    """Needs the old one, and somebody whose it is."""
    asker = world.askers[who]
    if who:
        asker.log_in(who)
    ours = {"sec-fetch-site": "same-origin"}
    wrong = {"old": "not the password", "new": "another horse battery"}
    assert asker.ask("PUT", "/api/v1/me/password", ours, json=wrong).status_code == (422 if who else 401)


def first_status(app: FastAPI, cookies: dict[str, str]) -> int:
    """The status of the stream of changes; then the client leaves."""
    headers = [(b"cookie", "; ".join(f"{name}={value}" for name, value in cookies.items()).encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/api/v1/stream", "raw_path": b"/api/v1/stream", "query_string": b"", "root_path": "",
        "headers": [*headers, (b"host", b"flowprism.example")], "client": (ELSEWHERE, 1), "server": ("x", 80),
    }  # fmt: skip

    async def asking() -> int:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        left = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start" and not told.done():
                told.set_result(message["status"])

        task = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type] # messages are plain dicts
        status = await asyncio.wait_for(told, 60)
        left.set()
        await asyncio.wait([task], timeout=5)
        task.cancel()
        return status

    return asyncio.run(asking())


def test_the_stream(world: World) -> None:
    """For whoever is known; what it tells whom is tested with it."""
    assert first_status(world.app, {}) == 401
    for who in ("frida", "ann"):
        world.askers[who].log_in(who)
        assert first_status(world.app, world.askers[who].cookies) == 200


def test_a_disabled_dependency_is_no_door(world: World) -> None:
    """A route that forgets to say who may use it is still shut for strangers."""

    @world.app.get("/api/v1/forgotten")
    def forgotten() -> str:
        return "secret"

    assert Asker(world.app).ask("GET", "/api/v1/forgotten").status_code == 401
