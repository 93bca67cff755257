#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What the command shows and writes of captures, its own and others'.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"

for format in 0 1 2 3 4 5 6; do
	"$make_capture" $format >"$tmp/story$format"
done
story=$tmp/story0

run -r "$story"
lines=$out
is "a story: exit 0" 0 "$rc"
has "a line of it" '^23:35:28.000000 GetTable PathRecord from LID 7 "node07 HCA-1" (0x000000000010000d): dlid 4 slid 7 -> OK, 1 record, 77 us$' "$out"
has "what the terminal would obey is escaped" '"eight\\u001b\[2J"' "$out"
has "what was lost is told" "3 captures were lost" "$err"
is "no colour where there is no terminal" "" \
	"$(grep -c $'\033' "$tmp/out" | grep -v '^0$')"

# formats: byte orders, microseconds, pcapng, with other packets
for format in 1 4 6; do
	run -r "$tmp/story$format"
	is "format $format says the same" "$lines" "$out"
done
has "other packets are counted" "packets are no MADs and were skipped" "$err"
has "broken ones are counted" "packets are broken and were skipped" "$err"
for format in 2 3; do
	# shellcheck disable=SC2001
	run -r "$tmp/story$format"
	is "format $format says the same, without names and latencies" \
		"$(echo "$lines" | sed 's/[0-9]* us//' | cut -c17-)" \
		"$(echo "$out" | sed 's/[0-9]* us//' | cut -c17-)"
done
run -r "$tmp/story5" class sa
is "without ERF's header the SA's transactions are there" 6 \
	"$(wc -l <"$tmp/out")"
run -r - <"$story"
is "standard input that is no file of ours" 1 "$rc"
"$snoop" -r - <"$story" >"$tmp/out" 2>/dev/null
is "standard input from a file" "$lines" "$(cat "$tmp/out")"
"$snoop" -r - >"$tmp/out" 2>/dev/null < <(cat "$story")
is "standard input from a pipe" "$lines" "$(cat "$tmp/out")"
if command -v editcap >/dev/null; then
	editcap -F pcapng "$story" "$tmp/pcapng" 2>/dev/null
	run -r "$tmp/pcapng"
	is "pcapng by editcap says the same" "$lines" "$out"
else
	skip "pcapng by editcap" "no editcap"
fi

# a file that is cut: what was there, a message, exit 1
head -c -100 "$story" >"$tmp/cut"
run -r "$tmp/cut"
is "cut file: exit 1" 1 "$rc"
has "cut file: it is told" "^osmsnoop: $tmp/cut: it is cut in its last packet" \
	"$err"
is "cut file: what was there" 12 "$(grep -c '' "$tmp/out")"

# forms
run -r "$story" -q lid 9
is "-q" '23:35:28.000308 LID 9 "host" (0x0000000000100011) Get NodeRecord ERR_NO_RECORDS' "$(grep -v ' lost ' <<<"$out")"
run -r "$story" -n
is "-n: no names" "" "$(grep -e host -e node07 "$tmp/out")"
has "-n: LIDs and GUIDs" 'from LID 7 (0x000000000010000d): dlid 4' "$out"
run -r "$story" -v attr NodeRecord and records '>' 1
has "-v: the request's header" '^    request: base_version 1 class 0x03' "$out"
has "-v: the answer's header" '^    response: base_version 1 class 0x03' "$out"
has "-v: SA's part of it" 'attribute_offset 14' "$out"
is "-v: every record" 20 "$(grep -c '^    record [0-9]*: lid' "$tmp/out")"
has "-v: every field" 'node_description "node07 HCA-1"' "$out"
is "-v: no line is longer than a terminal" "" \
	"$(grep '^ ' "$tmp/out" | grep '.\{80\}')"
run -r "$story" -v class smp
has "-v: fields of SMPs" '^    PortGuid:\.*0x' "$out"
run -r "$story" -x tid 1
has "-x: the request" '^    request, 256 bytes:$' "$out"
has "-x: as tcpdump" $'^\t0x0000:  0103 0212 0000 0000 0000 0000 0000 0001$' \
	"$out"
