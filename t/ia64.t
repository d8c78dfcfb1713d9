#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The parts of make ia64 that can be tried on any machine: the loader against a made-up firmware, the
# selftest against a made-up kernel, the judgement of the instructions on a real disassembly that is
# spoilt in one place, and a run on a made-up machine. What needs the compiler for ia64 is done where
# that is in the cache, or where everything is asked for (TEST_ALL).
. "$(dirname -- "$0")/lib.sh"

image=$TOP/arch-ia64-traps/image
suite=$TOP/tools-testing-selftests/tree/tools/testing/selftests/contention
strict='-Wall -Wextra -Werror -O2 -fsanitize=undefined'

# ---- loader ----

# shellcheck disable=SC2086 # a list of options
ok "the loader builds for the host" gcc $strict -o "$tmp/loader_test" "$image/loader_test.c" "$image/loader.c"
for s in good taken exit-retried page-0-allocated no-page-0 small-page-0 long-cmdline; do
	ok "loader: $s" sh -c '"$1" "$2" | tee "$3" && grep -qx started "$3"' - "$tmp/loader_test" "$s" "$tmp/said"
done
for s in no-fpswa no-kernel-room no-initrd-room no-room exit-refused not-elf not-ia64 cut-off headers-cut-off \
	offset-wraps too-large entry-elsewhere; do
	ok "loader: $s, is refused" sh -c '"$1" "$2" | tee "$3" && grep -qx refused "$3"' - "$tmp/loader_test" "$s" "$tmp/said"
done
# Rules of the loader that are taken out must be missed.
without() {
	sed "$2" "$image/loader.c" >"$tmp/loader.c"
	if cmp -s "$tmp/loader.c" "$image/loader.c"; then
		echo "nothing was taken out"
		return 1
	fi
	gcc -O2 -I "$image" -o "$tmp/loader_broken" "$image/loader_test.c" "$tmp/loader.c" || return
	! "$tmp/loader_broken" "$1"
}
ok "page 0 not kept away, is noticed" without good '/keep_low(l);/d'
ok "a whole first piece kept away, is noticed" without good 's/> LOW_PAGES) {/> 1UL << 60) {/'
ok "no second try to leave, is noticed" without exit-retried 's/MAX_EXITS	8/MAX_EXITS	1/'
ok "no other place for the kernel, is noticed" without taken 's/MAX_BASES	1024/MAX_BASES	1/'
ok "memory that is not zeroed, is noticed" without good '/zero(physical/d'
ok "instruction caches not flushed, is noticed" without good '/flush_icache(at/d'
ok "regions left in addresses, is noticed" without good 's/addr & ~REGION_MASK/addr/'

# ---- the little C library ----

# shellcheck disable=SC2086 # a list of options
ok "format.c builds for the host" gcc $strict -o "$tmp/format_test" "$image/format_test.c"
ok "format.c prints as the C library does" "$tmp/format_test"

# ---- selftest ----

# A made-up kernel in front of it, and windows of 0.3 s.
mkdir -p "$tmp/fake/contention"
src=$("$TOP/scripts/fetch" 6.1) || exit
git -C "$src" show base:tools/testing/selftests/kselftest.h >"$tmp/fake/kselftest.h"
cp "$suite/compat.h" "$tmp/fake/contention/"
sed -e 's/^#define HAVE_ASSISTS	false/#define HAVE_ASSISTS	true/' \
	-e 's/^static void raise_\([a-z]*\)(void) { }/static void raise_\1(void) { fake_raise("\1"); }/' \
	-e 's/^#define WINDOW	.*/#define WINDOW	FAKE_WINDOW/' \
	-e 's/^#define SLACK	.*/#define SLACK	(FAKE_WINDOW \/ 10)/' \
	-e 's/^#define STORM_MS	.*/#define STORM_MS	700/' -e 's/^#define SLICE_MS	.*/#define SLICE_MS	20/' \
	-e 's/ms++ > 10000/ms++ > 1000/' "$suite/fpswa.c" >"$tmp/fake/contention/fpswa.c"
ok "the selftest builds against a made-up kernel" gcc -Wall -Wextra -Werror -O2 -include "$image/fake_kernel.h" \
	-o "$tmp/fake/fpswa" "$tmp/fake/contention/fpswa.c"
