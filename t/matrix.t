#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# With TEST_ALL: what the series edits and adds compiles without a warning in configurations that no
# guest is booted with: all options of the kernel (allmodconfig), clang, and 32-bit and one CPU, where
# fixes have to be gone and the rest compiles as in the base.
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"
. "$TOP/scripts/compose.sh"

[ -n "${TEST_ALL:-}" ] || {
	echo "1..0 # SKIP an hour of compiling; make test-all does it"
	exit 0
}
"$TOP/scripts/packages" matrix || exit
export CCACHE_DIR="$CACHE/ccache" KBUILD_BUILD_TIMESTAMP='1 Jan 2026' KBUILD_BUILD_USER=test \
	KBUILD_BUILD_HOST=test
clang="clang-19"	# what the newest base asks for
suite=tools/testing/selftests/contention

kmake() {
	make -s -C "$work" O="$out" ARCH="$arch" CC="$cc" -j"$(nproc)" "$@" >"$tmp/log" 2>&1 || {
		grep -E '(error|Error|\*\*\*)' "$tmp/log" | head -n 20
		return 1
	}
}

# configure <config>: of the tree as it is checked out
configure() {
	git -C "$work" show "series:$suite/config" "series:$suite/qemu/kernel.config" |
		sed 's/^?//' >"$tmp/want"
	case $1 in
	allmod) kmake allmodconfig ;;
	clang) KCONFIG_ALLCONFIG=$tmp/want kmake allnoconfig ;;
	i386 | up)
		[ "$1" = i386 ] && echo CONFIG_64BIT=n >>"$tmp/want" || echo CONFIG_SMP=n >>"$tmp/want"
		KCONFIG_ALLCONFIG=$tmp/want kmake allnoconfig
		;;
	esac && kmake prepare
}

# compile <source files...>: leaves what was said about them in $tmp/said
compile() {
	# shellcheck disable=SC2046 # a list of paths
	set -- $(printf '%s\n' "$@" | sed 's/c$/o/')
	(cd "$out" && rm -f "$@")
	kmake "$@" || return
	complaints "$work" "$tmp/log" >"$tmp/said"
}

gone() {
	for o; do
		if grep "^CONFIG_$o=[ym]" "$out/.config"; then return 1; fi
	done
}

# all_there: the fixes are on, or this compiles nothing of them
all_there() {
	for o in HPET_SHARED_READ ACPI_PM_SHARED_READ PAGE_LOCK_TEST_FIRST CONTENTION_INJECT; do
		grep -q "^CONFIG_$o=y" "$out/.config" || { echo "$o is off"; return 1; }
	done
}

# sources <diff-filter>: the series' files that a kernel for x86 has
sources() {
	git -C "$work" diff --name-only --no-renames --diff-filter="$1" base series -- '*.c' \
		":!$suite" ':!arch/ia64'
}

nothing_new() {
	comm -13 "$out/known" "$tmp/said" >"$tmp/fresh"
	cat "$tmp/fresh"
	[ ! -s "$tmp/fresh" ]
}

# base_compiles <config> <source files...>
base_compiles() {
	configure "$1" || return
	shift
	compile "$@" && mv "$tmp/said" "$out/known"
}

# config <config>
config() {
	arch=x86_64 cc=gcc
	! command -v ccache >/dev/null || cc="ccache gcc"
	case $1 in
	clang) cc=${cc%gcc}$clang ;;
	i386) arch=i386 ;;
	esac
	out=$CACHE/build/matrix-$base-$1
	mkdir -p "$out"
	verdict "$base" "$1"
	before=$failed
	failed=0
	edited=$(sources M)
	added=$(sources A)
	git -C "$work" checkout -q -f --detach base || exit
	# shellcheck disable=SC2086 # a list of paths
	ok "$base $1: the base compiles" base_compiles "$1" $edited
	git -C "$work" checkout -q -f --detach series || exit
	ok "$base $1: configuration" configure "$1"
	# With one CPU nothing is left, with 32 bits what needs no 64.
	case $1 in
	i386)
		ok "$base $1: the fixes for 64 bits are gone" gone HPET_SHARED_READ ACPI_PM_SHARED_READ \
			UMIP_PERCPU_RATELIMIT SHARED_COUNTER_KUNIT_TEST CONTENTION_INJECT
		added='kernel/contention/debug.c kernel/contention/page_lock.c mm/page_lock_torture.c'
		;;
	up)
		# shellcheck disable=SC2046 # a list of names
		ok "$base $1: the fixes are gone" gone $(sed -n 's/^config //p' "$TOP/Kconfig.contention")
		added=
		;;
	*) ok "$base $1: the fixes are there" all_there ;;
	esac
	# shellcheck disable=SC2086 # a list of paths
	ok "$base $1: compiles" compile $edited $added
	ok "$base $1: no warning that the base does not give" nothing_new
	verdict "$base" "$1" "$failed"
	[ $before = 0 ] || failed=1
}

for base in ${OBJECTS_BASES:-$(base_list)}; do
	# The tree of objects.t, which may be at work on it.
	work=$CACHE/work/objects-$base
	mkdir -p "$CACHE/work"
	exec 9>"$CACHE/work/objects-$base.lock"
	flock 9
	src=$(source_of "$base") || exit
	compose_tree "$base" "$src" "$work"
	for c in ${MATRIX_CONFIGS:-allmod clang i386 up}; do
		config "$c"
	done
done
done_testing
