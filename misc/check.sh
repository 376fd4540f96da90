#!/bin/sh
# Every check that runs no test: formatting, lint, types, documentation.
set -eu
cd "$(dirname "$0")/.."
BIN=.venv/bin
"$BIN/ruff" format --check .
"$BIN/ruff" check .
"$BIN/mypy"
misc/words.sh
misc/docs.sh