fakes="good six no-limit early told-never told-twice told-half miscounted silence-prints silence-counts
	off-counts mute stuck no-handler overrun no-switch unpatched"
for f in $fakes; do
	(
		status=0
		FAKE=$f CONTENTION_WATCHDOG=30 timeout 60 "$tmp/fake/fpswa" >"$tmp/fake/$f" 2>&1 || status=$?
		echo "exit $status" >>"$tmp/fake/$f"
	) &
done
wait
# said <kernel> <exit status> <line>
said() {
	grep -q -- "$3" "$tmp/fake/$1" && grep -qx "exit $2" "$tmp/fake/$1" || {
		cat "$tmp/fake/$1"
		return 1
	}
}
ok "a sound kernel passes" said good 0 '^# Totals: pass:9 fail:0 .* skip:0'
ok "a kernel without the switch passes, with skips" said no-switch 0 'pass:5 fail:0 .* skip:4'
ok "an unpatched kernel passes, with one more" said unpatched 0 'pass:4 fail:0 .* skip:5'
ok "six messages in a window" said six 1 '^not ok 3 at most 5 messages in a window: 6'
ok "no limit to speak of" said no-limit 1 '^not ok 3 at most 5 messages in a window: 320'
ok "windows that are too short" said early 1 '^not ok 3 '
ok "no word of what was not logged" said told-never 1 '^not ok 4 '
ok "more than one in a window" said told-twice 1 '^not ok 4 '
ok "not all of it" said told-half 1 '^not ok 7 '
ok "faults that are not counted" said miscounted 1 '^not ok 6 '
ok "messages of silenced processes" said silence-prints 1 '^not ok 5 '
ok "silenced processes that are counted" said silence-counts 1 '^not ok 8 '
ok "counting while switched off" said off-counts 1 '^not ok 8 '
ok "no message at all" said mute 1 '^not ok 1 '
ok "faults that never return" said stuck 1 '^not ok 2 '
ok "a firmware without a handler" said no-handler 1 'SIGFPE'
ok "a log that lost records" said overrun 1 '^not ok 1 '

# ---- the instructions ----

# logs/ia64/*.dis are what "ia64-linux-gnu-objdump -dr --no-show-raw-insn" says of lib/percpu_ratelimit.o
# and of handle_fpu_swa() in arch/ia64/kernel/traps.o, of Linux 6.1 with this series (GPL-2.0) as
# scripts/ia64 builds it.
code() {
	sed "$3" "$TOP/t/logs/ia64/$2" >"$tmp/spoilt.dis"
	[ -z "$3" ] || ! cmp -s "$tmp/spoilt.dis" "$TOP/t/logs/ia64/$2" || {
		echo "nothing was spoilt"
		return 1
	}
	awk -v check="$1" -f "$TOP/scripts/ia64-code.awk" "$tmp/spoilt.dis"
}
# bad_limit|bad_caller <name> <what it says> <sed>: the instructions so spoilt are refused.
bad_limit() {
	ok "$1" refused "$2" code limit percpu_ratelimit.dis "$3"
}
bad_caller() {
	ok "$1" refused "$2" code caller traps.dis "$3"
}
ok "the limit's instructions" code limit percpu_ratelimit.dis ''
ok "the caller's instructions" code caller traps.dis ''
bad_limit "a store to the shared line" 'st8 at 2a6 can write the shared struct' 's/\(296:.*ld8 r14=\[\)r32/\1r29/
	s/add r32=r29,r28;;/nop.m 0x0/'
