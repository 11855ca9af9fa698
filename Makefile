# Every target sets itself up: a virtualenv in .venv, made again only when what it is made from changes.
# PYTHON=python3.12 picks the interpreter; without it the newest of 3.13, 3.12, 3.11 that can make a virtualenv.

MAKEFLAGS += --no-print-directory
# Tests start hundreds of processes; without compiled modules on disk each of them compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help install run test test-slow soak check bench evaluate fuzz

BIN := .venv/bin
# pip compiles none of the 8,000 modules it installs, which takes longer than the rest: Python compiles those that are imported.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt
STAMP := .venv/installed$(subst /,-,$(PYTHON:%=-%))
RUNNING := .venv/running$(subst /,-,$(PYTHON:%=-%))

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP)  ## make .venv with everything in it; leaves .venv/bin/flowprism
	@echo "$(BIN)/flowprism is installed"

# An existing .venv is kept while it works and is of the Python asked for; an interrupted one is begun again.
define MAKE_VENV
set -e; python=$$(PYTHON='$(PYTHON)' .ci/find-python); \
wanted=$$($$python --version); there=$$($(BIN)/python --version 2>/dev/null || true); \
if ! $(BIN)/python -c 'import pip' 2>/dev/null || { [ -n '$(PYTHON)' ] && [ "$$there" != "$$wanted" ]; }; then \
	echo "making .venv with $$wanted"; \
	$$python -m venv --clear .venv; \
fi; \
echo "installing $(1) into .venv"; \
$(PIP) setuptools; \
$(PIP) --no-build-isolation --editable '$(2)'
endef

# Tests are collected once meanwhile, whatever comes of it: Python then has compiled what each process of `make test` imports.
$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(call MAKE_VENV,flowprism and what its tests and checks need,.[dev]); \
	echo "compiling the decoders and the analysis, for a minute or two"; \
	$(BIN)/pytest -q --collect-only >/dev/null 2>&1 & \
	$(BIN)/python -m flowprism.precompile; wait
	@touch $@

# Running needs neither the tools of tests and checks nor compiled kernels: a small recording is analyzed in less time than they
# take to compile. Once `make install` or a test has compiled them, they are used.
$(RUNNING): setup.cfg pyproject.toml constraints.txt
	@$(call MAKE_VENV,flowprism,.)
	@touch $@

run: $(if $(wildcard $(STAMP)),$(STAMP),$(RUNNING))  ## start the service, play a recorded job into it over UDP, print where the dashboard is; Ctrl-C ends it
	@$(if $(wildcard $(STAMP)),,NUMBA_DISABLE_JIT=1 )$(BIN)/python -m flowprism.demo out

# Folders of the fast tests lie in memory where a GiB of it is free: lakes and databases wait for a disk at each commit.
IN_MEMORY = $$([ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'END { print $$4 }')" -gt 1048576 ] && echo TMPDIR=/dev/shm)

# One process more than processors: some tests wait for a server, a browser or a timeout.
test: $(STAMP)  ## run the tests, without the slow ones and those that `make check` runs
	@env $(IN_MEMORY) $(BIN)/pytest -q --ignore tests/house -o tmp_path_retention_count=1 -m "not slow" -o faulthandler_timeout=240 --numprocesses $$(($$(nproc) + 1)) --maxprocesses 4 --dist loadfile --max-worker-restart 0

test-slow: $(STAMP)  ## run the slow tests
	@$(BIN)/pytest -q -m "slow and not soak" --numprocesses 2 --dist worksteal --max-worker-restart 0
	@$(BIN)/pytest -q -m soak

soak: $(STAMP)  ## of the slow tests, the ten minutes in which all that the service stands on goes away
	@$(BIN)/pytest -q -m soak

check: $(STAMP)  ## format, lint, types, import law, and the tests that hold docs to code
	@$(BIN)/ruff format --check --quiet . || { echo "ruff format: run '$(BIN)/ruff format .'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@MYPY_NUM_WORKERS=2 $(BIN)/mypy --no-error-summary .
	@said=$$($(BIN)/lint-imports --no-logo) || { echo "$$said"; exit 1; }
	@$(BIN)/pytest -q tests/house -m "not slow"

bench: $(STAMP)  ## run the benchmarks and print their figures
	@set -e; for script in $$(grep -l '^if __name__' benchmarks/*/[!_]*.py); do \
		echo "== $$script"; $(BIN)/python -m $$(echo $${script%.py} | tr / .); \
	done

SUITE = full
evaluate: $(STAMP)  ## simulate, analyse and mark the whole suite of cases; SUITE=medium or small for less
	@mkdir -p out
	@$(BIN)/flowprism evaluate --suite $(SUITE) --out out/scoreboard.json

TARGET = exports
MINUTES = 20
fuzz: $(STAMP)  ## fuzz one decoder: TARGET=exports MINUTES=20
	@$(PIP) atheris
	@$(BIN)/python -m tests.fuzz $(TARGET) --minutes $(MINUTES)
