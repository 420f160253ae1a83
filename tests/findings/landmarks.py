"""docs/landmarks.md: the whole page is written from results/landmarks."""

from studies.landmarks.__main__ import Measured, page
from tests.helpers.findings import finding

PAGE_OF_LANDMARKS = "docs/landmarks.md"  # python -m studies.landmarks writes it


@finding(PAGE_OF_LANDMARKS)
def do_chosen_landmarks_help() -> str:
    return page(Measured())
