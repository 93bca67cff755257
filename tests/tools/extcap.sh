#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What Wireshark asks of an extcap program, and what it is told.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"

us=--extcap-interface=osmsnoop

# wrong WHAT PATTERN ARGUMENT...
wrong()
{
	local what=$1 pattern=$2
	shift 2
	run "$@"
	is "$what: exit 2" 2 "$rc"
	is "$what: nothing on standard output" "" "$out"
	has "$what: it is told" "$pattern" "$err"
}
wrong "no interface" "the interface is osmsnoop" --extcap-dlts \
	--extcap-version=4.0
wrong "another interface" "the interface is osmsnoop" --extcap-config \
	--extcap-interface eth0
wrong "nothing is asked" "nothing is asked for" $us
wrong "no fifo" "--capture wants a --fifo" --capture $us
wrong "unknown option" "unrecognized option '--mtu'" $us --capture --mtu 5
wrong "not a word of Wireshark's" "unrecognized option '--capture'" --capture

# sentences, as Wireshark reads them
sentence='^[a-z]* \({[a-z]*=[^{}=]*}\)*$'
for call in --extcap-interfaces "--extcap-dlts $us" "--extcap-config $us"; do
	# a call and its interface
	# shellcheck disable=SC2086
	run $call --extcap-version=4.0
	is "$call: exit 0" 0 "$rc"
	is "$call: sentences" "" "$(grep -v "$sentence" <<<"$out")"
done
run --extcap-interfaces
has "the interface" '^interface {value=osmsnoop}{display=OpenSM SA traffic}' \
	"$out"
run --extcap-interfaces --extcap-interface=osmsnoop
has "nobody minds an interface there" '^interface ' "$out"
run $us --extcap-dlts
has "what comes is ERF" '^dlt {number=197}' "$out"
run $us --extcap-config
has "where the stream is, by default" \
	'{call=--socket}.*{default=/run/osmsnoop.sock}' "$out"
mapfile -t settings < <(grep -o '{call=--[a-z-]*}' <<<"$out")
is "two settings" 2 ${#settings[@]}
for setting in "${settings[@]}"; do
	run $us --extcap-dlts "${setting:6:-1}" x
	is "$setting is an option" 0 "$rc"
done

# a filter while it is typed: the first line is what Wireshark shows
run $us --extcap-capture-filter 'attr PathRecord and lid 7'
is "a good filter: not a word" "0" "$rc$out$err"
run $us --extcap-capture-filter ''
is "an empty filter: not a word" "0" "$rc$out$err"
run --extcap-capture-filter 'lid 7 nix' $us
is "a wrong filter is an answer" 0 "$rc"
has "the word" "^'nix' does not belong here" "$(head -n 1 <<<"$out")"

# capturing; the reader comes first, as Wireshark's does
mkfifo "$tmp/fifo"

# capture ARGUMENT...: leaves also $tmp/packets
capture()
{
	timeout 10 cat "$tmp/fifo" >"$tmp/packets" &
	run --capture $us --fifo="$tmp/fifo" "$@"
	wait $!
	is "$what: who reads is not left waiting" 0 $?
}
what="no socket" capture --socket "$tmp/none"
is "no socket: exit 1" 1 "$rc"
has "no socket: it is told" "^osmsnoop: $tmp/none: No such file" "$err"
what="a wrong filter" capture --extcap-capture-filter 'lid 7 nix'
is "a wrong filter: exit 2" 2 "$rc"
has "a wrong filter: the word" "^osmsnoop: 'nix' does not belong" "$err"
has "a wrong filter: its place" '^        ^~~$' "$err"
what="no map" capture --node-name-map "$tmp/none"
has "no map: it is told" "$tmp/none: No such file" "$err"
run --capture $us --fifo="$tmp/nofifo"
is "no fifo there: exit 1" 1 "$rc"
has "no fifo there: it is told" "$tmp/nofifo: No such file" "$err"
is "and none is made" no "$([ -e "$tmp/nofifo" ] && echo yes || echo no)"

if command -v python3 >/dev/null; then
	"$make_capture" 0 >"$tmp/story"
	# serve FILE [SECONDS]: as the plugin does, once
	serve()
	{
		rm -f "$tmp/sock"
		python3 - "$tmp/sock" "$@" <<-'END' &
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1])
		s.listen()
		stream = s.accept()[0]
		stream.sendall(open(sys.argv[2], "rb").read())
		time.sleep(float(sys.argv[3] if len(sys.argv) > 3 else 0))
		END
		server=$!
		while [ ! -S "$tmp/sock" ]; do sleep 0.05; done
	}
	serve "$tmp/story"
	what="a stream" capture --socket "$tmp/sock"
	wait $server
	is "a stream to its end: exit 0, nothing for Wireshark to show" 0 \
		"$rc$err"
	is "a stream: the packets" "$("$snoop" -r "$tmp/story" -v)" \
		"$("$snoop" -r "$tmp/packets" -v)"
	serve "$tmp/story"
	what="a filter" capture --socket "$tmp/sock" \
		--extcap-capture-filter='lid 7'
	"$snoop" -r "$tmp/story" -w "$tmp/lid7" lid 7 2>/dev/null
	is "a filter: its packets" "" \
		"$(cmp "$tmp/packets" "$tmp/lid7" 2>&1)"
	head -c -100 "$tmp/story" >"$tmp/cut"
	serve "$tmp/cut"
	what="a broken stream" capture --socket "$tmp/sock"
	is "a broken stream: exit 1" 1 "$rc"
	has "a broken stream: it is told" "it is cut" "$err"

	# what ends it while it waits for more: a signal, a reader that leaves
	for end in TERM INT leaves; do
		serve "$tmp/story" 10
		"$snoop" --capture $us --fifo="$tmp/fifo" \
			--socket="$tmp/sock" 2>"$tmp/err" &
		pid=$!
		exec 8<"$tmp/fifo"
		head -c 24 <&8 >"$tmp/packets"
		if [ $end = leaves ]; then
			exec 8<&-
		else
			kill -s $end $pid
		fi
		wait $pid
		is "$end: exit 0, nothing to show" 0 "$?$(cat "$tmp/err")"
		exec 8<&-
		kill $server
		wait $server 2>/dev/null
	done
else
	skip "capturing" "no python3"
fi
done_testing
