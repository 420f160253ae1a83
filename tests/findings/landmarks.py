"""docs/landmarks.md: the whole page is written from results/landmarks."""

from scripts.landmarks import Measured, page
from tests.helpers.findings import finding

PAGE_OF_LANDMARKS = "docs/landmarks.md"  # python scripts/landmarks.py writes it


@finding(PAGE_OF_LANDMARKS)
def do_chosen_landmarks_help() -> str:
    return page(Measured())
