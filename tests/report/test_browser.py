"""The report in a real browser: no fault, filters that filter, both themes, a phone's width, paper."""

import shutil

import pytest

from curriculum_labeling.report import write_report
from tests.report.runs import HOSTILE, digits_run
from tests.report.test_page import SECTIONS

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chrome on this machine")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(finished_run, tmp_path_factory):
    copy = shutil.copytree(finished_run, tmp_path_factory.mktemp("browser") / "run")
    return write_report(copy).as_uri()


@pytest.fixture
def open_page(browser, address):
    """Opens the report; at the end, no page may have said anything on its console or asked for anything else."""
    pages, said = [], []

    def opened(**options):
        page = browser.new_page(**options)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: said.append(asked.url) if not asked.url.startswith(("file:", "data:")) else 0)
        page.goto(address)
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert said == []


def shown(page):
    """How many pictures are visible, which the visible count must agree with."""
    visible = page.locator("#gallery .shot:not([hidden])").count()
    assert page.inner_text("#shown") == f"{visible:,}"
    return visible


def test_every_section_is_visible(open_page):
    page = open_page()
    for name in SECTIONS:
        assert page.locator(f"#{name}").is_visible(), name


def test_a_hostile_class_name_is_shown_as_text(open_page):
    page = open_page()
    assert page.locator("#gallery h3", has_text=HOSTILE).count() == 1
    assert page.locator("script").count() == 1


def test_filters_change_the_count_and_what_is_shown(open_page):
    page = open_page()
    everything = shown(page)
    page.select_option("[name=label]", "3")
    one_class = shown(page)
    assert 0 < one_class < everything
    assert page.locator("#gallery details.class:visible").count() == 1
    page.select_option("[name=kind]", "most confident")
    assert 0 < shown(page) < one_class
    page.click("#reset")
    page.wait_for_function("document.getElementById('reset').disabled")
    assert shown(page) == everything
    by_round = []
    for t in range(1, 6):
        page.select_option("[name=round]", str(t))
        by_round.append(shown(page))
    assert sum(by_round) == everything


def test_the_confidence_filter_leaves_only_what_it_says(open_page):
    page = open_page()
    page.locator("[name=low]").fill("60")
    visible = "#gallery .shot:not([hidden])"
    left = page.eval_on_selector_all(visible, "all => all.map(one => Number(one.dataset.confidence))")
    assert page.inner_text("#range") == "60 to 100 %"
    assert len(left) == shown(page) > 0
    assert page.locator("#gallery .shot[hidden]").count() > 0
    assert min(left) >= 0.6


def test_where_nothing_matches_the_page_says_so(open_page):
    page = open_page()
    assert page.locator("#nothing").is_hidden()
    page.select_option("[name=round]", "-1")
    assert shown(page) == 0
    assert page.inner_text("#nothing") == "No images match these filters."


def test_a_picture_tells_its_words(open_page):
    page = open_page()
    page.locator("#gallery .shot button").first.click()
    assert ".png" in page.inner_text("#words-text")
    page.keyboard.press("Escape")
    assert page.locator("#words").is_hidden()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_switched(open_page, system):
    page = open_page(color_scheme=system)
    color = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(color)
    assert before == {"light": "rgb(251, 251, 249)", "dark": "rgb(21, 23, 26)"}[system]
    page.click("#theme")
    assert page.evaluate(color) != before
    ink = "getComputedStyle(document.querySelector('#accuracy svg text')).fill"
    assert page.evaluate(ink) != "rgb(0, 0, 0)"
    page.click("#theme")
    assert page.evaluate(color) == before


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_nothing_overflows_sideways(open_page, width):
    page = open_page(viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_very_long_class_name_does_not_push_the_page_wide(browser, tmp_path):
    names = tuple("x" * 300 + str(c) for c in range(10))
    report = write_report(
        digits_run(tmp_path / "run", names=names, given=40, held=20, unlabeled=60, percentiles=(0.0,))
    )
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_thumbnails_are_drawn_from_the_sprite(open_page):
    page = open_page()
    image = page.evaluate("getComputedStyle(document.querySelector('.shot .thumb')).backgroundImage")
    assert image.startswith('url("data:image/webp;base64,')


def test_it_prints_in_ink_on_paper_without_controls(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.locator("#filters").is_hidden()
    assert page.pdf().startswith(b"%PDF")


def test_without_scripts_the_page_still_reads(open_page):
    page = open_page(java_script_enabled=False)
    assert page.locator("#gallery .shot").first.is_visible()
    assert page.locator("#filters").is_hidden()
