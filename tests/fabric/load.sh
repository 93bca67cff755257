#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# 512 hosts, two of them asking for paths as fast as OpenSM answers, 64
# queries outstanding each, while everything is traced: nothing is lost, or
# loss records account for all that is. OpenSM's memory does not grow.
#
#	LOAD_SECONDS	for how long (5)
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

seconds=${LOAD_SECONDS:-5}

# sum NAME: of that number in the clients' last lines
sum()
{
	sed -n "s/.* $1 \([0-9.]*\).*/\1/p" "$FABRIC_DIR"/sum.* |
		awk '{ n += $1 } END { print n + 0 }'
}

rss()
{
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}

# accounted: captured + lost is what OpenSM counted, and each loss is told
accounted()
{
	[ "${N[last]}" = stop ] || return 1
	echo "captured ${N[captured]} + lost ${N[lost]}," \
		"OpenSM ${N[opensm]}"
	[ $((N[lost_ring] + N[lost_memory] + N[lost_events] + \
		N[lost_shutdown])) -eq "${N[lost]}" ] || return 1
	if [ "${N[lost]}" -eq 0 ]; then
		[ "${N[complete]}" = true ]
	else
		[ $((N[captured] + N[lost])) -ge "${N[opensm]}" ]
	fi
}

# told CAPTURE: its packets, and 5D22 at its end, tell of each loss
told()
{
	local packets behind

	packets=$("${top_builddir:?}/tools/osmsnoop" -r "$1" 2>&1 >/dev/null |
		sed -n 's/.*\b\([0-9]\+\) capture.* lost before.*/\1/p')
	behind=$(sed -n 's/.*ERR 5D22: .* without \([0-9]*\) .*/\1/p' \
		"$FABRIC_DIR/sm/opensm.log")
	echo "${packets:-0} in packets, ${behind:-0} behind them"
	# more, when the disk is too slow for it
	[ $((${packets:-0} + ${behind:-0})) -ge "${N[lost]}" ]
}

fabric_begin
fabric_clients
fabric_net 512
fabric_ibsim
trace=$FABRIC_DIR/sm/trace

# A ring that is too small, too: then much is lost, and all of it is told.
# What waits for lost answers is memory for a while, so it is not measured.
for ring in 16M 64K; do
	rm -f "$trace" "$trace.pcap" "$FABRIC_DIR"/s[au]*.*
	fabric_plugin sm ring=$ring unanswered=20 capture="$trace.pcap"
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
	pid=${FABRIC_SM[sm]}
	pids=()
	for host in 2 300; do
		fabric_client_bg Hca$host sa_client -w 64 -t 20 \
			-d "$seconds" -o "$FABRIC_DIR/sa.$host" \
			2>"$FABRIC_DIR/sum.$host"
		pids+=("$FABRIC_CLIENT_PID")
	done

	# the pools and tables of the first seconds are no growth
	settle=$((seconds > 10 ? 5 : seconds / 2))
	sleep "$settle"
	first=$(rss "$pid")
	most=$first
	for ((i = settle * 2; i < seconds * 2 - 1; i++)); do
		sleep 0.5
		now=$(rss "$pid")
		[ "$now" -le "$most" ] || most=$now
	done
	wait "${pids[@]}"
	is "$(sum none)" 0 "ring $ring: OpenSM answers all the time"
	diag "ring $ring: $(sum answered) queries in $seconds s," \
		"RSS $first KiB after $settle s, at most $most KiB"
	# a sanitizer keeps what was freed
	if [ $ring = 16M ] && [ -z "${SANITIZER_RUNTIME:-}" ]; then
		check "ring $ring: its memory does not grow" \
			test "$most" -le $((first + first / 20 + 2048))
	fi

	fabric_opensm_stop sm || fail 'OpenSM ends' "with $?"
	check "ring $ring: every line is valid" fabric_lines "$trace"
	check "ring $ring: what OpenSM counted was captured or told lost" \
		accounted
	diag "$(cat "$FABRIC_DIR/check")"
	check "ring $ring: the capture file tells of as many" \
		told "$trace.pcap"
	diag "$(cat "$FABRIC_DIR/check")"
	# of an exchange one half may be lost, or both
	check "ring $ring: each query is recorded or in a loss" \
		test $((N[sa] + N[lost])) -ge "$(sum sent)"
	check "ring $ring: and none twice" test "${N[sa]}" -le "$(sum sent)"
	[ "${N[lost]}" -gt 0 ] ||
		is "${N[answered]}" "$(sum answered)" \
			"ring $ring: nothing is lost, each answer is recorded"
	diag "ring $ring: ${N[sa]} SA records, ${N[lost]} captures lost," \
		"$(stat -c %s "$trace") bytes"
	seconds=$((seconds > 3 ? 3 : seconds))
done

fabric_end
