# SPDX-License-Identifier: GPL-2.0
# Sourced by what fetches from Debian's archive. Needs common.sh.
#
# apt does the fetching, with a state folder and a sources list of its own, so nothing of the
# machine's apt configuration is touched; the mirror and the keys are the machine's, and signatures
# are checked.

# apt_suite <state folder> <suite>: private_apt is for that suite of Debian from now on. Waits until
# nobody else uses the folder. Where that cannot be, $why has the reason.
apt_suite() {
	state=$1 suite=$2
	# Where this machine gets the archive from. A security suite lives beside the main archive.
	targets=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
		grep '/debian' | sort -u)
	main=$(echo "$targets" | awk '$2 !~ /security/ { print $1; exit }')
	security=$(echo "$targets" | awk '$2 ~ /security/ { print $1; exit }')
	if [ -z "$main$security" ]; then
		why="apt knows no Debian mirror; add one to /etc/apt/sources.list and run apt-get update"
		return 1
	fi
	: "${main:=$(echo "$security" | sed 's,debian-security,debian,')}"
	: "${security:=$(echo "$main" | sed 's,/debian/*$,/debian-security/,')}"
	case $suite in
	*-security) uri=$security ;;
	*) uri=$main ;;
	esac
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	exec 8>"$state/lock"
	flock 8
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	if [ ! -r "$keyring" ]; then
		why="no $keyring; apt-get install debian-archive-keyring"
		return 1
	fi
	echo "deb [signed-by=$keyring] $uri $suite main" >"$state/sources.list"
	: >"$state/status"
}

# As root, apt would drop to a user that cannot write into a cache below /root.
private_apt() {
	apt-get -q -o Dir::State="$state" -o Dir::State::status="$state/status" \
		-o Dir::Cache="$state/cache" -o Dir::Etc::SourceList="$state/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User="$(id -un)" \
		-o APT::Architecture=amd64 -o APT::Architectures::=amd64 \
		-o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# apt_newest <package>: sets $version to the newest in the suite. Where there is none, $why has the
# reason.
apt_newest() {
	private_apt update >"$state/log" 2>&1 || {
		why="apt-get update failed for $suite ($(grep '^[EW]:' "$state/log" | head -n 1); log $state/log)"
		return 1
	}
	version=$(private_apt --print-uris download "$1" 2>>"$state/log" |
		sed -n "s/^'[^']*' $1_\([^ ]*\)_[^_ ]*\.deb .*/\1/p" | sed 's/%3a/:/')
	why="$suite has no $1 (log $state/log)"
	[ -n "$version" ]
}
