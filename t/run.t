#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# make run's own part, on a made-up kernel whose runner says what it is told to: what is done again
# and what is not, bad input, two runs at once, Ctrl-C in the build and in the boot.
. "$(dirname -- "$0")/lib.sh"

make_repo "$tmp/made" >/dev/null 2>&1 || exit 2
repo=$tmp/made/repo
cd "$repo" || exit 2
# Each target leaves a line in calls; build and boot wait as long as a file says.
mkdir -p debug/tree/tools/testing/selftests/contention/qemu
cat >debug/tree/tools/testing/selftests/contention/qemu/Makefile <<EOT
build:
	echo build >>$tmp/calls
	sleep \$\$(cat $tmp/slow-build 2>/dev/null || echo 0)
	! test -e $tmp/broken
boot:
	echo boot >>$tmp/calls
	sleep \$\$(cat $tmp/slow-boot 2>/dev/null || echo 0)
	printf 'ok 1 a\n' >\$(RESULTS)/results.ktap
judge:
	echo judge >>$tmp/calls
	! test -e $tmp/fails
EOT
scripts/series >/dev/null 2>&1 || exit 2
# The packages of this machine are another test's business.
printf '#!/bin/sh\n' >scripts/packages
work=$XDG_CACHE_HOME/contention-fixes/work

run() {
	: >"$tmp/calls"
	env "$@" scripts/run
}

calls() {
	[ "$(tr '\n' ' ' <"$tmp/calls")" = "$1" ] || { cat "$tmp/calls"; return 1; }
}

edit_series() {
	echo "int edit_$1;" >>debug/tree/kernel/contention/debug.c
	scripts/series >/dev/null 2>&1
}

ok "a first run" run BASE=5.1
ok "builds, boots and judges" calls 'build boot judge '
ok "the tree has the series" grep -q 'x += CLOCK' "$work/5.1/drivers/clock.c"
ok "results/latest is the run" test -s results/latest/results.ktap
head=$(git -C "$work/5.1" rev-parse HEAD)
ok "a second run" run BASE=5.1
ok "only boots" calls 'boot judge '
ok "on the same commits" test "$head" = "$(git -C "$work/5.1" rev-parse HEAD)"
echo 'int edit;' >>"$work/5.1/drivers/clock.c"
ok "an edit in the cached tree" run BASE=5.1
ok "is undone" sh -c '! grep -q "int edit" "$1"' - "$work/5.1/drivers/clock.c"
edit_series one
ok "a changed series" run BASE=5.1
ok "is built again" calls 'build boot judge '
ok "and is in the tree" grep -q edit_one "$work/5.1/kernel/contention/debug.c"
ok "a debug kernel" run BASE=5.1 DEBUG=1
ok "has a build of its own" calls 'build boot judge '

ok "other tests" run BASE=5.1 TESTS=one
ok "are put into the guest" calls 'build boot judge '
ok "and once more" run BASE=5.1 TESTS=one
ok "are there already" calls 'boot judge '
ok "the kernel's own tests of mm" run BASE=5.1 MM=1
ok "take a build as well" calls 'build boot judge '
ok "MM=0 is without" run BASE=5.1 MM=0 TESTS=one
ok "as it was before" calls 'build boot judge '
ok "panics" run BASE=5.1 CRASH=1
ok "take a build as well" calls 'build boot judge '
ok "and a soak" run BASE=5.1 SOAK=1
ok "too" calls 'build boot judge '
ok "DEBUG=kasan" run BASE=5.1 DEBUG=kasan
ok "has a build of its own" calls 'build boot judge '
ok "DEBUG=0 and CRASH=0 are without" run BASE=5.1 DEBUG=0 CRASH=0 SOAK=''
ok "as it was at first" calls 'build boot judge '

touch "$tmp/fails"
ok "a bad verdict is a failure" refused 'report' run BASE=5.1
rm "$tmp/fails"
touch "$tmp/broken"
ok "a build that fails says where its log is" refused 'build.log' run BASE=5.2
rm "$tmp/broken"
ok "and the next run" run BASE=5.2
ok "goes on from the build" calls 'build boot judge '

