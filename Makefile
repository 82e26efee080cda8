# Every target sets up what it needs in .venv; outside of it only Debian's chromium for the tests of the page and wrk for
# the benchmarks, where that is allowed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run serve test lint format architecture client reference demo-model bench bench-full cross-check fuzz chaos clean

run: $(VENV)/.run ## compute a small table, serve it, ask it through the client
	$(BIN)/python examples/first_run.py

serve: $(VENV)/.run ## keep the service and its page up
	$(BIN)/ellzero serve

test: $(VENV)/.dev $(VENV)/.browser $(VENV)/.axe ## run all tests
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.dev ## what CI checks besides the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

client: $(VENV)/.dev ## write the synchronous client from the asynchronous one
	$(BIN)/python tools/generate_sync_client.py

reference: $(VENV)/.dev ## compute the table that ships anew, to the same bytes
	rm -rf tables/ellzero/tables/bundled_table
	$(BIN)/ellzero precompute --grid tables/ellzero/tables/bundled_grid.toml --out tables/ellzero/tables/bundled_table
	$(BIN)/ellzero precompute --grid tables/ellzero/tables/bundled_sparse_grid.toml --out tables/ellzero/tables/bundled_table --compact

demo-model: $(VENV)/.dev ## train the model that ships anew, seconds
	rm -rf smoothing/ellzero/smoothing/models/demo build/demo
	$(BIN)/ellzero train --data digits --binarize 8 --alpha 0.9 --architecture mlp --config width=128 --config depth=1 \
	  --epochs 60 --decay-every 20 --device cpu --out build/demo/demo-digits.safetensors
	mkdir smoothing/ellzero/smoothing/models/demo
	mv build/demo/demo-digits.safetensors smoothing/ellzero/smoothing/models/demo

architecture: $(VENV)/.dev ## draw docs/architecture.svg from the import graph
	$(BIN)/python tools/draw_architecture.py

bench: $(VENV)/.dev ## ratios of one run; docs/benchmarks.md explains them
	tools/debian_package.sh wrk wrk
	PYTHONPATH=tests $(BIN)/python benchmarks/bench.py

fuzz: $(VENV)/.dev ## a thousand strange requests to each operation of the service, minutes
	ELLZERO_FUZZ_EXAMPLES=1000 $(BIN)/python -m pytest -q -s tests/serve/test_fuzz.py

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
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[client,serve]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@ $(VENV)/.run

$(VENV)/.browser: tools/debian_package.sh | $(VENV)/bin/python
	tools/debian_package.sh chromium chromium fonts-dejavu-core
	touch $@

# The lockfile has the digest. `npm ci` empties its folder before it fetches, and leaves it empty if that fails: so it runs
# in a folder of its own, and the one file that the tests need is moved into place whole. Without it they are skipped.
$(VENV)/.axe: tests/serve/page/package.json tests/serve/page/package-lock.json | $(VENV)/bin/python
	tools/debian_package.sh npm npm
	folder=$$(mktemp -d $(VENV)/axe.XXXXXX) && trap 'rm -rf "$$folder"' EXIT && cp $^ "$$folder" && \
	  if npm ci --prefix "$$folder" --ignore-scripts --no-audit --no-fund --silent --fetch-timeout 60000; \
	  then mv "$$folder/node_modules/axe-core/axe.min.js" $(VENV)/axe.min.js && touch $@; \
	  else echo "axe-core could not be installed; its tests will be skipped"; fi
