#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# osmsnoop top, as text and on terminals of tmux: what it shows, what its keys
# do, and that it leaves the terminal as it found it.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"

"$make_capture" 0 >"$tmp/story"

# lids: of the rows of a table, in their order
lids()
{
	awk '/^ *[0-9]+ [a-z]/ && !/captures/ {
		printf "%s%s", n++ ? " " : "", $1
	}'
}

# Tables as text
run top -r "$tmp/story"
table=$out
is "a file is one table: exit 0" 0 "$rc"
is "its columns" "LID NAME REQ/S ▼REQUESTS SHARE ANSWERED UNANSWERED FAILED ERRORS DUPLICATES P50 P99 ATTRIBUTES" \
	"$(printf '%s\n' "$out" | sed -n '4{s/  */ /g; s/^ //; p}')"
has "totals" "^  all  *6\.0  *6  *100%  *4  *1  *0  *1  *0  *77us  *77us NodeRecord 50%, PathRecord 33%, MCMemberRecord 17%$" "$out"
has "a requester" "^    7 node07 HCA-1  *2\.0  *2  *33%  *2  *0  *0  *0  *0  *77us  *77us PathRecord 50%, NodeRecord 50%$" "$out"
has "names are escaped" '^    8 eight\\u001b\[2J ' "$out"
has "losses" "^3 captures lost" "$out"
run top -b -r "$tmp/story"
is "-b says the same" "$table" "$out"
run top -r - <"$tmp/story"
is "nothing comes from an empty standard input" 1 "$rc"
"$snoop" top -r - <"$tmp/story" | tail -n +3 >"$tmp/out"
is "standard input" "$(tail -n +3 <<<"$table")" "$(cat "$tmp/out")"
for format in 1 2 3 4 5 6; do
	"$make_capture" $format >"$tmp/other"
	has "format $format" "^  all  *[0-9.]*  *6 " \
		"$("$snoop" top -r "$tmp/other" 2>/dev/null)"
done
run top -r "$tmp/story" -s name
is "-s: by name" "8 9 10 11 7" "$(lids <"$tmp/out")"
run top -r "$tmp/story" attr NodeRecord and status ok
has "an expression" "^  all  *1\.0  *1 " "$out"
LC_ALL=C run top -r "$tmp/story"
is "another locale: ASCII alone" "" "$(LC_ALL=C grep '[^ -~]' "$tmp/out")"
"$make_capture" many 500000 >"$tmp/many"
run top -b -d 1 -r "$tmp/many"
is "-d: a table for each second of the file, and the last" "5 5" \
	"$(grep -c '^osmsnoop top' "$tmp/out") $(grep -c '^  all' "$tmp/out")"
# what became of a request is known a tenth of a second after its answer
is "requests of them" "112499 237499 362499 487499 500000" \
	"$(awk '/^  all/ { printf "%s%s", n++ ? " " : "", $3 }' "$tmp/out")"
run top -b -d 1 -n 2 -r "$tmp/many"
is "-n: no more of them" "0 2" "$rc $(grep -c '^osmsnoop top' "$tmp/out")"
head -c 2000 "$tmp/story" >"$tmp/cut"
run top -r "$tmp/cut"
is "a file that is cut: exit 1" 1 "$rc"
has "a file that is cut: it is told" "cut in its last packet" "$err"
has "a file that is cut: what was there" "^    7 node07" "$out"
"$snoop" top -r "$tmp/many" 2>"$tmp/err" | head -n 1 >"$tmp/out"
is "a closed pipe: exit 0, not a word" "0 " "${PIPESTATUS[0]} $(cat "$tmp/err")"
"$snoop" top -r "$tmp/story" >/dev/full 2>"$tmp/err"
is "a full device: exit 1" 1 $?
has "a full device: it is told" "standard output: No space" "$(cat "$tmp/err")"

# wrong WHAT PATTERN ARGUMENT...
wrong()
{
	local what=$1 pattern=$2
	shift 2
	run top "$@"
	is "$what: exit 2" 2 "$rc"
	has "$what: it is named" "$pattern" "$err"
}
wrong "unknown column" "'x' is no column; accepted are lid, name" -s x
wrong "no delay" "'0' is no number of seconds" -d 0
wrong "no delay either" "'1x' is no number of seconds" -d 1x
wrong "no count" "'-1' is no number above 0" -n -1
wrong "two inputs" "-i and -r" -i /x -r /y
wrong "unknown option" "'y'" -y
wrong "expression" "^osmsnoop: 'nix' does not" lid 7 nix
run top -i "$tmp/none"
is "no socket: exit 1" 1 "$rc"
has "no socket: it is told" "does OpenSM run with the plugin" "$err"
run top --help
is "--help" "0 usage:" "$rc ${out%% *}"

