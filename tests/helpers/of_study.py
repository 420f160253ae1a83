"""Results that a test makes up, as a study has them."""

import rffbench
from rffbench.report.frame import Results
from studies.board.standing import with_columns


def of_study(results: Results) -> rffbench.Results:
    """The results as `rffbench.load` gives them."""
    return with_columns(rffbench.Results(results.folder, [({}, results)]))
