# Everything on a fresh machine with Python >= 3.11 and make: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Torch's wheel on the index carries several GB of CUDA packages; the constraint names one that a CPU needs not.
CONSTRAINTS := constraints.txt

.PHONY: demo test test-all test-ops test-triton test-nvfuser test-gpu test-gpu-ops fuzz lint bench docs clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[examples]'
	@touch $@

$(VENV)/.test: pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[test,dev]'
	$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  && $(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) torch || true
	@touch $@

# Triton's wheel is 190 to 290 MB, 640 MB on the disk: not for every test run.
$(VENV)/.triton: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[triton]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[docs]'
	@touch $@

demo: $(VENV)/.demo  ## the elevation model, shaded: under NumPy and under tnp
	$(BIN)/python examples/hillshade.py --out out/hillshade.png

test: $(VENV)/.test  ## all tests; of those with many cases a part, on the next day another
	@echo 'Running the tests but those that need Triton (make test-triton) or a GPU (make test-gpu): about 8 minutes on 2 cores.'
	env -u PYTHONDONTWRITEBYTECODE TNP_CHECK=1 TNP_SOME_CASES=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test-all: $(VENV)/.test  ## the same with all cases
	env -u PYTHONDONTWRITEBYTECODE TNP_CHECK=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test-triton: $(VENV)/.triton  ## the triton executor: in Triton's interpreter, and compiled to PTX; Inductor on the CPU; no GPU needed
	TRITON_INTERPRET=1 TNP_TEST_INDUCTOR=1 $(BIN)/python -m pytest -n 2 --dist worksteal \
	  tests/executors/triton/test_triton.py tests/executors/triton/test_triton_random.py tests/executors/triton/test_triton_launches.py tests/executors/triton/test_triton_source.py tests/executors/triton/test_triton_cross_entropy.py tests/executors/cupy/test_cupy.py tests/executors/cupy/test_cupy_arrays.py tests/executors/cupy/test_cupy_kernels.py tests/executors/cupy/test_gpu_bad_input.py tests/executors/test_torch_compile_executor.py

test-nvfuser: $(VENV)/.test  ## the nvfuser executor on its stand-in: hundreds of random programs, a hundred samples of each operation
	TNP_FUZZ_EXAMPLES=500 TNP_NVFUSER_SAMPLES=100 $(BIN)/python -m pytest -n 2 --dist worksteal tests/executors/test_nvfuser.py

test-gpu:  ## everything that needs a CUDA device, with the PYTHON that is there (it installs nothing), and the table of benchmarks/gpu.py
	TRITON_INTERPRET=0 PYTHONPATH=. $(PYTHON) -m pytest -q -rs -m gpu tests/executors/cupy/test_gpu.py tests/executors/cupy/test_gpu_torch.py; status=$$?; \
	  PYTHONPATH=. $(PYTHON) benchmarks/gpu.py && exit $$status

test-gpu-ops:  ## every operation of NumPy's and torch's, and random programs, on a CUDA device, with the PYTHON that is there
	TRITON_INTERPRET=0 PYTHONPATH=. $(PYTHON) -m pytest -q -rs -m gpu -n 8 tests/executors/cupy/test_gpu_operations.py

test-ops: $(VENV)/.test  ## every sample of every operation with every dtype on every executor
	TNP_EVERY_SAMPLE=1 TNP_CHECK=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/testing/test_ops.py

fuzz: $(VENV)/.test  ## thousands of random programs on the llvm executor, others each time
	TNP_CHECK=1 TNP_FUZZ_EXAMPLES=$${TNP_FUZZ_EXAMPLES:-3000} TNP_FUZZ_SEED=$${TNP_FUZZ_SEED:-$$(date +%s)} \
	  $(BIN)/python -m pytest -n 2 tests/executors/llvm/test_llvm_fuzz.py -k random_program

lint: $(VENV)/.test  ## style, types of the core and of what users import
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench  ## tnp beside NumPy and the peers that are installed
	$(BIN)/python benchmarks/run.py

# make_pictures.py needs graphviz, and its pictures change with the results of benchmarks alone.
GENERATED = $(filter-out docs/make_site.py docs/make_pictures.py,$(sort $(wildcard docs/make_*.py)))

docs: $(VENV)/.docs  ## writes the pages that docs/make_*.py make anew, and builds the site into out/site
	set -e; for page in $(GENERATED); do $(BIN)/python $$page; done
	$(BIN)/python docs/make_site.py
	@echo 'The site is out/site/index.html.'

clean:
	rm -rf $(VENV) out build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
