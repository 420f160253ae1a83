"""Format 1 of a results folder, and its rewriting as format 2; nothing else reads format 1.

What format 1 does differently:

- A row lacks what is implied: fields of the spec that came after the first release and have their default, parameters
  of maps that nobody gave, parameters of solvers that are null, false or 0. Some maps have another default since.
- A variant of the leverage maps is called ``as-released``, now ``reweighted``. Reports called two methods of shipped
  configs by other labels than rows and configs do.
- ``timing_mode`` is called ``exclusive``, with the values false, true and ``features``.
- config.yaml lacks the same.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import shutil
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from rffbench.config.experiment import Experiment
from rffbench.errors import ConfigError, ResultsError, unreadable
from rffbench.execution.folders import FolderLock
from rffbench.execution.log import ASIDE, json_lines, log_files
from rffbench.execution.manifest import FORMAT, format_of, write_whole
from rffbench.execution.row import Row, check_row, line_of
from rffbench.features import MAPS, known_defaults
from rffbench.io import files, yamlfile
from rffbench.io.resources import shipped_configs
from rffbench.io.text import canonical_json
from rffbench.plugins.later import LEFT_OUT, in_rows
from rffbench.plugins.registry import NONE
from rffbench.solvers import SOLVERS
from rffbench.trials.spec import FIELDS, key_of

# The fields of a spec in a row: those of the first release, and later ones, each with what a row without it means.
_FIRST: dict[str, Any] = {
    "preprocess": ["none"], "preprocess_fit": "train", "multiple": None, "count": "frequencies", "dtype": "float64",
    "device": "cpu", "kernel_error_points": 1000, "exclusive": False,
}  # fmt: skip
_LATER: dict[str, Any] = {
    "measures": ["kernel_error"], "train_rows": None, "held_out": None, "split": None, "kernel_error_rows": "train",
    "parameters_from": None, "parameters_hash": None, "target": "given", "kernel_error_draw": "random",
    "source": None, "kernel_source": None, "scores": [], "score_sources": [], "flaws": [],
}  # fmt: skip
_GIVEN = ("dataset", "data_hash", "method", "n_features", "trial", "seed", "features", "solver", "kernel")
_MODES = {False: "shared", True: "exclusive", "features": "features"}

_MEANT: dict[str, dict[str, Any]] = {
    "sorf": {"lengths": "fixed"},
    "tefm": {"sketch": "gaussian"},
    "gauss-hermite": {"points": 3},
}
"""Parameters of maps that have another default now, and what they were without."""
_LEVERAGE = ("leverage", "surrogate-leverage")


@dataclass(frozen=True)
class Migrated:
    """``rows`` of a ``folder`` were rewritten; ``former`` is the folder as it was."""

    folder: Path
    rows: int
    former: Path


def migrate(folder: Path) -> Migrated | None:
    """Rewrite one experiment's folder in format 2: a copy takes its place in one step, and the former folder is kept
    under another name. None if the folder has format 2.

    ResultsError, which names file and line, for what can't be mapped; the folder is then as it was.
    """
    folder = folder.resolve()
    if format_of(folder) == FORMAT:
        return None
    copy = folder.with_name(f".{folder.name}.migrating")
    try:
        with FolderLock(folder):
            shutil.rmtree(copy, ignore_errors=True)  # of a run that was killed
            try:
                rows = _Copy(folder, copy).write()
                stamp = datetime.now().strftime("%Y%m%dT%H%M%S")
                former = files.free(folder.with_name(f"{folder.name}.old-{stamp}"))
                files.put_in_place(copy, folder, former)
            except BaseException:
                shutil.rmtree(copy, ignore_errors=True)
                raise
        (former / ".lock").unlink(missing_ok=True)
        return Migrated(folder, rows, former)
    except OSError as error:
        raise ResultsError(unreadable(Path(error.filename or folder), error)) from None


@dataclass(frozen=True)
class _Copy:
    """The copy in format 2 of a folder in format 1."""

    folder: Path
    copy: Path

    def write(self) -> int:
        """Make the copy. Returns its number of rows."""
        config = self.config
        shutil.copytree(self.folder, self.copy, ignore=shutil.ignore_patterns(".lock"))
        logs = log_files(self.folder)
        count = 0
        for file in [*logs, *(each for each in [self.folder / ASIDE] if each.exists())]:
            lines = [line_of(row) for row in self._rows(file, edited=file.name == ASIDE)]
            content = b"".join(lines)
            packed = file.suffix == ".xz"
            files.replace(self.copy / file.name, lzma.compress(content, preset=9) if packed else content)
            count += len(lines) if file in logs else 0
        if config:
            try:
                write_whole(self.copy / "config.yaml", yamlfile.dump(self._config(config)))
            except (ValueError, ConfigError) as error:
                raise ResultsError(f"{self.folder / 'config.yaml'}: {error}; nothing was changed") from None
        self._write_manifest()
        return count

    @cached_property
    def config(self) -> dict[str, Any]:
        """The folder's config.yaml as it is; empty without one."""
        path = self.folder / "config.yaml"
        if not path.exists():
            return {}
        try:
            config = yamlfile.read(path)
        except ConfigError as error:
            raise ResultsError(str(error)) from None
        if not isinstance(config, dict) or not isinstance(config.get("methods"), dict):
            raise ResultsError(f"{path}: not an experiment: it must have datasets and methods")
        return config

    @cached_property
    def _new_labels(self) -> set[str]:
        """The labels of the shipped config of this name, if there is one."""
        name = str(self.config.get("name"))
        return set(_labels(yamlfile.read(shipped_configs()[name]))) if name in shipped_configs() else set()

    def _label(self, label: str, features: Mapping[str, Any]) -> str:
        """The label of a method with these ``features`` of format 1: as given; in the folder of a shipped config, the
        label that the config has now."""
        if label in self._new_labels:
            return label
        shown = label
        if features.get("name") in _LEVERAGE and features.get("variant") in ("as-released", "reweighted"):
            shown = re.sub(r"\breleased\b", "reweighted", shown)
        if features.get("name") == "surrogate-leverage":
            shown = re.sub(r"^Ours(?![\w-])", "surrogate-RFF", shown)
        return shown if shown in self._new_labels else label

    # ---- Rows ----

    def _rows(self, file: Path, *, edited: bool) -> Iterator[Row]:
        """The rows of a log in format 2. ResultsError for a row that can't be mapped; one that was ``edited`` is
        taken as it is."""
        for number, row in json_lines(file):
            try:
                yield self._row(row, edited)
            except (ValueError, ConfigError) as error:
                place = ""
                if isinstance(row, dict):
                    named = (row.get(each) for each in ("dataset", "method", "n_features", "trial"))
                    place = "{} {} at {}, trial {}: ".format(*named)
                raise ResultsError(f"{file}, line {number}: {place}{error}; nothing was changed") from None

    def _row(self, row: Any, edited: bool) -> Row:
        if not isinstance(row, dict) or (missing := [name for name in _GIVEN if name not in row]):
            raise ValueError("not a trial" if not isinstance(row, dict) else f"it lacks {', '.join(missing)}")
        before = {**_FIRST, **{name: row[name] for name in (*_GIVEN, *_FIRST, *_LATER) if name in row}}
        stated = {name: value for name, value in before.items() if name not in _LATER or value != _LATER[name]}
        if not edited and hashlib.sha256(canonical_json(stated).encode()).hexdigest() != row.get("key"):
            raise ValueError("its key is not that of its fields, so that the row was edited; put it back as it was")
        if (exclusive := before.pop("exclusive")) not in _MODES:
            raise ValueError(f"exclusive must be true, false or features, not {exclusive!r}")
        spec = deepcopy(_LATER) | before | {
            "method": self._label(row["method"], row["features"]),
            "features": in_rows(_features(row["features"])),
            "solver": in_rows(_solver(row["solver"])),
            "kernel": _kernel(row["kernel"]),
            "timing_mode": _MODES[exclusive],
        }  # fmt: skip
        rest = {name: value for name, value in row.items() if name not in (*before, "key", "status", "exclusive")}
        found = {"key": "", "status": row.get("status"), **{name: spec[name] for name in FIELDS}, **rest}
        check_row(found)
        return {**found, "key": key_of(found)}

    # ---- Config and manifest ----

    def _config(self, config: dict[str, Any]) -> dict[str, Any]:
        labels = {
            str(label): self._label(str(label), {**own, "name": own.get("features")})
            for label, own in _methods(config)
        }  # fmt: skip
        found = deepcopy(_LATER_SETTINGS) | _relabelled(config, labels, config["methods"])
        found["methods"] = {label: _method(own) for label, own in found["methods"].items()}
        for name in ("solver", "kernel"):
            if isinstance(found.get(name), dict):
                found[name] = (_solver if name == "solver" else _kernel)(found[name])
        order = {name: place for place, name in enumerate(Experiment.model_fields)}
        return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))

    def _write_manifest(self) -> None:
        path = self.copy / "manifest.json"
        try:
            manifest = json.loads(files.read_regular(path))
        except FileNotFoundError:
            return
        except ValueError as error:
            raise ResultsError(f"{self.folder / path.name}: is not the manifest of a run ({error})") from None
        for run in (manifest, *manifest.get("earlier_runs", [])):
            run["format"] = FORMAT
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        write_whole(path, text + "\n")


