"""The timeline as people use it: by mouse and by keys, with 100,000 spans, down to the smallest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.effort import least
from tests.flowprism.dashboard.browser import Visit, served_stores, visiting
from tests.flowprism.dashboard.stored_cluster import stored_cluster

pytestmark = pytest.mark.slow

ADMIN = Viewer("ann", "admin", None)
SMOOTH_MS = 33.0  # thirty pictures a second
BOARD = "document.querySelector('.tl').board"
MOVES = f"""async () => {{
    const board = {BOARD};
    board.frames = [];
    const step = () => new Promise((done) => requestAnimationFrame(done));
    for (let n = 0; n < 40; n += 1) {{ board.move((view) => view.zoom(0.9)); await step(); }}
    for (let n = 0; n < 20; n += 1) {{ board.move((view) => view.pan(0.05)); await step(); }}
    for (let n = 0; n < 40; n += 1) {{ board.move((view) => view.zoom(1 / 0.9)); await step(); }}
    const took = [...board.frames].sort((a, b) => a - b);
    return {{ spans: board.pack.shown.size, pictures: took.length, median: took[took.length >> 1] }};
}}"""


@pytest.fixture
def visit(chromium: Browser, demo: Stores, demo_address: str) -> Iterator[Visit]:
    """Iteration 8 of the bundled capture, in which a link is slow."""
    job = jobs(demo, ADMIN, 2**61)[0].id
    with visiting(chromium, demo_address) as found:
        opened(found, f"/jobs/{job}/timeline?first=8")
        yield found
        found.quiet()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Where a simulated cluster of 1,000 GPUs is served, and its largest job."""
    stores = stored_cluster(tmp_path_factory.mktemp("large"), 1000)
    with served_stores(stores) as address:
        yield address, max(jobs(stores, ADMIN, 2**61), key=lambda row: row.endpoints).id
    stores.database.close()


def opened(visit: Visit, path: str) -> None:
    """Open a timeline and wait until it is drawn."""
    visit.open(path)
    visit.page.wait_for_selector(".tl[data-ready]")


def sight(page: Page) -> tuple[float, float]:
    """What of the time is in sight, ms."""
    start, end = page.evaluate(f"[{BOARD}.view.from, {BOARD}.view.to]")
    return float(start), float(end)


def place(page: Page, lane: int, time_ms: float, row: int = 0) -> tuple[float, float]:
    """Where on the page a lane's time lies."""
    x, y = page.evaluate(
        f"""([lane, time, row]) => {{
            const {{ view, pack, canvas }} = {BOARD};
            const [inside, height] = view.strip(pack.shown, row);
            const box = canvas.getBoundingClientRect();
            return [box.left + view.x(time), box.top + view.laneTop(lane) + inside + height / 2];
        }}""",
        [lane, time_ms, row],
    )
    return float(x), float(y)


def asked(visit: Visit) -> dict[str, list[str]]:
    """What the address says, once it names the lane that was chosen last."""
    visit.until("location.search.includes('lane=')")
    return parse_qs(urlsplit(visit.page.evaluate("location.href")).query)


def facts(page: Page) -> str:
    """What the page says of the chosen span."""
    return page.locator(".tl-span").inner_text().replace("\n", " ")


def test_a_span_is_chosen_by_mouse_and_told(visit: Visit) -> None:
    """A click on the wait of s1/1 at 700 ms tells what, how long and for whom; pointing at it does too."""
    x, y = place(visit.page, 1, 700)
    visit.page.mouse.move(x, y)
    assert "wait 158 ms for 10.3.5.2 (s5 gpu 1)" in visit.page.locator(".tl-tip").inner_text()
    visit.page.mouse.click(x, y)
    assert "10.1.1.2 (s1 gpu 1)" in facts(visit.page)
    assert "158 ms" in facts(visit.page)
    assert "10.3.5.2 (s5 gpu 1)" in facts(visit.page)
    assert asked(visit)["lane"] == ["10.1.1.2"]


