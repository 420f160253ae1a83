"""The rules for a row of trials.jsonl. They are checked for every result and again when a log is read, so no written
row makes a folder unreadable."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from rffbench.trials.spec import FIELDS, Status, TrialSpec, key_of

Row: TypeAlias = dict[str, Any]

KINDS = {
    "key": str,
    "status": str,
    "dataset": str,
    "method": str,
    "n_features": int,
    "trial": int,
    "data_hash": str,
    "features": dict,
    "solver": dict,
    "kernel": dict,
    "preprocess": list,
    "measures": list,
    "scores": list,
    "score_sources": list,
    "flaws": list,
    "kernel_error_points": int,
    "metrics": dict,
    "timing": dict,
}
OPTIONAL = {  # may be null, or missing if no field of the spec
    "multiple": int,
    "train_rows": int,
    "split": dict,
    "parameters_from": str,
    "parameters_hash": str,
    "source": str,
    "kernel_source": str,
    "made_by": dict,
    "rffbench": str,
    "finished": str,
    "peak_memory_bytes": int,
    "error": dict,
    "curves": dict,
    "own_metrics": dict,
    "warnings": list,
    "solved": dict,
    "edges": dict,
    "columns": int,
}
REQUIRED = KINDS.keys() | {*FIELDS}
WHOLE = tuple(name for name, kind in (KINDS | OPTIONAL).items() if kind is int)
MOST = 2**63 - 1  # of whole numbers: a table keeps them in 64 bits
PARTS = ("features", "solver", "kernel")  # mappings with a name
TEXTS = ("preprocess", "measures", "scores", "score_sources", "flaws", "warnings")  # lists of texts
CHOICES = {name: get_args(hint) for name, hint in get_type_hints(TrialSpec).items() if get_origin(hint) is Literal}
CHOICES["timing_mode"] = CHOICES.pop("timing")  # the timing of a row is its seconds
BY_PART = ("repeats", "spread")  # the entries of timing that are mappings
PLACE = ("dataset", "n_features", "method", "multiple", "trial")  # the columns beside a curve's points
LARGEST = 1e150  # of measured numbers: the square must be finite too, for the standard deviation
LONGEST = 64_000_000  # bytes of a row's line in a log that is read
LONGEST_RESULT = LONGEST // 2  # bytes of a trial's result; the log adds a little to it
BETTER = ("greater", "less", None)  # directions of a metric
STATUSES = get_args(Status)


def check_row(row: Any) -> None:
    """ValueError, naming the method, the entry and its value, if a report could not read the row.

    Metrics and λ must be finite numbers, metrics at most ``LARGEST``. Names of metrics and curves must be printable.
    Numbers of ``timing`` must be 0 or more. Curves are columns of equal length of numbers or None. Descriptions of
    metrics are text.
    """
    if not isinstance(row, dict):
        raise ValueError(f"not a trial, but {type(row).__name__}")
    if "exclusive" in row and "timing_mode" not in row:
        raise ValueError("a row of format 1; rffbench migrate FOLDER rewrites the folder in format 2")
    if not row.keys() >= REQUIRED:
        raise ValueError(f"not a trial, it lacks {', '.join(sorted(REQUIRED - row.keys()))}")
    for name, kind in KINDS.items():
        if type(row[name]) is not kind:
            raise ValueError(f"{name} must be {kind.__name__}, not {row[name]!r}")
    if row["status"] not in STATUSES:
        raise ValueError(f"status {row['status']!r} is not one of {', '.join(STATUSES)}")
    try:
        _check_spec(row)
        _check_measured(row)
    except ValueError as error:
        raise ValueError(f"{row['method']}: {error}") from None


def has_own_key(row: Row) -> bool:
    """Whether a row's key is that of its fields: no field was changed after the trial was measured."""
    try:
        return key_of(row) == row["key"]
    except ValueError:
        return False


def line_of(row: Row) -> bytes:
    """A row as written to the log: UTF-8, or escaped if it contains half of a surrogate pair. TypeError or ValueError
    for values that JSON does not have."""
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row, allow_nan=False).encode() + b"\n"


