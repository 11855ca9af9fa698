"""A link in an alert, followed in a real browser: it keeps the strict cookie back, and still nobody logs in twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import sync_playwright

from flowprism.service.access.access_settings import AccessSettings
from storage.database.connection import Database
from tests.flowprism.dashboard.browser import CHROMIUM, NO_CHROMIUM
from tests.flowprism.service.access.asking import PASSWORD, add_user, served
from tests.flowprism.service.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]
WANTED = "/incidents?state=open"


@contextmanager
def linking(target: str) -> Iterator[str]:
    """A page of another site with a link; its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(f'<a href="{target}">alert</a>'.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("localhost", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_link_in_an_alert(database: Database) -> None:
    """Leads to the log-in page and on from there; and straight to its page for whoever is logged in."""
    add_user(database, "ann", "admin")
    app = served(database, AccessSettings(mode="login"))
    with serving(app) as address, linking(address + WANTED) as elsewhere, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(elsewhere)
        page.click("a")
        page.wait_for_url(lambda url: "/login?next=" in url)
        page.fill("input[name=name]", "ann")
        page.fill("input[name=password]", PASSWORD)
        page.click("main button[type=submit]")
        page.wait_for_url(lambda url: url == address + WANTED)
        page.goto(elsewhere)
        page.click("a")
        page.wait_for_function("document.title.startsWith('Incidents')")
        assert page.url == address + WANTED
        browser.close()
