"""Sparse random features and boosting: ℓ1-penalised models that draw their own features."""
