"""Matrix, fabric and settings as people use them, by mouse and by keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from flowprism.service.access.settings import AccessSettings
from flowprism.service.answers.jobs import jobs
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer
from tests.flowprism.dashboard.browser import Visit, served_shelf, visiting
from tests.flowprism.service.access.asking import PASSWORD, add_user
from tests.flowprism.service.stored import stored_demo

pytestmark = pytest.mark.slow

ADMIN = Viewer("ann", "admin", None)


@pytest.fixture
def visit(chromium: Browser, demo_address: str) -> Iterator[Visit]:
    """A window on the bundled capture."""
    with visiting(chromium, demo_address) as found:
        yield found
        found.quiet()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Shelf]:
    """The bundled capture, for a test that changes something."""
    shelf = stored_demo(tmp_path)
    add_user(shelf.database, "ann", "admin")
    yield shelf
    shelf.database.close()


def test_matrix_is_read_by_mouse_and_by_keys(visit: Visit, demo: Shelf) -> None:
    """What is pointed at is told below the figure, with its row and column; arrows go from cell to cell."""
    page = visit.page
    visit.open(f"/jobs/{jobs(demo, ADMIN, 2**61)[0].id}/matrix?measure=delay")
    page.locator('[data-cell="3 5"]').hover()
    assert "10.1.2.2 (s2 gpu 1) → 10.2.3.2 (s3 gpu 1): dp 37.8 MB" in page.locator(".heat-told").inner_text()
    assert page.locator(".guide.on").count() == 2
    page.locator(".heat-box").focus()
    page.keyboard.press("ArrowRight")
    told = page.locator(".heat-told").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator(".heat-told").inner_text() != told
    page.select_option("[name=order]", "dp")
    page.click("button:has-text('Show')")
    page.wait_for_url("**order=dp**")
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


def test_an_admin_logs_in_makes_a_token_and_reads_an_inventory_file(
    chromium: Browser, own: Shelf, tmp_path: Path
) -> None:
    """Through the log-in page to the settings: a token shown once, a file read into the form, the audit log of both."""
    file = tmp_path / "fabric.yaml"
    file.write_text("hosts:\n- name: fresh\n  endpoints: [{address: 10.9.9.9}]\n")
    with served_shelf(own, AccessSettings(mode="login")) as address, visiting(chromium, address) as visit:
        page = visit.page
        visit.open("/login?next=/settings")
        page.fill("[name=name]", "ann")
        page.fill("[name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/settings*")
        page.click("#tokens button:has-text('Make')")
        assert page.locator("#secret").inner_text().startswith("fp_")
        visit.accessible()
        page.click("summary:has-text('Change it')")
        page.set_input_files("input[type=file]", file)
        visit.until("document.getElementById('inventory-text').value.includes('fresh')")
        page.click("button:has-text('Put in its place')")
        page.wait_for_selector(".note-bar")
        assert "in force from the next scan on" in page.locator(".note-bar").inner_text()
        assert "1 host with 1 endpoint" in page.locator("#inventory").inner_text()
        assert "POST /settings/inventory" in page.locator("#audit").inner_text()
        visit.quiet()
