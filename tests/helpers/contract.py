"""Which estimators scikit-learn's contract is checked for in every run."""


def first_of_class(estimators):
    """The first estimator of each class, and the others: they differ in a parameter only, and their checks are slow."""
    firsts = {type(each): each for each in reversed(estimators)}
    return list(firsts.values())[::-1], [each for each in estimators if each is not firsts[type(each)]]
