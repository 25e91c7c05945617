# make demo     set up, then correct a sample text
# make test     set up, then run every test   (PYTEST_ARGS="-k diff" for some of them)
# make lint     ruff and mypy                 (make format repairs what can be repaired)
# make docs     regenerate the option tables of docs/cli.md
# make clean    remove everything that is not in the repository
#
# Needs make and Python 3.11 or later with venv; everything else goes into .venv. Another
# interpreter: make test PYTHON=python3.12

PYTHON ?= python3
PYTEST_ARGS ?=
BIN := .venv/bin
ROOMS := models eval web

# System packages that the tests need, installed only where the user is root and apt-get exists.
SYSTEM_PACKAGES := chromium

# What the tests import; correcting with the shipped model needs none of it.
TEST_EXTRAS := train,eval,serve,batch,test,dev

PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet \
	--no-build-isolation --constraint constraints.txt

.PHONY: demo test lint types format docs clean system-packages
.DELETE_ON_ERROR:

demo: .venv/.runtime
	$(BIN)/gec correct --diff --summary --time --batch-size 1 tests/data/learner_sample.txt

test: system-packages .venv/.tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: .venv/.tests types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy finds packages by their folders, and ours have other names: show it a tree of links.
types: .venv/.tests
	@rm -rf build/types && mkdir -p build/types/gec
	@ln -s "$(CURDIR)"/gec/* build/types/gec/
	@for room in $(ROOMS); do \
		if [ -f $$room/__init__.py ]; then ln -s "$(CURDIR)/$$room" build/types/gec/; fi; \
	done
	cd build/types && MYPYPATH=. ../../$(BIN)/mypy --strict --config-file ../../pyproject.toml \
		--cache-dir ../../.mypy_cache --package gec

format: .venv/.tests
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

docs: .venv/.runtime
	$(BIN)/python docs/help.py

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

system-packages:
	@if [ -n "$(SYSTEM_PACKAGES)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(SYSTEM_PACKAGES); \
	fi

# ---- set-up, each step once: a file in .venv says that it is done

.venv/.base: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed: make PYTHON=python3.12 ..." >&2; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
	@echo "Setting up .venv (the first time this takes some minutes)"
	@$(PIP_INSTALL) setuptools
	@touch $@

# A room that appears later changes what the editable installation maps.
.venv/.runtime: .venv/.base setup.py $(wildcard $(ROOMS:=/__init__.py))
	@$(PIP_INSTALL) --editable .
	@touch $@

.venv/.tests: .venv/.base setup.py $(wildcard $(ROOMS:=/__init__.py))
	@$(PIP_INSTALL) --editable '.[$(TEST_EXTRAS)]'
	@touch .venv/.runtime $@
