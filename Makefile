# Two commands do everything: `make demo` and `make test`. Each sets up what it needs.
.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

.PHONY: setup
setup: $(READY) ## Make .venv with everything in it, Spark too
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench,dev,service,spark]'

# What the commands below need; they make it themselves.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: set PYTHON to a Python of at least 3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench,dev,spark]'
	@touch $(READY)

.PHONY: demo
demo: $(READY) ## See it work: a small workload, matched and explained
	@$(BIN)/tellwhen demo

.PHONY: test
test: $(READY) ## Run the tests
	$(BIN)/python -m pytest -m "not slow"
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -m "not slow" tests/conformance

.PHONY: test-all
test-all: $(READY) ## Run the tests, the slow ones too
	$(BIN)/python -m pytest
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest tests/conformance

.PHONY: lint
lint: $(READY) ## Check style, types and the direction of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(READY) ## Run some of the papers' experiments, at most 15 minutes, and write the report
	$(BIN)/tellwhen bench run --most 150000
	$(BIN)/tellwhen bench report

.PHONY: bench-foundation
bench-foundation: $(READY) ## Measure the other figures that the documents quote
	$(BIN)/python -m bench.foundation
	$(BIN)/python -m bench.conjunctions
	$(BIN)/python -m bench.spark

.PHONY: clean
clean: ## Remove what the other commands made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