def test_wheel_zooms_where_the_pointer_is_and_dragging_pans(visit: Visit) -> None:
    """With Ctrl the time under the pointer stays; a drag moves by as much as the pointer did."""
    page = visit.page
    x, y = (round(at) for at in place(page, 2, 600))
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -60)
    page.keyboard.up("Control")
    visit.until(f"{BOARD}.view.to - {BOARD}.view.from < 500")
    start, _ = sight(page)
    assert place(page, 2, 600)[0] == pytest.approx(x, abs=4)  # half a pixel, eight times as large
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=4)
    page.mouse.up()
    assert sight(page)[0] > start
    assert place(page, 2, 600)[0] == pytest.approx(x - 100, abs=10)
    page.mouse.wheel(0, 300)
    visit.until("scrollY > 0")  # a wheel without Ctrl scrolls the page


def test_all_is_done_by_keys(visit: Visit) -> None:
    """Lanes, spans, zoom, pan, following a wait to who was waited for, and back to the whole: without a mouse."""
    page = visit.page
    page.locator(".tl canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{BOARD}.lane") == page.evaluate(f"{BOARD}.view.order[1]")
    assert (
        page.locator(".tl-announced").inner_text().startswith(page.evaluate(f"{BOARD}.pack.lanes[{BOARD}.lane].name"))
    )
    for _ in range(60):
        if "wait" in facts(page):
            break
        page.keyboard.press(".")
    before = facts(page)
    awaited = page.evaluate(f"{BOARD}.chosen.part.peer[{BOARD}.chosen.n]")
    page.keyboard.press("Enter")
    start, end = sight(page)
    assert end - start < 400
    page.keyboard.press("f")
    assert page.evaluate(f"{BOARD}.lane") == awaited
    assert facts(page) != before
    page.keyboard.press("-")
    assert sight(page)[1] - sight(page)[0] > end - start
    left = sight(page)[0]
    page.keyboard.press("ArrowRight")
    assert sight(page)[0] > left
    page.keyboard.press("+")
    page.keyboard.press("Home")
    assert sight(page)[0] == 0
    assert sight(page)[1] == pytest.approx(1603.7, abs=0.1)
    page.keyboard.press("Escape")
    assert facts(page) == ""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") != "CANVAS", "keys are not trapped"


def test_what_is_in_sight_stands_in_the_address(chromium: Browser, visit: Visit) -> None:
    """Another person who opens it sees the same: time, order, rows, lane and path."""
    page = visit.page
    page.evaluate(f"{BOARD}.move((view) => view.show(300, 700))")
    page.select_option("[name=sort]", "lateness")
    page.select_option("[name=rows]", "large")
    page.check("[name=path]")
    page.locator(".tl canvas").focus()
    page.keyboard.press("ArrowDown")
    told = asked(visit)
    assert (told["sort"], told["rows"], told["path"]) == (["lateness"], ["large"], ["1"])
    with visiting(chromium, visit.address) as other:
        opened(other, page.url.removeprefix(visit.address))
        assert sight(other.page) == (300, 700)
        assert other.page.is_checked("[name=path]")
        state = f"[{BOARD}.view.sort, {BOARD}.view.rows, {BOARD}.lane]"
        assert other.page.evaluate(state) == page.evaluate(state)
        other.quiet()


def test_suspects_come_first_and_are_in_sight(visit: Visit) -> None:
    """By stage, the default order: the lanes that the incident points at stand above all others."""
    suspected = visit.page.evaluate(f"{BOARD}.view.order.map((lane) => {BOARD}.pack.lanes[lane].suspect)")
    assert suspected[0]
    assert suspected == sorted(suspected, reverse=True)
    assert visit.page.evaluate(f"{BOARD}.view.visible().includes({BOARD}.view.order[0])")


