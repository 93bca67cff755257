#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Nothing is missing and nothing is there twice: 10,000 queries of all kinds
# while OpenSM sweeps and another one stands by, with the tap attached by the
# plugin, and with it preloaded and attached at once. Then the other one takes
# over. OpenSM's own counters and the clients' notes are the measure.
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

records=$FABRIC_LIB/records.py

# ask HOST SECONDS ARGUMENT...: sa_client in the background
asked=()
pids=()
ask()
{
	local host=$1

	shift
	asked+=("$FABRIC_DIR/sa.${#asked[@]}")
	fabric_client_bg "$host" sa_client -o "${asked[-1]}" "$@" \
		2>>"$FABRIC_DIR/sums"
	pids+=("$FABRIC_CLIENT_PID")
}

# answered: the clients end, and all of them well
answered()
{
	local pid rc=true

	for pid in "${pids[@]}"; do
		wait "$pid" || rc=false
	done
	pids=()
	$rc
}

sweeps()
{
	grep -c '> SUBNET UP' "$FABRIC_DIR/sm/opensm.log"
}

swept_again()
{
	[ "$(sweeps)" -gt "$1" ]
}

# states NAME: of the SM, in the order of their records
states()
{
	fabric_jq "$1" 'select(.type == "state" and .state == "sm_state") |
		.sm_state' | paste -sd,
}

# query: 10,000 queries while OpenSM sweeps, then it ends. $queried, $swept
# and $ended say how that went, $sweep which one was asked for last.
query()
{
	local i before

	fabric_ibsim
	fabric_plugin sm unanswered=5
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sm_priority 14'
	fabric_plugin sm2 unanswered=5
	fabric_opensm sm2 Hca2 -w 'Entering STANDBY' "${FABRIC_PLUGIN[@]}" \
		-c 'sm_priority 1' -c 'sminfo_polling_timeout 300' \
		-c 'polling_retry_number 2'

	# A time-out longer than a loaded machine lets an answer wait; and few
	# outstanding in all: amid many the simulator may lose an SMP (3 of 70
	# such runs with plain OpenSM on two busy processors), and without
	# time-outs OpenSM waits for ever.
	asked=()
	for i in 3 4 5; do
		ask "Hca$i" -k mixed -n 3000 -w 4 -t 30
	done
	ask Hca6 -k refused -n 500 -w 4 -t 30
	ask Hca7 -k bad -n 500 -w 16 -t 0.1
	for sweep in 1 2 3; do
		before=$(sweeps)
		kill -s HUP "${FABRIC_SM[sm]}"
		fabric_wait_for 10 swept_again "$before" || break
	done
	queried=no
	answered && queried=yes
	swept=no
	swept_again "$before" && swept=yes
	ended=no
	fabric_opensm_stop sm && ended=yes
}

# lost_smp: all went well, but that the simulator lost an SMP, so that a sweep
# did not end; that says nothing about the plugin
lost_smp()
{
	[ "$queried $swept $ended" = 'yes no yes' ] &&
		[ "$(fabric_jq sm 'select(.type == "stop") | .opensm |
			.sm_sent > .sm_received')" = true ]
}

clear_away()
{
	fabric_ibsim_stop
	rm -r "$FABRIC_DIR/sm" "$FABRIC_DIR/sm2"
}

run()
{
	local mode=$1 try lid busy

	for try in 1 2 3; do
		query
		lost_smp || break
		diag "$mode: sweep $sweep waits for an SMP that the simulator" \
			"lost ($try of 3 times)"
		[ "$try" -lt 3 ] || break
		fabric_opensm_stop sm2
		clear_away
	done
	is "$(grep 'cannot be preloaded' "$FABRIC_DIR/sm/stdout")" '' \
		"$mode: what is to be preloaded is"
	is "$queried" yes "$mode: 10,000 queries"
	is "$ended" yes "$mode: the master ends"
	check "$mode: the standby takes over" \
		fabric_opensm_wait sm2 'SUBNET UP' 30
	is "$swept" yes "$mode: OpenSM swept meanwhile"
	check "$mode: more than once" test "$(sweeps)" -gt 3
	check "$mode: captured is what OpenSM counted" \
		"$records" complete "$FABRIC_DIR/sm/trace"
	diag "$(cat "$FABRIC_DIR/check")"
	check "$mode: every line is a record, no number is missing" \
		fabric_lines "$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit"
	check "$mode: each query is one record of what became of it" \
		"$records" match "$FABRIC_DIR/sm/trace" "${asked[@]}"
	diag "$(cat "$FABRIC_DIR/check")"
	is "$(fabric_jq sm 'select(.type == "state" and
		.state == "sweep_done") | 1' | grep -c 1)" "$(sweeps)" \
		"$mode: each sweep is recorded"

	asked=()
	lid=$(fabric_lid Hca2)
	ask Hca3 -k mixed -n 450 -w 4 -t 30 -s "$lid"
	ask Hca4 -k bad -n 40 -w 16 -t 0.1 -s "$lid"
	check "$mode: the new master is asked" answered
	busy=$FABRIC_DIR/sa.busy
	fabric_client_bg Hca5 sa_client -k path,mixed -d 2 -r 3000 -w 8 \
		-t 0.3 -s "$lid" -o "$busy" 2>>"$FABRIC_DIR/sums"
	fabric_wait_for 20 test -s "$busy"
	sleep 0.5
	check "$mode: it ends, busy with queries" fabric_opensm_stop sm2
	check "$mode: so does the client" wait "$FABRIC_CLIENT_PID"
	check "$mode: handed over, captured is what OpenSM counted" \
		"$records" complete "$FABRIC_DIR/sm2/trace"
	diag "$(cat "$FABRIC_DIR/check")"
	check "$mode: handed over, every line is a record" \
		fabric_lines "$FABRIC_DIR/sm2/trace" \
		"$FABRIC_DIR/sm2/audit"
	check "$mode: handed over, each query is one record" \
		"$records" match "$FABRIC_DIR/sm2/trace" \
		"${asked[@]}" --left "$busy"
	diag "$(cat "$FABRIC_DIR/check")"
	check "$mode: it was standby and became master" \
		grep -Eqx 'standby,(.*,)?master' <(states sm2)
	clear_away
	rm "$busy"
}

fabric_begin
fabric_clients
fabric_net 40 2

run attach
FABRIC_OPENSM_PRELOAD=libosmvendor_snoop.so.1
run preload

fabric_end
