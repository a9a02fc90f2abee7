# `make demo` and `make test` do everything on a fresh Debian machine; neither needs the other first.

BIN := .venv/bin

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow lint check bench bench-felt goldens screenshots clean prepare browser

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

demo: prepare ## deal two recorded sessions: shoe, felt, broker, table and its display at work
	@$(BIN)/tablectl demo

test: browser lint check ## everything CI runs: lint, data files, tests
	@$(BIN)/pytest -m "not slow" --numprocesses auto --dist loadfile

test-slow: browser ## the long soaks
	@$(BIN)/pytest -m slow

lint: prepare ## style, types, and which module may import which
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

check: prepare ## the houses and profiles that ship
	@$(BIN)/tablectl house check
	@$(BIN)/tablectl profile check

bench: browser ## measure, and print JSON
	@$(BIN)/python -m tests.benchmarks

bench-felt: prepare ## how well cards are read, and how long a look at the felt takes; PHOTOS=FOLDER reads photographs too
	@$(BIN)/python -m tests.felt.bench $(if $(PHOTOS),--photos "$(PHOTOS)")
	@$(BIN)/python -m tests.felt.bench_enrolled
	@$(BIN)/python -m tests.felt.bench_codes
	@$(BIN)/python -m tests.felt.speed

goldens: prepare ## write anew what the tests compare with; then review the diff
	@$(BIN)/python -m tests.golden
	@$(BIN)/python -m tests.catalogues --write
	@$(BIN)/python -m tests.display.catalogues --write
	@$(BIN)/python -m tests.display.golden
	@$(BIN)/python -m tests.perft.perft --write
	@$(BIN)/python -m tablectl.mqtt.asyncapi >docs/asyncapi.json

screenshots: browser ## the display's pages as pictures, into docs/img
	@$(BIN)/python -m scripts.screenshots

clean: ## remove what was made, the environment too
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find tablectl tests -name __pycache__ -type d -prune -exec rm -rf {} +

prepare: ## the environment and the Debian packages, where they are missing
	@scripts/prepare.sh

browser: ## all that, and the browser that the display's pages are tested with
	@scripts/prepare.sh browser
