#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The command osmsnoop beside a real OpenSM: what it says of the live stream,
# and of a file that it wrote of the stream, is what the plugin's trace says of
# the same transactions. Then the source kernel, on the double.
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

snoop=${top_builddir:?}/tools/osmsnoop

# transactions FILE: SA's, without what is of the moment. On the wire a MAD is
# filled up; where its AttributeOffset does not say how long the record is
# (errors, InformInfo), nobody knows how long it was where OpenSM handed it over.
transactions()
{
	jq -cS 'select(.type == "sa") | del(.seq, .time, .latency_us) |
		if .status_code != 0 or .attribute == "InformInfo"
		then del(.bytes) else . end' "$1" | sort
}

# mads FILE: all other captures
mads()
{
	jq -cS 'select(.type == "mad" or .type == "send_error") |
		del(.seq, .time, .peer.port_guid, .peer.name)' "$1" | sort
}

# counted FILE: a line a requester, as the columns of top
counted()
{
	jq -rs 'map(select(.type == "sa" and .direction != "sent")) |
		group_by(.requester.lid)[] | [.[0].requester.lid,
			.[0].requester.name, length,
			(map(select(.outcome == "answered")) | length),
			(map(select(.outcome == "unanswered")) | length),
			(map(select(.outcome == "failed")) | length),
			(map(select(.outcome == "answered" and
				.status_code != 0)) | length),
			(map(.retries) | add)] | join(" ")' "$1"
}

same()
{
	diff "$FABRIC_DIR/one" "$FABRIC_DIR/other" | head -n 4
	[ -s "$FABRIC_DIR/one" ] &&
		cmp -s "$FABRIC_DIR/one" "$FABRIC_DIR/other"
}

# latencies FILE: of each transaction, by who and TID
latencies()
{
	jq -r 'select(.type == "sa" and .latency_us != null) |
		"\(.requester.lid) \(.tid) \(.latency_us)"' "$1" | sort
}

# alike: a microsecond may be rounded another way
alike()
{
	paste "$FABRIC_DIR/one" "$FABRIC_DIR/other" | awk '
		$1 != $4 || $2 != $5 || $3 - $6 > 1 || $6 - $3 > 1 {
			print
			bad++
		}
		END { exit bad || !NR }'
}

fabric_begin
fabric_clients
fabric_net 40 2
fabric_ibsim
sock=$FABRIC_DIR/sm/sock
# a transaction that began before the reader came is known to the trace alone
fabric_plugin sm unanswered=2 capture="$FABRIC_DIR/sm/capture"
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0'
# names are looked up every second
sleep 2.2
cp "$FABRIC_DIR/sm/trace" "$FABRIC_DIR/before"
"$snoop" -i "$sock" -j >"$FABRIC_DIR/live" 2>"$FABRIC_DIR/live.err" &
live=$!
"$snoop" -i "$sock" -w "$FABRIC_DIR/file" 2>"$FABRIC_DIR/file.err" &
file=$!
"$snoop" top -b -d 3600 -s lid -i "$sock" >"$FABRIC_DIR/top" \
	2>"$FABRIC_DIR/top.err" &
top=$!
FABRIC_PIDS+=("$live" "$file" "$top")
sleep 1

fabric_client Hca3 sa_client -k mixed -n 500 -w 4 -t 30 \
	-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sum"
fabric_client Hca4 saquery -p --slid 4 --dlid 1 >"$FABRIC_DIR/saquery" 2>&1
fabric_client Hca5 saquery -m >>"$FABRIC_DIR/saquery" 2>&1
fabric_client Hca6 saquery --smkey 0x66 -N \
	>>"$FABRIC_DIR/saquery" 2>&1
# lines come while it waits for more
fabric_wait_for 10 grep -q '"outcome":"unanswered"' "$FABRIC_DIR/live"
check 'OpenSM ends' fabric_opensm_stop sm
wait "$live"
is $? 0 'the stream ends well for who shows it'
wait "$file"
is $? 0 'and for who writes it'
wait "$top"
is $? 0 'and for who counts it'
diag "$(cat "$FABRIC_DIR/live.err" "$FABRIC_DIR/file.err" "$FABRIC_DIR/top.err")"

# what came after the readers did
comm -13 <(transactions "$FABRIC_DIR/before") \
	<(transactions "$FABRIC_DIR/sm/trace") >"$FABRIC_DIR/one"