ok "unknown DEBUG" refused "DEBUG=kmsan: 1, kasan or rt" run DEBUG=kmsan
ok "SOAK is minutes" refused "SOAK=1h: minutes" run SOAK=1h
ok "unknown BASE" refused "unknown base '9.9'" run BASE=9.9
ok "SMP that is no number" refused 'SMP=x' run SMP=x
ok "one CPU is too few" refused 'SMP=1' run SMP=1
ok "a number that no shell takes" refused 'run: SMP=99999999999999999999: 2 to 64 CPUs' run SMP=99999999999999999999
ok "... and nothing else is said" [ "$(wc -l <"$tmp/.refusal")" = 1 ]
ok "KDIR that is not there" refused 'no folder' run KDIR="$tmp/nothing"
ok "KDIR that is no kernel" refused 'not the top of a kernel tree' run KDIR="$tmp"
cp -R "$tmp/made/src/5.1" "$tmp/mine"
git -C "$tmp/mine" checkout -q -b work
snapshot "$tmp/mine" >"$tmp/before"
untouched() {
	snapshot "$tmp/mine" >"$tmp/after"
	cmp "$tmp/before" "$tmp/after"
}
ok "KDIR with a tree of mine" run KDIR="$tmp/mine"
ok "leaves it as it was" untouched
ok "and a second run of it" run KDIR="$tmp/mine"
ok "only boots" calls 'boot judge '
echo 'int mine;' >>"$tmp/mine/drivers/clock.c"
ok "KDIR with local changes" refused 'local changes' run KDIR="$tmp/mine"
git -C "$tmp/mine" commit -qam more
ok "KDIR with a new commit" run KDIR="$tmp/mine"
ok "is built again" calls 'build boot judge '
sed 's/x += 1/x += 2/' "$tmp/made/src/5.1/drivers/clock.c" >"$tmp/mine/drivers/clock.c"
git -C "$tmp/mine" commit -qam other
ok "KDIR that moved, so that a hunk fails" refused 'hunk #1 of drivers/clock.c' run KDIR="$tmp/mine"
ok "it is named, not our copy of it" refused "does not go on $tmp/mine" run KDIR="$tmp/mine"
cp -R "$tmp/made/src/5.1" "$tmp/has"
scripts/apply "$tmp/has" >/dev/null 2>&1
ok "KDIR that has the series" refused "$tmp/has has the 5.1 series already" run KDIR="$tmp/has"
cp -R "$tmp/made/src/5.1" "$tmp/plain"
rm -rf "$tmp/plain/.git"
ok "KDIR without git" run KDIR="$tmp/plain"
ok "leaves it without git" test ! -e "$tmp/plain/.git"
ok "a second run of it" run KDIR="$tmp/plain"
ok "only boots, too" calls 'boot judge '
sed -i 's/PATCHLEVEL = 1/PATCHLEVEL = 7/' "$tmp/plain/Makefile"
ok "KDIR of a version without a series" refused 'is Linux 5.7' run KDIR="$tmp/plain"

git clone -q --depth 1 "file://$tmp/made/src/5.1" "$tmp/shallow" 2>/dev/null
ok "a shallow KDIR" run KDIR="$tmp/shallow"
git -C "$tmp/made/src/5.1" commit -q --allow-empty -m one
echo "int moved;" >>"$tmp/made/src/5.1/kernel/Makefile"
git -C "$tmp/made/src/5.1" commit -qam two
git -C "$tmp/shallow" fetch -q --depth 1
git -C "$tmp/shallow" reset -q --hard FETCH_HEAD
git -C "$tmp/made/src/5.1" reset -q --hard HEAD~2
ok "that moved, and begins elsewhere now" run KDIR="$tmp/shallow"
ok "is built again" calls 'build boot judge '
ok "with what is new" sh -c 'cat "$1"/kdir-shallow-*/kernel/Makefile | grep -q moved' - "$work"

