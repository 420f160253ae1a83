# make help lists the targets. Everything runs in a virtual environment in .venv, made when first needed.

PYTHON ?= python3
BIN := .venv/bin
# the package alone, which needs no compiler; and with it what tests, checks and pages need
INSTALLED := .venv/installed
TOOLS := .venv/tools

.DEFAULT_GOAL := help
.PHONY: help demo test check bench reproduction docs lowest pythons release clean

help:           ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' Makefile | expand -t 14

demo: $(INSTALLED)    ## a first run: four methods on two bundled datasets, in about a minute
	rm -rf demo
	$(BIN)/rffbench run configs/quickstart.yaml --results demo

test: $(TOOLS)    ## the tests, but for slow ones (set RFFBENCH_MIRROR to a folder of data files for those that need data)
	$(BIN)/python -m pytest -m "not regression and not slow and not long" --numprocesses 4 --dist loadfile --no-loadscope-reorder

check: $(TOOLS)   ## ruff (rules and format), mypy, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(TOOLS)   ## speed and memory against scikit-learn; writes docs/performance.md
	$(BIN)/python -m benchmarks

# compare exits with 1 where a number or a claim does not come out: that is what the page is there to say.
reproduction: $(TOOLS)  ## from results/: every comparison, table and figure, and the pages that speak of them
	$(BIN)/rffbench plot results
	$(BIN)/rffbench compare results > /dev/null; [ $$? -le 1 ]
	$(BIN)/python -m studies.papers
	$(BIN)/python scripts/ship_claims.py
	$(BIN)/python -m studies.pages

docs: $(TOOLS)        ## the pages as a site, docs/_build/index.html, and the board; a warning is an error (an index is needed once)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build
	$(BIN)/rffbench site docs/_build/site

lowest: $(TOOLS)      ## the quickstart with the lowest versions of the dependencies: the same λ and accuracies?
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python scripts/versions.py

# Without an index there is no uv, and scripts/versions.py says so.
pythons: $(TOOLS)     ## the same under the other Pythons that are found here
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python scripts/versions.py --others

release: $(TOOLS)     ## the steps of a release: make release VERSION=0.2.0
	$(BIN)/python scripts/release.py $(VERSION)

clean:          ## remove the virtual environment and caches; results stay
	rm -rf .venv demo docs/_build .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
	find rffbench tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(TOOLS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(INSTALLED)

$(BIN)/python:
	$(PYTHON) -m venv .venv
