# SPDX-License-Identifier: GPL-2.0
# Sourced by every test here. A test prints TAP; done_testing is its last line, so that a test which
# stops on its way has no plan and fails.

TOP=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 2
# shellcheck disable=SC2034 # for the tests
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/contention-fixes
count=0 failed=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# The results of a test do not depend on who runs it.
export LC_ALL=C
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE AUTHOR BASE DIR OUT KDIR MAKEFLAGS MAKELEVEL MFLAGS
export GIT_AUTHOR_NAME=Tester GIT_AUTHOR_EMAIL=tester@localhost.invalid
export GIT_COMMITTER_NAME=Tester GIT_COMMITTER_EMAIL=tester@localhost.invalid
# One fetch of a base is enough for all tests.
export FETCH_MAX_AGE="${FETCH_MAX_AGE:-1440}"

diag() {
	echo "$*" | sed 's/^/# /' >&2
}

# ok <description> <command> [arguments]: what the command printed is shown only if it fails.
ok() {
	count=$((count + 1))
	what=$1
	shift
	if "$@" >"$tmp/.out" 2>&1; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		failed=1
		diag "failed: $*"
		head -n 20 "$tmp/.out" | sed 's/^/#   /' >&2
	fi
}

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# refused <text> <command> [arguments]: it must fail and say the text.
refused() {
	text=$1
	shift
	if "$@" >"$tmp/.refusal" 2>&1; then
		echo "succeeded, but should have said: $text"
		return 1
	fi
	grep -qF -- "$text" "$tmp/.refusal" || {
		echo "should have said: $text"
		cat "$tmp/.refusal"
		return 1
	}
}

done_testing() {
	echo "1..$count"
	exit $failed
}

# verdict <base> <configuration> [<0 if good>]: a field of the table at the end of make test-all. Without
# the last, it is about to be tried.
verdict() {
	[ -z "${TEST_ALL:-}" ] || {
		mkdir -p "$TOP/results"
		case ${3:-} in
		'') echo "$1 $2 died" ;;
		0) echo "$1 $2 pass" ;;
		*) echo "$1 $2 FAIL" ;;
		esac
	} >>"$TOP/results/matrix"
}

# snapshot <dir>: all files in it, and where its branches are, to see that something did not touch it.
snapshot() {
	(cd "$1" && find . -type f ! -path './.git/*' -exec sha256sum {} + | sort -k 2)
	[ ! -e "$1/.git" ] || (cd "$1" && git symbolic-ref -q HEAD && git show-ref && git status -s)
}

# make_kernel <dir> <version> <patchlevel>: a git tree with what the fake series touches.
make_kernel() {
	mkdir -p "$1/kernel" "$1/init" "$1/drivers"
	printf 'VERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = 1\n' "$2" "$3" >"$1/Makefile"
	echo 'source "init/Kconfig"' >"$1/Kconfig"
	printf 'config A\n\tbool\n\nsource "kernel/Kconfig.locks"\n\nconfig B\n\tbool\n' >"$1/init/Kconfig"
	echo 'obj-y += fork.o' >"$1/kernel/Makefile"
	{
		echo "/* clock driver of $2.$3 */"
		for f in a b c d e f g h; do
			printf '\nint clock_%s(int x)\n{\n\tx += 1;\n\treturn x;\n}\n' "$f"
		done
		[ "$2.$3" = 5.1 ] && echo 'int last = 51;' || echo 'int last = 52;'
	} >"$1/drivers/clock.c"
	# A short hook has to keep clear of the line that differs.
	printf '/* other */\n\nint a;\n\nint v%s%s;\nint b;\nint c;\nint d;\nint e;\nint f;\nint g;\nint h;\nint z;\n' "$2" "$3" \
		>"$1/drivers/other.c"
	git -C "$1" init -q -b base
	git -C "$1" add -A
	git -C "$1" commit -q -m "linux-source-$2.$3 $2.$3.1-1"
}

