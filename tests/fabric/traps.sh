#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Traps that come over the wire and those that OpenSM issues itself, Reports
# to subscribers and what becomes of them, SMPs, states and sweeps: what is in
# the trace is what was sent.
#
# check calls functions by name, and jq has variables of its own
# shellcheck disable=SC2317,SC2016
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# trap_details NUMBER: those of the one trap with this number from Hca3
trap_details()
{
	fabric_jq sm 'select(.type == "trap" and .trap_number == $n and
		.from.name == "Hca3") | .details' -S -c --argjson n "$1"
}

# detailed NUMBER JSON: it is one record, and says this
detailed()
{
	is "$(trap_details "$1")" "$(jq -S -c . <<<"$2")" \
		"trap $1: one record, with its details as sent"
}

# reports NAME: tid and number of those that it printed; the upper half of a
# tid says to the simulator who sent it
reports()
{
	sed -n 's/^report tid 0x.\{8\}\([0-9a-f]*\) .*number \([0-9]*\) .*/\1 \2/p' \
		"$FABRIC_DIR/$1" | sort
}

# recorded NAME OUTCOME: Reports to the host of this name that ended so
recorded()
{
	fabric_jq sm 'select(.type == "sa" and .method == "Report" and
		.direction == "sent" and .requester.name == $n and .outcome == $o) |
		"\(.tid[10:]) \(.notice.trap_number)"' --arg n "$1" --arg o "$2" |
		sort
}

# states STATE: how often it is recorded
states()
{
	fabric_jq sm 'select(.type == "state" and .state == $s) | 1' \
		--arg s "$1" | wc -l
}

subnets_up()
{
	grep -c '> SUBNET UP' "$FABRIC_DIR/sm/opensm.log"
}

has_trap()
{
	fabric_recorded sm ".type == \"trap\" and .trap_number == $1"
}

fabric_begin
fabric_clients
fabric_net 8 2
fabric_ibsim
fabric_plugin sm log=all
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07' \
	-c 'sweep_interval 0'
lid=$(fabric_lid Hca3)
switch=$(fabric_client Hca2 smpquery -D portinfo 0,1 0 |
	sed -n 's/^Lid:\.*//p')

#
# from a port: each number once, a vendor's, one number three times
#
fabric_client Hca3 trap_client >"$FABRIC_DIR/hca3" 2>&1
fabric_client Hca4 trap_client 0 >"$FABRIC_DIR/hca4" 2>&1
fabric_client Hca5 trap_client -n 3 129 >"$FABRIC_DIR/hca5" 2>&1
# ... and what only OpenSM may send
fabric_client Hca2 trap_client 64 66 >"$FABRIC_DIR/hca2" 2>&1

#
# from OpenSM: groups and ports come and go
#
fabric_client Hca6 sa_client -k mc_join,mc_leave -n 2 -t 20 \
	-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sum"
fabric_ibsim_do 'Unlink "Hca8"[1]'
check 'a port goes: trap 65' fabric_wait_for 20 has_trap 65
fabric_ibsim_do 'ReLink "Hca8"[1]'
fabric_wait_for 2 has_trap 64
# ibsim tells of a link that goes, and not of one that comes
kill -s HUP "${FABRIC_SM[sm]}"
check 'a port comes: trap 64' fabric_wait_for 20 has_trap 64

#
# Reports; who ignores them leaves its subscription behind
#
fabric_client Hca5 trap_client -r answer 144 257 >"$FABRIC_DIR/answers" 2>&1
fabric_client Hca6 trap_client -r none 257 >"$FABRIC_DIR/none" 2>&1
fabric_client Hca7 trap_client -r ignore -d 1.5 258 >"$FABRIC_DIR/ignores" 2>&1
fabric_wait_for 20 fabric_recorded sm \
	'.type == "sa" and .method == "Report" and .outcome == "unanswered"'
fabric_opensm_stop sm || diag 'OpenSM did not end well'

check 'every line is a record' fabric_lines "$FABRIC_DIR/sm/trace"
check 'captured is what OpenSM counted' \
	"$FABRIC_LIB/records.py" complete "$FABRIC_DIR/sm/trace"
check 'each capture is in one record' \
	"$FABRIC_LIB/records.py" account "$FABRIC_DIR/sm/trace"

