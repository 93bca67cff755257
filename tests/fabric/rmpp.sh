#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The double of the kernel (tests/double) does what it stands for: the real
# OpenSM and real clients speak RMPP through it, lossy or not, and an agent
# that snoops sees the MADs of its process. Numbers are printed, not judged.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# client HOST ARGUMENT...: rmpp_client; its output is $out/said
client()
{
	local host=$1 rc=0

	shift
	fabric_client "$host" timeout -s KILL 60 "$FABRIC_DIR/bin/rmpp_client" \
		"$@" >"$out/said" 2>&1 || rc=$?
	return "$rc"
}

said()
{
	grep -v '^snoop\|^registered' "$out/said"
}

# snooped AGENT FIELD...: how often which values came, "sent 1 x3, ...". The
# fields are sent or received 3, status 4, class 5, method 6, attribute 7, RMPP
# type 8, flags 9, segment 10, PayloadLength 11, LID 12, QP 13, time-out 14,
# retries 15, GRH 16, SL 17
snooped()
{
	local agent=$1

	shift
	awk -v agent="$agent" -v fields="$*" '
	BEGIN { n = split(fields, f, " ") }
	$1 == "snoop" && $2 == agent {
		k = $f[1]
		for (i = 2; i <= n; i++)
			k = k " " $f[i]
		seen[k]++
	}
	END { for (k in seen) print k " x" seen[k] }' "$out/said" |
		sort | paste -sd, | sed 's/,/, /g'
}

# snooped_lines AGENT: direction, status, method, type, flags, segment and
# PayloadLength of each MAD, a line each
snooped_lines()
{
	awk -v agent="$1" '$1 == "snoop" && $2 == agent {
		print $3, $4, $6, $8, $9, $10, $11 }' "$out/said"
}

# names HOST: the names that saquery -N finds
names()
{
	fabric_client "$1" timeout -s KILL 60 saquery -t 30000 -N |
		sed -n 's/.*NodeDescription\.*//p' | sort
}

# all_names HOST: whether it finds all
all_names()
{
	names "$1" | diff - "$out/names"
}

# several COUNT HOSTS...: so many times from each of these hosts, at once
several()
{
	local count=$1 pids=() host rc=0 p i

	shift
	for host in "$@"; do
		(
			for ((i = 0; i < count; i++)); do
				all_names "$host" || exit 1
			done
		) &
		pids+=($!)
	done
	for p in "${pids[@]}"; do
		wait "$p" || rc=1
	done
	return "$rc"
}

# rate NAME: what sa_client gets of that OpenSM, with windows of 1 and 64
rate()
{
	local w

	for w in 1 64; do
		diag "$1, queries a second, $w at once: $(fabric_client Hca2 \
			timeout 60 sa_client -k path -n 5000 -w $w \
			-o /dev/null 2>&1 | sed -n 's/.* rate //p')"
	done
}

# harmless COMMAND...: prints the same with the double preloaded
harmless()
{
	local preload=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}$FABRIC_DOUBLE

	is "$(LD_PRELOAD=$preload "$@" 2>&1)" "$("$@" 2>&1)" \
		"preloaded into $1: prints the same"
}

# serve [WORD...]: a server on Hca3; its LID is $SERVER
serve()
{
	local IFS=,

	OSMSNOOP_DOUBLE="$*" SIM_SET_ISSM=1 fabric_client_bg Hca3 \
		"$FABRIC_DIR/bin/rmpp_client" -t 1000 serve \
		>"$out/served" 2>&1
	fabric_wait_for 20 grep -q serving "$out/served" || bail 'no server'
}

serve_stop()
{
	fabric_kill "$FABRIC_CLIENT_PID"
}

fabric_begin
out=$FABRIC_DIR
fabric_clients
fabric_compile rmpp_client "$FABRIC_LIB/../clients/umad_client.c" -libumad
fabric_net 512
fabric_ibsim
for ((i = 1; i <= 512; i++)); do
	echo "Hca$i"
done >"$out/names"
for ((i = 1; i <= FABRIC_SWITCHES; i++)); do
	echo "Switch$i"
done >>"$out/names"
sort -o "$out/names" "$out/names"

#
# without it
#
fabric_opensm without Hca1 -c 'sweep_interval 0'
is "$(names Hca2 | wc -l)" 1 'without the double saquery -N sees one node'
rate 'without the double'
fabric_opensm_stop without || diag 'OpenSM did not end well'

#
# what is to be refused
#
fabric_find_double
# the program and not the builtin
# shellcheck disable=SC2016
script='echo "$0 $1"; while read -r key value; do
	[ "$key" != Threads: ] || echo "$value threads"
done </proc/$$/status; exit 3'
harmless sh -c "$script" a b
harmless timeout 20 sh -c "$script" a b
harmless env -i PATH="$PATH" sh -c "$script" a b

