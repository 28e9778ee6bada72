# Two commands do everything: `make demo` and `make test`. Each sets up what it needs.
.DEFAULT_GOAL := help
# The first Python of at least 3.11 that is here. `make PYTHON=... test` takes another one.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

.PHONY: setup
setup: $(READY) ## Make .venv with everything in it, Spark too
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench,demo,dev,docs,spark]'

# What the commands below need; they make it themselves.
$(READY): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "No Python of at least 3.11 found$(if $(PYTHON), ($(PYTHON) is none)): install one, or make PYTHON=<its path>"; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench,demo,dev,docs,spark]'
	@touch $(READY)

.PHONY: demo
demo: $(READY) ## See it work: a marketplace, matched and explained, here and on Spark
	@$(BIN)/tellwhen demo

.PHONY: test
test: $(READY) ## Run the tests, all parts at once: at most 6 minutes on 2 cores
	$(BIN)/python tests/run.py engines trees spark unit

.PHONY: test-engines
test-engines: $(READY) ## Run the conformance suite: every engine against the oracle, with bounds checks
	$(BIN)/python tests/run.py engines trees

.PHONY: test-spark
test-spark: $(READY) ## Run the tests that need Spark
	$(BIN)/python tests/run.py spark

.PHONY: test-unit
test-unit: $(READY) ## Run all other tests
	$(BIN)/python tests/run.py unit

.PHONY: test-all
test-all: $(READY) ## Run all tests, the slow ones too: on every engine, with many more seeds, and without bounds checks
	$(BIN)/python tests/run.py --all engines trees spark unit unchecked

.PHONY: test-versions
test-versions: $(READY) ## Run the unit tests with the oldest and the newest allowed dependencies
	$(BIN)/python -m tools.version_matrix

.PHONY: package
package: $(READY) ## Build sdist and wheel; test the wheel in an empty environment
	$(BIN)/python -m tools.package_check

.PHONY: docs
docs: $(READY) ## Build the documentation: site/index.html opens without a server
	$(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

.PHONY: lint
lint: $(READY) ## Check style, docstrings, names, types and the direction of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tools.lint_names
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(READY) ## Run some of the papers' experiments, at most 15 minutes, and write the report
	$(BIN)/python -m bench run --scale 0.1 --most 150000 --folder bench-results
	$(BIN)/python -m bench report --folder bench-results

.PHONY: bench-foundation
bench-foundation: $(READY) ## Measure the other figures that the documents quote
	$(BIN)/python -m bench.foundation
	$(BIN)/python -m bench.conjunctions
	$(BIN)/python -m bench.insertion
	$(BIN)/python -m bench.top_k
	$(BIN)/python -m bench.computed
	$(BIN)/python -m bench.patterns
	$(BIN)/python -m bench.match_file
	$(BIN)/python -m bench.spark

.PHONY: clean
clean: ## Remove what the other commands made
	rm -rf $(VENV) .venv-oldest .venv-newest build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
