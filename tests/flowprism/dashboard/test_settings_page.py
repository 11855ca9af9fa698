"""The settings page: its forms do what the API does, and each sees what concerns them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from datamodel.service.result_rows import AuditEntry
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts import passwords
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database import access
from storage.database.feed_statistics import inventory
from tests.flowprism.inventory_import.listings import SLURM_TEXT
from tests.flowprism.service.api.client import Client, client
from tests.flowprism.service.stored import demo_inventory, stored_demo

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HOSTILE = "<img src=x onerror=alert(1)>"
VIEWER = Viewer("vic", "viewer", None)
TENANT = Viewer("rob", "operator", "research")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    """The bundled capture, for a test that changes something; passwords are cheap."""
    monkeypatch.setattr(passwords, "_LOG_COST", 4)
    stores = stored_demo(tmp_path)
    yield stores
    stores.database.close()


def _send(asking: Client, path: str, fields: Mapping[str, object]) -> httpx.Response:
    return asking.post(path, content=urlencode(fields, doseq=True), headers=FORM)


def test_a_user_and_a_token_are_made_and_revoked(own: Stores) -> None:
    """The token's text is shown once, works, and after revoking it is void; the audit log has all of it."""
    asking = client(own)
    user = {"name": "eve", "role": "operator", "password": "a long enough one"}
    assert _send(asking, "/settings/users", user).headers["location"] == "/settings?done=user#users"
    made = _send(asking, "/settings/tokens", {"user": "eve", "scope": ["read", "metrics"], "days": "30"})
    assert made.status_code == 200
    (text,) = re.findall(r'id="secret">(fp_[^<]+)<', made.text)
    (kept,) = access.tokens(own.database)
    assert (kept.user, kept.scopes) == ("eve", ("metrics", "read"))
    assert kept.expires_ns is not None
    assert text not in asking.get("/settings").text
    assert _send(asking, f"/settings/tokens/{kept.id}/revoke", {}).status_code == 303
    assert access.tokens(own.database)[0].revoked_ns is not None
    page = asking.get("/settings").text
    assert "revoked" in page
    for action in ("POST /settings/users", "POST /settings/tokens", "POST /settings/tokens/{token}/revoke"):
        assert action in page
    assert "a long enough one" not in page


def test_a_user_is_removed(own: Stores) -> None:
    """And is gone from the list."""
    _send(client(own), "/settings/users", {"name": "eve", "role": "viewer", "tenant": "research"})
    assert "research" in client(own).get("/settings").text.partition('id="users"')[2].partition("</section>")[0]
    assert _send(client(own), "/settings/users/eve/remove", {}).status_code == 303
    assert access.users(own.database) == []


def test_an_inventory_is_put_in_force(own: Stores) -> None:
    """As YAML or CSV; what is wrong with it is told with its line, and nothing is changed."""
    asking = client(own)
    text = "hosts:\n- name: new\n  endpoints: [{address: 10.9.9.9}]\n"
    answer = _send(asking, "/settings/inventory", {"text": text, "format": "yaml"})
    assert answer.headers["location"] == "/settings?done=inventory#inventory"
    found = inventory(own.database)
    assert found is not None
    assert found.hosts[0].name == "new"
    again = _send(asking, "/settings/inventory", {"text": text, "format": "yaml"})
    assert again.headers["location"] == "/settings?done=same#inventory"
    wrong = _send(asking, "/settings/inventory", {"text": "hosts:\n- name: a\n  endpints: []\n", "format": "yaml"})
    assert wrong.status_code == 400
    assert "inventory.yaml: line 3: hosts[0].endpints: unknown field" in unescape(wrong.text)
    assert "/inventory.yaml" not in wrong.text
    rows = "host,address\nh,10.8.8.8\n"
    assert _send(asking, "/settings/inventory", {"text": rows, "format": "csv"}).status_code == 303
    assert _send(asking, "/settings/inventory", {"text": " "}).status_code == 400


