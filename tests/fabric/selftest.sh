#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shows that the simulated fabric and the test clients do with plain OpenSM
# what the tests of osmsnoop build on. Numbers are printed, not judged.
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# statuses FILE: how often each status came, "0x0000 3, none 1"
statuses()
{
	awk '!/^#/ { n[$7]++ } END { for (s in n) print s, n[s] }' "$1" |
		sort | paste -sd, | sed 's/,/, /g'
}

# field NAME FILE: a number of a client's last line
field()
{
	sed -n "s/.* $1 \([0-9.]*\).*/\1/p" "$2" | tail -n 1
}

sa()
{
	local host=$1

	shift
	fabric_client "$host" timeout 60 sa_client -o "$FABRIC_DIR/sa" "$@" \
		2>"$FABRIC_DIR/sa.sum" || return 1
}

count()
{
	grep -c -e "$2" "$FABRIC_DIR/$1/opensm.log"
}

fabric_begin
fabric_clients

#
# 8 hosts, 2 switches
#
fabric_net 8 2
fabric_ibsim
fabric_opensm sm Hca1 -c 'log_flags 0x07'
ok 'OpenSM brings up 8 hosts on 2 switches'
check 'saquery' fabric_client Hca2 timeout 20 saquery -N
check 'smpquery' fabric_client Hca2 timeout 20 smpquery nodeinfo 1
check 'ibqueryerrors' fabric_client Hca2 timeout 20 ibqueryerrors
is "$(fabric_lid Hca1)" 1 'the SM has LID 1'

# The flows that a simulator allows: s and m fail with plain OpenSM here too,
# a and f wait for answers that OpenSM never sends (to SubnAdmSet of
# SMInfoRecord for one: ERR 1A02).
for flow in c q; do
	check "osmtest -f $flow" fabric_client Hca4 timeout 30 osmtest \
		-f "$flow" -i "$FABRIC_DIR/osmtest.dat" \
		-l "$FABRIC_DIR/osmtest.log"
done

#
# what sa_client gets
#
sa Hca2 -k mixed -n 45
is "$(field answered "$FABRIC_DIR/sa.sum")" 45 'every mixed query is answered'
diag "mixed: $(statuses "$FABRIC_DIR/sa")"
awk '!/^#/ { print "# " $10, $3, $4, $5, $7 }' "$FABRIC_DIR/sa"

sa Hca2 -k refused -n 5
is "$(field answered "$FABRIC_DIR/sa.sum")" 5 'every refused query is answered'
awk '!/^#/ { print "# " $10, $3, $4, $5, $7 }' "$FABRIC_DIR/sa"

sa Hca2 -k bad -n 4 -w 4 -t 0.5
is "$(field none "$FABRIC_DIR/sa.sum")" 4 'OpenSM answers no bad query'
for e in 1A01 1A02 1A04 1A05; do
	is "$(count sm "ERR $e:")" 1 "and logs ERR $e once"
done

sa Hca2 -k badkey -n 1 -t 0.1 -R 2
is "$(field resent "$FABRIC_DIR/sa.sum")" 2 'an unanswered query is sent again'
sa Hca2 -k path -n 10 -D 1
is "$(field stray "$FABRIC_DIR/sa.sum")" 10 'a duplicate is answered as well'

sa Hca2 -n 3 -s 77
is "$(field undeliverable "$FABRIC_DIR/sa.sum")" 3 'no such LID: undeliverable'

# the TID in OpenSM's log is what sa_client says the SA sees
sa Hca3 -k badattr -n 1 -t 0.2 -T 0x5eed
tid=$(awk 'END { print $2 }' "$FABRIC_DIR/sa")
check "OpenSM saw TID $tid" fabric_log sm \
	"trans_id\.*$(printf '0x%X' "$tid" | tr 'A-F' 'a-f')"

#
# traps and reports
#
fabric_client Hca4 trap_client >"$FABRIC_DIR/traps" 2>&1
missing=
for n in 128 129 130 131 144 145 256 257 258 259; do
	fabric_log sm "Received Generic Notice type:. num:$n " ||
		missing="$missing $n"
done
is "$missing" '' 'OpenSM logs all ten traps'

# to a file, because trap_client answers OpenSM in the meantime
fabric_client Hca5 trap_client -r answer 144 257 >"$FABRIC_DIR/traps" 2>&1
check 'Reports are received and answered' \
	grep -q 'number 257 .*answered' "$FABRIC_DIR/traps"
