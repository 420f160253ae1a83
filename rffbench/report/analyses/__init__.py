"""Analyses of single papers, made for the experiments whose config names them under `figures`."""
