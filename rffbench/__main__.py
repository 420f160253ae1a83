"""``python -m rffbench``: the command line."""

from rffbench.cli import main

if __name__ == "__main__":
    main()
