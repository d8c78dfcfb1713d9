#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# verify/explore and verify/threads: the headers hold in every order of steps and on threads, and
# each mutant of them is noticed.
. "$(dirname -- "$0")/lib.sh"
cd "$TOP" || exit 2
explore=$CACHE/build/explore/explore-
replay=$tmp/replay

# relay <what> <command> [arguments]: the results in its TAP become results of this test.
relay() {
	what=$1
	shift
	"$@" >"$tmp/tap" 2>"$tmp/err"
	got=$?
	plans=0 results=0 bad=0 planned=0
	while IFS= read -r line; do
		case $line in
		1..*)
			plans=$((plans + 1))
			planned=$((planned + ${line#1..}))
			;;
		"ok "* | "not ok "*)
			count=$((count + 1))
			results=$((results + 1))
			text=${line#not }
			text=${text#ok * - }
			case $line in
			not*)
				bad=1 failed=1
				echo "not ok $count - $what: $text"
				;;
			*) echo "ok $count - $what: $text" ;;
			esac
			;;
		"# "*) [ $bad = 0 ] || echo "$line" >&2 ;;
		esac
	done <"$tmp/tap"
	[ $bad = 0 ] || head -n 40 "$tmp/err" | sed 's/^/#   /' >&2
	ok "$what: all of it ran, and ended as it says" \
		[ "$plans:$planned:$bad" = "$((plans ? plans : 1)):$results:$((got ? 1 : 0))" ]
}

# status <n> <command> [arguments]
status() {
	want=$1
	shift
	"$@"
	got=$?
	echo "status $got, not $want"
	[ "$got" = "$want" ]
}

ok "explore builds" make -s -C verify/explore
ok "threads build" make -s -C verify/threads
# The one that takes longest goes beside the others.
"${explore}shared_counter" >"$tmp/longest" 2>&1 &
longest=$!
finish_longest() {
	wait "$longest"
	got=$?
	cat "$tmp/longest"
	return "$got"
}
for p in percpu_ratelimit page_lock; do
	relay "$p" "$explore$p"
done
for p in shared_counter percpu_ratelimit page_lock; do
	relay "$p at random" "$explore$p" -r 5000
done
relay threads make -s -C verify/threads run
relay shared_counter finish_longest
relay mutants verify/mutants.sh

# A schedule that was printed can be run again, up to the same end.
mkdir -p "$tmp/include/linux"
header=arch-x86-hpet/1-shared-counter/tree/include/linux/shared_counter.h
sed 's/\(SHARED_COUNTER_BROKEN[[:space:]]*\)0/\12/' "$header" >"$tmp/include/linux/shared_counter.h"
ok "a twin builds" make -s -C verify/explore BUILD="$tmp/twin" HEADERS="$tmp/include" "$tmp/twin/explore-shared_counter"
twin=$tmp/twin/explore-shared_counter
ok "... and fails" status 1 sh -c "$twin -c two >$tmp/out"
sed -n "s/^# again: .*-c two -s '\(.*\)'/\1/p" "$tmp/out" >"$replay"
ok "... its schedule fails again" status 1 sh -c "$twin -c two -s '$(cat "$replay")' >$tmp/again"
ok "... with the same steps" sh -c "grep '|' $tmp/out >$tmp/1; grep '|' $tmp/again >$tmp/2; [ -s $tmp/1 ] && cmp $tmp/1 $tmp/2"
ok "... and the sound header does not" status 0 sh -c "${explore}shared_counter -c two -s '0*3 1*2' | grep -F 'nothing wrong'"
ok "the twin fails at random as well" status 1 "$twin" -c two -r 100000 -S 1

ok "no such case: status 2" status 2 "${explore}page_lock" -c none
ok "not a schedule: status 2" status 2 "${explore}page_lock" -c fair -s "0 x"
ok "an impossible schedule: status 2" status 2 "${explore}page_lock" -c fair -s "7"
ok "unknown option: status 2" status 2 "${explore}page_lock" -x
too_many() {
	"${explore}shared_counter" -c three -n 1000 >"$tmp/said"
	[ $? = 1 ] && grep -qF 'more than 1000 states' "$tmp/said"
}
ok "too many states: says so" too_many
# CPUs that may be exchanged save states, and not one schedule.
schedules() {
	sed -n 's/.* \([0-9.e+]*\) schedules.*/\1/p'
}
alike() {
	one=$("${explore}shared_counter" -c "$1" | schedules)
	two=$("${explore}shared_counter" -d -c "$1" | schedules)
	echo "$one and $two schedules"
	[ -n "$one" ] && [ "$one" = "$two" ]
}
for c in two nmi thieves back unequal; do
	ok "$c: as many schedules with all CPUs different" alike "$c"
done
ok "threads: bad number: status 2" status 2 "$CACHE/build/threads/threads-page_lock" -n 1
ok "no such mutant: status 2" status 2 verify/mutants.sh nosuchmutant

done_testing