gid=fe80::10:5
far=fe80::10:45
detailed 128 "{\"lid\":$lid}"
for n in 129 130 131; do
	detailed $n "{\"lid\":$lid,\"port\":1}"
done
detailed 144 "{\"lid\":$lid,\"other_local_changes\":true,
	\"new_capability_mask\":\"0x02510a68\",
	\"capability_mask2_change\":false,\"hierarchy_info_change\":false,
	\"sm_priority_change\":false,\"link_speed_enabled_change\":false,
	\"link_width_enabled_change\":false,\"node_description_change\":true,
	\"new_capability_mask2\":\"0x0000\"}"
detailed 145 "{\"lid\":$lid,\"new_system_image_guid\":\"0x5150145014501450\"}"
detailed 256 "{\"lid\":$lid,\"dr_slid\":65535,\"attribute_id\":\"0x0015\",
	\"attribute_modifier\":\"0x00000256\",\"m_key\":\"0x0000000000000000\",
	\"dr_path_truncated\":false,\"dr_hop_count\":0,\"method\":\"Set\",
	\"attribute\":\"PortInfo\",\"dr_return_path\":null}"
detailed 257 "{\"lid1\":$lid,\"lid2\":1,\"p_key\":\"0x00007257\",\"sl\":3,
	\"qp1\":4113,\"qp2\":4114,\"gid1\":\"$gid\",\"gid2\":\"$far\"}"
detailed 258 "{\"lid1\":$lid,\"lid2\":1,\"q_key\":\"0x80010258\",\"sl\":3,
	\"qp1\":4129,\"qp2\":4130,\"gid1\":\"$gid\",\"gid2\":\"$far\"}"
detailed 259 "{\"data_valid\":\"0xffff\",\"lid1\":$lid,\"lid2\":1,
	\"p_key\":\"0x7259\",\"sl\":3,\"qp1\":9617,\"qp2\":9618,
	\"gid1\":\"$gid\",\"gid2\":\"$far\",\"sw_lid\":$lid,\"port\":7}"
is "$(fabric_jq sm 'select(.type == "trap" and .from.name == "Hca3") |
	[.trap_number, .trap_type, .producer, .issuer_lid, .repressed] |
	map(tostring) | join(" ")' | sort)" \
	"$(sort <<-EOF
	128 urgent switch $lid true
	129 urgent ca $lid true
	130 urgent ca $lid true
	131 urgent ca $lid true
	144 informational ca $lid true
	145 informational ca $lid true
	256 security ca $lid true
	257 security ca $lid true
	258 security ca $lid true
	259 security switch $lid true
	EOF
	)" 'type, producer, issuer as sent; OpenSM repressed each'
is "$(fabric_jq sm 'select(.type == "trap" and .generic == false) |
	[.from.name, .device_id, .trap_number] | @csv')" '"Hca4","0x1234",' \
	'a trap of a vendor'
is "$(fabric_jq sm 'select(.type == "trap" and .from.name == "Hca5" and
	.trap_number == 129) | .details.port' | paste -sd,)" 1,1,1 \
	'a trap that comes three times is three records'

is "$(fabric_jq sm 'select(.type == "trap" and .trap_number == (66, 67)) |
	select(.from.name != "Hca2") |
	[.trap_number, .from.lid, .details.mgid] | @csv' | sort)" \
	'66,0,"ff15:a01b:fe80::10:b"
67,0,"ff15:a01b:fe80::10:b"' 'a group that is joined first and left last'
is "$(fabric_jq sm 'select(.type == "trap" and .from.name == "Hca2") |
	.trap_number' | sort | paste -sd,)" 64,66 \
	'who sends traps of OpenSM is named, and nobody takes them for its own'
is "$(fabric_jq sm 'select(.type == "trap" and .trap_number == (64, 65)) |
	select(.from.name != "Hca2") |
	[.trap_number, .from.lid, .details.gid] | @csv' | sort)" \
	'64,0,"fe80::10:f"
65,0,"fe80::10:f"' 'a port that goes and comes'
is "$(fabric_jq sm 'select(.type == "trap" and .trap_number == 128 and
	.issuer_lid == $lid) | .details.lid' --argjson lid "$switch" |
	head -n 1)" "$switch" 'the switch sent trap 128'

