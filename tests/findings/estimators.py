"""docs/estimators.md: conjugate gradients beside the direct solve on covtype."""

from tests.helpers.findings import finding, results

PAGE_OF_ESTIMATORS = "docs/estimators.md"


def _rff(name: str, size: int) -> dict:
    rows = results(name).trials.query("method == 'RFF' and trial == 0 and status == 'ok' and n_features == @size")
    (row,) = rows.to_dict("records")
    return row


@finding(PAGE_OF_ESTIMATORS)
def covtype_by_conjugate_gradients() -> str:
    pairs = [(_rff("covtype-pcg", size), _rff("table3-as-written-covtype", size)) for size in (1728, 6912)]
    apart = max(abs(ours["accuracy"] - direct["accuracy"]) for ours, direct in pairs)
    assert all(ours["lambda"] == direct["lambda"] for ours, direct in pairs)
    assert apart <= 0.05
    (passes,) = {int(ours["passes"]) for ours, _ in pairs}
    ours, direct = pairs[-1]
    return (
        f"at 32d and at 128d (13,824 columns) it took {passes} passes, chose the same λ, and its test accuracy is within "
        f"{apart:.3f} points of the direct solve: {ours['accuracy']:.3f} % and {direct['accuracy']:.3f} % at 128d. Its process held "
        f"{ours['peak_memory_bytes'] / 1e9:.1f} GB, where the direct solve held {direct['peak_memory_bytes'] / 1e9:.1f} GB"
    )
