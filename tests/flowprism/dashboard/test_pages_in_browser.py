from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Browser, expect

from datamodel.service.incidents import IncidentChange
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.queries.scans import scans
from flowprism.service.stores import Stores
from storage.database.access import users
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.effort import least
from tests.flowprism.dashboard.browser import MOST_SHIFT, PIECE_S, Theme, Visit, served_stores, visiting
from tests.flowprism.profiles.stored_profiles import only_incident, read_profiles_of
from tests.flowprism.service.api.client import ADMIN
from tests.flowprism.service.stored import stored_demo
from tests.storage.database import results

LATER_NS = 2**61
# The others are opened by `test_every_page.py`.
PAGES = (
    "SCAN",
    "/login",
    *(pytest.param(page, marks=pytest.mark.slow) for page in ("/?q=nothing+fits", "/incidents?state=all")),
)


@pytest.fixture(scope="module")
def places(demo: Stores) -> dict[str, str]:
    """Where the one job, incident and scan are."""
    (job,), (case,) = jobs(demo, ADMIN, LATER_NS), incidents(demo, ADMIN, LATER_NS)
    scan = scans(demo, ADMIN)[0]
    path = f"/scans/{scan.policy}/{scan.window_start_ns}/{scan.window_end_ns}"
    return {"JOB": f"/jobs/{job.id}", "INCIDENT": f"/incidents/{case.incident.id}", "SCAN": path}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Stores, str]]:
    """A store to change, and where it is served."""
    stores = stored_demo(tmp_path)
    with served_stores(stores) as address:
        yield stores, address
    stores.database.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), pytest.param("dark", 390, marks=pytest.mark.slow)])
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_well(
    chromium: Browser, demo_address: str, places: dict[str, str], page: str, theme: Theme, width: int
) -> None:
    """Little work, without complaint, without a request elsewhere, within the window, still, and fit for all senses."""
    with visiting(chromium, demo_address, width=width, theme=theme) as visit:
        assert visit.is_little_work(places.get(page, page))
        visit.open(places.get(page, page))
        assert visit.shifted() < MOST_SHIFT
        visit.in_sight()
        visit.accessible()
        visit.quiet()


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_incident_with_profiles_is_well(
    chromium: Browser, own: tuple[Stores, str], tmp_path: Path, theme: Theme, width: int
) -> None:
    """The section of profiles is within the window and fit for all senses; its table is narrow enough."""
    stores, address = own
    read_profiles_of(stores, tmp_path / "traces")
    with visiting(chromium, address, width=width, theme=theme) as visit:
        visit.open(f"/incidents/{only_incident(stores)}")
        expect(visit.page.get_by_role("heading", name="What profiles show")).to_be_visible()
        table = visit.page.get_by_role("region", name="Iteration time of")
        assert table.evaluate("it => it.scrollWidth <= it.clientWidth")
        assert visit.shifted() < MOST_SHIFT
        visit.in_sight()
        visit.accessible()
        visit.quiet()


def test_page_that_arrives_in_pieces_stays_still(chromium: Browser, demo: Stores) -> None:
    """What is there already does not move when the rest comes: nothing is shown before."""
    with served_stores(demo, pieces=12) as address, visiting(chromium, address) as visit:
        visit.open("/?view=tiles")
        assert visit.load_s() > 12 * PIECE_S / 2
        assert visit.shifted() < MOST_SHIFT


def _new_incident(stores: Stores, summary: str) -> None:
    """A later scan finds something worse, of the one job."""
    (job,) = jobs(stores, ADMIN, LATER_NS)
    end_ns = scans(stores, ADMIN)[0].window_end_ns + 60 * 10**9
    times = {"seen_ns": end_ns, "start_ns": end_ns - 10**9, "opened_ns": end_ns}
    case = results.incident(
        f"new {end_ns}", job.id, severity="critical", slowdown_ratio=3.0, summary=summary, **times
    )  # fmt: skip
    change = IncidentChange(incident=f"new {end_ns}", time_ns=end_ns, kind="opened", detail=summary)
    assert save_scan(stores.database, ScanResult(results.kept(end_ns, "health"), [], [case], [change]))


