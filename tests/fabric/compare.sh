#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What tshark and osmsnoop say of the same capture file of a real OpenSM: of
# every MAD in it the fields that both show agree (compare.py), and each MAD is
# in one record.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/fabric/traffic.sh
. "$FABRIC_LIB/traffic.sh"

snoop=${top_builddir:?}/tools/osmsnoop
declare -A C=()

# compare: ${C[...]} are then the numbers of compare.py
compare()
{
	local key value rc=0

	"$FABRIC_LIB/compare.py" "$snoop" "$capture" >"$out/compare" || rc=1
	C=()
	while IFS='=' read -r key value; do
		C[$key]=$value
	done <"$out/compare"
	return "$rc"
}

# least NAME NUMBER FIELD...: so many of each agree, at least
least()
{
	local name=$1 number=$2 field few=

	shift 2
	for field; do
		[ "${C[agree_$field]:-0}" -ge "$number" ] ||
			few+=" $field ${C[agree_$field]:-0}"
	done
	is "$few" '' "$name: $number or more of $*"
}

# compared NAME: the same in every file
compared()
{
	local name=$1 stop

	check "$name: the fields that both show agree" compare
	is "${C[missed]:-}" 0 "$name: each MAD is in a record"
	# packets would not be missed where none was written
	stop=$(fabric_jq sm 'select(.type == "stop") |
		"\(.captured | add) \(.lost)"')
	is "${C[mads]:-} 0" "$stop" "$name: all of them were captured"
	diag "$name: ${C[packets]} packets, ${C[agree]} fields agree," \
		"${C[within]:-0} segments begin within a record"
	# of every MAD, in the record's own words
	least "$name" "${C[mads]}" status lid qpn
	least "$name" $((C[mad] + C[sa])) class method tid attribute_id \
		attribute_modifier
	least "$name" "${C[sa]}" component_mask sm_key rmpp_type rmpp_status
}

traffic_begin
traffic_large
for source in tap kernel; do
	traffic_start $source snaplen=0 source=$source
	traffic_tables $source
	fabric_opensm_stop sm || diag 'OpenSM did not end well'
	compared $source
	is "$(grep -c ^malformed "$out/compare")" 0 \
		"$source: nothing is malformed"
	# a table of all nodes, by 112 bytes
	segments=$(((FABRIC_NODES * 112 + 199) / 200))
	least $source $((segments * 10)) rmpp_type segment rmpp_flags \
		status_code
	least $source $segments gid
	least $source 11 payload_length bytes segments latency
	# 400 queries with their answers, and the tables
	least $source 400 sgid_35 dgid_35 slid_35 dlid_35 p_key_35
	least $source 10000 path hop_count dr_slid m_key completion direction
done
traffic_large_end

traffic_small
declare -A snaplen=([show]=0 [hide]=1024)
for keys in show hide; do
	# long answers whole, and cut as they are by default
	traffic_start $keys keys=$keys snaplen="${snaplen[$keys]}"
	traffic_changes $keys
	fabric_opensm_stop sm || diag 'OpenSM did not end well'
	compared $keys
	# tests/fabric/capture.sh: tshark's mistake; the trap and what represses it
	is "$(grep ^malformed "$out/compare")" malformed_259=2 \
		"$keys: nothing is malformed but trap 259"
	least $keys 12 trap_number trap_type issuer_lid producer generic
	check "$keys: Reports are among them" test "${C[reports]}" -ge 2
	# two rounds of what sa_client asks: joins, queries, leaves
	least $keys 10 mgid_38 port_gid_38 join_state_38 scope_38 p_key_38
	least $keys 5 mlid_38 q_key_38 sgid_35 dgid_35 slid_35 dlid_35 p_key_35
done

fabric_end
