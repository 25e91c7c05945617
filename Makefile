# make demo     set up, then correct a sample text
# make test     set up, then run every test   (PYTEST_ARGS="-k diff" for some of them)
#               (all of them: then those that need fairseq, in .venv-fairseq)
# make lint     ruff and mypy                 (make format repairs what can be repaired)
# make sanitize the C kernel and damaged bundles under the address and undefined behaviour sanitizers
# make docs     regenerate the option tables of docs/cli.md and the reference of docs/api.md
# make site     the documentation as a site, in build/site
# make diagrams draw the diagrams of the pages anew, for the site; needs npm and chromium
# make bench    measure everything in docs/performance.md   (BENCH_FILE=conll13.m2; takes hours,
#               on an idle machine)
# make model-wheel   the large model as a wheel of its own, in dist/
# make vscode   test the extension for VS Code and pack it (web/vscode/gec-*.vsix); needs npm
# make wheels   the source distribution and a wheel for every platform, in dist/
# make check-wheels   make wheels, then check them: contents, libraries, empty environments
#               (PYTHONS="python3.12 python3.13" for more interpreters than that of .venv)
# make image-check  build the image of web/deploy/Dockerfile, run it and ask it; needs podman or docker
#               (CONTAINERS="podman --runtime runc" IMAGE_BUILD="options" IMAGE_RUN="options")
# make clean    remove what make made
#
# Needs make and Python 3.11 or later with venv; everything else goes into .venv, without a C compiler
# on the machine a package with one, too. Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
PYTEST_ARGS ?=
PYTEST_WORKERS ?= 2
BIN := .venv/bin
FAIRSEQ_BIN := .venv-fairseq/bin
ROOMS := models eval web

# System packages that the tests need (fairseq is compiled). Those that are missing are installed
# if the user is root and apt-get exists; a service among them is not started.
SYSTEM_PACKAGES := chromium curl firefox-esr g++ neovim nginx python3-dev

# What the tests import; correcting with the shipped model needs none of it.
TEST_EXTRAS := train,large,eval,checkers,serve,lsp,batch,convert,test,dev,site

PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet \
	--no-build-isolation --constraint constraints.txt

.PHONY: demo test test-fairseq .venv-fairseq lint types sanitize format docs bench model-wheel vscode wheels \
	check-wheels image-check site diagrams clean system-packages
.DELETE_ON_ERROR:

demo: .venv/.runtime
	$(BIN)/gec correct --diff --summary --time --batch-size 1 tests/data/learner_sample.txt

test: system-packages .venv/.tests
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) $(PYTEST_ARGS)
	@[ -n "$(PYTEST_ARGS)" ] || $(MAKE) --no-print-directory test-fairseq

# fairseq, hydra and their like would load plugins into pytest that Python 3.11 cannot import.
test-fairseq: system-packages .venv-fairseq
	GEC_FAIRSEQ=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(FAIRSEQ_BIN)/python -m pytest \
		-p pytest_timeout tests/models/fairseq

