"""From a table to advice and a model, for `rffbench fit` and `rffbench predict`.

In the order of the work: ``question.py`` reads the table and finds out what is asked; ``metrics.py`` has the scores;
``preparing.py`` makes numbers of the columns; ``candidates.py`` lists what is tried, in which order; ``tuning.py``
chooses σ, λ and the like within the training rows, and ``trying.py`` scores the choice on rows that chose nothing;
``advising.py`` turns the scores into advice; ``writing.py`` writes the model, and ``predicting.py`` reads it again.
"""
