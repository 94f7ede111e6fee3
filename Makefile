# `make run` shows the app, `make test` checks everything; both build their own environment first.

PYTHON ?= python3
VENV ?= .venv
LIVE_VENV ?= .venv-live
DYNAMO := 1.6.1
PORT ?= 8501
PYTEST_FLAGS ?=
FUZZ_MINUTES ?= 5
FUZZ_FLAGS ?=
MUTANTS_FLAGS ?=
BENCH_FLAGS ?= --write

BIN := $(VENV)/bin
SOURCES := app.py ringside.py drr pages tests $(wildcard benchmarks)
GROUND := pyproject.toml requirements.txt
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run env env-dev test lint types check format bench dask fuzz live walk mutants wheel editor clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "  Settings: PYTHON=$(PYTHON) VENV=$(VENV) PORT=$(PORT) PYTEST_FLAGS='$(PYTEST_FLAGS)'"

run: env  ## the app on http://127.0.0.1:PORT, with the premium policy loaded
	$(BIN)/python -m streamlit run app.py --server.address 127.0.0.1 --server.port $(PORT)

env: $(VENV)/.installed  ## the environment the app needs

env-dev: $(VENV)/.installed-dev  ## the same, with the tools for development

test: lint types check  ## lint, types and all tests but the slow ones

lint: env-dev  ## ruff: rules and layout
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: env-dev  ## mypy, strict, on drr
	$(BIN)/mypy

check: env-dev  ## the tests alone, in several processes; PYTEST_FLAGS="-n 0 -k lanes" picks some, in one
	$(BIN)/python -m pytest -n auto --maxprocesses 4 $(PYTEST_FLAGS)

format: env-dev  ## let ruff lay the sources out
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: env-dev  ## every benchmark, with its figures put into docs/benchmarks.md; fails when one misses its bar
	@failed=0; for script in $(filter-out benchmarks/support.py,$(wildcard benchmarks/*.py)); do \
	  echo "== $$script"; $(BIN)/python "$$script" $(BENCH_FLAGS) || failed=1; \
	done; exit $$failed

dask: env-dev  ## a sweep on a Dask scheduler with two workers, one of which is killed
	$(BIN)/python -m pip install --quiet -e '.[dask]'
	$(BIN)/python -m pytest -m slow tests/analysis/test_sweep_dask.py $(PYTEST_FLAGS)

fuzz: env-dev  ## hostile input for everything that reads what comes from outside, for FUZZ_MINUTES
	$(BIN)/python -m tests.fuzz --minutes $(FUZZ_MINUTES) $(FUZZ_FLAGS)

live: env $(LIVE_VENV)/.installed  ## a real frontend with its mock engine on this machine, probed; fails where premium gets another share
	$(BIN)/python tests/live.py --python $(LIVE_VENV)/bin/python

walk: env-dev  ## a hundred steps of each of twenty random runs, read back from the player
	$(BIN)/python -m pytest -m slow tests/browser/test_player.py $(PYTEST_FLAGS)

mutants: env-dev  ## break the scheduler on purpose, line by line, and see whether a test notices
	$(BIN)/python tests/mutants.py $(MUTANTS_FLAGS)

editor:  ## the editor's bundle again, from drr/ui/editor/src; needs Node and npm
	cd drr/ui/editor && npm ci --ignore-scripts && npm run build

wheel: env-dev  ## a wheel in dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove the environment and everything that was built
	rm -rf $(VENV) $(LIVE_VENV) build dist mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Ringside needs Python 3.11 or newer; '$(PYTHON)' is missing or older. Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps are written last: an installation that broke off is done again, a finished one is not.
$(VENV)/.installed: $(GROUND) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: $(GROUND) requirements-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	@touch $@ $(VENV)/.installed

# The live packages are many and large, so they stay out of the other environment.
$(LIVE_VENV)/.installed: requirements-live.txt
	@$(PYTHON) -c 'import platform, sys; sys.exit(platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"))' || { \
	  echo "The real frontend has wheels for Linux on x86_64 and aarch64 only; nothing was installed." >&2; exit 1; }
	$(PYTHON) -m venv $(LIVE_VENV)
	$(LIVE_VENV)/bin/python -m pip install --quiet --no-deps ai-dynamo==$(DYNAMO) ai-dynamo-runtime==$(DYNAMO)
	$(LIVE_VENV)/bin/python -m pip install --quiet -r requirements-live.txt
	@touch $@
