"""Figures are drawn whatever the environment says of matplotlib; where they cannot be, all else is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow  # each starts Python with matplotlib

CONFIG = "name: n\ndatasets: [digits]\nn_features: [8, 16]\nmethods: {RFF: {features: fourier}, QMC: {features: qmc}}\n"


@pytest.fixture(scope="module")
def measured(rffbench_in, tmp_path_factory):
    """The results of a run, and what its figures are where nothing is set."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "c.yaml").write_text(CONFIG + "trials: 2\n")
    done = rffbench_in(folder, "run", "c.yaml", "--workers", 1)
    assert done.returncode == 0, done.stderr
    return folder / "results" / "n"


def drawn(measured, tmp_path, environment, *command, **variables):
    """What a new process says that draws the figures anew, in a folder of its own."""
    results = tmp_path / "n"
    for path in ("trials.jsonl", "config.yaml", "manifest.json"):
        results.mkdir(exist_ok=True)
        (results / path).write_bytes((measured / path).read_bytes())
    command = command or ("-m", "rffbench", "plot", "n")
    environment = {key: value for key, value in environment.items() if not key.startswith("MPL")}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env={**environment, **variables}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done, results


def from_python(folder):
    return ("-c", f"import rffbench; rffbench.load({str(folder)!r}).plot()")


BROKEN = b"font.size: \xff\xfe\n"
ODD = b"""nonsense
font.size: foo
font.family: Nowhere Sans
backend: module://nowhere
text.usetex: True
savefig.format: xyz
savefig.facecolor: red
axes.prop_cycle: cycler('color', ['red'])
"""


@pytest.mark.parametrize(
    ("surroundings", "way"),
    [
        ("odd", "python"),
        ("inline", "command"), ("inline", "python"), ("no backend", "python"), ("odd", "command"),
        ("not text", "python"), ("not text, here", "command"), ("a pipe", "command"),
        ("no cache folder", "command"), ("broken fonts", "python"),
    ],
)  # fmt: skip
def test_figures_are_the_same_whatever_the_environment_says_of_matplotlib(
    measured, tmp_path, environment, surroundings, way
):
    variables = {}
    if surroundings in ("inline", "no backend"):
        inline = surroundings == "inline"
        variables["MPLBACKEND"] = "module://matplotlib_inline.backend_inline_nowhere" if inline else "nonsense"
    elif surroundings == "no cache folder":
        variables = {"MPLCONFIGDIR": "/proc/nowhere", "HOME": "/proc/nowhere"}
    elif surroundings == "broken fonts":
        from matplotlib.font_manager import FontManager

        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / f"fontlist-v{FontManager.__version__}.json").write_text('{"_version')
        variables["MPLCONFIGDIR"] = str(tmp_path / "cache")
    elif surroundings == "not text, here":
        (tmp_path / "matplotlibrc").write_bytes(BROKEN)
    else:
        variables["MATPLOTLIBRC"] = str(tmp_path / "settings")
        if surroundings == "a pipe":
            os.mkfifo(tmp_path / "settings")
        else:
            (tmp_path / "settings").write_bytes(ODD if surroundings == "odd" else BROKEN)
    command = from_python(tmp_path / "n") if way == "python" else ()
    done, results = drawn(measured, tmp_path, environment, *command, **variables)
    assert done.returncode == 0, done.stderr
    assert (results / "figures" / "digits.png").read_bytes() == (measured / "figures" / "digits.png").read_bytes()
    assert (results / "table.md").read_bytes() == (measured / "table.md").read_bytes()
    if surroundings == "no cache folder":
        assert done.stderr == ""


def test_a_notebook_s_own_backend_stays_as_it_is(tmp_path, environment):
    code = "import rffbench.report.figures, matplotlib; print(matplotlib.get_backend(auto_select=False))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "MPLBACKEND": "svg"}, capture_output=True, text=True
    )
    assert done.stdout == "svg\n", done.stderr


NO_MATPLOTLIB = {
    "none": ("matplotlib/__init__.py", "raise ImportError('libfreetype.so.6: cannot open shared object file')"),
    "none that draws": ("sitecustomize.py", "import matplotlib.figure\n"
                        "def savefig(*_, **__): raise ValueError('Failed to find font DejaVu Sans')\n"
                        "matplotlib.figure.Figure.savefig = savefig"),
}  # fmt: skip


@pytest.mark.parametrize("what", ["none", "none that draws"])
def test_where_nothing_can_be_drawn_tables_are_written_and_the_run_says_so(measured, tmp_path, environment, what):
    path, code = NO_MATPLOTLIB[what]
    shadow = tmp_path / "shadow" / path
    shadow.parent.mkdir(parents=True)
    shadow.write_text(code + "\n")
    path = f"{tmp_path / 'shadow'}{os.pathsep}{ROOT}"
    (tmp_path / "c.yaml").write_text(CONFIG + "trials: 3\n")
    run = ("-m", "rffbench", "run", "c.yaml", "--executor", "serial", "--results", ".")
    done, results = drawn(measured, tmp_path, environment, *run, PYTHONPATH=path)
    assert done.returncode == 1
    assert "error: no figure can be drawn" in done.stderr
    assert "12 trials ok" in done.stderr
    assert "RFF" in done.stdout
    assert {"table.md", "table.csv", "summary.csv"} <= {each.name for each in results.iterdir()}
