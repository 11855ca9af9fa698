"""Every page in a real Chromium, in light and dark, on a phone and on a desk: fast, silent, accessible, in sight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser

from flowprism.service.config.settings_file import load_settings
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.effort import least
from tests.flowprism.dashboard.browser import MOST_SHIFT, SLOWEST_S, Theme, served_stores, visiting
from tests.flowprism.dashboard.stored_cluster import stored_cluster
from tests.flowprism.service.running import command, processor_s, settings, wait_for

pytestmark = pytest.mark.slow

ADMIN = Viewer("ann", "admin", None)
LATER_NS = 2**61
GPUS = 10_000
PAGES = (
    "/", "/?view=tiles", "/jobs/JOB", "/jobs/JOB/timeline", "/jobs/JOB/timeline?first=8&vs=median&path=1",
    "/jobs/JOB/matrix", "/jobs/JOB/matrix?measure=delay&order=dp", "/fabric", "/incidents", "/incidents/INCIDENT",
    "/scans", "/feeds", "/feeds/plan", "/settings", "/training-time",
    "/fabric/traffic",
)  # fmt: skip
WINDOWS: tuple[tuple[Theme, int], ...] = (("light", 1440), ("dark", 390), ("dark", 2560))


def named(stores: Stores, path: str) -> str:
    """A page's address with the id of the job with the worst open incident, and of that incident."""
    (row, *_) = incidents(stores, ADMIN, LATER_NS)
    job = row.incident.job or jobs(stores, ADMIN, LATER_NS)[0].id
    return path.replace("JOB", job).replace("INCIDENT", row.incident.id)


def answers(address: str) -> bool:
    """Whether something is answered with 200."""
    try:
        with urlopen(address) as answer:  # noqa: S310 - our own server
            return bool(answer.read())
    except URLError:
        return False


def first_view_s(file: Path, path: str) -> float:
    """Processor time that a page takes which is the first that a fresh `flowprism api` is asked for."""
    address = f"http://127.0.0.1:{load_settings(file, {}).api.port}"
    with command(file.with_name("log"), "api", str(file)) as api:
        wait_for(lambda: answers(f"{address}/healthz"))
        before_s = processor_s(api.pid)
        assert answers(f"{address}{path}")
        return processor_s(api.pid) - before_s


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, str]]:
    """A simulated cluster of 10,000 GPUs, and where its dashboard is served."""
    stores = stored_cluster(tmp_path_factory.mktemp("large"), GPUS)
    with served_stores(stores) as address:
        yield stores, address
    stores.database.close()


@pytest.mark.parametrize(("theme", "width"), WINDOWS)
@pytest.mark.parametrize("path", PAGES)
def test_page_is_fast_silent_and_accessible(
    chromium: Browser, demo: Stores, demo_address: str, path: str, theme: Theme, width: int
) -> None:
    """Under a second's work; no word on the console, no request elsewhere, axe finds nothing, nothing sticks out."""
    with visiting(chromium, demo_address, width=width, theme=theme) as visit:
        assert visit.is_fast(named(demo, path))
        if "/timeline" in path:
            visit.page.wait_for_selector(".tl[data-ready]")
        assert visit.shifted() < MOST_SHIFT
        visit.in_sight()
        visit.accessible()
        visit.quiet()


@pytest.mark.parametrize("path", PAGES)
def test_page_of_a_large_cluster_is_fast_and_silent(chromium: Browser, large: tuple[Stores, str], path: str) -> None:
    """Of 10,000 GPUs in thirty jobs, whatever the page: under a second's work, and nothing complained of."""
    stores, address = large
    with visiting(chromium, address) as visit:
        assert visit.is_little_work(named(stores, path))
        visit.open(named(stores, path))
        if "/timeline" in path:
            visit.page.wait_for_selector(".tl[data-ready]")
        visit.in_sight()
        visit.quiet()


def test_first_view_after_a_start_is_fast(large: tuple[Stores, str], tmp_path: Path) -> None:
    """The dearest page of 10,000 GPUs, the first thing that a fresh `flowprism api` is asked for.

    Other work on the machine can only add to what is measured, so that the least of three starts counts.
    """
    file = settings(tmp_path, store={"folder": str(Path(large[0].analyses or "").parent)})
    assert least(lambda: first_view_s(file, "/fabric"), SLOWEST_S, times=3) < SLOWEST_S


@pytest.mark.parametrize("path", PAGES)
def test_pages_tell_all_without_scripts(chromium: Browser, demo: Stores, demo_address: str, path: str) -> None:
    """Headline and tables are there where scripts do not run."""
    with visiting(chromium, demo_address, scripts=False) as visit:
        visit.open(named(demo, path))
        assert visit.page.locator("h1").first.inner_text().strip()
        assert visit.page.locator("main").inner_text().strip()


def test_log_in_page_is_accessible(chromium: Browser, demo_address: str) -> None:
    """The one page that everybody sees."""
    with visiting(chromium, demo_address) as visit:
        assert visit.is_fast("/login")
        visit.accessible()
        visit.quiet()


def test_what_a_visit_must_notice_it_notices(chromium: Browser, demo_address: str) -> None:
    """A page that breaks the policy, asks elsewhere and has a picture without words is found out."""
    with visiting(chromium, demo_address) as visit:
        visit.open("/settings")
        visit.page.evaluate(
            """() => {
                const strange = new Image();
                strange.src = "http://127.0.0.1:9/x.png";
                document.body.append(strange);
                document.body.insertAdjacentHTML("beforeend", "<p onclick='x()' style='color: red'>x</p>");
            }"""
        )
        visit.page.wait_for_timeout(200)
        assert visit.console
        assert visit.strangers == ["http://127.0.0.1:9/x.png"]
        with pytest.raises(AssertionError, match="image-alt"):
            visit.accessible()
