"""Every page of six feeds of one job in a real browser: no error, nothing cut off, nothing untrue, accessible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from datamodel.cluster.inventory import Inventory
from datamodel.reports.analysis import Analysis
from flowprism.pipeline import AnalysisOptions, analyze, analyze_reading
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.queries.scans import scans
from flowprism.service.stores import Stores
from simulate.case import simulate_case, write_case
from simulate.export.feed_spec import FeedSpec
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.feed_options import MIRROR_GATHERED
from tests.flowprism.dashboard.browser import Visit, served_stores, visiting
from tests.flowprism.service.api.client import ADMIN
from tests.flowprism.service.stored import stored_demo

FEEDS = ("mirror", "messages", "ipfix 1/1 s", "ipfix 60/15 s", "sflow", "ipfix with sflow")
SPANS, SAMPLES, VOLUMES = set(FEEDS[:3]), {"sflow", "ipfix with sflow"}, {"ipfix 60/15 s"}
LATER_NS = 2**61
WIDE, NARROW = 1440, 390
# What a page is made of follows from what a feed measures: axe and a phone look at one feed of each kind. What pages
# say, and that no text is cut off or lies on another, is checked with every feed.
ONE_OF_EACH_KIND = ("mirror", "ipfix 60/15 s", "sflow")
WINDOWS = (*((feed, WIDE) for feed in FEEDS), *((feed, NARROW) for feed in ONE_OF_EACH_KIND))
SFLOW = FeedSpec("sflow", 4096, counters_s=2.0)
SECOND, MINUTE = FeedSpec("ipfix", active_s=1.0, inactive_s=1.0), FeedSpec("ipfix", active_s=60.0, inactive_s=15.0)

# What no page may say of a feed that does not measure it, or does.
UNTRUE = {
    **dict.fromkeys(
        SAMPLES | VOLUMES,
        ("No spans were kept", "No waiting was seen", "No endpoint waited", "No critical path", "Reading spans",
         "None of these endpoints send", "No pairs", "0 transfers"),
    ),
    **dict.fromkeys(SPANS, ("No spans for", "No pairs", "do not show single transfers", "Mean iteration")),
}  # fmt: skip
# Nothing was checked, so nothing is well.
UNTRUE_OF_VOLUMES = ("runs as it should", "As usual", "as usual", "No findings", "Mean iteration")
NO_WORDS = re.compile(r"\b(nan|NaN|None|undefined|inf|Infinity)\b")

# Texts that are cut off or lie on one another; boxes that scroll show only what lies inside them.
COLLISIONS = (Path(__file__).parent / "collisions.js").read_text()


@dataclass(frozen=True)
class Served:
    """One feed's store, where it is served, and what there is to look at."""

    stores: Stores
    address: str

    def pages(self) -> list[str]:
        """Every page of its job, its incidents and scans, and those of all."""
        found = [
            "/",
            "/?view=tiles",
            "/fabric",
            "/fabric/traffic?last=30d",
            "/feeds",
            "/scans",
            "/incidents?state=all",
            "/settings",
        ]
        for row in jobs(self.stores, ADMIN, LATER_NS):
            job = f"/jobs/{row.id}"
            found += [
                job,
                f"{job}?by=late",
                f"{job}?by=sent",
                f"{job}/timeline",
                f"{job}/timeline?first=3&last=6&vs=median",
            ]
            found += [f"{job}/matrix?measure={measure}" for measure in ("volume", "rate", "delay")]
        found += [f"/incidents/{row.incident.id}" for row in incidents(self.stores, ADMIN, LATER_NS)]
        scan = scans(self.stores, ADMIN)[0]
        return [*found, f"/scans/{scan.policy}/{scan.window_start_ns}/{scan.window_end_ns}"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    """All feeds, analysed, scanned and served."""
    folder = tmp_path_factory.mktemp("feeds")
    with ExitStack() as stack:
        found = {}
        for n, (name, (analysis, inventory)) in enumerate(analyses(folder).items()):
            own = folder / str(n)
            own.mkdir()
            stores = stored_demo(own, analysis=analysis, inventory=inventory)
            stack.callback(stores.database.close)
            found[name] = Served(stores, stack.enter_context(served_stores(stores)))
        yield found


def analyses(folder: Path) -> dict[str, tuple[Analysis, Inventory]]:
    """One job with a slow NIC as six feeds show it; timeouts of a minute need ten minutes of a job, a healthy one."""
    job = replace(scenario("sflow-slow-nic", ScenarioOptions(gpus=16, iterations=24)), feeds=(SECOND, SFLOW))
    case = simulate_case(job, 1)
    mirror = simulate_case(replace(job, telemetry="mirror", gathered=MIRROR_GATHERED, feeds=()), 1)
    long = replace(scenario("ipfix", ScenarioOptions(gpus=16, iterations=300)), feeds=(MINUTE,))
    readings = (
        mirror.readings["flows"], case.readings["flows"], case.readings["ipfix"],
        simulate_case(long, 1).readings["ipfix"], case.readings["sflow"],
    )  # fmt: skip
    known, options = case.inventory, AnalysisOptions()
    found = {
        name: (analyze_reading(reading, (name,), known, options), known)
        for name, reading in zip(FEEDS, readings, strict=False)
    }
    write_case(replace(job, feeds=(MINUTE, SFLOW)), folder / "case", 1)
    exports = [folder / "case" / "export" / f"{kind}.pcap.gz" for kind in ("ipfix", "sflow")]
    return {**found, FEEDS[-1]: (analyze(exports, known, options), known)}


@pytest.mark.slow
@pytest.mark.parametrize(("feed", "width"), WINDOWS)
def test_pages_of_a_feed_throw_nothing_cut_nothing_off_and_say_nothing_untrue(
    chromium: Browser, served: dict[str, Served], feed: str, width: int
) -> None:
    """Light, and on the wide window dark, which has other colors and nothing else; one run names all that is wrong."""
    own, wrong = served[feed], []
    with visiting(chromium, own.address, width=width) as visit:
        for page in own.pages():
            visit.open(page)
            visit.until("!document.querySelector('.tl') || document.querySelector('.tl').dataset.ready")
            wrong += [f"{page}: {one}" for one in problems(visit, feed)]
            if feed not in ONE_OF_EACH_KIND:
                continue
            wrong += [f"{page}: {one}" for one in visit.violations()]
            if width < WIDE:
                continue
            visit.page.emulate_media(color_scheme="dark")
            dark = (*visit.violations("color-contrast"), *visit.console)
            wrong += [f"{page}, dark: {one}" for one in dark]
            visit.console.clear()
            visit.page.emulate_media(color_scheme="light")
    assert not wrong, "\n".join(wrong)


def problems(visit: Visit, feed: str) -> list[str]:
    """What is wrong with the page that is open."""
    text = visit.page.inner_text("body")
    untrue = [*UNTRUE[feed], *(UNTRUE_OF_VOLUMES if feed in VOLUMES else ())]
    found = [f"says {words!r}" for words in untrue if words in text]
    found += [f"says {words!r}" for words in set(NO_WORDS.findall(text))]
    found += visit.page.evaluate(COLLISIONS)
    wide, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    found += [f"is {wide} px wide"] if wide > window else []
    found += [*visit.console, *visit.strangers]
    visit.console.clear()
    visit.strangers.clear()
    return found


@pytest.mark.slow
def test_what_a_feed_shows_is_drawn(chromium: Browser, served: dict[str, Served]) -> None:
    """Spans where every packet counts; else rates of the mean iteration; of volumes a matrix with what it moves."""
    for feed in FEEDS:
        own = served[feed]
        (job,) = jobs(own.stores, ADMIN, LATER_NS)
        with visiting(chromium, own.address) as visit:
            visit.open(f"/jobs/{job.id}/timeline")
            assert (visit.page.locator("canvas").count() == 1) == (feed in SPANS)
            assert (visit.page.locator("svg.rates path.rate.sent").count() == 16) == (feed in SAMPLES)
            visit.open(f"/jobs/{job.id}/matrix")
            assert visit.page.locator("[data-cell]").count() == 32
            errors = "±" in visit.page.inner_text("#pairs ~ .scroll, #pairs ~ div")
            assert errors == (feed in SAMPLES)