lint: .venv/.tests types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy finds packages by their folders, and ours have other names: show it a tree of links.
types: .venv/.tests
	@rm -rf build/types && mkdir -p build/types/gec
	@ln -s "$(CURDIR)"/gec/* build/types/gec/
	@for room in $(ROOMS); do \
		if [ -f $$room/__init__.py ]; then ln -s "$(CURDIR)/$$room" build/types/gec/; fi; \
	done
	cd build/types && MYPYPATH=. ../../$(BIN)/mypy --strict --config-file ../../pyproject.toml \
		--cache-dir ../../.mypy_cache --package gec

# A second tree of links, in which the library is compiled to stop at what it must not do. Needs gcc.
# libstdc++ comes first, too: else the address sanitizer ends at another library's first exception.
SANITIZE_INPUTS ?= 2000
SANITIZE_SEED ?= 0

sanitize: .venv/.tests
	@rm -rf build/sanitize && mkdir -p build/sanitize/gec/models/native
	@ln -s "$(CURDIR)"/gec/* build/sanitize/gec/
	@ln -s "$(CURDIR)/eval" "$(CURDIR)/web" build/sanitize/gec/
	@ln -s $(addprefix "$(CURDIR)"/,$(filter-out models/native,$(wildcard models/*))) build/sanitize/gec/models/
	@ln -s "$(CURDIR)"/models/native/*.py build/sanitize/gec/models/native/
	$(BIN)/python models/native/build.py build/sanitize/gec/models/native/_gec_native.so --cc gcc \
		--flags="-g -O0 -fsanitize=address,undefined -fno-sanitize-recover=all"
	for run in "-m pytest -q tests/models/test_native.py tests/models/test_light.py tests/models/test_light_blocks.py tests/models/test_llama.py tests/models/test_output_states.py \
		tests/models/test_quantization.py tests/native/test_kernels.py tests/native/test_library.py" \
		"tests/fuzz_bundles.py --inputs $(SANITIZE_INPUTS) --seed $(SANITIZE_SEED)"; do \
		PYTHONSAFEPATH=1 PYTHONPATH=build/sanitize:tests OMP_NUM_THREADS=1 \
			ASAN_OPTIONS=detect_leaks=0:malloc_context_size=5:quarantine_size_mb=64 \
			LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so.6)" \
			$(BIN)/python $$run || exit 1; \
	done

format: .venv/.tests
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

docs: .venv/.tests
	$(BIN)/python docs/help.py
	$(BIN)/python docs/api.py

# A warning is an error (not with --quiet); the theme's notice about its successor is not shown.
site: .venv/.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open build/site/index.html"

diagrams: .venv/.tests
	@mkdir -p build/mermaid
	npm pack --silent --pack-destination build/mermaid mermaid@11.17.2
	tar -xzf build/mermaid/mermaid-11.17.2.tgz -C build/mermaid package/dist/mermaid.min.js
	$(BIN)/python docs/diagrams.py build/mermaid/package/dist/mermaid.min.js

# The tables of docs/performance.md. More sentences, another architecture: BENCH_OPTIONS.
BENCH_OPTIONS ?= --sample 200 --replay 6+6x512 --replay 12+2x512 --vocabulary 16000

bench: .venv/.tests .venv-fairseq
	@[ -n "$(BENCH_FILE)" ] || { echo "Name sentences: make bench BENCH_FILE=FILE" >&2; exit 1; }
	@mkdir -p build
	$(BIN)/gec bench "$(BENCH_FILE)" --check-lossless --batch-size 1 --batch-size 32 \
		--write docs/performance.md --json build/lossless.json
	$(BIN)/gec bench "$(BENCH_FILE)" $(BENCH_OPTIONS) --peers all --batch-size 1 --batch-size 32 \
		--profile --memory --growth 100000 --fairseq-python $(FAIRSEQ_BIN)/python \
		--write docs/performance.md --plots docs/images --json build/bench.json

# The fetched model MODEL as a wheel of its own in dist/, for machines that reach no index.
MODEL ?= en-large

model-wheel: .venv/.tests
	$(BIN)/gec model get $(MODEL)
	$(BIN)/python -m gec.models.fetch.wheel $(MODEL) dist

vscode:
	cd web/vscode && npm ci && npm test && npm run package

# Cross compilation by the package ziglang. ARM's kernels are checked under qemu-user, where that is
# installed (Debian: qemu-user, gcc-aarch64-linux-gnu).
PYTHONS ?=

wheels: .venv/.wheels
	rm -f dist/gec_toolkit-*
	$(BIN)/python -m gec.models.native.wheels dist

check-wheels: wheels .venv/.tests
	$(BIN)/python -m twine check --strict dist/gec_toolkit-*
	$(BIN)/check-wheel-contents dist/gec_toolkit-*.whl
	GEC_DIST="$(CURDIR)/dist" GEC_PYTHONS="$(PYTHONS)" $(BIN)/python -m pytest -v tests/packages

# Podman's own format has no health check. Where no registry is reached, Debian's packages make the base
# image (docs/server.md).
CONTAINERS ?= $(notdir $(shell command -v podman || command -v docker))
IMAGE_FORMAT = $(if $(findstring podman,$(CONTAINERS)),--format docker)
IMAGE_BUILD ?=
IMAGE_RUN ?=

image-check: .venv/.tests
	@[ -n "$(CONTAINERS)" ] || \
		{ echo "make image-check builds and runs an image: install podman or docker" >&2; exit 1; }
	$(CONTAINERS) build --file web/deploy/Dockerfile --tag gec-check $(IMAGE_FORMAT) $(IMAGE_BUILD) .
	GEC_IMAGE=gec-check GEC_CONTAINERS="$(CONTAINERS)" GEC_RUN="$(IMAGE_RUN)" \
		$(BIN)/python -m pytest -v tests/web/test_image.py

clean:
	rm -rf models/native/*.so web/vscode/node_modules web/vscode/out web/vscode/*.vsix
	rm -rf .venv .venv-fairseq build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

system-packages:
	@missing=; for package in $(SYSTEM_PACKAGES); do \
		[ "$$(dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null)" = installed ] || \
			missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && \
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing; \
	fi

# ---- set-up, each step once: a file in .venv says that it is done

.venv/.base: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed: make PYTHON=python3.12 ..." >&2; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
	@echo "Setting up .venv (the first time this takes some minutes)"
	@$(PIP_INSTALL) setuptools
	@$(BIN)/python models/native/build.py >/dev/null 2>&1 || { \
		echo "No C compiler starts here: the package ziglang compiles the library"; \
		$(PIP_INSTALL) ziglang || echo "The library is left out: the extra torch computes instead" >&2; }
	@touch $@

# A room that appears later changes what the editable installation maps.
.venv/.runtime: .venv/.base setup.py pyproject.toml $(wildcard $(ROOMS:=/__init__.py))
	@$(PIP_INSTALL) --editable .
	@touch $@

.venv/.tests: .venv/.base setup.py pyproject.toml $(wildcard $(ROOMS:=/__init__.py))
	@$(PIP_INSTALL) --editable '.[$(TEST_EXTRAS)]'
	@touch .venv/.runtime $@

.venv/.wheels: .venv/.runtime
	@$(PIP_INSTALL) --editable '.[wheels]'
	@touch $@

.venv/.site: .venv/.runtime
	@$(PIP_INSTALL) --editable '.[site]'
	@touch $@

# The real fairseq, which is unmaintained, has an environment of its own. Its omegaconf has metadata
# that pip 24.1 and later refuse. It is built in isolation: where its build sees torch, it wants to
# compile sources that the release does not hold. The constraint reaches the isolated build, too.
.venv-fairseq: .venv-fairseq/.ready

.venv-fairseq/.ready: constraints.txt setup.py pyproject.toml $(wildcard $(ROOMS:=/__init__.py))
	@[ -x $(FAIRSEQ_BIN)/python ] || $(PYTHON) -m venv .venv-fairseq || \
		{ rm -rf .venv-fairseq; exit 1; }
	@echo "Setting up .venv-fairseq (the first time this takes some minutes)"
	@$(FAIRSEQ_BIN)/python -m pip --disable-pip-version-check --no-input install --quiet 'pip<24.1'
	@PIP_CONSTRAINT="$(CURDIR)/constraints.txt" $(FAIRSEQ_BIN)/python -m pip \
		--disable-pip-version-check --no-input install --quiet --editable '.[fairseq]' \
		pytest pytest-timeout
	@touch $@
