"""The page as a reader has it, in Chromium: it sorts, filters, draws, follows a run, and asks for nothing."""

import csv
import itertools

import pytest

from rffbench.io.text import printable
from rffbench.report.board.page import write_html
from rffbench.report.figures import MOST_PROTOCOLS
from rffbench.report.page import write_page
from studies.board import facts
from studies.board.page import sections
from tests.helpers import pages
from tests.helpers import report_log as log
from tests.helpers.browser import NEEDS_CHROMIUM, unreadable

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
LIMIT = 60_000  # milliseconds, for a machine that is busy

pytestmark = [
    pytest.mark.slow,
    NEEDS_CHROMIUM,
]


class Tab:
    """A tab with one page, and what it said and asked for."""

    def __init__(self, browser, address, **context):
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **context})
        self.context.set_default_timeout(LIMIT)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def column(self, number, table="#sheet-1-1"):
        """The texts of a column's cells that are shown."""
        cells = self.sheet(table).locator(f"tbody tr:visible td:nth-child({number})")
        return [text.partition("95 %")[0] for text in cells.all_text_contents()]

    def sheet(self, heading):
        return self.page.locator(".sheet", has=self.page.locator(heading))

    def lines(self):
        """How many lines and points the first figure has."""
        chart = self.page.locator(".chart").first
        return chart.locator(".mark-line path").count(), chart.locator(".mark-symbol path").count()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    pages.write(folder / "mine", reference="liu2020-table3")
    pages.write_hostile(folder / "hostile")
    pages.write(folder / "both" / "one")
    pages.write(folder / "both" / "two")
    methods = {"RFF (sigma=1)": log.METHODS["RFF"], "QMC": log.METHODS["QMC"]}
    rows = [
        {**log.ok(log.spec(method=name, trial=trial), 70 + trial), "method": label}
        for label, name in zip(methods, ("RFF", "QMC"), strict=True)
        for trial in range(3)
    ]
    pages.write(folder / "single", rows, methods=methods, n_features=["1d"])
    pages.write_sweep(folder / "swept", MOST_PROTOCOLS + 1, reference="liu2020-table3")
    found = {name: write_page([str(folder / name)]).path for name in ("mine", "hostile", "both", "single", "swept")}
    of_board = sections(facts.board())  # as in test_committed.py, whose process this is (conftest.TOGETHER)
    return found | {"board": write_html("The board", of_board, folder / "board.html")}


@pytest.fixture
def shown(chromium, files):
    """Open a page; at the end it must have said nothing and asked for nothing but itself."""
    tabs = []

    def show(name, behind="", **context):
        tab = Tab(chromium, files[name].as_uri() + behind, **context)
        tab.page.locator("html[data-ready=yes]").wait_for(state="attached")
        tabs.append((tab, files[name].as_uri()))
        return tab

    yield show
    for tab, address in tabs:
        assert tab.said == []
        asked = [url.partition("#")[0] for url in tab.asked if not url.startswith(("data:", "blob:"))]
        assert asked == [address]
        tab.context.close()


def test_a_table_sorts_by_a_column_both_ways_and_by_the_keyboard(shown):
    tab = shown("mine")
    before = tab.column(5)
    header = tab.sheet("#sheet-1-1").get_by_role("button", name="measured")
    header.click()
    measured = [float(text.partition("±")[0]) for text in tab.column(5) if text != "–"]
    assert measured == sorted(measured)
    assert len(measured) == 12
    assert tab.sheet("#sheet-1-1").locator("th[aria-sort=ascending]").text_content() == "measured"
    header.press("Enter")
    assert [float(text.partition("±")[0]) for text in tab.column(5)[:12]] == measured[::-1]
    assert sorted(tab.column(5)) == sorted(before)


