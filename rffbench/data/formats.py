"""The files of a dataset, and their formats, as a card describes them."""

from __future__ import annotations

import codecs
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, model_validator

from rffbench.io import yamlfile


class Model(BaseModel):
    """Refuses unknown keys, and changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Checksum = Annotated[
    str,
    yamlfile.pattern(
        r"^(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})$", "sha256: and 64 digits of 0-9 and a-f, or md5: and 32 of them"
    ),
]
Count = Annotated[StrictInt, Field(gt=0)]


def _encoding(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        raise ValueError(f"{name!r} is no encoding of Python's, such as cp1252 or utf-16") from None
    return name


Encoding = Annotated[str, AfterValidator(_encoding)]


def _inside(name: str) -> str:
    """The path itself; ValueError if it leads out of its folder."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ValueError("must be a path inside its folder, without '..' and not from the root")
    return name


Inside = Annotated[str, AfterValidator(_inside)]
Part = Literal["train", "test", "folds"]


class Source(Model):
    """One URL of a file; with ``member``, the URL is an archive (zip, tar) and the file is inside it.

    ``file:///…`` is a file of this machine, ``file:…`` a path relative to the card's folder, ``openml:1471`` a dataset
    of OpenML as openml.py writes it.
    """

    url: Annotated[
        str, yamlfile.pattern(r"^(https?://|file:|openml:[0-9]+$)", "a URL: https://…, file:… or openml:NUMBER")
    ]
    member: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"url": value}


class File(Model):
    """One file of a dataset, by its name in the mirror and the cache.

    ``checksum`` is the checksum of the file; ``content`` that of its unpacked content (gz, bz2, xz, or the archive's
    ``member``), for files that mirrors and servers pack again. Both must match if they are given. ``member`` with a
    ``*`` is a pattern; the members that match it are read in the order of their names. Two files may be the same
    archive with different members. ``part: folds`` marks the file of the split rule ``folds``, which has no rows of the
    dataset.
    """

    name: Inside
    urls: list[Source] = Field(default_factory=list)
    checksum: Checksum | None = None
    content: Checksum | None = None
    member: str | None = None
    part: Part | None = None

    @model_validator(mode="after")
    def _has_a_checksum(self) -> File:
        if self.checksum is None and self.content is None:
            raise ValueError(f"file {self.name!r} needs a checksum, of the file or of its content")
        if self.content and self.member and "*" in self.member:
            raise ValueError(f"file {self.name!r}: several members have no one content; give a checksum")
        return self


class LibsvmFormat(Model):
    """``label index:value …`` with indices from 1; absent values are 0.

    The first ``one_hot`` columns contain a single 1, and are read as one column with its index.
    """

    kind: Literal["libsvm"]
    one_hot: Annotated[StrictInt, Field(gt=1)] | None = None


LAST = -1  # the number of the last column
Character = Annotated[str, yamlfile.pattern(r"^[^\r\n]$", "a single character")]


class Spelled(Model):
    """How cells of text are written, where it is not as in most files.

    ``decimal`` is the decimal mark, if it is no point; ``thousands`` is the mark between thousands. ``missing`` are
    the texts of a missing value beside the empty one, in place of those of `rffbench.data.cells.MISSING`. ``units`` may
    follow a number, as in ``10 cm``.
    """

    decimal: Literal[","] | None = None
    thousands: Literal[",", ".", " ", "'"] | None = None
    missing: tuple[str, ...] | None = None
    units: tuple[str, ...] | None = None


class RowsFormat(Spelled):
    """Rows of cells with the target in one column, or a regression's ``targets`` in several.

    Columns are counted from 0, negative from the end. ``ignore`` lists those that are neither input nor target; these
    may hold text. ``dates`` (column → format of ``strptime``) are read as numbers: `rffbench.data.dates`.
    """

    targets: Annotated[tuple[int, ...], Field(min_length=2)] | None = None
    ignore: tuple[int, ...] | None = None
    dates: dict[int, str] | None = None

    @property
    def learnt(self) -> tuple[int, ...]:
        """The columns of the target, or of the targets."""
        return self.targets or (getattr(self, "target", LAST),)


class ArffFormat(RowsFormat):
    """Weka's dense ARFF; the target is the last attribute unless ``target`` is given."""

    kind: Literal["arff"]
    target: int | None = None

    @property
    def learnt(self) -> tuple[int, ...]:
        return self.targets or (LAST if self.target is None else self.target,)