def test_a_listing_is_merged_into_the_inventory(own: Stores) -> None:
    """Slurm's jobs as they are listed: what they do not speak of stays, what cannot be used is told."""
    asking, before = client(own), demo_inventory()
    nodes = before.hosts[0].name
    text = SLURM_TEXT.replace("gpu[01-02]", nodes)
    answer = _send(asking, "/settings/inventory", {"text": text, "how": "merge", "format": "yaml"})
    assert answer.status_code == 200, answer.text
    assert "The inventory is in force from the next scan on." in answer.text
    assert "Left out: " in answer.text
    found = inventory(own.database)
    assert found is not None
    assert (found.hosts, found.links) == (before.hosts, before.links)
    assert [(job.name, job.hosts) for job in found.jobs] == [("pretrain 70b, take 2", (nodes,))]
    wrong = _send(asking, "/settings/inventory", {"text": '{"no": "listing"}', "how": "merge"})
    assert wrong.status_code == 400
    assert "neither an inventory nor a listing of NetBox, Slurm or Kubernetes" in wrong.text
    assert "/listing.json" not in wrong.text


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/settings/tokens", {"user": "nobody", "scope": "read", "days": "30"}),
        ("/settings/tokens", {"scope": "everything", "days": "30"}),
        ("/settings/tokens", {"days": "30"}),
        ("/settings/tokens", {"scope": "read", "days": "-1"}),
        ("/settings/users", {"name": "", "role": "viewer"}),
        ("/settings/users", {"name": "x", "role": "king"}),
        ("/settings/users", {"name": "x", "role": "viewer", "password": "short"}),
        ("/settings/users/nobody/remove", {}),
        ("/settings/tokens/nothing/revoke", {}),
    ],
)
def test_what_cannot_be_is_refused_on_a_page(own: Stores, path: str, fields: dict[str, object]) -> None:
    """With a sentence; never an error of ours, and nothing is made."""
    answer = _send(client(own), path, fields)
    assert answer.status_code in {400, 404}
    assert "<h1>" in answer.text
    assert access.users(own.database) == []
    assert access.tokens(own.database) == []


def test_each_sees_what_concerns_them(own: Stores) -> None:
    """A viewer sees neither users nor audit, one of a tenant no inventory and no routes; both may not change them."""
    sections = {name: [f'id="{part}"' in client(own, who).get("/settings").text for part in PARTS] for name, who in WHO}
    assert sections == {"viewer": [True, False, True, True, False], "tenant": [True, False, False, False, False]}
    for _, who in WHO:
        for path in ("/settings/users", "/settings/users/x/remove", "/settings/inventory"):
            assert _send(client(own, who), path, {"name": "x", "role": "admin", "text": "hosts: []"}).status_code == 403


PARTS = ("tokens", "users", "inventory", "alerts", "audit")
WHO = (("viewer", VIEWER), ("tenant", TENANT))


def test_routes_of_alerts_are_told_without_secrets(own: Stores) -> None:
    """Who is told of what; never an address with a key in it."""
    receiver = {"name": "chat", "kind": "webhook", "url": "https://chat.example/hook/s3cr3t", "secret": "k3y"}
    route = {"receivers": ["chat"], "tenants": ["research"], "at_least": "critical"}
    settings = Settings(alerts=AlertSettings.model_validate({"receivers": [receiver], "routes": [route]}))
    page = Client(application(own, settings, AccessSettings())).get("/settings").text
    assert "all jobs of research" in page
    assert ">chat<" in page
    assert "s3cr3t" not in page
    assert "k3y" not in page


def test_hostile_words_are_text(own: Stores) -> None:
    """Whatever stands in the audit log or in the address."""
    access.audit(own.database, AuditEntry("r", 1, HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}))
    page = client(own).get("/settings", params={"done": HOSTILE}).text
    assert "<img" not in page
    assert unescape(page).count(HOSTILE) == 5
