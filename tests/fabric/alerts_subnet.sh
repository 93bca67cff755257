#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Alerts of the subnet: another SM, who is master when one ends and comes back,
# wrong keys, a storm of traps, and a host that answers no SMP.
#
# check calls functions by name, and jq has variables of its own
# shellcheck disable=SC2317,SC2016
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# alerts NAME ALERT [FILTER]: what the audit says of it, the phase first
alerts()
{
	jq -r 'select(.type == "alert" and .alert == $a) |
		[.phase, .severity] + ('"${3:-[]}"') | map(tostring) |
		join(" ")' --arg a "$2" "$FABRIC_DIR/$1/audit"
}

# alerted NAME CONDITION: whether the trace has such an alert
alerted()
{
	fabric_recorded "$1" ".type == \"alert\" and $2"
}

# logged NAME PATTERN TEXT
logged()
{
	check "$3" fabric_log "$1" "SNOOP: ALERT $2"
}

# start NAME HOST PRIORITY [PATTERN [OPTION...]]
start()
{
	fabric_plugin "$1" trap_storm=5/60 timeouts=2/60 "${@:5}"
	fabric_opensm "$1" "$2" -n "${FABRIC_PLUGIN[@]}" \
		-c "sm_priority $3" -c 'sweep_interval 1' \
		-c 'sminfo_polling_timeout 300' -c 'polling_retry_number 2'
	fabric_opensm_wait "$1" "${4:-SUBNET UP}" 20
}

# lost_smp NAME: whether an SMP of that OpenSM's has neither an answer nor an
# error: the simulator lost it, and the sweep waits for ever
lost_smp()
{
	[ "$(jq -s '([.[] | select(.type == "stop") | .opensm |
		.sm_sent - .sm_received] | add) - ([.[] |
		select(.type == "send_error" and .completion == "timeout" and
		(.class_id == 1 or .class_id == 129))] | length)' \
		"$FABRIC_DIR/$1/trace")" -gt 0 ]
}

# amid two that sweep that happens now and then; it says nothing of the plugin
lost='the simulator lost an SMP'
if [ -z "${ALERTS_TRY:-}" ]; then
	for ALERTS_TRY in 1 2 3; do
		export ALERTS_TRY
		rc=0
		said=$("$0" 2>&1) || rc=$?
		[ "$rc" -ne 0 ] || break
		grep -q "^# $lost" <<<"$said" || break
	done
	printf '%s\n' "$said"
	exit "$rc"
fi

fabric_begin
fabric_clients
fabric_net 8 2
fabric_ibsim

#
# two SMs; the first is allowed to the second alone
#
start sm Hca1 5
start sm2 Hca2 1 'Entering STANDBY' sm_allow=0x100001
check 'the master hears of the standby' fabric_wait_for 10 alerted sm \
	'.alert == "foreign_sm" and .state == "standby"'
check 'and the standby of the master' fabric_wait_for 10 alerted sm2 \
	'.alert == "foreign_sm" and .state == "master"'
is "$(alerts sm foreign_sm '[.sm_guid, .priority, .allowed, .requester.name]' |
	head -n 1)" 'begin warning 0x0000000000100003 1 no Hca2' \
	'foreign_sm begins: a warning, of whom sm_allow does not have'
is "$(alerts sm2 foreign_sm '[.sm_guid, .priority, .allowed]' | head -n 1)" \
	'begin info 0x0000000000100001 5 yes' \
	'and for information of whom it has'
logged sm 'warning foreign_sm: begin: SM LID [0-9]* "Hca2"' \
	'the log says so'

#
# traps
#
lid=$(fabric_lid Hca3)
fabric_client Hca3 trap_client -n 2 256 257 258 259 >"$FABRIC_DIR/keys" 2>&1
fabric_client Hca4 trap_client -n 7 129 >"$FABRIC_DIR/storm" 2>&1
check 'a storm of traps' fabric_wait_for 10 alerted sm '.alert == "trap_storm"'
is "$(alerts sm trap_storm '[.trap_number, .port, .traps, .requester.name]')" \
	'begin warning 129 1 6 Hca4' 'trap_storm begins at the sixth of five'
logged sm 'warning trap_storm: begin: 6 traps 129 (link integrity threshold reached) from LID [0-9]* "Hca4"' \
	'the log has it'

