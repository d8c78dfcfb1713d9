# SPDX-License-Identifier: GPL-2.0
# Sourced by what turns patch folders into commits. Needs common.sh and $tmp.

# The same input gives the same commits and the same text for everybody, so nothing of the user's
# git configuration, locale or clock may be seen.
# A cache that belongs to another user is ours nevertheless: it is only read.
plain_git() {
	# shellcheck disable=SC2046 # a list of names
	unset $(git rev-parse --local-env-vars) GIT_DIFF_OPTS GIT_EXTERNAL_DIFF GIT_DEFAULT_HASH
	printf '[safe]\n\tdirectory = *\n' >"$tmp/.gitconfig"
	GIT_CONFIG_GLOBAL=$tmp/.gitconfig GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1
	HOME=$tmp XDG_CONFIG_HOME=$tmp GIT_TEMPLATE_DIR='' LC_ALL=C TZ=UTC
	set_author
	GIT_AUTHOR_NAME=$author_name GIT_AUTHOR_EMAIL=$author_mail
	GIT_COMMITTER_NAME=$author_name GIT_COMMITTER_EMAIL=$author_mail
	GIT_AUTHOR_DATE='1 Jan 2026 00:00:00 +0000' GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
	export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM HOME XDG_CONFIG_HOME \
		GIT_TEMPLATE_DIR LC_ALL TZ GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME \
		GIT_COMMITTER_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE
}

# The parts of Kconfig.contention that belong to the patch folders given.
# Blank lines that separate a part from one left out go, or git am warns of a blank line at the end.
kconfig_parts() {
	awk -v folders="$*" 'BEGIN {
		n = split(folders, list, " ")
		for (i = 1; i <= n; i++)
			have[list[i]] = 1
		keep = n > 0
	}
	/^# patch: / { keep = $3 in have; next }
	keep && /^$/ { blank++; next }
	keep {
		for (; blank; blank--)
			print ""
		print
	}' "$TOP/Kconfig.contention"
}

# compose <base> <source tree> <dest>: dest becomes a bare git folder with the branch `series`, one
# commit per patch on top of the source's branch `base`; dest/list has "folder commit" lines.
# Everything happens in the index: no file of the kernel is checked out.
compose() (
	base=$1
	plain_git
	start=$(git -C "$2" rev-parse --verify -q 'base^{commit}' 2>"$tmp/complaint") || {
		[ -s "$tmp/complaint" ] ||
			die "$base: $2 has no branch 'base'; make fetch makes it anew once it is removed"
		die "$base: cannot read $2: $(git_complaint "$tmp/complaint")"
	}
	objects=$(git_objects "$2")
	git init -q --bare "$3"
	mkdir -p "$3/info"
	echo "$objects" >"$3/objects/info/alternates"
	# What stands behind a second @@ differs between git versions and trees; this is diff -p.
	echo '* diff=plain' >"$3/info/attributes"
	export GIT_DIR="$3" GIT_INDEX_FILE="$3/index"
	git config diff.plain.xfuncname '^[[:alpha:]$_].*'
	git config core.attributesFile /dev/null
	git update-ref refs/heads/base "$start"
	git read-tree "$start"
	: >"$3/list"

	version=$(git log -1 --format=%s "$start")
	version=${version##* }
	known=$(sed -n 's/^base-package: [^ ]* //p' "$TOP/patches/$base/0000-cover-letter.patch" 2>/dev/null) || :
	moved=
	[ -z "$known" ] || [ "$known" = "$version" ] || moved=" (base moved from $known to $version)"

	parent=$start
	sofar=
	[ -n "$(patch_folders "$base")" ] || die "series.conf has no patch for $base"
	for folder in $(patch_folders "$base"); do
		at=$TOP/$folder
		sofar="$sofar $folder"
		[ -s "$at/message" ] || die "$base: $folder has no message file"
		! grep -Eq '^(---$|--- |diff -|Index: )' "$at/message" ||
			die "$base: $folder/message has a line that git am takes for the start of a diff"

		# Kconfig.contention is a new file too, with the first patch that has a part of it.
		# shellcheck disable=SC2086 # a list of folders
		kconfig_parts $sofar >"$tmp/kconfig"
		: >"$tmp/new"
		if [ -d "$at/tree" ]; then
			(cd "$at/tree" && find . -type f | sed 's,^\./,,' | sort) >"$tmp/new"
			[ -z "$(find "$at/tree" ! -type f ! -type d)" ] ||
				die "$base: $folder/tree has something that is not a plain file"
		fi
		sed "s,^,$parent:," "$tmp/new" | git cat-file --batch-check='there %(rest)' \
			>"$tmp/there"
		n=$(awk '!/ missing$/ { print NR; exit }' "$tmp/there")
		[ -z "$n" ] || die "$base: $folder/tree/$(sed -n "${n}p" "$tmp/new") exists already:" \
			"an edit to it belongs in hook.diff$moved"
		(cd "$at" && sed 's,^,tree/,' "$tmp/new" | git hash-object -w --no-filters --stdin-paths) |
			paste - "$tmp/new" | while read -r hash path; do
				[ -x "$at/tree/$path" ] && mode=100755 || mode=100644
				printf '%s %s\t%s\n' "$mode" "$hash" "$path"
			done >"$tmp/info"
		if [ -s "$tmp/kconfig" ]; then
			printf '100644 %s\tkernel/Kconfig.contention\n' "$(git hash-object -w "$tmp/kconfig")"
		fi >>"$tmp/info"
		git update-index --index-info <"$tmp/info"

		own=$at/hook.$base.diff
		set --
		for f in $(diff_files "$own"); do
			set -- "$@" "--exclude=$f"
		done
		for hook in "$own" "$at/hook.diff"; do
			[ -s "$hook" ] || continue
			if [ "$hook" = "$own" ]; then
				why=$(apply_cached "$hook")
			else
				why=$(apply_cached "$hook" "$@")
			fi || die "$base: $folder: $why$moved"
		done

		tree=$(git write-tree)
		[ "$tree" != "$(git rev-parse "$parent^{tree}")" ] || die "$base: $folder changes nothing"
		parent=$(git interpret-trailers --if-exists doNothing \
			--trailer "Signed-off-by: $AUTHOR" "$at/message" |
			git commit-tree -p "$parent" "$tree")
		echo "$folder $parent" >>"$GIT_DIR/list"
	done
	git update-ref refs/heads/series "$parent"
)

# compose_tree <base> <source tree> <dest> [<what was built from it>...]: dest becomes a git tree with
# the branches base and series and nothing checked out. One that has the base already is kept, with
# the times of its files; else it begins anew, and so has what was built from it.
compose_tree() {
	tree_base=$1 tree_source=$2 tree=$3
	compose "$tree_base" "$tree_source" "$tmp/git.$tree_base" || exit
	if [ "$(git -C "$tree" rev-parse -q --verify base 2>/dev/null)" != \
	     "$(git -C "$tree_source" rev-parse base)" ]; then
		need_space "$CACHE" 3000
		shift 2
		rm -rf "$@"
		git clone -q --shared --no-checkout "$tree_source" "$tree" >"$tmp/log" 2>&1 ||
			die "cannot copy $tree_source: $(git_complaint "$tmp/log")"
	fi
	rm -f "$tree/.git/index.lock"
	git -C "$tree" fetch -q --update-head-ok "$tmp/git.$tree_base" +series:refs/heads/series \
		+base:refs/heads/base || exit
}
