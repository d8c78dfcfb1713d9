#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# scripts/tree and scripts/refresh: the way of an edit from a tree back to the patch folders and on to
# the other bases, on made-up kernels 5.1 and 5.2.
. "$(dirname -- "$0")/lib.sh"

make_repo "$tmp/w" 2>"$tmp/log" || diag "$(tail -n 3 "$tmp/log")"
repo=$tmp/w/repo
dir=$tmp/w/cache/contention-fixes/tree/5.2
git init -q . && git add -A && git commit -qm "as it was"

g() {
	git -C "$dir" "$@"
}

restart() {
	cd "$repo" || exit
	git checkout -q -f . && git clean -q -f -d
	rm -rf "$dir"
	scripts/tree 5.2 >/dev/null 2>&1
}

unchanged() {
	git status --porcelain | tee "$tmp/status"
	[ ! -s "$tmp/status" ]
}

ok "tree prints its folder" [ "$(scripts/tree 5.2 2>/dev/null)" = "$dir" ]
ok "... with one commit a patch" [ "$(g rev-list --count base..series)" = 3 ]
ok "... the same as git am of patches/ gives" git -C "$dir" diff --exit-code series "$(
	g checkout -q --detach base && g am -q "$repo"/patches/5.2/000[1-9]*.patch && g rev-parse HEAD)"
g checkout -q series
ok "refresh of an untouched tree" scripts/refresh 5.2
ok "... changes nothing" unchanged
ok "make tree BASE= again is fine" make -s --no-print-directory tree BASE=5.2

# An edit of each kind.
cd "$dir" || exit
sed -i 's/A help text\./A better help text./' kernel/Kconfig.contention
sed -i 's/x += CLOCK;/x += 2 * CLOCK;/' drivers/clock.c
git commit -qa --amend -m "clock: Use it twice

In two places.

Signed-off-by: contention-fixes <contention-fixes@localhost.invalid>"
cd "$repo" || exit
ok "a tree that is not refreshed is not overwritten" refused "has commits that are not in the patch folders" \
	scripts/tree 5.2
ok "refresh" scripts/refresh 5.2
ok "... the message, without the sign-off" [ "$(cat clock/2-user/message)" = "clock: Use it twice

In two places." ]
ok "... the hook of all bases" has clock/2-user/hook.diff "+	x += 2 * CLOCK;"
ok "... not the other base's own" has clock/2-user/hook.5.1.diff "+	x += CLOCK;"
ok "... the help text" has Kconfig.contention "A better help text."
ok "... under its marker" [ "$(grep -c '^# patch:' Kconfig.contention)" = 3 ]
ok "... in the other base's patches" has patches/5.1/0003* "A better help text."
ok "... and this one's" has patches/5.2/0003* "+	x += 2 * CLOCK;"
git diff --name-only | sort >"$tmp/names"
printf '%s\n' Kconfig.contention clock/2-user/hook.diff clock/2-user/message \
	patches/5.1/0000-cover-letter.patch patches/5.1/0003-clock-Use-it.patch \
	patches/5.1/series patches/5.2/0000-cover-letter.patch patches/5.2/0003-clock-Use-it.patch \
	patches/5.2/series >"$tmp/want"
ok "... and nothing else" diff "$tmp/want" "$tmp/names"
ok "the tree may be made again now" scripts/tree 5.2

restart
amend "$dir" 2 "sed -i '1i int four;' include/clock.h; echo 'int five;' >include/new.h; rm include/run.sh"
amend "$dir" 3 "sed -i 's/int debug/long debug/' kernel/contention/debug.c"
ok "new, edited and removed files, two commits below the top" scripts/refresh 5.2
ok "... edited in the first" has debug/tree/kernel/contention/debug.c "long debug;"
ok "... new in the second" has clock/1-header/tree/include/new.h "int five;"
ok "... removed from the second" [ ! -e clock/1-header/tree/include/run.sh ]
ok "... in the other base's patches" has patches/5.1/0001* "+long debug;"

restart
amend "$dir" 1 "sed -i 's/int one/int uno/' include/clock.h; echo 'config C' >>init/Kconfig"
ok "an edit of an earlier patch's file, and of a file that no hook covers" scripts/refresh 5.2
ok "... are in the hook" has clock/2-user/hook.diff "+int uno;"
ok "... are in the hook" has clock/2-user/hook.diff "+config C"
amend "$dir" 1 "git checkout -q HEAD^ -- drivers/clock.c init/Kconfig"
ok "edits that are taken back" scripts/refresh 5.2
ok "... leave the hook" sh -c '! grep -q "clock\.c\|init/Kconfig" clock/2-user/hook.diff'

restart
sed -i 's/^int three/int drei/' "$dir/include/clock.h"
ok "local changes" refused "local changes (include/clock.h)" scripts/refresh 5.2
ok "... are not overwritten either" refused "local changes (include/clock.h)" scripts/tree 5.2
g commit -qam "one more"
ok "one commit too many" refused "has 4 commits on top of branch base, series.conf has 3" scripts/refresh 5.2
ok "... changes nothing" unchanged

restart
amend "$dir" 1 "sed -i 's/A help text/&/; s/bool \"Debug\"/bool \"Debugging\"/' kernel/Kconfig.contention"
ok "a commit that edits another's part of Kconfig.contention" \
	refused "the edit to kernel/Kconfig.contention cannot be brought back" scripts/refresh 5.2
ok "... changes nothing" unchanged

restart
amend "$dir" 1 "sed -i 's/int zz/int zzz/' drivers/other.c"
ok "an edit of one hunk" scripts/refresh 5.2
ok "... leaves the others of that file as they were, cut short for all bases" \
	[ "$(git diff --numstat clock/2-user/hook.diff | cut -f 1,2)" = "1	1" ]
amend "$dir" 1 "sed -i 's/^int d;/&\nint dd;/' drivers/other.c"
ok "an edit between two hunks" scripts/refresh 5.2
ok "... is a hunk of its own" [ "$(git diff clock/2-user/hook.diff | grep -c '^[-+]@@')" = 1 ]

# 5.1 has a line of its own there, so a hunk with that line as context does not go on it.
restart
amend "$dir" 1 "echo 'int more;' >>drivers/clock.c"
rm "$repo/clock/2-user/hook.5.1.diff"
git -C "$repo" rm -q --cached clock/2-user/hook.5.1.diff
ok "another base that does not take the edit is named, with file and hunk" \
	refused "5.1: clock/2-user: hunk #2 of drivers/clock.c does not apply" scripts/refresh 5.2
ok "... and the folders keep the edit" has clock/2-user/hook.diff "+int more;"

git reset -q --hard
ok "unknown base (tree)" refused "unknown base '9.9'; the bases are: 5.1 5.2" scripts/tree 9.9
ok "unknown base (refresh)" refused "unknown base '9.9'" scripts/refresh 9.9
ok "unknown base (series)" refused "unknown base '9.9'" scripts/series 9.9
ok "no tree" refused "make tree BASE=5.1" scripts/refresh 5.1
mkdir "$tmp/other"
ok "a folder of the user's" refused "make tree did not make it" scripts/tree 5.1 "$tmp/other"

done_testing
