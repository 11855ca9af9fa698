"""Who is let through: in each mode, by each means, and from another site's page."""

from __future__ import annotations

from ipaddress import ip_network

import httpx
import pytest

from flowprism.service.access.access_settings import AccessSettings, Grant
from flowprism.service.access.accounts.user_accounts import nobody_can_administer
from flowprism.service.access.security_headers import HEADERS
from storage.database import access
from storage.database.connection import Database
from tests.flowprism.service.access.asking import BROWSER, Asker, add_user, bearer, served

LOGIN = AccessSettings(mode="login")
ME = "/api/v1/me"
TOKENS = "/api/v1/tokens"


@pytest.fixture
def app_of_users(database: Database) -> Asker:
    """A stranger before a service with users of each kind."""
    for name, role, tenant in (("ann", "admin", None), ("oli", "operator", "t1"), ("vic", "viewer", "t1")):
        add_user(database, name, role, tenant)  # type: ignore[arg-type] # of a tuple of tuples only str is known
    return Asker(served(database, LOGIN))


def test_this_machine_needs_no_credentials(database: Database) -> None:
    """With mode none whoever is on this machine is an admin."""
    here = Asker(served(database, AccessSettings()), "http://localhost:8080", "127.0.0.1")
    assert here.ask("GET", ME).json() == {"name": "local", "role": "admin", "tenant": None, "by": "local"}
    assert here.ask("POST", TOKENS, json={}).status_code == 404, "local is no user, and a script may post"


@pytest.mark.parametrize(
    ("url", "address", "headers"),
    [
        ("http://127.0.0.1:8080", "10.0.0.9", {}),
        ("http://evil.example:8080", "127.0.0.1", {}),
        ("http://127.0.0.1.evil.example", "127.0.0.1", {}),
        ("http://localhost", "127.0.0.1", {"x-forwarded-for": "127.0.0.1"}),
        ("http://localhost", "127.0.0.1", {"forwarded": "for=10.0.0.9"}),
    ],
)
def test_mode_none_is_for_this_machine_only(
    database: Database, url: str, address: str, headers: dict[str, str]
) -> None:
    """Not for another machine, a name that leads here (DNS rebinding), or what a proxy lets through."""
    stranger = Asker(served(database, AccessSettings()), url, address, headers)
    assert stranger.ask("GET", ME).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-origin"}, 404),
        ({"origin": "http://localhost:8080"}, 404),
    ],
)
def test_other_sites_pages_change_nothing_here(database: Database, headers: dict[str, str], status: int) -> None:
    """A page of another site, open in a browser of this machine, is refused where ours and scripts are not."""
    here = Asker(served(database, AccessSettings()), "http://localhost:8080", "127.0.0.1")
    assert here.ask("POST", TOKENS, headers, json={}).status_code == status


def test_a_stranger(app_of_users: Asker) -> None:
    """Programs are told so, browsers are led to the way in; nothing is told of what there is."""
    answer = app_of_users.ask("GET", ME)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"
    assert app_of_users.ask("GET", "/api/v1/no-such-thing").status_code == 401
    page = app_of_users.ask("GET", "/incidents?state=open&job=a", BROWSER)
    assert page.status_code == 303
    assert page.headers["location"] == "/login?next=/incidents%3Fstate%3Dopen%26job%3Da"


def test_a_link_from_elsewhere(app_of_users: Asker) -> None:
    """A browser that followed a link keeps our strict cookie back: it is asked to come again by itself, once."""
    followed = BROWSER | {"sec-fetch-site": "cross-site"}
    answer = app_of_users.ask("GET", '/incidents/a"><script>', followed)
    assert answer.status_code == 200
    assert 'http-equiv="refresh" content="0; url=/incidents/a' in answer.text
    assert "<script" not in answer.text
    assert app_of_users.ask("GET", "/incidents/a", BROWSER).status_code == 303


