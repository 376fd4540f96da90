# Two commands matter: `make demo` and `make test`. Both need only Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

WORKERS ?= 3
REPEAT ?= 1
SECONDS ?= 60

# The image, and what it is built from. Its Python must be that of $(BIN): the wheels are made with it.
IMAGE ?= tfmesos/tfmesos
EXTRAS ?= tf,zk
BASE ?= python:$(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')-slim

# Unit tests lie in folders named as those of the package, and beside them.
ROOMS := $(patsubst tfmesos/%/__init__.py,tests/%,$(wildcard tfmesos/*/__init__.py))
UNIT_TESTS := $(wildcard tests/test_*.py $(ROOMS))

.PHONY: demo test test-fast bench torch frameworks chaos fuzz mutants check docs reference format clean image release

demo: $(VENV)/installed-for-demo
	cd examples/mnist && $(CURDIR)/$(BIN)/tfrun -w 2 -s 1 -- $(CURDIR)/$(BIN)/python mnist_replica.py \
		--ps_hosts {ps_hosts} --worker_hosts {worker_hosts} \
		--job_name {job_name} --worker_index {task_index}

# Where Python was told to write no bytecode, every worker and every process that a test starts would
# compile everything again.
test test-fast: export PYTHONDONTWRITEBYTECODE :=

# Tests wait more than they compute: more workers than cores.
test: $(VENV)/installed-for-tests
	misc/check.sh
	$(BIN)/python -m pytest -n $(WORKERS)

# The checks, and the tests that start no run, no TensorFlow and no other engine: a minute. They
# need little memory, so that many can wait at a time.
test-fast: WORKERS := 6
test-fast: $(VENV)/installed-for-tests
	misc/check.sh
	$(BIN)/python -m pytest -n $(WORKERS) $(UNIT_TESTS) --ignore=tests/mesos/genuine \
		--ignore=tests/kubernetes/genuine

# What a run costs, beside other ways to start the same processes; bench/README.rst has the results.
bench: $(VENV)/installed-for-bench
	$(BIN)/python -m bench

# A torchrun for `make bench` to compare with, in a place of its own. Without it that is left out.
torch:
	$(PYTHON) -m venv bench/.torch
	bench/.torch/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 numpy

# torch, JAX, Keras and LightGBM on two workers each, in an environment of their own: docs/frameworks.rst.
FRAMEWORKS := examples/frameworks
frameworks: $(VENV)/installed-for-demo
	$(PYTHON) -m venv $(FRAMEWORKS)/.venv
	$(FRAMEWORKS)/.venv/bin/python -m pip install --quiet --disable-pip-version-check \
		torch==2.13.0 numpy jax keras lightgbm
	$(BIN)/tfrun -w 2 --python $(CURDIR)/$(FRAMEWORKS)/.venv/bin/python -- python $(FRAMEWORKS)/torch_ddp.py
	$(BIN)/tfrun -w 2 --python $(CURDIR)/$(FRAMEWORKS)/.venv/bin/python -- python $(FRAMEWORKS)/jax_processes.py
	$(BIN)/tfrun -w 2 --python $(CURDIR)/$(FRAMEWORKS)/.venv/bin/python -- python examples/keras_jax.py
	$(BIN)/tfrun -w 2 --python $(CURDIR)/$(FRAMEWORKS)/.venv/bin/python --no-reserve-port -- \
		python $(FRAMEWORKS)/lightgbm_parallel.py

# Break every part of a run, REPEAT times over; stops at the first failure.
chaos: $(VENV)/installed-for-tests
	@for i in $$(seq $(REPEAT)); do \
		echo "chaos, $$i of $(REPEAT)"; \
		$(BIN)/python -m pytest -q -x -n $(WORKERS) tests/chaos || exit 1; \
	done

# Try each fuzzer for so many SECONDS.
fuzz: $(VENV)/installed-for-tests
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# Change what decides in every small way, and see whether the tests notice: about half an hour.
mutants: $(VENV)/installed-for-mutants
	$(BIN)/python misc/mutants.py

check: $(VENV)/installed-for-tests
	misc/check.sh

# As web pages; begin with docs/_build/index.html. The checks build them, too.
docs: $(VENV)/installed-for-docs
	misc/docs.sh

# The tables of docs/commandline.rst, docs/api.rst and docs/design.rst and the schema of job files,
# from the tables of tfrun itself.
reference: $(VENV)/installed-for-tests
	$(BIN)/python docs/reference.py
	$(BIN)/python -m tests.jobfiles.test_schema

format: $(VENV)/installed-for-tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

image: $(BIN)/python
	rm -rf docker/wheels build # which may hold modules of yesterday
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --wheel-dir docker/wheels '.[$(EXTRAS)]'
	docker build --quiet --build-arg BASE=$(BASE) --build-arg IMAGE=$(IMAGE) --tag $(IMAGE) docker
	rm -rf docker/wheels

# A source distribution and a wheel in dist/, checked and tried, and the image: docs/releasing.rst.
release: $(VENV)/installed-for-release
	misc/release.sh

clean:
	rm -rf $(VENV) build dist mutants *.egg-info docker/wheels docs/_build

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tfmesos needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-for-demo: $(BIN)/python setup.py
	@echo "installing tfmesos and TensorFlow into $(VENV); the first time this takes a minute or two"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[tf]'
	@touch $@

$(VENV)/installed-for-bench: $(BIN)/python setup.py
	@echo "installing tfmesos, TensorFlow and matplotlib into $(VENV); the first time this takes a minute or two"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[tf,bench]'
	@touch $@

$(VENV)/installed-for-docs: $(BIN)/python setup.py
	@echo "installing tfmesos and Sphinx into $(VENV); the first time this takes a minute"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/installed-for-release: $(BIN)/python setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[release]'
	@touch $@

$(VENV)/installed-for-mutants: $(VENV)/installed-for-tests setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mutants]'
	@touch $@

$(VENV)/installed-for-tests: $(BIN)/python setup.py
	@echo "installing what the tests need into $(VENV); the first time this takes a minute or two"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[tf,zk,test]'
	@touch $@ $(VENV)/installed-for-demo $(VENV)/installed-for-docs