@pytest.mark.parametrize("page", ["/", *(pytest.param(page, marks=pytest.mark.slow) for page in ("/incidents", "JOB"))])
def test_an_incident_is_on_open_pages_within_two_seconds(
    chromium: Browser, own: tuple[Stores, str], looked: Event, page: str
) -> None:
    """Of its scan; what somebody is writing stays, and those who hear the page are told."""
    stores, address = own
    (job,) = jobs(stores, ADMIN, LATER_NS)
    with visiting(chromium, address) as visit:
        visit.open(page.replace("JOB", f"/jobs/{job.id}"))
        expect(visit.page.locator("#live")).to_be_visible()
        find = visit.page.locator("#find")
        find.fill("half a wo")
        assert looked.wait(60)
        hosts = count(9)

        def shown_s() -> float:
            summary, begun_s = f"host s{next(hosts)} <b>stands</b> still", time.monotonic()
            _new_incident(stores, summary)
            expect(visit.page.locator("main").get_by_text(summary).first).to_be_visible(timeout=60_000)
            return time.monotonic() - begun_s

        assert least(shown_s, 2) < 2
        expect(find).to_be_focused()
        assert find.input_value() == "half a wo"
        if page != "JOB":
            expect(visit.page.locator("#said")).not_to_be_empty()
        visit.quiet()


@pytest.mark.slow
def test_a_renewed_page_keeps_what_was_unfolded_and_where_one_was(
    chromium: Browser, own: tuple[Stores, str], looked: Event
) -> None:
    """Open tables stay open; the focus stays on the link it was on."""
    stores, address = own
    (job,) = jobs(stores, ADMIN, LATER_NS)
    with visiting(chromium, address) as visit:
        visit.open(f"/jobs/{job.id}")
        expect(visit.page.locator("#live")).to_be_visible()
        visit.page.locator("#pace summary").click()
        link = visit.page.locator("#pace tbody a").nth(2)
        link.focus()
        assert looked.wait(60)
        _new_incident(stores, "another one")
        expect(visit.page.get_by_text("another one").first).to_be_visible(timeout=60_000)
        assert visit.page.locator("#pace details").evaluate("(one) => one.open")
        expect(visit.page.locator("#pace tbody a").nth(2)).to_be_focused()


def test_from_the_overview_to_acknowledged_by_keyboard(chromium: Browser, own: tuple[Stores, str]) -> None:
    """The slash leads to the search, tabs to the job, its incident and the forms."""
    with visiting(chromium, own[1]) as visit:
        visit.open("/")
        visit.page.wait_for_timeout(200)
        keyboard = visit.page.keyboard
        keyboard.press("/")
        keyboard.type("llama")
        keyboard.press("Enter")
        visit.page.wait_for_url("**/?q=llama")
        visit.tab_to("llama-demo")
        keyboard.press("Enter")
        visit.page.wait_for_url("**/jobs/*")
        visit.tab_to("Evidence")
        keyboard.press("Enter")
        visit.page.wait_for_url("**/incidents/*")
        visit.tab_to("Acknowledge")
        keyboard.press("Enter")
        expect(visit.page.locator("#history")).to_contain_text("local acknowledged it")


def test_choosing_a_role_makes_no_user(chromium: Browser, own: tuple[Stores, str]) -> None:
    """Lists filter at once; what changes something waits for its button."""
    stores, address = own
    with visiting(chromium, address) as visit:
        visit.open("/settings")
        form = visit.page.locator("form[action='/settings/users']")
        form.get_by_label("Name").fill("eve")
        form.get_by_label("Password").fill("correct horse battery")
        form.get_by_label("Role").select_option("operator")
        visit.page.wait_for_timeout(500)
        assert users(stores.database) == []
        form.get_by_label("Sees only tenant").fill("research")
        form.get_by_role("button", name="Keep").click()
        expect(visit.page.locator("#users")).to_contain_text("research")
    assert [(one.name, one.role, one.tenant) for one in users(stores.database)] == [("eve", "operator", "research")]


def test_the_first_tab_skips_the_navigation(chromium: Browser, demo_address: str) -> None:
    """Straight to the content."""
    with visiting(chromium, demo_address) as visit:
        visit.open("/")
        visit.page.wait_for_timeout(200)
        visit.page.keyboard.press("Tab")
        expect(visit.page.locator(".skip")).to_be_focused()
        visit.page.keyboard.press("Enter")
        expect(visit.page.locator("main")).to_be_focused()