bad_limit "an exchange that is weaker" 'cmpxchg8.rel at 126' 's/\(126:.*\)cmpxchg8.acq/\1cmpxchg8.rel/'
bad_limit "a second atomic instruction" 'fetchadd8.acq at a6' 's/\(a6:.*\)ld8.acq r15=\[r32\]/\1fetchadd8.acq r15=[r32],1/'
bad_limit "one for the CPU's own count" 'fetchadd8.acq at 296 is another atomic' 's/ld8 r14=\[r32\]/fetchadd8.acq r14=[r32],1/'
bad_limit "none at all" 'does not write the shared word' 's/\(126:.*\)cmpxchg8.acq .*/\1nop.m 0x0/'
bad_limit "the other's line taken away by a prefetch" 'lfetch.excl at 1a can' 's/^  1c:.*/  1a: lfetch.excl [r32]/'
bad_limit "one line for all CPUs" 'st8 at 2a6 is not known to go' 's/add r32=r29,r28/mov r32=r29/'
bad_limit "another per-CPU variable" 'st8 at 2a6 is not known to go' 's/adds r29=16,r27/adds r29=24,r27/'
bad_limit "another offset than the CPU's" 'st8 at 2a6 is not known to go' 's/ld8 r28=\[r17\]/ld8 r28=[r2]/'
bad_limit "an offset on one way only" 'st8 at 2a6 can write the shared struct' 's/\(290:.*\]\) *add r32/\1 (p06) add r32/'
bad_limit "a store to a global" 'st8 at 2a6 is not known to go' 's/add r32=r29,r28/addl r32=0,r1/'
bad_limit "... by its address" 'st8 at 2a6 is not known to go' 's/add r32=r29,r28/movl r32=0x0/'
bad_limit "no way around the shared line" 'no branch on the end of the window' 's/\(9c:\).*/\1 nop.b 0x0/'
bad_limit "a look at the shared line first" 'keep from the shared line at c' 's/^   c:.*/   c: ld8 r20=[r32]/'
bad_limit "the closed branch inverted" 'returns at 2dc without a look' 's/(p08) br.cond.dpnt.few 260/(p09) br.cond.dpnt.few 260/'
bad_limit "its predicates swapped" 'returns at 2dc without a look' 's/p8,p9=r20,r0/p9,p8=r20,r0/'
bad_limit "who has seen none taken for who has" 'keep from the shared line at a6' 's/\(6c:.*\)(p06)/\1(p07)/'
bad_limit "another comparison" 'no branch on the end of the window' 's/cmp.lt p8,p9=r20,r0/cmp.lt p8,p9=r10,r0/'
bad_limit "closed without having seen it" 'returns at 2dc without a look' 's/br.cond.dptk.few a0 /br.cond.dptk.few 260 /'
bad_limit "a closed window that lets through" 'return at 2dc something else than 0' 's/mov r8=r0/mov r8=1/'
bad_limit "... sometimes" 'return at 2dc something else than 0' 's/\(2d6:.*\)mov r8=r0/\1(p06) mov r8=r0/'
bad_limit "... on a second way" 'return at 1bc something else than 0' 's/^ 2cc:.*/ 2cc: (p06) br.cond.dptk.few 1b0/'
bad_limit "a lost exchange that lets through" 'return at 1bc something else than 0' 's/\(13c:.*\)(p08)/\1(p09)/'
bad_limit "a pointer through an fp register" 'goes to f6 at c' 's/^   c:.*/   c: setf.sig f6=r32/'
bad_limit "... through a branch register" 'goes to b6 at c' 's/^   c:.*/   c: mov b6=r32/'
bad_limit "... through memory" 'struct is stored at 2a6' 's/st8 \[r32\]=r2/st8 [r32]=r18/'
bad_limit "a call" 'calls something at 1bc' 's/\(1bc:.*\)br.ret.sptk.many b0/\1br.call.sptk.many b0=0/'
ok "another function" refused 'no such function' code limit traps.dis ''

bad_caller "NOPRINT the wrong way round" 'not called by who did not ask' 's/\(11c:.*\)(p06)/\1(p07)/'
none='does not test IA64_THREAD_FPEMU_NOPRINT'
bad_caller "another bit tested" "$none" 's/tbit.z p6,p7=r16,6/tbit.z p6,p7=r16,5/'
bad_caller "another register tested" "$none" 's/tbit.z p6,p7=r16,6/tbit.z p6,p7=r11,6/'
bad_caller "a word that is not the task's" "$none" 's/adds r11=1968,r13/adds r11=1968,r33/'
bad_caller "a test that leaves the predicates" "$none" 's/tbit.z p6,p7=r16/tbit.z.and p6,p7=r16/'
bad_caller "a test that is not always made" "$none" 's/tbit.z p6,p7=r16/(p14) &/'
bad_caller "its predicates overwritten" 'no branch on IA64_THREAD_FPEMU_NOPRINT' 's/^     11c:/     11a: cmp.eq p6,p7=r0,r0\n&/'
bad_caller "NOPRINT does not keep from the call" 'to the call of percpu_ratelimit_allow at 6ac' 's/\(12c:\).*/\1 br.few 690/'
bad_caller "... nor what is before it" 'to the call of percpu_ratelimit_allow at 6ac' 's/^     10c:.*/     10c: (p06) br.cond.dptk.few 690/'
bad_caller "... nor from the old limit" 'to fetchadd8.acq at 610' 's/\(12c:\).*/\1 br.few 610/'
bad_caller "... nor from the common limit" 'to the call of ___ratelimit at 12c' \
	's/^     12c:.*/			122: PCREL21B	___ratelimit\n     12c: br.call.sptk.many b0=120/'
