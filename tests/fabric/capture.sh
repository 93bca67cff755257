#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The capture file of a real OpenSM, read by the real tshark: sweeps of 512
# hosts, every query that saquery has with its RMPP tables, multicast, traps,
# osmtest, smpquery, a GRH. Nothing is malformed, each MAD that OpenSM counted
# is there once, keys are hidden or shown, names are told once.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# shellcheck source=tests/fabric/traffic.sh
. "$FABRIC_LIB/traffic.sh"

traffic_begin
traffic_large

# What is looked at: the name here, and tshark's field.
columns=(
	number:frame.number malformed:_ws.malformed remark:_ws.expert.message
	sent:erf.flags.cap cut:erf.flags.trunc lost:erf.lctr extension:erf.ehdr.types
	vl:infiniband.lrh.vl slid:infiniband.lrh.slid dlid:infiniband.lrh.dlid
	sgid:infiniband.grh.sgid dgid:infiniband.grh.dgid
	dqp:infiniband.bth.destqp sqp:infiniband.deth.srcqp
	class:infiniband.mad.mgmtclass method:infiniband.mad.method
	attribute:infiniband.mad.attributeid
	tid:infiniband.mad.transactionid type:infiniband.rmpp.rmpptype
	segment:infiniband.rmpp.segmentnumber flags:infiniband.rmpp.rmppflags
	payload:infiniband.rmpp.payloadlength
	trap:infiniband.notice.trapnumberdeviceid
	sm_key:infiniband.sa.smkey m_key:infiniband.smplid.mkey
	port_m_key:infiniband.portinfo.m_key
)

# read_capture: what tshark says of each packet, a line each
read_capture()
{
	local column args=()

	names=
	for column in "${columns[@]}"; do
		args+=(-e "${column#*:}")
		names+="${column%%:*} = \$$((${#args[@]} / 2)); "
	done
	tshark -n -r "$capture" -T fields -E separator=/t "${args[@]}" \
		>"$out/packets" 2>"$out/tshark.err" || cat "$out/tshark.err"
}

# pick CONDITION EXPRESSION: of awk, of each packet for which it holds. Numbers
# of MADs are tshark's, "0x03"; later is whether it is a segment behind the first
pick()
{
	awk -F '\t' "{
		$names
		later = segment != \"\" && segment \"\" > \"0x00000001\"
	} $1 { print $2 }" "$out/packets"
}

# packets CONDITION: how many
packets()
{
	pick "$1" 1 | wc -l
}

# values CONDITION EXPRESSION: which there are
values()
{
	pick "$@" | sort -u | paste -sd' '
}

# bytes HEX: how often these bytes are in the file
bytes()
{
	local i pattern=

	for ((i = 0; i < ${#1}; i += 2)); do
		pattern+="\\x${1:i:2}"
	done
	LC_ALL=C grep -aoP "$pattern" "$capture" | wc -l
}

# captured MEMBER: what the stop record says, and OpenSM's counters with it
captured()
{
	fabric_jq sm "select(.type == \"stop\").captured.$1"
}

#
# Where tshark 4.0 is mistaken. It takes each segment of a table for the
# beginning of a record, and remarks on what it takes for a NodeDescription when
# there is more text behind its end: on exactly those segments where there is.
# And it reads a GID of two bytes in trap 259, whatever the trap comes in.
#
mistaken='attribute == "0x0011" && later'
mistaken_trap='trap == "0x0103"'

well_formed()
{
	is "$(packets "malformed != \"\" && !($mistaken_trap)")" 0 \
		"$1: tshark finds nothing malformed"
	is "$(packets "remark != \"\" && !cut && !($mistaken_trap) && !($mistaken)")" \
		0 "$1: nor anything to remark, but where a message is cut"
	is "$(packets 'class == ""')" 0 "$1: it sees a MAD in each packet"
	is "$(values "remark != \"\" && !cut && ($mistaken)" remark)" \
		'Trailing stray characters' \
		"$1: but for segments that begin within a record"
}

# each segment after another, from First to Last, as long as they say; prints
# how many messages of more than one there are
segments()
{
	pick 'type == "0x01"' 'dlid, tid, segment, flags, payload' |
		python3 -c '
import sys
begun, many = {}, 0
for line in sys.stdin:
    lid, tid, *numbers = line.split()
    number, flags, length = (int(n, 16) for n in numbers)
    at, total = begun.pop((lid, tid), (0, length))
    if number != at + 1 or bool(flags & 2) != (number == 1):
        sys.exit("no next segment: " + line)
    if not flags & 4:
        begun[lid, tid] = number, total
        continue
    many += number > 1
    if total != (number - 1) * 220 + length:
        sys.exit("PayloadLength: " + line)
if begun:
    sys.exit(f"no Last: {begun}")
print(many, "messages of more than one segment")'
}

