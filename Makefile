# Everything from a fresh clone: needs Python 3.11 (or newer) and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV ?= $(shell command -v uv || echo .tools/bin/uv)
UV_VERSION := 0.13.7
RUN := .venv/bin/python -m
export UV_PYTHON_DOWNLOADS = never
export UV_PROJECT_ENVIRONMENT = .venv
# Every Python worker of every executor imports from .venv: compile once.
export UV_COMPILE_BYTECODE = 1
# The same for our own sources and tests, which hundreds of processes import: empty is "write it".
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-slow test-all check format map bench docs browser clean

demo: .venv/ready  ## An elastic run on a real Spark cluster of your own, about a minute
	.venv/bin/penstock run wordcount

test: check  ## Lint, types, layers, doctests and every test but the slowest
	$(RUN) pytest -m "not slow and not spark" -n 2 --dist loadfile
	$(RUN) pytest tests -m "spark and not slow"

test-slow: .venv/ready  ## Only the slowest: executors killed, other clusters, the bundled Java
	$(RUN) pytest tests -m slow

test-all: test test-slow  ## Everything

check: .venv/ready
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	.venv/bin/lint-imports

format: .venv/ready
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

map: .venv/ready  ## The house on one page: packages, imports, widest folders, unused names
	$(RUN) tools.map

bench: .venv/ready  ## Every figure of docs/benchmarks.md, ours beside the baseline
	$(RUN) benchmarks

docs: .venv/ready  ## The documentation as a site in site/; a broken link or a missing page is an error
	$(RUN) sphinx --builder html --fail-on-warning --keep-going --nitpicky --quiet docs site
	@echo "site/index.html"

browser:  ## The browser that tests of the dashboard look at it with: Debian's chromium, if there is none
	@command -v chromium chromium-browser google-chrome || \
	  { command -v apt-get >/dev/null && apt-get update && apt-get install -y --no-install-recommends chromium; } || \
	  { echo "install chromium, so that the command chromium or google-chrome is on PATH" >&2; exit 1; }

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet uv==$(UV_VERSION)

.venv/ready: pyproject.toml uv.lock $(filter .tools/bin/uv,$(UV))
	$(UV) sync --locked --all-extras --python $(PYTHON)
	@touch $@

clean:
	rm -rf .venv .tools runs site .mypy_cache .ruff_cache .pytest_cache
