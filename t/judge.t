#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The verdict on a boot, from canned logs: logs/good is a real run, and what goes wrong in the other
# cases is done to a copy of it. Each must come out as a failure that names its cause.
. "$(dirname -- "$0")/lib.sh"

judge=$TOP/tools-testing-selftests/tree/tools/testing/selftests/contention/qemu/judge
good=$TOP/t/logs/good
# Its plan, and that with one result more.
plan=$(sed -n '2s/^1\.\.//p' "$good/results.ktap")
more=$((plan + 1))

# Each file of the run can be edited by sed; more console lines come at its end.
prepare() {
	rm -rf "$tmp/run"
	mkdir "$tmp/run"
	sed -e "${1:-}" "$good/results.ktap" >"$tmp/run/results.ktap"
	cp "$good/console.log" "$tmp/run/console.log"
	[ -z "${2:-}" ] || printf '%s\n' "$2" >>"$tmp/run/console.log"
	echo "${3:-0}" >"$tmp/run/qemu-status"
}

# verdict <expected text>: fails, says it first or among others, and leaves it in all reports.
verdict() {
	if sh "$judge" "$tmp/run" >"$tmp/said"; then
		echo "came out as passed"
		cat "$tmp/said"
		return 1
	fi
	grep -q "^FAIL: .*$1" "$tmp/said" && grep -q "^FAIL: .*$1" "$tmp/run/summary.txt" ||
		{ cat "$tmp/said"; return 1; }
	grep -q '<failure message=' "$tmp/run/junit.xml"
}

# first <text>: this is the reason that a reader sees first.
first() {
	verdict "$1" && grep '^FAIL' "$tmp/said" | head -n 1 | grep -q "$1" || { cat "$tmp/said"; return 1; }
}

passes() {
	sh "$judge" "$@" "$tmp/run" >"$tmp/said" || { cat "$tmp/said"; return 1; }
	grep -q '^PASS: ' "$tmp/run/summary.txt"
}

balanced() {
	awk '{ n = gsub(/<testcase/, "&"); m = gsub(/<\/testcase>/, "&"); a += n; b += m }
		match($0, /tests="[0-9]+"/) { want = substr($0, RSTART + 7) + 0 }
		/[^\t -~]/ { exit 1 }
		END { exit !(a > 0 && a == b && a == want) }' "$tmp/run/junit.xml"
}

prepare
ok "a good run passes" passes
ok "its summary has the figures, shared against base" grep -q 'shared/base' "$tmp/said"
ok "... faults per second" grep -Eq '^every CPU faulting( +[0-9.]+){3}$' "$tmp/said"
ok "... refusals per second" grep -Eq '^CPUs asking: 8( +[0-9.]+){3}$' "$tmp/said"
ok "... page faults per second" grep -Eq '^tmpfs, single, CPUs: 8( +[0-9.]+){6}$' "$tmp/said"
ok "... with more and less unfair locks" grep -Eq '^tmpfs, unfairness 0, CPUs: 8( +[0-9.]+){6}$' "$tmp/said"
ok "its JUnit report has each test" balanced
prepare '' '' ; sed -i 's/$/\r/' "$tmp/run/results.ktap"
ok "line ends of a serial port do no harm" passes

hang='/selftest: cpu_hotplug/,$d'
prepare "$hang" '' 124
ok "a hang" first 'hang: '
prepare "$hang" '[   41.0] Kernel panic - not syncing: Fatal exception in interrupt'
ok "a panic" first 'panic: Kernel panic - not syncing: Fatal'
prepare "$hang" '[   41.0] WARNING: CPU: 3 PID: 77 at arch/x86/kernel/hpet.c:800 read_hpet+0x10/0x20
[   41.1] Kernel panic - not syncing: kernel: panic_on_warn set ...'
ok "a warning that ends the guest" verdict 'WARN: WARNING: CPU: 3'
prepare '' '[   41.0] WARNING: CPU: 3 PID: 77 at arch/x86/kernel/hpet.c:800 read_hpet+0x10/0x20'
ok "a warning in a run that went on to its end" first 'WARN: WARNING: CPU: 3'
for line in 'BUG: KCSAN: data-race in read_hpet / read_hpet' \
	'watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [clock_monotonic:77]' \
	'rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:' \
	'INFO: task clock_handoff:77 blocked for more than 120 seconds.' \
	'WARNING: possible circular locking dependency detected' \
	'BUG: kernel NULL pointer dereference, address: 0000000000000000' \
	'clocksource: timekeeping watchdog on CPU1: Marking clocksource '"'hpet'"' as unstable'; do
	prepare '' "[   41.0] $line"
	ok "console: $line" verdict "$(echo "$line" | cut -c 1-24)"
