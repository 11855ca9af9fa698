"""Matrix, fabric and settings as people use them, by mouse and by keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from datamodel.cluster.inventory import Inventory
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.feed_statistics import save_inventory
from tests.flowprism.dashboard.browser import Visit, served_stores, visiting
from tests.flowprism.service.access.asking import PASSWORD, add_user
from tests.flowprism.service.stored import demo_inventory, stored_demo

pytestmark = pytest.mark.slow

ADMIN = Viewer("ann", "admin", None)
HOSTILE = "<img src=x onerror=alert(1)></ol><b>bold</b>"


@pytest.fixture
def visit(chromium: Browser, demo_address: str) -> Iterator[Visit]:
    """A window on the bundled capture."""
    with visiting(chromium, demo_address) as found:
        yield found
        found.quiet()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Stores]:
    """The bundled capture, for a test that changes something."""
    stores = stored_demo(tmp_path)
    add_user(stores.database, "ann", "admin")
    yield stores
    stores.database.close()


QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "who is slow": ((), "link of 10.2.3.2"),
    "since when": ((), "Since\n"),
    "what does it cost": (("a:text-is('Evidence')",), "of every iteration"),
    "is my feed fine": (("nav a:text-is('Feeds')",), "192.168.250.12:0"),
    "which job is on leaf2": (("nav a:text-is('Fabric')", "form[aria-label=Hosts] button"), "llama-demo"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_operators_ask_is_answered_in_two_clicks(visit: Visit, question: str) -> None:
    """From the overview; a switch's name is typed before the second one."""
    clicks, answer = QUESTIONS[question]
    assert len(clicks) <= 2
    visit.open("/")
    for click in clicks:
        if click.startswith("form"):
            visit.page.fill("[name=host]", "leaf2")
        with visit.page.expect_navigation():
            visit.page.click(click)
    assert answer in visit.page.inner_text("main")
    if question == "which job is on leaf2":
        assert visit.page.locator("table.rails tbody th").all_inner_texts() == ["s3", "s4"]


def test_matrix_is_read_by_mouse_and_by_keys(visit: Visit, demo: Stores) -> None:
    """What is pointed at is told below the figure, with its row and column; arrows go from cell to cell."""
    page = visit.page
    visit.open(f"/jobs/{jobs(demo, ADMIN, 2**61)[0].id}/matrix?measure=delay")
    page.locator('[data-cell="3 5"]').hover()
    assert "10.1.2.2 (s2 gpu 1) → 10.2.3.2 (s3 gpu 1): dp 37.8 MB" in page.locator(".heat-status").inner_text()
    assert page.locator(".guide.on").count() == 2
    page.locator(".heat-box").focus()
    page.keyboard.press("ArrowRight")
    told = page.locator(".heat-status").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator(".heat-status").inner_text() != told
    with page.expect_navigation(url="**order=dp**"):
        page.select_option("[name=order]", "dp")
    assert page.input_value("[name=measure]") == "delay"


def test_ways_of_a_pair_are_asked_for_by_keys(visit: Visit) -> None:
    """Type two ends, press Enter: the ways are drawn, told and stand in the address."""
    page = visit.page
    visit.open("/fabric")
    page.locator("[name=src]").focus()
    page.keyboard.type("s1/0")
    page.keyboard.press("Tab")
    page.keyboard.type("10.4.7.2")
    page.keyboard.press("Enter")
    page.wait_for_selector("#pair")
    assert "2 ways from 10.1.1.1 (s1 gpu 0) to 10.4.7.2 (s7 gpu 1)" in page.locator("#pair").inner_text()
    assert "src=s1" in page.url
    page.click("#links a:has-text('incident')")
    page.wait_for_url("**/incidents/*")


