"""Which claims of the lectures are about single entries of the kernel matrix."""


def is_of_entries(claim: str) -> bool:
    return "an entry of K" in claim
