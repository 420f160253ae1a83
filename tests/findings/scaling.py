"""docs/scaling.md: its arithmetic is held by tests/solvers/ridge/test_tree.py, its measurement here."""

from tests.helpers.findings import finding, results

PAGE = "docs/scaling.md"
DESCRIBED = [
    r"at most 16,384 rows|10⁷ training rows of 16 columns, and 10⁵ to test on|of \.npy 32 MB|\(65,536 rows\)|127\.0\.0\.1",
    r"# The arithmetic .* two minutes of the fourteen",  # a calculation
    r"predictions together to 10⁻⁵",  # that test
    r"10⁷ rows × 4,096 columns|200,000 rows × 1,024 columns",
]


@finding(PAGE)
def one_run_of_scale_out() -> str:
    run = results("scale-out")
    (row,) = run.trials.to_dict("records")
    minutes = (row["feature_s"] + row["fit_s"] + row["predict_s"]) / 60
    smallest = row["lambda"] == min(run.config["solver"]["lambda"])
    return (
        f"a test RMSE of {row['rmse']:.4f} at λ = {row['lambda']:.0e}, "
        f"{'the smallest' if smallest else 'one'} of its grid, after {minutes:.0f} minutes, with "
        f"{row['peak_memory_bytes'] / 1e6:.0f} MB in the process that solved"
    )
