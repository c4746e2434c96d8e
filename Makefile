# One command per job, the same on a desk and in CI. Each sets up .venv by itself when it is missing or stale.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ADAPTERS := .venv-adapters
LOWEST := .venv-lowest
GALLERY := .venv-gallery
SITE := .venv-site
PYTEST := $(BIN)/python -m pytest -n auto
FAST := $(PYTEST) --dist loadfile -m "not slow"
LITERATURE := $(sort $(wildcard tests/*/literature tests/*/demos))
unexport PYTHONDONTWRITEBYTECODE  # without bytecode every worker and every process of a test compiles all it imports
SOURCES := __init__.py mechanisms attacks audit testing experiments integrations src tests benchmarks docs

.PHONY: demo test test-literature test-docs test-browser test-all test-slow-mechanisms test-slow-bounds test-slow-pair-bounds test-slow-audit test-slow-verdicts test-slow-experiments adapters test-adapters test-lowest breaks lint types imports bench docs numbers site gallery screens wheel smoke clean help

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dpassay needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)   ## the main job: audit a Laplace count on real data, and the teaching demo
	$(BIN)/dpassay run laplace-count --out runs/laplace-count
	$(BIN)/dpassay demo randomized-response

test: $(STAMP)   ## the fast tests of the core and what every entry of a catalogue promises
	$(FAST) tests $(addprefix --ignore=,$(LITERATURE) tests/docs tests/browser)

test-literature: $(STAMP)  ## the fast tests of the systems of the literature, and of the demos
	$(FAST) $(LITERATURE)

test-docs: $(STAMP)  ## the fast tests of the documentation: snippets, numbers, site, examples in docstrings
	$(FAST) tests/docs

$(VENV)/.axe: $(STAMP)
	$(BIN)/python -m pip install --quiet --no-deps axe-playwright-python==0.1.8  # which contains axe-core; not its browsers
	@touch $@

test-browser: $(VENV)/.axe  ## pages of reports and demos in Chromium, which comes from the packages of the system; skipped where there is none
	$(PYTEST) --dist loadgroup -m "not slow" -rs tests/browser

test-all: test test-literature test-docs test-browser test-slow-mechanisms test-slow-bounds test-slow-pair-bounds test-slow-audit test-slow-verdicts test-slow-experiments  ## every test: the fast ones, then the six slow parts

test-slow-mechanisms: $(STAMP)  ## the long statistical tests of mechanisms and attacks
	$(PYTEST) -m slow tests/mechanisms tests/attacks

test-slow-bounds: $(STAMP)  ## those of the bounds on bits and on guesses, and of coverage
	$(PYTEST) -m slow tests/audit/bounds --ignore=tests/audit/bounds/pair

test-slow-pair-bounds: $(STAMP)  ## those of the bounds on runs of a pair
	$(PYTEST) -m slow tests/audit/bounds/pair

test-slow-audit: $(STAMP)  ## those of calibration, games, metrics, search and trials
	$(PYTEST) -m slow $(filter-out tests/audit/bounds/ tests/audit/__pycache__/, $(sort $(wildcard tests/audit/*/)))

test-slow-verdicts: $(STAMP)  ## those of whole audits
	$(PYTEST) -m slow $(wildcard tests/audit/test_*.py)

test-slow-experiments: $(STAMP)  ## those of experiments, of the pytest plugin and of the tests themselves
	$(PYTEST) -m slow tests --ignore=tests/mechanisms --ignore=tests/attacks --ignore=tests/audit

$(ADAPTERS)/.installed: tests/adapters/requirements.txt pyproject.toml
	@test -x $(ADAPTERS)/bin/python || $(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/python -m pip install --quiet --editable . hypothesis pytest pytest-randomly pytest-xdist --requirement $<
	@touch $@

adapters: $(ADAPTERS)/.installed  ## their environment, with the real Opacus, diffprivlib, OpenDP, Dask, mbi and Hugging Face

test-adapters: adapters  ## the adapters, with those libraries
	$(ADAPTERS)/bin/python -m pytest -n auto --dist loadfile --no-skips tests/adapters --ignore=tests/adapters/test_dask.py
	$(ADAPTERS)/bin/python -m pytest --no-skips --import-mode=prepend tests/adapters/test_dask.py  # workers import it by its file name

test-lowest: pyproject.toml  ## all fast tests, with the lower end of the range of each dependency, in a separate environment
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	.ci/lowest >$(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --editable '.[dev]' --constraint $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pytest -n auto --dist loadfile -m "not slow" --ignore=tests/browser -W ignore::DeprecationWarning  # of old packages

breaks: $(STAMP) ## takes each correction out of a copy, one after the other: a fast test must fail
	$(BIN)/python tests/run_breaks.py --write

lint: $(STAMP)   ## style
	$(BIN)/ruff check --no-cache $(SOURCES) || { echo "fix with: $(BIN)/ruff check --fix $(SOURCES)" >&2; exit 1; }
	$(BIN)/ruff format --check $(SOURCES) || { echo "fix with: $(BIN)/ruff format $(SOURCES)" >&2; exit 1; }

types: $(STAMP)  ## static types
	$(BIN)/mypy

imports: $(STAMP)  ## import directions
	$(BIN)/lint-imports

bench: $(STAMP)  ## speed and memory, as ratios against a baseline in the same run
	$(BIN)/python -m benchmarks

docs: $(STAMP)   ## the tables in docs/ and the tables of contents, from the code
	$(BIN)/python docs/build.py
	$(BIN)/python docs/schemas.py
	$(BIN)/python docs/results/libraries/page.py
	$(BIN)/python -m benchmarks.auditors.page

site: $(SITE)/.installed  ## docs/_build/html: all pages, executed demos and gallery, the reference; checked in a browser where there is one
	$(SITE)/bin/python docs/site/build.py $(ONLY)
	$(SITE)/bin/python docs/site/browse.py docs/_build/html docs/_build/executed

$(SITE)/.installed: pyproject.toml
	@test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --editable '.[docs]'
	@touch $@

gallery: $(STAMP)  ## docs/results/libraries.md: released libraries, each installed in an environment of its own and audited
	$(BIN)/python docs/results/libraries $(ONLY)

screens: $(STAMP)  ## docs/gallery/screen-*.png: pictures of the pages that commands write, in Chromium
	$(BIN)/python docs/site/screens.py

numbers: $(STAMP) ## the numbers that README and docs state, measured again; about ten minutes
	$(BIN)/python docs/measured

wheel: $(STAMP)  ## dist/: the sdist, and the wheel that is built from it, both checked
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

smoke: wheel     ## the wheel with the newest Python and dependencies in a clean environment, used as a newcomer would
	PYTHON=$$(.ci/newest) bash .ci/smoke dist/*.whl

clean:           ## everything that can be made again
	rm -rf $(VENV) $(ADAPTERS) $(LOWEST) $(GALLERY) $(SITE) docs/_build build dist runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