def test_log_in_and_out(app_of_users: Asker, database: Database) -> None:
    """A cookie that scripts cannot read and other sites do not send; out is out at the server as well."""
    answer = app_of_users.log_in("vic", next="/jobs/a?x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs/a?x=1")
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/", "max-age=43200"))
    assert "secure" not in cookie
    assert app_of_users.ask("GET", ME).json() == {"name": "vic", "role": "viewer", "tenant": "t1", "by": "session"}
    kept = dict(app_of_users.cookies)
    assert access.session(database, kept["flowprism_session"]) is None, "what the browser holds is not in the database"
    assert app_of_users.ask("POST", "/logout", BROWSER).headers["location"] == "/login"
    app_of_users.cookies = kept
    assert app_of_users.ask("GET", ME).status_code == 401


def test_a_new_log_in_ends_the_one_before(app_of_users: Asker) -> None:
    """What was known of the old one, before somebody else logged in, is worth nothing."""
    app_of_users.log_in("vic")
    before = dict(app_of_users.cookies)
    app_of_users.log_in("ann")
    assert app_of_users.ask("GET", ME).json()["name"] == "ann"
    app_of_users.cookies = before
    assert app_of_users.ask("GET", ME).status_code == 401


def test_https_has_a_cookie_of_its_own(app_of_users: Asker) -> None:
    """Secure and bound to the host; one that travelled in the clear does not count, and browsers stay with https."""
    app_of_users.url = "https://flowprism.example"
    answer = app_of_users.log_in("vic")
    assert answer.headers["set-cookie"].startswith("__Host-flowprism_session=")
    assert "; secure" in answer.headers["set-cookie"].lower()
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert app_of_users.ask("GET", ME).status_code == 200
    app_of_users.cookies = {"flowprism_session": next(iter(app_of_users.cookies.values()))}
    assert app_of_users.ask("GET", ME).status_code == 401


@pytest.mark.parametrize(
    "following", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x", "", "/a\r\nb"]
)
def test_log_in_leads_nowhere_else(app_of_users: Asker, following: str) -> None:
    """A link to our log-in page cannot lead on to another site."""
    assert app_of_users.log_in("vic", next=following).headers["location"] == "/"


