# Tidemark: `make demo` and `make test` do all of their own set-up. Everything lives in .venv.
PYTHON ?= python3
VENV_PYTHON := .venv/bin/python
PACKAGES := model replication nemesis workloads checkers clusters spark_analysis reports harness

.PHONY: help setup java demo test lint format bench acceptance clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo         show what Tidemark does, on this machine, in a few minutes'
	@echo 'make test         run every test this machine can run; name the ones it cannot'
	@echo 'make lint         format, lint, types, layering'
	@echo 'make bench        the figures, and their ratio to the last ones (bench/last.json)'
	@echo 'make acceptance   the long figures: fresh clones, thousands of examples'
	@echo 'make java         add a Java runtime as a wheel to .venv'
	@echo 'make setup        only the environment;  make clean  removes it'

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt tools/setup.py
	@$(PYTHON) tools/setup.py

java: setup
	@$(PYTHON) tools/setup.py --java

demo: setup
	@$(VENV_PYTHON) -m harness demo

test: setup
	@$(VENV_PYTHON) -m pytest -n auto --dist loadgroup -m 'not acceptance' $(PYTEST)

lint: setup
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-cache

format: setup
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

bench: setup
	@$(VENV_PYTHON) -m bench

acceptance: setup
	@TIDEMARK_EXAMPLES=acceptance $(VENV_PYTHON) -m pytest -n auto -m 'not acceptance' tests/model tests/replication --timeout 3600 $(PYTEST)
	@$(VENV_PYTHON) -m pytest -m acceptance -s --timeout 3600 $(PYTEST)

clean:
	rm -rf .venv build *.egg-info