# Terminals
if ! command -v tmux python3 >/dev/null; then
	skip "terminals" "no tmux or no python3"
	done_testing
	exit
fi
trap 'term kill-server 2>/dev/null; rm -rf "$tmp"' EXIT

term()
{
	tmux -S "$tmp/tmux" -f /dev/null "$@"
}

# of a server that stays while terminals come and go
term new-session -d -s keep 'exec sleep 600'

screen()
{
	term capture-pane -pt top
}

# start COLUMNS LINES ENVIRONMENT ARGUMENT...: osmsnoop top, and then a shell
# that says its exit status, what it did to the terminal, and waits
start()
{
	local columns=$1 lines=$2 environment=$3
	shift 3
	term kill-session -t top 2>/dev/null
	rm -f "$tmp/rc" "$tmp/pid"
	term new-session -d -s top -x "$columns" -y "$lines" "
		export LC_ALL=C.UTF-8
		stty -g >'$tmp/before'
		sh -c 'echo \$\$ >$tmp/pid; exec env TERM=screen-256color $environment \
			$snoop top $*' 2>'$tmp/err'
		echo \$? >'$tmp/rc'
		stty -g >'$tmp/after'
		exec sleep 60"
}

# wait_for COMMAND...: ten seconds at most
wait_for()
{
	local i
	for ((i = 0; i < 100; i++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

shows()
{
	screen | grep -q -e "$1"
}

# sees NAME PATTERN: the screen comes to show it
sees()
{
	wait_for shows "$2"
	has "$1" "$2" "$(screen)"
}

are_lids()
{
	[ "$(screen | lids)" = "$1" ]
}

# orders NAME LIDS: the screen comes to show them so
orders()
{
	wait_for are_lids "$2"
	is "$1" "$2" "$(screen | lids)"
}

press()
{
	term send-keys -t top "$@"
}

# ends NAME [EXIT PATTERN]: it has ended, well unless that is said, and the
# terminal is as it was
ends()
{
	wait_for test -s "$tmp/rc"
	wait_for test -s "$tmp/after"
	if [ $# -eq 1 ]; then
		is "$1: exit 0, not a word" "0 " \
			"$(cat "$tmp/rc") $(cat "$tmp/err")"
	else
		is "$1: exit $2" "$2" "$(cat "$tmp/rc")"
		has "$1: it is told" "$3" "$(cat "$tmp/err")"
	fi
	is "$1: the terminal's settings are as before" \
		"$(cat "$tmp/before")" "$(cat "$tmp/after")"
	is "$1: the screen is as before, with a cursor" "0 1" \
		"$(term display-message -pt top '#{alternate_on} #{cursor_flag}')"
}

start 80 24 '' -r "$tmp/story"
sees "80x24: the columns" \
	'^  LID NAME  *REQ/S ▼REQS    % UNANS FAIL ERRS DUPS   P50   P99 ATTRIBUTES$'
sees "80x24: totals" '^  all  *6\.0     6 100%     1    0    1    0  77us  77us NodeRecord$'
sees "80x24: keys" '^q quit  ? help'
is "80x24: that many lines" 24 "$(screen | wc -l)"
orders "by requests" "7 8 9 10 11"
press r
orders "r: reversed" "8 9 10 11 7"
press r '<' '<' '<'
orders "<: by LID" "7 8 9 10 11"
press r '>'
orders ">: by name" "8 9 10 11 7"
press Left Right Right
sees "arrow keys" '▼REQ/S'
press / n o d e
orders "/: names" "7"
sees "/: it is seen" '^name: node_'
press BSpace BSpace BSpace BSpace s
orders "backspace" "9 10 11"
press Enter
sees "Enter keeps it" 'only names with "s": 3'
press / Escape
orders "Escape: all" "7 8 9 10 11"
press '?'
sees "?: help" '^P99  *all but one in a hundred'
press '?'
sees "and back" '^  LID NAME'
press p
sees "p: pause" PAUSED
press c
sees "c: nothing is counted" ' 0 requesters  PAUSED'
press p
term resize-window -t top -x 200 -y 60
sees "200x60: all columns" \
	'REQUESTS SHARE  ANSWERED UNANSWERED  FAILED  ERRORS DUPLICATES    P50    P99 ATTRIBUTES'
is "200x60: the keys are at its end" "q quit" \
	"$(screen | sed -n '60s/  .*//p')"
term resize-window -t top -x 30 -y 5
sees "30x5" '^30x5 is too small: 40x6$'
term resize-window -t top -x 1 -y 1
term resize-window -t top -x 40 -y 6
sees "40x6" '^  LID NAME'
press q
ends "q"

# many of them
"$make_capture" many 49151 49151 >"$tmp/all"
start 80 24 '' -r "$tmp/all" -s lid
sees "every LID" '49151 requesters  all read'
press NPage
sees "page down" '^   21 '
press End
sees "end" '^49152 '
press Home
sees "home" '^    2 '
is "memory for all of them is bounded" yes \
	"$(awk '/VmHWM/ { print $2 < (ENVIRON["SANITIZER_RUNTIME"] == "" ? \
		150000 : 1500000) ? "yes" : $0 }' "/proc/$(cat "$tmp/pid")/status")"
kill -TERM "$(cat "$tmp/pid")"
ends "SIGTERM"

start 80 24 '' -r "$tmp/story"
sees "before Ctrl-C" 'all read'
press C-c
ends "Ctrl-C"

# stopped and continued
term kill-session -t top
term new-session -d -s top -x 80 -y 24 \
	"env PS1='prompt> ' LC_ALL=C.UTF-8 bash --norc"
sees "a shell" '^prompt>'
press "TERM=screen $snoop top -r $tmp/story" Enter
sees "before Ctrl-Z" 'all read'
press C-z
sees "Ctrl-Z: the shell" Stopped
is "Ctrl-Z: its screen" 0 "$(term display-message -pt top '#{alternate_on}')"
press fg Enter
sees "fg: the table" '^    7 node07'
press q
sees "fg and q: the shell" '^prompt>$'

# keys are not from standard input
start 80 24 '' -r - "<$tmp/story"
sees "standard input is packets" '^    7 node07'
press q
ends "keys of /dev/tty"

# colour
colours()
{
	term capture-pane -ept top | grep -c $'\033''\[[0-9;]*3[0-7]m'
}
start 80 24 '' -r "$tmp/story"
sees "a terminal" '^    7 node07'
is "it has colour" yes "$([ "$(colours)" -gt 0 ] && echo yes)"
start 80 24 NO_COLOR=1 -r "$tmp/story"
sees "NO_COLOR" '^    7 node07'
is "NO_COLOR: none" 0 "$(colours)"
start 80 24 TERM=vt100 -r "$tmp/story"
sees "a monochrome terminal" '^    7 node07'
is "a monochrome terminal: none" 0 "$(colours)"
start 80 24 LC_ALL=C -r "$tmp/story"
sees "another locale" '^  LID NAME  *REQ/S vREQS '
is "another locale: ASCII alone" "" "$(screen | LC_ALL=C grep '[^ -~]')"
start 80 24 TERM=nonsense -r "$tmp/story"
wait_for test -s "$tmp/rc"
is "an unknown terminal: exit 1" 1 "$(cat "$tmp/rc")"
has "an unknown terminal: it is told" "TERM" "$(cat "$tmp/err")"

start 80 24 '' -r "$tmp/cut"
sees "a file that is cut" 'BROKEN OFF'
sees "why" 'cut in its last packet'
press q
ends "after that" 1 'cut in its last packet'

# a stream that ends, and comes again; each connection has the story once
python3 - "$tmp/sock" "$tmp/story" <<'END' &
import os, socket, sys, time
story = open(sys.argv[2], 'rb').read()
for i in range(2):
	s = socket.socket(socket.AF_UNIX)
	s.bind(sys.argv[1])
	s.listen()
	c = s.accept()[0]
	c.sendall(story)
	time.sleep(3 if i == 0 else 30)
	os.unlink(sys.argv[1])
	s.close()
	c.close()
	time.sleep(3)
END
server=$!
wait_for test -S "$tmp/sock"
start 80 24 '' -i "$tmp/sock"
sees "a stream, as it comes" '^    7 node07'
sees "its end" 'NOT CONNECTED'
sees "why it waits" 'No such file'
sees "it is there again" 'Connected again at'
sees "what was counted stays" '^    7 node07 .*  4 '
press c
sees "c: that is told no more" '^  LID NAME'
press q
ends "a stream"
kill $server
wait $server 2>/dev/null
done_testing
