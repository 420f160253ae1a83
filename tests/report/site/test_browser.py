"""The site as a reader has it, in Chromium and from disk: its tables sort and filter, and axe finds nothing."""

import pytest

pytest.importorskip("itables", reason="needs the extra report")
pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

import pandas as pd
from playwright import sync_api as playwright

from rffbench.report import site as site_module
from rffbench.report.site import figures, write_site
from rffbench.report.site.claims import papers
from tests.helpers.browser import NEEDS_CHROMIUM, unreadable
from tests.helpers.made_up_board import made_up

pytestmark = [
    pytest.mark.slow,
    NEEDS_CHROMIUM,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_module, "shipped_parts", lambda: [made_up()])
        patch.setattr(site_module, "papers", lambda: papers()[:2])
        return write_site(tmp_path_factory.mktemp("site") / "board").folder


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The site of the boards that ship, with two papers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_module, "papers", lambda: papers()[:2])
        return write_site(tmp_path_factory.mktemp("site") / "shipped").folder


def opened(chromium, path, **context):
    """The page, ready, and what it asks for."""
    page = chromium.new_context(**context).new_page()
    page.set_default_timeout(60_000)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.locator("html[data-ready=yes]").wait_for(state="attached")
    return page, asked


def test_the_table_of_all_cells_filters_by_choice_and_by_range_and_sorts(chromium, folder):
    page, asked = opened(chromium, folder / "index.html")
    told = page.locator(".dt-info").last
    playwright.expect(told).to_contain_text("of 28 entries")
    page.locator("[data-column=map]").select_option("QMC")
    playwright.expect(told).to_contain_text("of 8 entries")
    page.locator("[data-from=columns]").fill("200")
    playwright.expect(told).to_contain_text("of 4 entries")
    page.locator("#cells thead th", has_text="test error").click()
    errors = [float(text) for text in page.locator("#cells tbody td:nth-child(10)").all_text_contents()]
    assert len(errors) == 4
    assert errors == sorted(errors)
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}


@pytest.mark.parametrize("context", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
@pytest.mark.parametrize(
    "name", ["index.html", "maps/qmc.html", "datasets/eeg.html", "papers/buchel2024.html", "data.html", "versions.html"]
)
def test_it_breaks_no_rule_of_axe_and_is_no_wider_than_the_screen(chromium, folder, context, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page, _ = opened(chromium, folder / name, **{"viewport": {"width": 1280, "height": 900}, **context})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = axe.Axe().run(page, options={"preload": False}).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []


@pytest.mark.parametrize("name", ["index.html", "maps/nystrom-rpcholesky.html", "datasets/letter.html"])
def test_every_text_is_whole_on_screens_and_on_paper(chromium, shipped, name):
    page, _ = opened(chromium, shipped / name, viewport={"width": 1280, "height": 900})
    assert unreadable(page) == []
    boxes = "[...document.querySelectorAll('.scroll, figure')].map((each) => each.scrollWidth - each.clientWidth)"
    assert max(page.evaluate(boxes)) <= 0
    page.set_viewport_size({"width": 390, "height": 800})
    assert unreadable(page) == []
    page.set_viewport_size({"width": 680, "height": 900})  # A4 within its margins
    page.emulate_media(media="print")
    assert unreadable(page) == []


def test_a_long_name_beside_a_figure_is_whole(chromium):
    page = chromium.new_page()
    drawn = figures.ranks(pd.Series({"surrogate reweighted by leverage": 1.2, "RFF": 1.8}), [])
    page.set_content(f"<body style='font-family: sans-serif'><figure>{drawn}</figure>")
    assert unreadable(page) == []