def test_ways_and_hosts_are_asked_for_by_mouse(visit: Visit) -> None:
    """Both ends and a click: the ways are marked in the drawing; a host is found; the ways are let go of."""
    page = visit.page
    visit.open("/fabric")
    page.get_by_label("Way from").fill("s1/0")
    page.get_by_label("to", exact=True).fill("s7/1")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="2 ways from 10.1.1.1")).to_be_visible()
    assert page.locator(".fabric-box line.on-path").count() == 4
    page.get_by_label("Host, job, address or switch").fill("s5")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".rails tbody th")).to_have_text(["s5"])
    assert page.locator(".fabric-box line.on-path").count() == 4, "the ways stay"
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("#pair")).to_have_count(0)


def test_jobs_and_incidents_are_chosen_by_mouse_and_by_keys(visit: Visit) -> None:
    """Tiles, health, severity and state: each is a link or a field, and stands in the address."""
    page = visit.page
    visit.open("/")
    page.get_by_role("link", name="Tiles").click()
    visit.choose("Health", "healthy")
    expect(page.get_by_text("No matching job")).to_be_visible()
    assert {"view=tiles", "show=healthy"} <= set(page.url.partition("?")[2].split("&"))
    visit.tab_to("Show all jobs")
    visit.enter()
    expect(page.locator("#jobs").get_by_role("link", name="llama-demo", exact=True)).to_be_visible()
    visit.tab_to("Incidents")
    visit.enter()
    visit.tab_to("Severity")
    with page.expect_navigation():
        page.keyboard.press("i")  # the first letter of "info": what is chosen from a list filters at once
    expect(page.get_by_text("No incident")).to_be_visible()
    assert "severity=info" in page.url
    with page.expect_navigation():
        page.get_by_role("link", name="All").click()
    visit.choose("Severity", "critical")
    page.get_by_role("link", name="The link of").click()
    page.wait_for_url("**/incidents/*")


def test_an_incident_is_dealt_with_by_mouse(chromium: Browser, own: Stores) -> None:
    """One click to the evidence, one each to look after it, comment, mute, unmute and ask for another scan."""
    with served_stores(own) as address, visiting(chromium, address) as visit:
        page, history = visit.page, visit.page.locator("#history")
        visit.open("/")
        page.get_by_role("link", name="Evidence").click()
        page.get_by_label("Note (optional)").fill("swapping the cable")
        page.get_by_role("button", name="Acknowledge").click()
        expect(history).to_contain_text("swapping the cable")
        page.get_by_label("Note for other operators").fill(HOSTILE)
        page.get_by_role("button", name="Comment").click()
        expect(history).to_contain_text(HOSTILE)
        page.get_by_label("For how long").select_option("24")
        page.get_by_label("Why").fill("a cable is ordered")
        page.get_by_role("button", name="Mute").click()
        expect(history).to_contain_text("local muted it until")
        page.get_by_role("button", name="Unmute").click()
        expect(history).to_contain_text("local unmuted it")
        with page.expect_navigation():
            page.get_by_role("button", name="Scan the newest records").click()
        page.get_by_role("link", name="Scans").click()
        expect(page.locator("#asked li")).to_have_count(1)
        page.get_by_text("Of a certain time").click()
        page.get_by_label("From, UTC").fill("2026-11-20T15:20:00Z")
        page.get_by_label("To, UTC").fill("2026-11-20T15:21:00Z")
        page.get_by_role("button", name="Scan", exact=True).click()
        expect(page.locator("#asked li")).to_have_count(2)
        expect(page.locator("#asked")).to_contain_text("15:20:00")
        page.locator("#runs tbody a").first.click()
        expect(page.get_by_role("heading", name="Something is wrong")).to_be_visible()
        visit.quiet()


