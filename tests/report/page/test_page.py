"""Promises of `rffbench report`: one HTML file that holds everything, runs nothing else, and says what was measured."""

import base64
import hashlib
import importlib
import json
import re
import shlex
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import quote

import pytest

from rffbench import cli
from rffbench.errors import ConfigError, ResultsError
from rffbench.report.figures import MOST_PROTOCOLS
from rffbench.report.frame import load_protocols
from rffbench.report.page import write_page
from rffbench.report.page.charts import card
from rffbench.report.page.sheet import sheet_of
from rffbench.report.record import record
from rffbench.report.summary import summarise
from rffbench.report.text_table import Table
from tests.helpers import html, pages
from tests.helpers import report_log as log
from tests.helpers.cases import slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pages.write(tmp_path_factory.mktemp("page") / "mine", reference="liu2020-table3")


@pytest.fixture(scope="module")
def page(folder):
    return html.read(write_page([str(folder)]).path.read_text())


@pytest.fixture
def hostile(tmp_path):
    return pages.write_hostile(tmp_path / "<img src=x onerror=alert(2)>")


def made(*places):
    return html.read(write_page([str(place) for place in places]).path.read_text())


def sheet(page, title):
    return next(each for each in page.all(class_="sheet") if each.one("h3").text == title)


def data_of(page):
    return json.loads(zlib.decompress(base64.b64decode(page.one("script", id="data").text)))


def hint(cell):
    return "".join(each.text for each in cell.all("span", class_="hint"))


# ---- What the file is --------------------------------------------------------------------------------------


def test_nothing_in_it_leads_elsewhere(page):
    leads = [each.attributes[name] for each in page.all() for name in ("src", "href") if name in each.attributes]
    assert leads
    assert [lead for lead in leads if not lead.startswith(("#", "data:"))] == []
    assert {each.tag for each in page.all()}.isdisjoint({"iframe", "object", "embed", "form", "base"})


def test_its_policy_lets_these_scripts_and_this_style_apply_and_nothing_be_loaded(page):
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert "unsafe" not in policy
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["img-src"] == ["data:"]
    scripts = [each.text for each in page.all("script") if each.attributes.get("type") == "module"]
    assert rules["script-src"] == [hashed(text) for text in scripts]
    assert rules["style-src"] == [hashed(page.one("style").text)]