before=$(count sm 'ERR 5410: ')
fabric_client Hca6 trap_client -r none 257 >"$FABRIC_DIR/traps" 2>&1
check 'an undeliverable Report is a send error' \
	test "$(count sm 'ERR 5410: ')" -gt "$before"
fabric_client Hca7 trap_client -r ignore 257 >"$FABRIC_DIR/traps" 2>&1
check 'a Report can stay unanswered' \
	grep -q '^report .*number 257 issuer [0-9]*$' "$FABRIC_DIR/traps"

# ibsim's console: a link goes down, its switch sends trap 128
fabric_ibsim_do 'Unlink "Hca8"[1]'
check 'a link that goes down is noticed' fabric_wait_for 20 fabric_log sm \
	'Removed port with GUID:0x000000000010000f'

#
# a second OpenSM
#
fabric_opensm sm2 Hca2 -w 'Entering STANDBY' -c 'sm_priority 0' \
	-c 'log_flags 0x07' -c 'sminfo_polling_timeout 1000'
ok 'a second OpenSM stands by'
sa Hca3 -s "$(fabric_lid Hca2)" -k mixed -n 45 -w 45 -t 0.5
is "$(field none "$FABRIC_DIR/sa.sum")" 45 'a standby SM answers nothing'
is "$(count sm2 'SA MAD while SM not MASTER')" 45 'and says so in its log'
check 'the master ends on SIGINT' fabric_opensm_stop sm
check 'the second takes over' fabric_opensm_wait sm2 'SUBNET UP' 30

#
# hostile
#
fabric_client Hca4 timeout -s INT 60 sa_fuzz -d 5 2>"$FABRIC_DIR/fuzz"
diag "$(cat "$FABRIC_DIR/fuzz")"
check 'OpenSM survives sa_fuzz' fabric_opensm_alive sm2
sa Hca3 -n 10
is "$(field answered "$FABRIC_DIR/sa.sum")" 10 'and still answers'
check 'and ends on SIGTERM' fabric_opensm_stop sm2 TERM

#
# 512 hosts: the rate; 2,000 hosts: a first sweep that is long enough
#
fabric_ibsim_stop
fabric_net 512
fabric_ibsim
fabric_opensm sm Hca1
ok 'OpenSM brings up 512 hosts'
for w in 1 64; do
	sa Hca2 -k path -d 2 -w $w
	diag "512 hosts, window $w: $(field rate "$FABRIC_DIR/sa.sum")" \
		'queries/s'
	is "$(field none "$FABRIC_DIR/sa.sum")" 0 "window $w: none unanswered"
done
sa Hca2 -k mixed -d 1 -w 64
diag "512 hosts, window 64, mixed: $(field rate "$FABRIC_DIR/sa.sum")" \
	'queries/s'
fabric_opensm_stop sm

fabric_ibsim_stop
fabric_net 2000 4
fabric_ibsim
# Before there are LIDs only the permissive one leads anywhere, and only from
# the SM's own host. Once OpenSM is up it answers none of these but
# ClassPortInfo: it does not find the requester's port (ERR 1F16).
fabric_opensm first Hca1 -w 'Setting IS_SM' -c 'log_flags 0x07'
sa Hca1 -s 0xffff -k path_gid -n 10 -w 10 -t 0.3
is "$(field none "$FABRIC_DIR/sa.sum")" 10 \
	'queries by the permissive LID are ignored in the very first sweep'
check 'OpenSM saw them' test $(($(count first 'SM not MASTER') +
	$(count first 'SM in first sweep'))) -eq 10
check 'OpenSM comes up' fabric_opensm_wait first 'SUBNET UP'
sa Hca1 -s 0xffff -k classportinfo -n 1
is "$(field answered "$FABRIC_DIR/sa.sum")" 1 \
	'ClassPortInfo by the permissive LID is answered'
ok 'OpenSM brings up 2,000 hosts'
fabric_opensm_stop first
# LIDs and routes stay, so that the next one can be asked while it sweeps
fabric_client_bg Hca3 timeout 60 sa_client -d 4 -w 4 -t 0.1 \
	-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sa.sum"
fabric_opensm sm Hca1 -c 'log_flags 0x07'
wait "$FABRIC_CLIENT_PID"
standing=$(count sm 'SA MAD while SM not MASTER')
sweeping=$(count sm 'SA MAD while SM in first sweep')
diag "ignored: $standing while not master, $sweeping in the first sweep"
check 'queries come before OpenSM is master' test "$standing" -gt 0
check 'queries come in its first sweep' test "$sweeping" -gt 0
is "$(field none "$FABRIC_DIR/sa.sum")" $((standing + sweeping)) \
	'those and no others are unanswered'

fabric_end
