#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each ordering that a comment claims holds in the kernel's memory model (NAME-fixed.litmus: the bad
# outcome is Never), and fails without what the claim rests on (NAME-broken*.litmus: Sometimes).
. "$(dirname -- "$0")/lib.sh"
. "$TOP/scripts/common.sh"

litmus=$TOP/verify/litmus

# outcome <file>: what it asks for. herd7 takes a misspelt name for a 0, so a pair must ask the same.
outcome() {
	grep '^exists ' "$1"
}

well_formed() {
	name=$(basename -- "$1" .litmus)
	pair=${1%-fixed.litmus}
	pair=${pair%-broken*}
	[ "$(head -n 1 "$1")" = "C $name" ] || { echo "$name: the first line is not: C $name"; return 1; }
	case $name in
	*-fixed)
		result=Never
		find "${1%/*}" -name "${pair##*/}-broken*.litmus" | grep -q . ||
			{ echo "$name: nothing breaks it"; return 1; }
		;;
	*-broken*)
		result=Sometimes
		[ "$(outcome "$1")" = "$(outcome "$pair-fixed.litmus")" ] ||
			{ echo "$name: its outcome is not that of ${pair##*/}-fixed"; return 1; }
		;;
	*) result='\(Never\|Sometimes\)' ;;
	esac
	grep -qx " \* Result: $result" "$1" || { echo "$name: no line: Result: $result"; return 1; }
	[ "$(outcome "$1" | wc -l)" -eq 1 ] || { echo "$name: not one line with exists"; return 1; }
}

all_well_formed() {
	for f in "$1"/*.litmus; do
		well_formed "$f" || return
	done
}

ok "each file says what it is, each claim has one that breaks it" all_well_formed "$litmus"
mkdir "$tmp/pair"
cp "$litmus"/page_lock_full-*.litmus "$tmp/pair"
ok "a pair" all_well_formed "$tmp/pair"
sed -i 's/^exists.*/exists (0:r0=1)/' "$tmp/pair/page_lock_full-broken.litmus"
ok "a pair with two outcomes" refused "is not that of page_lock_full-fixed" all_well_formed "$tmp/pair"
rm "$tmp/pair/page_lock_full-broken.litmus"
ok "a claim alone" refused "page_lock_full-fixed: nothing breaks it" all_well_formed "$tmp/pair"

# find_herd7 <version of the machine's own>: with an empty cache and an apt that knows nothing.
mkdir "$tmp/bin"
find_herd7() {
	printf '#!/bin/sh\necho "%s, Rev: exported"\n' "$1" >"$tmp/bin/herd7"
	printf '#!/bin/sh\nexit 100\n' >"$tmp/bin/apt-get"
	chmod +x "$tmp/bin/herd7" "$tmp/bin/apt-get"
	PATH=$tmp/bin:$PATH XDG_CACHE_HOME=$tmp/cache "$TOP/scripts/herd7"
}
no_herd7() {
	find_herd7 7.57 2>"$tmp/why"
	[ $? -eq 4 ] && has "$tmp/why" "have herd7 7.58 or newer in PATH" && [ "$(wc -l <"$tmp/why")" -eq 1 ]
}
ok "the machine's own herd7" [ "$(find_herd7 7.58)" = "$tmp/bin/herd7" ]
ok "one that is too old, and nothing to fetch: status 4 and one line" no_herd7

herd=$("$TOP/scripts/herd7" 2>"$tmp/why") || {
	[ $? -eq 4 ] || { cat "$tmp/why" >&2; exit 2; }
	skip "the memory model" "$(tail -n 1 "$tmp/why")"
	done_testing
}
base=$(base_list | tail -n 1)
src=$(source_of "$base") || exit
git -C "$src" archive base tools/memory-model | tar -xf - -C "$tmp" || exit
cd "$tmp/tools/memory-model" || exit 2
cp "$litmus"/*.litmus .

# judge <file>: by the kernel's script, which compares what herd7 found with the file's Result line.
judge() {
	timeout 300 "$herd" -conf linux-kernel.cfg "$1" >"$1.out" 2>&1
	LKMM_DESTDIR=. sh scripts/judgelitmus.sh "$1" || { cat "$1.out"; return 1; }
}

for f in *.litmus; do
	ok "$base: $(basename "$f" .litmus): $(sed -n 's/^ \* Result: //p' "$f")" judge "$f"
done

# The judge is awake.
# spoiled <file> <sed program> <what it must say>
spoiled() {
	sed "$2" "$1" >spoiled.litmus
	! cmp -s "$1" spoiled.litmus || { echo "$2 changed nothing"; return 1; }
	refused "$3" judge spoiled.litmus
}
ok "Result: Sometimes where it is Never" spoiled page_lock_full-fixed.litmus 's/: Never/: Sometimes/' \
	"Unexpected non-Sometimes verification"
ok "Result: Never where it is Sometimes" spoiled page_lock_full-broken.litmus 's/: Sometimes/: Never/' \
	"Unexpected non-Never verification"
ok "a claim without its barrier" spoiled page_lock_full-fixed.litmus 's/smp_mb();//' \
	"Unexpected non-Never verification"
ok "no Result" spoiled page_lock_full-fixed.litmus '/Result:/d' "Unexpected non-specified verification"
ok "a typing error" spoiled page_lock_full-fixed.litmus 's/{}/{/' "Verification error"
ok "what the model does not know" spoiled page_lock_full-fixed.litmus 's/smp_mb/smp_foo/' "does not know"
ok "nothing happens" spoiled page_lock_async-fixed.litmus 's/spin_unlock/spin_lock/' "deadlock"

done_testing