# nothing is sent twice because the machine is slow
calm=ack_ms=20000
fabric_double $calm
for word in snoop snoop= snoop=off drop=101 drop=x drop=-1 window=0 queue=0 \
	unknown=1 =1 drop=1,drop; do
	OSMSNOOP_DOUBLE=$word client Hca2 table
	is "$? $(said)" \
		"2 libumad_double: bad OSMSNOOP_DOUBLE=$word" \
		"OSMSNOOP_DOUBLE=$word is refused"
done

fabric_opensm sm Hca1 -c 'sweep_interval 0' -c 'transaction_retries 30'
OSMSNOOP_DOUBLE=snoop=refuse client Hca2 -s 3 table
is "$? $(said)" \
	'3 rmpp_client: snoop registration refused: Invalid argument' \
	'refused, as every mainline kernel does'
OSMSNOOP_DOUBLE=snoop=refuse client Hca2 table
is "$(said | head -n 1)" "answer $((56 + FABRIC_NODES * 112)) bytes, \
$FABRIC_NODES records" 'RMPP works then as well'
check 'what is wrong is refused' client Hca2 bad
is "$(grep -c '^ok' "$out/said"), $(grep -v '^ok' "$out/said" |
	paste -sd' ')" '27, agents 32 poll 0 poll 1 poll 1 poll 0' \
	'each with its own errno; poll tells of what can be read'

#
# OpenSM and saquery
#
check "saquery -N finds $FABRIC_NODES nodes" all_names Hca2
# a record a host; of a switch with 36 ports one each, and its port 0
is "$(fabric_client Hca2 saquery PIR 2>/dev/null |
	grep -c '^PortInfoRecord')" \
	$((512 + FABRIC_SWITCHES * 37)) 'saquery PIR finds all ports'
rate 'with the double'
check 'eight clients at once' several 3 Hca2 Hca3 Hca4 Hca5 Hca6 Hca7 Hca8 Hca9

#
# an agent that snoops on its own process
#
check 'a table, snooped' client Hca2 -s 3 -s 3,2,11 -s 0 -s 3,1 -s 3,2,12 \
	-s 4 -s 81 -s 3,0,0,1 -s 30,0,0,0,1405 table
segments=$(((FABRIC_NODES * 112 + 199) / 200))
pad=$((segments * 200 - FABRIC_NODES * 112))
# one to begin with, one a window of 64, and the last
acks=$((1 + (segments - 1) / 64 + ((segments - 1) % 64 > 0)))
for agent in 1 2 3; do
	is "$(snooped $agent 3 8)" \
		"received 1 x$segments, sent 0 x1, sent 2 x$acks" \
		"agent $agent sees the request, each segment and each ACK"
done
is "$(awk '$1 == "snoop" { print $2 }' "$out/said" | sort -u |
	paste -sd' ')" '1 2 3' 'the filters of the others let nothing through'
is "$(grep ^segments "$out/said")" 'segments agree' \
	'the data of the segments is the data of the answer'
is "$(snooped 1 3 4 12 13 14 15)" "received 0 1 1 0 0 x$segments, \
sent 0 1 1 0 0 x$acks, sent 0 1 1 20000 0 x1" \
	'with status, LID, QP, time-out and retries'
is "$(snooped_lines 1 | sed -n '1,4p;$p' | paste -sd,)" \
"sent 0 12 0 0 0 0,\
received 0 92 1 3 1 $((segments * 220 - pad)),\
sent 0 12 2 1 1 65,\
received 0 92 1 1 2 0,\
sent 0 12 2 1 $segments $((1 + (acks - 1) * 64))" \
	'in their order: First, PayloadLength, window'

check 'on another file' client Hca2 -f -s 3 table
is "$(snooped 0 3 8)" "received 1 x$segments, sent 0 x1, sent 2 x$acks" \
	'an agent sees what those of other files do'
check 'a directed route query' client Hca2 -s 81 -s 1 -s 0 -s 81,1,10 \
	-s 81,1,11 -s 81,2 -s 81,0,0,1 smp
is "$(snooped 1 3 6), $(snooped 5 3 6)" \
	'received 81 x1, sent 01 x1, received 81 x1, sent 01 x1' \
	'is seen on QP0 by its class'
is "$(grep -c ^snoop "$out/said")" 4 'and by nobody else'
client Hca2 -s 3 -s 3,0,0,1 nobody
is "$? $(said)" '1 status 110 length 24' 'a query to nobody times out'
is "$(snooped 1 3 4), $(snooped 2 3 4)" 'sent 0 x1, sent 20 x1, sent 20 x1' \
	'its send completes in error, which a filter for errors lets through'
OSMSNOOP_DOUBLE=queue=7 client Hca2 -f -s 3 table
is "$(snooped 0 1)" 'snoop x7' 'a file that is not read keeps so many MADs'

