#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# osmsnoop stats: traces and captures, told apart by what is in them; what is
# cut, corrupt or something else.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"

for format in 0 1 2 3 4 5 6; do
	"$make_capture" $format >"$tmp/story$format"
done
story=$tmp/story0
trace=$tmp/trace
"$snoop" -r "$story" -j >"$trace" 2>/dev/null
"$make_capture" many 20000 >"$tmp/many"

# wrong WHAT PATTERN ARGUMENT...
wrong()
{
	local what=$1 pattern=$2
	shift 2
	run stats "$@"
	is "$what: exit 2" 2 "$rc"
	has "$what: it is named" "$pattern" "$err"
}
wrong "no file" "which file?"
wrong "unknown option" "invalid option -- 'y'" -y "$story"
wrong "-t x" "-t: 'x' is no number" -t x "$story"
wrong "-s -1" "-s: '-1' is no number of seconds" -s -1 "$story"
wrong "-s 1000000" "up to 86400" -s 1000000 "$story"
wrong "-e nix" "'nix' does not belong here" -e nix "$story"
wrong "-e: its place" "^ *^~~$" -e 'lid 7 nix' "$story"
run stats --help
is "--help: exit 0" 0 "$rc"
has "--help: usage" "^usage: osmsnoop stats" "$out"

# text
run stats "$story"
is "a capture: exit 0" 0 "$rc"
is "a capture: nothing on standard error" "" "$err"
has "a capture: MADs" '^1 capture, 27 MADs$' "$out"
has "a capture: what was lost" '^3 captures or records were lost$' "$out"
has "a capture: queries" \
	'^  GetTable NodeRecord  *2  *1  *1  *0  *0  *0  *0  *20  *77  *77  *77  *77$' \
	"$out"
has "a capture: a status" '^  ERR_NO_RECORDS  *1$' "$out"
has "a capture: why there was no answer" '^  sm_key  *1$' "$out"
has "a capture: a trap" '^  144 local changes  *1$' "$out"
has "a capture: a requester" '^  7 "node07 HCA-1"  *2 ' "$out"
has "a capture: names are escaped" '^  8 "eight\\u001b\[2J" ' "$out"
has "a capture: other MADs" '^  SubnDR GetResp NodeInfo  *1  *0  *0$' "$out"
capture_out=$out
run stats "$trace"
is "a trace: exit 0" 0 "$rc"
is "a trace: the same" "$(tail -n +2 <<<"$capture_out")" \
	"$(tail -n +2 <<<"$out")"
mv "$trace" "$tmp/trace.pcap"
mv "$story" "$tmp/story.jsonl"
run stats "$tmp/trace.pcap" "$tmp/story.jsonl"
is "names say nothing: exit 0" 0 "$rc"
has "names say nothing" '^1 trace, 13 lines$' "$out"
has "both are summed up" '^12 SA requests' "$out"
mv "$tmp/trace.pcap" "$trace"
mv "$tmp/story.jsonl" "$story"
for file in "$trace" "$story"; do
	run stats "$file"
	is "standard input is the same as ${file##*/}" "$out" \
		"$("$snoop" stats - <"$file" 2>&1)"
	is "a pipe is the same as ${file##*/}" "$out" \
		"$({ head -c 5 "$file"; sleep 0.2; tail -c +6 "$file"; } |
			"$snoop" stats - 2>&1)"
done
run stats -t 2 "$story"
has "-t" '^  (and 3 more)$' "$out"
run stats -e 'lid 7' "$story"
has "-e" '^2 SA requests' "$out"
run stats --expression 'status error' "$trace"
has "-e, of a trace" '^1 SA requests' "$out"
printf '0x10000d "from the map"\n' >"$tmp/map"
run stats --node-name-map "$tmp/map" "$story"
has "a node name map" '^  7 "from the map" ' "$out"

# repeats
run stats "$tmp/many"
has "repeats" '^0 retries .* 19000 repeated' "$out"
run stats -s 0 "$tmp/many"
has "-s 0" '^0 retries .* 0 repeated' "$out"

