"""python -m studies.xrfm measures what is missing in results/studies/xrfm.csv; it can be interrupted and carried on. It
needs `pip install xrfm`, and the board's data."""

import sys

from studies.xrfm.measuring import run

if __name__ == "__main__":
    try:
        run(lambda line: print(line, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        sys.exit(130)
