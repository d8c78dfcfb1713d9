#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# mutants.sh [pattern]: spoils the headers of the fixes as mutants.list says, one way at a time, and
# lets the explorer find out. Prints TAP: how each was noticed, after how many steps of the schedule
# that shows it. One that nobody notices fails.
set -eu
cd "$(dirname -- "$0")"
top=../..
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
tab=$(printf '\t')

# file <name>: where it is
file() {
	set -- "$top"/*/*/tree/include/linux/"$1" "$top"/*/*/tree/lib/"$1"
	[ -e "$1" ] || shift
	echo "$1"
}

grep -v '^#' mutants.list | grep -e "${1:-.}" >"$tmp/list" || {
	echo "mutants.sh: no mutant matches $1" >&2
	exit 2
}
echo "TAP version 13"
echo "1..$(wc -l <"$tmp/list")"
n=0 failed=0
while IFS=$tab read -r name what sed; do
	n=$((n + 1))
	program=${name%.*}
	dir=$tmp/$n
	result=
	mkdir -p "$dir/include/linux"
	case $name in
	*.h) into=$dir/include/linux/$name ;;
	*) into=$dir/include/$name ;;
	esac
	sed -zE "$sed" "$(file "$name")" >"$into"
	if cmp -s "$(file "$name")" "$into"; then
		result="not ok $n - $name: $what # the file has no longer what this changes"
	elif ! make -s BUILD="$dir" HEADERS="$(cd "$dir/include" && pwd)" "$dir/explore-$program" \
			>"$dir/log" 2>&1; then
		result="not ok $n - $name: $what # does not build: $(grep -m1 error "$dir/log")"
	else
		status=0
		"$dir/explore-$program" -f >"$dir/log" || status=$?
		case $status in
		0) result="not ok $n - $name: $what # nobody notices" ;;
		1)
			# The case, the length of the schedule, and on the next line the reason.
			result="ok $n - $name: $what # $(sed -n '/^not ok/ {
				s/^not ok [0-9]* - \([a-z]*\)[^#]*# /\1: /; N; s/\n#/,/; p; q; }' "$dir/log")"
			;;
		*) result="not ok $n - $name: $what # the explorer died: $status" ;;
		esac
	fi
	echo "$result"
	case $result in not*) failed=1 ;; esac
	rm -rf "$dir"
done <"$tmp/list"
exit $failed