def hashed(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_no_element_has_a_style_or_a_script_of_its_own(page):
    names = {name for each in page.all() for name in each.attributes}
    assert not {name for name in names if name == "style" or name.startswith("on")}


def test_every_id_is_there_once_and_every_link_and_label_leads_to_one(page):
    ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    links = {each.attributes["href"][1:] for each in page.all("a")}
    labels = {each.attributes["aria-labelledby"] for each in page.all() if "aria-labelledby" in each.attributes}
    assert links | labels <= set(ids)


def test_it_says_its_language_and_every_table_has_headings_and_every_image_words(page):
    assert page.one("html").attributes["lang"] == "en"
    for table in page.all("table"):
        assert all(cell.attributes["scope"] == "col" for cell in table.one("thead").all("th"))
    assert all(each.attributes["alt"] for each in page.all("img"))
    assert all(control.attributes.get("type") or control.tag == "select" for control in page.all("input"))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_what_it_is_made_of_goes_into_the_package():
    files = [str(path) for path in (ROOT / "rffbench" / "report" / "page").iterdir() if path.is_file()]
    names = {Path(file).name for file in files}
    assert {"page.html", "page.css", "page.js", "tables.js", "live.html", "live.js"} <= names
    ignored = subprocess.run(["git", "check-ignore", "--no-index", *files], cwd=ROOT, capture_output=True, text=True)
    assert ignored.stdout == ""  # hatch leaves out what git ignores


# ---- What it says ------------------------------------------------------------------------------------------


def test_first_comes_what_ran_and_how_it_compares(page):
    tiles = {tile.one("dt").text: tile.one("dd").text for tile in page.one("dl", class_="tiles").all("div")}
    assert tiles["trials"] == "36 ok"
    assert tiles["experiments"] == "1 on 1 dataset"
    within = re.fullmatch(r"(\d+) of 12 reported", tiles["cells within tolerance"])
    verdicts = [row["verdict"].text for row in html.table(sheet(page, "Results"))]
    assert int(within[1]) == sum(verdict in ("reproduced", "close") for verdict in verdicts)
    assert re.fullmatch(r"\d+ \d+ refuted, \d+ open", tiles["claims held"])


@pytest.mark.slow
def test_a_reference_of_ones_own_is_called_recorded(tmp_path):
    record(pages.write(tmp_path / "first"), tmp_path / "first.csv")
    own = made(pages.write(tmp_path / "both" / "mine", reference="../../first.csv"))
    assert {"recorded", "difference", "verdict"} <= html.table(sheet(own, "Results"))[0].keys()
    assert "12 of 12 recorded" in own.one("dl", class_="tiles").text
    assert "Recorded: first.csv." in own.text
    assert "reported" not in own.one("main").text.lower()
    pages.write(tmp_path / "both" / "paper", reference="liu2020-table3")
    both = made(tmp_path / "both")
    assert "of 24 reported or recorded" in both.one("dl", class_="tiles").text


def test_no_two_methods_of_a_figure_look_alike(tmp_path):
    methods = {f"RFF {number}": log.METHODS["RFF"] for number in range(12)}
    rows = [{**log.ok(log.spec(), 70.0), "method": label} for label in methods]
    page = made(pages.write(tmp_path / "mine", rows, methods=methods, n_features=["1d"]))
    looks = [(each["color"], each["shape"], tuple(each["dash"])) for each in
             data_of(page)["sections"]["results:mine"]["methods"]]  # fmt: skip
    assert len(set(looks)) == len(methods)


def test_a_cell_has_measured_beside_reported_with_the_intervals_and_a_link_of_its_own(page):
    results = sheet(page, "Results")
    row = next(row for row in html.table(results) if (row["s"].text, row["method"].text) == ("2d", "surrogate-RFF"))
    assert row["measured"].text.startswith("77.00±1.00")
    assert "95 %: 74.52 to 79.48" in hint(row["measured"])
    assert row["reported"].text.startswith("72.72±1.35")
    assert row["difference"].text.startswith("+4.28")
    assert re.search(r"95 %: \+\d\.\d\d to \+\d\.\d\d; tolerance 1", hint(row["difference"]))
    assert row["verdict"].text == "differs"
    assert row["verdict"].attributes["class"] == "bad"
    assert row["feature time"].text.startswith("0.080 s") or "0.08" in row["feature time"].text
    assert row["dataset"].one("a").attributes["href"] == "#results:mine:eeg:2d:surrogate-RFF"
    assert list(results.all("tr", id="results:mine:eeg:2d:surrogate-RFF"))


def test_what_was_reported_and_not_measured_is_one_line_that_opens(page):
    assert "not measured" not in {row["verdict"].text for row in html.table(sheet(page, "Results"))}
    (folded,) = (each for each in page.all("details", class_="folded") if "not measured" in each.one("summary").text)
    assert folded.one("summary").text == "20 reported cells were not measured"
    rows = html.table(sheet(folded, "Not measured"))
    assert {row["s"].text for row in rows} == {"8d", "16d", "32d", "64d", "128d"}
    assert len(rows) == 20


def test_figures_come_before_tables(page):
    (experiment,) = page.all("details", class_="experiment")
    order = [
        each.attributes["class"] for each in experiment.all() if each.attributes.get("class") in ("figures", "sheet")
    ]
    assert order[0] == "figures"
    assert order.count("figures") == 1


def test_without_a_paper_it_begins_with_the_method_that_is_best(tmp_path):
    page = made(pages.write(tmp_path / "mine"))
    said = page.one("p", class_="said").text
    assert said.startswith("surrogate-RFF has the best mean rank by test accuracy")


def test_cells_sort_by_numbers_not_by_their_text(page):
    row = next(row for row in html.table(sheet(page, "Results")) if row["method"].text == "surrogate-RFF")
    assert float(row["measured"].attributes["data-value"]) == 75.0
    assert float(row["s"].attributes["data-value"]) == 14


def test_a_column_of_numbers_sorts_by_them_and_no_other_does():
    rows = [["3droad", "+0.50", "-0.20 to +1.20", "16d", ""], ["eeg", "-4.06", "–", "4d", "1e-05"]]
    made = sheet_of(Table("A table", ["dataset", "difference", "95 %", "s", "p"], rows))
    keys = [[cell.key for cell in line.cells] for line in made.lines]
    assert keys == [["", "0.5", "-0.2", "", ""], ["", "-4.06", "", "", "1e-05"]]


def test_the_figures_numbers_are_the_summary_s(page, folder):
    charts = data_of(page)["sections"]["results:mine"]
    summary = summarise(load_protocols(folder)[0][1]).set_index(["n_features", "method", "metric"])
    assert len(charts["cells"]) == 12
    for _, _, method, n_features, _, _, measured, _ in charts["cells"]:
        for metric, (mean, std, trials) in measured.items():
            row = summary.loc[(n_features, charts["methods"][method]["name"], metric)]
            assert (mean, std, trials) == pytest.approx((row["mean"], row["std"], row["n_ok"]), rel=1e-5)


def test_costs_have_a_pareto_front(page):
    charts = data_of(page)["sections"]["results:mine"]
    assert "feature_s" in charts["costs"]
    on_front = {(charts["methods"][cell[2]]["name"], cell[4]) for cell in charts["cells"] if "feature_s" in cell[7]}
    assert ("RFF", "1d") in on_front  # the cheapest
    assert ("surrogate-RFF", "4d") in on_front  # the best
    assert ("QMC", "1d") not in on_front  # worse and dearer than RFF


def test_the_claims_have_verdicts_and_those_not_measured_are_counted(page):
    claims = sheet(page, "Claims")
    assert {row["verdict"].text for row in html.table(claims)} <= {"holds", "does not hold", "not enough evidence"}
    assert any(note.text.startswith("not measured: ") for note in claims.all("p", class_="note"))


def test_it_says_where_it_was_measured_and_the_command_that_does_it_again(page, folder):
    facts = {each.one("dt").text: each.one("dd").text for each in page.one("dl", class_="facts").all("div")}
    assert facts["processor"] == "A CPU, 2 of 4 processors used"
    assert facts["commit"] == "a" * 40
    checkout, run, diff = page.one("pre", class_="command").text.splitlines()
    assert checkout.startswith(f"git checkout {'a' * 40}")
    assert shlex.split(run) == ["rffbench", "run", f"{folder}/config.yaml", "--results", "again", "--executor", "local",
                                "--workers", "2"]  # fmt: skip
    assert shlex.split(diff) == ["rffbench", "diff", str(folder), "again/mine"]


def test_of_a_run_of_a_part_the_command_does_that_part_again(tmp_path):
    part = made(pages.write(tmp_path / "mine", manifest={"only": ["dataset=eeg", "n_features=1d"]}))
    _, run, _ = part.one("pre", class_="command").text.splitlines()
    assert shlex.split(run)[-4:] == ["--only", "dataset=eeg", "--only", "n_features=1d"]


def test_trials_without_a_result_are_named_with_their_message(tmp_path):
    lost = [log.lost(log.spec("eeg", "RFF", 4, trial), "timeout") for trial in range(2)]
    rows = [row for row in pages.rows() if (row["method"], row["multiple"], row["trial"] < 2) != ("RFF", 4, True)]
    page = made(pages.write(tmp_path / "mine", rows + lost))
    (row,) = html.table(sheet(page, "Failures"))
    assert [row[name].text for name in ("trials", "status", "message", "where")] == [
        "2", "timeout", "Lost: it was lost", "eeg 4d RFF × 2"
    ]  # fmt: skip
    (cell,) = [
        row for row in html.table(sheet(page, "Results")) if (row["method"].text, row["s"].text) == ("RFF", "4d")
    ]
    assert cell["trials"].text.startswith("1 of 3")
    assert hint(cell["trials"]) == "2 timeout"


def test_many_datasets_have_a_critical_difference_diagram(tmp_path):
    datasets = ["eeg", "magic04", "cod-rna", "covtype", "ijcnn1"]
    shown = ("RFF", "QMC", "surrogate-RFF")
    rows = [log.ok(log.spec(name, method, trial=trial), 70.0 + trial + i + (method == "surrogate-RFF"))
            for i, name in enumerate(datasets) for method in shown for trial in range(3)]  # fmt: skip
    methods = {name: log.METHODS[name] for name in shown}
    page = made(pages.write(tmp_path / "mine", rows, datasets=datasets, methods=methods, n_features=["1d"]))
    image = page.one("img").attributes
    assert b"<svg" in base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,"))
    assert "surrogate-RFF 1.00" in image["alt"]


def test_a_sweep_has_a_table_and_figures_of_every_protocol(tmp_path):
    page = made(pages.write_sweep(tmp_path / "mine", 2))
    protocols = [row["protocol"].text for row in html.table(sheet(page, "Results"))]
    assert protocols == ["λ = 1"] * 2 + ["λ = 2"] * 2
    charts = data_of(page)["sections"]["results:mine"]
    assert charts["protocols"] == ["λ = 1", "λ = 2"]
    assert [cell[0] for cell in charts["cells"]] == [0, 0, 1, 1]


@pytest.mark.slow
def test_of_a_sweep_with_very_many_protocols_one_is_shown_and_the_others_are_there_to_be_chosen(tmp_path):
    page = made(pages.write_sweep(tmp_path / "mine", MOST_PROTOCOLS + 1, reference="liu2020-table3"))
    results = sheet(page, "Results")
    first = [row for row in html.table(results) if row["measured"].text != "–"]
    assert [row["measured"].text.partition("95")[0] for row in first] == ["71.50±0.71"] * 2
    names = [f"λ = {i + 1}" for i in range(MOST_PROTOCOLS + 1)]
    assert [each.text for each in results.one("select", class_="protocol").all("option")] == names
    charts = data_of(page)["sections"]["results:mine"]
    assert {cell[0] for cell in charts["cells"]} == set(range(len(names)))
    columns = [each.text for each in results.all("th")]
    nothing, *others = charts["others"]
    assert nothing is None
    for number, lines in enumerate(others, 2):
        assert [anchor for anchor, _ in lines] == [f"results:mine:{quote(f'λ = {number}')}:eeg:1d:{method}"
                                                   for method in ("RFF", "QMC")]  # fmt: skip
        said = [dict(zip(columns, cells, strict=True)) for _, cells in lines]
        assert [each["measured"][0] for each in said] == [f"{70.5 + number:.2f}±0.71"] * 2
        assert [each["reported"][0] for each in said] == [row["reported"].text for row in first]
        assert [each["verdict"][3] for each in said] == ["bad" if each["verdict"][0] == "differs" else "good"
                                                         for each in said]  # fmt: skip
    notes = [note.text for note in page.all("p", class_="note")]
    assert any(note.startswith(f"Of the {MOST_PROTOCOLS + 1} protocols of this sweep, one is shown") for note in notes)


# ---- Several experiments, several runs ---------------------------------------------------------------------


def test_a_folder_of_folders_has_an_overview_that_leads_to_each(tmp_path):
    for name in ("one", "two"):
        pages.write(tmp_path / name)
    page = made(tmp_path)
    overview = html.table(sheet(page, "Experiments"))
    assert [row["experiment"].text for row in overview] == ["one", "two"]
    assert [row["experiment"].one("a").attributes["href"] for row in overview] == ["#results:one", "#results:two"]
    assert [each.attributes["id"] for each in page.all("details", class_="experiment")] == [
        "results:one",
        "results:two",
    ]
    assert (tmp_path / "report.html").exists()
    cards = list(page.one("ul", class_="cards").all("li"))
    assert [card.one("a").attributes["href"] for card in cards] == ["#results:one", "#results:two"]
    assert all(card.one("img").attributes["src"].startswith("data:image/svg+xml") for card in cards)
    assert all(card.one("p").text for card in cards)


@pytest.mark.parametrize("names", [["QMC", "RFF"], ["surrogate-RFF reweighted by leverage", "surrogate-RFF written"]])
def test_a_card_s_figure_has_the_names_whole(names):
    config = log.config(methods={name: {"features": "fourier"} for name in names}, n_features=[14, 28], trials=1)
    results = log.results([("eeg", n, name, 0, {"accuracy": 0.8}) for n in (14, 28) for name in names], config)
    _, _, drawn = card(results, summarise(results)).partition("base64,")
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", base64.b64decode(drawn).decode())
    assert [text for text in shown if "…" in text] == []
    assert set(names) <= set(shown)


@pytest.mark.slow
def test_a_paper_has_a_verdict_on_top_by_what_reproduces_it_and_the_rest_is_apart(tmp_path):
    for name in ("table3", "table3-as-written", "protocol-search", "leverage-theory"):
        reference = {} if name == "leverage-theory" else {"reference": "liu2020-table3"}
        pages.write(tmp_path / name, name=name, **reference)
    page = made(tmp_path)
    (verdict,) = page.one("dl", class_="verdicts").all("div")
    assert verdict.one("dt").text == "Liu et al. 2020"
    (mine,) = (row for row in html.table(sheet(page, "Experiments")) if row["experiment"].text == "table3")
    counted = mine["within tolerance"].text.partition("tolerance")[0]  # the rest is shown on hover
    assert f"{counted} cells within tolerance. {mine['in no sum'].text}. Of its claims" in verdict.one("dd").text
    assert mine["in no sum"].text == "20 not measured"
    assert "as far as measured: " in verdict.one("dd").text  # of 32 cells 12
    assert "Apart, in no sum: a control, a study, a search" in verdict.one("dd").text
    within = next(each for each in page.one("dl", class_="tiles").all("div") if "tolerance" in each.one("dt").text)
    assert within.one("dd").text == f"{counted} reported"
    found = html.table(sheet(page, "Experiments"))
    assert [row["kind"].text for row in found] == ["reproduction", "control", "study", "search"]
    assert {row["paper"].text for row in found} == {"Liu et al. 2020"}


def test_a_paper_of_which_no_cell_can_be_compared_says_so(tmp_path):
    page = made(pages.write(tmp_path / "zhang", name="zhang", reference="zhang2019-lprff"))
    (verdict,) = page.one("dl", class_="verdicts").all("div")
    assert re.fullmatch(r"not judged: no cell compared. \d+ not comparable\.", verdict.one("dd").text)


@pytest.mark.parametrize("count", [2, *slow(MOST_PROTOCOLS + 1)])
def test_the_protocols_of_a_sweep_stand_side_by_side(tmp_path, count):
    page = made(pages.write_sweep(tmp_path / "swept", count, reference="liu2020-table3"))
    beside = sheet(page, "Protocols side by side")
    rows = html.table(beside)
    assert len(rows[0]) == 3 + min(count, MOST_PROTOCOLS)
    first = html.table(sheet(page, "Results"))[0]
    cell = next(row for row in rows if all(row[name].text == first[name].text for name in ("s", "method")))
    protocol = list(cell)[3]
    assert cell[protocol].text == first["measured"].text
    assert cell[protocol].attributes.get("class") == first["verdict"].attributes.get("class")
    assert ("the other 1 are in the table above" in beside.text) == (count > MOST_PROTOCOLS)


def test_runs_of_one_experiment_are_shown_over_time_and_the_newest_in_full(tmp_path):
    old = pages.write(tmp_path / "old" / "mine", pages.rows(gain=1.0))
    new = pages.write(tmp_path / "new" / "mine", manifest={"finished": "2026-02-01T11:00:00+00:00"})
    write_page([str(new), str(old)], tmp_path / "page.html")
    page = html.read((tmp_path / "page.html").read_text())
    assert [row["folder"].text for row in html.table(sheet(page, "Runs"))] == [str(old), str(new)]
    scores = html.table(sheet(page, "Scores over runs"))
    (row,) = [row for row in scores if (row["s"].text, row["method"].text) == ("4d", "surrogate-RFF")]
    assert (row["metric"].text, row["run 1"].text, row["run 2"].text) == ("test accuracy (%)", "77.00", "79.00")
    (shown,) = page.all("details", class_="experiment")
    assert f"{new}/config.yaml" in shown.one("pre", class_="command").text


# ---- Bad input ---------------------------------------------------------------------------------------------


def test_hostile_names_stay_text(hostile, page):
    text = write_page([str(hostile)]).path.read_text()
    bad = html.read(text)
    assert len(list(bad.all("script"))) == len(list(page.all("script")))
    assert {each.tag for each in bad.all()} <= {each.tag for each in page.all()} | {"strong"}
    names = {name for each in bad.all() for name in each.attributes}
    assert names <= {name for each in page.all() for name in each.attributes}
    methods = {row["method"].text for row in html.table(sheet(bad, "Results"))}
    assert methods == {name.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e") for name in pages.HOSTILE}
    assert [each["name"] for each in data_of(bad)["sections"][f"results:{quote(hostile.name, safe='')}"]["methods"]]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)
    ids = [each.attributes["id"] for each in bad.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    assert not [each for each in ids if re.search(r"\s", each)]
    assert len(html.table(sheet(bad, "Failures"))) == len(pages.HOSTILE)


def test_an_experiment_that_cannot_be_read_is_passed_over_by_name(tmp_path, capsys):
    pages.write(tmp_path / "good")
    bad = pages.write(tmp_path / "<b>bad")
    (bad / "config.yaml").write_text("datasets: [eeg\n")
    odd = pages.write(tmp_path / "odd", methods={"RFF": None})
    status = cli.cli.main(["report", str(tmp_path)], standalone_mode=False)
    said = capsys.readouterr()
    assert status == 1
    assert said.out == f"wrote {tmp_path / 'report.html'}: 1 experiment\n"
    assert f"passed over: {bad / 'config.yaml'}" in said.err
    assert f"passed over: {odd / 'config.yaml'}: not an experiment" in said.err
    page = html.read((tmp_path / "report.html").read_text())
    told = [each.text for each in page.one("section", id="overview").all("li")]
    assert [str(folder) in text for folder, text in zip((bad, odd), told, strict=True)] == [True, True]


@pytest.mark.parametrize("spoil", [
    lambda folder: (folder / "trials.jsonl").unlink(),
    lambda folder: (folder / "config.yaml").unlink(),
    lambda folder: (folder / "trials.jsonl").write_text(""),
    lambda folder: (folder / "manifest.json").write_text("{"),
    lambda folder: (folder / "manifest.json").write_text("[1, 2]"),
])  # fmt: skip
def test_a_folder_without_results_or_half_written_is_refused_by_name(tmp_path, spoil):
    folder = pages.write(tmp_path / "mine")
    spoil(folder)
    with pytest.raises(ResultsError, match=str(folder)):
        write_page([str(folder)])
    assert not (folder / "report.html").exists()


def test_a_torn_last_line_is_no_obstacle(tmp_path):
    folder = pages.write(tmp_path / "mine")
    with (folder / "trials.jsonl").open("a") as file:
        file.write('{"key": "ab')
    assert len(html.table(sheet(made(folder), "Results"))) >= 12


def test_a_folder_of_a_newer_version_says_so(tmp_path):
    folder = pages.write(tmp_path / "mine", manifest={"rffbench": "99.1"})
    notes = [note.text for note in made(folder).all("p", class_="note")]
    assert any("written by rffbench 99.1, which is newer than this one" in note for note in notes)
    (folder / "config.yaml").write_text("something: else\n")
    with pytest.raises(ResultsError, match=r"config\.yaml.*written by rffbench 99\.1"):
        write_page([str(folder)])


def test_a_file_that_cannot_be_written_is_named(folder, tmp_path):
    with pytest.raises(ResultsError, match=r"nowhere/page\.html: cannot be written"):
        write_page([str(folder)], tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("package", ["altair", "jinja2", "vl_convert"])
def test_without_its_packages_it_says_what_to_install(monkeypatch, package):
    for name in [name for name in sys.modules if name.startswith("rffbench.report.page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"pip install 'rffbench\[report\]'"):
        importlib.import_module("rffbench.report.page")