is "$(recorded Hca5 answered)" "$(reports answers)" \
	'Reports that are answered are recorded so'
is "$(recorded Hca7 unanswered)" "$(reports ignores)" \
	'Reports that are ignored are unanswered'
is "$(recorded Hca6 failed)" "$(fabric_jq sm 'select(.type == "send_error" and
	.method == "Report" and .peer.name == "Hca6" and
	.completion == "timeout") | "\(.tid[10:]) 257"' | sort)" \
	'Reports that cannot be delivered have failed, by a send error'
check 'which are some' test -n "$(recorded Hca6 failed)" -a \
	-n "$(recorded Hca5 answered)" -a -n "$(recorded Hca7 unanswered)"
is "$(fabric_jq sm 'select(.type == "sa" and
	(.method == "Report") != (.direction == "sent"))')" '' \
	'OpenSM sends Reports and nothing else that asks'
check 'and the log says to whom' fabric_log sm \
	'SNOOP: Report Notice to LID [0-9]* "Hca5"'

# the summary: Reports are no queries, and no subscriber a requester by them
stats=$("$top_builddir/tools/osmsnoop" stats -j "$FABRIC_DIR/sm/trace")
sums()
{
	fabric_jq sm "select(.type == \"sa\" and $1) | .outcome" | sort |
		uniq -c | awk '{ print $2, $1 }' | paste -sd,
}
told()
{
	jq -r "$1 | to_entries[] | select(.value > 0 and (.key |
		IN(\"answered\", \"failed\", \"unanswered\"))) |
		\"\(.key) \(.value)\"" <<<"$stats" | sort | paste -sd,
}
is "$(told .reports)" "$(sums '.direction == "sent"')" \
	'osmsnoop stats counts Reports by themselves'
is "$(told .sa)" "$(sums '.direction != "sent"')" 'and queries without them'
is "$(jq '.queries[] | select(.method == "Report")' <<<"$stats")" '' \
	'nor are they among the queries'
is "$(jq '[.requesters[].requests] | add == $s.sa.requests' \
	--argjson s "$stats" <<<"$stats")" true 'or of a requester'
is "$(jq '.reports.latency_us | has("max")' <<<"$stats")" true \
	'but have a latency of their own'

is "$(fabric_jq sm 'select(.type == "mad" and .class == "SubnDR" and
	((.path // "") | test("^0(,[0-9]+)*$") | not))')" '' \
	'every directed route SMP has its path'
is "$(fabric_jq sm 'select(.class == "SubnDR" and .method == "Get" and
	.attribute == "NodeInfo") | .path' | sort -u | wc -l)" 10 \
	'and there is one to each of 8 hosts and 2 switches'
is "$(fabric_jq sm 'select(.type == "state") | .state' | head -n 5 |
	paste -sd,)" 'sweep_start,sweep_done,sm_state,routing_done,subnet_up' \
	'the first sweep: states in their order'
is "$(fabric_jq sm 'select(.type == "state" and .state == "sm_state") |
	.sm_state' | paste -sd,)" master 'the SM becomes master, once'
is "$(states subnet_up)" "$(subnets_up)" 'each subnet up is recorded'
# one that begins may be cut short by the next
check 'sweeps begin and come to an end' test \
	"$(states sweep_start)" -ge "$(states sweep_done)" -a \
	"$(states sweep_done)" -ge "$(states subnet_up)"

for n in 64 65 66 67 128 131 144 145 256 257 258 259; do
	fabric_log sm "SNOOP: trap $n " || diag "no line of trap $n"
done
is "$(grep -h -i '0256025602560256\|168324604502606422' \
	"$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit" \
	<(grep 'SNOOP: ' "$FABRIC_DIR/sm/opensm.log"))" '' \
	'the M_Key of trap 256 is in no output'

# and is there when it may be shown, so that it was worth looking for
fabric_plugin show keys=show log=all
fabric_opensm show Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07'
fabric_client Hca3 trap_client 256 >"$FABRIC_DIR/hca3" 2>&1
fabric_opensm_stop show
is "$(fabric_jq show 'select(.type == "trap" and .trap_number == 256) |
	.details.m_key')" \
	0x0256025602560256 'with keys=show it is'

fabric_end
