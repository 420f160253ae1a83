"""Tables whose content is known, written as files in the ways that people and programs write them.

``writings(count)`` draws them by a seed. A `Writing` is a file with the reading that is right: the inputs and the
target as they were before they were written, or that the file can be read in two ways and must be refused. The ways
differ in container, delimiter, quotes, header, decimal mark, marks between thousands, words for missing values,
encoding, and in what programs put around a table.
"""

import csv
import gzip
import io
import lzma
import random
from dataclasses import dataclass, field

import numpy as np

WORDS = {
    "plain": ["red", "blue", "green"],
    "blanks": ["light red", "dark blue", "pale green"],
    "commas": ["red, light", "blue, dark", "green, pale"],
    "semicolons": ["red; light", "blue; dark"],
    "letters": ["größer", "kleiner", "ähnlich"],
    "quotes": ['12" wheel', '14" wheel'],
    "units": ["10 cm", "20 cm", "30 cm"],
    "lists": ["a;b", "b;c", "a;c"],
    "pipes": ["x|y", "y|z", "x|z"],
    "breaks": ["one\nline", "two\nlines"],
}
LABELS = {
    "words": ["up", "down"],
    "letters": ["a", "b", "c"],
    "zero-one": ["0", "1"],
    "yes-no": ["Yes", "No"],
    "booleans": ["True", "False"],
    "whole": ["1", "2", "3", "4"],
}
MISSING = ["", "NA", "?", "NaN", "null", "N/A"]


@dataclass
class Table:
    """``columns`` (name → values): float arrays, or lists of words; ``target`` the same. The columns ``ignored`` are no
    inputs."""

    columns: dict = field(default_factory=dict)
    target: object = None
    task: str = "classification"
    rows: int = 0
    ignored: set = field(default_factory=set)

    @property
    def inputs(self) -> dict:
        return {name: values for name, values in self.columns.items() if name not in self.ignored}

    def keep(self, which) -> None:
        self.columns = {name: values for name, values in self.columns.items() if which(name, values)}


@dataclass
class Writing:
    """A file's name and bytes, the table, and ``how`` it is written, in words. ``ambiguous``: it must be refused."""

    name: str
    content: bytes
    table: Table
    how: str
    ambiguous: bool = False
    given: dict = field(default_factory=dict)


def table(rng: random.Random) -> Table:
    """A table of 25 to 160 rows with numbers of several kinds, words and a target."""
    rows = rng.choice([25, 60, 160])
    made = Table(rows=rows)
    draw = np.random.default_rng(rng.randrange(2**32))
    kinds = rng.sample(["normal", "money", "whole", "large", "small", "unit"], rng.randint(2, 4))
    for kind in kinds:
        made.columns[kind] = {
            "normal": lambda: np.round(draw.normal(size=rows), 4),
            "money": lambda: np.round(draw.uniform(1, 999, rows), 2),
            "whole": lambda: draw.integers(0, 30, rows).astype(float),
            "large": lambda: draw.integers(100, 9_000_000, rows).astype(float),
            "small": lambda: draw.uniform(1e-6, 1e-4, rows),
            "unit": lambda: np.round(draw.uniform(0, 1, rows), 3),
        }[kind]()
    for kind in rng.sample(list(WORDS), rng.choice([0, 1, 1, 2])):
        made.columns[f"w {kind}" if rng.random() < 0.2 else kind] = list(draw.choice(WORDS[kind], rows))
    if rng.random() < 0.5:
        made.task, made.target = "regression", np.round(draw.normal(50, 20, rows), 2)
    else:
        labels = LABELS[rng.choice(list(LABELS))]
        made.target = [labels[i] for i in draw.integers(0, len(labels), rows)]
    days = np.datetime64("2019-02-03") + draw.integers(0, 900, rows)
    day = rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M"])
    others = {
        "id": np.arange(1.0, rows + 1), "same": ["here"] * rows, "void": [""] * rows,
        "key": [f"k{i * 7919 % 10007}" for i in range(rows)],
        "when": [each.strftime(day) for each in days.astype("datetime64[s]").tolist()],
    }  # fmt: skip
    made.ignored = {*rng.sample(list(others), rng.choice([0, 0, 0, 1, 2]))}
    made.columns |= {name: others[name] for name in sorted(made.ignored)}
    order = list(made.columns)
    rng.shuffle(order)
    made.columns = {name: made.columns[name] for name in order}
    return made


def number(value: float, decimal: str = ".", thousands: str = "") -> str:
    """A number as text that gives the same float."""
    text = repr(float(value)).removesuffix(".0")
    if "e" in text:
        return text.replace(".", decimal)
    whole, _, fraction = text.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    if thousands and len(digits) > 3:
        digits = f"{int(digits):,}".replace(",", thousands)
    return sign + digits + (decimal + fraction if fraction else "")