def _check_spec(row: Row) -> None:
    for name in PARTS:
        if type(row[name].get("name")) is not str:
            raise ValueError(f"{name} must have a name, not {row[name]!r}")
    if "gamma" not in row["kernel"]:
        raise ValueError(f"kernel must have gamma, not {row['kernel']!r}")
    for name, kind in OPTIONAL.items():
        if row.get(name) is not None and type(row[name]) is not kind:
            raise ValueError(f"{name} must be {kind.__name__}, not {row[name]!r}")
    for name in WHOLE:
        if not -MOST <= (row.get(name) or 0) <= MOST:
            raise ValueError(f"{name} must be {MOST} at most, not {row[name]!r}")
    for name in TEXTS:
        for each in row.get(name) or ():
            if type(each) is not str:
                raise ValueError(f"{name} must be texts, not {each!r}")
    for name, choices in CHOICES.items():
        if isinstance(row[name], list | dict) or row[name] not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {row[name]!r}")
    for name in ("seed", "held_out"):
        if not _is_number(row[name], none=name == "held_out"):
            raise ValueError(f"{name} must be a number, not {row[name]!r}")


def _check_measured(row: Row) -> None:
    for name, value in row["metrics"].items():
        _check_name("metrics", name)
        if type(value) is float and -LARGEST <= value <= LARGEST:
            continue
        if not _is_number(value):
            raise ValueError(f"metrics: {name!r} must be a finite number, not {value!r}")
        if abs(value) > LARGEST:
            raise ValueError(f"metrics: {name!r} must be {LARGEST:g} at most, or its spread has no number: {value!r}")
    if not _is_number(row.get("lambda"), none=True):
        raise ValueError(f"lambda must be a finite number, not {row['lambda']!r}")
    for name, value in row["timing"].items():
        if type(value) is float and 0 <= value <= LARGEST:
            continue
        for each in value.values() if name in BY_PART and isinstance(value, dict) else [value]:
            none = not name.endswith("_s") and (each is None or isinstance(each, bool))
            if not (none or (_is_number(each) and 0 <= each <= LARGEST)):
                raise ValueError(f"timing: {name!r} must be a number, 0 or more, not {value!r}")
    if row.get("curves"):
        _check_curves(row["curves"])
    for name, about in (row.get("own_metrics") or {}).items():
        _check_description(name, about)
    if row.get("solved") and not _is_number(row["solved"].get("smallest_lambda")):
        raise ValueError(f"solved must have the number smallest_lambda, not {row['solved']!r}")
    for name, about in (row.get("edges") or {}).items():
        if not isinstance(about, dict) or not all(_is_number(about.get(each)) for each in ("gain", "standard_error")):
            raise ValueError(f"edges: {name!r} must have the numbers gain and standard_error, not {about!r}")
    for part, code in (row.get("made_by") or {}).items():
        if part not in ("features", "solver"):
            raise ValueError(f"made_by must have features and solver, not {part!r}")
        if type(code) not in (int, str):
            raise ValueError(f"made_by: {part!r} must be a version or a text, not {code!r}")
    if row.get("error") and not all(isinstance(row["error"].get(name), str) for name in ("type", "message")):
        raise ValueError(f"error must have the texts type and message, not {row['error']!r}")


def _check_name(what: str, name: Any) -> None:
    """ValueError if a name cannot be printed: it appears in files, tables and figures."""
    if not isinstance(name, str) or not name.isprintable() or not name:
        raise ValueError(f"{what}: a name must be text that can be printed, not {name!r}")


def _check_curves(curves: Mapping[str, Any]) -> None:
    for name, values in curves.items():
        _check_name("curves", name)
        if name in PLACE:
            raise ValueError(f"curves: {name!r} means something else in a trial's row; give the curve another name")
        if not isinstance(values, list):
            raise ValueError(f"curves: {name!r} must be a list of numbers, not {values!r}")
        for value in values:
            if not _is_number(value, none=True):
                raise ValueError(f"curves: {name!r} must hold finite numbers, not {value!r}")
    if len({len(values) for values in curves.values()}) > 1:
        lengths = ", ".join(f"{name!r} has {len(values)}" for name, values in curves.items())
        raise ValueError(f"curves must be of equal length: {lengths}")


def _check_description(name: str, about: Any) -> None:
    if not isinstance(about, dict) or not about.keys() <= {"title", "unit", "better"}:
        raise ValueError(f"own_metrics: {name!r} must have title, unit and better, not {about!r}")
    for part in ("title", "unit"):
        if not isinstance(text := about.get(part, ""), str) or not text.isprintable():
            raise ValueError(f"own_metrics: the {part} of {name!r} must be text that can be printed, not {text!r}")
    if about.get("better") not in BETTER:
        raise ValueError(f"own_metrics: better of {name!r} must be 'greater', 'less' or None, not {about['better']!r}")


def _is_number(value: Any, none: bool = False) -> bool:
    """Whether ``value`` is a finite number within float64's range, or None, if ``none``."""
    if type(value) is float:
        return math.isfinite(value)
    return (none and value is None) or (isinstance(value, int | float) and not isinstance(value, bool) and _fits(value))


def _fits(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
