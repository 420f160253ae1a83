"""README.md; its findings on Liu et al. 2020 are computed with those of docs/liu2020.md."""

PAGE = "README.md"
DESCRIBED = [
    r"covtype has two sizes and 20,000 training rows",
    r"Python 3\.\d+|over 5 trials|84 \d+",
    r"some 690 MB, .*? NumPy 75",  # of an installation, not of a result
    r"it used 73 seconds of processor time",  # of a first run, with compiling
    r"of 8 to 54 inputs",  # of the datasets
    r"covtype at 32d to 128d|26 classes|10 million rows",
    r"exit status|Exit status",
    r"Gains over RFF at 512 columns: a dot for every dataset",  # what a figure shows
    r"with 512 columns, in % of what these gain over a constant with 4,096 columns|all gains, on 28 datasets",  # the board
    r"0\.98, of ten digits",
]