#
# a host that answers nothing: ibsim fails each SMP to it
#
fabric_ibsim_do 'Error "Hca8"[1] 100'
for _ in 1 2 3 4 5; do
	kill -s HUP "${FABRIC_SM[sm]}"
	fabric_wait_for 2 alerted sm '.alert == "smp_timeouts"' && break
done
is "$(alerts sm smp_timeouts '[.path, .timeouts, .answered_path,
	.answered_name, .answered_port]')" \
	'begin warning 0,1,35,4 3 0,1,35 Switch2 4' \
	'smp_timeouts begins, and says how far SMPs get'
fabric_ibsim_do 'Error "Hca8"[1] 0'

#
# the master ends, the standby takes over, the first comes back
#
check 'the master ends' fabric_opensm_stop sm
check 'the standby takes over' fabric_wait_for 20 alerted sm2 \
	'.alert == "sm_handover" and .to == "master"'
mv "$FABRIC_DIR/sm/audit" "$FABRIC_DIR/first"
start sm Hca1 5 'Entering MASTER'
check 'and hands over' fabric_wait_for 20 alerted sm2 \
	'.alert == "sm_handover" and .to == "standby"'
fabric_wait_for 10 alerted sm '.alert == "foreign_sm" and .phase == "update"'
check 'the first ends again' fabric_opensm_stop sm
check 'so does the other' fabric_opensm_stop sm2

is "$(alerts sm2 sm_handover '[.event, .from // .control, .to // .direction,
	.sm_guid]')" "\
once warning state standby master 0x0000000000100001
once warning control handover sent 0x0000000000100001
once warning state master standby 0x0000000000100001" \
	'sm_handover: each change, and who the other one is'
is "$(alerts sm sm_handover '[.event, .control, .direction, .sm_guid]' |
	grep control)" \
	'once warning control handover received 0x0000000000100003' \
	'and what the other one was told'
logged sm2 'warning sm_handover: this SM was standby and is master now' \
	'the log has it'

mv "$FABRIC_DIR/sm/audit" "$FABRIC_DIR/second"
cat "$FABRIC_DIR/first" "$FABRIC_DIR/second" >"$FABRIC_DIR/sm/audit"
is "$(alerts sm foreign_sm '[]' | sort | uniq | paste -sd,)" \
	'begin warning,end warning,update warning' \
	'foreign_sm begins, changes, ends'
is "$(alerts sm trap_storm '[.traps]' | tail -n 1)" 'end warning 7' \
	'trap_storm ends with all of them'
is "$(alerts sm smp_timeouts '[]' | tail -n 1)" 'end warning' \
	'smp_timeouts ends'
is "$(alerts sm mkey_violation '[.count, .lid, .name, .method, .attribute,
	.attribute_modifier, .dr_slid]')" "\
begin critical 1 $lid Hca3 Set PortInfo 0x00000256 65535
end critical 2 $lid Hca3 Set PortInfo 0x00000256 65535" 'mkey_violation'
is "$(grep -h -i '0256025602560256\|168324604502606422' \
	"$FABRIC_DIR/sm/audit" \
	<(grep 'SNOOP: ' "$FABRIC_DIR/sm/opensm.log.old"))" '' \
	'the M_Key is in no output'
ends="$lid Hca3 1 Hca1 fe80::10:5 fe80::10:45"
is "$(alerts sm pkey_violation '[.trap_number, .p_key, .qp1, .qp2, .sl, .count,
	.port, .lid1, .name1, .lid2, .name2, .gid1, .gid2]' | sort)" "\
begin warning 257 0x7257 4113 4114 3 1 null $ends
begin warning 259 0x7259 9617 9618 3 1 7 $ends
end warning 257 0x7257 4113 4114 3 2 null $ends
end warning 259 0x7259 9617 9618 3 2 7 $ends" 'pkey_violation'
is "$(alerts sm qkey_violation '[.q_key, .qp1, .qp2, .count, .lid1, .name1,
	.lid2, .name2, .gid1, .gid2]')" "\
begin warning 0x80010258 4129 4130 1 $ends
end warning 0x80010258 4129 4130 2 $ends" 'qkey_violation'
check 'every line is a record' fabric_lines "$FABRIC_DIR/first" \
	"$FABRIC_DIR/second" "$FABRIC_DIR/sm2/audit"

for name in sm sm2; do
	lost_smp $name && diag "$lost"
done
fabric_end
