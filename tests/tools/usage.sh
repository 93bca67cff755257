#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The command line: what is wrong is told with exit 2, what fails with 1.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"

"$make_capture" 0 >"$tmp/story"

# wrong WHAT PATTERN ARGUMENT...
wrong()
{
	local what=$1 pattern=$2
	shift 2
	run "$@"
	is "$what: exit 2" 2 "$rc"
	is "$what: nothing on standard output" "" "$out"
	has "$what: it is named" "$pattern" "$err"
}
wrong "unknown option" "'y'" -y
wrong "unknown long option" "unrecognized option '--frobnicate'" --frobnicate
wrong "unknown option, usage" '^usage: osmsnoop' -y
wrong "count 0" "-c: '0' is no number above 0" -c 0 -r "$tmp/story"
wrong "count -1" "-c: '-1' is no number" -c -1 -r "$tmp/story"
wrong "count 1x" "-c: '1x' is no number" -c 1x -r "$tmp/story"
wrong "-r without a file" "requires an argument -- 'r'" -r
wrong "two inputs" "-i and -r" -r "$tmp/story" -i /x
wrong "-w with -v" "-w shows nothing that -v" -w "$tmp/w" -v -r "$tmp/story"
wrong "-w with -j" "-w shows nothing that -j" -w "$tmp/w" -j -r "$tmp/story"
wrong "-w with -n" "-w shows nothing that -n" -w "$tmp/w" -n -r "$tmp/story"
wrong "-j with -x" "-x does not go with it" -j -x -r "$tmp/story"
wrong "-q with -v" "either short or long" -q -v -r "$tmp/story"
wrong "expression" "^osmsnoop: 'pathrecord' does not belong here" \
	-r "$tmp/story" pathrecord
wrong "expression, its place" "^        ^~~$" -r "$tmp/story" lid 7 nix
wrong "subcommand" "^or a subcommand: .*stats" frobnicate
is "nothing was written" no "$([ -e "$tmp/w" ] && echo yes || echo no)"

# fails WHAT PATTERN ARGUMENT...
fails()
{
	local what=$1 pattern=$2
	shift 2
	run "$@"
	is "$what: exit 1" 1 "$rc"
	has "$what: it is told" "$pattern" "$err"
}
: >"$tmp/empty"
fails "no file" "^osmsnoop: $tmp/none: No such file" -r "$tmp/none"
fails "a name that the terminal would obey" 'a\\u001b\[2Jb\\u000ac: No such' \
	-r "$tmp"/$'a\033[2Jb\nc'
fails "empty file" "^osmsnoop: $tmp/empty: nothing is in it" -r "$tmp/empty"
fails "empty standard input" "standard input: nothing is in it" -r -
fails "another file" "no capture file" -r "$snoop"
fails "no socket" "does OpenSM run with the plugin" -i "$tmp/none"
fails "a file for a socket" "-r reads a file" -i "$tmp/story"
fails "unknown source" "'mlx5_0' is not known; accepted are" -i mlx5_0
fails "bpf" "source bpf is not built in" -i bpf
fails "no port" "^osmsnoop: " -i kernel:none0:1
fails "no directory to write to" "/nowhere/x: No such file" \
	-r "$tmp/story" -w /nowhere/x
fails "no node name map" "$tmp/none: No such file" \
	-r "$tmp/story" --node-name-map "$tmp/none"
fails "a map in another format" "no node name map" \
	-r "$tmp/story" --node-name-map "$tmp/story"
cp "$tmp/story" "$tmp/same"
fails "a file onto itself" "same: is what is read" -r "$tmp/same" \
	-w "$tmp/same"
is "which is as it was" "$(cksum <"$tmp/story")" "$(cksum <"$tmp/same")"
exec {locked}>"$tmp/locked"
flock "$locked"
fails "a file that another writes" "locked: is written by another process" \
	-r "$tmp/story" -w "$tmp/locked"
exec {locked}>&-
fails "a full device" "/dev/full: No space left" -r "$tmp/story" \
	-w /dev/full
"$snoop" -r "$tmp/story" >/dev/full 2>"$tmp/err"
is "lines to a full device: exit 1" 1 $?
has "lines to a full device: it is told" "standard output: No space left" \
	"$(cat "$tmp/err")"
for arguments in --help --version "top --help" "stats --help" \
	--extcap-interfaces; do
	# shellcheck disable=SC2086 # words they are
	"$snoop" $arguments >/dev/full 2>"$tmp/err"
	is "$arguments to a full device" \
		"1 osmsnoop: standard output: No space left on device" \
		"$? $(cat "$tmp/err")"
done
# what is written to must not be what stands for standard error
head -c -100 "$tmp/story" >"$tmp/cut"
"$snoop" -r "$tmp/cut" -w "$tmp/w" 2>/dev/null
"$snoop" -r "$tmp/cut" -w "$tmp/closed" >&- 2>&-
is "standard files are closed: exit 1" 1 $?
is "standard files are closed: no message is in the file" "" \
	"$(cmp "$tmp/w" "$tmp/closed" 2>&1)"
fails "a directory for a map" "$tmp: Is a directory" -r "$tmp/story" \
	--node-name-map "$tmp"

# interrupted while it waits for a fifo to be opened
mkfifo "$tmp/fifo"
for arguments in "-r $tmp/fifo" "-r $tmp/story -w $tmp/fifo" \
	"-r $tmp/story --node-name-map $tmp/fifo" "top -b -r $tmp/fifo" \
	"stats $tmp/fifo" "stats --node-name-map $tmp/fifo $tmp/story"; do
	# shellcheck disable=SC2086 # words they are
	"$snoop" $arguments >/dev/null 2>"$tmp/err" &
	pid=$!
	catches $pid
	sleep 0.3
	kill -TERM $pid
	wait $pid
	is "interrupted: ${arguments//$tmp\//}" "0 0" \
		"$? $(grep -c 'Interrupted' "$tmp/err")"
done

if [ "$(id -u)" -eq 0 ] && command -v setpriv python3 >/dev/null; then
	python3 - "$tmp/sock" <<-'END' &
	import os, socket, sys, time
	s = socket.socket(socket.AF_UNIX)
	s.bind(sys.argv[1])
	os.chown(sys.argv[1], 65534, 65534)
	os.chmod(sys.argv[1], 0o600)
	s.listen()
	time.sleep(5)
	END
	server=$!
	while [ ! -S "$tmp/sock" ]; do sleep 0.05; done
	chmod 755 "$tmp"
	# nobody's; who asks is root still, and may reach where this was built
	setpriv --bounding-set -dac_override,-dac_read_search \
		"$snoop" -i "$tmp/sock" \
		2>"$tmp/err" </dev/null
	is "a socket of others: exit 1" 1 $?
	has "a socket of others: what to do" "listen_group" "$(cat "$tmp/err")"
	kill $server
	wait $server 2>/dev/null
else
	skip "a socket of others" "not root, or without setpriv or python3"
fi

run --help
is "--help: exit 0" 0 "$rc"
has "--help: usage on standard output" "^usage: osmsnoop" "$out"
run --version
is "--version" "osmsnoop" "${out% *}"
run stats
is "stats has its own usage" 2 "$rc"
run -r "$tmp/story" --count=2 --quiet --no-names
is "long options" "0 2" "$rc $(wc -l <"$tmp/out")"
done_testing
