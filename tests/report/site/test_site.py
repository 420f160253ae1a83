"""The board as a static site, from few made-up rows: it is whole, asks for nothing outside, and says what rows say."""

import base64
import csv
import io
import json
import re
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("itables", reason="needs the extra report")

from rffbench.cli import cli
from rffbench.errors import ConfigError, ResultsError
from rffbench.report import site as site_module
from rffbench.report.site import figures, write_site
from rffbench.report.site.claims import claims_on, papers
from rffbench.report.site.export import bencheval
from rffbench.report.site.parts import Part, own_parts
from rffbench.report.site.standing import ALIKE, BETTER, WORSE, Standing, at_columns, told_apart
from tests.helpers import html
from tests.helpers import pages as pages_of_report
from tests.helpers import report_log as log
from tests.helpers.made_up_board import DATASETS, made_up


@pytest.fixture(scope="module")
def board():
    return made_up()


@pytest.fixture
def few(monkeypatch, board):
    """The site of the made-up rows and of two papers."""
    monkeypatch.setattr(site_module, "shipped_parts", lambda: [board])
    monkeypatch.setattr(site_module, "papers", lambda: papers()[:2])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, board):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_module, "shipped_parts", lambda: [board])
        patch.setattr(site_module, "papers", lambda: papers()[:2])
        return write_site(tmp_path_factory.mktemp("site") / "board").folder


def pages(folder):
    return {path: html.read(path.read_text()) for path in folder.rglob("*.html")}


# ---- What it is ------------------------------------------------------------------------------------------------------


def test_every_link_leads_to_a_file_of_the_site(folder):
    found = 0
    for path, page in pages(folder).items():
        for each in page.all():
            for name in ("href", "src"):
                lead = each.attributes.get(name, "data:")
                if not lead.startswith(("data:", "#")):
                    assert (path.parent / lead).is_file(), f"{path}: {lead}"
                    found += 1
    assert found > 50


def test_nothing_is_asked_for_outside(folder):
    for path, page in pages(folder).items():
        policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
        assert "http" not in policy
        assert policy.startswith("default-src 'none'")
        loaded = [*page.all("script"), *page.all("img"), *page.all("link")]
        sources = [each.attributes[name] for each in loaded for name in ("src", "href") if name in each.attributes]
        assert sources, path
        assert not [source for source in sources if "//" in source], path
    assert not re.search(r"url\((?![\"']?data:)", (folder / "assets" / "site.css").read_text())
    assert "@import" not in (folder / "assets" / "site.css").read_text()


def test_the_first_load_is_small(folder):
    first = [folder / "index.html", *(folder / "assets").iterdir()]
    assert sum(path.stat().st_size for path in first) < 3_000_000


def test_ids_are_unique_and_labels_lead_to_them(folder):
    for path, page in pages(folder).items():
        ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
        assert len(ids) == len(set(ids)), path
        assert {each.attributes["aria-labelledby"] for each in page.all() if "aria-labelledby" in each.attributes} <= {
            *ids
        }


def test_every_page_begins_with_a_sentence(folder):
    for path, page in pages(folder).items():
        first = next(each for each in page.one("main").all("p"))
        assert first.attributes.get("class") == "said", path
        assert first.text.endswith("."), path


# ---- What it says ----------------------------------------------------------------------------------------------------


def packed(folder):
    (data,) = html.read((folder / "index.html").read_text()).all("script", id="cells-data")
    found = json.loads(zlib.decompress(base64.b64decode(data.text)))
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def test_the_table_of_all_cells_has_the_means_of_the_rows(folder, board):
    cells = {(row["map"][0], row["dataset"][0], row["columns"]): row for row in packed(folder)}
    assert len(cells) == len(DATASETS) * 7
    rows = board.rows[(board.rows["dataset"] == "kin8nm") & (board.rows["n_features"] == 512)]
    errors = np.sqrt(rows.pivot_table(index="trial", columns="method", values="loss"))
    cell = cells["QMC", "kin8nm", 512]
    assert cell["metric"] == "RMSE"
    assert cell["task"] == "regression"
    assert (cell["kernel"], cell["d"], cell["trials"], cell["failed"]) == ("gaussian", 8, 3, 0)
    assert cell["test error"] == pytest.approx(errors["QMC"].mean(), rel=1e-4)
    assert cell["over RFF"] == pytest.approx((errors["QMC"] / errors["RFF"]).mean(), rel=1e-3)
    assert cell["seconds"] == 2.0
    assert cells["linear", "eeg", None]["over RFF"] is None


