#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Source kernel, on the double of a kernel that has the snoop registration
# (tests/double): what it shows of one run of the real OpenSM is what the tap
# shows. Three plugins look at it: osmsnoop with source kernel, a copy of it
# with source tap, and both_plugin, which writes the bytes.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

fabric_begin
fabric_clients
fabric_net 512
# shellcheck disable=SC2119 # no words: as it is
fabric_double
fabric_ibsim
out=$FABRIC_DIR/out
mkdir "$out" "$FABRIC_DIR/plugins"
patience=2

# OpenSM loads a plugin once, and the options of both are on one line: the copy
# has another file's name, and another prefix of the same length
plugin=$(cd "${top_builddir:?}/plugin/.libs" && pwd)/libosmsnoop.so
sed 's/osmsnoop\./osmsnoo2./g' "$plugin" >"$FABRIC_DIR/plugins/libosmsnoo2.so"
fabric_compile rmpp_client "$FABRIC_LIB/../clients/umad_client.c" -libumad
fabric_compile both_plugin.so -D_GNU_SOURCE -shared -fPIC \
	-I"$FABRIC_LIB/../../include" \
	-isystem "${OPENSM_INCLUDEDIR:-/usr/include/infiniband}" \
	-L"$top_builddir/vendor/.libs" -losmvendor_snoop
mv "$FABRIC_DIR/bin/both_plugin.so" "$FABRIC_DIR/plugins/libboth_plugin.so"
export LD_LIBRARY_PATH=$FABRIC_DIR/plugins:$LD_LIBRARY_PATH

# start NAME [SOURCE [ARGUMENT...]]: OpenSM with the three of them
start()
{
	dir=$FABRIC_DIR/$1
	mkdir -p "$dir"
	export BOTH_OUT=$dir/both
	fabric_opensm "$1" Hca1 \
		-c 'event_plugin_name osmsnoop osmsnoo2 both_plugin' \
		-c "event_plugin_options osmsnoop.source=${2:-kernel} osmsnoop.listen=none osmsnoop.trace=$dir/trace osmsnoop.unanswered=$patience osmsnoo2.source=tap osmsnoo2.listen=none osmsnoo2.trace=$dir/trace2 osmsnoo2.unanswered=$patience" \
		-c 'log_flags 0x07' -c 'sweep_interval 0' "${@:3}"
	# until the names are known, which are looked up every second
	sleep 2.2
}

# sa TRACE: its transactions, without times and in some order
sa()
{
	jq -cS 'select(.type == "sa") | del(.seq, .time, .latency_us)' "$1" |
		sort
}

# bytes SOURCE: what it delivered, without the number of segments; what is
# shorter than a MAD is one on the wire. The Q_Key of what was sent is not what
# OpenSM's buffer has, which is that of the request, so none: user_mad.c tells
# no Q_Key of what was received. osm_vendor_send() always takes QP 1's.
bytes()
{
	awk -v source="$1" '{
		hex = $17
		if ($5 < 256)
			hex = hex sprintf("%0" (2 * (256 - $5)) "d", 0)
		if (source == "tap" && $1 == "sent")
			$9 = "80010000"
		print $1, $2, $3, $4, $5 < 256 ? 256 : $5, $7, $8, $9, $10,
		      $11, $12, $13, $14, $15, $16, hex
	}' "$dir/both.$1" | sort
}

