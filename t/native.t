#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# mm-pagelock/native measures what it says: every row is there, and a broken page_lock.h is noticed.
# No figure is judged.
. "$(dirname -- "$0")/lib.sh"
cd "$TOP" || exit 2

header=mm-pagelock/1-test-first/tree/include/linux/page_lock.h

# build <name> [make arguments]
build() {
	name=$1
	shift
	make -s -j 2 -C mm-pagelock/native BUILD="$tmp/$name" "$@"
}

# status <n> <text> <command> [arguments]: it must end with that and say the text, in one line.
status() {
	want=$1
	text=$2
	shift 2
	"$@" >"$tmp/said" 2>&1
	got=$?
	cat "$tmp/said"
	echo "status $got; should be $want, after one line with: $text"
	[ "$got" = "$want" ] && [ "$(wc -l <"$tmp/said")" = 1 ] && grep -qF -- "$text" "$tmp/said"
}

# broken <name> <sed command> <pattern>: with that edit of the header, the program must say so.
broken() {
	mkdir -p "$tmp/$1/include/linux"
	sed "$2" "$header" >"$tmp/$1/include/linux/page_lock.h"
	if cmp "$header" "$tmp/$1/include/linux/page_lock.h"; then
		echo "page_lock.h has no longer what this breaks: $2"
		return 1
	fi
	build "$1" HEADERS="$tmp/$1/include" || return
	"$tmp/$1/page_lock_bench" -s 2 >"$tmp/said" 2>&1
	got=$?
	echo "status $got"
	tail -n 2 "$tmp/said"
	[ "$got" = 1 ] && grep -q "^page_lock_bench: broken: $3" "$tmp/said"
}

# row <pattern> <columns...>: it is there once, with more than zero in these columns.
row() {
	pattern=$1
	shift
	tr -d '[]' <"$tmp/out" | awk -v pattern="^$pattern " -v columns="$*" '
		$0 ~ pattern {
			rows++
			n = split(columns, c, " ")
			for (i = 1; i <= n; i++)
				if (!($c[i] > 0)) {
					print "column " c[i] ": " $0
					bad = 1
				}
		}
		END {
			if (rows != 1)
				print rows + 0 " rows " pattern
			exit rows != 1 || bad
		}'
}

# Columns: 4 failed tries, 7 locked, 8 got, 9 sections, 12 their part; two dashes less for nobody.
contended() {
	for form in off on; do
		for held in always reading half tenth; do
			row "$held +nobody +$form" 7 10 || return
		done
		for tries in bare tryget; do
			row "always +$tries +$form" 4 9 12 || return
			row "reading +$tries +$form" 4 9 12 || return
			row "half +$tries +$form" 4 7 8 9 12 || return
			row "tenth +$tries +$form" 4 7 8 9 12 || return
		done
	done
}

# While the lock is held, each try is a locked instruction, or none is, and none gets it.
forms() {
	for held in always reading; do
		for tries in bare tryget; do
			grep -E "^$held +$tries +off .*\] +1\.000 +0 " "$tmp/out" &&
				grep -E "^$held +$tries +on .*\] +0\.000 +0 " "$tmp/out" || return
		done
	done
}

uncontended() {
	for line in warm cold $(grep -q '^shared: left out' "$tmp/out" || echo shared); do
		for tries in bare head get tryget; do
			row "$line +$tries" 3 4 5 6 7 8 || return
		done
	done
}

ok "builds" build as-is
bench=$tmp/as-is/page_lock_bench
for args in "-s 0" "-s 1x" "-s -1" "-s" "-x" "more"; do
	# shellcheck disable=SC2086 # a list of words
	ok "$args: a line and status 2" status 2 "usage: page_lock_bench" "$bench" $args
done
ok "-h: the line and status 0" status 0 "usage: page_lock_bench" "$bench" -h
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
ok "on one CPU: a line and status 4" status 4 "needs two cores" taskset -c "$cpu" "$bench"

"$bench" -s 2 >"$tmp/out" 2>"$tmp/err"
got=$?
if [ $got = 4 ]; then
	skip "runs" "$(head -n 1 "$tmp/out")"
	done_testing
fi
ok "ends well" sh -c "cat '$tmp/err'; exit $got"
ok "names the machine" grep -E '^.+, [0-9]+ CPUs, Linux [0-9].* on CPUs [0-9]+ and [0-9]+ for 2 s$' "$tmp/out"
ok "contended: every row" contended
ok "... of two forms" forms
ok "uncontended: every row" uncontended
ok "hardware events, or why there are none" \
	grep -E '^(Hardware events for each try|no hardware counters: .)' "$tmp/out"

# The counts stay as they are: it is the second owner that has to be found.
ok "notices a lock that is tested and then set by a plain store" broken store \
	's/!test_and_set_bit_lock(PG_locked, flags)/!test_and_set_bit_lock(PG_locked, \&(unsigned long){ *flags }) \&\& (*flags |= 1, true)/' \
	'[a-z]*: in one slice the lock had two owners'
ok "notices a header that does not test" broken no-test \
	's/!page_lock_test_first() ||/true ||/' 'on: [0-9]* locked instructions on a lock that was held'

done_testing