has "-x: the answer, of its own length" '^    response, 120 bytes:$' "$out"
run -r "$story" -j
if command -v jq >/dev/null; then
	is "-j: every line is JSON" 13 "$(jq -c . "$tmp/out" | wc -l)"
	is "-j: seq has no gaps" "$(seq -s , 1 13)" \
		"$(jq -r .seq "$tmp/out" | paste -sd,)"
	is "-j: the types" "6 loss 1, mad 4, sa 6, send_error 1, trap 1" \
		"6 $(jq -r .type "$tmp/out" | sort | uniq -c |
			awk '{ printf "%s%s %s", sep, $2, $1; sep = ", " }')"
	is "-j: what the plugin says" '"PathRecord" 4 "OK" 77' "$(jq -r \
		'select(.tid == "0x0000000000000001") |
		"\(.attribute | tojson) \(.query.dlid) \(.status | tojson) \(.latency_us)"' \
		"$tmp/out")"
else
	skip "-j" "no jq"
fi

# what asks has no data, of which libibmad would complain
run -r "$story" -v attr NodeInfo and method Get
is "-v: nothing of the data of an SMP that asks" 0 \
	"$(grep -c NodeType <<<"$out")"
run -r "$story" -v attr NodeInfo and method GetResp
is "-v: but of the one that answers" 1 "$(grep -c NodeType <<<"$out")"

# a port that is down has no width, and libibmad does not like that
"$make_capture" port 256 >"$tmp/port"
run -r "$tmp/port" -v
has "-v: a width that there is not" '^    LinkWidthActive:\.*0$' "$out"
has "-v: and what else the port has" '^    LinkWidthSupported:\.' "$out"
is "-v: tabs that libibmad writes are blanks" 0 "$(grep -c u0009 <<<"$out")"
is "-v: nothing is said of that" "" "$err"
"$make_capture" port 100 >"$tmp/port"
run -r "$tmp/port" -v
is "-v: what was cut off is not shown as zero" 0 "$(grep -c Mtu <<<"$out")"
has "-v: but what is there" '^    data:$' "$out"

# names that packets tell of are in what is written for those that have them
run -r "$story" -w "$tmp/w" name host and attr NodeRecord
is "-w: by a name from a NodeRecord: exit 0" 0 "$rc"
run -r "$tmp/w" name host
has "-w: the name is in it" 'from LID 10 "host"' "$out"

# how many
run -r "$story" -c 3
is "-c 3: exit 0" 0 "$rc"
is "-c 3: three lines" 3 "$(wc -l <"$tmp/out")"
run -r "$story" -c 1 lid 7 and attr NodeRecord
has "-c counts what is shown" "NodeRecord from LID 7" "$out"
run -r "$story" name 'node07 *'
is "a name with blanks is one word" 2 \
	"$(grep -c 'node07 HCA-1' "$tmp/out")"
run -r "$story" 'name "node07 *" and status ok'
is "and so it is in quotes" 2 "$(grep -c 'node07 HCA-1' "$tmp/out")"
run -r "$story" name '"node07 *"'
is "a word may have its quotes" 2 "$(grep -c 'node07 HCA-1' "$tmp/out")"
printf '0x10000d "it'\''s one"\n' >"$tmp/map"
run -r "$story" --node-name-map "$tmp/map" name "it's*"
is "a name with a quote is one word" "0 2" \
	"$rc $(grep -c "it's one" "$tmp/out")"
printf '0x10000d "from the map"\n' >"$tmp/map"
run -r "$story" --node-name-map "$tmp/map" tid 1
has "a node name map" 'LID 7 "from the map"' "$out"

# writing
run -r "$story" -w "$tmp/again"
is "-w: exit 0" 0 "$rc"
is "-w: nothing is shown" "" "$out"
run -r "$tmp/again"
is "-w and -r: the same" "$lines" "$out"
is "-w of it: the same bytes" "" "$("$snoop" -r "$tmp/again" -w - 2>/dev/null |
	cmp - "$tmp/again" 2>&1)"
"$snoop" -r "$tmp/story6" -w - 2>/dev/null | "$snoop" -r - 2>/dev/null \
	>"$tmp/out"
