#!/bin/sh
# Every check that needs no process: formatting, lint, types.
set -eu
cd "$(dirname "$0")/.."
BIN=.venv/bin
"$BIN/ruff" format --check .
"$BIN/ruff" check .
"$BIN/mypy"
