#!/bin/sh
# Builds the documentation in docs/_build. A warning is an error, and nothing is fetched.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/python -m sphinx --quiet --fail-on-warning --keep-going docs docs/_build
