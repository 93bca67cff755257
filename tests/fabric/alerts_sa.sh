#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Alerts of who asks the SA what. A fabric that goes about its business raises
# none; then each kind is brought about by real clients: it begins, it ends, in
# the audit and in OpenSM's log.
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# ask HOST ARGUMENT...
ask()
{
	fabric_client "$1" timeout -s INT 50 sa_client -o /dev/null "${@:2}" \
		2>>"$FABRIC_DIR/sums"
}

# together ARGUMENTS HOST...: all of them at once
together()
{
	local host pids=()

	for host in "${@:2}"; do
		# words
		# shellcheck disable=SC2086
		fabric_client_bg "Hca$host" sa_client -o /dev/null $1 \
			2>>"$FABRIC_DIR/sums"
		pids+=("$FABRIC_CLIENT_PID")
	done
	wait "${pids[@]}"
}

# audit NAME FILTER: jq on the audit's alerts
audit()
{
	grep '}$' "$FABRIC_DIR/$1/audit" |
		jq -r "select(.type == \"alert\") | $2"
}

# has NAME CONDITION: whether there is such an alert
has()
{
	[ -n "$(audit "$1" "select($2) | .alert")" ]
}

# phases CONDITION: of these alerts of the loud one
phases()
{
	audit loud "select($1) | .phase" | grep -v update | paste -sd,
}

# in_log PATTERN: an alert's line
in_log()
{
	fabric_log loud "SNOOP: ALERT $1"
}

fabric_begin
fabric_clients
fabric_net 64
fabric_ibsim

#
# business as usual
#
fabric_plugin quiet unanswered=5
fabric_opensm quiet Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x03'
# until the names are known
sleep 1.2
for hosts in '2 3 4 5' '6 7 8 9' '10 11 12 13' '14 15 16 17' '18 19 20 21'; do
	# shellcheck disable=SC2086
	together '-k mixed -n 510 -w 8 -t 20' $hosts
	kill -s HUP "${FABRIC_SM[quiet]}"
done
fabric_opensm_stop quiet || diag "OpenSM quiet did not end well"
check 'there were sweeps, joins and 10,000 queries' fabric_recorded quiet \
	'.type == "sa" and .outcome == "answered"' 10000
diag "$(grep -h . "$FABRIC_DIR/sums" | head -n 2)"
is "$(fabric_jq quiet 'select(.state == "sweep_done") | 1' | wc -l |
	awk '{ print ($1 > 1) }')" 1 'more than one sweep'
is "$(audit quiet 'select(.alert | startswith("service_") | not) | .text')" '' \
	'which raise no alert, but that services are registered and removed'

#
# a full queue and slow answers, one query again and again, a wrong key, a
# change in another's name
#
fabric_plugin loud drops=10/2 slow=1/20 duplicates=50/200
fabric_opensm loud Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x03' \
	-c 'single_thread TRUE' -c 'max_msg_fifo_timeout 1'
sleep 1.2
together '-k portinfo_table,path_all,node -n 300 -w 60 -t 1' 5 6 7 8
ask Hca2 -k path -n 900 -w 8
ask Hca3 -k badkey -n 15 -w 15 -t 0.2
ask Hca4 -k mc_join,service_set,mc_leave -n 3 -G 0x0000000000100009
check 'slow answers' fabric_wait_for 12 has loud '.alert == "sa_slow"'
check 'the drops are over' fabric_wait_for 5 has loud \
	'.reason == "overload" and .phase == "end"'
fabric_opensm_stop loud || diag "OpenSM loud did not end well"

check 'every line is a record' fabric_lines "$FABRIC_DIR/loud/audit"
audit loud '"\(.phase) \(.severity) \(.alert) \(.subject)"' >"$FABRIC_DIR/all"
diag "$(sort "$FABRIC_DIR/all" | uniq -c)"
diag "$(audit loud .text)"

is "$(phases '.reason == "overload" and .severity == "critical"')" \
	begin,end 'a queue that is full is critical'
is "$(audit loud 'select(.reason == "overload" and .requesters > 0 and
	.requests > 10 and .limit_requests == 10 and .limit_seconds == 2) |
	.phase' | grep -c 'begin\|end')" 2 'and who asks is known'
check 'and in the log' in_log 'critical sa_unanswered: begin: '
is "$(phases '.alert == "sa_slow" and .p99_us > 1000 and .answers >= 20')" \
	begin,end 'slow answers begin and end'
check 'and are in the log' in_log 'warning sa_slow: end: '

duplicates='.alert == "duplicate_queries" and .requester.name == "Hca2"'
is "$(phases "$duplicates")" begin,end 'queries that are repeated'
is "$(audit loud "select($duplicates and .phase == \"end\") |
	\"\\(.queries) \\(.repeated) \\(.attribute)\"")" '900 898 PathRecord' \
	'all but the first of each kind'
check 'and in the log' in_log 'info duplicate_queries: begin: '

wrong='.alert == "sm_key_mismatch" and .requester.name == "Hca3"'
is "$(phases "$wrong and .severity == \"critical\"")" begin,end \
	'a wrong SM_Key is critical'
is "$(audit loud "select($wrong and .phase == \"end\") |
	\"\\(.count) \\(.method) \\(.attribute)\"")" '15 Get PathRecord' \
	'and each of them counts'
is "$(phases '.alert == "sa_unanswered" and .reason == "sm_key"')" begin,end \
	'as requests without an answer, too'
check 'and in the log' in_log 'critical sm_key_mismatch: begin: '
is "$(grep -h -i 'badc0ffee0ddf00d\|13464654573299691533' \
	"$FABRIC_DIR/loud/trace" "$FABRIC_DIR/loud/audit" \
	<(grep 'SNOOP: ' "$FABRIC_DIR/loud/opensm.log"))" '' \
	'which is in no output'

stranger='.alert == "set_by_stranger" and .requester.name == "Hca4"'
is "$(phases "$stranger")" begin,end "changes for another's port"
is "$(audit loud "select($stranger and .phase == \"end\") |
	\"\\(.count) \\(.method) \\(.attribute) \\(.status) \\(.gid)\"")" \
	'3 Delete MCMemberRecord OK fe80::10:9' 'a join, a service and a leave'
is "$(audit loud "select($stranger) | .owner" | grep -vc '"Hca5"')" 0 \
	'and whose it is'
check 'and in the log' in_log 'warning set_by_stranger: begin: '

#
# a ring that is too small
#
fabric_plugin small ring=64K
fabric_opensm small Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x03'
together '-k path -d 1 -w 60' 5 6 7 8
fabric_opensm_stop small || diag "OpenSM small did not end well"
is "$(audit small 'select(.alert == "capture_loss" and .where == "ring") |
	.phase' | paste -sd,)" begin,end 'captures are lost'
is "$(audit small 'select(.where == "ring" and .phase == "end") | .lost')" \
	"$(fabric_jq small 'select(.type == "loss" and .where == "ring") |
	.total' | tail -n 1)" 'as many as the records of loss have'
diag "$(audit small 'select(.alert == "capture_loss") | .text')"

fabric_end
