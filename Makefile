# Two commands are all that is needed (Python >= 3.11, git and make):
#   make build   virtual environment, installation, data/clwqa-100k/
#   make test    every check and the whole test suite
# A file in .venv/ marks each finished installation, so a second run starts at once.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
DATA := data/clwqa-100k
PYTHON_FOLDERS := clwqa_bench builders baselines leaderboard tests benchmarks docs/*.py
# The first interpreter that is new enough; override with `make build PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: help
help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':|## ' '{ printf "make %-10s %s\n", $$1, $$NF }'

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 found; name one: make build PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "this Python has no working venv module (Debian, Ubuntu: install python3-venv)" >&2; exit 2; }

$(VENV)/.installed-build: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing $(@:$(VENV)/.installed-%=%) requirements into $(VENV)/ ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[build]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing $(@:$(VENV)/.installed-%=%) requirements into $(VENV)/ ..." >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed-build

# `clwqa-bench build` decides itself what is up to date (content, not time stamps), so it always runs.
.PHONY: build
build: $(VENV)/.installed-build  ## make the dataset: data/clwqa-100k/
	$(BIN)/clwqa-bench build --out $(DATA)

.PHONY: build-full
build-full: $(VENV)/.installed-build  ## make the larger dataset, which needs npm once: data/clwqa-100k-full/
	$(BIN)/clwqa-bench build --profile full --out $(DATA)-full

.PHONY: lint
lint: $(VENV)/.installed-dev  ## style, types and the walls between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: docs
docs: $(VENV)/.installed-dev  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Pages are tested in a real browser, signatures with ssh-keygen, the full profile with packages of npm.  Where Debian's
# packages can be installed they are; elsewhere what is missing leaves its tests out and says so, except in continuous
# integration, which never leaves any out.
.PHONY: tools
tools:
	@missing=; \
	for tool in chromium:chromium chromedriver:chromium-driver ssh-keygen:openssh-client npm:npm; do \
		command -v "$${tool%%:*}" >/dev/null || missing="$$missing $${tool#*:}"; \
	done; \
	test -z "$$missing" && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing$$missing ..." >&2; \
		apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; \
	elif [ -n "$$CI" ]; then \
		echo "not here, and no right to install it:$$missing" >&2; exit 2; \
	else \
		echo "some tests are left out; to run them, install$$missing" >&2; \
	fi

.PHONY: test
test: lint docs build tools  ## every check and the whole test suite
	command -v chromedriver >/dev/null || marks='not browser'; $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m "$$marks"

.PHONY: bench
bench: $(VENV)/.installed-dev build  ## measure times and memory on the built data
	$(BIN)/python -m benchmarks

.PHONY: clean
clean:  ## remove everything that can be made again (the environment too)
	rm -rf $(VENV) data site build dist reports .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf ./*.egg-info
