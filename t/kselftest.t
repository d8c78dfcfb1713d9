#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests build without a warning with each base's lib.mk. With files in the place of those in
# /sys they leave the clocksource alone where it is of no use to them, and undo what they did when
# they are killed. What they find out about a kernel is for boot.t.
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"
. "$TOP/scripts/compose.sh"

selftests=tools/testing/selftests
suite=$selftests/contention

build() {
	CFLAGS=-Werror make -s -C "$tmp/$1/$suite" >"$tmp/log" 2>&1 || {
		cat "$tmp/log"
		return 1
	}
	for t in "$tmp/$1/$suite"/*.c; do
		[ -x "${t%.c}" ] || { echo "${t%.c} was not built"; return 1; }
	done
}

for base in $(base_list); do
	src=$(source_of "$base") || exit
	mkdir "$tmp/$base"
	git -C "$src" archive base $selftests/lib.mk $selftests/kselftest.h $selftests/kselftest_harness.h \
		$selftests/run_kselftest.sh $selftests/kselftest $selftests/Makefile tools/scripts tools/include \
		scripts/subarch.include Makefile | tar -xf - -C "$tmp/$base"
	cp -R "$TOP/tools-testing-selftests/tree/$suite" "$tmp/$base/$selftests/"
	ok "$base: the tests build" build "$base"
done
cd "$tmp/$base/$suite" || exit 2

if [ "$(nproc)" -lt 2 ] || ! unshare -rm sh -c 'mount -t tmpfs none /sys/devices/system/cpu' 2>/dev/null; then
	skip "the tests and the machine" "needs 2 CPUs and a mount namespace of its own"
	done_testing
fi

# in_box <commands>: $clock and $cpu are folders of plain files that take what the tests write.
cat >"$tmp/box" <<'EOT'
clock=/sys/devices/system/clocksource/clocksource0 cpu=/sys/devices/system/cpu
mount -t tmpfs none ${clock%/*} && mount -t tmpfs none $cpu || exit 2
mkdir $clock
for n in $(seq 0 $(($(nproc) - 1))); do
	mkdir $cpu/cpu$n && echo 1 >$cpu/cpu$n/online
done
echo tsc hpet acpi_pm >$clock/available_clocksource
echo hpet >$clock/current_clocksource
all_on() {
	! grep -v 1 $cpu/cpu*/online
}
eval "$1"
EOT
in_box() {
	unshare -rm sh "$tmp/box" "$1"
}

for t in clock_monotonic clock_handoff clocksource_switch cpu_hotplug clock_throughput; do
	# shellcheck disable=SC2016 # for the box
	ok "$t: another clocksource is left alone, with a word on what to do" in_box '
		echo tsc >$clock/current_clocksource
		said=$(./'$t'); status=$?
		echo "$said, status $status"
		[ $status = 4 ] && [ "$(cat $clock/current_clocksource)" = tsc ] || exit 1
		case $said in *"1..0 # SKIP clocksource is tsc; boot with clocksource=hpet or"*) ;; *) exit 1 ;; esac'
done
# A moment at which a CPU is off comes soon; kill is a builtin of the shell and quick.
for signal in TERM HUP PIPE; do
	# shellcheck disable=SC2016
	ok "killed by SIG$signal: the CPU that was off is on again, and the end is by the signal" in_box '
		./cpu_hotplug >/dev/null & test=$!
		while kill -0 $test && all_on >/dev/null; do :; done
		kill -'$signal' $test || exit 1
		wait $test; status=$?
		[ "$(kill -l $status)" = '$signal' ] || { echo "status $status"; exit 1; }
		all_on'
done
# shellcheck disable=SC2016
ok "the watchdog fails the test, and the CPUs are on" in_box '
	CONTENTION_WATCHDOG=1 ./cpu_hotplug >/dev/null; status=$?
	[ $status = 1 ] && all_on'
# shellcheck disable=SC2016
ok "umip: a CPU without UMIP is left alone" in_box '
	echo "flags : fpu umips" >/sys/devices/system/cpu/cpuinfo
	mount --bind /sys/devices/system/cpu/cpuinfo /proc/cpuinfo || exit 1
	said=$(./umip); status=$?
	echo "$said, status $status"
	[ $status = 4 ] || exit 1
	case $said in *"1..0 # SKIP CPU or kernel without UMIP"*) ;; *) exit 1 ;; esac'
if grep -qw umip /proc/cpuinfo; then
	# shellcheck disable=SC2016
	ok "umip: without switches it does what it can, and says why not more" in_box '
		mount -t tmpfs none /sys/kernel/debug || exit 1
		said=$(./umip); status=$?
		echo "$said, status $status"
		[ $status = 0 ] || exit 1
		case $said in *"# SKIP windows: no switches in debugfs"*) ;; *) exit 1 ;; esac'
	# shellcheck disable=SC2016
	ok "umip: killed by SIGTERM, it leaves the switches and the length of a window as they were" in_box '
		mount -t tmpfs none /sys/kernel/debug || exit 1
		umip=/sys/kernel/debug/contention/umip
		mkdir -p $umip
		echo 0 >$umip/enabled
		echo 1 >$umip/plain
		echo 30000 >$umip/interval
		printf "allowed 0\nsuppressed 0\n" >$umip/stats
		./umip >/dev/null & test=$!
		while kill -0 $test && [ "$(cat $umip/enabled)" = 0 ]; do :; done
		sleep 1
		kill -TERM $test || exit 1
		wait $test; status=$?
		[ "$(kill -l $status)" = TERM ] || { echo "status $status"; exit 1; }
		[ "$(cat $umip/enabled $umip/plain $umip/interval | tr "\n" " ")" = "0 1 30000 " ]'
else
	skip "umip: what it does, and what it leaves behind" "this CPU has no UMIP"
fi
ok "the watchdog's time must be one" refused "CONTENTION_WATCHDOG is 'soon'" \
	env CONTENTION_WATCHDOG=soon ./clock_monotonic
done_testing
