#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The live stream of a real OpenSM under load: readers come and go, others are
# stuck, one is killed. What each of those that stay got, and was told that it
# did not get, is what the stop record says was captured. A tool on the vendor
# layer sees through source stream what the trace has. Two OpenSMs at one path.
#
#	STREAM_SECONDS	of load (4)
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

seconds=${STREAM_SECONDS:-4}

# reader NAME [HOW...]: in the background, once it has begun
reader()
{
	local name=$1

	shift
	"$FABRIC_LIB/stream.py" "$sock" "$FABRIC_DIR/$name" "$@" \
		2>"$FABRIC_DIR/$name.err" &
	reader_pid=$!
	FABRIC_PIDS+=("$reader_pid")
	fabric_wait_for 20 test -e "$FABRIC_DIR/$name" ||
		fail "reader $name begins" "$(cat "$FABRIC_DIR/$name.err")"
}

# load HOST SECONDS: as fast as OpenSM answers
loads=()
load()
{
	fabric_client_bg "$1" sa_client -w 64 -t 20 -d "$2" \
		-o "$FABRIC_DIR/sa.$1" 2>"$FABRIC_DIR/sum.$1"
	loads+=("$FABRIC_CLIENT_PID")
}

# all_told NAME...: got and lost are what was captured
all_told()
{
	local name got lost

	for name; do
		read -r got lost <"$FABRIC_DIR/$name" || return 1
		echo "$name: $got got, $lost lost, of $captured"
		[ $((got + lost)) -eq "$captured" ] || return 1
	done
}

# sorted lines of what the tool and the trace have of requests
tool_has()
{
	sed -n 's/^received \([0-9]*\) \(0x[0-9a-f]*\) .*/\1 \2/p' \
		"$FABRIC_DIR/tool" | sort
}

trace_has()
{
	fabric_jq sm 'select(.type == "sa" and .direction == null) |
		"\(.requester.lid) \(.tid)"' | sort
}

# A long answer is one message in both; a short one has a whole MAD on the wire,
# and less where OpenSM hands it over.
answers_of_tool()
{
	awk '$1 == "sent" { print $2, $3, $5 < 256 ? 256 : $5 }' \
		"$FABRIC_DIR/tool" | sort
}

answers_of_trace()
{
	fabric_jq sm 'select(.type == "sa" and .outcome == "answered") |
		"\(.requester.lid) \(.tid) \([.bytes, 256] | max)"' | sort
}

same()
{
	diff "$FABRIC_DIR/one" "$FABRIC_DIR/other" | head -n 5
	[ -s "$FABRIC_DIR/one" ] &&
		cmp -s "$FABRIC_DIR/one" "$FABRIC_DIR/other"
}

fabric_begin
fabric_clients
fabric_compile stream_client -D_GNU_SOURCE -pthread \
	-I"$FABRIC_LIB/../../include" \
	-isystem "${OPENSM_INCLUDEDIR:-/usr/include/infiniband}" \
	-L"${top_builddir:?}/vendor/.libs" -losmvendor_snoop -losmvendor \
	-lopensm -losmcomp -libumad
FABRIC_BIN=$FABRIC_BIN:$FABRIC_DIR/bin
fabric_net 40 2
fabric_ibsim

#
# readers of all kinds, and load
#
sock=$FABRIC_DIR/sm/sock
fabric_plugin sm filter=class:sa log=none
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0'
is "$(stat -c '%a %F' "$sock")" '600 socket' 'the socket is of its user alone'
stuck=()
for i in {1..10}; do
	reader "stuck$i" stuck
	stuck+=("$reader_pid")
done
reader all1
stay=("$reader_pid")
reader slow1 slow
stay+=("$reader_pid")
reader killed
killed=$reader_pid
disown "$killed"
load Hca2 "$seconds"
load Hca20 "$seconds"
brief=()
for i in {1..100}; do
	"$FABRIC_LIB/stream.py" "$sock" "$FABRIC_DIR/brief$i" \
		brief $((i * 1000 + 77)) 2>"$FABRIC_DIR/brief$i.err" &
	brief+=("$!")
	[ "$i" -ne 30 ] || kill -s KILL "$killed"
	# ten at a time
	[ "$i" -lt 11 ] || wait "${brief[i - 11]}"
done
wait "${loads[@]}"
loads=()
diag "$(sed -n 's/.*\( answered .*\)/\1/p' "$FABRIC_DIR"/sum.*)"
is "$(sed -n 's/.* none \([0-9]*\).*/\1/p' "$FABRIC_DIR"/sum.* | sort -u)" 0 \
	'OpenSM answers all'
kill "${brief[@]}" 2>/dev/null
wait "${brief[@]}" 2>/dev/null
is "$(cat "$FABRIC_DIR"/brief*.err)" '' '100 readers came and went'
begin=$(date +%s%N)
check 'OpenSM ends' fabric_opensm_stop sm
took=$((($(date +%s%N) - begin) / 1000000))
# a stuck reader is not waited for; a sanitizer has its own pace
[ -n "${SANITIZER_RUNTIME:-}" ] ||
	check "in time ($took ms)" test "$took" -lt 4000
