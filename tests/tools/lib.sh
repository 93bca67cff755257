# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What tests of the command share: TAP, a directory, captures.
# shellcheck shell=bash disable=SC2034
set -u
: "${top_srcdir:?make check sets it}" "${top_builddir:?make check sets it}"
snoop=$top_builddir/tools/osmsnoop
make_capture=$top_builddir/tests/tools/make_capture
tmp=$(mktemp -d "${TMPDIR:-/tmp}/osmsnoop-tools.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
export TZ=UTC LC_ALL=C.UTF-8
unset NO_COLOR
number=0

# is NAME EXPECTED ACTUAL
is()
{
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		printf 'expected\n%s\nfound\n%s\n' "$2" "$3" | sed 's/^/# /'
	fi
}

# has NAME PATTERN TEXT: a line of the text matches the basic expression
has()
{
	number=$((number + 1))
	if printf '%s\n' "$3" | grep -q -e "$2"; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		printf 'no line matches\n%s\nin\n%s\n' "$2" "$3" |
			sed 's/^/# /'
	fi
}

# skip NAME WHY
skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# run ARGUMENT...: osmsnoop; leaves $rc, $out and $err
run()
{
	"$snoop" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	out=$(cat "$tmp/out")
	err=$(cat "$tmp/err")
}

# catches PID: waits until it has a handler for SIGTERM
catches()
{
	local mask

	for _ in {1..600}; do
		mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
		[ $((0x${mask:-0} >> 14 & 1)) -eq 0 ] || return 0
		sleep 0.05
	done
}

done_testing()
{
	echo "1..$number"
}
