#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# An edit of each kind in a real 6.12 tree reaches the patch folders and all four bases. The
# repository is a copy, and the tree has only the files that the series touches.
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"

mkdir "$tmp/repo"
(cd "$TOP" && tar -cf - --exclude=./.git --exclude=./results .) | tar -xf - -C "$tmp/repo"
cd "$tmp/repo" || exit 2
dir=$tmp/tree
src=$(source_of 6.12) || exit
git clone -q --shared --no-checkout "$src" "$dir" && cd "$dir" || exit
# shellcheck disable=SC2046 # a list of paths
git sparse-checkout set --no-cone $(sed -n 's,^+++ b/,/,p' "$TOP"/patches/6.12/*.patch)
git checkout -q base
git update-ref refs/contention/known base
cd "$tmp/repo" || exit

# patches 6.1|...: the text is in one of the base's patches.
patches() {
	grep -qF -- "$2" "patches/$1"/*.patch
}

ok "make tree" scripts/tree 6.12 "$dir"
hpet=$(git -C "$dir" log --reverse --format=%h base..series -- arch/x86/kernel/hpet.c | head -n 1)
n=$(($(git -C "$dir" rev-list --count "$hpet..series") + 1))
# The second place where the HPET patch adds to the base's file gets a comment in front.
line=$(git -C "$dir" diff -U0 "$hpet^" "$hpet" -- arch/x86/kernel/hpet.c |
	sed -n 's/^@@ -[^ ]* +\([0-9]*\).*/\1/p' | sed -n 2p)
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