is "-w - of another's: the same" "$lines" "$(cat "$tmp/out")"
for expression in 'lid 7' 'attr NodeRecord' 'method Set' 'src lid 8' \
	'status ok' 'status ERR_NO_RECORDS' 'records > 1' 'gid ff12::1' \
	'class smp' 'received and class sa' 'name node07*' \
	'attr NodeRecord and (lid 9 or records 20)'; do
	"$snoop" -r "$story" "$expression" 2>/dev/null | grep -v ' lost ' |
		sed 's/ (or it was not captured)//' >"$tmp/1"
	"$snoop" -r "$story" -w "$tmp/some" "$expression" 2>/dev/null
	# names of NodeRecords are not in it
	"$snoop" -r "$tmp/some" "$expression" 2>/dev/null |
		grep -v ' lost ' | sed 's/ (or it was not captured)//' >"$tmp/2"
	is "what '$expression' shows is in what it writes" \
		"$(sed 's/ "[^"]*"//; s/ (0x[0-9a-f]*)//; s/ (fe80[^)]*)//' \
			"$tmp/1")" \
		"$(sed 's/ "[^"]*"//; s/ (0x[0-9a-f]*)//; s/ (fe80[^)]*)//' \
			"$tmp/2")"
done
run -r "$story" -w "$tmp/some" lid 11
run -r "$tmp/some"
has "what was lost before a packet that was left out is lost still" \
	"3 captures were lost" "$err"
if command -v tshark >/dev/null; then
	is "tshark reads what is written" "" "$(tshark -r "$tmp/again" \
		-Y _ws.malformed 2>&1 | grep -v -i -e root -e '^$')"
	is "every packet of it" "$(tshark -r "$story" 2>/dev/null | wc -l)" \
		"$(tshark -r "$tmp/again" 2>/dev/null | wc -l)"
else
	skip "tshark" "no tshark"
fi

# the end of what is written to
"$make_capture" many 20000 >"$tmp/many"
{ "$snoop" -r "$tmp/many" 2>"$tmp/err"; echo $? >"$tmp/rc"; } | head -n 1 \
	>"$tmp/out"
is "a closed pipe: exit 0" 0 "$(cat "$tmp/rc")"
is "a closed pipe: not a word" "" "$(cat "$tmp/err")"
{ "$snoop" -r "$tmp/many" -w - 2>"$tmp/err"; echo $? >"$tmp/rc"; } |
	head -c 1000 >/dev/null
is "a closed pipe for packets: exit 0, not a word" 0 \
	"$(cat "$tmp/rc" "$tmp/err")"

# live: a line is there while more is waited for; Ctrl-C ends it well
mkfifo "$tmp/fifo"
"$snoop" -r - <"$tmp/fifo" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 9>"$tmp/fifo"
cat "$story" >&9
for _ in $(seq 50); do
	grep -q 'LID 9' "$tmp/out" && break
	sleep 0.1
done
has "what comes through a pipe is shown at once" "ERR_NO_RECORDS" \
	"$(cat "$tmp/out")"
# a shell starts what is in the background with SIGINT ignored, osmsnoop does not
kill -INT $pid
wait $pid
is "Ctrl-C: exit 0" 0 $?
exec 9>&-
has "Ctrl-C: captured, shown and lost" '^2[0-9] captured, 1[0-9] shown, 3 lost$' \
	"$(cat "$tmp/err")"
"$snoop" -r - <"$tmp/fifo" 2>"$tmp/err" >/dev/null &
pid=$!
exec 9>"$tmp/fifo"
catches $pid
kill -TERM $pid
wait $pid
is "ended before anything came: exit 0" 0 $?
exec 9>&-

# colour on a terminal alone
if command -v script >/dev/null; then
	"$snoop" -r "$story" -w "$tmp/lid10" lid 10 2>/dev/null
	on_terminal()
	{
		script -qec "$1 $snoop -r $tmp/lid10" /dev/null </dev/null |
			grep -c $'\033\\[31m'
	}
	is "colour on a terminal" 1 "$(on_terminal TERM=xterm)"
	is "NO_COLOR" 0 "$(on_terminal 'NO_COLOR=1 TERM=xterm')"
	is "a terminal without" 0 "$(on_terminal TERM=dumb)"
else
	skip "colour" "no script"
fi
done_testing