bad_caller "... nor from a message" 'to _printk at 12c and go on' \
	's/^     12c:.*/			122: PCREL21B	_printk\n     12c: br.call.sptk.many b0=120/'
bad_caller "an atomic instruction for everybody" 'to fetchadd8.acq at 10c' 's/^     10c:.*/     10c: fetchadd8.acq r9=[r12],1/'
bad_caller "a global stored to, as before 2006" 'to st8 at 156, which' 's/st8 \[r38\]=r0/st8 [r48]=r0/'
bad_caller "... by its address" 'to st8 at 12c, which' 's/^     126:.*/     126: movl r9=0x0/; s/^     12c:.*/     12c: st8 [r9]=r0/'
bad_caller "... after the handler" 'to st8 at 23c, which' 's/^     23c:.*/     23c: st8 [r48]=r0/'
bad_caller "... for everybody" 'to st8 at 10c, which' 's/^     10c:.*/     10c: st8 [r1]=r0/'

# ---- make ia64-test ----

machine() {
	printf '#!/bin/sh\n%s\n' "$2" >"$tmp/$1"
	chmod +x "$tmp/$1"
}
# A disk image for a machine that does not look at it.
echo image >"$tmp/disk.img"
sed '/^exit /d; s/^/    /' "$tmp/fake/good" >"$tmp/good.fpswa"
sed '/^exit /d; s/^/    /' "$tmp/fake/six" >"$tmp/six.fpswa"
# console <fpswa's lines> <its result>
console() {
	cat <<-EOT
	EFI 1.10 of no firm
	# a shell that nobody asked
	loader: Linux for the FPSWA test
	loader: starting the kernel
	[    0.000000] Linux version 6.1
	[    0.100000] ok, this is not a result

	KTAP version 1
	1..4
	ok 1 boot: all CPUs are online # online 0-3 of 0-3
	    # Subtest: percpu_ratelimit
	    1..1
	    ok 1 first_event
	ok 2 kunit: percpu_ratelimit
	EOT
	cat "$1"
	cat <<-EOT
	$2
	ok 4 kernel: not tainted by a fault # taint 0
	# contention: end
	[   60.000000] reboot: Power down
	EOT
}
# The tab of a here-document would be part of a line's indent.
console "$tmp/good.fpswa" 'ok 3 selftest: fpswa' | sed 's/$/\r/' >"$tmp/good.log"
console "$tmp/six.fpswa" 'not ok 3 selftest: fpswa # exit 1' >"$tmp/six.log"
sed '/fpswa_faults/,$d' "$tmp/good.log" >"$tmp/hung.log"
sed 's/^ok 1 boot.*0-3/not ok 1 boot: all CPUs are online # online 0 of 0-3/' "$tmp/good.log" >"$tmp/failed.log"
sed 's/^\(    ok 5\)/[   41.0] Kernel panic - not syncing: Fatal exception\n\1/' "$tmp/good.log" >"$tmp/panic.log"
cat "$tmp/good.log" "$tmp/good.log" >"$tmp/twice.log"
printf '%s\n' 'KTAP version 1' 1..2 'ok 1 boot: all CPUs are online' 'ok 2 kernel: not tainted by a fault' \
	'# contention: end' >"$tmp/other.log"
machine boots "[ \"\$1\" = '$tmp/disk.img' ] && cat '$tmp/'\$LOG.log >\"\$2\""
machine hangs "cat '$tmp/hung.log' >\"\$2\"; sleep 98763"
machine breaks 'echo "no such machine" >&2; exit 3'