# on_the_wire: whether what was sent with RMPP is there as it was sent: MADs of
# 256 bytes, the data of as many as the messages have, and the others' ACKs
on_the_wire()
{
	local sent want

	awk '$5 != 256 || $6 != 1 || length($17) != 512 { print; bad = 1 }
	     END { exit bad || !NR }' "$dir/both.wire" || return 1
	# method GetTableResp is byte 3, RMPPType byte 25; segments that were
	# sent again are equal
	sent=$(awk '$1 == "sent" && substr($17, 51, 2) == "01"' \
		"$dir/both.wire" | sort -u | wc -l)
	want=$(awk '$1 == "sent" && substr($17, 7, 2) == "92" { n += $6 }
		END { print n }' "$dir/both.kernel")
	echo "segments: $sent, of messages: $want"
	[ "$sent" = "$want" ] &&
		awk '$1 == "received" && substr($17, 51, 2) == "02"' \
			"$dir/both.wire" | grep -q .
}

same()
{
	diff "$1" "$2" >"$out/diff" || {
		cut -c1-300 "$out/diff" | head -n 20
		return 1
	}
}

start sm
is "$(jq -r 'select(.type == "start").source' "$dir/trace" "$dir/trace2" |
	paste -sd' ')" 'kernel tap' 'one has source kernel, the other the tap'
for i in 2 3 4; do
	fabric_client "Hca$i" timeout -s KILL 60 saquery -t 30000 -N \
		>"$out/nodes.$i" 2>&1
	is "$(grep -c NodeDescription "$out/nodes.$i")" "$FABRIC_NODES" \
		"saquery on Hca$i lists 512 hosts and the switches"
done
fabric_client Hca5 timeout -s KILL 60 saquery -t 30000 -x >"$out/links" 2>&1
fabric_client Hca6 timeout -s KILL 60 saquery -t 30000 -g >"$out/groups" 2>&1
fabric_client Hca7 timeout 60 sa_client -n 400 -w 8 -t 20 -o "$out/sa" \
	2>"$out/sa.sum"
diag "$(cat "$out/sa.sum")"
fabric_client Hca8 timeout 60 sa_client -k mc_join,mc_leave -n 20 -t 20 \
	-o "$out/mc" 2>"$out/mc.sum"
# with a GRH and a service level
fabric_client Hca10 timeout 60 "$FABRIC_DIR/bin/rmpp_client" -g table >"$out/grh" 2>&1
fabric_client Hca9 timeout 20 saquery --smkey 0x1234 -N -t 500 \
	>"$out/key" 2>&1
sleep 3
fabric_opensm_stop sm

check 'every line of both traces is a record' \
	fabric_lines "$dir/trace"
check 'of the tap, too' fabric_lines "$dir/trace2"
sa "$dir/trace" >"$out/sa.kernel"
sa "$dir/trace2" >"$out/sa.tap"
diag "$(wc -l <"$out/sa.tap") transactions"
check 'both have the same transactions' same "$out/sa.tap" "$out/sa.kernel"
check 'which are many' test "$(wc -l <"$out/sa.tap")" -gt 420
is "$(jq -r 'select(.type == "sa" and .attribute == "NodeRecord" and
	.records == $n) | .records' --argjson n "$FABRIC_NODES" "$dir/trace" |
	wc -l)" 4 \
	'the tables of 512 hosts among them'
bytes tap >"$out/bytes.tap"
bytes kernel >"$out/bytes.kernel"
check 'and every MAD of the SA is the same, byte for byte' \
	same "$out/bytes.tap" "$out/bytes.kernel"
check 'many of which were segments' \
	test "$(awk '$6 > 250' "$dir/both.kernel" | wc -l)" -ge 3
check 'without OSM_SNOOP_REASSEMBLE each is a MAD of its own' on_the_wire
is "$(jq -r 'select(.type == "stop").complete' "$dir/trace" "$dir/trace2" |
	paste -sd' ')" 'true true' \
	'and both have captured what OpenSM counted'
is "$(jq -r 'select(.type == "loss")' "$dir/trace" "$dir/trace2")" '' \
	'nothing was lost'

#
# the same, where one in ten segments and ACKs is lost and one in ten is twice
#
fabric_double drop=10 drop_ack=10 repeat=10 ack_ms=30
# a lost segment costs 30 ms: whole tables take longer than they do above
patience=30
start lossy kernel -c 'transaction_retries 30'
pids=()
for i in 2 3 4; do
	for j in 1 2; do
		fabric_client "Hca$i" timeout -s KILL 60 saquery -t 30000 -N \
			>"$out/lossy.$i.$j" 2>&1
	done &
	pids+=($!)