_LATER_SETTINGS: dict[str, Any] = {
    **{name: default for name, default in _LATER.items() if name in Experiment.model_fields},
    **{name: Experiment.model_fields[name].default for name in ("figures", "table")},
}
"""The settings that a config of format 1 lacks if they have their default."""


def _features(given: Mapping[str, Any]) -> dict[str, Any]:
    """A map and its parameters, with those that were implied. ValueError for a parameter that the map does not have."""
    name = given.get("name")
    if not isinstance(name, str):
        raise ValueError(f"features must have a name, not {given!r}")
    if name == NONE or MAPS.is_foreign(name):
        return dict(given)
    MAPS.check_names(name, [key for key in given if key != "name"])
    meant = {**known_defaults(name), **LEFT_OUT.get(name, {}), **_MEANT.get(name, {})}
    found = {"name": name} | meant | dict(given)
    if name in _LEVERAGE and found["variant"] == "as-released":
        found["variant"] = "reweighted"
    return found


def _solver(given: Mapping[str, Any]) -> dict[str, Any]:
    """A solver and its parameters, with those that were implied: those whose default is null, false or 0."""
    name = given.get("name")
    if not isinstance(name, str):
        raise ValueError(f"solver must have a name, not {given!r}")
    if name == NONE:
        return dict(given)
    SOLVERS.check_names(name, [key for key in given if key != "name"])
    defaults = SOLVERS.defaults(name)
    if missing := [key for key, default in defaults.items() if default and key not in given]:
        raise ValueError(f"solver {name} has no {missing[0]} there, and it isn't known what it was")
    return {"name": name} | defaults | LEFT_OUT.get(name, {}) | dict(given)