done

# race <function> <last line>: what KCSAN prints.
race() {
	printf '[   41.0] %s\n' '=====' 'BUG: KCSAN: data-race in tick_do / folio_wait_bit_common' \
		'write (marked) to 0xf0 of 8 bytes by task 78 on cpu 2:' ' folio_wait_bit_common+0x1/0x2' \
		'read to 0xf0 of 8 bytes by task 77 on cpu 1:' " $1+0x3/0x4" \
		'CPU: 1 PID: 77 Comm: page_lock Tainted: G' "$2" 'something else'
}
prepare '' "$(race tick_other '=====')"
ok "a data race of the base's own is none of ours" passes
ok "... and is named" grep -q '^not ours: BUG: KCSAN: data-race in tick_do' "$tmp/said"
prepare '' "$(race folio_wait_bit_common '=====')"
ok "a data race with our code in it is" verdict 'KCSAN: BUG: KCSAN: data-race in tick_do'
prepare '' "$(race tick_other 'more')"
ok "a report that does not end is as well" verdict 'KCSAN: BUG: KCSAN: data-race in tick_do'

prepare
: >"$tmp/run/console.log"
ok "an empty console log" verdict 'empty console log'
: >"$tmp/run/results.ktap"
ok "nothing at all" verdict 'no results'
rm "$tmp/run/"*
ok "no files" verdict 'QEMU was not started'
prepare '' '' 1
ok "QEMU that ended badly" first 'QEMU ended with status 1'
prepare '/end$/d'
ok "no end mark" first 'no end mark'
prepare '1d'
ok "no version line" verdict 'no KTAP version line'
prepare '2d'
ok "no plan" verdict 'no plan in\|before the plan'
prepare '/selftest: clock_handoff/{s/.*//;}'
ok "a result that is missing" verdict 'was due\|planned'
prepare '/^ok .* selftest: clock_throughput/,/^ok /{/^ok/d;}'
ok "tests that did not run" verdict 'planned'
prepare '0,/^    1\.\./{/^    1\.\./d;}'
ok "no plan inside a test" verdict 'plan'
prepare 's/^    1\.\.2$/    1..3/'
ok "a test that ran less than it planned" verdict 'planned 3 tests, ran 2'
prepare '/^    /d'
ok "tests and suites without a result inside" verdict 'no result of its own: selftest: clock_monotonic'
ok "... each of them" verdict 'no result of its own: kunit: shared_counter'
prepare '/^ok .* clocksource_switch/,/^ok .* cpu_hotplug/{/^    /d;}'
ok "one test without a result inside" first 'no result of its own: selftest: cpu_hotplug'
prepare '/^    /d;s/^ok \([0-9]* [ks][^#]*\).*/ok \1# SKIP because/'
ok "a skipped test needs none" passes --allow-skip
prepare 's/^    ok 2 no step/    not ok 2 no step/'
ok "a failure inside a test that says it passed" verdict 'passed although'
prepare 's/^ok \([0-9]*\) selftest: cpu_hotplug.*/not ok \1 selftest: cpu_hotplug # exit 1/'
ok "a failed test" first 'failed: selftest: cpu_hotplug (exit 1)'
prepare 's/^ok \([0-9]*\) selftest: cpu_hotplug.*/not ok \1 selftest: cpu_hotplug # crashed, signal 11/'
ok "a test that crashed" first 'failed: selftest: cpu_hotplug (crashed, signal 11)'
prepare 's/^ok \([0-9]*\) kunit: shared_counter.*/not ok \1 kunit: shared_counter/'
ok "a failed KUnit suite" first 'failed: kunit: shared_counter'
prepare 's/^    1\.\.1$/&\n    Bail out! hang: not at an end after 80 s/'
ok "a test that gave up" verdict 'gave up: hang: not at an end'
prepare 's/^ok \([0-9]*\) kunit: shared_counter.*/ok \1 kunit: shared_counter # SKIP no such suite/'
ok "a kernel without the option" first 'skipped: kunit: shared_counter: no such suite'
ok "the same is good where skips are allowed" passes --allow-skip
prepare "2s/$plan/$more/;s/^# contention: end/ok $more kernel: lockdep found nothing # on\\n&/"
ok "a good run of a debug kernel passes" passes
prepare "2s/$plan/$more/"
ok "a debug kernel that lost its lockdep result" first "planned $more tests, ran $plan"
prepare "2s/$plan/$more/;s/^# contention: end/not ok $more kernel: lockdep found nothing # on\\n&/"
ok "a lockdep report that the console missed" first 'failed: kernel: lockdep found nothing'
prepare '3,$d
2s/.*/1..0/
$a\
# contention: end'
ok "no test at all" verdict 'not one test ran'
prepare 's/^ok \([0-9]* [^#]*\).*/ok \1# SKIP because/'
ok "everything skipped" verdict 'skipped'
ok "everything skipped, where skips are allowed" refused 'not one test passed' \
	sh "$judge" --allow-skip "$tmp/run"