# JSON
if command -v jq >/dev/null; then
	for format in 0 1 4 6; do
		run stats -j "$tmp/story$format"
		is "JSON of format $format" '6 2 "ERR_NO_RECORDS" 20' \
			"$(jq -r '"\(.sa.requests) \(.sa.unanswered) \(.statuses[1].status | tojson) \(.queries[0].records)"' \
			"$tmp/out")"
	done
	"$snoop" stats -j "$story" | jq -S 'del(.files)' >"$tmp/1"
	"$snoop" stats -j "$trace" | jq -S 'del(.files)' >"$tmp/2"
	is "JSON of a trace is that of its capture" "" \
		"$(diff "$tmp/1" "$tmp/2")"
	# each key stands in osmsnoop(1)
	is "keys are documented" "" "$("$snoop" stats -j "$story" |
		jq -r 'del(.types[], .reasons[]) | [paths | map(select(type == "string"))[-1] // empty] |
			unique | .[]' | while read -r key; do
			grep -q "^\.It Cm .*\b$key\b" \
				"$top_srcdir/man/osmsnoop.1" || echo "$key"
		done)"
	# percentiles against exact ones, of what -j says of each
	"$snoop" -r "$tmp/many" -j 2>/dev/null |
		jq -s -c 'map(.latency_us) | sort | . as $l |
			[50, 90, 99, 100] | map($l[(. * ($l | length) / 100 |
				ceil) - 1])' >"$tmp/exact"
	"$snoop" stats -j "$tmp/many" | jq -c '.sa.latency_us |
		[.p50, .p90, .p99, .max]' >"$tmp/told"
	is "percentiles are at most 1/32 too high" true "$(jq -s '. as $a |
		[range(4)] | map($a[1][.] >= $a[0][.] and
			$a[1][.] <= $a[0][.] * 33 / 32) | all' \
		"$tmp/exact" "$tmp/told")"
	is "the maximum is exact" "$(jq '.[3]' "$tmp/exact")" \
		"$(jq '.[3]' "$tmp/told")"
else
	skip "JSON" "no jq"
fi

# A rotation goes through a transaction: file header, then half of it.
size=$(stat -c %s "$tmp/many")
record=$(((size - 24) / 40000))
is "all packets have one size" 24 $((size - 40000 * record))
head -c $((24 + 19999 * record)) "$tmp/many" >"$tmp/many.1"
{ head -c 24 "$tmp/many"; tail -c +$((24 + 19999 * record + 1)) "$tmp/many"; } \
	>"$tmp/many.0"
run stats "$tmp/many"
whole=$(tail -n +2 <<<"$out")
run stats "$tmp/many.1" "$tmp/many.0"
is "files that go on: as one" "$whole" "$(tail -n +2 <<<"$out")"
run stats "$tmp/many.0" "$tmp/many.1"
has "files in another order: the answer came before its request" \
	'^  unknown  *1$' "$out"

# what cannot be read
: >"$tmp/empty"
head -c $(($(stat -c %s "$story") - 7)) "$story" >"$tmp/cut.pcap"
head -c $(($(stat -c %s "$trace") - 7)) "$trace" >"$tmp/cut.jsonl"
sed '3s/^{/{{/; 5s/$/ and more/' "$trace" >"$tmp/corrupt.jsonl"
{ cat "$trace"; echo '{"a":1}'; } >"$tmp/noted.jsonl"
{ head -c 200 "$story"; head -c 500 /dev/zero | tr '\0' '\377'; } \
	>"$tmp/corrupt.pcap"
# partly WHAT PATTERN REQUESTS FILE...
partly()
{
	local what=$1 pattern=$2 requests=$3
	shift 3
	run stats "$@"
	is "$what: exit 1" 1 "$rc"
	has "$what: it is told" "$pattern" "$err"
	has "$what: what was there" "$requests" "$out"
}
partly "no file" "$tmp/none: No such file" '^0 records' "$tmp/none"
partly "no file, and one" "$tmp/none: No such file" '^6 SA requests' \
	"$tmp/none" "$story"
