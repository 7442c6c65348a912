# make demo | test | test-all | bench | docs | lint | size
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# commands started by tests and the demo read compiled modules instead of compiling them anew each time
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all bench docs lint size clean

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/llama.py

lint: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2 -m "not long"

test-all: lint
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -n 2

bench: $(STAMP)
	$(BIN)/headrace bench

docs: $(STAMP)
	$(BIN)/python docs/generate.py

size:
	@for room in $$(ls -d src/headrace/*/ | grep -v __pycache__); do \
		printf '%6d  %s\n' $$(find $$room -name '*.py' | xargs cat | wc -l) $$room; done

clean:
	rm -rf .venv build dist src/*.egg-info