def test_every_filter_has_the_values_of_its_column(folder):
    page = html.read((folder / "index.html").read_text())
    rows = packed(folder)
    for select in (each for each in page.all("select") if "data-column" in each.attributes):
        name = select.attributes["data-column"]
        values = {each[0] if isinstance(each, list) else each for each in (row[name] for row in rows)}
        assert {each.text for each in select.all("option")} - {"all"} == {
            str(each) for each in values if each is not None
        }


def test_a_map_is_judged_by_the_rows(folder, board):
    standings = {each.method: each for each in at_columns(board).standings}
    assert standings["QMC"].verdict == "better"
    assert standings["SRHT"].verdict == "worse"
    assert standings["QMC"].on["eeg"] == pytest.approx(0.8, rel=0.02)
    assert standings["QMC"].on["kin8nm"] == pytest.approx(np.sqrt(0.8), rel=0.02)
    said = html.read((folder / "index.html").read_text()).one("p", class_="said").text
    assert said.startswith("1 of 2 maps is better than random Fourier features with as many columns: QMC. ")
    assert said.endswith("For the same seconds, none is.")
    said = html.read((folder / "maps" / "qmc.html").read_text()).one("p", class_="said").text
    assert said.startswith(
        "QMC is better than random Fourier features with as many columns; for the same seconds it is "
    )
    said = html.read((folder / "datasets" / "eeg.html").read_text()).one("p", class_="said").text
    assert said == "On eeg, QMC has the smallest test error with 512 columns, and all of 2 other maps a larger one."


def test_ratios_are_told_apart_from_one_or_not():
    found = told_apart({"less": [0.9, 0.91, 0.89], "more": [1.1, 1.11, 1.09], "noise": [0.9, 1.1, 1.0], "one": [0.5]})
    assert found == {"less": BETTER, "more": WORSE, "noise": ALIKE, "one": ALIKE}


def test_a_map_s_page_has_its_code_and_its_paper_s_claims(folder):
    page = html.read((folder / "maps" / "qmc.html").read_text())
    assert "class QuasiMonteCarloFeatures" in page.one("details").text
    assert "Avron" in page.text
    every = papers()
    held = {claim.verdict for *_, claim in claims_on("surrogate-leverage", every)}
    assert held == {"holds", "does not hold", "not enough evidence"}


# ---- Its files of numbers --------------------------------------------------------------------------------------------


def test_all_trials_are_there_as_csv(folder, board):
    rows = list(csv.DictReader(io.StringIO((folder / "data" / "board.csv").read_text())))
    assert len(rows) == len(board.rows)
    assert [*rows[0]] == ["dataset", "metric", "method", "columns", "trial", "error", "failed", "seconds_ratio",
                          "memory_ratio"]  # fmt: skip
    (first,) = [row for row in rows if (row["dataset"], row["method"], row["columns"], row["trial"])
                == ("kin8nm", "QMC", "512", "1")]  # fmt: skip
    loss = board.rows.query("dataset == 'kin8nm' and method == 'QMC' and n_features == 512 and trial == 1")[
        "loss"
    ].item()
    assert float(first["error"]) == pytest.approx(np.sqrt(loss))


def test_what_bencheval_reads_is_dense_and_a_failure_has_the_constant_s_error(board):
    rows = board.rows.copy()
    lost = (rows["dataset"] == "eeg") & (rows["method"] == "QMC") & (rows["n_features"] == 512) & (rows["trial"] == 0)
    rows.loc[lost, ["loss", "failed"]] = [np.nan, True]
    rows = rows[~((rows["method"] == "SRHT") & (rows["trial"] == 2))]
    part = Part(board.name, board.title, rows, board.config, board.maps)
    found = bencheval(part, 512)
    assert [*found] == ["method", "task", "seed", "metric_error", "time_ratio"]
    assert set(found["method"]) == {"RFF", "QMC"}  # SRHT lacks a seed, linear has no columns
    assert not found.duplicated(["method", "task", "seed"]).any()
    assert len(found) == 2 * len(DATASETS) * 3
    failed = found.query("method == 'QMC' and task == 'eeg' and seed == 0")["metric_error"].item()
    assert failed == pytest.approx(0.447, abs=0.01)  # the share of the rarer class


# ---- Own results -----------------------------------------------------------------------------------------------------


