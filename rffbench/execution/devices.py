"""Checks, before anything runs, that the device of a config is available."""

from __future__ import annotations

from rffbench.errors import ConfigError

EXTRA = "pip install 'rffbench[cuda]'"


def check_device(device: str) -> None:
    """ConfigError, naming what is missing, if ``device`` ('cpu' or 'cuda') cannot be used here."""
    if device == "cpu":
        return
    try:
        import torch  # slow to import, and an extra: only where it is asked for
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise ConfigError(f"device: {device}: PyTorch cannot be loaded: {error}; {EXTRA}") from error
        raise ConfigError(f"device: {device}: needs PyTorch, which is not installed; {EXTRA}") from error
    except (ImportError, OSError) as error:
        raise ConfigError(f"device: {device}: PyTorch cannot be loaded: {error}") from error
    if torch.cuda.is_available():
        return
    if torch.version.cuda is None and torch.version.hip is None:
        why = "is built for CPUs only; a build with CUDA is needed (https://pytorch.org/get-started)"
    else:
        why = "sees no CUDA device: is there a GPU, its driver loaded, CUDA_VISIBLE_DEVICES not empty?"
    raise ConfigError(f"device: {device}: PyTorch {torch.__version__} {why} (device: cpu needs no GPU)")
