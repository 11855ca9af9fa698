from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts.user_accounts import new_user
from storage.database.access import save_user
from tests.flowprism.dashboard.browser import served_stores, visiting
from tests.flowprism.service.stored import TENANT, stored_demo

PASSWORD = "correct horse battery"  # noqa: S105 - of a test


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    """A dashboard to which one operator of one tenant may log in."""
    stores = stored_demo(tmp_path)
    save_user(stores.database, new_user("olga", "operator", TENANT, PASSWORD, 1))
    with served_stores(stores, AccessSettings(mode="login")) as address:
        yield address
    stores.database.close()


def test_one_logs_in_does_something_and_leaves(chromium: Browser, guarded: str) -> None:
    """A page that was asked for is what one comes to; what is wrong is said; after leaving nothing is seen."""
    with visiting(chromium, guarded) as visit:
        page = visit.page
        page.goto(f"{guarded}/incidents")
        expect(page).to_have_url(f"{guarded}/login?next=/incidents")
        visit.accessible()
        page.get_by_label("Name").fill("olga")
        page.get_by_label("Password").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("Name and password do not fit.")
        visit.accessible()
        page.get_by_label("Name").fill("olga")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{guarded}/incidents")
        page.get_by_role("link", name="The link of").click()
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.locator("#history")).to_contain_text("olga acknowledged it")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        page.goto(f"{guarded}/incidents")
        expect(page).to_have_url(f"{guarded}/login?next=/incidents")
