#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# An edit of each kind in a real 6.12 tree reaches the patch folders and all four bases. The
# repository is a copy; the tree stays in the cache, as its first checkout takes a while.
. "$(dirname -- "$0")/lib.sh"

mkdir "$tmp/repo"
(cd "$TOP" && tar -cf - --exclude=./.git --exclude=./results .) | tar -xf - -C "$tmp/repo"
cd "$tmp/repo" || exit 2
dir=$CACHE/work/roundtrip-6.12
mkdir -p "$CACHE/work"
exec 9>"$dir.lock"
flock 9
# The cache may be left by a run that was stopped half way.
[ ! -d "$dir" ] || {
	rm -f "$dir/.git/index.lock"
	rm -rf "$dir/.git/rebase-merge"
	git -C "$dir" checkout -q -f -B series refs/contention/known || rm -rf "$dir"
}

# patches 6.1|...: the text is in one of the base's patches.
patches() {
	grep -qF -- "$2" "patches/$1"/*.patch
}

ok "make tree" scripts/tree 6.12 "$dir"
hpet=$(git -C "$dir" log --format=%h -1 base..series -- arch/x86/kernel/hpet.c)
n=$(($(git -C "$dir" rev-list --count "$hpet..series") + 1))
# The first line that the HPET patch adds to the base's file gets a comment in front.
line=$(git -C "$dir" diff -U0 "$hpet^" "$hpet" -- arch/x86/kernel/hpet.c |
	sed -n 's/^@@ -[^ ]* +\([0-9]*\).*/\1/p' | head -n 1)
amend "$dir" $n "sed -i '${line}i /* round trip: hook */' arch/x86/kernel/hpet.c
	sed -i '/^config HPET_SHARED_READ/,/help/s/^\thelp/&\n\t  Round trip: help./' kernel/Kconfig.contention
	git commit -q --amend -m \"\$(git log -1 --format=%B | sed '2a Round trip: message.\n')\""
amend "$dir" $((n + 1)) "echo '/* round trip: file */' >>include/linux/shared_counter.h"
ok "make refresh" scripts/refresh 6.12 "$dir"
ok "the file" has arch-x86-hpet/1-shared-counter/tree/include/linux/shared_counter.h "/* round trip: file */"
ok "the hook" has arch-x86-hpet/2-hpet/hook.diff "+/* round trip: hook */"
ok "the help text" has Kconfig.contention "Round trip: help."
ok "the message" has arch-x86-hpet/2-hpet/message "Round trip: message."
for base in $(ls patches); do
	for what in "+/* round trip: file */" "+/* round trip: hook */" "Round trip: help." "Round trip: message."; do
		ok "$base: patches/ has: $what" patches "$base" "$what"
	done
done
ok "nothing else is edited" [ "$(diff -rq . "$TOP" -x .git -x results -x patches | wc -l)" = 4 ]

done_testing
