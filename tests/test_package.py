"""What is installed has all that a run needs; a release changes what says its version, and nothing else."""

import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import rffbench
from rffbench.execution.log import latest, read_rows
from scripts import release, versions

ROOT = Path(__file__).parents[1]
SHIPPED = {  # in the repository, in the wheel
    "configs": "rffbench/configs",
    "datasets": "rffbench/datasets",
    "rffbench": "rffbench",
}


def tracked():
    listed = subprocess.run(["git", "ls-files", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_the_wheel_runs_the_quickstart_in_an_environment_of_its_own_outside_of_the_repository(tmp_path, environment):
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)  # the sdist, and the wheel from it
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert {*tracked(), "CITATION.cff", "CHANGELOG.md", "LICENSE", "README.md"} <= inside
    with zipfile.ZipFile(wheel) as packed:
        installed = set(packed.namelist())
    assert {f"{SHIPPED[path.partition('/')[0]]}/{path.partition('/')[2]}" for path in tracked()} <= installed

    home = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True)
    (packages,) = home.glob("lib/*/site-packages")  # the dependencies are those of this environment
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    own = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    where = tmp_path / "work"
    where.mkdir()

    def said(*command):
        return subprocess.run(command, cwd=where, env=own, check=True, capture_output=True, text=True).stdout

    assert Path(said(python, "-c", "import rffbench; print(rffbench.__file__)").strip()).is_relative_to(home)
    said(python.with_name("rffbench"), "run", "quickstart", "--only", "trial=0")
    rows = latest(read_rows(where / "results" / "quickstart" / "trials.jsonl"))
    expected = [row for row in latest(read_rows(versions.RECORDED)) if row["trial"] == 0]
    assert versions.report(rows, expected) == 0
    assert "eeg" in said(python.with_name("rffbench"), "datasets", "list")


def test_trials_that_come_out_differently_elsewhere_are_found(capsys):
    recorded = latest(read_rows(versions.RECORDED))
    assert versions.report(recorded, recorded) == 0
    for change in ({"lambda": 9.0}, {"metrics": {"accuracy": 50.0}}, {"status": "error"}):
        assert versions.report([recorded[0] | change, *recorded[1:]], recorded) == 1
        assert f"differs: digits RFF 16 {recorded[0]['trial']}" in capsys.readouterr().out
    one_row = recorded[0]["metrics"]["accuracy"] + 100 / 899
    assert versions.report([recorded[0] | {"metrics": {"accuracy": one_row}}, *recorded[1:]], recorded) == 0


def test_every_python_that_is_supported_is_tried_and_passed_over_with_a_reason_where_it_cannot_be_had(
    monkeypatch, capsys, tmp_path
):
    assert {*versions.supported(), versions.CURRENT} == set(versions.supported()) == {"3.11", "3.12", "3.13"}
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert versions.elsewhere("3.12") == 0
    assert capsys.readouterr().out == "Python 3.12: passed over, it is not here\n"

    here = tmp_path / "python3.12"
    here.write_text("#!/bin/sh\necho Python 3.12.1\n")
    here.chmod(0o755)
    assert versions.found("3.12") == here
    told = subprocess.CalledProcessError(2, "uv", stderr="error: no index\n")
    for error in (told, subprocess.TimeoutExpired("uv", 1), SystemExit("needs uv")):
        monkeypatch.setattr(versions, "installed", raising(error))
        assert versions.elsewhere("3.12") == 0
        assert "passed over, the package cannot be installed there: " in capsys.readouterr().out
    monkeypatch.setattr(versions, "installed", lambda *_, **__: here)
    monkeypatch.setattr(versions, "quickstart", raising(told))
    assert versions.elsewhere("3.12") == 1
    assert "the quickstart fails: error: no index" in capsys.readouterr().out
    recorded = latest(read_rows(versions.RECORDED))
    monkeypatch.setattr(versions, "quickstart", lambda *_: [recorded[0] | {"lambda": 9.0}, *recorded[1:]])
    assert versions.elsewhere("3.12") == 1


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


def test_the_citation_is_of_this_version_and_has_what_citation_cff_asks_for():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["version"] == rffbench.__version__
    assert [author["name"] for author in citation["authors"]] == ["The rffbench maintainers"]


def test_the_workflow_runs_all_checks_under_every_python_that_is_supported():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    checks = workflow["jobs"]["checks"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    pythons = [each.rpartition(" ")[2] for each in classifiers if "Python :: 3." in each]
    assert checks["strategy"]["matrix"]["python"] == pythons
    assert checks["steps"][-1] == {"run": ".ci/run"}


def test_a_release_writes_its_version_and_dates_its_changes():
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in release.EDITS}
    # A release runs this test, too, when nothing is left under the heading.
    texts["CHANGELOG.md"] = texts["CHANGELOG.md"].replace("## [Unreleased]\n", "## [Unreleased]\n\n- Faster.\n", 1)
    edited = {name: edit(texts[name], "9.8.7", "2030-01-02") for name, edit in release.EDITS.items()}
    assert '__version__ = "9.8.7"\n' in edited["rffbench/__init__.py"]
    citation = yaml.safe_load(edited["CITATION.cff"])
    assert (citation["version"], str(citation["date-released"])) == ("9.8.7", "2030-01-02")
    again = yaml.safe_load(release.of_citation(edited["CITATION.cff"], "9.9.0", "2031-01-01"))
    assert (again["version"], str(again["date-released"])) == ("9.9.0", "2031-01-01")
    before, after = texts["CHANGELOG.md"], edited["CHANGELOG.md"]
    assert after.replace("\n## [9.8.7] - 2030-01-02\n", "", 1) == before
    assert after.index("## [Unreleased]") < after.index("## [9.8.7]")
    with pytest.raises(SystemExit, match="says nothing"):  # all is dated now
        release.of_changelog(after, "9.9.0", "2031-01-01")


def test_every_optional_library_is_in_no_way_required():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = "\n".join(project["dependencies"])
    for extra in ("svm", "cuda", "dask", "slurm", "report", "docs"):
        for requirement in project["optional-dependencies"][extra]:
            assert requirement.partition(">=")[0] not in required