def test_a_table_filters_by_words_and_by_choice(shown):
    tab = shown("mine")
    sheet = tab.sheet("#sheet-1-1")
    sheet.get_by_label("method").select_option("QMC")
    assert set(tab.column(3)) == {"QMC"}
    count = len(tab.column(3))
    sheet.get_by_label("Search").fill("eeg differs")
    assert 0 < len(tab.column(3)) < count
    assert sheet.locator("output").text_content() == f"{len(tab.column(3))} of {sheet.locator('tbody tr').count()} rows"


def test_a_table_filters_by_a_name_whatever_it_holds_and_by_what_is_seen_alone(shown):
    tab = shown("hostile")
    sheet = tab.sheet("#sheet-1-1")
    for name in pages.HOSTILE:
        sheet.get_by_label("method").select_option(value=printable(name))
        assert tab.column(3) == [printable(name)]
    sheet.get_by_label("method").select_option("all")
    sheet.get_by_label("Search").fill("95 %:")
    assert tab.column(3) == []


def test_a_figure_hides_methods_takes_its_bands_off_and_has_logarithmic_axes(shown):
    tab = shown("mine")
    chart = tab.page.locator(".chart").first
    chart.locator(".mark-symbol path").nth(11).wait_for(state="attached")
    assert tab.lines() == (4, 12)
    assert chart.locator(".mark-area path").count() == 4
    tab.page.locator(".methods").get_by_label("QMC").uncheck()
    playwright.expect(chart.locator(".mark-symbol path")).to_have_count(9)
    tab.page.get_by_label("± one standard deviation").uncheck()
    playwright.expect(chart.locator(".mark-area path")).to_have_count(0)
    ticks = chart.locator(".role-axis-label text")
    tab.page.locator(".figure select").first.select_option(label="feature time (s)")
    playwright.expect(tab.page.locator(".figure h4").first).to_contain_text("feature time (s) against frequencies s")
    assert tab.page.get_by_label("logarithmic metric").is_checked()
    logarithmic = ticks.all_text_contents()
    tab.page.get_by_label("logarithmic metric").uncheck()
    playwright.expect(ticks).not_to_have_text(logarithmic)


def test_of_a_single_size_the_methods_are_the_axis_and_names_are_as_people_write_them(shown):
    figure = shown("single").page.locator(".figure").first
    playwright.expect(figure.locator("h4")).to_contain_text(
        "EEG: test accuracy (%) of every method, at frequencies s = 1d"
    )
    playwright.expect(figure.locator(".mark-rule[class*=layer_] line")).to_have_count(2)  # bars
    assert {"RFF (σ = 1)", "QMC"} <= set(figure.locator(".role-axis-label text").all_text_contents())


def test_without_methods_a_figure_says_so_and_offers_no_download(shown):
    tab = shown("mine")
    figure = tab.page.locator(".figure").first
    figure.locator(".mark-symbol path").first.wait_for(state="attached")
    boxes = tab.page.locator(".methods input").all()
    for box in boxes:
        box.uncheck()
    playwright.expect(figure.locator(".chart")).to_have_text("Nothing to show of what is chosen.")
    assert figure.get_by_text("SVG", exact=True).is_disabled()
    boxes[0].check()
    playwright.expect(figure.locator(".mark-symbol path")).to_have_count(3)
    assert figure.get_by_text("SVG", exact=True).is_enabled()


def test_a_point_says_what_it_stands_for(shown):
    tab = shown("mine")
    tab.page.locator(".chart").first.locator(".mark-symbol path").last.hover()
    tip = tab.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert {"surrogate-RFF", "4d", "79 ± 1"} <= set(tip.locator("td.value").all_text_contents())


