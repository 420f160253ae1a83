"""Equal values give equal text, of which the hashes that name trials and datasets are made."""

from __future__ import annotations

import json
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return _encode(value)
