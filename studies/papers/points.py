"""The number of points on which a kernel matrix was measured."""

import pandas as pd

from rffbench import Results


def with_points(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    """Trials or curves with a column ``points``, the number of points of the kernel's errors. (Of a sweep over these,
    it stands in place of the sweep's label.)"""
    points = {name: results.setting("kernel_error_points", name) for name in results.datasets}
    return rows.assign(points=rows["dataset"].map(points))
