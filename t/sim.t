#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The simulator of large machines (sim/): that it says the same for the same seed and refuses what it
# cannot read, that what its README says of the fixes is so, and that it would notice if it were not.
. "$(dirname -- "$0")/lib.sh"

build=$tmp/build
cd "$TOP/sim" || exit

# figure <column> <program> <options>: a column of the last line
figure() {
	column=$1 program=$build/$2
	shift 2
	"$program" "$@" | awk -F '\t' -v c="$column" 'END { print $c }'
}

# holds <condition of awk> <numbers for a, b, c>
holds() {
	echo "$1, with a=$2 b=${3:-} c=${4:-}"
	awk -v a="$2" -v b="${3:-0}" -v c="${4:-0}" "BEGIN { exit !($1) }"
}

# reads <machine> <ns between> <form> <CPUs> [<build>]: reads/us
reads() {
	"${5:-$build}/hpet" -m "machines/$1.conf" -w "$2" -u 5000 -t 5000 -f "$3" "$4" |
		awk -F '\t' 'END { print $5 }'
}

built() {
	make -s BUILD="$build" >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
	! grep warning: "$tmp/log"
}

same_seed() {
	for seed in 1 1 2; do
		"$build/hpet" -m machines/superdome2.conf -s "$seed" -w 2000 -u 500 -t 500 100 >"$tmp/out"
		"$build/fpswa" -m machines/altix-1024.conf -s "$seed" -t 10 100 >>"$tmp/out"
		"$build/page_lock" -m machines/uv-768.conf -s "$seed" -p 10 100 >>"$tmp/out"
		cksum <"$tmp/out"
	done >"$tmp/sums"
	[ "$(uniq "$tmp/sums" | wc -l)" = 2 ] && [ "$(sed -n 1p "$tmp/sums")" = "$(sed -n 2p "$tmp/sums")" ]
}

# machine <sed>: a file that is not right
machine() {
	sed "$1" machines/haswell-2s.conf >"$tmp/bad.conf"
	"$build/hpet" -m "$tmp/bad.conf" 2
}

# spoil <sed>: the simulator with another header, in $tmp/spoilt
spoil() {
	rm -rf "$tmp/spoilt"
	mkdir -p "$tmp/spoilt/include/linux"
	header=../arch-x86-hpet/1-shared-counter/tree/include/linux/shared_counter.h
	sed -zE "$1" "$header" >"$tmp/spoilt/include/linux/shared_counter.h"
	! cmp -s "$header" "$tmp/spoilt/include/linux/shared_counter.h" &&
		make -s BUILD="$tmp/spoilt" HEADERS="$tmp/spoilt/include" "$tmp/spoilt/hpet" >"$tmp/log" 2>&1
}

ok "builds without a warning" built
ok "the same seed gives the same, another one something else" same_seed
ok "a file that is not there" refused "cannot read machines/none" "$build/hpet" -m machines/none 2
ok "a key that is missing" refused "bad.conf: node_busy is missing" machine '/^node_busy/d'
ok "a key that nothing has" refused "speed is nothing that a machine has" machine 's/^hit/speed/'
ok "a key without a number" refused "poll needs a number" machine 's/^poll.*/poll fast/'
ok "a machine without CPUs" refused "needs name, nodes, cpus" machine '/^cpus/d'
ok "more CPUs than there are" refused "haswell-2s has 1 to 72 CPUs, not 73" "$build/hpet" \
	-m machines/haswell-2s.conf 73
ok "no CPUs" refused "1 to 72 CPUs, not 0" "$build/hpet" -m machines/haswell-2s.conf 0
ok "a form that nobody has" refused "no form none" "$build/hpet" -m machines/haswell-2s.conf -f none 2
ok "no arguments" refused usage "$build/page_lock"

# One CPU alone pays the way to the counter and little else.
ok "a plain read of one CPU takes what the machine's file says" \
	holds 'a == 900' "$(figure 6 hpet -m machines/haswell-2s.conf -f plain 1)"
ok "a shared one little more" \
	holds 'a > 900 && a < 940' "$(figure 6 hpet -m machines/haswell-2s.conf -f flat 1)"
ok "plain reads are served one by one" \
	holds 'a > 1.6 && a < 1.67' "$(reads haswell-4s 1000 plain 144)"

plain=$(reads modern-4096 1000 plain 1024) flat=$(reads modern-4096 1000 flat 1024)
gates=$(reads modern-4096 1000 gates 1024)
ok "1024 CPUs: 20 times as many reads with gates as without" holds 'a >= 20 * b' "$gates" "$flat"
ok "... and 100 times as many as plain" holds 'a >= 100 * b' "$gates" "$plain"
ok "144 CPUs, the workload of 2016: within 3 % of a clock that costs nothing" \
	holds 'a < 3' "$(figure 9 hpet -m machines/haswell-4s.conf -w 77000 -u 5000 -t 10000 -f gates 144)"
for at in haswell-2s:2:2000 haswell-2s:72:100 haswell-4s:54:2000 haswell-4s:144:100 superdome2:72:10000 \
	  superdome2:576:100 modern-4096:128:500; do
	m=${at%%:*} think=${at##*:} cpus=${at#*:}
	cpus=${cpus%:*}
	ok "$m, $cpus CPUs, $think ns between reads: gates take no more than a tenth" \
		holds 'a >= 0.9 * b' "$(reads "$m" "$think" gates "$cpus")" "$(reads "$m" "$think" flat "$cpus")"
done

ok "1024 CPUs with gates for 100 ms in less than a minute" timeout 60 \
	"$build/hpet" -m machines/modern-4096.conf -w 10000 -t 100000 -f gates 1024

ok "spoilt: every CPU passes the gate" spoil 's/if \(tried == now \|\| [^;]*;/;/'
ok "... is noticed" holds 'a < b / 4' "$(reads modern-4096 1000 gates 1024 "$tmp/spoilt")" "$gates"
ok "spoilt: no node waits after a try that failed" spoil 's/if \(now & SHARED_COUNTER_GATE_FAILED\) \{/if (0) {/'
ok "... is noticed" holds 'a < b / 2' "$(reads modern-4096 1000 gates 1024 "$tmp/spoilt")" "$gates"
ok "spoilt: a bound of a quarter of a read" spoil 's/(BOUND_READS\t*)16/\10.25/'
ok "... is noticed" holds 'a < b / 2' "$(reads superdome2 1000 gates 576 "$tmp/spoilt")" \
	"$(reads superdome2 1000 gates 576)"

ok "FPSWA, silent: 1023 CPUs were a thousand times as slow" holds 'a > 1000 * b' \
	"$(figure 6 fpswa -q -m machines/altix-1024.conf -t 20 -f ours 1023)" \
	"$(figure 6 fpswa -q -m machines/altix-1024.conf -t 20 -f 2.6 1023)"
ok "FPSWA, messages of 1023 CPUs in a window: no more than 5" holds 'a > 4 && a <= 5' \
	"$(figure 7 fpswa -m machines/altix-1024.conf -f ours 1023)"
ok "... and many with the fix of 2006" holds 'a > 25' \
	"$(figure 7 fpswa -m machines/altix-1024.conf -f 2006 1023)"

"$build/page_lock" -r -m machines/uv-768.conf -p 20 768 >"$tmp/out"
ok "page lock, 768 CPUs that try again: test first takes half the time" holds 'a > 1.8 * b' \
	"$(awk '$2 == "plain" { print $5 }' "$tmp/out")" "$(awk '$2 == "test-first" { print $5 }' "$tmp/out")"

done_testing
