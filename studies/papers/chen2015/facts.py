"""Which of the claims of Chen et al. 2015 are about time, and which about half the error."""


def is_of_time(claim: str) -> bool:
    return "in much less time" in claim


def is_of_half(claim: str) -> bool:
    return "nearly half" in claim
