#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# scripts/apply: both ways to apply, and every refusal, on a made-up kernel.
. "$(dirname -- "$0")/lib.sh"

make_repo "$tmp/w" 2>"$tmp/log" || diag "$(cat "$tmp/log")"
k=$tmp/kernel

fresh() {
	rm -rf "$k"
	git clone -q "$tmp/w/src/5.$1" "$k"
	if [ "${2:-}" = plain ]; then
		rm -rf "$k/.git"
	fi
}

# untouched <text> <command>: refused, and the kernel is as it was to the last byte.
untouched() {
	snapshot "$k" >"$tmp/before"
	refused "$@" || return
	snapshot "$k" >"$tmp/after"
	diff "$tmp/before" "$tmp/after" && [ ! -e "$k/.git/rebase-apply" ]
}

files_of_series() {
	OUT=$tmp/out scripts/series "5.$1" &&
		git -C "$tmp/w/src/5.$1" worktree add -q -f --detach "$tmp/wt" base &&
		git -C "$tmp/wt" am -q "$tmp/out/5.$1"/000[1-9]*.patch || return
	rm -rf "$tmp/want"
	mkdir "$tmp/want"
	git -C "$tmp/wt" archive HEAD | tar -xf - -C "$tmp/want"
	git -C "$tmp/w/src/5.$1" worktree remove -f "$tmp/wt"
	diff -r -x .git -x .pc -x patches "$tmp/want" "$k"
}

fresh 2
ok "a git tree gets the series" scripts/apply "$k"
ok "... as one commit for each patch" [ "$(git -C "$k" rev-list --count origin/base..HEAD)" = 3 ]
ok "... with the files that the series says" files_of_series 2
ok "a second time is refused" untouched "has the 5.2 series already" scripts/apply "$k"

fresh 2
touch "$k/mine"
ok "make apply KDIR= does the same; files that git does not know do not matter" \
	make -s --no-print-directory apply KDIR="$k"
ok "... and stay" [ -e "$k/mine" ]

fresh 1 plain
ok "a tree without git gets quilt patches" scripts/apply "$k"
ok "... all pushed" [ "$(cd "$k" && QUILT_PATCHES=patches quilt --quiltrc=- applied | wc -l)" = 3 ]
ok "... with the files that the series says" files_of_series 1
ok "a second time is refused" untouched "has the 5.1 series already" scripts/apply "$k"

fresh 2
git -C "$k" am -q "$PWD/patches/5.2/0001"*
ok "a tree with the first patch only is refused" untouched "0001-debug" scripts/apply "$k"
fresh 2
git -C "$k" apply --include='drivers/*' "$PWD/patches/5.2/0003"*
git -C "$k" commit -qam "the hook only"
ok "a tree with a later hook only is refused" untouched "0003-clock" scripts/apply "$k"

ok "no KDIR" refused "usage: apply" make -s --no-print-directory apply
ok "KDIR that is not there" refused "no folder" scripts/apply "$tmp/nowhere"
ok "KDIR that is no kernel" refused "not the top of a kernel tree" scripts/apply "$tmp/w/repo"
ok "KDIR below the top of a kernel" refused "not the top of a kernel tree" scripts/apply "$k/kernel"

fresh 2
echo x >>"$k/drivers/clock.c"
ok "local changes" untouched "local changes (drivers/clock.c)" scripts/apply "$k"
git -C "$k" add -A
ok "local changes in the index" untouched "local changes (drivers/clock.c)" scripts/apply "$k"
fresh 2
mkdir "$k/.git/rebase-apply"
touch "$k/.git/rebase-apply/applying"
ok "a git am in progress" refused "in the middle of a git operation" scripts/apply "$k"
fresh 2
mkdir "$k/include"
touch "$k/include/clock.h"
ok "an unknown file in the way" untouched "include/clock.h" scripts/apply "$k"

fresh 2
sed -i 's/^PATCHLEVEL.*/PATCHLEVEL = 7/' "$k/Makefile"
git -C "$k" commit -qam 5.7
ok "a version without a series" untouched "no series for 5.7, only for 5.1 5.2" scripts/apply "$k"
ok "--base that is not there" untouched "unknown base '5.9'" scripts/apply --base 5.9 "$k"
ok "--base takes another one's" scripts/apply --base 5.2 "$k"

# Both hunks of drivers/clock.c have moved; the context of the second has changed.
for kind in git plain; do
	fresh 2
	sed -i -e '1i /* moved */' -e 's/^int last.*/int last = 53;/' "$k/drivers/clock.c"
	[ ! -e "$k/.git" ] || git -C "$k" commit -qam "moved on"
	[ $kind = git ] || rm -rf "$k/.git"
	ok "a hunk that fails ($kind): file and hunk are named, the tree is untouched" \
		untouched "hunk #2 of drivers/clock.c does not apply" scripts/apply "$k"
	sed -i 's/^int last.*/int last = 52;/' "$k/drivers/clock.c"
	[ ! -e "$k/.git" ] || git -C "$k" commit -qam "only moved"
	ok "... and an offset is fine ($kind)" scripts/apply "$k"
