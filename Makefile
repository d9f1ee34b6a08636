# `make demo` and `make test` work on a clean clone; both run `make setup` first.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test plain wheel release-check docs coverage golden quality speed clean
help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

setup: .venv/.ready ## create the virtual environment with the upwell command, and install system packages
	@sh scripts/system-packages.sh chromium
	@sh scripts/system-packages.sh postgresql || true # for the tests of --state, which are skipped without it

# includes the native code, which is built in place if a compiler and Python.h are available
.venv/.ready: pyproject.toml setup.py constraints.txt $(wildcard src/upwell/native/*.[ch])
	@sh scripts/system-packages.sh venv
	@echo "· virtual environment in .venv" && $(PYTHON) -m venv .venv
	@echo "· packages" && $(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup ## start the bundled site, harvest it, print where the records and the report are
	@echo "· demo" && $(BIN)/upwell demo -o demo-harvest

test: setup ## run all checks: ruff, mypy, import-linter, pytest
	@echo "· ruff" && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "· mypy" && $(BIN)/mypy --no-error-summary
	@echo "· import-linter" && $(BIN)/lint-imports > .venv/lint-imports.txt || (cat .venv/lint-imports.txt && false)
	@echo "· pytest" && $(BIN)/python -m pytest -n $$(getconf _NPROCESSORS_ONLN) --dist worksteal

plain: setup ## build the wheel, install it without extras in its own environment, and test it
	@echo "· plain install"
	@$(BIN)/python -m pytest tests/plain_install.py

wheel: setup ## build a wheel in dist/, with the native code if a compiler is available
	@$(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	@ls dist/*.whl

release-check: setup ## build sdist and wheel, and check everything that can be checked before a tag
	@$(BIN)/python scripts/release_check.py

docs: setup ## build the documentation as a site in site/, strictly; it can be read without network
	@$(BIN)/python -c "import mkdocs" 2>/dev/null || $(BIN)/python -m pip install --quiet -c constraints.txt mkdocs-material
	@$(BIN)/python scripts/make_docs.py && PYTHONPATH=. $(BIN)/python -m mkdocs build --quiet --strict
	@echo "· documentation in site/index.html"

coverage: setup ## run the tests with coverage of lines and branches; the report is coverage-report/index.html
	@$(BIN)/python -m pip install --quiet -c constraints.txt coverage
	@$(BIN)/python -m coverage run -m pytest -p no:xdist -p no:cacheprovider || (test "$(ANYWAY)" && true)
	@$(BIN)/python -m coverage combine --quiet; $(BIN)/python -m coverage html --quiet
	@$(BIN)/python -m coverage report --skip-covered --sort=cover | tail -40

golden: setup ## show what is read differently in the saved answers of tests/golden (ACCEPT=1 accepts it, RECORD=1 saves the answers again)
	$(BIN)/python -m tests.golden $(if $(RECORD),--record) $(if $(ACCEPT),--accept)

quality: setup ## run the quality gate on the labelled corpora (CORPORA=folder)
	$(BIN)/python -m benchmarks.quality

speed: setup ## measure speed as ratios to named references, as one table (CORPORA=folder, SITES=file, PARTS="page apply …")
	$(BIN)/python -m benchmarks.speed $(PARTS)

clean: ## remove the files created by setup, test and demo
	rm -rf .venv demo-harvest .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage* coverage-report site build src/upwell/native/*.so