ok "no folder" refused usage sh "$judge" "$tmp/nothing"
prepare 's/selftest: cpu_hotplug.*/selftest: <cpu> \& "hotplug"/'
sh "$judge" "$tmp/run" >/dev/null
ok "names are quoted in XML" grep -q 'selftest: &lt;cpu&gt; &amp; &quot;hotplug&quot;' "$tmp/run/junit.xml"

# ---- judge-crash, CRASH=1 ----

panic='[   15.1] Kernel panic - not syncing: sysrq triggered crash'
reads='[   17.1] contention: 1000 reads of the clock in a panic, 0 of them back, 307220 ns; a CPU stopped in one'

# boot <panic|kexec|base> <status of QEMU> <console's lines>
boot() {
	mkdir -p "$tmp/crash/$1"
	echo "$2" >"$tmp/crash/$1/qemu-status"
	shift
	shift
	printf '%s\n' 'init: crash starts' "$@"
}
crash() {
	rm -rf "$tmp/crash"
	for b in panic kexec; do
		boot $b 0 "$panic" "$reads" >"$tmp/c"
		mv "$tmp/c" "$tmp/crash/$b/console.log"
	done
	boot base 124 "$panic" >"$tmp/c"
	mv "$tmp/c" "$tmp/crash/base/console.log"
}
# crash_verdict <which result is not ok, 0 for none>
crash_verdict() {
	sh "$judge-crash" "$tmp/crash" >"$tmp/said"
	got=$?
	cat "$tmp/said"
	if [ "$1" = 0 ]; then
		[ "$got" = 0 ] && grep -q '^PASS: 3 tests' "$tmp/crash/summary.txt"
	else
		[ "$got" = 1 ] && grep -q "^not ok $1 " "$tmp/said" && grep -q '^FAIL' "$tmp/crash/summary.txt"
	fi
}
crash
ok "panics that get through, and one that does not" crash_verdict 0
sed -i '/contention:/d' "$tmp/crash/panic/console.log"
ok "no word of the clock" crash_verdict 1
crash
sed -i 's/ 0 of them back/ 3 of them back/' "$tmp/crash/kexec/console.log"
ok "a clock that steps back" crash_verdict 2
crash
echo 124 >"$tmp/crash/panic/qemu-status"
ok "a panic that does not end" crash_verdict 1
crash
sed -i 's/, 307220 ns/, 0 ns/' "$tmp/crash/panic/console.log"
ok "a clock that stands" crash_verdict 1
crash
echo "$reads" >>"$tmp/crash/base/console.log"
ok "the base gets through" crash_verdict 3
crash
sed -i '/Kernel panic/d' "$tmp/crash/base/console.log"
ok "the base stands before it can panic" crash_verdict 0
crash
: >"$tmp/crash/base/console.log"
ok "the base did not come so far" crash_verdict 3
ok "no folders" refused usage sh "$judge-crash" "$tmp"

done_testing