done

# The first one waits half way, in a hook of the user's, until the second one is through.
two_at_once() {
	printf '#!/bin/sh\nuntil [ -e "%s" ]; do sleep 0.1; done\n' "$tmp/go" >"$k/.git/hooks/applypatch-msg"
	chmod +x "$k/.git/hooks/applypatch-msg"
	scripts/apply "$k" 2>"$tmp/first" &
	first=$! i=0
	until [ -e "$k/.git/rebase-apply" ] || [ "$i" -ge 100 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	refused "another apply is at work" scripts/apply "$k"
	ret=$?
	touch "$tmp/go"
	wait "$first" || { cat "$tmp/first"; return 1; }
	return "$ret"
}
fresh 2
ok "of two at once the second is refused" two_at_once
ok "... and the first one's commits are all there" [ "$(git -C "$k" rev-list --count origin/base..HEAD)" = 3 ]
fresh 1 plain
ok "the same without git" untouched "another apply is at work" flock "$k" scripts/apply "$k"

# What the trial run cannot know: a hook of the user's that rejects a commit half way.
fresh 2
printf '#!/bin/sh\n! grep -q "Use it" "$1"\n' >"$k/.git/hooks/applypatch-msg"
chmod +x "$k/.git/hooks/applypatch-msg"
ok "git am that fails half way is undone" untouched "git am failed" scripts/apply "$k"

no_identity() {
	env -u GIT_COMMITTER_NAME -u GIT_COMMITTER_EMAIL HOME="$tmp" GIT_CONFIG_NOSYSTEM=1 \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.useConfigOnly GIT_CONFIG_VALUE_0=true \
		scripts/apply "$k"
}
fresh 2
ok "a user without a git identity" no_identity
awkward() {
	env GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=am.threeWay GIT_CONFIG_VALUE_0=true \
		GIT_CONFIG_KEY_1=apply.ignoreWhitespace GIT_CONFIG_VALUE_1=change \
		GIT_CONFIG_KEY_2=apply.whitespace GIT_CONFIG_VALUE_2=error scripts/apply "$k"
}
fresh 2
sed -i 's/^int last = /int last =   /' "$k/drivers/clock.c"
git -C "$k" commit -qam "other blanks"
ok "no fuzz, whatever the user's git configuration says" \
	untouched "hunk #2 of drivers/clock.c does not apply" awkward

no_quilt() {
	mkdir -p "$tmp/bin"
	for c in sh env dirname basename sed awk mktemp rm cat grep git realpath flock; do
		ln -sf "$(command -v "$c")" "$tmp/bin/$c"
	done
	PATH=$tmp/bin scripts/apply "$k"
}
fresh 2 plain
ok "no quilt for a tree without git" untouched "apt-get install quilt" no_quilt
mkdir "$k/patches"
echo "other.patch" >"$k/patches/series"
ok "quilt patches that are not applied" untouched "not applied (" scripts/apply "$k"

for kind in git plain; do
	k="$tmp/a: it's $kind"
	fresh 2 $kind
	ok "blanks, a colon and a quote in KDIR ($kind)" make -s --no-print-directory apply KDIR="$k"
	ok "... and the second time" untouched "has the 5.2 series already" scripts/apply "$k"
done
k=$tmp/kernel
fresh 2
mkdir "$tmp/decoy" "$tmp/decoy/kernel" "$tmp/decoy/.git"
cdpath() {
	(cd "$tmp" && env CDPATH="$tmp/decoy" "$tmp/w/repo/scripts/apply" kernel)
}
ok "CDPATH does not lead elsewhere" cdpath

fresh 1 plain
mkdir "$tmp/outer"
mv "$k" "$tmp/outer/linux"
k=$tmp/outer/linux
git -C "$tmp/outer" init -q
ok "a kernel that the git repository around it does not know" scripts/apply --base 5.1 "$k"
rm -rf "$k"
git clone -q "$tmp/w/src/5.1" "$k"
rm -rf "$k/.git"
git -C "$tmp/outer" add -A
git -C "$tmp/outer" commit -qm all
ok "a kernel in a folder of a git repository" untouched "is a part of the git repository $tmp/outer" scripts/apply "$k"
no_home() {
	env -u HOME -u XDG_CACHE_HOME scripts/apply "$k"
}
ok "no HOME" untouched "HOME is not set" no_home

done_testing