for kind in git plain; do
	cp -R "$tmp/made/src/5.1" "$tmp/a, b: it's $kind"
	[ $kind = git ] || rm -rf "$tmp/a, b: it's $kind/.git"
	ok "blanks, a colon and a quote in KDIR ($kind)" make -s --no-print-directory run KDIR="$tmp/a, b: it's $kind"
	ok "that moved, so that a hunk fails" sh -c 'sed -i "s/x += 1/x += 2/" "$1/drivers/clock.c"
		[ ! -e "$1/.git" ] || git -C "$1" commit -qam other' - "$tmp/a, b: it's $kind"
	ok "is named in the refusal" refused "does not go on $tmp/a, b: it's $kind" run KDIR="$tmp/a, b: it's $kind"
done
ok "no path of ours has them" [ -z "$(find "$XDG_CACHE_HOME" -maxdepth 3 -name '*[ :,]*')" ]
ok "a cache that kbuild cannot use" refused "set XDG_CACHE_HOME" run BASE=5.1 XDG_CACHE_HOME="$tmp/a b"
git init -q "$tmp/outer"
cp -R "$tmp/made/src/5.1" "$tmp/outer/linux"
rm -rf "$tmp/outer/linux/.git"
git -C "$tmp/outer" add -A
git -C "$tmp/outer" commit -qm all
ok "KDIR in a folder of a git repository" refused "is a part of the git repository" run KDIR="$tmp/outer/linux"
ok "no HOME" refused "HOME is not set" run -u HOME -u XDG_CACHE_HOME BASE=5.1

mv results results.away
touch results
ok "results that cannot be written" refused "cannot write into $PWD/results; set RESULTS" run BASE=5.1
ok "... which is all that is said" [ "$(wc -l <"$tmp/.refusal")" = 1 ]
ok "... before anything is done" calls ''
rm results
mv results.away results
ok "RESULTS that cannot be written" refused "run: cannot write into RESULTS" run BASE=5.1 RESULTS=/dev/null/x

# interrupted <signal> <step> <seconds>: the run that waits there ends, and all that it started.
interrupted() {
	: >"$tmp/calls"
	BASE=5.1 scripts/run >"$tmp/slow-log" 2>&1 &
	pid=$!
	i=0
	until grep -q "$2" "$tmp/calls" || [ "$i" -ge 100 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	refused "process $pid is running" env BASE=5.1 scripts/run &&
		refused "is at work on $work/5.1" scripts/clean || return
	kill -s "$1" "$pid"
	ret=0
	wait "$pid" || ret=$?
	[ "$ret" = 130 ] && grep -q interrupted "$tmp/slow-log" || {
		echo "exit status $ret"
		cat "$tmp/slow-log"
		return 1
	}
	! pgrep -f "sleep $3\$"
}
edit_series two
echo 98765 >"$tmp/slow-build"
ok "ended in the build, and two runs at once" interrupted TERM build 98765
rm "$tmp/slow-build"
echo 98764 >"$tmp/slow-boot"
ok "ended in the boot" interrupted HUP boot 98764
rm "$tmp/slow-boot"
ok "the next run works" run BASE=5.1

other=$work/other.lock
: >"$other"
ok "make clean, while a run of something else is at work" refused "is at work on $work/other" flock "$other" scripts/clean
ok "removes nothing" test -e results/latest/results.ktap -a -e "$work/5.1" -a -e "${work%work}build/5.1"
mkdir "${work%work}src"
ok "make clean" make -s --no-print-directory clean
ok "removes results, trees and builds" sh -c '[ ! -e results ] && [ ! -e "$1/build" ] && [ ! -e "$1/work/5.1" ]' - "${work%/work}"
ok "leaves locks and sources" test -e "$other" -a -e "$work/5.1.lock" -a -e "${work%work}src"
ok "once more" scripts/clean
done_testing