transactions "$FABRIC_DIR/live" >"$FABRIC_DIR/other"
diag "$(wc -l <"$FABRIC_DIR/one") transactions"
check 'live, the transactions are those of the trace' same
"$snoop" -r "$FABRIC_DIR/file" -j >"$FABRIC_DIR/offline" 2>/dev/null
transactions "$FABRIC_DIR/offline" >"$FABRIC_DIR/other"
check 'offline, the transactions are those of the trace' same
counted "$FABRIC_DIR/live" >"$FABRIC_DIR/one"
awk '/^ *[0-9]+ Hca/ { print $1, $2, $4, $6, $7, $8, $9, $10 }' \
	"$FABRIC_DIR/top" >"$FABRIC_DIR/other"
check 'top counts these transactions, by requester' same
latencies "$FABRIC_DIR/offline" >"$FABRIC_DIR/other"
latencies "$FABRIC_DIR/sm/trace" >"$FABRIC_DIR/all"
join -j 1 <(sed 's/ /:/' "$FABRIC_DIR/all" | sort) \
	<(sed 's/ /:/' "$FABRIC_DIR/other" | sort) |
	awk '{ split($1, k, ":"); print k[1], k[2], $2 }' | sort \
	>"$FABRIC_DIR/one"
check 'and so are their latencies' alike
mads "$FABRIC_DIR/live" >"$FABRIC_DIR/one"
mads "$FABRIC_DIR/offline" >"$FABRIC_DIR/other"
check 'other MADs are the same live and offline' same
is "$(jq -r 'select(.reason == "sm_key") | .requester.name' \
	"$FABRIC_DIR/offline" | sort -u)" Hca6 \
	'who used a wrong SM_Key is told by name, offline too'
# shellcheck disable=SC2016 # jq's
is "$(jq -s 'map(.seq) == [range(1; length + 1)]' "$FABRIC_DIR/live")" true \
	'seq has no gaps'

# The summary of the trace is that of the capture, but for what OpenSM did, and
# a microsecond here and there.
sums()
{
	"$snoop" stats -j "$FABRIC_DIR/sm/$1" | jq -S '
		del(.files, .records, .types, .first, .last) |
		del(.. | .latency_us?) |
		del(.traps[] | select(.trap_number < 68))'
}
near()
{
	local trace capture

	trace=$("$snoop" stats -j "$FABRIC_DIR/sm/trace" |
		jq -c '[.queries[] | .latency_us.p50, .latency_us.p99]')
	capture=$("$snoop" stats -j "$FABRIC_DIR/sm/capture" |
		jq -c '[.queries[] | .latency_us.p50, .latency_us.p99]')
	diag "p50, p99: $trace $capture"
	jq -en --argjson a "$trace" --argjson b "$capture" '
		($a | length) > 4 and ($a | length) == ($b | length) and
		([range($a | length) as $i | ($a[$i] // 0) - ($b[$i] // 0) |
			fabs <= 1 + ($a[$i] // 0) / 16] | all)'
}
sums trace >"$FABRIC_DIR/one"
sums capture >"$FABRIC_DIR/other"
check 'osmsnoop stats: the same of trace and capture' same
check 'which is something' jq -e '.sa.requests > 500 and
	.reasons.sm_key == 1 and (.requesters | map(.name) | index("Hca6"))
	and .sa.errors > 0' "$FABRIC_DIR/one"
check 'and the latencies are near' near

# whoever asks the plugin's tshark test, asks tshark of this file, too
if command -v tshark >/dev/null; then
	is "$(tshark -r "$FABRIC_DIR/file" -Y _ws.malformed 2>/dev/null)" '' \
		'tshark finds no packet malformed'
else
	skip 'tshark finds no packet malformed' 'no tshark'
fi
fabric_ibsim_stop

# Source kernel: the double knows what passes in a process of its own alone, so
# that there is nothing to see; it opens, waits, and ends when it is told to.
# shellcheck disable=SC2119 # no words: as it is
fabric_double
fabric_net 8
fabric_ibsim
fabric_client_bg Hca2 "$snoop" -i kernel:ibsim0:1 \
	>"$FABRIC_DIR/kernel.out" 2>"$FABRIC_DIR/kernel.err"
sleep 1.5
kill -s INT "$FABRIC_CLIENT_PID"
wait "$FABRIC_CLIENT_PID"
is $? 0 'source kernel: it ends well'
is "$(cat "$FABRIC_DIR/kernel.out" "$FABRIC_DIR/kernel.err")" \
	'0 captured, 0 shown, 0 lost' 'source kernel: it says so'
fabric_end