def _kernel(given: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel as it is. ValueError if its bandwidth is chosen with a map whose parameters have other defaults now."""
    gamma = given.get("gamma")
    if isinstance(gamma, dict) and gamma.get("features") in _MEANT:
        raise ValueError(f"its bandwidth was chosen by {gamma['features']}, whose default is another now")
    return dict(given)


def _method(own: dict[str, Any]) -> dict[str, Any]:
    """A method of a config, with the parameters that were implied."""
    from rffbench.config.grid import OF_METHOD

    given = {key: value for key, value in own.items() if key not in OF_METHOD}
    parameters = {key: value for key, value in _features({"name": own.get("features"), **given}).items()
                  if key != "name"}  # fmt: skip
    solver = {"solver": _solver(own["solver"])} if isinstance(own.get("solver"), dict) else {}
    others = {key: value for key, value in own.items() if key in OF_METHOD and key != "features"}
    return {"features": own.get("features"), **parameters, **others, **solver}


def _methods(config: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The methods of a config and of the labels of its sweep; a label's changes are laid over the config's method."""
    methods = config.get("methods") or {}
    yield from methods.items()
    for patch in _patches(config):
        for label, own in (patch.get("methods") or {}).items():
            yield label, {**methods.get(label, {}), **own}


def _patches(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for labels in (config.get("sweep") or {}).values():
        yield from (patch for patch in labels.values() if isinstance(patch, dict)) if isinstance(labels, dict) else ()


def _labels(config: Any) -> list[str]:
    return [label for label, _ in _methods(config)]


def _relabelled(
    config: Mapping[str, Any], labels: Mapping[str, str], base: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A config, or the changes of a sweep's label, with new labels of methods and the new name of the variant. ``base``
    are the config's methods, of which the changes need not name the map."""
    found: dict[str, Any] = deepcopy(dict(config))
    if isinstance(methods := found.get("methods"), dict):
        for label, own in methods.items():
            name = own.get("features", base.get(label, {}).get("features"))
            if name in _LEVERAGE and own.get("variant") == "as-released":
                own["variant"] = "reweighted"
        found["methods"] = {labels.get(label, label): own for label, own in methods.items()}
    if isinstance(significance := found.get("significance"), dict) and significance.get("baselines"):
        significance["baselines"] = [labels.get(label, label) for label in significance["baselines"]]
    if isinstance(sweep := found.get("sweep"), dict):
        found["sweep"] = {
            axis: {label: _relabelled(patch, labels, base) for label, patch in each.items()}
            for axis, each in sweep.items()
        }
    return found