class CsvFormat(RowsFormat):
    """Delimited text.

    Between two of the characters ``quote``, a delimiter is part of a value. A blank as the delimiter means one or more
    blanks. Lines that begin with ``comment`` are skipped, and so are the first ``skip`` lines. The default ``encoding``
    is UTF-8, with or without a byte order mark.
    """

    kind: Literal["csv"]
    target: int = LAST
    delimiter: Annotated[str, yamlfile.pattern(r"^[^\"\r\n]$", "a single character, and no quote")] = ","
    header: bool = False
    quote: Character | None = None
    comment: Annotated[str, yamlfile.pattern(r"^[^\s]$", "a single character, and no blank")] | None = None
    skip: Count | None = None
    encoding: Encoding | None = None


class XlsxFormat(RowsFormat):
    """One sheet of an Excel workbook; without ``sheet``, the first one. The first ``skip`` rows are no part of it."""

    kind: Literal["xlsx"]
    target: int = LAST
    header: bool = False
    sheet: str | None = None
    skip: Count | None = None


class NpzFormat(Spelled):
    """NumPy's archive: the array ``inputs`` is (n, d), the array ``target`` (n,), of numbers or of text."""

    kind: Literal["npz"]
    inputs: str = "X"
    target: str = "y"


class ParquetFormat(Spelled):
    """Parquet, read by pandas: the column ``target``, or a regression's ``targets``, and inputs in all others except
    those of ``ignore``. ``dates`` are as in `RowsFormat`."""

    kind: Literal["parquet"]
    target: str
    targets: Annotated[tuple[str, ...], Field(min_length=2)] | None = None
    ignore: tuple[str, ...] | None = None
    dates: dict[str, str] | None = None

    @property
    def learnt(self) -> tuple[str, ...]:
        return self.targets or (self.target,)


class IdxFormat(Model):
    """MNIST's format, unsigned bytes; the files come in pairs, the inputs and then their labels."""

    kind: Literal["idx"]


class MatFormat(Model):
    """A MATLAB file's variables: [inputs, target] of the training part and of the test part, or of ``all`` rows."""

    kind: Literal["mat"]
    train: tuple[str, str] | None = None
    test: tuple[str, str] | None = None
    all: tuple[str, str] | None = None
    samples: Literal["rows", "columns"] = "rows"

    @model_validator(mode="after")
    def _all_or_both_parts(self) -> MatFormat:
        if (self.train is None) != (self.test is None) or (self.train is None) == (self.all is None):
            raise ValueError("the format mat needs 'train' and 'test', or 'all': the names of [inputs, target]")
        return self


class SklearnFormat(Model):
    """A dataset bundled with scikit-learn, by the name of its loader."""

    kind: Literal["sklearn"]
    loader: Literal["load_digits", "load_breast_cancer"]


class _Drawn(Model):
    """``sigma`` is the bandwidth of the Gaussian kernel whose space contains the function, ``noise`` the standard
    deviation of the noise; the function's own is 1.
    """

    seed: int
    sigma: float = Field(gt=0)
    noise: float = Field(ge=0)


class SyntheticFormat(_Drawn):
    """A seeded draw: inputs uniform on [0,1]^d, target a smooth function plus noise (see parse.py)."""

    kind: Literal["synthetic"]


class GeneratedFormat(_Drawn):
    """A seeded draw of any length, as `SyntheticFormat`. Its rows are made when they are read, and never stored (see
    streams.py)."""

    kind: Literal["generated"]


class Shard(Model):
    """One file of a folder of shards: its name, rows and bytes."""

    name: Inside
    rows: int = Field(gt=0)
    bytes: int = Field(gt=0)


class ShardsFormat(Model):
    """Parquet or npy files in ``folder``, a path or a URL; blocks of rows are read when they are needed.

    ``target`` is a column: for .npy its number from 0 (negative from the end), for Parquet its name.
    """

    kind: Literal["shards"]
    folder: str
    shards: tuple[Shard, ...] = Field(min_length=1)
    target: int | str


Format = Annotated[
    LibsvmFormat | ArffFormat | CsvFormat | XlsxFormat | NpzFormat | ParquetFormat | IdxFormat | MatFormat
    | SklearnFormat | SyntheticFormat | GeneratedFormat | ShardsFormat,
    Field(discriminator="kind"),
]  # fmt: skip
