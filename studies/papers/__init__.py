"""What was done for single papers: analyses of their results, their figures, and flaws of their released protocols.

A folder a paper. ``python -m studies.papers`` makes anew what is derived from results/ for all of them.
"""
