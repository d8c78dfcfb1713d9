#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Every commit of every base builds the objects that it touches, with its options on and off, without
# a warning from gcc (W=1) or sparse (C=1) that the base does not give for the same file.
#
# What was built once stays in the cache, and a commit that passed is not built again by the same
# tools; rm -r the folders objects-* in the cache's build/ to start afresh.
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"
. "$TOP/scripts/compose.sh"

export CCACHE_DIR="$CACHE/ccache" KBUILD_BUILD_TIMESTAMP='1 Jan 2026' KBUILD_BUILD_USER=test \
	KBUILD_BUILD_HOST=test
cc=gcc
! command -v ccache >/dev/null || cc="ccache gcc"
suite=tools/testing/selftests/contention
elsewhere=':!arch/ia64'	# ia64.t builds those
# All of the base includes some header that the series edits; these stand for it.
users='mm/memory.c mm/migrate.c mm/shmem.c mm/truncate.c mm/vmscan.c fs/buffer.c'

kmake() {
	make -s -C "$work" O="$out" ARCH=x86_64 CC="$cc" -j2 "$@"
}

# configure on|off: all that the tests ask for and nothing else; off is without the series' options.
configure() {
	git -C "$work" show "series:$suite/config" "series:$suite/qemu/kernel.config" >"$tmp/want"
	if [ "$1" = off ]; then
		sed -n 's/^config \(.*\)/CONFIG_\1=n/p' "$TOP/Kconfig.contention" >>"$tmp/want"
		printf 'CONFIG_%s=n\n' PERCPU_RATELIMIT PERCPU_RATELIMIT_KUNIT_TEST >>"$tmp/want"
	fi
	KCONFIG_ALLCONFIG=$tmp/want kmake allnoconfig >"$tmp/log" 2>&1 || {
		tail -n 20 "$tmp/log"
		return 1
	}
}

# options on|off: they are what they should be, at the last commit.
options() {
	# ia64.t has those of ia64.
	for o in $(awk '$1 == "config" { o = $2 } $1 == "depends" && o { if ($3 != "IA64") print o; o = "" }' \
			"$TOP/Kconfig.contention"); do
		if grep -q "^CONFIG_$o=y" "$out/.config"; then is=on; else is=off; fi
		[ "$is" = "$1" ] || {
			echo "CONFIG_$o is $is"
			return 1
		}
	done
}

# dependants <commit> <files...>: the files and, of those that the series has, all that include them.
dependants() (
	cd "$work" || exit
	commit=$1
	shift
	printf '%s\n' "$@" | sort -u >"$tmp/all"
	# shellcheck disable=SC2086 # a list of paths
	! grep -qx include/linux/pagemap.h "$tmp/all" || printf '%s\n' $users >>"$tmp/all"
	git diff --name-only --no-renames --diff-filter=d base "$commit" -- '*.[ch]' ":!$suite" "$elsewhere" >"$tmp/series"
	while :; do
		cp "$tmp/all" "$tmp/seen"
		# shellcheck disable=SC2094 # sort writes after it has read
		while read -r f; do
			# include/linux/x.h is <linux/x.h>, anything else "x.h" from the same folder.
			case $f in
			include/*) what="<${f#include/}>" ;;
			*) what="\"${f##*/}\"" ;;
			esac
			# shellcheck disable=SC2046 # a list of paths
			grep -lF "#include $what" $(cat "$tmp/series")
		done <"$tmp/seen" | sort -u - "$tmp/seen" >"$tmp/all"
		! cmp -s "$tmp/all" "$tmp/seen" || break
	done
	grep '\.c$' "$tmp/all"
)

# compile <source files...>
compile() {
	# shellcheck disable=SC2046 # a list of paths
	set -- $(printf '%s\n' "$@" | sed 's/c$/o/')
	(cd "$out" && rm -f "$@")
	kmake W=1 C=1 "$@" >"$tmp/log" 2>&1 || {
		grep -E '(error|Error|\*\*\*)' "$tmp/log" | head -n 20
		return 1
	}
}

# The instructions of each file's object. The numbers are what moves with the line numbers that a
# warning takes along.
instructions() {
	for f; do
		objdump -d --no-show-raw-insn "$out/${f%c}o" | sed -e '/file format/d' -e 's/\$0x[0-9a-f]*,%esi/LINE/'
	done
}

# same_off <commit> <source files...>: with the options off, they are to the processor what the base is.
same_off() {
	c=$1
	shift
	instructions "$@" >"$tmp/off"
	git -C "$work" checkout -q -f --detach base
	configure off && compile "$@" && instructions "$@" >"$tmp/base" || return
	git -C "$work" checkout -q -f --detach "$c"
	[ -s "$tmp/base" ] && diff "$tmp/base" "$tmp/off"
}