partly "an empty file" "nothing is in it" '^0 records' "$tmp/empty"
partly "a directory" "Is a directory" '^0 records' "$tmp"
partly "another file" "no capture file" '^6 SA requests' "$snoop" "$story"
partly "a capture that is cut" "cut in its last packet, after 26 whole ones" \
	'^5 SA requests' "$tmp/cut.pcap"
partly "a trace that is cut" "cut in its last line, after 12 whole ones" \
	'^12 records' "$tmp/cut.jsonl"
partly "a corrupt capture" "packet 2 cannot be read" '^1 records' \
	"$tmp/corrupt.pcap"
partly "a corrupt trace" "2 lines are no JSON, the first is line 3" \
	'^11 records' "$tmp/corrupt.jsonl"
echo '{}' >"$tmp/other.json"
partly "no records" "there is no record of osmsnoop in it" '^0 records' \
	"$tmp/other.json"
run stats "$tmp/noted.jsonl"
is "a line of JSON that is no record: exit 0" 0 "$rc"
has "a line of JSON that is no record: it is told" \
	'^1 lines or packets were something else' "$out"
{ cat "$trace"; head -c 3000000 /dev/zero | tr '\0' 'x'; echo; cat "$trace"; } \
	>"$tmp/long.jsonl"
partly "a line without end" "1 line is no JSON, the first is line 14" \
	'^26 records' "$tmp/long.jsonl"
sed 's/}$/,"unknown":"a\\u0000b"}/' "$trace" >"$tmp/nul.jsonl"
run stats "$tmp/nul.jsonl"
is "text with a NUL is JSON" "0 13" \
	"$rc $(sed -n 's/ records,.*//p' <<<"$out")"
printf '%s' "$(cat "$trace")" >"$tmp/no_newline.jsonl"
run stats "$tmp/no_newline.jsonl"
is "no newline at the end is well" "0 13" \
	"$rc $(sed -n 's/ records,.*//p' <<<"$out")"
run stats --node-name-map "$tmp/none" "$story"
is "no node name map: exit 1" 1 "$rc"

# the output
"$snoop" stats "$story" >/dev/full 2>"$tmp/err"
is "a full device: exit 1" 1 $?
has "a full device: it is told" "standard output: No space left" \
	"$(cat "$tmp/err")"
{ "$snoop" stats -j "$tmp/many" 2>"$tmp/err"; echo $? >"$tmp/rc"; } | true
is "a closed pipe is well" "0" "$(cat "$tmp/rc" "$tmp/err")"

# a terminal
if command -v script >/dev/null; then
	mkfifo "$tmp/slow"
	{ for _ in 1 2 3 4; do cat "$trace"; sleep 0.4; done; } >"$tmp/slow" &
	script -qec "'$snoop' stats '$tmp/slow' >/dev/null" /dev/null \
		</dev/null >"$tmp/tty" 2>&1
	has "a terminal has progress" '0 MB, 0 MB/s' "$(cat "$tmp/tty")"
	has "which is wiped in the end" $'\r\033\\[K$' \
		"$(tail -c 4 "$tmp/tty")"
	script -qec "'$snoop' stats '$story' >/dev/null" /dev/null \
		</dev/null >"$tmp/tty" 2>&1
	is "what is read at once has none" "" "$(cat "$tmp/tty")"
else
	skip "progress" "no script"
fi

# an interrupt
mkfifo "$tmp/fifo"
"$snoop" stats "$tmp/fifo" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 3>"$tmp/fifo"
cat "$trace" >&3
catches $pid
sleep 0.5
kill -s TERM $pid
wait $pid
is "an interrupt: exit 0" 0 $?
exec 3>&-
has "an interrupt: what was read is shown" '^13 records' "$(cat "$tmp/out")"
has "an interrupt: it is told" 'interrupted: this is of what was read' \
	"$(cat "$tmp/err")"
done_testing
