#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# How OpenSM ends, and how it begins again: SIGINT, SIGTERM and kill -9 under
# load, SIGHUP, the plugin named twice, -B, and five times in a row.
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# load SECONDS [ARGUMENT...]: as many queries as can be
load()
{
	local seconds=$1

	shift
	fabric_client_bg Hca2 sa_client -w 64 -d "$seconds" -t 0.5 \
		-o "$FABRIC_DIR/sa" "$@" 2>"$FABRIC_DIR/sa.sum"
}

loaded()
{
	wait "$FABRIC_CLIENT_PID" 2>/dev/null
}

# field NAME: a number of the client's last line
field()
{
	sed -n "s/.* $1 \([0-9.]*\).*/\1/p" "$FABRIC_DIR/sa.sum" | tail -n 1
}

# ends NAME SIGNAL: sets ended_ms
ends()
{
	local from rc=0

	from=$(date +%s%3N)
	fabric_opensm_stop "$1" "$2" || rc=$?
	ended_ms=$(($(date +%s%3N) - from))
	return $rc
}

# accounted FILE: what was captured and what was lost are what OpenSM counted
accounted()
{
	fabric_lines "$1" || return 1
	echo "complete ${N[complete]}, captured ${N[captured]}," \
		"OpenSM ${N[opensm]}, lost ${N[lost]}"
	[ "${N[last]}" = stop ] || return 1
	# each loss is in a record, too
	[ $((N[lost_ring] + N[lost_memory] + N[lost_events] + \
		N[lost_shutdown])) -eq "${N[lost]}" ] || return 1
	[ "${N[complete]}" = true ] ||
		{ [ "${N[lost]}" -gt 0 ] && [ "${N[missing]}" -ge 0 ] &&
			[ "${N[missing]}" -le "${N[lost]}" ]; }
}

fabric_many_starts
fabric_begin
fabric_clients
fabric_net 8 2
fabric_ibsim
trace=$FABRIC_DIR/sm/trace
audit=$FABRIC_DIR/sm/audit
fabric_plugin sm

#
# SIGINT and SIGTERM under load
#
for signal in INT TERM; do
	fabric_opensm plain Hca1
	load 1
	sleep 0.7
	ends plain $signal
	plain_ms=$ended_ms
	loaded

	rm -f "$trace" "$audit"
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
	load 1
	sleep 0.7
	check "$signal: OpenSM ends well" ends sm $signal
	diag "$signal: plain OpenSM ended in $plain_ms ms," \
		"with the plugin in $ended_ms ms"
	check "$signal: within 2 s of plain OpenSM's time" \
		test "$ended_ms" -lt $((plain_ms + 2000))
	check "$signal: of which the plugin took less than one" \
		test $((ended_ms - plain_ms)) -lt 1000
	loaded
	check "$signal: all that was captured is written" accounted "$trace"
	diag "$(cat "$FABRIC_DIR/check")"
	check "$signal: each query that was answered is a record" \
		test "${N[answered]}" -ge "$(field answered)"
	check "$signal: the audit ends well, too" fabric_lines "$audit"
	is "${N[last]}" stop "$signal: with the stop record"
done

#
# kill -9 under load, and again on the same files
#
rm -f "$trace" "$audit"
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
load 1
sleep 0.7
# bash tells of a child that was killed when it waits for it
fabric_opensm_stop sm KILL 2>/dev/null
loaded
check 'KILL: every line but perhaps the last is valid' \
	fabric_lines -t "$trace"
diag "KILL: ${N[lines]} lines, ${N[torn]} bytes of one more"
check 'KILL: most answers were written before' \
	test "${N[answered]}" -gt $(($(field answered) / 4))
written=${N[lines]}
check 'KILL: the same is true of the audit' fabric_lines -t "$audit"
audited=${N[lines]}

# so that a line is torn, whenever the signal came
[ "$(tail -c 1 "$trace")" = '' ] && printf '{"seq":%d,"ty' \
	$((written + 1)) >>"$trace"
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
load 0.3
loaded
check 'KILL: OpenSM ends well the next time' ends sm INT
check 'KILL: the torn line is gone, the numbers go on without a gap' \
	fabric_lines "$trace"
