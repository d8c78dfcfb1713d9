#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# scripts/series on made-up kernels: what it makes of patch folders, and what it refuses.
. "$(dirname -- "$0")/lib.sh"

make_repo "$tmp/w" 2>"$tmp/log" || diag "$(tail -n 3 "$tmp/log")"
git init -q . && git add -A && git commit -qm "as it was"

# untouched <text> [series' arguments]: series refuses and leaves patches/ alone.
untouched() {
	text=$1
	shift
	refused "$text" scripts/series "$@" && git diff --exit-code -- patches &&
		[ -z "$(git status --porcelain patches)" ]
}

back() {
	git checkout -q -f . && git clean -q -f -d
}

ok "the cover letter names package and version" has patches/5.1/0000-cover-letter.patch \
	"base-package: linux-source-5.1 5.1.1-1"
ok "... and the tree" has patches/5.1/0000-cover-letter.patch \
	"base-tree: $(git -C "$CONTENTION_SRC/5.1" rev-parse 'base^{tree}')"
ok "the list is what quilt takes" [ "$(cat patches/5.1/series)" = "$(cd patches/5.1 && ls 000[1-9]*)" ]
ok "patch 1 has its own parts of Kconfig.contention only" sh -c \
	"grep -q CONTENTION_DEBUG patches/5.1/0001* && ! grep -q CLOCK_SHARED patches/5.1/000[12]*"
ok "marker lines stay here" sh -c "! grep -q '^+# patch:' patches/*/*"
ok "a hook of the base's own replaces that file's in hook.diff" sh -c \
	"grep -q '^ int last = 51' patches/5.1/0003* && grep -q '^ int last = 52' patches/5.2/0003*"
ok "... and only that file's" has patches/5.1/0003-clock-Use-it.patch "+int three;"
ok "programs stay programs" has patches/5.1/0002-clock-Add-header.patch "new file mode 100755"
ok "the sign-off joins other trailers" sh -c "grep -A 1 '^Link:' patches/5.1/0002* | grep -q '^Signed-off-by:'"
OUT=$tmp/out scripts/series 5.2 2>/dev/null
ok "one base, elsewhere" diff -r patches/5.2 "$tmp/out/5.2"
ok "... and no other" [ "$(ls "$tmp/out")" = 5.2 ]

mkdir -p "$tmp/mine/5.2/doc" "$tmp/file"
cp -R patches/5.1 "$tmp/mine/"
echo precious >"$tmp/mine/5.2/doc/notes"
echo precious >"$tmp/file/5.1"
rm "$tmp/mine/5.1/series"
snapshot "$tmp/mine" >"$tmp/before"
in_the_way() {
	refused "$1" env OUT="$2" scripts/series && snapshot "$tmp/mine" | diff "$tmp/before" -
}
ok "OUT= with files of somebody's is left alone, also what is before them" in_the_way "5.2 has doc" "$tmp/mine"
ok "... and a file where a folder has to be" in_the_way "5.1 has $tmp/file/5.1" "$tmp/file"
rm -r "$tmp/mine/5.2"
ok "... and what is of a series is replaced" env OUT="$tmp/mine" scripts/series
ok "... by the whole" diff -r patches "$tmp/mine"

two_at_once() {
	exec 9<"$tmp/mine"
	flock 9
	OUT=$tmp/mine scripts/series 2>"$tmp/second" &
	i=0
	until grep -q waiting "$tmp/second" || [ "$i" -ge 100 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	kill -0 $! && exec 9<&- && wait $! && has "$tmp/second" "waiting for another one"
}
ok "two at once take turns" two_at_once

foreign() {
	chown -R nobody "$CONTENTION_SRC" && OUT=$tmp/out scripts/series && diff -r patches "$tmp/out"
}
if [ "$(id -u)" = 0 ]; then
	ok "a source that belongs to another user" foreign
	chown -R root "$CONTENTION_SRC"
else
	skip "a source that belongs to another user" "needs root"
fi
mv "$CONTENTION_SRC/5.1/.git/HEAD" "$tmp/HEAD"
ok "a source that git cannot read: git's own words" untouched "5.1: cannot read $CONTENTION_SRC/5.1: fatal: not a git repository"
mv "$tmp/HEAD" "$CONTENTION_SRC/5.1/.git/HEAD"

sed -i 's/ 5.1,5.2$/ 5.2/' series.conf
ok "a patch that only some bases have" scripts/series
ok "... is not in the others" [ "$(wc -l <patches/5.1/series),$(wc -l <patches/5.2/series)" = 2,3 ]
ok "... nor its options" sh -c "! grep -rq CLOCK_SHARED patches/5.1"
back

mkdir clock/2-user/tree clock/2-user/tree/drivers
touch clock/2-user/tree/drivers/clock.c
ok "a new file that the base has" untouched "5.1: clock/2-user/tree/drivers/clock.c exists already"
back
mkdir -p clock/2-user/tree/include
touch clock/2-user/tree/include/clock.h
ok "a new file that an earlier patch has" untouched "clock/2-user/tree/include/clock.h exists already"
back
ln -s clock.h clock/1-header/tree/include/link.h
ok "a link in tree/" untouched "not a plain file"
back
rm clock/2-user/message
ok "no message" untouched "5.1: clock/2-user has no message file"
back
printf -- '---\nmore\n' >>clock/2-user/message
ok "a message that git am would cut" untouched "start of a diff"
back
mkdir empty
echo "empty: Nothing" >empty/message
echo "empty all" >>series.conf
ok "a patch that changes nothing" untouched "5.1: empty changes nothing"
back
sed -i 's/return x;/return y;/' clock/2-user/hook.diff
ok "a hunk that fails is named" untouched "series: 5.2: clock/2-user: hunk #1 of drivers/clock.c does not apply"
back
sed -i 's,drivers/other,drivers/gone,' clock/2-user/hook.diff
ok "a file that is gone is named" untouched "5.1: clock/2-user: hunk #1 of drivers/gone.c does not apply, there is no such file"
back

cd "$CONTENTION_SRC/5.2" || exit 2
sed -i -e '1i /* moved */' -e 's/^int last.*/int last = 53;/' drivers/clock.c
git commit -q -a --amend -m "linux-source-5.2 5.2.2-1"
cd - >/dev/null || exit 2
ok "a base that moved: file, hunk and both versions" untouched \
	"series: 5.2: clock/2-user: hunk #2 of drivers/clock.c does not apply (base moved from 5.2.1-1 to 5.2.2-1)"

done_testing