def test_a_figure_is_downloaded_as_numbers_and_as_a_picture(shown, tmp_path):
    tab = shown("mine")
    for name in ("CSV", "SVG"):
        tab.page.locator(".chart").first.locator("svg").wait_for()
        with tab.page.expect_download() as download:
            tab.page.locator(".figure").first.get_by_text(name, exact=True).click()
        download.value.save_as(tmp_path / name)
    rows = list(csv.DictReader((tmp_path / "CSV").open(encoding="utf-8")))
    (row,) = [row for row in rows if (row["s"], row["method"]) == ("4d", "surrogate-RFF")]
    assert (len(rows), float(row["test accuracy (%)"]), float(row["std"]), row["trials"]) == (12, 79.0, 1.0, "3")
    assert (tmp_path / "SVG").read_text().startswith("<svg")


def test_the_interval_is_shown_on_hover_and_on_focus(shown):
    tab = shown("mine")
    row = tab.page.locator("[id='results:mine:eeg:2d:surrogate-RFF']")
    hint = row.locator(".hint").first
    assert hint.evaluate("each => getComputedStyle(each).clipPath") != "none"
    row.locator("a").focus()
    assert hint.evaluate("each => getComputedStyle(each).clipPath") == "none"


def test_a_link_to_a_cell_opens_its_experiment(shown):
    tab = shown("both", "#results:two:eeg:2d:surrogate-RFF")
    assert tab.page.locator("[id='results:two:eeg:2d:surrogate-RFF']").is_visible()
    assert not tab.page.locator("[id='results:one:eeg:2d:surrogate-RFF']").is_visible()
    tab.page.locator(".cards a[href='#results:one']").click()
    tab.page.locator("[id='results:one:eeg:2d:surrogate-RFF']").wait_for()
    tab.page.locator("[id='results:one']").locator(".chart svg").first.wait_for()


def test_of_many_protocols_one_is_chosen_for_table_and_figures_and_a_link_chooses_its_own(shown):
    tab = shown("swept", "#results:swept:%CE%BB%20%3D%203:eeg:1d:QMC")
    row = tab.page.locator("[id='results:swept:%CE%BB%20%3D%203:eeg:1d:QMC']")
    playwright.expect(row).to_contain_text("73.50±0.71")
    heading = tab.sheet("#sheet-1-1")
    in_table, in_figures = heading.get_by_label("protocol"), tab.page.locator(".figures").get_by_label("protocol")
    assert (in_table.input_value(), in_figures.input_value()) == ("2", "2")
    in_figures.select_option("λ = 5")
    assert in_table.input_value() == "4"
    assert [text.partition("±")[0] for text in tab.column(5)] == ["75.50", "75.50"]
    heading.get_by_role("button", name="method").click()
    assert tab.column(3) == ["QMC", "RFF"]
    in_table.select_option("λ = 1")
    assert tab.column(3)[:2] == ["RFF", "QMC"]
    heading.get_by_label("method").select_option("QMC")
    in_table.select_option("λ = 2")
    assert tab.column(5)[0].startswith("72.50")
    assert set(tab.column(3)) == {"QMC"}
    row.wait_for(state="detached")


@pytest.mark.parametrize(("name", "drawn"), [("mine", ".chart svg"), ("board", ".picture img")])
@pytest.mark.parametrize("context", [{"color_scheme": "dark"}, {"viewport": {"width": 400, "height": 800}}])
def test_it_is_readable_in_the_dark_and_on_a_narrow_screen_and_breaks_no_rule_of_axe(shown, context, name, drawn):
    tab = shown(name, **context)
    tab.page.locator(drawn).last.wait_for()
    width = context.get("viewport", {"width": 1200})["width"]
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    check_by_axe(tab)


def test_on_a_narrow_screen_what_a_row_is_of_stays_beside_its_numbers(shown):
    tab = shown("mine", viewport={"width": 400, "height": 800})
    table = tab.sheet("#sheet-1-1").locator(".scroll")
    row = table.locator("tbody tr").last
    before = [row.locator("td").nth(place).bounding_box()["x"] for place in range(4)]
    table.evaluate("each => (each.scrollLeft = each.scrollWidth)")
    cells = [row.locator("td").nth(place) for place in range(4)]
    after = [cell.bounding_box()["x"] for cell in cells]
    assert after[:3] == pytest.approx(before[:3], abs=1)  # dataset, s and method
    assert after[3] < before[3]
    room = table.bounding_box()
    end = cells[2].bounding_box()["x"] + cells[2].bounding_box()["width"]
    assert end - room["x"] <= 0.67 * room["width"]


