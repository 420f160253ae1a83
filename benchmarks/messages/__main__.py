"""A module of this name is not imported again by the workers' processes, which thus load numba with one thread."""

from benchmarks.messages import main

if __name__ == "__main__":
    main()
