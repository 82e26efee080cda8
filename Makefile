# Every target sets up what it needs in .venv; nothing is installed outside of it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint format reference bench bench-full cross-check chaos clean

run: $(VENV)/.run ## print thresholds and a certified radius, compute a small table and look a radius up in it
	$(BIN)/ellzero thresholds --k 255 --alpha 0.2 --r-max 8
	$(BIN)/ellzero radius --count 99900 --n 100000 --failure 0.001 --k 255 --alpha 0.2 --d 150528
	$(BIN)/ellzero precompute --k 1,255 --alpha 0.1:0.9:0.1 --d 784 --out build/table
	$(BIN)/ellzero tables info build/table
	$(BIN)/ellzero tables lookup build/table --p 0.99 --k 255 --alpha 0.2 --d 784

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

reference: $(VENV)/.dev ## compute the table that ships anew, to the same bytes
	rm -rf tables/ellzero/tables/reference
	$(BIN)/ellzero precompute --grid tables/ellzero/tables/reference.toml --out tables/ellzero/tables/reference --compact

bench: $(VENV)/.dev ## ratios of one run; docs/benchmarks.md explains them
	$(BIN)/python benchmarks/bench.py

bench-full: $(VENV)/.dev ## the paper's algorithm at ImageNet size, minutes on two cores
	$(BIN)/python benchmarks/full_scale.py

cross-check: $(VENV)/.dev ## a million cells by two routes, minutes on two cores
	$(BIN)/python benchmarks/cross_check.py

chaos: $(VENV)/.dev ## kill workers, nodes and drivers, fill disks, break shards: every table must end the same
	$(BIN)/python benchmarks/chaos.py

clean:
	rm -rf $(VENV) build

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("ellzero needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[tables]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@ $(VENV)/.run