def test_letters_move_as_in_perfetto_and_shift_measures(visit: Visit) -> None:
    """W and S zoom, A and D move; a drag with Shift says how long it is and moves nothing, Escape lets go of it."""
    page = visit.page
    page.locator(".tl canvas").focus()
    whole = sight(page)
    page.keyboard.press("w")
    start, end = sight(page)
    assert end - start < whole[1] - whole[0]
    page.keyboard.press("d")
    assert sight(page)[0] > start
    page.keyboard.press("a")
    assert sight(page)[0] == pytest.approx(start)
    page.keyboard.press("s")
    assert sight(page) == pytest.approx(whole)
    (x, y), (to, _) = place(page, 2, 400), place(page, 2, 900)
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(to, y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert page.evaluate(f"{BOARD}.measured") == pytest.approx([400, 900], abs=2)
    assert page.locator(".tl-announced").inner_text().endswith("ms measured")
    assert sight(page) == pytest.approx(whole)
    page.keyboard.press("Escape")
    assert page.evaluate(f"{BOARD}.measured") is None


TICKS = """async ([ticks, step]) => {
    const address = document.querySelector('script[src$="timeline.js"]').src.replace(".js", "/words.js");
    return (await import(address)).tickWords(ticks, step);
}"""


def test_a_zoomed_axis_has_digits_enough(visit: Visit) -> None:
    """Ticks that three digits tell apart stand alone; closer ones count from an offset of as many digits as needed."""
    assert visit.page.evaluate(TICKS, [[0, 200, 400], 200]) == ["", ["0 s", "200 ms", "400 ms"]]
    offset, words = visit.page.evaluate(TICKS, [[1234.56, 1234.57, 1234.58], 0.01])
    assert offset == "1234.56 ms"
    assert words == ["+0 s", "+10.0 µs", "+20.0 µs"]


def test_latest_come_first_on_demand(visit: Visit) -> None:
    """Lanes by lateness are in falling order of the table's numbers."""
    visit.page.select_option("[name=sort]", "lateness")
    late = visit.page.evaluate(f"{BOARD}.view.order.map((lane) => {BOARD}.pack.lanes[lane].late_s)")
    assert late == sorted(late, reverse=True)


def test_picture_changes_with_the_theme(visit: Visit) -> None:
    """The canvas follows the page's colours at once."""
    brightness = f"{BOARD}.painter.image.data.reduce((sum, value) => sum + value, 0)"
    visit.until(f"{BOARD}.painter.image !== undefined")
    light = visit.page.evaluate(brightness)
    visit.page.emulate_media(color_scheme="dark")
    visit.until(f"{brightness} < {light * 0.6}")


def test_next_iteration_and_comparison_are_chosen_on_the_page(visit: Visit) -> None:
    """By the link, by a bar of the strip, and by the form; the download is for Perfetto."""
    page = visit.page
    page.click("text=/^9 →/")
    page.wait_for_selector(".tl[data-ready]")
    assert "Iteration 9 took" in page.locator(".lead").inner_text()
    page.locator(".picker a").nth(3).click()
    page.wait_for_selector(".tl[data-ready]")
    assert "Iteration 3 took" in page.locator(".lead").inner_text()
    page.fill("[name=vs]", "median")
    page.click("button:has-text('Show')")
    page.wait_for_selector(".tl[data-ready]")
    assert page.evaluate(f"{BOARD}.pack.other !== null")
    with page.expect_download() as trace:
        page.click("text=Download for Perfetto")
    assert trace.value.path().stat().st_size > 10_000


def test_a_hundred_thousand_spans_move_smoothly(chromium: Browser, large: tuple[str, str]) -> None:
    """Five iterations of 320 endpoints: zooming and panning take less than two frames of a screen in the median."""
    address, job = large
    with visiting(chromium, address) as visit:
        opened(visit, f"/jobs/{job}/timeline?first=4&last=8")
        told: dict[str, Any] = {}

        def median_ms() -> float:
            told.update(visit.page.evaluate(MOVES))
            return float(told["median"])

        assert least(median_ms, SMOOTH_MS) < SMOOTH_MS
        assert told["spans"] > 100_000
        assert told["pictures"] >= 90
        visit.quiet()


PAINT = """async ([spans, from, to, width]) => {
    const address = (name) => document.querySelector('script[src$="timeline.js"]').src.replace(".js", `/${name}.js`);
    const { Part } = await import(address("pack"));
    const { Painter } = await import(address("paint"));
    const columns = { lane: Uint32Array, kind: Uint8Array, start: Float64Array, end: Float64Array, peer: Int32Array,
                      bytes: Float64Array, group: Int32Array, iteration: Int32Array };
    const packed = Object.fromEntries(Object.entries(columns).map(([name, Type], n) =>
        [`shown.${name}`, Type.from(spans, (span) => span[n] ?? 0)]));
    const kinds = ["compute", "pp_send", "pp_recv", "dp_comm", "ep_comm", "cp_comm", "wait", "idle"];
    const told = { path: [], iterations: [[0, 0, to]] };
    const part = new Part("shown", { shown: told, kinds, lanes: [{}] }, packed);
    const view = { width, height: 1, gutter: 0, from, to };
    const painter = new Painter();
    painter.resize(width, 1);
    const colours = kinds.map((_, n) => [n === 0 ? 255 : 0, n === 1 ? 255 : 0, 0]);
    for (const row of [0, 1, 2]) painter.line(view, part, ...part.after(0, row, from), colours, 1);
    const { cover, red, green } = painter.mix;
    return { cover: [...cover], red: [...red], green: [...green], row: [...part.row], unusual: [...part.unusual] };
}"""


def painted(
    page: Page, spans: Sequence[tuple[float, ...]], start: float, end: float, width: int
) -> dict[str, list[float]]:
    """One line of pixels of spans (lane, kind, start, end): what the painter mixes."""
    found: dict[str, list[float]] = page.evaluate(PAINT, [spans, start, end, width])
    return found


def test_narrow_spans_count_by_their_time(visit: Visit) -> None:
    """Ten spans side by side in one pixel cover it by their lengths; one that spans pixels fills them."""
    spans = [(0, 0, n * 0.1, n * 0.1 + 0.05) for n in range(10)] + [(0, 0, 2.5, 5.0)]
    found = painted(visit.page, spans, 0, 10, 10)
    assert found["cover"][2:6] == pytest.approx([0.5, 1, 1, 0], abs=1e-5)
    assert found["cover"][0] >= 1, "ten of them, none counting for less than a third of a pixel"


def test_no_span_is_too_short_to_be_seen(visit: Visit) -> None:
    """A single message of a thousandth of a pixel still colours a third of one."""
    found = painted(visit.page, [(0, 0, 0, 4), (0, 1, 5.5, 5.501)], 0, 10, 10)
    assert found["green"][5] == pytest.approx(255 / 3, rel=1e-3)


def test_unusually_long_spans_are_never_mixed_away(visit: Visit) -> None:
    """Of 2,000 messages in 20 pixels the one that takes ten times as long is a whole pixel of its own colour."""
    spans: list[tuple[float, ...]] = [(0, 0, n, n + 0.98) for n in range(2000)]
    spans += [(0, 1, n + 0.98, n + 1.0 if n != 777 else n + 1.2) for n in range(2000)]
    found = painted(visit.page, spans, 0, 2000, 20)
    assert sum(found["unusual"]) >= 1
    assert (found["red"][7], found["green"][7], found["cover"][7]) == (0, 255, 1)


def test_what_overlaps_takes_another_row(visit: Visit) -> None:
    """Computing keeps the first row; of two transfers at a time one takes the second and one the third."""
    found = painted(visit.page, [(0, 0, 0, 9), (0, 1, 1, 5), (0, 3, 2, 6), (0, 1, 6, 8)], 0, 10, 10)
    assert sorted(found["row"]) == [0, 1, 1, 2]
