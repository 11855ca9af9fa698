"""The dashboard in a real browser: the application under its own server on a free port, in a headless Chromium.

A visit notes all that a person would not see: console messages, errors of scripts, refusals of the security policy and
requests that leave the host. `Visit.quiet` fails where there was any.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.request import urlopen

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, Response, expect, sync_playwright
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from tests.effort import least, processor_s
from tests.flowprism.service.api.client import UNLIMITED

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NO_CHROMIUM = "no Chromium on this machine"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
SLOWEST_S = 1.0
MOST_WAIT_S = 15.0  # by the clock on the wall, however busy the machine is
MOST_SHIFT = 0.02  # what search engines call good is 0.1
PIECE_S = 0.1
MOST_TABS = 120
FOCUSED = "((one) => (one.labels?.[0] ?? one).textContent.trim())(document.activeElement)"
Theme = Literal["light", "dark"]

# What a page is expected to show comes within a second, but not on a machine that is busy with other things.
expect.set_options(timeout=60_000)


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port of this machine; gives its address, `http://127.0.0.1:PORT`."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 60
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def served_stores(stores: Stores, access: AccessSettings | None = None, pieces: int = 1) -> Iterator[str]:
    """Serve what a stores holds, by default to everybody on this machine; pages in pieces, as over a slow line."""
    app = application(stores, Settings(), access or UNLIMITED)
    if pieces > 1:
        app.add_middleware(_InPieces, pieces=pieces)
    with served(app) as address:
        yield address


@dataclass
class _InPieces:
    """Answers with pages in so many pieces, each `PIECE_S` after the one before; whatever else it is, at once."""

    app: ASGIApp
    pieces: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slow = False

        async def send_in_pieces(message: Message) -> None:
            nonlocal slow
            if message["type"] == "http.response.start":
                slow = b"text/html" in dict(message["headers"]).get(b"content-type", b"")
            body = message.get("body", b"") if slow else b""
            step = -(-len(body) // self.pieces) or 1
            for first in range(0, len(body) - step, step):
                await send({**message, "body": body[first : first + step], "more_body": True})
                await asyncio.sleep(PIECE_S)
            await send({**message, "body": body[(len(body) - 1) // step * step :]} if body else message)

        await self.app(scope, receive, send_in_pieces)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium, the one that is found on the search path."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Visit:
    """One person's browser window on one address.

    Attributes:
        page: Playwright's page.
        address: of the server.
        console: messages of the console and errors of scripts.
        strangers: addresses that were asked for elsewhere.
    """

    page: Page
    address: str
    console: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        self.page.on("request", lambda request: self._asked(request.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((f"{self.address}/", "data:", "blob:")):
            self.strangers.append(url)

    def open(self, path: str) -> Response:
        """Go to a page; what it answered, which must be 200."""
        response = self.page.goto(self.address + path)
        assert response is not None
        assert response.status == 200, f"{path}: {response.status} {response.text()[:500]}"
        return response

    def is_fast(self, path: str) -> bool:
        """Whether a page takes under a second of processor time, to be served and to be shown.

        On a machine with nothing else to do this is what one waits for, and on a busy one it is still the page's own.
        """
        browser = self.page.context.new_cdp_session(self.page)
        browser.send("Performance.enable", {"timeDomain": "threadTicks"})

        def work_s() -> float:
            served_s = processor_s(lambda: self.open(path))
            assert self.load_s() < MOST_WAIT_S
            told = browser.send("Performance.getMetrics")["metrics"]
            (shown_s,) = (float(one["value"]) for one in told if one["name"] == "TaskDuration")  # since it was opened
            return served_s + shown_s

        return least(work_s, SLOWEST_S) < SLOWEST_S

    def is_little_work(self, path: str) -> bool:
        """Whether serving a page takes under a second of processor time. The application runs in this process."""

        def serve() -> None:
            with urlopen(self.address + path) as answer:  # noqa: S310 - our own server
                answer.read()

        return least(lambda: processor_s(serve), SLOWEST_S) < SLOWEST_S

    def load_s(self) -> float:
        """Seconds from asking for the page that is shown until all of it was loaded, by the browser's own clock."""
        entry = "performance.getEntriesByType('navigation')[0]"
        self.until(f"{entry}.loadEventEnd > 0")
        return float(self.page.evaluate(f"{entry}.loadEventEnd - {entry}.startTime")) / 1e3

    def until(self, expression: str, at_most_s: float = 60.0) -> None:
        """Wait until an expression holds. Playwright's own waiting evaluates text, which the page's policy forbids."""
        over = time.monotonic() + at_most_s
        while not self.page.evaluate(expression):
            assert time.monotonic() < over, f"still not so: {expression}"
            self.page.wait_for_timeout(20)

    def tab_to(self, name: str) -> None:
        """Press Tab until what is called so, itself or by its label, is focused, and can be seen to be."""
        self.page.wait_for_load_state()
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(FOCUSED).startswith(name):
                assert self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
        raise AssertionError(f"no tab leads to {name}")

    def enter(self) -> None:
        """Press Enter, and wait for the page to which that leads."""
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def choose(self, label: str, value: str) -> None:
        """Choose from a list that filters at once, and wait for the page to which that leads."""
        with self.page.expect_navigation():
            self.page.get_by_label(label).select_option(value)

    def quiet(self) -> None:
        """Fail where anything was complained of, or asked for elsewhere."""
        assert self.console == []
        assert self.strangers == []

    def violations(self, *rules: str) -> list[str]:
        """What axe finds against WCAG A and AA and its best practices, or against some of its rules only."""
        self.page.evaluate("scrollTo(0, 0)")  # what the bar at the top hides is not there to be pointed at
        only = {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": list(RULES)}
        # Of what passes, axe would describe each element, which takes longer than looking at them.
        options = {"runOnly": only, "resultTypes": ["violations"]}
        return [
            f"{one['id']} ({one['impact']}): {one['help']}\n"
            + "\n".join(f"    {node['html'][:200]}\n    {node['failureSummary']}" for node in one["nodes"][:3])
            for one in Axe().run(self.page, options=options).response["violations"]
        ]

    def accessible(self) -> None:
        """Fail where axe finds a violation."""
        found = self.violations()
        assert not found, "\n".join(found)

    def in_sight(self) -> None:
        """Fail where the page is wider than its window: only figures and tables scroll sideways, in their own boxes."""
        wide, window = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= window, f"the page is {wide} px wide in a window of {window} px"

    def shifted(self) -> float:
        """By how much what was seen has moved without anybody's doing: the cumulative layout shift."""
        script = """() => new Promise((done) => {
            let sum = 0;
            const watch = new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
            });
            watch.observe({ type: "layout-shift", buffered: true });
            setTimeout(() => done(sum), 50);
        })"""
        return float(self.page.evaluate(script))

    def picture(self, file: Path) -> None:
        """Keep how the page looks, all of it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=file, full_page=True, animations="disabled")


@contextmanager
def visiting(
    browser: Browser,
    address: str,
    *,
    width: int = 1440,
    height: int = 900,
    theme: Theme = "light",
    scripts: bool = True,
) -> Iterator[Visit]:
    """A fresh window of a person who has never been here."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, java_script_enabled=scripts,
        timezone_id="Europe/Berlin", locale="en-GB", reduced_motion="reduce",
    )  # fmt: skip
    try:
        yield Visit(context.new_page(), address)
    finally:
        context.close()