def own(folder, datasets=("eeg",), methods=("RFF", "QMC"), **changes):
    rows = [
        log.ok(log.spec(dataset=name, method=method, n_features=512, multiple=None, trial=trial),
               70.0 + 4 * (method == "QMC") + trial)
        for name in datasets for method in methods for trial in range(3)
    ]  # fmt: skip
    chosen = {name: log.METHODS[name] for name in methods}
    changes = {"datasets": list(datasets), "methods": chosen, "n_features": [512], **changes}
    return log.write(folder, log.config(name=folder.name, **changes), rows)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_every_point_of_a_figure_is_between_its_axes():
    ratios = {f"set {number}": ratio for number, ratio in enumerate([0.05, *[1.0] * 98, 40.0])}
    rows = [
        {"dataset": name, "ratio": ratio, "low": 0.9 * ratio, "high": 1.1 * ratio, "verdict": "not told apart"}
        for name, ratio in ratios.items()
    ]
    maps = [Standing(f"map {ratio}", ratio, 0.9 * ratio, 1.1 * ratio, ratios, None) for ratio in (0.05, 1.0, 40.0)]
    for figure, points in ((figures.by_dataset(rows, "RFF"), len(rows)), (figures.strips(maps, "RFF"), len(maps))):
        found = re.findall(r'aria-roledescription="point" transform="translate\(([-.\d]+),', figure)
        places = [float(place) for place in found]
        assert len(places) == points
        assert 0 <= min(places) < max(places) <= figures.WIDTH


@pytest.mark.slow
def test_own_results_of_one_dataset_are_shown_and_nothing_is_said_of_others(tmp_path):
    place = own(tmp_path / "mine")
    write_site(tmp_path / "site", [place])
    text = (tmp_path / "site" / "index.html").read_text()
    assert "1 dataset cannot tell how that is on others" in text
    assert "another protocol than the board" in text
    assert "own-mine" in {row["board"] for row in packed(tmp_path / "site")}
    page = html.read((tmp_path / "site" / "maps" / "own-mine-qmc.html").read_text())
    assert "yours" in page.text
    head = (tmp_path / "site" / "data" / "own-mine-bencheval-512.csv").read_text().splitlines()[0]
    assert head == "method,task,seed,metric_error,time_train_s,time_infer_s"


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_own_results_without_random_fourier_features_say_so(tmp_path):
    write_site(tmp_path / "site", [own(tmp_path / "mine", methods=("QMC",))])
    assert "There are no random Fourier features among these results" in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_hostile_names_stay_text(tmp_path):
    hostile = pages_of_report.write_hostile(tmp_path / "hostile")
    write_site(tmp_path / "site", [hostile])
    for path, page in pages(tmp_path / "site").items():
        assert {each.tag for each in page.all()}.isdisjoint({"b", "iframe"}), path
        assert not [each for each in page.all("script") if "alert" in each.text], path
        assert "\x1b" not in path.read_text()
        assert "\u202e" not in path.read_text()
    assert all("/" not in row["map"][1] and ".." not in row["map"][1] for row in packed(tmp_path / "site"))


def test_own_losses_are_those_of_the_trials(tmp_path):
    (part,) = own_parts([own(tmp_path / "mine")])
    assert part.rows.query("method == 'QMC'")["loss"].tolist() == pytest.approx([0.26, 0.25, 0.24])


@pytest.mark.usefixtures("few")
def test_own_results_that_cannot_be_shown_are_refused(tmp_path):
    with pytest.raises(ResultsError, match="no such results folder"):
        write_site(tmp_path / "site", [tmp_path / "nowhere"])
    first, second = own(tmp_path / "a" / "mine"), own(tmp_path / "b" / "mine")
    with pytest.raises(ResultsError, match="another experiment on the site is called mine"):
        write_site(tmp_path / "site", [first, second])
    assert not (tmp_path / "site").exists()


# ---- Its folder ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty, and no site that rffbench wrote"):
        write_site(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ConfigError, match="is a file"):
        write_site(tmp_path / "thesis.tex")


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_kept_version_stays_and_stale_pages_go(tmp_path, monkeypatch):
    place = tmp_path / "site"
    monkeypatch.setattr(site_module, "git_commit", lambda: "a" * 40)
    written = write_site(place, [own(tmp_path / "mine")], keep=True)
    assert written.kept == place / "versions" / site_module.__version__
    assert (place / "maps" / "own-mine-qmc.html").exists()
    monkeypatch.setattr(site_module, "git_commit", lambda: "b" * 40)
    write_site(place)
    assert not (place / "maps" / "own-mine-qmc.html").exists()
    assert (written.kept / "maps" / "own-mine-qmc.html").exists()
    assert f"versions/{site_module.__version__}/index.html" in (place / "versions.html").read_text()
    assert "a" * 40 in (place / "versions.html").read_text()
    with pytest.raises(ConfigError, match="a kept version does not change"):
        write_site(place, keep=True)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_the_command_says_what_it_wrote(tmp_path):
    result = CliRunner().invoke(cli, ["site", str(tmp_path / "site")], standalone_mode=False)
    assert result.return_value == 0
    assert result.output == f"wrote {tmp_path / 'site' / 'index.html'}: 14 pages\n"
