# SPDX-License-Identifier: MIT
# The front door. Everything is done by Meson, the tools in tools/, and the tests themselves.

BUILD ?= build
PREFIX ?= /usr/local
VERSION = $(shell sed -n 's/^\#define OURO_VERSION "\(.*\)"/\1/p' include/ouro.h)
MESON = meson setup --prefix=$(PREFIX) --libdir=lib

# Silent but for warnings and errors.
ninja = ninja -C $(BUILD) $(1) > $(BUILD)/ninja.log || { cat $(BUILD)/ninja.log; exit 1; }; \
	grep -A8 'warning:' $(BUILD)/ninja.log; true

# What was installed meanwhile may be what a host has waited for.
reconfigure = $(MESON) --reconfigure $(BUILD) > $(BUILD)/setup.log 2>&1 || { cat $(BUILD)/setup.log; exit 1; }

.DEFAULT_GOAL := build
.PHONY: build run fleet test real firefox portable check bench install uninstall dist deb format fuzz coverage \
	clean help

build: $(BUILD)/build.ninja ## build the libraries and the examples
	@[ ! /var/lib/dpkg/status -nt $(BUILD)/build.ninja ] || $(reconfigure)
	@$(call ninja)

$(BUILD)/build.ninja:
	@tools/bootstrap build
	@$(MESON) $(BUILD) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@mv $(BUILD).log $(BUILD)/setup.log

run: ## set up, build, record a real program and open its profile in the viewer
	@tools/bootstrap build
	@$(MAKE) --no-print-directory build
	@tools/show $(BUILD)

fleet: ## set up, build, and open the viewer on a store with three services that push; Ctrl-C removes it
	@tools/bootstrap build
	@$(MAKE) --no-print-directory build
	@tools/fleet-demo $(BUILD)

test: ## set up, build, run all tests (WORD=cli: some); the last line is `N passed, N failed`
	@tools/bootstrap test
	@$(MAKE) --no-print-directory build
	@$(call ninja,suites)
	@PATH=$$(tools/programs $(BUILD)) && export PATH && tools/run_tests $(BUILD) $(WORD)

real: ## programs of Debian's Python packages beside cProfile, and Python's own suites (WORD=sympy: some); some minutes
	@tools/bootstrap test
	@$(MAKE) --no-print-directory build
	@hosts/python/tests/real.py $(BUILD)/ouro $(BUILD)/hosts/python $(WORD)

firefox: ## the browser tests in Debian's firefox-esr instead of Chromium (WORD=flame: some); a minute or two
	@tools/bootstrap firefox
	@$(MAKE) --no-print-directory build
	@$(call ninja,suites)
	@tests/web/firefox/run $(BUILD) $(WORD)

portable: ## build for arm64, s390x and with musl, run the unit suites there; some minutes
	@tools/bootstrap portable
	@$(MAKE) --no-print-directory build
	@tools/portable $(BUILD) build-portable

check: ## formatting, include rules, long lines, links, warnings of gcc and clang, cppcheck
	@tools/bootstrap check
	@tools/check

bench: ## every figure that we promise, measured here; the table goes to bench/results.md
	@tools/bootstrap bench
	@$(MAKE) --no-print-directory build
	@bench/all $(BUILD)

fuzz: ## fuzz the readers and the recorder (FUZZ_SECONDS=40 for each target), then 3,000 random Fble programs
	@tools/bootstrap test
	@tools/fuzz $${FUZZ_SECONDS:-40}
	@tools/fuzz --memory $${FUZZ_SECONDS:-40}
	@$(MAKE) --no-print-directory build
	@$(call ninja,suites)
	@FBLE_PROGRAMS=$${FBLE_PROGRAMS:-3000} sh -c "$$(grep test_programs.py $(BUILD)/tests/suites.txt)"

install: build ## install to PREFIX (/usr/local), under DESTDIR if that is set
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@$(call ninja)
	@meson install -C $(BUILD) --quiet --no-rebuild

uninstall: ## remove what `make install` installed
	@ninja -C $(BUILD) --quiet uninstall > $(BUILD)/uninstall.log || { cat $(BUILD)/uninstall.log; exit 1; }

dist: ## a source tarball of what is committed, in the build folder
	@mkdir -p $(BUILD)
	@git archive --prefix=ouro-$(VERSION)/ -o $(BUILD)/ouro-$(VERSION).tar.gz HEAD
	@echo $(BUILD)/ouro-$(VERSION).tar.gz

deb: ## a Debian package, in the build folder
	@tools/bootstrap deb
	@tools/deb $(BUILD)

coverage: ## which lines the tests reach; the others are listed in build-coverage/unreached.txt
	@tools/bootstrap test
	@tools/coverage build-coverage

format: ## format the sources
	@git ls-files -z '*.c' '*.h' '*.cpp' | xargs -0 clang-format -i

clean: ## remove the build folders
	@rm -rf $(BUILD) $(BUILD).log build-coverage build-portable

help: ## this text
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