kill -s USR1 "${stuck[@]}"
wait "${stuck[@]}" "${stay[@]}"
is "$(test -e "$sock" && echo there)" '' 'it takes its socket with it'
check 'every line of the trace is a record' fabric_lines "$FABRIC_DIR/sm/trace"
captured=$(fabric_jq sm 'select(.type == "stop") | .captured |
	.sa_received + .sa_sent')
diag "captured $captured"
check 'those that read have all, or know how much not' all_told all1 slow1
diag "$(cat "$FABRIC_DIR/check")"
check 'so do those that were stuck' all_told stuck{1..10}
diag "$(head -n 2 "$FABRIC_DIR/check")"

#
# a tool on the vendor layer
#
rm -rf "$FABRIC_DIR/sm"
fabric_plugin sm snaplen=0
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0'
fabric_client_bg Hca5 stream_client "$sock" "$FABRIC_DIR/tool" \
	2>"$FABRIC_DIR/tool.err"
tool=$FABRIC_CLIENT_PID
fabric_wait_for 20 test -e "$FABRIC_DIR/tool" ||
	fail 'the tool binds' "$(cat "$FABRIC_DIR/tool.err")"
for host in Hca2 Hca20; do
	fabric_client_bg $host sa_client -k mixed -n 1000 -w 4 -t 30 \
		-o "$FABRIC_DIR/sa.$host" 2>"$FABRIC_DIR/sum.$host"
	loads+=("$FABRIC_CLIENT_PID")
done
wait "${loads[@]}"
check 'OpenSM ends before the tool' fabric_opensm_stop sm
check 'the tool says that it is gone' fabric_wait_for 5 \
	grep -q 'ERR 5D14: .*/sock is gone' "$FABRIC_DIR/tool.err"
kill -s INT "$tool"
check 'the tool ends' wait "$tool"
diag "$(grep stats "$FABRIC_DIR/tool")"
check 'the trace is whole' fabric_lines "$FABRIC_DIR/sm/trace"
tool_has >"$FABRIC_DIR/one"
trace_has >"$FABRIC_DIR/other"
check 'the tool sees each request that the trace has' same
answers_of_tool >"$FABRIC_DIR/one"
answers_of_trace >"$FABRIC_DIR/other"
check 'and each answer, of the same length' same
diag "$(wc -l <"$FABRIC_DIR/one") answers"

#
# two OpenSMs, one path
#
rm -rf "$FABRIC_DIR/sm"
fabric_plugin sm
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sm_priority 14'
pid=${FABRIC_SM[sm]}
fabric_plugin sm2 listen="$sock"
fabric_opensm sm2 Hca3 "${FABRIC_PLUGIN[@]}" -w 'Entering STANDBY' \
	-c 'sm_priority 1' -c 'sminfo_polling_timeout 300' \
	-c 'polling_retry_number 2'
check 'two: the second says that the first listens' fabric_opensm_wait sm2 \
	"ERR 5D30: $sock: process $pid listens there" 5
reader first
first=$reader_pid
sleep 2
is "$(grep -c 'ERR 5D30' "$FABRIC_DIR/sm2/opensm.log")" 1 'two: once'
check 'two: the first ends' fabric_opensm_stop sm
wait "$first"
check 'two: its reader had something' grep -Eq '^[1-9][0-9]* 0$' \
	"$FABRIC_DIR/first"
check 'two: the second takes over' fabric_opensm_wait sm2 'SUBNET UP' 30
check 'two: and listens' fabric_opensm_wait sm2 'ERR 5D31' 5
reader second
second=$reader_pid
check 'two: it answers' fabric_client Hca2 sa_client -k mixed -n 45 -w 4 \
	-t 30 -s "$(fabric_lid Hca3)" -o "$FABRIC_DIR/sa"
check 'two: the second ends' fabric_opensm_stop sm2
wait "$second"
check 'two: its reader had something, too' grep -Eq '^[1-9][0-9]* 0$' \
	"$FABRIC_DIR/second"

#
# the default, of which there is one on a host: whoever has it, all go on
#
rm -rf "$FABRIC_DIR/sm" "$FABRIC_DIR/sm2"
for sm in sm sm2; do
	mkdir "$FABRIC_DIR/$sm"
	fabric_opensm $sm Hca$((1 + 2 * (${#sm} - 2))) -w 'SNOOP: state' \
		-c 'event_plugin_name osmsnoop' -c 'event_plugin_options osmsnoop.names=on'
done
check 'default: it answers' fabric_client Hca2 sa_client -k mixed -n 45 \
	-w 4 -t 30 -o "$FABRIC_DIR/sa"
sleep 1.2
n=$(cat "$FABRIC_DIR"/sm*/opensm.log | grep -c \
	'ERR 5D30: /run/osmsnoop.sock: .*tried again')
check "default: who does not get it says so once ($n of 2)" \
	test "$n" -ge 1 -a "$n" -le 2
check 'default: the first ends' fabric_opensm_stop sm
check 'default: so does the second' fabric_opensm_stop sm2

fabric_end