done
for i in 5 6; do
	fabric_client "Hca$i" timeout 60 sa_client -n 300 -w 8 -t 20 \
		-o "$out/lossy.$i" 2>"$out/lossy.$i.sum" &
	pids+=($!)
done
wait "${pids[@]}"
diag "$(cat "$out"/lossy.*.sum)"
is "$(cat "$out"/lossy.[234].[12] | grep -c NodeDescription)" \
	$((6 * FABRIC_NODES)) 'lossy: six times saquery lists all nodes'
sleep 1
fabric_opensm_stop lossy
sa "$dir/trace" >"$out/sa.kernel"
sa "$dir/trace2" >"$out/sa.tap"
check 'lossy: both have the same transactions' \
	same "$out/sa.tap" "$out/sa.kernel"
check 'lossy: which are many' test "$(wc -l <"$out/sa.tap")" -gt 600
for i in trace trace2; do
	is "$(jq -r 'select(.type == "sa" and .attribute == "NodeRecord" and
		.records == $n) | .records' --argjson n "$FABRIC_NODES" \
		"$dir/$i" | wc -l)" 6 \
		"lossy: the six tables with all records in $i"
done
bytes tap >"$out/bytes.tap"
bytes kernel >"$out/bytes.kernel"
check 'lossy: without OSM_SNOOP_REASSEMBLE each is a MAD of its own' \
	on_the_wire
check 'lossy: some were sent again' test "$(grep ^sent "$dir/both.wire" |
	sort | uniq -d | wc -l)" -gt 100
check 'lossy: and every MAD is the same' \
	same "$out/bytes.tap" "$out/bytes.kernel"
is "$(jq -r 'select(.type == "loss")' "$dir/trace" "$dir/trace2")" '' \
	'lossy: nothing was lost on the way to the trace'
fabric_double

#
# auto: the kernel, where it takes the registration
#
start auto auto
is "$(jq -r 'select(.type == "start").source' "$dir/trace")" kernel \
	'auto is the kernel'
fabric_opensm_stop auto
OSMSNOOP_DOUBLE=snoop=refuse start refused auto
is "$(jq -r 'select(.type == "start").source' "$dir/trace")" tap \
	'where that refuses, auto is the tap'
is "$(grep -c 'SNOOP: source tap is used; .*kernel: ' \
	"$FABRIC_DIR/refused/opensm.log")" 1 'which the log says in one line'
fabric_opensm_stop refused
OSMSNOOP_DOUBLE=snoop=refuse start never
is "$(jq -r 'select(.type == "start").source' "$dir/trace" "$dir/trace2" \
	2>/dev/null)" tap 'kernel alone is not loaded then'
check 'and the log says why, and what to do' fabric_log never \
	'ERR 5D07: not loaded: .*source tap'
fabric_opensm_stop never

#
# a kernel whose queue is full loses in silence: OpenSM's own counters tell
#
OSMSNOOP_DOUBLE=queue=20 start full
fabric_client Hca7 timeout 60 sa_client -n 20000 -w 60 -t 20 -o "$out/full" \
	2>"$out/full.sum"
diag "$(cat "$out/full.sum")"
sleep 1
fabric_opensm_stop full
check 'a queue of 20: the traces are whole' fabric_lines "$dir/trace"
lost=$(jq -s 'map(select(.type == "loss" and .where == "kernel").lost) | add' \
	"$dir/trace")
diag "lost $lost"
check 'a queue of 20: what was lost is told' test "${lost:-0}" -gt 0
is "$(jq -r 'select(.type == "sa" and .outcome == "unanswered" and
	.capture_lost != true) | .outcome' "$dir/trace" | wc -l)" 0 \
	'and no silence is laid to OpenSM'

fabric_end
