# Every target sets up what it needs in .venv; nothing is installed outside of it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint format bench bench-full cross-check clean

run: $(VENV)/.run ## print thresholds and a certified radius
	$(BIN)/ellzero thresholds --k 255 --alpha 0.2 --r-max 8
	$(BIN)/ellzero radius --count 99900 --n 100000 --failure 0.001 --k 255 --alpha 0.2 --d 150528

test: $(VENV)/.dev ## run all tests
	$(BIN)/python -m pytest -q

lint: $(VENV)/.dev ## what CI checks besides the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## ratios of one run; docs/benchmarks.md explains them
	$(BIN)/python benchmarks/bench.py

bench-full: $(VENV)/.dev ## the paper's algorithm at ImageNet size, minutes on two cores
	$(BIN)/python benchmarks/full_scale.py

cross-check: $(VENV)/.dev ## a million cells by two routes, minutes on two cores
	$(BIN)/python benchmarks/cross_check.py

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("ellzero needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.run
