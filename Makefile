# Two commands on a fresh machine: `make demo` and `make test`. Both need Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AUDIT := .venv-audit
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test soak check lint format types audit benchmark clean

demo: $(VENV)/.installed-demo
	$(BIN)/curriculum demo --out demo-output --force

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

soak: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m soak tests/faults

check: lint types
	$(MAKE) test

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# Known vulnerabilities of what constraints.txt pins; says so, and fails on nothing, where no data can be reached.
audit: $(AUDIT)/bin/pip-audit
	$(AUDIT)/bin/python tests/faults/audit.py $(AUDIT)/bin/pip-audit constraints.txt

benchmark: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/help_not_harm.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/augmentation.py --write

clean:
	rm -rf $(VENV) $(AUDIT) demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "curriculum-labeling needs Python 3.11 or newer; set PYTHON=/path/to/python3.11."; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) (once; a few minutes) ..."
	$(INSTALL) -e ".[$*]"
	@touch $@

$(AUDIT)/bin/pip-audit: constraints.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip-audit==2.10.1
	@touch $@
