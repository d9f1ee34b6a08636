# `make demo` and `make test` each work alone on a clean clone; both begin with `make setup`.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test plain wheel golden quality speed clean
help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

setup: .venv/.ready ## the virtual environment with the upwell command, and the system packages
	@sh scripts/system-packages.sh chromium
	@sh scripts/system-packages.sh postgresql || true # for the tests of --state, which say so where it is missing

# the compiled page is part of it: built in place where there is a compiler and Python.h, left out elsewhere
.venv/.ready: pyproject.toml constraints.txt $(wildcard src/upwell/native/*)
	@sh scripts/system-packages.sh venv
	@echo "· virtual environment in .venv" && $(PYTHON) -m venv .venv
	@echo "· packages" && $(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup ## starts the bundled site, harvests it, shows where the records and the report are
	@echo "· demo" && $(BIN)/upwell demo -o demo-harvest

test: setup ## all checks: ruff, mypy, import-linter, pytest; what passes is only named
	@echo "· ruff" && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "· mypy" && $(BIN)/mypy --no-error-summary
	@echo "· import-linter" && $(BIN)/lint-imports > .venv/lint-imports.txt || (cat .venv/lint-imports.txt && false)
	@echo "· pytest" && $(BIN)/python -m pytest -n $$(getconf _NPROCESSORS_ONLN) --dist worksteal

plain: setup ## builds the wheel, installs it alone in an environment of its own, and tries what works without extras
	@echo "· plain install"
	@$(BIN)/python -m pytest tests/plain_install.py

wheel: setup ## a wheel in dist/, with the compiled page where there is a compiler
	@$(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	@ls dist/*.whl

golden: setup ## what is read otherwise in the saved answers of tests/golden (ACCEPT=1 accepts it, RECORD=1 saves the answers anew)
	$(BIN)/python -m tests.golden $(if $(RECORD),--record) $(if $(ACCEPT),--accept)

quality: setup ## the quality gate on the labelled corpora beside the project (CORPORA=folder)
	$(BIN)/python -m benchmarks.quality

speed: setup ## speed as ratios against named references, as one table (CORPORA=folder, SITES=file, PARTS="page apply …")
	$(BIN)/python -m benchmarks.speed $(PARTS)

clean: ## removes what setup, test and demo made
	rm -rf .venv demo-harvest .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build src/upwell/native/*.so
