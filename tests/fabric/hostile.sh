#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two hosts send OpenSM whatever comes to their mind (sa_fuzz). With the
# plugin tracing, auditing and logging all of it OpenSM lives on, every line
# of the files is valid, and nothing from the wire gets into the log as it is.
# Then the same for a while under valgrind.
#
#	HOSTILE_SECONDS		for how long (10)
#	HOSTILE_SEED		of the first host; the second has one more
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

seconds=${HOSTILE_SECONDS:-10}
seed=${HOSTILE_SEED:-$((RANDOM * 32768 + RANDOM))}

# fuzz SECONDS: from two hosts
fuzz()
{
	local host pids=()

	for host in 2 3; do
		fabric_client_bg Hca$host timeout -s INT $(($1 + 60)) \
			sa_fuzz -d "$1" -s $((seed + host - 2)) \
			2>"$FABRIC_DIR/fuzz.$host"
		pids+=("$FABRIC_CLIENT_PID")
	done
	wait "${pids[@]}"
	diag "$(cat "$FABRIC_DIR"/fuzz.*)"
}

answers()
{
	fabric_client Hca4 timeout 60 sa_client -n 20 -t 20 \
		-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sa.sum" || return 1
	grep -q ' answered 20 none 0 ' "$FABRIC_DIR/sa.sum"
}

# clean FILE: our log lines have no control characters, and are UTF-8
clean()
{
	grep -a 'SNOOP: \|ERR 5D' "$1" >"$FABRIC_DIR/ours"
	! LC_ALL=C grep -aPn '[\x00-\x08\x0b-\x1f\x7f]' "$FABRIC_DIR/ours" &&
		! LC_ALL=C.UTF-8 grep -anv '^.*$' "$FABRIC_DIR/ours"
}

well()
{
	fabric_lines "$1" || return 1
	echo "${N[lines]} lines; complete ${N[complete]}, captured" \
		"${N[captured]}, OpenSM ${N[opensm]}, lost ${N[lost]}"
	[ "${N[last]}" = stop ]
}

fabric_begin
fabric_clients
fabric_net 8 2
fabric_ibsim
diag "seeds $seed and $((seed + 1))"

fabric_plugin sm log=all
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07'
fuzz "$seconds"
check 'OpenSM lives' fabric_opensm_alive sm
check 'and answers' answers
check 'and ends' fabric_opensm_stop sm
check 'every line of the trace is valid' well "$FABRIC_DIR/sm/trace"
diag "$(cat "$FABRIC_DIR/check")"
if [ "${N[lost]}" -eq 0 ]; then
	is "${N[complete]}" true 'and all of it is there'
else
	is "$((N[captured] + N[lost] >= N[opensm]))" 1 'or counted as lost'
fi
diag "${N[sa]} sa (${N[answered]} answered, ${N[unanswered]} unanswered," \
	"${N[failed]} failed), ${N[mad]} mad, ${N[trap]} trap," \
	"${N[alert]} alert"
check 'every line of the audit is valid' well "$FABRIC_DIR/sm/audit"
check 'the log has lines of ours' fabric_log sm 'SNOOP: '
check 'and no byte from the wire as it is' clean "$FABRIC_DIR/sm/opensm.log"
diag "$(grep -ac 'SNOOP: ' "$FABRIC_DIR/sm/opensm.log") lines in the log"
rm -r "$FABRIC_DIR/sm"

#
# valgrind
#
# OpenSM and its libraries have errors of their own, so only what has one of
# our objects in its stack counts. Leaks: those that nothing points to any more.
ours='/(libosmsnoop|libosmvendor_snoop)[^/ ]*\.so'

# errors FILE: of valgrind's reports those with a frame of ours
errors()
{
	"$FABRIC_LIB/memcheck.py" "$ours" "$1"
}

if [ -n "${SANITIZER_RUNTIME:-}" ]; then
	diag 'valgrind runs it in the builds without sanitizers'
elif ! command -v valgrind >/dev/null; then
	if [ -n "${FABRIC_REQUIRE:-}" ]; then
		fail 'valgrind' 'there is none'
	else
		skip 'valgrind' 'there is none'
	fi
else
	FABRIC_OPENSM_WRAP="valgrind -q --xml=yes --xml-file=$FABRIC_DIR/vg.xml
		--leak-check=full --show-leak-kinds=definite --num-callers=40
		--keep-debuginfo=yes --fair-sched=try --error-limit=no
		--suppressions=$FABRIC_LIB/valgrind.supp"
	fabric_plugin sm log=all
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'log_flags 0x07'
	fuzz "$((seconds > 5 ? 5 : seconds))"
	check 'valgrind: OpenSM answers' answers
	check 'valgrind: OpenSM ends' fabric_opensm_stop sm
	check 'valgrind: every line of the trace is valid' \
		well "$FABRIC_DIR/sm/trace"
	diag "$(cat "$FABRIC_DIR/check")"
	check 'valgrind: no error and no leak of ours' \
		errors "$FABRIC_DIR/vg.xml"
	diag "$(cat "$FABRIC_DIR/check")"
fi

fabric_end