# make_repo <dir>: the scripts with three small patches for made-up kernels 5.1 and 5.2, which
# lie in <dir>/src; all that the real series has to cope with, in a hundredth of the time.
make_repo() {
	mkdir -p "$1/repo" "$1/src"
	make_kernel "$1/src/5.1" 5 1
	make_kernel "$1/src/5.2" 5 2
	cp -R "$TOP/scripts" "$TOP/Makefile" "$1/repo/"
	export CONTENTION_SRC="$1/src" XDG_CACHE_HOME="$1/cache"
	cd "$1/repo" || exit 2
	printf '5.1 x linux-source-5.1 default\n5.2 x linux-source-5.2 -\n' >bases.conf
	printf 'debug all\nclock/1-header all\nclock/2-user 5.1,5.2\n' >series.conf
	mkdir -p debug/tree/kernel/contention clock/1-header/tree/include clock/2-user
	cat >Kconfig.contention <<-'EOT'
	# patch: debug
	menu "Contention"

	config CONTENTION_DEBUG
		bool "Debug"

	# patch: clock/2-user
	config CLOCK_SHARED
		bool "Shared clock"
		help
		  A help text.

	# patch: debug
	endmenu
	EOT
	printf 'debug: Add switches\n\nWhy they are there.\n' >debug/message
	echo 'int debug;' >debug/tree/kernel/contention/debug.c
	cat >debug/hook.diff <<-'EOT'
	diff --git a/init/Kconfig b/init/Kconfig
	--- a/init/Kconfig
	+++ b/init/Kconfig
	@@ -3,5 +3,7 @@
	 
	 source "kernel/Kconfig.locks"
	 
	+source "kernel/Kconfig.contention"
	+
	 config B
	 	bool
	EOT
	printf 'clock: Add header\n\nSome words.\n\nLink: https://example.org/\n' >clock/1-header/message
	printf '#define CLOCK 1\nint one;\nint two;\n' >clock/1-header/tree/include/clock.h
	printf '#!/bin/sh\n' >clock/1-header/tree/include/run.sh
	chmod +x clock/1-header/tree/include/run.sh
	printf 'clock: Use it\n\nIn two places.\n' >clock/2-user/message
	cat >clock/2-user/hook.diff <<-'EOT'
	diff --git a/drivers/clock.c b/drivers/clock.c
	--- a/drivers/clock.c
	+++ b/drivers/clock.c
	@@ -2,6 +2,7 @@
	 
	 int clock_a(int x)
	 {
	+	x += CLOCK;
	 	x += 1;
	 	return x;
	 }
	@@ -44,7 +45,7 @@
	 
	 int clock_h(int x)
	 {
	 	x += 1;
	-	return x;
	+	return x * CLOCK;
	 }
	 int last = 52;
	diff --git a/drivers/other.c b/drivers/other.c
	--- a/drivers/other.c
	+++ b/drivers/other.c
	@@ -2,3 +2,5 @@
	 
	 int a;
	+
	+int aa;
	 
	@@ -12,2 +14,3 @@
	 int h;
	 int z;
	+int zz;
	diff --git a/include/clock.h b/include/clock.h
	--- a/include/clock.h
	+++ b/include/clock.h
	@@ -1,3 +1,4 @@
	 #define CLOCK 1
	 int one;
	 int two;
	+int three;
	EOT
	sed -n '/b\/drivers\/clock/,/last/p' clock/2-user/hook.diff | sed 's/last = 52/last = 51/' \
		>clock/2-user/hook.5.1.diff
	scripts/series
}

# amend <tree> <n> <shell command>: the n-th commit from the top, as a rebase does it.
amend() {
	(
		cd "$1" || exit
		GIT_SEQUENCE_EDITOR="sed -i '1s/^pick/edit/'" git rebase -q -i "HEAD~$2"
		eval "$3"
		git add -u
		git add -A -- include kernel
		git commit -q --amend --no-edit
		GIT_EDITOR=: git rebase --continue
	) >"$tmp/amend.log" 2>&1 || diag "$(tail -n 3 "$tmp/amend.log")"
}

# has <file> <text>
has() {
	grep -qF -- "$2" "$1" || {
		cat "$1"
		return 1
	}
}