def test_an_incident_is_dealt_with_by_keyboard(chromium: Browser, own: Stores) -> None:
    """Tabs lead to each form and to what it says."""
    with served_stores(own) as address, visiting(chromium, address) as visit:
        page, keyboard, history = visit.page, visit.page.keyboard, visit.page.locator("#history")
        visit.open("/")
        visit.tab_to("Evidence")
        visit.enter()
        for field, button, told in (
            ("Note (optional)", "Acknowledge", "local acknowledged it"),
            ("Note for other operators", "Comment", "local said"),
            ("Why", "Mute", "local muted it until"),
            ("Why no longer", "Unmute", "local unmuted it"),
        ):
            visit.tab_to(field)
            keyboard.type(f"said to {button}")
            visit.tab_to(button)
            visit.enter()
            expect(history).to_contain_text(told)
            expect(history).to_contain_text(f"said to {button}")
        for name in ("Scan the newest records", "Scans"):
            visit.tab_to(name)
            visit.enter()
        visit.tab_to("Jobs, by id or label")
        keyboard.type("llama-demo")
        visit.tab_to("Of a certain time")
        keyboard.press("Enter")
        for field, time in (("From, UTC", "2026-11-20T15:20:00Z"), ("To, UTC", "2026-11-20T15:21:00Z")):
            visit.tab_to(field)
            keyboard.type(time)
        visit.enter()
        expect(page.locator("#asked li")).to_have_count(2)
        expect(page.locator("#asked")).to_contain_text("15:20:00")
        visit.quiet()


def test_hostile_host_names_are_told_by_scripts_and_not_run(chromium: Browser, own: Stores) -> None:
    """What modules write of a host into the page is text: a cell, a lane, a span. The policy has nothing to refuse."""
    said = demo_inventory().model_dump_json(by_alias=True).replace('"s2"', json.dumps(HOSTILE))
    save_inventory(own.database, Inventory.model_validate_json(said), "tests", 2**61)
    place = f"/jobs/{jobs(own, ADMIN, 2**61)[0].id}"
    with served_stores(own) as address, visiting(chromium, address) as visit:
        page = visit.page
        visit.open(f"{place}/matrix")
        page.locator('[data-cell="3 5"]').hover()
        assert HOSTILE in page.locator(".heat-status").inner_text()
        visit.open(f"{place}/timeline?first=8")
        page.wait_for_selector(".tl[data-ready]")
        page.locator(".tl canvas").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "."):
            page.keyboard.press(key)
        assert HOSTILE in page.locator(".tl-announced").inner_text()
        for path in (place, "/fabric?src=10.1.2.2&dst=10.1.1.1"):
            visit.open(path)
            assert HOSTILE in page.locator("main").inner_text()
            assert page.locator("main img").count() == 0
        visit.quiet()


def test_an_admin_logs_in_makes_a_token_and_reads_an_inventory_file(
    chromium: Browser, own: Stores, tmp_path: Path
) -> None:
    """A token by mouse, shown once; a user, and the token void again, by keys; a file in the form; the audit log."""
    file = tmp_path / "fabric.yaml"
    file.write_text("hosts:\n- name: fresh\n  endpoints: [{address: 10.9.9.9}]\n")
    with served_stores(own, AccessSettings(mode="login")) as address, visiting(chromium, address) as visit:
        page = visit.page
        visit.open("/login?next=/settings")
        page.fill("[name=name]", "ann")
        page.fill("[name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/settings*")
        page.click("#tokens button:has-text('Make')")
        assert page.locator("#secret").inner_text().startswith("fp_")
        visit.accessible()
        for field in ("Name", "Password"):
            visit.tab_to(field)
            page.keyboard.type("olga" if field == "Name" else PASSWORD)
        visit.enter()
        expect(page.locator("#users tbody th")).to_have_text(["ann", "olga"])
        visit.tab_to("Revoke")
        visit.enter()
        expect(page.locator("#tokens tbody")).to_contain_text("revoked")
        page.click("summary:has-text('Change it')")
        page.set_input_files("input[type=file]", file)
        visit.until("document.getElementById('inventory-text').value.includes('fresh')")
        page.click("button:has-text('Put in its place')")
        page.wait_for_selector(".note-bar")
        assert "in force from the next scan on" in page.locator(".note-bar").inner_text()
        assert "1 host with 1 endpoint" in page.locator("#inventory").inner_text()
        assert "POST /settings/inventory" in page.locator("#audit").inner_text()
        visit.quiet()
