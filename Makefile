# SPDX-License-Identifier: MIT
# Entry points.  Meson does the building; each target runs a part of it.  Every target
# first installs the packages that it needs and that are missing (tools/setup).
PREFIX ?= /usr/local
SAN ?=
QUICK ?=

variant = $(or $(SAN),gcc)
BUILD ?= $(if $(SAN),$(if $(filter thread,$(SAN)),build-tsan,build-asan),build)

# The build of the static command that `make install` installs.
FRONT ?= build-front

# The prefix of an installation, also if PREFIX is empty.
prefix = $(or $(PREFIX),/usr/local)

ifneq ($(filter-out thread address,$(SAN)),)
$(error SAN is "thread" or "address", not "$(SAN)")
endif

all:
	@tools/setup $@
	@tools/build -d $(BUILD) $(variant)

demo:
	@tools/setup $@
	@tools/build -q -d $(BUILD) $(variant) src/cmd/weir
	@tools/demo $(BUILD)/src/cmd/weir

check:
	@tools/setup $(if $(SAN),check-all,check)
	@tools/check $(SAN) $(if $(filter address,$(SAN)),leaks)

check-all:
	@tools/setup $@
	@tools/check all

# The stages of check-all that check does not run.
check-rest:
	@tools/setup check-all
	@tools/check rest

check-long:
	@tools/setup $@
	@tools/check $(or $(SAN),long)

genmc:
	@GENMC='$(GENMC)' tools/genmc

evidence:
	@tools/evidence

bench:
	@tools/setup $@
	@tools/bench --build $(BUILD) $(if $(QUICK),--quick)

# The static command becomes the front of the full one, if there is a compiler for it.
install:
	@tools/setup $@
	@PREFIX='$(prefix)' tools/build -d $(BUILD) $(variant)
	@front=; \
	if [ -z '$(SAN)' ] && command -v musl-gcc >/dev/null; then \
		if PREFIX='$(prefix)' WEIR_BUILD_FULL='$(prefix)/libexec/weir/weir' \
				tools/build -q -d '$(FRONT)' static src/cmd/weir 2>'$(FRONT).log'; then \
			front='$(FRONT)'; \
			rm '$(FRONT).log'; \
		else \
			echo 'The static command does not build ($(FRONT).log); the full one is installed alone.'; \
		fi; \
	fi; \
	PREFIX='$(prefix)' tools/install $${front:+-f "$$front"} $(BUILD) '$(DESTDIR)'

static:
	@tools/setup $@
	@tools/build -q static src/cmd/weir
	@echo build-standalone/src/cmd/weir

deb:
	@tools/setup $@
	@tools/deb

check-deb:
	@tools/setup check-all
	@tools/check deb

lint:
	@tools/lint/run

clean:
	rm -rf build build-*

help:
	@echo 'make              build the library and the command'
	@echo 'make demo         build, then run a dozen jobs under a limit; one is killed'
	@echo 'make check        build, lint and run the test suites: under four minutes'
	@echo 'make check-all    also real servers, other compilers, sanitizers, fuzzing, environments: over half an hour'
	@echo 'make check-rest   the stages of check-all that check does not run'
	@echo 'make check-long   the full forms, and other machines (emulated): over an hour'
	@echo 'make genmc        the core under GenMC, a model checker: GENMC=PATH'
	@echo 'make evidence     write docs/evidence.md from the last check-long'
	@echo 'make bench        measure against every peer; QUICK=1: two minutes'
	@echo 'make install      install into PREFIX=$(prefix), below DESTDIR if set'
	@echo 'make static       build the command as one static file, with musl'
	@echo 'make deb          build the Debian packages in build-deb/'
	@echo 'make check-deb    build them, and install, use and remove them in a chroot'
	@echo 'make lint         run the lints over the sources'
	@echo 'make clean        remove the build directories'
	@echo
	@echo 'SAN=thread or SAN=address before a target builds it with that sanitizer;'
	@echo 'with check or check-long it runs that stage alone.'

.PHONY: all demo check check-all check-rest check-long genmc evidence bench install \
	static deb check-deb lint clean help
