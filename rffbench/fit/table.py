"""The table in a file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rffbench.errors import ConfigError, TableError


def read_table(path: Path) -> pd.DataFrame:
    """The table in a CSV, Excel or parquet file."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    try:
        if path.suffix.lower() in (".xlsx", ".xls"):
            return pd.read_excel(path)
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep=None, engine="python") if path.stat().st_size < 1_000_000 else pd.read_csv(path)
    except Exception as error:
        raise TableError(f"{path.name}: cannot be read as a table: {error}") from error
