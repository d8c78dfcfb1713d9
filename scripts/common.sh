# SPDX-License-Identifier: GPL-2.0
# Sourced by every script here: where things are, how to speak, how to stop.

# A git hook that calls us has set some of these for another repository.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES \
	GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX
# Where the user has it, cd into a relative path may go elsewhere, and prints where to.
unset CDPATH

TOP=$(cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 2

die() {
	echo "$(basename -- "$0"): $*" >&2
	exit 2
}

[ -n "${XDG_CACHE_HOME:-}${HOME:-}" ] ||
	die "HOME is not set; set it, or XDG_CACHE_HOME to a folder for what is built"
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/contention-fixes

# Progress goes to stderr so that a script's stdout is only its result.
say() {
	echo "$*" >&2
}

base_list() {
	sed -e 's/#.*//' "$TOP/bases.conf" | while read -r b _; do
		[ -z "$b" ] || echo "$b"
	done
}

# base_field <base> <column>
base_field() {
	awk -v b="$1" -v c="$2" '!/^#/ && $1 == b { print $c; exit }' "$TOP/bases.conf"
}

base_default() {
	awk '!/^#/ && $4 == "default" { print $1; exit }' "$TOP/bases.conf"
}

need_base() {
	[ -n "$(base_field "$1" 1)" ] ||
		die "unknown base '$1'; the bases are: $(base_list | tr '\n' ' ')(bases.conf)"
}

# need_space <dir> <MiB>: stop before a long job fills the disk.
need_space() {
	mkdir -p "$1" || die "cannot create $1; set XDG_CACHE_HOME to a folder you can write"
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$2" ] ||
		die "$free MiB free in $1, $2 MiB needed; free some or set XDG_CACHE_HOME to another disk"
}

# need_cache: kernels can be built in the cache. kbuild, make and QEMU do not take any path.
need_cache() {
	case $CACHE in
	*[[:space:]:,\']*) die "$CACHE has a blank, colon, comma or quote, which kbuild or QEMU does not take; set XDG_CACHE_HOME" ;;
	esac
	mkdir -p "$CACHE/work" "$CACHE/build" "$CACHE/cross" 2>/dev/null && [ -w "$CACHE/work" ] &&
		[ -w "$CACHE/build" ] && [ -w "$CACHE/cross" ] ||
		die "cannot write into $CACHE; set XDG_CACHE_HOME to a folder you can write"
}

# The pristine git tree of a base. CONTENTION_SRC names a folder with one such tree per base, for
# tests on made-up kernels and for machines that bring their own copies: nothing is fetched then.
source_of() {
	if [ -n "${CONTENTION_SRC:-}" ]; then
		[ -d "$CONTENTION_SRC/$1" ] || die "no $1 in CONTENTION_SRC=$CONTENTION_SRC"
		(cd -- "$CONTENTION_SRC/$1" && pwd -P)
	else
		"$TOP/scripts/fetch" "$1"
	fi
}

# patch_folders <base>: the patch folders that the base takes, in their order.
patch_folders() {
	awk -v b="$1" '!/^#/ && NF > 1 {
		for (i = 2; i <= NF; i++) {
			n = split($i, list, ",")
			for (j = 1; j <= n; j++)
				if (list[j] == b || list[j] == "all") {
					print $1
					next
				}
		}
	}' "$TOP/series.conf"
}

# The Makefile has the identity; AUTHOR in the environment (make AUTHOR=...) replaces it.
set_author() {
	: "${AUTHOR:=$(sed -n 's/^AUTHOR *?= *//p' "$TOP/Makefile")}"
	echo "$AUTHOR" | grep -Eq '^[^<>]*[^<> ] <[^<>@ ]+@[^<>@ ]+>$' ||
		die "AUTHOR='$AUTHOR' is not of the form 'Name <mail@domain>'"
	author_name=${AUTHOR% <*}
	author_mail=${AUTHOR##*<}
	author_mail=${author_mail%>}
}

make_tmp() {
	tmp=$(mktemp -d) || die "cannot create a temporary folder; is ${TMPDIR:-/tmp} full?"
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT TERM HUP
}

# A private index and object store over those of the git tree <dir>: whatever git writes while
# they are set goes to <scratch>, and <dir> is only read. The variable for alternates would split a
# path at its colons, the file does not.
git_overlay() {
	GIT_DIR=$(cd "$1" && cd "$(git rev-parse --git-dir)" && pwd -P)
	GIT_OBJECT_DIRECTORY=$2/objects
	GIT_INDEX_FILE=$2/index
	mkdir -p "$GIT_OBJECT_DIRECTORY/info"
	git_objects "$1" >"$GIT_OBJECT_DIRECTORY/info/alternates"
	export GIT_DIR GIT_OBJECT_DIRECTORY GIT_INDEX_FILE
}

# git_complaint <log>: the line in which git says why, without the advice that it adds.
git_complaint() {
	awk '!first { first = $0 } /^(fatal|error): / { first = $0; exit } END { print first }' "$1"
}

# git_objects <dir>: where that repository or worktree has its objects.
git_objects() (
	cd "$1" && cd "$(git rev-parse --git-path objects)" && pwd -P
)

# kernel_version <dir>: 6.1 for a kernel tree, nothing where <dir> is not the top of one.
kernel_version() {
	[ -f "$1/Makefile" ] && [ -f "$1/Kconfig" ] && [ -d "$1/kernel" ] || return 0
	awk '$1 == "VERSION" { v = $3 } $1 == "PATCHLEVEL" { p = $3 } NR > 20 || p != "" { exit }
		END { if (v p ~ /^[0-9]+$/) print v "." p }' "$1/Makefile"
}

# need_git_top <dir>: git applies patches at the top of a repository only. A kernel that lies in
# one, but which git does not know, is like any other without git.
need_git_top() {
	[ -e "$1/.git" ] || ! git -C "$1" ls-files --error-unmatch Makefile >/dev/null 2>&1 ||
		die "$1 is a part of the git repository $(git -C "$1" rev-parse --show-toplevel);" \
			"take a repository with the kernel at its top, or a copy of the folder outside of git"
}

# complaints <tree> <log>: gcc's and sparse's words about it, without the line numbers, which move.
complaints() {
	grep -E '(warning|error):' "$2" | sed -e "s,$1/,,g" -e 's,^\(\.\./\)*,,' -e 's/:[0-9][0-9:]*:/:/' | sort -u
}

# take_lock <fd>: fails only if somebody else has it, not where a file system cannot lock.
take_lock() {
	flock -n "$1" || [ $? -ne 1 ]
}

# why_not <diff> <git's or patch's complaint>: one clause that names the file and the hunk.
why_not() {
	awk -v diff="$1" '
	function hunk(file, line,	l, cur, n, f, a) {
		while ((getline l <diff) > 0) {
			if (l ~ /^(---|\+\+\+) [^ ]*\//) {
				split(l, f, /[ \t]/)
				sub(/^[^\/]*\//, "", f[2])
				if (f[2] != cur) {
					cur = f[2]
					n = 0
				}
			} else if (l ~ /^@@ -/ && cur == file) {
				n++
				split(substr(l, 5), a, /[, ]/)
				if (a[1] == line)
					return n
			}
		}
		return "?"
	}
	/^error: patch failed: / {
		sub(/^error: patch failed: /, "")
		line = file = $0
		sub(/.*:/, "", line)
		sub(/:[0-9]*$/, "", file)
		found = "hunk #" hunk(file, line) " of " file " does not apply"
		exit
	}
	/^error: .*: (does not exist|No such file)/ {
		sub(/^error: /, "")
		file = $0
		sub(/: (does not exist|No such file).*/, "", file)
		found = "hunk #1 of " file " does not apply, there is no such file"
		exit
	}
	/^(error|fatal): / && !first {
		first = $0
		sub(/^(error|fatal): /, "", first)
	}
	END { print found ? found : first ? first : "does not apply" }' "$2"
}

# apply_cached <diff> [git apply options]: to the index, offsets allowed, fuzz not.
# Prints why it cannot.
apply_cached() {
	git apply --cached --whitespace=nowarn "$@" 2>"$tmp/complaint" && return
	why_not "$1" "$tmp/complaint"
	return 1
}

# diff_files <diff>: the paths that a diff touches.
diff_files() {
	awk '/^diff --git a\// { n = (length($0) - 16) / 2; print substr($0, length($0) - n + 1) }' "$1" 2>/dev/null
}

# The first local change of the git tree <dir>, nothing if it is clean. Files that git does not
# know are the user's own business.
local_change() {
	for f in rebase-apply rebase-merge MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do
		if (cd "$1" && [ -e "$(git rev-parse --git-path "$f")" ]); then
			echo "is in the middle of a git operation ($f); finish it or abort it first"
			return
		fi
	done
	GIT_OPTIONAL_LOCKS=0 git -C "$1" status --porcelain --untracked-files=no |
		sed -n '1s/^...\(.*\)/has local changes (\1); commit or stash them first/p'
}
