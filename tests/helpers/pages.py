"""Results folders for the tests of the page, and a server of one."""

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from rffbench.config.experiment import Experiment
from rffbench.config.grid import Grid
from rffbench.report.page.server import make_server
from rffbench.trials.spec import TrialResult
from tests.helpers import report_log as log

SCORES = {
    "RFF": (70.0, 71.0, 72.0),
    "QMC": (69.0, 70.5, 71.0),
    "leverage-RFF": (70.5, 72.0, 72.5),
    "surrogate-RFF": (74, 75, 76),
}
SIZES = (1, 2, 4)  # multiples of d

HOSTILE = ("<script>alert(1)</script>", "../../etc/passwd", r"\input{/etc/passwd}", "\x1b[31m\u202ered",
           '"><b onclick=x>', "{{ 7 * 7 }}", "</script><!--", "a b#c%20", "two  blanks")  # fmt: skip


def rows(sizes=SIZES, trials=3, gain=2.0):
    """Trials of every method on eeg, each size better than the one before."""
    return [
        log.ok(log.spec("eeg", method, multiple, trial), SCORES[method][trial] + gain * i,
               feature_s=0.01 * multiple * (1 + list(SCORES).index(method)))
        for i, multiple in enumerate(sizes) for method in SCORES for trial in range(trials)
    ]  # fmt: skip


def write(folder, changed_rows=None, manifest=None, **changes):
    """A results folder, with what a run records of the machine."""
    config = log.config(**{"name": folder.name, "n_features": ["1d", "2d", "4d"], **changes})
    log.write(folder, config, rows() if changed_rows is None else changed_rows)
    record = {
        "format": 2, "experiment": folder.name, "rffbench": "0.1.0", "python": "3.11.7", "packages": {"numpy": "2.0"},
        "cpu": "A CPU", "processors": 2, "processors_total": 4, "memory_bytes": 8 * 10**9, "git_commit": "a" * 40,
        "workers": 2, "executor": "local",
        "started": "2026-01-01T10:00:00+00:00", "finished": "2026-01-01T11:00:00+00:00",
        "statuses": {"ok": 36}, "earlier_runs": [], **(manifest or {}),
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(record))
    return folder


def write_hostile(folder):
    """A results folder whose every name is an attempt at something."""
    methods = {name: {"features": "fourier"} for name in HOSTILE}
    made = []
    for method in HOSTILE:
        for trial in range(2):
            made.append(log.ok(log.spec(trial=trial), 70.0 + trial) | {"method": method, "dataset": HOSTILE[0]})
        bad = log.lost(log.spec(trial=2), "error") | {"method": method, "dataset": HOSTILE[0]}
        made.append(bad | {"error": {"type": "Lost", "message": f"lost {method}", "traceback": ""}})
    return write(folder, made, datasets=[HOSTILE[0]], n_features=["1d"], methods=methods, title=HOSTILE[0])


def write_sweep(folder, protocols, **changes):
    """A sweep over penalties, of two methods at one size."""
    sweep = {"penalty": {f"λ = {i + 1}": {"solver": {**log.SOLVER, "lambda": [i + 1.0]}} for i in range(protocols)}}
    methods = {name: log.METHODS[name] for name in ("RFF", "QMC")}
    experiment = Experiment.model_validate(
        log.config(name=folder.name, sweep=sweep, trials=2, methods=methods, **changes)
    )
    rows = [log.ok(spec, 70.0 + spec.trial + spec.solver["lambda"][0]) for spec in experiment.grid()]
    return log.write(folder, experiment.to_dict(), rows)


def write_running(folder, trials=1, only=()):
    """An experiment of one method at two sizes under way: its first ``trials`` trials are done, of what ``only``
    chooses, two minutes after its start."""
    methods = {"RFF": {"features": "fourier"}}
    config = log.config(name=folder.name, datasets=["digits"], n_features=[16, 32], methods=methods, trials=2)
    log.write(folder, config, [])
    timing = {"feature_s": 0.1, "fit_s": 0.1, "predict_s": 0.1, "contended": False}
    rows = [TrialResult(spec, "ok", {"accuracy": 90.0}, timing, 10**9, 0.05).to_row() for spec in Grid(config).specs()]
    log.write(folder, config, rows[:trials])
    started = (datetime.now(UTC) - timedelta(seconds=120)).isoformat(timespec="seconds")
    manifest = {"format": 2, "rffbench": "0.1.0", "started": started, "finished": None, "only": list(only)}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / ".lock").write_text("process 7 on here")
    return folder


@contextmanager
def served(place):
    with make_server(place) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
