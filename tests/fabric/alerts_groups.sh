#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Multicast groups and services: why OpenSM refuses a join, for each cause that it
# can have here, who joins and does not leave, what is registered and removed.
# OpenSM's own log (ERR 1B..) is the measure of the causes.
#
# check calls functions by name, and jq has variables of its own
# shellcheck disable=SC2317,SC2016
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# ask HOST REQUEST...: the statuses of the answers, with a blank between them
ask()
{
	local host=$1

	shift
	fabric_client "$host" timeout 20 "$FABRIC_DIR/bin/group_client" "$@" \
		2>>"$FABRIC_DIR/errors" |
		cut -d ' ' -f 2 | paste -sd ' '
}

# alerts FILTER: of the alerts in the audit
alerts()
{
	grep '}$' "$FABRIC_DIR/sm/audit" |
		jq -r "select(.type == \"alert\") | $1"
}

has_alert()
{
	alerts "select($1) | 1" | grep -q 1
}

# leaks: what was said of groups that are not left
leaks()
{
	alerts 'select(.alert == "multicast_leak") |
		"\(.phase) \(.requester.name // .subject) \(.groups // .mlids)"' |
		paste -sd,
}

# refused GROUP STATUS CAUSE OPENSM REQUEST: by Hca3, of ff15:a01b::GROUP
refused()
{
	local said

	is "$(ask Hca3 "$5,group=0x$1")" "$2" "$5: OpenSM refuses it"
	fabric_wait_for 5 has_alert \
		".alert == \"join_failed\" and (.mgid | endswith(\":$1\"))"
	said=$(alerts "select(.alert == \"join_failed\" and .phase == \"begin\" and
		(.mgid | endswith(\":$1\"))) | \"\\(.cause) \\(.requester.name)\"")
	is "$said" "$3 Hca3" "$5: it is said why"
	[ -z "$4" ] || check "$5: OpenSM logs ERR $4" fabric_log sm "ERR $4: "
}

fabric_begin
fabric_compile group_client "$FABRIC_LIB/../clients/umad_client.c" -libumad
fabric_net 8 2
fabric_ibsim
mkdir -p "$FABRIC_DIR/sm"
# Hca2 alone has P_Key 0x123
cat >"$FABRIC_DIR/sm/partitions.conf" <<'END'
Default=0x7fff, ipoib, defmember=full: ALL, SELF=full;
Few=0x123: 0x100003=full;
END
fabric_plugin sm groups=5/1
fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0'
# until the names and what ports can are known
sleep 1.5

#
# refused joins
#
is "$(ask Hca2 create,group=0x1,state=1 create,group=0x2,pkey=0x8123)" \
	'0x0000 0x0000' 'two groups are created'
refused 101 0x0600 no_such_group 1B11 join
refused 102 0x0600 missing_components 1B11 create,-sl
refused 103 0x0600 missing_components 1B18 join,-state
refused 104 0x0200 join_state 1B10 create,state=0x50
refused 105 0x0200 no_such_group 1B10 create,state=0x54
refused 106 0x0500 port_gid 1B40 create,prefix=0xfe80000000000001
refused 107 0x0200 port_gid '' create,guid=0xdead
refused 108 0x0200 p_key '' create,pkey=0x8000
refused 109 0x0200 p_key 1B14 create,pkey=0x8123
refused 10a 0x0200 mtu '' create,mtu=0x86
refused 10b 0x0200 rate 1B12 create,rate=0x96
refused 10c 0x0200 rate 1B26 create,rate=0x16
refused 10d 0x0200 mgid 1B01 create,hi=0xfe15a01b00000000
refused 10e 0x0200 mgid 1B24 create,hi=0xff12a01b00000000
refused 1 0x0200 differs_from_group 1B1A join,qkey=1
refused 2 0x0200 p_key 1B14 join
# what Hca2 has joined Hca4 cannot change
guid=0x100003
is "$(ask Hca4 "join,group=1,guid=$guid")" 0x0200 \
	'OpenSM refuses to change the membership of another'
fabric_wait_for 5 has_alert '.cause == "foreign_port"'
check 'and it is said why' has_alert \
	'.cause == "foreign_port" and .requester.name == "Hca4"'
check 'and OpenSM logs it' fabric_log sm 'ERR 1B13: '
is "$(alerts 'select(.mgid == "ff15:a01b::102") | .missing')" sl \
	'what is missing is named'
is "$(alerts 'select(.mgid == "ff15:a01b::10b") | .asked')" '600 Gb/s' \
	'what is asked for, too'
check 'the log has it' fabric_log sm \
	'SNOOP: .*join_failed.*"Hca3".*cannot join ff15:a01b::102'

#
# groups that are not left
#
is "$(ask Hca5 create,group=0x200,count=5 | tr ' ' '\n' | sort -u)" 0x0000 \
	'five groups are joined'
is "$(leaks)" '' 'so many may be'
is "$(ask Hca5 create,group=0x205)" 0x0000 'a sixth is joined'
fabric_wait_for 5 has_alert '.alert == "multicast_leak"'
is "$(leaks)" 'begin Hca5 6' 'which is one too many'
is "$(ask Hca5 leave,group=0x200 leave,group=0x201)" '0x0000 0x0000' \
	'two are left'
fabric_wait_for 5 has_alert '.alert == "multicast_leak" and .phase == "end"'
is "$(leaks)" 'begin Hca5 6,end Hca5 4' 'which ends it'
# OpenSM makes up MGIDs: each join is another group
is "$(ask Hca6 create,group=0,hi=0{,}{,}{,} | tr ' ' '\n' | sort | uniq -c |
	xargs)" '8 0x0000' 'Hca6 joins groups that OpenSM makes up'
fabric_wait_for 5 has_alert '.subject == "fabric"'
is "$(alerts 'select(.requester.name == "Hca6") |
	"\(.phase) \(.groups)"')" 'begin 6' 'they are counted'
is "$(alerts 'select(.subject == "fabric" and .phase == "begin") |
	"\(.mlids > 10) \(.mlids_max) \(.joiners | split(",")[0])"')" \
	'true 1024 Hca6: 8' 'too many multicast LIDs are in use'
fabric_ibsim_do 'Unlink "Hca6"[1]'
kill -s HUP "${FABRIC_SM[sm]}"
fabric_wait_for 10 has_alert '.requester.name == "Hca6" or
	(.subject | endswith("10000b")) and .phase == "end"'
fabric_wait_for 10 has_alert '.subject == "fabric" and .phase == "end"'
is "$(alerts 'select(.subject == "port 0x000000000010000b") |
	"\(.phase) \(.groups)"' | paste -sd,)" 'begin 6,end 0' \
	'a port that goes has left them'
check 'then there are few again' has_alert \
	'.subject == "fabric" and .phase == "end" and .mlids <= 9'

#
# services
#
is "$(ask Hca7 register,id=0x77,name=disks,lease=300,key=0x5ec2e75ec2e7abcd \
	register,id=0x78 remove,id=0x77 remove,id=0x79)" \
	'0x0000 0x0000 0x0000 0x0300' 'services are registered and removed'
fabric_wait_for 5 has_alert '.alert == "service_removed"'
is "$(alerts 'select(.alert | startswith("service_")) |
	"\(.alert) \(.severity) \(.phase) \(.requester.name) \(.service_id) \(.service_name) \(.lease_seconds)"' |
	paste -sd,)" \
	"service_registered info once Hca7 0x0000000000000077 disks 300,\
service_registered info once Hca7 0x0000000000000078  4294967295,\
service_removed info once Hca7 0x0000000000000077  null" 'it is said of each'
check 'the log has it' fabric_log sm \
	'SNOOP: .*"Hca7".*registered service "disks"'

#
# the end
#
fabric_opensm_stop sm || diag 'OpenSM did not end well'
is "$(alerts 'select(.alert == "join_failed" and .phase == "end") | 1' | wc -l)" \
	"$(alerts 'select(.alert == "join_failed" and .phase == "begin") | 1' |
		wc -l)" 'what begins ends'
check 'every line is a record' fabric_lines "$FABRIC_DIR/sm/trace" \
	"$FABRIC_DIR/sm/audit"
is "$(grep -ci 5ec2e75ec2e7abcd "$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit" |
	cut -d : -f 2 | paste -sd,)" 0,0 'no service key is in any output'

fabric_end
