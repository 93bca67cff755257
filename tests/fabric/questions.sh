#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# doc/questions.md: each command that it shows, run on the files of a real
# OpenSM on a fabric where all of that happens, says what stands there, but for
# its numbers.
#
#	questions.sh		compare
#	questions.sh show	write the page as it would be by this run
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

page=${top_srcdir:?}/doc/questions.md
dir=

# ask HOST ARGUMENT...: SA queries
ask()
{
	fabric_client "$1" timeout 60 sa_client -o /dev/null "${@:2}" \
		2>/dev/null
}

# groups HOST REQUEST...: joins, leaves, services
groups()
{
	fabric_client "$1" timeout 20 "$FABRIC_DIR/bin/group_client" "${@:2}" \
		>/dev/null
}

alerted()
{
	grep -q "\"alert\":\"$1\"" "$dir/audit.jsonl"
}

everything_happens()
{
	local host

	dir=$FABRIC_DIR/sm
	FABRIC_PLUGIN=(-c 'event_plugin_name osmsnoop' -c
		"event_plugin_options osmsnoop.config=$FABRIC_DIR/conf")
	cat >"$FABRIC_DIR/conf" <<-END
		trace $dir/trace.jsonl
		audit $dir/audit.jsonl
		capture $dir/sa.pcap
		listen none
		metrics $dir/osmsnoop.prom
		unanswered 1
		storm 2000/10
		trap_storm 5/60
		timeouts 2/60
		groups 5/90
	END
	fabric_opensm sm Hca1 -n "${FABRIC_PLUGIN[@]}" -c 'sm_priority 5' \
		-c 'sweep_interval 1' -c 'polling_retry_number 2' \
		-c 'log_flags 0x03'
	fabric_opensm_wait sm 'SUBNET UP' 20
	fabric_opensm other Hca2 -n -c 'sm_priority 1'
	fabric_opensm_wait other 'Entering STANDBY' 20
	sleep 1.2
	ask Hca3 -k path -n 3000 -w 16
	for host in Hca4 Hca5 Hca6; do
		ask $host -k path_all,node,portinfo_table -n 30
	done
	fabric_client Hca4 saquery -p --slid "$(fabric_lid Hca4)" \
		--dlid "$(fabric_lid Hca1)" >/dev/null 2>&1
	fabric_client Hca6 timeout 10 saquery --smkey 0x66 -N >/dev/null 2>&1
	groups Hca5 create,group=0x100 join,group=0x101 \
		join,group=0x100,state=0 leave,group=0x100
	groups Hca7 create,group=0x200,count=8 \
		register,id=0x77,name=disks,lease=300
	fabric_client Hca7 trap_client -n 7 131 >/dev/null 2>&1
	fabric_client Hca8 trap_client -n 1 257 >/dev/null 2>&1
	fabric_ibsim_do 'Error "Hca8"[1] 100'
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -s HUP "${FABRIC_SM[sm]}"
		fabric_wait_for 3 alerted smp_timeouts && break
	done
	fabric_ibsim_do 'Error "Hca8"[1] 0'
	fabric_wait_for 25 alerted foreign_sm
	fabric_opensm_stop sm || diag 'OpenSM did not end well'
	fabric_opensm_stop other || diag 'the other one did not end well'
}

# answer FILE: the page, with what its commands say now
answer()
{
	local line command='' shown=

	while IFS= read -r line; do
		case $line in
		"$ "*)
			command=${line#"$ "}
			printf '%s\n' "$line"
			shown=yes
			while [[ $command == *\\ ]]; do
				IFS= read -r line
				printf '%s\n' "$line"
				command="${command%\\}$line"
			done
			(cd "$dir" && eval "$command" 2>&1) </dev/null
			;;
		'```'*)
			shown=
			printf '%s\n' "$line"
			;;
		*)
			[ -n "$shown" ] || printf '%s\n' "$line"
			;;
		esac
	done <"$1"
}

# alike FILE: without numbers, whose width changes too
alike()
{
	sed -E 's/0x[0-9a-f]+/#/g; s/[0-9][0-9:.,TZ-]*/#/g; s/ +/ /g' "$1"
}

same()
{
	diff <(alike "$page") <(alike "$FABRIC_DIR/page")
}

fabric_begin
fabric_clients
fabric_compile group_client "$FABRIC_LIB/../clients/umad_client.c" -libumad
fabric_net 8 2
fabric_ibsim
everything_happens
ln -s "$(realpath "$top_builddir")/tools/osmsnoop" "$FABRIC_DIR/bin/osmsnoop"
PATH=$FABRIC_DIR/bin:$PATH
unset NO_COLOR
TZ=UTC LC_ALL=C.UTF-8 answer "$page" >"$FABRIC_DIR/page"
if [ "${1:-}" = show ]; then
	cp "$FABRIC_DIR/page" "$page.new"
	exit
fi
check 'each command says what stands there' same
check 'there are fifteen questions and more' test "$(grep -c '^## ' "$page")" \
	-ge 15
fabric_end
