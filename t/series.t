#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# patches/ is what the patch folders say, the same for everybody, and goes on every base without fuzz.
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"
. "$TOP/scripts/compose.sh"

# What checkpatch may say, with the reason. Everything else is an error.
#   FILE_PATH_CHANGES	MAINTAINERS is the kernel's own; whoever merges a fix adds its entry
#   EXECUTE_PERMISSIONS	it goes by the suffix .sh; ours are programs by their #! line
#   ENOSYS		user space asks whether the kernel has the system call, which is what it means
#   MACRO_ARG_UNUSED	what stands in for a switched-off option ignores its arguments
#   UNNECESSARY_KERN_LEVEL	there is no pr_*_deferred(), and the line is to be that of ___ratelimit()
#   UNDOCUMENTED_SETUP	an apostrophe in the context hides the lines from it; we look ourselves
excused=FILE_PATH_CHANGES,EXECUTE_PERMISSIONS,ENOSYS,MACRO_ARG_UNUSED,UNNECESSARY_KERN_LEVEL,UNDOCUMENTED_SETUP

bases=$(base_list)
cd "$TOP" || exit 2

# Another place, time zone, language, umask, and a git configuration that changes all it can.
elsewhere() (
	mkdir -p "$tmp/home/.config/git" "$tmp/empty"
	cat >"$tmp/home/.gitconfig" <<-'EOT'
	[user]
		name = Somebody Else
		email = else@localhost.invalid
	[core]
		abbrev = 7
		autocrlf = true
		attributesFile = ~/.config/git/attributes
	[diff]
		algorithm = patience
		context = 9
		mnemonicPrefix = true
		noprefix = true
		renames = copies
		orderFile = /nowhere
		indentHeuristic = false
		statGraphWidth = 3
	[format]
		signature = me
		attach = true
		numbered = false
		pretty = oneline
		subjectPrefix = RFC
		coverLetter = true
		suffix = .txt
		signOff = true
	[apply]
		whitespace = fix
	[commit]
		gpgSign = true
	[i18n]
		commitEncoding = latin1
	EOT
	echo '* -diff' >"$tmp/home/.config/git/attributes"
	cd "$tmp/empty" && umask 077 &&
		HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home/.config XDG_CACHE_HOME=${CACHE%/*} \
		LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 TZ=Asia/Kathmandu COLUMNS=40 GIT_DIFF_OPTS=-u1 \
		OUT=$tmp/b "$TOP/scripts/series"
)

made=1
OUT=$tmp/a scripts/series 2>"$tmp/log" || made=
ok "the patch folders make a series for each base" cat "$tmp/log" "$tmp/a/$(echo "$bases" | tail -n 1)/series"
[ -n "$made" ] || {
	diag "$(cat "$tmp/log")"
	exit 1
}
ok "somebody else makes it elsewhere" elsewhere
ok "... the same to the last byte" diff -r "$tmp/a" "$tmp/b"
AUTHOR='Jörg Müller <joerg@localhost.invalid>' OUT=$tmp/c scripts/series 6.1 2>/dev/null
ok "AUTHOR= signs another name" sh -c "grep -qx 'Signed-off-by: Jörg Müller <joerg@localhost.invalid>' '$tmp'/c/6.1/0001* &&
	grep -q '^From: =?UTF-8?' '$tmp'/c/6.1/0001* && ! grep -rF '$(sed -n 's/^AUTHOR ?= //p' Makefile)' '$tmp/c'"
ok "AUTHOR= without a mail address is refused" refused "is not of the form" env AUTHOR=me scripts/series 6.1
ok "patches/ has these bases and no other" [ "$(ls patches)" = "$(echo "$bases" | sort)" ]
stray() {
	for folder in $(for base in $bases; do patch_folders "$base"; done | sort -u); do
		[ ! -d "$folder/tree" ] || find "$folder/tree" -name '.*' ! -name .gitignore
	done
}
ok "no editor or tool has left a file of its own in a patch folder" [ -z "$(stray)" ]

recorded() {
	sed -n 's/^base-package: //p' "patches/$1/0000-cover-letter.patch"
}

# git am in a tree that has only the files which the series touches.
am() (
	touched=$(git --git-dir="$tmp/git.$1" diff --name-only --no-renames base series)
	git clone -q --shared --no-checkout "$src" "$tmp/am.$1" && cd "$tmp/am.$1" || exit
	# shellcheck disable=SC2086 # a list of paths
	git sparse-checkout set --no-cone $touched
	git checkout -q base
	# As the README has it.
	# shellcheck disable=SC2046 # a list of paths
	(cd "$TOP/patches/$1" && cat $(cat series)) | git am -q --no-3way
)

same_commits() (
	export GIT_ALTERNATE_OBJECT_DIRECTORIES="$tmp/git.$1/objects"
	cd "$tmp/am.$1" || exit
	for range in "$start..HEAD" "$start..$(git --git-dir="$tmp/git.$1" rev-parse series)"; do
		git log --reverse --format='%T %B' "$range" >"$tmp/log.${range##*.}"
	done
	git diff --stat HEAD "${range##*.}"
	diff "$tmp/log.HEAD" "$tmp/log.${range##*.}"
)

patch_no_fuzz() (
	export GIT_DIR="$tmp/git.$1"
	mkdir "$tmp/plain.$1" "$tmp/want.$1"
	git diff --name-only --no-renames base series >"$tmp/touched"
	# shellcheck disable=SC2046 # lists of paths
	git archive base $(git ls-tree -r --name-only base $(cat "$tmp/touched")) | tar -xf - -C "$tmp/plain.$1"
	# shellcheck disable=SC2046 # a list of paths
	git archive series $(cat "$tmp/touched") | tar -xf - -C "$tmp/want.$1"
	for p in $(cat "patches/$1/series"); do
		patch -d "$tmp/plain.$1" -p1 -F0 -f -s --no-backup-if-mismatch <"patches/$1/$p" || exit
	done
	diff -r "$tmp/plain.$1" "$tmp/want.$1"
)

documented() {
	for name in $(sed -n 's/^+\(early_param\|__setup\)("\([^"=]*\).*/\2/p' "$1"); do
		sed -n '/^+++ .*\/kernel-parameters.txt$/,/^diff/p' "$1" | grep -q "^+.*$name=" || {
			echo "$name= is not in kernel-parameters.txt"
			return 1
		}
	done
}

# checkpatch takes a file that git knows for source code, not for a patch.
cp -R patches "$tmp/patches"

for base in $bases; do
	src=$(source_of "$base") || exit
	start=$(git -C "$src" rev-parse base)
	compose "$base" "$src" "$tmp/git.$base"
	version=$(git -C "$src" log -1 --format=%s base)
	if [ "$version" = "$(recorded "$base")" ]; then
		ok "$base: patches/ is what the patch folders make" diff -r "$tmp/a/$base" "patches/$base"
	else
		# The distribution moved on since. The patches must still mean the same.
		diag "$base: $version is newer than $(recorded "$base"): make series is due"
		skip "$base: patches/ is what the patch folders make" "the base moved to $version"
	fi
	ok "$base: git am" am "$base"
	ok "$base: ... makes the commits that the patch folders make" same_commits "$base"
	ok "$base: patch -F0 makes the same files" patch_no_fuzz "$base"

	# checkpatch without the rest of its tree.
	mkdir "$tmp/scripts.$base"
	git -C "$src" archive base scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch |
		tar -xf - -C "$tmp/scripts.$base"
	for p in $(cat "patches/$base/series"); do
		ok "$base: checkpatch --strict ${p%.patch}" perl "$tmp/scripts.$base/scripts/checkpatch.pl" --no-tree --strict \
			--quiet --terse --show-types --ignore "$excused" "$tmp/patches/$base/$p"
		! grep -q '^+__setup(\|^+early_param(' "patches/$base/$p" ||
			ok "$base: ... its boot parameters are documented" documented "patches/$base/$p"
	done
done

done_testing
