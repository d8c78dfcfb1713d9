#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The table at the end of make test-all.
. "$(dirname -- "$0")/lib.sh"

mkdir -p "$tmp/scripts" "$tmp/results"
cp "$TOP/scripts/matrix" "$TOP/scripts/common.sh" "$tmp/scripts"

table() {
	printf '%s\n' "$@" >"$tmp/results/matrix"
	"$tmp/scripts/matrix" >"$tmp/said"
	cat "$tmp/said"
}
# is <lines...>
is() {
	printf '%s\n' "$@" | diff - "$tmp/said"
}

ok "nothing was run" sh -c "'$tmp/scripts/matrix' && ! '$tmp/scripts/matrix' | grep ." 
table "6.1 boot pass" "6.1 rt FAIL" "7.3 boot pass" >"$tmp/shown"
ok "a table" is '            boot      rt' '6.1         pass    FAIL' '7.3         pass       -'
table "6.1 boot FAIL" "6.1 boot pass" >"$tmp/shown"
ok "what failed once has failed" is '            boot' '6.1         FAIL'
table "6.1 boot died" "6.1 boot pass" "6.1 rt died" >"$tmp/shown"
ok "what did not come to its end" is '            boot      rt' '6.1         pass    died'
ok "no arguments" refused usage "$tmp/scripts/matrix" x
done_testing
