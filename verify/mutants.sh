#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# mutants.sh [pattern]: spoils the headers of the fixes as mutants.list says, one way at a time, and
# sees whether it is noticed. Prints TAP, not in order: by which case, and after how many steps of the
# schedule that shows it. One that nobody notices fails.
set -eu
cd "$(dirname -- "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
tab=$(printf '\t')

# file <name>: where it is
file() {
	for f in ../*/*/tree/include/linux/"$1" ../*/*/tree/lib/"$1" "$1"; do
		[ ! -e "$f" ] || echo "$f"
	done
}

# said_explore: the case, the length of the schedule, and on the next line the reason
said_explore() {
	sed -n '/^not ok/ { s/^not ok [0-9]* - \([a-z]*\)[^#]*# /\1: /; N; s/\n#/,/; p; q; }' "$dir/log"
}

said_tsan() {
	sed -n 's/^SUMMARY: ThreadSanitizer: \([a-z ]*\).* in \([a-z_]*\).*/\1 in \2()/p; s/^# thread/thread/p' \
		"$dir/log" | head -n 1
}

# try <who> <name> <sed>: says in $result how it went
try() {
	program=$1-${2%.*}
	case $2 in
	page_queue.h) program=$1-page_lock into=$dir/include/$2 ;;
	*.c) into=$dir/include/$2 ;;
	*) into=$dir/include/linux/$2 ;;
	esac
	case $1 in
	explore) folder=explore args=-f found=1 ;;
	tsan) folder=threads args='' found=66 ;;
	esac
	sed -zE "$3" "$(file "$2")" >"$into"
	if cmp -s "$(file "$2")" "$into"; then
		result="the file has no longer what this changes"
		return 1
	fi
	make -s -C "$folder" BUILD="$dir" HEADERS="$dir/include" "$dir/$program" >"$dir/log" 2>&1 || {
		result="does not build: $(grep -m 1 error "$dir/log")"
		return 1
	}
	got=0
	# shellcheck disable=SC2086 # one word or none
	TSAN_OPTIONS=halt_on_error=1 timeout 900 "$dir/$program" $args >"$dir/log" 2>&1 || got=$?
	# That too little happened on threads, or too much for the search, is no fault that was found.
	! grep -q 'never came to all\|nothing happened\|no memory\|^not ok.*more than' "$dir/log" || got=0
	# To crash is none either; -fsanitize=thread ends with the same status.
	! grep -q 'ThreadSanitizer:DEADLYSIGNAL' "$dir/log" || got=crash
	case $got in
	0) result="nobody notices" ;;
	1 | "$found") result=$("said_$1") ;;
	*) result="$program died: $got" ;;
	esac
	[ "$got" = 1 ] || [ "$got" = "$found" ]
}

# lines <first> <step>: every step-th line of the list, from the first on
lines() {
	n=0 failed=0
	while IFS=$tab read -r who name what sed; do
		n=$((n + 1))
		[ $(((n - $1) % $2)) = 0 ] || continue
		dir=$tmp/$n
		mkdir -p "$dir/include/linux"
		if try "$who" "$name" "$sed"; then
			echo "ok $n - $name: $what # $result"
		else
			echo "not ok $n - $name: $what # $result"
			failed=1
		fi
		rm -rf "$dir"
	done <"$tmp/list"
	return $failed
}

grep -v '^#' mutants.list | grep -e "${1:-.}" >"$tmp/list" || {
	echo "mutants.sh: no line of mutants.list matches $1" >&2
	exit 2
}
echo "TAP version 13"
echo "1..$(($(wc -l <"$tmp/list")))"
# Two at a time; the first one's results are shown as they come.
lines 2 2 >"$tmp/second" &
failed=0
lines 1 2 || failed=1
wait $! || failed=1
cat "$tmp/second"
exit $failed