check 'KILL: after those from before' test "${N[lines]}" -gt "$written"
is "${N[start]}" 2 'KILL: two start records'
is "${N[stop]}" 1 'KILL: one stop record'
is "${N[lost_file]}" 1 'KILL: a loss record tells of the torn line'
is "$(sed -n "$((written + 1))p" "$trace" | jq -r .type)" loss \
	'KILL: right behind the last whole one'
check 'KILL: the audit goes on, too' fabric_lines "$audit"
check 'KILL: after what it had' test "${N[lines]}" -gt "$audited"

#
# SIGHUP
#
sweeps()
{
	[ "$(grep -c 'SUBNET UP' "$FABRIC_DIR/sm/opensm.log")" -gt "$1" ]
}

rm -f "$trace" "$audit"
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
load 1.5 -r 20000
for n in 1 2 3; do
	sleep 0.2
	kill -s HUP "${FABRIC_SM[sm]}"
	fabric_wait_for 10 sweeps $n || diag "no sweep $n"
done
loaded
check 'HUP: OpenSM lives' fabric_opensm_alive sm
ends sm INT
check 'HUP: all is written' accounted "$trace"
is "$(fabric_jq sm 'select(.state == "sweep_done") | 1' | grep -c 1)" \
	"$(grep -c 'SUBNET UP' "$FABRIC_DIR/sm/opensm.log")" \
	'HUP: each heavy sweep is recorded'
is "${N[answered]}" "$(field answered)" 'HUP: and each query meanwhile'

#
# named twice
#
rm -f "$trace" "$audit"
fabric_plugin sm
fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop osmsnoop' \
	-c "${FABRIC_PLUGIN[3]}"
load 0 -n 200
loaded
is "$(field answered)" 200 'twice: OpenSM answers'
check 'twice: the second is refused' fabric_log sm 'ERR 5D05: '
ends sm INT
check 'twice: the trace is well' accounted "$trace"
is "${N[start]} ${N[stop]} ${N[sa]}" '1 1 200' 'twice: nothing is there twice'

#
# as a daemon
#
# Nobody else has its command line, the test's own folder being in it.
daemon_pid()
{
	daemon=$(pgrep -f -- "-F $FABRIC_DIR/sm/opensm.conf") &&
		[ "$(wc -w <<<"$daemon")" -eq 1 ] &&
		[ "$daemon" != "${FABRIC_SM[sm]}" ]
}

rm -f "$trace" "$audit"
fabric_plugin sm
fabric_opensm sm Hca1 -n "${FABRIC_PLUGIN[@]}" -- -B
# it forks twice: the process that stays is known when it is up
check '-B: OpenSM comes up' fabric_wait_for 20 fabric_log sm 'SUBNET UP'
check '-B: in the background' fabric_wait_for 5 daemon_pid
if [ -n "$daemon" ]; then
	FABRIC_PIDS+=("$daemon")
	load 0 -n 500
	loaded
	is "$(field answered)" 500 '-B: it answers'
	kill -s INT "$daemon"
	check '-B: and ends' fabric_wait_for 10 fabric_dead "$daemon"
	check '-B: all is written' accounted "$trace"
	is "${N[sa]} ${N[answered]}" '500 500' '-B: each query is a record'
fi

#
# five times
#
rm -f "$trace" "$audit"
fabric_plugin sm
load 60 -r 2000
for n in 1 2 3 4 5; do
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
	sleep 0.2
	ends sm INT || fail "start $n" "ended with $?"
done
kill -s INT "$FABRIC_CLIENT_PID"
loaded
check 'five starts and ends: the trace is well' accounted "$trace"
is "${N[start]} ${N[stop]}" '5 5' 'five start and five stop records'
check 'five starts and ends: so is the audit' fabric_lines "$audit"
is "${N[start]} ${N[stop]}" '5 5' 'with as many'

fabric_end