# check <commit> on|off <source files...>
check() {
	[ "$2" = on ] || configure off || return
	c=$1
	shift 2
	compile "$@" || return
	complaints "$work" "$tmp/log" | comm -13 "$out/known" - >"$tmp/fresh"
	cat "$tmp/fresh"
	[ ! -s "$tmp/fresh" ]
}

# burst <number>: compiles the tests of the rate limit with it.
burst() {
	rm -f "$out/lib/percpu_ratelimit_kunit.o"
	kmake CFLAGS_percpu_ratelimit_kunit.o=-DPERCPU_RATELIMIT_TEST_BURST="$1" \
		lib/percpu_ratelimit_kunit.o >"$tmp/log" 2>&1
}

refuses_burst() {
	! burst "$1" || return
	grep -E 'error: (.*negative width|static assertion failed)' "$tmp/log" || {
		cat "$tmp/log"
		return 1
	}
}

tools=$({
	gcc --version
	sparse --version
	cat "$0"
} 2>/dev/null | cksum | tr -d ' ')

build_base() {
	base=$1
	work=$CACHE/work/objects-$base
	out=$CACHE/build/objects-$base
	passed=$CACHE/build/objects-$base.passed
	mkdir -p "$CACHE/work" "$CACHE/build"
	# Two runs at once would pull the tree away from each other.
	exec 9>"$CACHE/work/objects-$base.lock"
	flock 9
	src=$(source_of "$base") || exit
	compose_tree "$base" "$src" "$work" "$out" "$passed"
	mkdir -p "$out"
	# Together with what make prepare said when the folder was new.
	touch "$passed" "$out/known"
	# What a commit builds depends on the files before and after it, not on its message.
	(cd "$work" && before=$(git rev-parse 'base^{tree}') &&
		git log --reverse --format='%H %T %s' base..series | while read -r commit tree subject; do
			echo "$commit $before-$tree $subject"
			before=$tree
		done) >"$tmp/commits"

	# Nothing to do for this base?
	due=
	while read -r commit key subject; do
		grep -qx "$tools $key" "$passed" || due=1
	done <"$tmp/commits"
	if [ -n "$due" ]; then
		# What the base itself says about the files that the series edits.
		git -C "$work" checkout -q -f --detach base
		edited=$(cd "$work" && git diff --name-only --diff-filter=M base series -- '*.c' "$elsewhere")
		# shellcheck disable=SC2086 # a list of paths
		if configure on && compile $edited $users; then
			complaints "$work" "$tmp/log" | sort -u - "$out/known" -o "$out/known"
		else
			ok "$base builds without the series" cat "$tmp/log" /nonexistent
			return
		fi
	fi

	while read -r commit key subject; do
		if grep -qx "$tools $key" "$passed"; then
			ok "$base: $subject (built before)" true
			continue
		fi
		before=$failed
		failed=0
		git -C "$work" checkout -q -f --detach "$commit"
		touched=$(cd "$work" && git diff --name-only --no-renames --diff-filter=d "$commit^" "$commit" \
			-- '*.[ch]' ":!$suite" "$elsewhere")
		# shellcheck disable=SC2086 # a list of paths
		sources=$([ -z "$touched" ] || dependants "$commit" $touched)
		if [ -z "$sources" ]; then
			ok "$base: $subject (touches no object)" true
		else
			ok "$base: $subject: configuration" configure on
			# shellcheck disable=SC2086 # a list of paths
			ok "$base: $subject" check "$commit" on $sources
			# Off, only the base's own files have anything to build.
			# shellcheck disable=SC2086 # a list of paths
			own=$(cd "$work" && git ls-tree -r --name-only base $sources)
			# shellcheck disable=SC2086 # a list of paths
			[ -z "$own" ] || ok "$base: $subject, options off" check "$commit" off $own
			# shellcheck disable=SC2086 # a list of paths
			[ -z "$own" ] || ok "$base: ... has the base's instructions" same_off "$commit" $own
		fi
		[ $failed = 1 ] || echo "$tools $key" >>"$passed"
		[ $before = 0 ] || failed=1
	done <"$tmp/commits"

	if [ -n "$due" ]; then
		ok "$base: configuration of all options" configure on
		ok "$base: ... are on" options on
		ok "$base: a burst of 255 compiles" burst 255
		ok "$base: a burst of 256 is refused" refuses_burst 256
		ok "$base: a burst of 0 is refused" refuses_burst 0
		ok "$base: configuration without the options" configure off
		ok "$base: ... are off" options off
	fi
}

# shellcheck disable=SC2046 # a list of words
for base in ${OBJECTS_BASES:-$(base_list)}; do
	build_base "$base"
done
done_testing
