# SPDX-License-Identifier: GPL-2.0
# Every target is one script in scripts/, which can be called by itself as well.

# Who signs the patches. Replace it to send them under your own sign-off:
#	make series AUTHOR='Name <mail>' OUT=/tmp/mine
AUTHOR ?= contention-fixes <contention-fixes@localhost.invalid>

# What the scripts take from the environment; empty is the script's own default.
# Recipes see them as the shell's, so that no blank or quote in them means anything; but make wants
# a dollar sign written as two.
export AUTHOR BASE DIR SMP KDIR DEBUG TESTS MM CRASH MINUTES OUT V IA64_RUN

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

#: make run		build, boot and test a patched kernel under QEMU: BASE=6.1 SMP=8 DEBUG=1
#:			DEBUG=1 is KCSAN and lockdep, DEBUG=kasan and DEBUG=rt are others
#:			KDIR=/path/to/tree uses a tree of yours (untouched) and fetches nothing
#:			TESTS='page_lock umip' runs these alone, MM=1 the kernel's own tests of mm,
#:			CRASH=1 panics while a CPU is stopped in a read of the HPET
run:
	@scripts/run

#: make soak MINUTES=60	boot once, and run the tests in random order for so long, with faults injected
#:			into reads of the HPET and CPUs offline: BASE=6.1 SMP=8 DEBUG=1 KDIR=
soak:
	@SOAK=$${MINUTES:-10} scripts/run

#: make apply KDIR=DIR	apply the series to a kernel tree of yours, git or quilt: BASE= to force a base
apply:
	@scripts/apply $${BASE:+--base "$$BASE"} "$$KDIR"

#: make fetch		fetch the source of all bases, or of BASE=, into the cache
fetch:
	@for base in $${BASE:-$(bases)}; do scripts/fetch "$$base" || exit; done

#: make tree BASE=6.12	a git tree with the series as commits, to edit and amend; DIR= to choose the folder
tree:
	@scripts/tree "$$BASE" $${DIR:+"$$DIR"}

#: make refresh BASE=6.12	bring the edits made in that tree back into the patch folders
refresh:
	@scripts/refresh "$$BASE" $${DIR:+"$$DIR"}

#: make series		build patches/ from the patch folders: OUT=DIR AUTHOR='Name <mail>'
series:
	@scripts/series $$BASE

#: make test		host tests, and a boot of 6.1 and 7.3
#: make test-all	the same with boots of every base, the debug kernels, panics, other compilers and
#:			configurations, and kernels for ia64; a table of them at the end. Many hours.
test test-all:
	@scripts/packages test
	@rm -f results/matrix
	@status=0; TEST_ALL=$(if $(filter test-all,$@),1) prove --timer $(if $(V),-v) $(or $(T),t/) || \
		status=$$?; scripts/matrix; exit $$status

#: make ia64		build kernels for ia64 (compiler as well), with the fix and without, and check
#:			their instructions: BASE=6.1 or 5.10
#: make ia64-image	the same, and an EFI disk image that boots the kernel and runs its test
#: make ia64-test	the same, and boot it: IA64_RUN=COMMAND is given the image and the console's log
ia64 ia64-image ia64-test:
	@scripts/ia64 $(if $(filter ia64,$@),build,$(@:ia64-%=%)) || [ $$? = 4 ]	# a skip, which says why

#: make report		a page with plots of the simulator, its tables, and the last results of all bases:
#:			results/report/index.html, or OUT=DIR
report:
	@scripts/report

#: make clean		remove results/ here, and what was built in the cache; fetched sources and the
#:			compiler for ia64 stay
clean:
	@scripts/clean

bases = $(shell sed 's/[\#[:space:]].*//' bases.conf)

.PHONY: help run soak apply fetch tree refresh series test test-all report ia64 ia64-image ia64-test clean
