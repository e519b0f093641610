# SPDX-License-Identifier: MIT
# The front door.  Meson is the build; this says which part of it to run.  Every
# target first installs what this machine lacks (tools/setup).
PREFIX ?= /usr/local
SAN ?=
QUICK ?=

variant = $(or $(SAN),gcc)
BUILD ?= $(if $(SAN),$(if $(filter thread,$(SAN)),build-tsan,build-asan),build)

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
	@tools/setup $@
	@tools/check $(SAN) $(if $(filter address,$(SAN)),leaks)

check-long:
	@tools/setup $@
	@tools/check $(or $(SAN),long)

evidence:
	@tools/evidence

bench:
	@tools/setup $@
	@tools/bench --build $(BUILD) $(if $(QUICK),--quick)

install:
	@tools/setup $@
	@PREFIX='$(PREFIX)' tools/build -d $(BUILD) $(variant)
	@tools/install $(BUILD) '$(DESTDIR)'

lint:
	@tools/lint/run

clean:
	rm -rf build build-*

help:
	@echo 'make              build the library'
	@echo 'make demo         build and run a dozen jobs under a limit; one is killed'
	@echo 'make check        build every way and run all tests; what CI runs'
	@echo 'make check-long   the full forms, and other machines (emulated): over an hour'
	@echo 'make evidence     write docs/evidence.md from the last check-long'
	@echo 'make bench        measure, against every peer; QUICK=1: two minutes'
	@echo 'make install      into PREFIX=$(PREFIX), below DESTDIR if set'
	@echo 'make lint         check the sources alone'
	@echo 'make clean        remove what was built'
	@echo
	@echo 'SAN=thread or SAN=address before a target builds it with that sanitizer;'
	@echo 'with check it runs that part alone.'

.PHONY: all demo check check-long evidence bench install lint clean help
