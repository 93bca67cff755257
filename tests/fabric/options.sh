#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What the options do to OpenSM: with a wrong one the plugin does not load,
# says which word it was and what is accepted, and OpenSM runs on. Words of
# others, a file of options, and two OpenSM on one machine.
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

answers()
{
	fabric_client Hca2 timeout 30 sa_client -n "${1:-5}" \
		-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sa.sum" || return 1
	grep -q " answered ${1:-5} none 0 " "$FABRIC_DIR/sa.sum"
}

# says WORD TEXT: one error line has both, and nothing was loaded
says()
{
	local line

	line=$(grep 'ERR 5D03: not loaded: ' "$FABRIC_DIR/sm/opensm.log")
	echo "$line"
	[ "$(wc -l <<<"$line")" -eq 1 ] && [[ $line == *"$1"* ]] &&
		[[ $line == *"$2"* ]] &&
		fabric_log sm 'ERR 1000: '
}

# refused WORD TEXT [LINE]: the whole of it for one wrong word
refused()
{
	fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
		-c "event_plugin_options ${3:-$1}"
	check "$1: the log says so" says "$1" "$2"
	check "$1: OpenSM answers" answers
	fabric_opensm_stop sm || fail "$1: OpenSM ends" "with $?"
	is "$(find "$FABRIC_DIR/files" -type f)" '' "$1: no file is begun"
}

# value WORD ACCEPTED: the same, beside a trace that is right
value()
{
	refused "osmsnoop.$1" "accepted: $2" \
		"osmsnoop.trace=$FABRIC_DIR/files/trace osmsnoop.$1"
}

fabric_many_starts
fabric_begin
fabric_clients
fabric_net 4 1
fabric_ibsim
mkdir "$FABRIC_DIR/files"

#
# wrong words
#
refused osmsnoop.colour=red 'accepted: source, filter, log, trace, audit,'
refused osmsnoop.trace osmsnoop.KEY=VALUE
refused osmsnoop.trace= 'an absolute path'
refused osmsnoop.=x 'accepted: source, filter, log, trace, audit,'
refused "osmsnoop.trace=$FABRIC_DIR/files/trace,osmsnoop.log=all" \
	'blanks between words'
value source=bpf:mlx5_0 'auto, tap or kernel'
value filter=class:nonsense '(null) or filters'
value filter=attr:PathRecord '(null) or filters'
value log=everything 'none, audit or all'
value trace=relative/path 'an absolute path or (null)'
value audit=audit.jsonl 'an absolute path or (null)'
value keys=seek 'hide or show'
value names=maybe 'on or off'
value snaplen=23 '0 (all) or 24 and more'
value ring=63K '64K to 1G'
value max_bytes=-1 '64K '
value max_files=0 '1 to 1000'
value storm=1000 'N/S: '
value unanswered=0s '1 to 3600'
value listen=sock 'none or an absolute path of at most 107 bytes'
value listen_group=no-such-group "a group's name or number, or (null)"
value metrics=osmsnoop.prom 'an absolute path or (null)'

#
# a source that is built in and does not open: ibsim's umad takes any
# registration, and snoops nothing
#
fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
	-c 'event_plugin_options osmsnoop.source=kernel'
check 'source=kernel: the log says why' fabric_log sm \
	'ERR 5D07: not loaded: the kernel does not let MADs be snooped on .*; use source tap$'
check 'source=kernel: OpenSM answers' answers
fabric_opensm_stop sm || fail 'source=kernel: OpenSM ends' "with $?"

#
# a file of options
#
config=$FABRIC_DIR/config
refused "osmsnoop.config=$FABRIC_DIR/none" 'No such file or directory'
printf 'log none\nring 1\n' >"$config"
refused "$config line 2" 'accepted: 64K to 1G' \
	"osmsnoop.config=$config"
printf '\nlog\n' >"$config"
refused "$config line 2" 'log' "osmsnoop.config=$config"
printf 'log none all\n' >"$config"
refused "$config line 1" 'log none all: ' "osmsnoop.config=$config"

cat >"$config" <<-END
	# a comment
	trace	"$FABRIC_DIR/files/a trace"   # and one more
	filter	'class:sa;class:smp'

	log all
	unanswered 7
END
fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
	-c "event_plugin_options osmsnoop.unanswered=9 osmsnoop.config=$config"
check 'config: OpenSM answers' answers
check 'auto is tap here, and the log says why' fabric_log sm \
	'SNOOP: source tap is used; what comes before it does not open: kernel: '
fabric_opensm_stop sm
fabric_lines "$FABRIC_DIR/files/a trace"
is "${N[sa]} ${N[complete]}" '5 true' 'config: the trace is written'
is "$(jq -r 'select(.type == "start") | .options |
	[.log, .unanswered, .storm] | join(" ")' "$FABRIC_DIR/files/a trace")" \
	'all 9 1000/10' 'config: a file, the line before it, then the default'
rm "$FABRIC_DIR/files/a trace"

#
# words of others
#
fabric_plugin sm
fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
	-c "${FABRIC_PLUGIN[3]} osm.x=1 other.trace=x trace=y ring=1 colour osmsnoop"
check "others' words: OpenSM answers" answers
fabric_opensm_stop sm
fabric_lines "$FABRIC_DIR/sm/trace"
is "${N[sa]} ${N[complete]}" '5 true' "others' words are no concern of ours"
rm "$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit"

fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop'
check 'no options: OpenSM answers' answers
check 'no options: the log has the plugin' fabric_log sm 'SNOOP: state'
fabric_opensm_stop sm
check 'no options: to its end' fabric_log sm 'SNOOP: stop: .*complete, 0 lost'

#
# master and standby, each with files of its own, then with the same ones
#
fabric_plugin sm
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sm_priority 14'
fabric_plugin sm2
fabric_opensm sm2 Hca3 "${FABRIC_PLUGIN[@]}" -w 'Entering STANDBY' \
	-c 'sm_priority 1'
check 'two: the master answers' answers 50
fabric_opensm_stop sm2
fabric_opensm_stop sm
fabric_lines "$FABRIC_DIR/sm/trace"
is "${N[sa]} ${N[complete]}" '50 true' 'two: the master has its trace'
fabric_lines "$FABRIC_DIR/sm2/trace"
is "${N[sa]} ${N[complete]}" '0 true' 'two: the standby has its own'
rm "$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit"

fabric_plugin sm
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sm_priority 14'
fabric_opensm sm2 Hca3 "${FABRIC_PLUGIN[@]}" -w 'Entering STANDBY' \
	-c 'sm_priority 1'
check 'the same files: the master answers' answers 50
sleep 2.5
is "$(grep -c "ERR 5D20: .*/trace: is written by another process" \
	"$FABRIC_DIR/sm2/opensm.log")" 1 'the same files: the second says so once'
check 'the same files: it runs on' fabric_opensm_alive sm2
check 'the same files: so does the first' fabric_opensm_alive sm
fabric_opensm_stop sm2
check 'the same files: the second tells what is missing' \
	fabric_log sm2 'ERR 5D22: .*/trace ends without [1-9][0-9]* records'
check 'the same files: the master still answers' answers 50
fabric_opensm_stop sm
fabric_lines "$FABRIC_DIR/sm/trace"
is "${N[sa]} ${N[complete]} ${N[start]} ${N[loss]}" '100 true 1 0' \
	'the same files: the first has them alone'
check 'the same files: the audit is well' fabric_lines "$FABRIC_DIR/sm/audit"
is "${N[start]} ${N[stop]}" '1 1' 'the same files: and of one process'

fabric_end