#
# both directions: SubnAdmGetMulti
#
serve $calm
SERVER=$(fabric_lid Hca3)
export SERVER
for n in 0 1 199 200 201 400 401 12800 12801 200000; do
	client Hca4 -s 3 multi $n
	segments=$(((n + 199) / 200))
	segments=$((segments ? segments : 1))
	# the sender's last ACK is acknowledged, which turns the window
	acks=$((1 + (segments + 62) / 64))
	is "$(said | grep -v ^from) $(snooped 1 3 8)" \
		"answer $n bytes, right
segments agree received 1 x$segments, received 2 x$acks, \
sent 1 x$segments, sent 2 x$((acks + 1))" "GetMulti of $n bytes"
done
client Hca4 -s 3 -g multi 401
is "$(said | sed -n 's/^from //p')" \
	"lid $SERVER qpn 1 sl 3 \
grh fe800000000000000000000000100005 5 6 0x12345" \
	'service level and GRH of what is received'
is "$(snooped 1 3 8 16 17)" 'received 1 1 3 x3, received 2 1 3 x2, '\
'sent 1 1 3 x3, sent 2 1 3 x3' 'and of what is snooped'

OSMSNOOP_DOUBLE=drop=100,ack_ms=20 client Hca4 -s 3 -s 3,0,0,1 -r 2 multi 1000
is "$(said)" 'status 110 length 24' 'a message that nobody gets times out'
is "$(snooped_lines 1)" "sent 0 14 1 3 1 1100
sent 0 14 1 3 1 1100
sent 0 14 1 3 1 1100
sent 0 14 4 1 0 0
sent 20 14 1 3 1 1100" 'after two retries, with ABORT'
is "$(snooped 2 3 4)" 'sent 20 x1' 'and completes in error'
OSMSNOOP_DOUBLE=drop=100,ack_ms=20,abort=off client Hca4 -s 3 -r 1 multi 1000
is "$(snooped 1 3 4 8)" 'sent 0 1 x2, sent 20 1 x1' 'without it, as Linux'

OSMSNOOP_DOUBLE=max=10000 client Hca4 -t 2000 -s 3 multi 20000
is "$(said)" 'status 110 length 24' 'a response that is too long times out'
is "$(snooped 1 3 8)" 'received 1 x65, received 2 x3, sent 1 x101, '\
'sent 2 x2, sent 3 x1' 'its receiver sends STOP'
serve_stop
check 'of which the server hears nothing' \
	diff <(grep -c ^status "$out/served") <(echo 0)

serve $calm recv_ms=50
client Hca4 -f -i -s 3 -s 3,0,0,1 multi 1000000
# how many windows go out before it leaves is a matter of time
is "$(snooped 0 3 4 8 | sed -E 's/(received 0 2|sent 0 1) x[0-9]+/\1/g')" \
	'received 0 2, received 0 4 x1, sent 0 1, sent 5 1 x1' \
	'a sender that goes away is cancelled, the receiver sends ABORT'
is "$(snooped 1 1)" '' 'what is cancelled is no error'
serve_stop
fabric_opensm_stop sm || diag 'OpenSM did not end well'

#
# one in ten segments and ACKs lost, one in ten twice
#
fabric_double drop=10 drop_ack=10 repeat=10 ack_ms=30
fabric_opensm lossy Hca1 -c 'sweep_interval 0' -c 'transaction_retries 30'
check 'lossy: all nodes are found' all_names Hca2
client Hca2 -s 3 table
is "$(grep ^segments "$out/said")" 'segments agree' \
	'lossy: the segments are those of the answer'
check 'lossy: some come twice' test "$(snooped_lines 1 | grep -c 'received')" \
	-gt "$(snooped_lines 1 | grep received | sort -u | wc -l)"
check 'lossy: four clients at once' several 2 Hca2 Hca3 Hca4 Hca5
serve drop=10 drop_ack=10 repeat=10 ack_ms=30
client Hca4 -r 30 -s 3 multi 100000
is "$(said | sed -n 's/^answer //p')" '100000 bytes, right' \
	'lossy: both directions'
serve_stop
fabric_opensm_stop lossy || diag 'OpenSM did not end well'

#
# a daemon forks before it opens its port
#
fabric_double
fabric_opensm daemon Hca1 -n -c 'sweep_interval 0' -- -B
fabric_wait_for 20 fabric_dead "${FABRIC_SM[daemon]}"
pid=$(pgrep -f "$FABRIC_DIR/daemon/opensm.conf")
FABRIC_PIDS+=("$pid")
fabric_wait_for 60 fabric_log daemon 'SUBNET UP' || bail 'no daemon'
check 'OpenSM as a daemon: all nodes are found' all_names Hca2
check 'the daemon ends' fabric_kill "$pid" INT

fabric_end
