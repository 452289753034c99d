# SPDX-License-Identifier: MIT
# The front door. Everything is done by Meson, the tools in tools/, and the tests themselves.

BUILD ?= build
PREFIX ?= /usr/local
MESON = meson setup --prefix=$(PREFIX) --libdir=lib

# Silent but for warnings and errors.
ninja = ninja -C $(BUILD) $(1) > $(BUILD)/ninja.log || { cat $(BUILD)/ninja.log; exit 1; }; \
	grep -A8 'warning:' $(BUILD)/ninja.log; true

.DEFAULT_GOAL := build
.PHONY: build run test check bench install uninstall format fuzz clean help

build: $(BUILD)/build.ninja ## build the libraries and the examples
	@$(call ninja)

$(BUILD)/build.ninja:
	@tools/bootstrap build
	@$(MESON) $(BUILD) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@mv $(BUILD).log $(BUILD)/setup.log

run: ## set up, build, record a small program and show its profile
	@tools/bootstrap build
	@$(MAKE) --no-print-directory build
	@$(BUILD)/examples/bytecode

test: ## set up, build, run all tests; the last line is `N passed, N failed`
	@tools/bootstrap test
	@$(MAKE) --no-print-directory build
	@$(call ninja,suites)
	@tools/run_tests $(BUILD)

check: ## formatting, include rules, gcc and clang with warnings as errors, cppcheck
	@tools/bootstrap check
	@tools/check

bench: ## the figures of bench/README.md, measured here
	@tools/bootstrap bench
	@$(MAKE) --no-print-directory build
	@bench/run $(BUILD)
	@bench/tools/run $(BUILD)
	@hosts/fble/bench/programs.py $(BUILD)
	@hosts/fble/bench/compiled.py $(BUILD)

fuzz: ## fuzz the readers for ten minutes (FUZZ_SECONDS=75 for each of eight)
	@tools/bootstrap test
	@tools/fuzz $${FUZZ_SECONDS:-75}

install: build ## install to PREFIX (/usr/local), under DESTDIR if that is set
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@meson install -C $(BUILD) --quiet

uninstall: ## remove what `make install` installed
	@ninja -C $(BUILD) --quiet uninstall

format: ## format the sources
	@git ls-files -z '*.c' '*.h' '*.cpp' | xargs -0 clang-format -i

clean: ## remove the build folders
	@rm -rf $(BUILD) $(BUILD).log

help: ## this text
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
