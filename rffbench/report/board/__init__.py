"""The board: every map against RFF on many datasets, at equal columns and at equal cost."""
