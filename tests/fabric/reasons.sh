#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Why a query gets no answer: each reason is produced for real, and OpenSM's own
# log is the measure. Answers that cannot be sent come twice: chosen ones by a
# double of the port (tests/clients/send_fail.c), and those that were under way
# when the simulator is killed. Repeated queries are one record.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

records=$FABRIC_LIB/records.py
asked=()

# ask HOST ARGUMENT...: sa_client, whose notes are added to $asked
ask()
{
	local host=$1

	shift
	asked+=("$FABRIC_DIR/sa.${#asked[@]}")
	fabric_client "$host" timeout -s INT 50 sa_client -o "${asked[-1]}" \
		"$@" 2>>"$FABRIC_DIR/sums"
}

ask_bg()
{
	local host=$1

	shift
	asked+=("$FABRIC_DIR/sa.${#asked[@]}")
	fabric_client_bg "$host" sa_client -o "${asked[-1]}" "$@" \
		2>>"$FABRIC_DIR/sums"
}

# became NAME CONDITION: what became of those queries, "outcome reason count"
became()
{
	fabric_jq "$1" "select(.type == \"sa\" and ($2)) |
		\"\\(.outcome) \\(.reason)\"" | sort | uniq -c |
		awk '{ print $2, $3, $1 }' | paste -sd, | sed 's/,/, /g'
}

# count NAME PATTERN: lines of its log
count()
{
	grep -c -e "$2" "$FABRIC_DIR/$1/opensm.log"
}

# ended NAME: stops it; its trace is what OpenSM and the clients say
ended()
{
	fabric_opensm_stop "$1" || diag "OpenSM $1 did not end well"
	check "$1: captured is what OpenSM counted" \
		"$records" complete "$FABRIC_DIR/$1/trace"
	check "$1: each query is one record" \
		"$records" match "$FABRIC_DIR/$1/trace" "${asked[@]}"
	asked=()
}

fabric_begin
fabric_clients
fabric_compile send_fail.so -fPIC -shared -ldl

#
# 8 hosts: what OpenSM refuses to look at, and what it cannot send
#
fabric_net 8 2
fabric_ibsim
export SEND_FAIL=$FABRIC_DIR/no-answers
fabric_plugin sm log=all
FABRIC_OPENSM_PRELOAD=$FABRIC_DIR/bin/send_fail.so \
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07' \
	-c 'sm_priority 14'
# the same requester and the same hosts for all, apart by attribute and method
ask Hca2 -k bad -n 4 -w 4 -t 0.3
# three copies within the second after which a query is unanswered
ask Hca3 -k badkey -n 3 -w 3 -t 0.1 -R 2
touch "$SEND_FAIL"
failed=$FABRIC_DIR/failed
fabric_client Hca4 timeout -s INT 50 sa_client -k mixed -n 45 -w 45 -t 0.5 \
	-o "$failed" 2>>"$FABRIC_DIR/sums"
rm "$SEND_FAIL"
failed_sends=$(count sm 'ERR 5430: ')
ask Hca4 -k mixed -n 45 -w 45 -t 20

fabric_plugin sm2
fabric_opensm sm2 Hca5 -w 'Entering STANDBY' "${FABRIC_PLUGIN[@]}" \
	-c 'log_flags 0x07' -c 'sm_priority 1'
standby=$FABRIC_DIR/standby
lid=$(fabric_lid Hca5)
fabric_client Hca6 timeout -s INT 50 sa_client -k mixed,bad -n 49 -w 49 \
	-t 0.5 -s "$lid" -o "$standby" 2>>"$FABRIC_DIR/sums"
fabric_opensm_stop sm2

# a copy that comes when the first is answered is another query by then, so
# that copies are counted and not records
twice=$FABRIC_DIR/twice
fabric_client Hca6 timeout -s INT 50 sa_client -k path -n 20 -D 1 -t 20 \
	-o "$twice" 2>>"$FABRIC_DIR/sums"
fabric_opensm_stop sm || diag "OpenSM sm did not end well"

check 'captured is what OpenSM counted, failed sends included' \
	"$records" complete "$FABRIC_DIR/sm/trace"
check 'every line is a record' fabric_lines "$FABRIC_DIR/sm/trace" \
	"$FABRIC_DIR/sm/audit" "$FABRIC_DIR/sm2/trace"
is "$(became sm '.sm_key_used and .outcome == "unanswered"')" \
	'unanswered sm_key 4' 'a wrong SM_Key is one'
is "$(count sm 'ERR 1A04: ')" 10 'and OpenSM logs each copy of it'
is "$(became sm '.attribute == "0x00f1"')" \
	'unanswered unsupported_attribute 1' 'an unknown attribute is one'
is "$(count sm 'ERR 1A05: ')" 1 'and OpenSM logs it'
is "$(became sm '.method == "GetTraceTable"')" \
	'unanswered unsupported_method 1' 'an unknown method is one'
is "$(became sm '.method == "Set" and .attribute == "NodeRecord"')" \
	'unanswered unsupported_method 1' 'a Set without a handler is one'
is "$(count sm 'ERR 1A02: ')" 1 'and OpenSM logs it'
# OpenSM itself logs it
is "$(grep -h -i 'badc0ffee0ddf00d\|13464654573299691533' \
	"$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit" \
	<(grep 'SNOOP: ' "$FABRIC_DIR/sm/opensm.log"))" '' \
	'the wrong SM_Key itself is in no output'
