#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The scripts are clean, and make offers them.
. "$(dirname -- "$0")/lib.sh"
cd "$TOP" || exit 2

for f in $(grep -rlE '^#!/bin/sh' scripts sim t verify ./*-*/) scripts/*.sh t/*.sh; do
	if command -v shellcheck >/dev/null; then
		ok "shellcheck $f" shellcheck -s sh "$f"
	else
		skip "shellcheck $f" "no shellcheck; apt-get install shellcheck"
	fi
done

make -s --no-print-directory >"$tmp/help"
for target in $(sed -n 's/^\.PHONY: //p' Makefile); do
	[ "$target" = help ] || ok "make help tells of $target" grep -q "^make $target\b" "$tmp/help"
done

# The real tools are asked by make test before it runs us.
stub() {
	mkdir -p "$tmp/bin"
	printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
	chmod +x "$tmp/bin/$1"
}
stub dpkg-query 'printf "git installed\nmake installed\nbison deinstall\n"'
stub apt-get "echo \"\$*\" >>'$tmp/apt'"
stub id 'echo 1000'
ok "packages, not root: names the command" refused "run: sudo apt-get install -y --no-install-recommends gcc" \
	env PATH="$tmp/bin:$PATH" scripts/packages run
ok "... and runs nothing" [ ! -e "$tmp/apt" ]
stub id 'echo 0'
ok "packages, root: installs" env PATH="$tmp/bin:$PATH" scripts/packages run
ok "... what is missing" has "$tmp/apt" "qemu-system-x86"
ok "... also what was removed" has "$tmp/apt" "bison"
ok "... not what is there" sh -c "! grep -qw make '$tmp/apt'"
stub apt-get 'echo "E: no network" >&2; exit 100'
ok "packages, root: a failure has its reason" refused "no network" env PATH="$tmp/bin:$PATH" scripts/packages run
ok "packages of an unknown set" refused "usage: packages" scripts/packages all

done_testing