@pytest.mark.parametrize(
    "headers",
    [{}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"}],
)
def test_a_cookie_changes_nothing_for_other_sites(app_of_users: Asker, headers: dict[str, str]) -> None:
    """Nor for what does not say where it comes from."""
    app_of_users.log_in("vic")
    assert app_of_users.ask("POST", TOKENS, headers, json={}).status_code == 403
    assert app_of_users.ask("POST", "/logout", headers).status_code == 403
    assert app_of_users.ask("POST", TOKENS, {"sec-fetch-site": "same-origin"}, json={}).status_code == 201


def test_wrong_passwords(app_of_users: Asker) -> None:
    """The page says so in the same words for a name there is and one there is not, then that one has to wait."""
    for name in ("vic", "nobody", "a\0b"):
        answer = app_of_users.log_in(name, "wrong password", next="/jobs")
        assert answer.headers["location"] == "/login?problem=wrong&next=/jobs"
    for _ in range(7):
        app_of_users.log_in("vic", "wrong password")
    answer = app_of_users.log_in("vic")
    assert answer.headers["location"].startswith("/login?problem=wait&seconds=")
    program = app_of_users.ask("POST", "/login", data={"name": "vic"}, headers={"origin": app_of_users.url})
    assert program.status_code == 429
    assert 60 <= int(program.headers["retry-after"]) <= 120
    app_of_users.address = "203.0.113.8"
    assert app_of_users.log_in("vic").headers["location"] == "/", "somebody else's failures lock nobody out"


def test_right_passwords_are_no_failures(app_of_users: Asker) -> None:
    """However often one logs in."""
    assert {app_of_users.log_in("vic").headers["location"] for _ in range(12)} == {"/"}


def test_tokens(app_of_users: Asker, database: Database) -> None:
    """A token does what its scopes say from anywhere; a wrong one is refused even on the way in."""
    assert app_of_users.ask("GET", ME, bearer(database, "ann", "read")).json() == {
        "name": "ann",
        "role": "viewer",
        "tenant": None,
        "by": "token",
    }
    for wrong in ("Bearer fp_1_x", "Bearer nothing", "Basic YTpi", "Bearer"):
        answer = app_of_users.ask("GET", ME, {"authorization": wrong})
        assert answer.status_code == 401
    assert app_of_users.ask("POST", TOKENS, bearer(database, "ann", "admin"), json={"user": "vic"}).status_code == 201
    assert app_of_users.ask("POST", TOKENS, bearer(database, "vic", "read"), json={}).status_code == 403


def test_a_token_for_metrics_only(app_of_users: Asker, database: Database) -> None:
    """It opens nothing else."""
    assert app_of_users.ask("GET", ME, bearer(database, "ann", "metrics")).status_code == 403


PROXY = AccessSettings(
    mode="proxy",
    trusted_proxies=(ip_network("10.0.0.0/24"), ip_network("10.0.1.1/32")),
    grants=(Grant(group="ml-ops", role="operator"), Grant(group="staff", role="viewer", tenant="t1")),
)


@pytest.fixture
def proxied(database: Database) -> Asker:
    """A service behind a proxy that knows people."""
    add_user(database, "ann", "admin")
    return Asker(served(database, PROXY), address="10.0.0.2")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-forwarded-user": "ann"}, ("ann", "admin", None)),
        ({"x-forwarded-user": "ann", "x-forwarded-groups": "staff"}, ("ann", "admin", None)),
        ({"x-forwarded-user": "eve", "x-forwarded-groups": "staff, ml-ops"}, ("eve", "operator", None)),
        ({"x-forwarded-user": "eve", "x-forwarded-groups": "staff"}, ("eve", "viewer", "t1")),
    ],
)
def test_a_proxys_word(proxied: Asker, headers: dict[str, str], expected: tuple[str, str, str | None]) -> None:
    """A user of ours is what we know of them; others are what the first grant for a group of theirs says."""
    said = proxied.ask("GET", ME, headers | {"authorization": "Bearer eyJ.of.the.proxy"}).json()
    assert (said["name"], said["role"], said["tenant"]) == expected
    assert said["by"] == "proxy"


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("10.0.0.2", {"x-forwarded-user": "eve"}, 403),
        ("10.0.0.2", {"x-forwarded-user": "eve", "x-forwarded-groups": "other"}, 403),
        ("10.0.0.2", {"x-forwarded-user": " "}, 400),
        ("10.0.0.2", {}, 401),
        ("10.0.2.2", {"x-forwarded-user": "ann"}, 401),
        ("127.0.0.1", {"x-forwarded-user": "ann"}, 401),
        ("testclient", {"x-forwarded-user": "ann"}, 401),
    ],
)
def test_whose_word_is_not_taken(proxied: Asker, address: str, headers: dict[str, str], status: int) -> None:
    """A user header from anybody but a trusted proxy is air, and so is one without a role."""
    proxied.address = address
    assert proxied.ask("GET", ME, headers).status_code == status


def test_a_disabled_user_is_out_behind_a_proxy_too(proxied: Asker, database: Database) -> None:
    """Whatever groups they are in."""
    ann = access.user(database, "ann")
    assert ann is not None
    access.save_user(database, type(ann)("ann", "admin", None, "", 1, disabled=True))
    assert proxied.ask("GET", ME, {"x-forwarded-user": "ann", "x-forwarded-groups": "ml-ops"}).status_code == 403


def test_where_a_client_is(proxied: Asker, database: Database) -> None:
    """The first address from the right that is no trusted proxy; what stands left of it may be made up."""
    hops = {"x-forwarded-for": "1.2.3.4, 198.51.100.9, 10.0.1.1", "x-forwarded-user": "ann", "sec-fetch-site": "none"}
    assert proxied.ask("POST", TOKENS, hops, json={}).status_code == 201
    assert access.audit_log(database)[0][1].detail["address"] == "198.51.100.9"


