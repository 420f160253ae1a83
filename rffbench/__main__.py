"""``python -m rffbench``: the command line."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # ``-m`` puts the current folder first, and a user's random.py there would be taken for the library's.
    if not sys.flags.safe_path and Path(sys.path[0]).absolute() != Path(__file__).absolute().parents[1]:
        sys.path.append(sys.path.pop(0))
    from rffbench.cli import main

    main()