check 'the log has these queries' fabric_log sm \
	'SNOOP: Get PathRecord from LID .* no answer: wrong SM_Key'
is "$(fabric_jq sm 'select(.type == "sa" and .retries == 2) | .reason' |
	paste -sd,)" 'sm_key,sm_key,sm_key' \
	'a query that is sent again twice is one record with two retries'
is "$(fabric_jq sm 'select(.type == "sa" and .retries > 0 and
	.outcome == "answered") | .retries' | grep -vc 1)" 0 \
	'an answered one has one'

# what a client sent and got: the answers that failed are the others
"$records" match "$FABRIC_DIR/sm/trace" "${asked[@]}" --failed "$failed" \
	--twice "$twice" >"$FABRIC_DIR/match" 2>&1
is $? 0 'each query is one record'
diag "$(cat "$FABRIC_DIR/match")"
is "$(became sm '.outcome == "failed"')" 'failed send_error 45' \
	'an answer that cannot be sent is one'
is "$failed_sends" 45 'and OpenSM logs each'

asked=("$standby")
check 'a standby: captured is what OpenSM counted' \
	"$records" complete "$FABRIC_DIR/sm2/trace"
check 'a standby: each query is one record' \
	"$records" match "$FABRIC_DIR/sm2/trace" "${asked[@]}"
is "$(became sm2 true)" 'unanswered sm_not_master 49' \
	'a standby SM is not the master'
is "$(count sm2 'SA MAD while SM not MASTER')" 49 'and logs each'
fabric_ibsim_stop
asked=()

#
# 2,000 hosts: a sweep that is long enough to be asked in
#
fabric_net 2000 4
fabric_ibsim
# The first one leaves LIDs and routes behind. Before there are any only the
# permissive LID leads anywhere, and only from the SM's own host.
fabric_plugin first
fabric_opensm first Hca1 -w 'Setting IS_SM' "${FABRIC_PLUGIN[@]}" \
	-c 'log_flags 0x07'
ask Hca1 -s 0xffff -k path_gid -n 10 -w 10 -t 0.3
check 'OpenSM comes up' fabric_opensm_wait first 'SUBNET UP'
ended first
is "$(became first '.reason == "sm_not_master" or .reason == "first_sweep"' |
	awk '{ for (i = 3; i <= NF; i += 3) n += $i } END { print n }')" 10 \
	'before there is a LID: queries come too early'

ask_bg Hca3 -d 8 -w 4 -t 0.2
fabric_plugin second
fabric_opensm second Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07'
wait "$FABRIC_CLIENT_PID"
ended second
standing=$(count second 'SA MAD while SM not MASTER')
sweeping=$(count second 'SA MAD while SM in first sweep')
check 'queries came before OpenSM was master, and in its first sweep' \
	test "$standing" -gt 0 -a "$sweeping" -gt 0
is "$(became second '.outcome != "answered"')" \
	"unanswered first_sweep $sweeping, unanswered sm_not_master $standing" \
	'each has the reason that OpenSM had'

#
# overload: slow queries and a queue that may not wait
#
fabric_plugin slow
fabric_opensm slow Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07' \
	-c 'single_thread TRUE' -c 'max_msg_fifo_timeout 1'
waiting=()
for i in 4 5 6; do
	ask_bg "Hca$i" -k portinfo_table,path_all,node -n 60 -w 30 -t 4
	waiting+=("$FABRIC_CLIENT_PID")
done
wait "${waiting[@]}"
ended slow
dropped=$(count slow 'dispatcher is already overloaded')
diag "dropped by overload: $dropped; $(became slow true)"
check 'OpenSM drops queries for overload' test "$dropped" -gt 0
# The queue moves while OpenSM looks at it: after the tap did, that is. Where
# the tap saw it below the limit it knows no reason.
overload=$(became slow '.reason == "overload"' | awk '{ print $3 + 0 }')
unknown=$(became slow '.reason == "unknown"' | awk '{ print $3 + 0 }')
is $((overload + unknown)) "$dropped" 'as many records say so'
check 'nearly always' test $((${unknown:-0} * 10)) -le "$dropped"
fabric_ibsim_stop
asked=()

#
# the port goes away while OpenSM answers
#
fabric_net 400
fabric_ibsim
fabric_plugin gone
fabric_opensm gone Hca1 "${FABRIC_PLUGIN[@]}"
fabric_client_bg Hca2 sa_client -k node -w 200 -d 30 -o /dev/null \
	2>>"$FABRIC_DIR/sums"
fabric_wait_for 20 fabric_recorded gone '.type == "sa"' 1000
# what it has not read yet it answers in vain
kill -s STOP "${FABRIC_SM[gone]}"
sleep 0.3
fabric_kill "$FABRIC_IBSIM_PID" KILL
kill -s CONT "${FABRIC_SM[gone]}"
wait "$FABRIC_CLIENT_PID"
fabric_opensm_stop gone || diag "OpenSM gone did not end well"
failed_sends=$(count gone 'ERR 5430: .* Method 0x81')
check 'answers could not be sent' test "$failed_sends" -gt 0
is "$(became gone '.outcome != "answered"')" \
	"failed send_error $failed_sends" 'and each is one record'
check 'a port that is gone: captured is what OpenSM counted' \
	"$records" complete "$FABRIC_DIR/gone/trace"

fabric_end