def test_names_that_would_fill_a_narrow_screen_do_not_all_stay(shown):
    tab = shown("hostile", viewport={"width": 400, "height": 800})
    table = tab.sheet("#sheet-1-1").locator(".scroll")
    table.evaluate("each => (each.scrollLeft = each.scrollWidth)")
    row = table.locator("tbody tr").first
    first, third = (row.locator("td").nth(place).bounding_box() for place in (0, 2))
    assert first["x"] >= table.bounding_box()["x"]
    assert third["x"] < first["x"]


def test_with_several_experiments_open_it_breaks_no_rule_of_axe(shown):
    tab = shown("both")
    for name in ("one", "two"):
        tab.page.locator(f"#overview .cards a[href='#results:{name}']").click()
        tab.page.locator(f"[id='results:{name}']").locator(".chart svg").last.wait_for()
    assert tab.page.locator("details.experiment[open]").count() == 2
    check_by_axe(tab)


def check_by_axe(tab):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the package axe-playwright-python")
    found = axe.Axe().run(tab.page)
    assert found.violations_count == 0, found.generate_report()


def test_the_theme_can_be_changed(shown):
    tab = shown("mine", color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(background)
    tab.page.get_by_role("button", name="Dark").click()
    assert tab.page.evaluate(background) != light


def test_printed_it_has_every_experiment_open(shown):
    tab = shown("both")
    printed = len(tab.page.pdf())
    assert tab.page.locator("details.experiment[open]").count() == 2
    assert printed > 0.95 * len(tab.page.pdf())  # also the first time all figures are there


@pytest.mark.parametrize("name", ["mine", "board"])
def test_printed_no_table_is_wider_than_the_paper(shown, name):
    tab = shown(name, viewport={"width": 700, "height": 900})
    tab.page.emulate_media(media="print")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 700


@pytest.mark.parametrize("name", ["mine", "both", "board"])
def test_every_text_is_whole_on_screens_and_on_paper(shown, name):
    tab = shown(name, viewport={"width": 1280, "height": 900})
    assert unreadable(tab.page) == []
    tab.page.set_viewport_size({"width": 390, "height": 800})
    assert unreadable(tab.page) == []
    tab.page.set_viewport_size({"width": 680, "height": 900})  # A4 within its margins
    tab.page.emulate_media(media="print")
    as_a_wide_screen_left_it = """() => {  // a printer does not wait for the script, which is silenced here
      for (const table of document.querySelectorAll("table"))
        for (const place of [2, 3, 4]) table.style.setProperty(`--left-${place}`, `${place * 150}px`);
      CSSStyleDeclaration.prototype.setProperty = () => {};
    }"""
    tab.page.evaluate(as_a_wide_screen_left_it)
    assert unreadable(tab.page) == []


@pytest.mark.parametrize("name", ["both", "board"])
def test_printed_everything_is_open_and_no_heading_breaks_inside_a_word(shown, name):
    tab = shown(name, viewport={"width": 700, "height": 900})
    tab.page.pdf()
    assert tab.page.locator("details:not([open])").count() == 0
    tab.page.emulate_media(media="print")
    broken = """[...document.querySelectorAll("h1, h2, h3, h4, th, dt")].flatMap((heading) => {
      const words = [], walker = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) for (const { index, 0: word } of walker.currentNode.textContent.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, index);
        range.setEnd(walker.currentNode, index + word.length);
        if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) words.push(word);
      }
      return words;
    })"""
    assert tab.page.evaluate(broken) == []


def test_headings_stay_in_view_while_a_table_is_scrolled(shown):
    tab = shown("mine", viewport={"width": 1200, "height": 300})
    scroll = tab.sheet("#sheet-1-1").locator(".scroll")
    heading, first = scroll.locator("th").first, scroll.locator("tbody tr").first
    scroll.scroll_into_view_if_needed()
    below_heading = first.bounding_box()["y"]
    scrolled = scroll.evaluate("element => (element.scrollTop = 100)")
    assert abs(heading.bounding_box()["y"] - scroll.bounding_box()["y"]) < 2
    assert first.bounding_box()["y"] == pytest.approx(below_heading - scrolled, abs=2)


def test_at_400_pixels_the_verdicts_are_in_view(shown):
    tab = shown("mine", viewport={"width": 400, "height": 800})
    paper = tab.page.locator(".verdicts dd").first.bounding_box()
    assert paper["y"] + paper["height"] < 800
    cell = tab.sheet("#sheet-1-1").locator("td:text('reproduced'), td:text('close'), td:text('differs')").first
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    scrolled = tab.sheet("#sheet-1-1").locator(".scroll").evaluate("element => element.scrollLeft")
    assert (scrolled, box["x"] >= 0, box["x"] + box["width"] <= 400) == (0, True, True)


def test_hostile_names_do_nothing(shown):
    tab = shown("hostile")
    tab.page.on("dialog", lambda dialog: tab.said.append(dialog.message))
    tab.page.locator(".chart").first.locator(".mark-symbol path").last.hover()
    tip = tab.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert set(tip.locator("td.value").all_text_contents()) & set(pages.HOSTILE)
    assert tab.page.evaluate("document.querySelectorAll('script').length") == 3
    row = tab.page.locator("tbody tr").first
    row.locator("a").click()
    assert row.evaluate("each => each.matches(':target')")


@pytest.mark.parametrize("context", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
def test_the_page_of_a_run_says_who_leads_and_every_text_is_whole(chromium, tmp_path, context):
    pages.write_running(tmp_path / "all" / "running")
    pages.write(tmp_path / "all" / "mine")
    with pages.served(tmp_path / "all") as server:
        tab = Tab(chromium, f"http://127.0.0.1:{server.server_port}/", **context)
        playwright.expect(tab.page.locator(".said")).to_contain_text("surrogate-RFF leads: it is", timeout=LIMIT)
        assert unreadable(tab.page) == []
        boxes = [each.bounding_box() for each in tab.page.locator(".experiment").all()]
        assert [one["y"] + one["height"] <= other["y"] for one, other in itertools.pairwise(boxes)] == [True]
        check_by_axe(tab)
        tab.page.set_viewport_size({"width": 680, "height": 900})  # A4 within its margins
        tab.page.emulate_media(media="print")
        assert unreadable(tab.page) == []
    assert tab.said == []
    tab.context.close()


def test_the_page_of_a_run_updates_by_itself(chromium, tmp_path):
    folder = pages.write_running(tmp_path / "<b>mine")
    with pages.served(folder) as server:
        tab = Tab(chromium, f"http://127.0.0.1:{server.server_port}/")
        told = tab.page.locator("#experiments p").first
        playwright.expect(told).to_contain_text("1 of 4 trials; 1 ok; running: process 7 on here; about", timeout=LIMIT)
        assert tab.page.locator("progress").evaluate("each => each.value") == 1
        pages.write_running(folder, trials=4)
        playwright.expect(told).to_contain_text("4 of 4 trials", timeout=LIMIT)
        assert tab.page.locator("tbody tr").count() == 2
        assert {url.rpartition("/")[2] for url in tab.asked if not url.startswith("data:")} == {"", "state.json"}
    playwright.expect(tab.page.locator("#connection")).to_contain_text("No answer", timeout=LIMIT)
    assert [text for text in tab.said if "ERR_CONNECTION_REFUSED" not in text] == []
    check_by_axe(tab)
    tab.context.close()
