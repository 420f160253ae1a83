"""The number of points on which a kernel matrix was measured."""

import pandas as pd

from rffbench.report.frame import Results


def with_points(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    """Trials or curves with an additional column ``points``, the number of points of the kernel's errors."""
    points = {name: results.grid.setting("kernel_error_points", name) for name in results.datasets}
    return rows.assign(points=rows["dataset"].map(points))
