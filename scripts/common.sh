# SPDX-License-Identifier: GPL-2.0
# Sourced by every script here: where things are, how to speak, how to stop.

TOP=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 2
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/contention-fixes

die() {
	echo "$(basename -- "$0"): $*" >&2
	exit 2
}

# Progress goes to stderr so that a script's stdout is only its result.
say() {
	echo "$*" >&2
}

base_list() {
	sed -e 's/#.*//' "$TOP/bases.conf" | while read -r b _; do
		[ -z "$b" ] || echo "$b"
	done
}

# base_field <base> <column>
base_field() {
	awk -v b="$1" -v c="$2" '!/^#/ && $1 == b { print $c; exit }' "$TOP/bases.conf"
}

base_default() {
	awk '!/^#/ && $4 == "default" { print $1; exit }' "$TOP/bases.conf"
}

need_base() {
	[ -n "$(base_field "$1" 1)" ] ||
		die "unknown base '$1'; the bases are: $(base_list | tr '\n' ' ')(bases.conf)"
}

# need_space <dir> <MiB>: stop before a long job fills the disk.
need_space() {
	mkdir -p "$1" || die "cannot create $1; set XDG_CACHE_HOME to a folder you can write"
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$2" ] ||
		die "$free MiB free in $1, $2 MiB needed; free some or set XDG_CACHE_HOME to another disk"
}