def test_everything_is_said_without_scripts(chromium: Browser, own: tuple[Stores, str]) -> None:
    """Links and forms are plain."""
    with visiting(chromium, own[1], scripts=False) as visit:
        visit.open("/")
        visit.page.get_by_role("link", name="Evidence").click()
        visit.page.get_by_label("Why").fill("known")
        visit.page.get_by_role("button", name="Mute").click()
        expect(visit.page.locator("#history")).to_contain_text("local muted it")


@pytest.mark.slow
def test_the_theme_is_remembered_and_there_from_the_first_paint(chromium: Browser, demo_address: str) -> None:
    """Auto, dark, light and back again; the next page has it before anything else runs."""
    with visiting(chromium, demo_address, theme="light") as visit:
        visit.open("/")
        visit.page.get_by_role("button", name="Theme").click()
        assert _ground(visit) == "rgb(13, 18, 24)"
        visit.open("/incidents")
        assert _ground(visit) == "rgb(13, 18, 24)"
        position = visit.page.evaluate(
            "[...document.head.children].findIndex((one) => one.src?.endsWith('theme.js'))"
            " < [...document.head.children].findIndex((one) => one.rel === 'stylesheet')"
        )
        assert position is True
        visit.page.get_by_role("button", name="Theme").click()
        assert _ground(visit) == "rgb(244, 246, 248)"
        visit.page.get_by_role("button", name="Theme").click()
        assert visit.page.evaluate("document.documentElement.dataset.theme ?? 'auto'") == "auto"


def _ground(visit: Visit) -> str:
    return str(visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.parametrize("place", ["/", pytest.param("JOB", marks=pytest.mark.slow)])
def test_times_are_in_the_viewers_zone_from_the_first_page_on(
    chromium: Browser, demo_address: str, places: dict[str, str], place: str
) -> None:
    """Berlin is an hour ahead: what the server wrote in UTC is told as the second page has it, and nothing moves."""
    with visiting(chromium, demo_address) as visit:
        asked: list[str] = []
        visit.page.on("request", lambda one: asked.append(one.url) if one.is_navigation_request() else None)
        visit.open(places.get(place, place))
        told = visit.page.evaluate(_TIMES)
        assert any(text == "2026-11-20 16:20:59 15:20:59 UTC" for text in told)
        assert any(re.fullmatch(r"2026-11-20 16:\S+ to 16:\S+ = 15:\S+ UTC to 15:\S+ UTC", text) for text in told)
        assert len(asked) == 1
        assert visit.shifted() < MOST_SHIFT
        here, there = re.findall(r"(\d\d):", visit.page.locator("#clock").inner_text())[::2]
        assert (int(here) - int(there)) % 24 in {1, 2}
        visit.open(places.get(place, place))
        assert visit.page.locator("html").get_attribute("data-zone") == "Europe/Berlin"
        assert visit.page.evaluate(_TIMES) == told
        assert len(asked) == 2
        visit.quiet()


_TIMES = (
    "[...document.querySelectorAll('time, [data-span], text[data-time]')]"
    ".map((one) => one.textContent + (one.title ? ' = ' + one.title : ''))"
)


@pytest.mark.slow
def test_dragging_over_the_figure_looks_closer(chromium: Browser, demo_address: str, places: dict[str, str]) -> None:
    """The address names the time that was marked, and fewer iterations are drawn; links do the same by keyboard."""
    with visiting(chromium, demo_address) as visit:
        page = visit.page
        visit.open(places["JOB"])
        expect(page.locator(".zoom-hint")).to_be_visible()
        before = page.locator("#pace circle").count()
        box = page.locator("[data-zoom]").bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.3, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=4)
        expect(page.locator(".range-pick")).to_be_visible()
        page.mouse.up()
        page.wait_for_url("**from=*to=*")
        marked = page.locator("#pace circle").count()
        assert 0 < marked < before
        with page.expect_navigation():
            page.get_by_role("link", name="Wider").click()
        assert page.locator("#pace circle").count() > marked
        for name in ("Closer", "Later", "← Earlier"):
            there = page.url
            visit.tab_to(name)
            visit.enter()
            assert page.url != there
        visit.quiet()
