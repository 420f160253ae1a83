"""Which kernels a part serves, by the trait that it declares (`rffbench.plugins.parts`), and the refusal of others."""

from __future__ import annotations

from rffbench.kernels import KERNELS, TRAITS, Kernel, make_kernel
from rffbench.kernels.own import PRECOMPUTED, is_own
from rffbench.plugins.parts import NotServed, Traits


def serves_kernel(traits: Traits, kernel: str | Kernel) -> bool:
    """Whether ``kernel`` has the trait, or one of the traits, that a part needs. ValueError for an unknown name."""
    return traits is None or isinstance(make_kernel(kernel), traits)


def kernels_served(traits: Traits) -> list[str]:
    """The names of the built-in kernels that have the trait, or one of the traits."""
    return [name for name, kernel in KERNELS.items() if traits is None or issubclass(kernel, traits)]


def check_kernel(part: str, traits: Traits, kernel: str | Kernel) -> None:
    """NotServed if the part called ``part`` needs a kernel with other traits; ValueError for an unknown ``kernel``."""
    if is_own(kernel):
        if traits is None:  # the part takes any kernel, and refuses a callable or a matrix itself if it cannot use one
            return
        what = "a precomputed matrix" if isinstance(kernel, str) and kernel == PRECOMPUTED else "a callable"
        words = needed(traits)
        wanted = f"a kernel with {words}" if words else f"the {' or '.join(kernels_served(traits))} kernel"
        raise NotServed("kernel", f"{part} needs {wanted}; NystroemFeatures takes {what}")
    if serves_kernel(traits, kernel):
        return
    name, having = kernel if isinstance(kernel, str) else kernel.called(), kernels_served(traits)
    if not (words := needed(traits)):
        raise NotServed("kernel", f"{part} needs the {' or '.join(having)} kernel, got {name}")
    have = f"{', '.join(having)} {'has' if len(having) == 1 else 'have'}" if having else "no kernel has"
    raise NotServed("kernel", f"{part} needs a kernel with {words}; {name} has none; {have}")


def needed(traits: Traits) -> str:
    """The traits in words: "a product density"; empty for kernels by name, and if every kernel is served."""
    listed = () if traits is None else traits if isinstance(traits, tuple) else (traits,)
    return " or ".join(each.trait for each in TRAITS.values() if each in listed)