def cells(made: Table, rng: random.Random, decimal: str, thousands: str, missing: str | None) -> list[list[str]]:
    """The rows of cells. With ``missing``, the first column of numbers has missing values, in the table, too."""
    columns = []
    for name, values in made.columns.items():
        if isinstance(values, np.ndarray):
            numeric = next(other for other, each in made.inputs.items() if isinstance(each, np.ndarray))
            if missing is not None and name == numeric:
                made.columns[name] = values = values.copy()
                values[rng.sample(range(made.rows), 3)] = np.nan
            columns.append(
                [missing or "" if np.isnan(value) else number(value, decimal, thousands) for value in values]
            )
        else:
            columns.append(list(values))
    target = made.target
    columns.append([number(v, decimal, thousands) for v in target] if isinstance(target, np.ndarray) else list(target))
    return [list(row) for row in zip(*columns, strict=True)]


def text_file(made: Table, rng: random.Random, missing: str | None = "drawn") -> Writing:
    """Delimited text."""
    delimiter = rng.choice([",", ",", ",", ";", ";", "\t", "|"])
    comma = rng.random() < {";": 0.6, "\t": 0.4, "|": 0.3, ",": 0.15}[delimiter]
    decimal = "," if comma else "."
    thousands = rng.choice(["", "", "", "." if comma else ","])
    missing = rng.choice([None, None, *MISSING]) if missing == "drawn" else missing
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    rows = cells(made, rng, decimal, thousands, missing)
    names = [*made.columns, "y"]
    header = rng.random() < 0.75
    style = rng.choice(["", "", "", "trailing", "sep", "comment", "row names", "blank lines"])
    if not header and style in ("row names",):
        style = ""
    if header and rng.random() < 0.1:
        names = [str(400 + 2.5 * i) for i in range(len(names) - 1)] + ["y"]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=rng.choice(["\n", "\r\n"]))
    if style == "row names":
        rows = [[f"{i + 1}", *row] for i, row in enumerate(rows)]
    if header:
        writer.writerow(names)
    for row in rows:
        writer.writerow([*row, ""] if style == "trailing" else row)
        if style == "blank lines" and rng.random() < 0.1:
            out.write("\n")
    text = out.getvalue()
    text = {"sep": f"sep={delimiter}\n", "comment": "# made by a tool, version 2\n# on a Monday\n"}.get(
        style, ""
    ) + text
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
    content = text.encode(encoding)
    ending = {"\t": rng.choice(["tsv", "csv", "txt"])}.get(delimiter, rng.choice(["csv", "csv", "txt", "data"]))
    name, content = packed(f"table.{ending}", content, rng)
    how = (
        f"{delimiter!r} decimal {decimal!r} thousands {thousands!r} missing {missing!r} quoting {quoting} "
        f"header {header and names[0]} {style} {encoding}"
    )
    return Writing(name, content, made, how)


def two_marks_file(made: Table, rng: random.Random) -> Writing:
    """Two decimal marks in one file."""
    made.columns = {"a": np.round(np.arange(made.rows) / 7, 4)}
    made.target = np.array([i % 9 + 0.5 for i in range(made.rows)])
    marks = rng.choice([(".", ","), (",", ".")])
    rows = [f"{number(a, marks[0])};{number(y, marks[1])}" for a, y in zip(made.columns["a"], made.target, strict=True)]
    return Writing("t.csv", ("a;y\n" + "\n".join(rows) + "\n").encode(), made, f"both {marks}", ambiguous=True)


def either_file(made: Table, rng: random.Random) -> Writing:
    """Numbers such as 1,234, of which nothing in the file says what the comma is."""
    rows = [f"{i % 9 + 1},{i * 37 % 900 + 100};{i % 5};{'uv'[i % 2]}" for i in range(made.rows)]
    rows = [row.replace(";", "\t") for row in rows] if rng.random() < 0.5 else rows
    return Writing("t.csv", ("\n".join(rows) + "\n").encode(), made, "1,234 alone", ambiguous=True)


def not_missing_file(made: Table, rng: random.Random) -> Writing:
    """NA or None as a class, kept by ``missing: []``."""
    made.task, word = "classification", rng.choice(["NA", "None", "null"])
    made.target = [("EU", word, "AS")[i % 3] for i in range(made.rows)]
    writing = text_file(made, rng, missing=None)
    writing.given = {"missing": []}
    return writing


def blanks_file(made: Table, rng: random.Random) -> Writing:
    """Numbers below each other, as numpy.savetxt and Fortran write them; no words with blanks."""
    made.keep(lambda name, values: isinstance(values, np.ndarray) or name in ("plain", "letters", "same", "key"))
    rows = cells(made, rng, ".", "", None)
    names = [name.replace(" ", "_") for name in [*made.columns, "y"]]
    style = rng.choice(["header", "none", "savetxt", "R"])
    lines = ["  ".join(cell.rjust(12) for cell in row) for row in rows]
    if style == "header":
        lines.insert(0, " ".join(names))
    if style == "savetxt":
        lines.insert(0, "# " + " ".join(names))
    if style == "R":
        lines = [" ".join(f'"{name}"' for name in names)]
        lines += [
            " ".join([f'"{i + 1}"', *(c if isnumber(c) else f'"{c}"' for c in row)]) for i, row in enumerate(rows)
        ]
    name, content = packed(rng.choice(["t.txt", "t.dat", "t.csv"]), ("\n".join(lines) + "\n").encode(), rng)
    return Writing(name, content, made, f"blanks {style}")


