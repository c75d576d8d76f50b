# Two commands do everything on a fresh machine with Python 3.11 or later and git:
#   make solve    set up, then the main job on the embedded model, on a bundled patient with a real bug
#   make test     set up, then everything that CI runs
.POSIX:

PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin

.PHONY: setup dev solve test coverage test-model bench bench-patients bench-solver soak

setup: $(VENV)/.setup

$(VENV)/.setup: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,audit,agent,lsp,mcp]'
	touch $@

dev: $(VENV)/.dev

$(VENV)/.dev: $(VENV)/.setup pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,audit,bench,dev]'
	$(BIN)/python -m venv $(VENV)/patients
	$(VENV)/patients/bin/python -m pip install --quiet --disable-pip-version-check 'pytest>=8.3'
	touch $@

solve: setup
	$(BIN)/surefoot models pull
	rm -rf .cache/patient
	$(BIN)/surefoot patient .cache/patient
	$(BIN)/surefoot solve .cache/patient/ISSUE.md --repo .cache/patient

test: dev
	BIN=$(BIN) sh .ci/checks

# Which lines the tests run, in the processes that they start, too.
coverage: dev
	$(BIN)/python -m coverage run -m pytest -q -m "not soak and not model" -n auto --dist loadfile --no-loadscope-reorder
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --skip-covered

# What needs the embedded model's weights and a machine that is free for them.
test-model: dev
	$(BIN)/surefoot models pull
	$(BIN)/python -m pytest -m "model and not soak"

# SEED is the seed that the repair benchmark's cases are made from; choose one that nobody tuned to.
SEED = 7

bench: dev
	$(BIN)/python -m bench.costs
	$(BIN)/surefoot models pull
	$(BIN)/python -m bench.repair.pool --seed $(SEED)
	$(BIN)/python -m bench.repair.run --seed $(SEED)

bench-patients: dev
	$(BIN)/python -m bench.patients.run

bench-solver: dev
	$(BIN)/surefoot models pull
	$(BIN)/python -m bench.solver --model

soak: dev
	$(BIN)/python -m pytest -m soak
	$(BIN)/python -m bench.kill --count 200
	$(BIN)/python -m bench.kill --plan --count 100
	$(BIN)/python -m bench.faults --count 500
	$(BIN)/python -m bench.replay --count 50
	$(BIN)/python -m bench.verify --honest 100 --tampered 100
