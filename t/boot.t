#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Boots patched kernels as `make run` does, and turns each result of the guest into one here. The
# bases are 6.1 and 7.3; with TEST_ALL all of them, each once more with the kernel's own tests of
# mm, with panics, and as the debug kernels that it can be. Then 6.1 boots with a broken HPET read,
# which the guest's tests must notice.
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"

# A result of the guest's own is reported by its name; the judge's verdict is the last word.
# boot <base> boot|debug|kasan|rt|mm|crash
boot() {
	base=$1 debug='' mm='' crash='' name=$1
	[ "$2" = boot ] || name=$1-$2
	case $2 in
	debug | kasan | rt) debug=$2 ;;
	mm) mm=1 ;;
	crash) crash=1 ;;
	esac
	results=$TOP/results/test-$name
	rm -rf "$results"
	diag "$name: booting, results in $results"
	verdict "$base" "$2"
	status=0
	BASE=$base DEBUG=$debug MM=$mm CRASH=$crash RESULTS=$results "$TOP/scripts/run" >"$tmp/log" 2>&1 || status=$?
	if [ -s "$results/results.ktap" ]; then
		# Not skipped: where a guest skips, the verdict below is a failure.
		while read -r line; do
			line=$(printf '%s' "$line" | tr -d '\r')
			case $line in
			'ok '*) ok "$name: $(echo "${line#ok }" | sed 's/^[0-9]* //; s/ *#.*//')" true ;;
			'not ok '*) ok "$name: $(echo "${line#not ok }" | sed 's/^[0-9]* //; s/ *#.*//')" \
				sh -c 'echo "$1"; exit 1' - "$line" ;;
			esac
		done <<-EOT
			$(grep -E '^(not )?ok ' "$results/results.ktap")
		EOT
	fi
	ok "$name: the run as a whole" sh -c 'tail -n 15 "$1"; exit "$2"' - "$tmp/log" "$status"
	verdict "$base" "$2" "$status"
	[ ! -e "$results/summary.txt" ] || diag "$(sed -n '/^thousand /,/^$/p' "$results/summary.txt")"
}

clock_tests='clock_monotonic clock_handoff clocksource_switch cpu_hotplug nmi_backtrace clock_throughput'

# broken <n>: the run fails, by its kselftests, and for the reason that was built in. Which of them
# sees it is chance: a step back takes two CPUs at the wrong moment.
broken() {
	results=$TOP/results/test-6.1-broken-$1
	rm -rf "$results"
	diag "6.1: booting with rule $1 of linux/shared_counter.h broken, results in $results"
	status=0
	BASE=6.1 BROKEN=$1 TESTS="$clock_tests" RESULTS=$results "$TOP/scripts/run" >"$tmp/log" 2>&1 || status=$?
	ok "6.1 with rule $1 broken: the run fails" [ "$status" = 1 ]
	ok "... by a kselftest" grep -q '^not ok .* selftest: ' "$results/results.ktap"
	ok "... which saw steps backwards" grep -q '^ *# CPU .* went backwards' "$results/results.ktap"
}

# BOOT_BASES and BOOT_KINDS: a part of all.
if [ -n "${TEST_ALL:-}" ]; then
	for base in ${BOOT_BASES:-$(base_list)}; do
		src=$(source_of "$base") || exit
		for kind in ${BOOT_KINDS:-boot mm crash debug kasan rt}; do
			# Where x86 has it.
			[ "$kind" != rt ] ||
				git -C "$src" show base:arch/x86/Kconfig | grep -q 'select ARCH_SUPPORTS_RT$' || continue
			boot "$base" "$kind"
		done
	done
else
	boot 6.1 boot
	boot 7.3 boot
fi
[ -n "${BOOT_KINDS:-}" ] || broken 2
done_testing