def test_headers_are_on_every_answer(app_of_users: Asker) -> None:
    """Those of refusals, redirects, missing pages and found ones."""
    app_of_users.log_in("vic")
    answers = [app_of_users.ask("GET", path) for path in (ME, "/api/v1/nothing", "/login", "/static/nothing")]
    app_of_users.cookies.clear()
    answers += [app_of_users.ask("GET", ME), app_of_users.ask("GET", "/", BROWSER), app_of_users.ask("POST", "/login")]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS if name != "Cache-Control"} == {
            name: value for name, value in HEADERS.items() if name != "Cache-Control"
        }
        assert answer.headers["cache-control"]


def test_too_many_requests(database: Database) -> None:
    """One who asks too often waits, by token, name or address; others do not."""
    add_user(database, "ann", "admin")
    someone = Asker(served(database, AccessSettings(mode="login", requests_per_minute=3)))
    shown = bearer(database, "ann", "read")
    assert [someone.ask("GET", ME, shown).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert someone.ask("GET", ME, bearer(database, "ann", "read")).status_code == 200
    assert [someone.ask("GET", ME).status_code for _ in range(4)] == [401, 401, 401, 429]
    answer = someone.ask("GET", ME)
    assert 1 <= int(answer.headers["retry-after"]) <= 21
    someone.address = "203.0.113.99"
    assert someone.ask("GET", ME).status_code == 401


def test_bodies_have_a_bound(database: Database) -> None:
    """A request that brings more is refused, whether it says so or not."""
    settings = AccessSettings(mode="login", most_body_bytes=1000)
    add_user(database, "ann", "admin")
    someone = Asker(served(database, settings), headers=bearer(database, "ann", "admin"))

    async def endless() -> object:
        for _ in range(100):
            yield b"x" * 100

    assert someone.ask("POST", TOKENS, content=b"x" * 1001).status_code == 413
    assert someone.ask("POST", TOKENS, content=endless()).status_code == 413
    assert someone.ask("POST", "/login", BROWSER, content=b"x" * 999).status_code != 413


def test_one_who_has_many_addresses(database: Database) -> None:
    """The addresses of an IPv6 network of one client are one."""
    someone = Asker(served(database, AccessSettings(mode="login", requests_per_minute=2)))
    asked = []
    for address in ("2001:db8:0:1::1", "2001:db8:0:1:2::3", "2001:db8:0:1:ffff::", "2001:db8:0:2::1"):
        someone.address = address
        asked.append(someone.ask("GET", ME).status_code)
    assert asked == [401, 401, 429, 401]


def test_what_is_for_somebody_else(app_of_users: Asker) -> None:
    """A password that a proxy asked for, in the header of ours, neither opens nor shuts the door."""
    app_of_users.log_in("vic")
    assert app_of_users.ask("GET", ME, {"authorization": "Basic YTpi"}).json()["name"] == "vic"


@pytest.mark.parametrize("path", ["/static/%2e%2e/api/v1/me", "/static//api/v1/me", "//api/v1/me", "/API/v1/me"])
def test_no_way_round(app_of_users: Asker, path: str) -> None:
    """What is open leads nowhere else, however it is written."""
    app_of_users.log_in("vic")
    request = httpx.URL("http://flowprism.example").copy_with(raw_path=path.encode())
    assert app_of_users.ask("GET", str(request)).status_code in {404, 307}
    app_of_users.cookies.clear()
    assert "vic" not in app_of_users.ask("GET", str(request)).text


def test_no_database(database: Database) -> None:
    """Where it is away nobody is let through, and it is said that this will pass."""
    someone = Asker(served(database, LOGIN), cookies={"flowprism_session": "x"})
    with database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE sessions RENAME TO gone")
    answer = someone.ask("GET", ME)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"


def test_changes_are_written_down(app_of_users: Asker, database: Database) -> None:
    """Who, what, of what, from where, by what means, and what came of it; looking is not a change."""
    app_of_users.log_in("ann")
    changing = {"sec-fetch-site": "same-origin"}
    app_of_users.ask("GET", "/api/v1/users")
    app_of_users.ask("PUT", "/api/v1/users/zoe", changing, json={"role": "viewer", "password": "quite secret word"})
    app_of_users.ask("DELETE", "/api/v1/users/nobody", changing)
    shown = bearer(database, "vic", "read")
    app_of_users.ask("DELETE", "/api/v1/users/ann", shown)
    told = [
        (e.actor, e.action, e.subject, e.detail["address"], e.detail.get("by", ""), e.detail.get("status", ""))
        for _, e in access.audit_log(database)
    ]
    name = access.tokens(database, "vic")[0].id
    route = "/api/v1/users/{name}"
    assert told == [
        ("vic", f"DELETE {route}", "ann", "203.0.113.7", f"token {name}", "403"),
        ("ann", f"DELETE {route}", "nobody", "203.0.113.7", "session", "404"),
        ("ann", f"PUT {route}", "zoe", "203.0.113.7", "session", "200"),
        ("ann", "log in", "ann", "203.0.113.7", "", ""),
    ]
    assert "secret word" not in repr(access.audit_log(database))


@pytest.mark.parametrize("name", ["%00", "%ff", "%ed%a0%80", "a%0ab", "%F0%9F%98%80", "x" * 300, "%20"])
def test_strange_names(app_of_users: Asker, database: Database, name: str) -> None:
    """No error of ours, and an audit log that every database keeps and every page shows."""
    shown = bearer(database, "ann", "admin") | {"content-type": "application/json"}
    user, token = f"/api/v1/users/{name}", f"/api/v1/tokens/{name}"
    for method, path in (("PUT", user), ("DELETE", user), ("DELETE", token)):
        body = b'{"role": "viewer", "tenant": "\\ud800"}'
        answer = app_of_users.ask(method, path, shown, content=body)
        assert 400 <= answer.status_code < 500, (path, answer.text)
    bodies = (b'{"user": "\\ud800"}', b'{"user": "a\\u0000"}', b'{"user": "%b"}' % name.encode(), b"\xff", b"[" * 9999)
    for body in bodies:
        answer = app_of_users.ask("POST", TOKENS, shown, content=body)
        assert 400 <= answer.status_code < 500, answer.text
    entries = [entry for _, entry in access.audit_log(database)]
    assert len(entries) == 8
    assert all(entry.subject.isprintable() and len(entry.subject) <= 500 for entry in entries)


def test_alive_without_a_database(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits for its database is not to be killed for it."""
    someone = Asker(served(database, LOGIN), cookies={"flowprism_session": "x"})
    monkeypatch.setattr(Database, "reading", lambda _: pytest.fail("the database was asked"))
    assert someone.ask("GET", "/healthz").status_code == 200


def test_addresses_with_ports(proxied: Asker, database: Database) -> None:
    """Some proxies write the client's port as well; it is the same client on the next connection."""
    for hop in ("198.51.100.9:1234", "[2001:db8::1]:80", "2001:db8::2"):
        proxied.ask(
            "POST", TOKENS, {"x-forwarded-for": hop, "x-forwarded-user": "ann", "sec-fetch-site": "none"}, json={}
        )
    found = [entry.detail["address"] for _, entry in access.audit_log(database)]
    assert found == ["2001:db8::2", "2001:db8::1", "198.51.100.9"]


def test_the_first_admin(database: Database) -> None:
    """A service that nobody could administer says how one is made."""
    told = nobody_can_administer(database, LOGIN)
    assert told == f"there is no admin yet: flowprism user add NAME --role admin --results {database.name}"
    assert "--no-password" in (nobody_can_administer(database, PROXY) or "")
    assert nobody_can_administer(database, AccessSettings()) is None
    granted = PROXY.model_copy(update={"grants": (Grant(group="ops", role="admin"),)})
    assert nobody_can_administer(database, granted) is None
    add_user(database, "ann", "admin")
    assert nobody_can_administer(database, LOGIN) is None