def isnumber(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def packed(name: str, content: bytes, rng: random.Random) -> tuple[str, bytes]:
    kind = rng.choice(["", "", "", ".gz", ".xz"])
    return name + kind, {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[kind](content)


def arff_file(made: Table, rng: random.Random) -> Writing:
    rows = cells(made, rng, ".", "", rng.choice([None, "?"]))
    quote = rng.choice("'\"")

    def quoted(word: str) -> str:
        if not set(word) & set(" ,;'\"|\n{}%"):
            return word
        return quote + word.replace("\\", "\\\\").replace(quote, "\\" + quote).replace("\n", "\\n") + quote

    lines = ["% a comment", "@RELATION 'a table'", ""]
    for name in [*made.columns, "y"]:
        words = made.columns.get(name, made.target)
        kind = "numeric" if isinstance(words, np.ndarray) else "{" + ",".join(map(quoted, sorted({*words}))) + "}"
        lines.append(f"@attribute {quoted(name)} {kind}")
    blank = rng.choice(["", " "])
    lines += ["", "@data", *((f",{blank}".join(quoted(cell) for cell in row)) for row in rows)]
    return Writing("table.arff", ("\n".join(lines) + "\n").encode(), made, f"ARFF {quote} {blank!r}")


def frame(made: Table, rng: random.Random, texts: bool):
    """The table as pandas has it; with ``texts``, numbers are texts or decimals."""
    from decimal import Decimal

    import pandas as pd

    columns = {}
    decimal = rng.choice([".", ","]) if texts else "."
    for name, values in {**made.columns, "y": made.target}.items():
        if texts and isinstance(values, np.ndarray):
            values = [number(v, decimal) for v in values]
            if decimal == "." and rng.random() < 0.3 and not any("e" in v for v in values):
                values = [Decimal(v) for v in values]
        elif isinstance(values, list) and rng.random() < 0.3:
            values = pd.Categorical(values)
        columns[name] = values
    return pd.DataFrame(columns), f"texts {texts} {decimal!r}"


def parquet_file(made: Table, rng: random.Random) -> Writing:
    made_frame, how = frame(made, rng, rng.random() < 0.5)
    out = io.BytesIO()
    made_frame.to_parquet(out)
    return Writing("table.parquet", out.getvalue(), made, f"Parquet {how}")


def xlsx_file(made: Table, rng: random.Random) -> Writing:
    made_frame, how = frame(made, rng, rng.random() < 0.3)
    header = rng.random() < 0.8
    if any("e" in number(v) for values in made.columns.values() if isinstance(values, np.ndarray) for v in values):
        made_frame = made_frame.drop(columns=[n for n, v in made.columns.items() if n == "small"])
        made.columns.pop("small", None)
    out = io.BytesIO()
    made_frame.to_excel(out, index=False, header=header, startrow=rng.choice([0, 0, 2]))
    return Writing("table.xlsx", out.getvalue(), made, f"xlsx header {header} {how}")


def npz_file(made: Table, rng: random.Random) -> Writing:
    made.keep(lambda name, values: isinstance(values, np.ndarray) and name not in made.ignored)
    X = np.column_stack(list(made.columns.values()))
    y, how = made.target, "numbers"
    if isinstance(y, np.ndarray):
        decimal = rng.choice([None, ".", ","])
        if decimal:
            y, how = np.array([number(v, decimal) for v in y]), f"text {decimal!r}"
    out = io.BytesIO()
    np.savez(out, X=X, y=np.array(y))
    return Writing("table.npz", out.getvalue(), made, f"npz {how}")


def libsvm_file(made: Table, rng: random.Random) -> Writing:
    made.keep(lambda name, values: isinstance(values, np.ndarray) and name not in made.ignored)
    if not isinstance(made.target, np.ndarray):
        names = sorted({*made.target})
        made.target = [str(names.index(label)) for label in made.target]
    style = rng.choice(["", "qid", "mark"])
    lines = []
    for i, row in enumerate(zip(*made.columns.values(), strict=True)):
        target = made.target[i] if isinstance(made.target, list) else number(made.target[i])
        group = f"qid:{i // 5} " if style == "qid" else ""
        lines.append(f"{target} {group}" + " ".join(f"{j}:{number(v)}" for j, v in enumerate(row, 1)))
    content = ("\ufeff" * (style == "mark") + "\n".join(lines) + "\n").encode()
    name, content = packed(rng.choice(["t.svm", "t.txt", "t"]), content, rng)
    return Writing(name, content, made, f"LIBSVM {style}")


KINDS = [
    *[text_file] * 14, *[blanks_file] * 3, *[arff_file] * 2, *[parquet_file] * 2, *[xlsx_file] * 2, npz_file,
    libsvm_file, two_marks_file, either_file, not_missing_file,
]  # fmt: skip


def writings(count: int, seed: int = 0) -> list[Writing]:
    """The first ``count`` files of a seed."""
    made = []
    for i in range(count):
        rng = random.Random(f"{seed}-{i}")
        made.append(rng.choice(KINDS)(table(rng), rng))
    return made
