"""scikit-learn's contract: all of it for an estimator of each class; for the others, which differ from it in a
parameter only, what a parameter may break."""

import contextlib
from unittest import SkipTest

from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

OF_THE_CLASS = {
    f"check_{each}"
    for each in (
        "estimator_cloneable", "estimator_tags_renamed", "valid_tag_types", "estimator_repr",
        "no_attributes_set_in_init", "fit_score_takes_y", "dont_overwrite_parameters", "estimators_unfitted",
        "transformers_unfitted", "do_not_raise_errors_in_init_or_set_params", "n_features_in_after_fitting",
        "n_features_in", "mixin_order", "positive_only_tag_during_fit", "complex_data", "dtype_object",
        "estimators_empty_data_messages", "estimators_nan_inf", "estimator_sparse_tag", "estimator_sparse_matrix",
        "array_api_input", "parameters_default_constructible", "get_params_invariance", "set_params",
        "fit_check_is_fitted", "fit1d", "fit2d_predict1d", "requires_y_none", "supervised_y_no_nan", "supervised_y_2d",
        "classifiers_regression_target", "transformer_data_not_an_array", "classifier_data_not_an_array",
        "regressor_data_not_an_array",
    )
}  # fmt: skip
"""The checks of how a class is made and of what it refuses, which no parameter changes."""


def first_of_class(estimators):
    """The first estimator of each class, and the others."""
    firsts = {type(each): each for each in reversed(estimators)}
    return list(firsts.values())[::-1], [each for each in estimators if each is not firsts[type(each)]]


def name(estimator):
    """Of a test's case."""
    return "".join(repr(estimator).split())


def keeps_the_contract(estimator, expected_to_fail=None):
    """Every check passes, but those named that may fail, for the reason given."""
    check_estimator(estimator, expected_failed_checks=expected_to_fail, on_skip=None)


def keeps_the_contract_in_another_way(estimator, expected_to_fail=None):
    """So does every check that is not `OF_THE_CLASS`."""
    for each, check in estimator_checks_generator(estimator):
        if check.func.__name__ not in OF_THE_CLASS.union(expected_to_fail or ()):
            with contextlib.suppress(SkipTest):
                check(each)