# counted NAME: what is in the file is what OpenSM counted
counted()
{
	local way class kind

	for way in received sent; do
		for kind in sm sa; do
			class='class == "0x03"'
			[ $kind = sa ] ||
				class='(class == "0x01" || class == "0x81")'
			is "$(packets "sent == $((${#way} == 4)) && $class && !later")" \
				"$(captured ${kind}_$way)" \
				"$1: each MAD of the ${kind^^} that was $way, once"
		done
	done
	is "$(fabric_jq sm 'select(.type == "stop") | .complete, .lost' |
		paste -sd' ')" 'true 0' "$1: which are those that OpenSM counted"
	is "$(values 1 lost)" 0 "$1: no packet says that any is lost"
}

for source in tap kernel; do
	traffic_start $source snaplen=0 source=$source
	traffic_tables $source
	lid=$(fabric_lid Hca3)
	fabric_opensm_stop sm || diag 'OpenSM did not end well'

	check "$source: tshark reads it" read_capture
	well_formed $source
	counted $source
	check "$source: segments are numbered, from First to Last" segments
	diag "$(cat "$FABRIC_DIR/check")"
	is "$(pick 'method == "0x92" && !later' attribute | sort -u | wc -l)" \
		15 "$source: tables of 15 attributes"

	is "$(values 'class == "0x03" && sent' slid) $(
		values 'class == "0x03" && !sent' dlid)" '1 1' \
		"$source: from and to OpenSM"
	is "$(packets "slid == $lid && !sent") $(
		packets "dlid == $lid && sent")" '400 400' \
		"$source: a query and an answer for each of 400"
	is "$(values 'class == "0x81"' 'vl, slid, dlid, dqp, sqp')" \
		'0x0f 65535 65535 0x000000 0x00000000' \
		"$source: directed routes are on VL 15, QP 0, permissive LIDs"
	is "$(packets 'sgid != "" && !sent') $(
		packets 'sgid != "" && sent') $(
		values 'sgid != "" && sent' 'sgid, dgid')" \
		"1 $(((FABRIC_NODES * 112 + 199) / 200)) $(
		values 'sgid != "" && !sent' 'dgid, sgid')" \
		"$source: the GRH of the query, and of each segment of its answer"

	# the type is that of names (mad/erf.c)
	is "$(pick "(slid == $lid || dlid == $lid) && extension != \"\"" \
		'slid, extension')" "$lid 98,98" \
		"$source: the name of a LID is told once, with its first packet"

	is "$(values 'sm_key != ""' sm_key) $(values 'm_key != ""' m_key) $(
		values 'port_m_key != "" && class == "0x81"' port_m_key)" \
		'0x0000000000000000 0x0000000000000000 0x0000000000000000' \
		"$source: tshark shows no key"
	is "$(bytes $m_key) $(bytes $sm_key)" '0 0' \
		"$source: nor are they anywhere in the file"
done
traffic_large_end

#
# keys=show, and what takes a smaller fabric
#
traffic_small
traffic_start shown keys=show
traffic_changes show
fabric_opensm_stop sm || diag 'OpenSM did not end well'
check 'show: tshark reads it' read_capture
well_formed show
counted show
is "$(values 'trap != ""' trap | wc -w)" 10 'show: ten traps'
check 'show: the SM_Keys of queries are there' \
	test "$(packets "sm_key == \"0x$sm_key\" && !sent")" -ge 16
check 'show: the M_Keys of PortInfo are there' \
	test "$(packets "port_m_key == \"0x$m_key\" && sent")" -gt 10

#
# rotation: files that are read one by one
#
traffic_start turned max_bytes=1M max_files=100
lid=$(fabric_lid Hca3)
check 'rotation: 8000 queries' fabric_client Hca3 timeout 60 sa_client \
	-k path -n 8000 -r 4000 -w 8 -t 20 -o "$out/sa"
fabric_opensm_stop sm || diag 'OpenSM did not end well'
files=0 found=0 named=0
for capture in "$FABRIC_DIR"/turned.pcap*; do
	files=$((files + 1))
	check "rotation: tshark reads ${capture##*/}" read_capture
	found=$((found + $(packets 'malformed == "" && remark == ""')))
	n=$(packets "slid == $lid && extension != \"\"")
	check "rotation: ${capture##*/} has the name of a LID once, if at all" \
		test "$n" -le 1
	named=$((named + n))
done
# not one that was begun when all its packets were waiting for it
check 'rotation: and most have it' test $named -gt 2
check 'rotation: several files' test $files -gt 4
is $found "$(fabric_jq sm 'select(.type == "stop").captured | add')" \
	'rotation: each MAD is in one of them'

fabric_end
