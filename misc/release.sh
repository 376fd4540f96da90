#!/bin/sh
# Builds the distributions, checks them, and runs the wheel outside the clone: make release.
set -eu
cd "$(dirname "$0")/.."
BIN=$PWD/.venv/bin
rm -rf build dist
"$BIN/python" -m build --quiet
"$BIN/python" -m twine check --strict dist/*

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tried=
for version in 3.11 3.12 3.13; do
    python=$(command -v "python$version") || python=
    for built in "$HOME/.pyenv/versions/$version".*/bin/python; do
        [ -x "$built" ] && python=$built
    done
    [ -n "$python" ] || continue
    "$python" -m venv "$scratch/$version"
    "$scratch/$version/bin/python" -m pip install --quiet --disable-pip-version-check dist/*.whl
    (cd "$scratch" && "$scratch/$version/bin/tfrun" -w 2 -- true)
    tried="$tried $version"
done
[ -n "$tried" ] || { echo "misc/release.sh: no Python from 3.11 to 3.13 was found" >&2; exit 1; }
if docker info >/dev/null 2>&1; then
    make image
    image='the image is built'
else
    image='the image is not built, because no Docker engine answers'
fi
echo "dist/ is ready; the wheel ran on Python$tried; $image"
