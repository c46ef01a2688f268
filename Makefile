# Every target sets up what it needs; `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := operator tests e2e benchmarks scripts
export PYTHONDONTWRITEBYTECODE ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-drift test unit e2e e2e-vllm check format bench bench-gateway plots paper contest calibrate docs lock lock-vllm clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.stamp: requirements.lock pyproject.toml scripts/setup_environment.py
	@$(PYTHON) scripts/setup_environment.py

setup: .venv/.stamp ## Make .venv from the lock file

demo: .venv/.stamp ## Watch planned routing beat flat load balancing through a real Envoy (under 3 minutes)
	@$(BIN)/cacheroute demo

demo-drift: .venv/.stamp ## Watch the planner Stable beat the paper's while rates drift (under 5 minutes)
	@$(BIN)/cacheroute demo --drift

test: unit e2e ## Run every test: pure ones, then real Envoy, Prometheus and Kubernetes

unit: .venv/.stamp ## Run the pure tests only (seconds)
	@$(BIN)/python -m pytest tests

e2e: .venv/.stamp ## Run the tests on real processes and a real Kubernetes cluster
	@$(BIN)/python -m e2e

e2e-vllm: .venv/.stamp ## Run the optional tests against real vLLM on the CPU (installs 6 GB outside the checkout)
	@$(BIN)/python -m e2e.real_vllm -rA

check: .venv/.stamp ## Format, lint, types, import layers, generated files
	@$(BIN)/ruff format --check -q $(SOURCES)
	@$(BIN)/ruff check -q $(SOURCES)
	@$(BIN)/mypy $(SOURCES)
	@$(BIN)/lint-imports
	@$(BIN)/python -m scripts.generate --check

format: .venv/.stamp ## Format the code
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)

bench: .venv/.stamp ## Measure; prints a table and writes build/bench/*.json
	@$(BIN)/python -m benchmarks

bench-gateway: .venv/.stamp ## Measure the gateway on the real Envoy; BENCH=--quick, BENCH='--only cost' (10 minutes)
	@$(BIN)/python -m benchmarks.gateway $(BENCH)

plots: .venv/.stamp ## Draw the pictures of docs/ from the last `make bench`
	@$(BIN)/python -m scripts.plots

paper: .venv/.stamp ## Simulate the paper's tables and more, write docs/results.md; PAPER=--quick (seconds), PAPER='--only T1 T4'
	@$(BIN)/python -m scripts.paper $(PAPER)

contest: .venv/.stamp ## Run every policy on the traces of a folder, and judge the diagnosis: make contest TRACES=<folder>
	@$(BIN)/python -m scripts.contest $(TRACES)

calibrate: .venv/.stamp ## Fit the simulated fleet to the two knees of the paper's table 1 again
	@$(BIN)/python -m scripts.calibrate

docs: .venv/.stamp ## Generate the CRD and the reference pages
	@$(BIN)/python -m scripts.generate

lock: .venv/.stamp ## Resolve the dependencies again
	@uv=$$(ls .tools/uv/bin/uv 2>/dev/null || command -v uv) && $$uv pip compile -q pyproject.toml --extra simulation --group dev \
		--python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock

lock-vllm: .venv/.stamp ## Resolve the optional vLLM environment again
	@cd e2e/real_vllm && uv=$$(ls ../../.tools/uv/bin/uv 2>/dev/null || command -v uv) && $$uv pip compile -q requirements.in \
		--override overrides.txt --python-version 3.11 --python-platform x86_64-manylinux_2_36 --generate-hashes \
		--no-header --no-annotate -o requirements.lock

clean: ## Remove what was built here (caches outside the checkout stay)
	@rm -rf .venv .tools build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
