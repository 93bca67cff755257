#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# osmsnoop as a capture interface of the real tshark: it is in tshark's list,
# tshark captures through it what an OpenSM on ibsim does, filtered or not, and
# tells why when it cannot.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

snoop=${top_builddir:?}/tools/osmsnoop

skip_all()
{
	[ -z "${FABRIC_REQUIRE:-}" ] || bail "$1"
	echo "1..0 # SKIP $1"
	exit 0
}

# who is root: Wireshark does not follow root's environment to an extcap
# directory, so tshark is to be nobody in particular
not_root=()
if [ "$(id -u)" -eq 0 ]; then
	not_root=(unshare --map-user=1000 --map-group=1000)
	"${not_root[@]}" true 2>/dev/null ||
		skip_all 'root may not be another user here (unshare)'
fi

fabric_begin
fabric_clients
command -v tshark >/dev/null || skip_all 'no tshark'
fabric_net 8
fabric_ibsim
sock=$FABRIC_DIR/sm/sock
out=$FABRIC_DIR/out
# tshark is to read and write nothing of the user's
export HOME=$FABRIC_DIR WIRESHARK_EXTCAP_DIR=$FABRIC_DIR/extcap
mkdir "$out" "$WIRESHARK_EXTCAP_DIR"
ln -s "$snoop" "$WIRESHARK_EXTCAP_DIR/osmsnoop"

# shark [ARGUMENT...]
shark()
{
	timeout 60 "${not_root[@]}" tshark "$@" >"$out/packets" 2>"$out/err"
}

# capture [ARGUMENT...]: through us
capture()
{
	shark -i osmsnoop -o extcap.osmsnoop.socket:"$sock" "$@"
}

# told PATTERN: by tshark, on standard error
told()
{
	grep -q -e "$1" "$out/err" && return
	diag "$(cat "$out/err")"
	return 1
}

# readers: of the stream, 03 is CONNECTED
readers()
{
	awk -v sock="$sock" '$6 == "03" && $8 == sock' /proc/net/unix | wc -l
}

begun()
{
	[ "$(readers)" -eq 1 ]
}

left()
{
	[ "$(readers)" -eq 0 ]
}

# begin [ARGUMENT...]: capture in the background
begin()
{
	capture "$@" &
	tshark=$!
	FABRIC_PIDS+=("$tshark")
	fabric_wait_for 20 begun || diag "$(cat "$out/err")"
	# and until OpenSM has it among its readers
	sleep 0.5
}

listed()
{
	shark -D && grep -q 'osmsnoop (OpenSM SA traffic)$' "$out/packets"
}

#
# Nobody listens
#
check 'tshark lists the interface' listed
check 'and what comes from it' shark -i osmsnoop -L
check 'which is ERF' grep -q '^  ERF' "$out/packets"
# not until somebody ends it
began=$SECONDS
capture -c 1
is $? 1 'a socket that is not there: tshark fails'
check 'at once' test $((SECONDS - began)) -lt 20
check 'and tells of it' told "Error by extcap pipe: osmsnoop: $sock: No such file"
check 'and where to look' told 'option listen'

#
# A real OpenSM
#
fabric_plugin sm
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0'

capture -c 1 -f 'attr PathRecord and lid nix'
is $? 1 'a wrong filter: tshark fails'
check 'and tells of the word' told "'nix' is no LID"
check 'and points at it' told '^  *^~~$'

ask()
{
	fabric_client Hca2 timeout 20 saquery "$@" >"$out/saquery" 2>&1
}

begin -c 5 -V
check 'a query' ask -N
wait $tshark
is $? 0 '-c 5: tshark ends well'
check 'and has not a word of us to show' test -z "$(grep osmsnoop: "$out/err")"
is "$(grep -c '^Frame ' "$out/packets")" 5 '-c 5: five packets'
check 'they are MADs' grep -q 'NodeRecord' "$out/packets"
# tshark leaves, and we have to notice
check 'and so do we' fabric_wait_for 10 left

begin -w "$out/file" -f 'class sa and attr PathRecord'
check 'NodeRecords' ask -N
check 'PathRecords' ask -p --slid 1
fabric_opensm_stop sm || diag 'OpenSM did not end well'
wait $tshark
is $? 0 'tshark ends well when OpenSM does'
check 'and has not a word of us to show, either' \
	test -z "$(grep osmsnoop: "$out/err")"
check 'tshark reads what it wrote' shark -r "$out/file" -T fields \
	-e infiniband.mad.attributeid
is "$(sort -u "$out/packets")" 0x0035 'the filter let PathRecords pass alone'
check 'queries and answers' test "$(wc -l <"$out/packets")" -ge 2
diag "$(wc -l <"$out/packets") packets"

fabric_end