run() {
	rm -rf "$tmp/results"
	env RESULTS="$tmp/results" IA64_IMAGE="$tmp/disk.img" IA64_RUN="$tmp/boots" "$@" "$TOP/scripts/ia64" test
}
verdict() {
	text=$1
	shift
	refused "FAIL: $text" run "$@"
}
ok "a good run passes" run LOG=good
ok "... its report has the figures" grep -q 'fpswa_on_silenced' "$tmp/results/summary.txt"
ok "... only results are with the results" sh -c '! grep -vE "^ *(K?TAP version|1\.\.|ok |# )" "$1/results.ktap"' - "$tmp/results"
ok "... and everything else on the console" sh -c 'grep -q Power.down "$1/console.log" && grep -q "^# a shell" "$1/console.log" &&
	! grep -q contention: "$1/console.log"' - "$tmp/results"
ok "a machine that hangs" verdict 'hang: ' IA64_RUN="$tmp/hangs" TIMEOUT=1
ok "... is ended, with all it started" sh -c '! pgrep -f "sleep 98763\$"'
ok "a machine that stops in the middle" verdict 'no end mark' LOG=hung
ok "a failed test" verdict 'failed: boot: all CPUs are online' LOG=failed
ok "six messages" verdict 'failed: at most 5 messages in a window: 6' LOG=six
ok "a panic between the results" verdict 'panic: Kernel panic' LOG=panic
ok "another init, which passes" verdict 'no result of selftest: fpswa' LOG=other
from_its_folder() (
	cd "$tmp" && run LOG=good IA64_RUN=./boots IA64_IMAGE=disk.img
)
ok "a command and an image of this folder" from_its_folder
ok "a machine that boots again and again" verdict 'second plan' LOG=twice
ok "a machine that does not start" verdict 'QEMU ended with status 3: no such machine' IA64_RUN="$tmp/breaks"
ok "no such command" refused "ia64: IA64_RUN=$tmp/none: " run IA64_RUN="$tmp/none"
skips() {
	status=0
	"$@" >"$tmp/said" 2>&1 || status=$?
	cat "$tmp/said"
	[ "$status" = 4 ] && [ "$(wc -l <"$tmp/said")" = 1 ] && grep -q '^skip: IA64_RUN is not set' "$tmp/said"
}
ok "no command for a machine is a skip, at once" skips run IA64_RUN= IA64_IMAGE=
ok "a base without ia64" refused 'ia64: Linux 7.3 has no ia64; take BASE=6.1 or BASE=5.10' run BASE=7.3
ok "... which is all that is said" [ "$(wc -l <"$tmp/.refusal")" = 1 ]
ok "an unknown base" refused "unknown base '9.9'" run BASE=9.9
ok "a time that is none" refused 'TIMEOUT=x is not a number' run TIMEOUT=x
ok "an image that is not there" refused "cannot read IA64_IMAGE" run IA64_IMAGE="$tmp/none"
ok "no such step" refused 'usage: ' "$TOP/scripts/ia64" boot

# ---- with the compiler ----

# shellcheck disable=SC2012 # one name
compiler=$(ls -d "$CACHE"/cross/ia64-*/bin/ia64-linux-gnu-gcc 2>/dev/null | head -n 1)
if [ -z "$compiler" ] && [ -z "${TEST_ALL:-}" ]; then
	skip "kernels and image for ia64" "no compiler for ia64 in the cache; make ia64 builds one, TEST_ALL=1 as well"
	done_testing
fi
# shellcheck disable=SC2086 # a list of options
ok "the PE test builds" gcc $strict -o "$tmp/pe_test" "$image/pe_test.c"
for base in 6.1 5.10; do
	# The second kernel costs some minutes, and shows what the first does.
	if [ "$base" != 6.1 ] && [ -z "${TEST_ALL:-}" ]; then
		skip "$base: kernels and image for ia64" "only with TEST_ALL=1"
		continue
	fi
	# One that somebody else builds right now is waited for.
	flock "$CACHE/work/ia64-$base.lock" true
	ok "$base: both kernels, their instructions, and the image" env BASE=$base "$TOP/scripts/ia64" image
	at=$CACHE/build/ia64-$base
	ok "$base: the loader can be loaded anywhere" "$tmp/pe_test" "$at/BOOTIA64.EFI"
	ok "$base: EFI finds it" mcopy -n -i "$at/ia64.img" ::/EFI/BOOT/BOOTIA64.EFI "$tmp/$base.efi"
	ok "$base: ... whole" cmp "$tmp/$base.efi" "$at/BOOTIA64.EFI"
done
done_testing
