#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# tools/sa_observe, the example for authors: every query type of the vendor
# layer's SA client, synchronous and not, with a GRH and without. Each request
# and its response are snooped, and each result is what the SA tells saquery.
# That a request has a GRH is what the vendor layer was asked for: ibsim
# carries none. Tables are small enough for ibsim, which cuts longer ones. At
# the end once more with the double of a kernel, which carries both.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lib=libosmvendor_snoop.so.1
source=$FABRIC_LIB/../../tools/sa_observe.c

# build NAME LIBRARY...: it, with the libraries in this order
build()
{
	local name=$1 sanitize=()

	shift
	case ${SANITIZER_RUNTIME:-} in
	*asan*) sanitize=(-fsanitize=address -fsanitize=undefined) ;;
	esac
	"${CC:-cc}" -O2 -Wall -Wextra "${sanitize[@]}" \
		-I"$FABRIC_LIB/../../include" \
		-isystem "${OPENSM_INCLUDEDIR:-/usr/include/infiniband}" \
		-o "$out/bin/$name" "$source" -Wl,--no-as-needed \
		-L"${top_builddir:-$FABRIC_LIB/../..}/vendor/.libs" "$@" \
		-lopensm -losmcomp || bail "cannot compile $name"
}

# observe NAME [ARGUMENT...]: runs $program on $host; what it prints is in
# $out/NAME.out and .err, a line a query in $out/NAME, and in NAME.types
# without those by which it finds its target and has a service to ask for
observe()
{
	local name=$1 rc=0

	shift
	fabric_client "$host" timeout -s KILL 60 "$program" "$@" \
		>"$out/$name.out" 2>"$out/$name.err" || rc=$?
	flatten <"$out/$name.out" >"$out/$name"
	awk '/ SubnAdm(Set|Delete) ServiceRecord / { ready = 1; next }
	     ready' "$out/$name" >"$out/$name.types"
	return $rc
}

# flatten: of each query one line: type, sync, grh; method, attribute, tid,
# LID and GRH of the request, and of the response; then in which order they
# were seen, result, status, number of records, and these
flatten()
{
	awk '
	$1 == "query" {
		query = $2 " " $3 " " $4
		request = response = "- - - - -"
		seen = records = ""
	}
	$1 == "mad" {
		mad = $3 " " $4 " " $6 " " $8 " " $10
		seen = seen ($2 == "sent" ? "s" : "r")
		if ($2 == "sent")
			request = mad
		else
			response = mad
	}
	$1 == "record" { records = records " " $2 }
	$1 == "result" {
		print query, request, response, seen, $2, $4, $6 records
	}'
}

# seen FILE: of each query first the one request, then the one response, of
# one transaction, which is no other's; with a GRH where one was wanted
seen()
{
	awk '$14 != "sr" || $6 != $11 || tid[$6]++ ||
	     $8 != ($3 == "grh") || $7 != $12 { print; bad = 1 }
	     END { exit bad || !NR }' "$1"
}

# outcome NAME TYPE: how often each way of asking went how
outcome()
{
	awk -v type="$2" '$1 == type {
		print $2, $3, $4, $5, $9, $10, $15, $16, $17
	}' "$out/$1.types" | sort | uniq -c | sed 's/^ *//'
}

# record NAME TYPE: the one that all its queries brought
record()
{
	local records

	records=$(awk -v type="$2" '$1 == type { print $18 }' \
		"$out/$1.types" | sort -u)
	case $records in
	*$'\n'*) echo differ ;;
	*) echo "$records" ;;
	esac
}

# bytes HEX OFFSET LENGTH
bytes()
{
	printf '%s' "${1:$2*2:$3*2}"
}

# sa [ARGUMENT...]: what saquery prints, asked from another host, into
# $out/sa; SM_Key 1, which OpenSM trusts, makes it tell all
sa()
{
	fabric_client Hca3 timeout -s KILL 20 saquery --smkey 1 "$@" \
		>"$out/sa" 2>&1
}

# said NAME: a value in it, without the dots
said()
{
	sed -n "s/^[[:space:]]*$1:\{0,1\}\.\{2,\} *//p" "$out/sa" | head -n 1
}

# hex BYTES NUMBER; text BYTES TEXT; gid TEXT: as it is on the wire
hex()
{
	printf "%0$(($1 * 2))x" "$2"
}

text()
{
	printf '%s' "$2" | od -An -v -tx1 | tr -d ' \n' |
		awk -v n="$(($1 * 2))" '{ printf "%s", $0
			for (i = length; i < n; i++) printf "0" }'
}

gid()
{
	python3 -c 'import ipaddress, sys
print(ipaddress.IPv6Address(sys.argv[1]).packed.hex(), end="")' "$1"
}

# start_sm NAME: with something in every table
start_sm()
{
	fabric_opensm "$1" Hca1 -c 'sweep_interval 0' -i <<'CONF'
qos TRUE
qos_max_vls 8
qos_vlarb_high 0:4,1:8
qos_vlarb_low 0:0,1:64,2:32
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3
CONF
}

# refused TEXT ARGUMENT...: what it says of these begins so; exit 2, and the
# types are listed
refused()
{
	local text=$1 rc=0

	shift
	observe refused "$@" || rc=$?
	is "$rc $(sed -n '1s/^[^ ]*sa_observe: //p' "$out/refused.err")" \
		"2 $text" "refused: $*"
	is "$(sed -n 's/^\t//p' "$out/refused.err" | wc -l) $(wc -l \
		<"$out/refused.out")" '16 0' '  and the types are listed'
}

case ${SANITIZER_RUNTIME:-} in
*tsan*)
	# it ends a process in which the vendor layer cancels its receiver,
	# and with that goes what was printed
	echo '1..0 # SKIP not with TSan: osm_vendor_delete() ends the example'
	exit 0
	;;
esac
fabric_begin
out=$FABRIC_DIR
host=Hca2
program=${top_builddir:-/nowhere}/tools/sa_observe
if [ ! -x "$program" ]; then
	build sa_observe -losmvendor_snoop -losmvendor
	program=$out/bin/sa_observe
fi
build late -losmvendor -losmvendor_snoop
fabric_clients
fabric_net 4
fabric_ibsim

#
# what is wrong, and an SM that is not there
#
long=$(printf '%064d' 0)
refused "invalid option -- 'z'" -z
refused "option requires an argument -- 'q'" -q
refused "-q: 'PATHS' is not accepted" -q PATH_REC_BY_GIDS -q PATHS
refused "-q: 'path_rec' is not accepted" -q path_rec
refused "-n: '0' is not accepted" -n 0
refused "-n: '-1' is not accepted" -n -1
refused "-n: '2x' is not accepted" -n 2x
refused "-p: '' is not accepted" -p ''
refused "-t: 'Hca3' is not accepted" -t Hca3
refused "-s: '$long' is not accepted" -s "$long"
observe h -h
is "$? $(grep -c '^	' "$out/h.out") $(wc -l <"$out/h.err")" '0 16 0' \
	'-h lists the types'
observe nobody
is "$? $(cat "$out/nobody.err")" \
	'1 sa_observe: no SM, or it does not know the target' 'no SM: exit 1'

#
# every type
#
start_sm sm
lid=$(fabric_lid Hca2)
sm_lid=$(fabric_lid Hca1)
check 'every type: exit 0' observe all
is "$(cat "$out/all.err")" '' 'every type: no error'
check 'every type: request and response are snooped' seen "$out/all"
is "$(awk '{ print $7 }' "$out/all" | sort -u)" "$sm_lid" \
	'every type: sent to the SM'
is "$(grep -c . "$out/all")" $((2 + 4 * 18)) \
	'every type: as many queries as there are'

while read -r type method attr response_attr; do
	reply=${method/Set/Get}Resp
	is "$(outcome all "$type")" "$(
		for how in 'async grh' 'async no-grh' 'sync grh' \
			'sync no-grh'; do
			echo "1 $how $method $attr $reply" \
				"${response_attr:-$attr} IB_SUCCESS 0x0000 1"
		done)" "$type: one record, in each way"
done <<'TABLE'
USER_DEFINED SubnAdmGet NodeRecord
ALL_SVC_RECS SubnAdmGetTable ServiceRecord
SVC_REC_BY_NAME SubnAdmGet ServiceRecord
SVC_REC_BY_ID SubnAdmGetTable ServiceRecord
CLASS_PORT_INFO SubnAdmGet ClassPortInfo
NODE_REC_BY_NODE_GUID SubnAdmGetTable NodeRecord
PORT_REC_BY_LID SubnAdmGetTable PortInfoRecord
PORT_REC_BY_LID_AND_NUM SubnAdmGet PortInfoRecord
VLARB_BY_LID_PORT_BLOCK SubnAdmGet VLArbitrationTableRecord
SLVL_BY_LID_AND_PORTS SubnAdmGet SLtoVLMappingTableRecord
PATH_REC_BY_PORT_GUIDS SubnAdmGetTable PathRecord
PATH_REC_BY_GIDS SubnAdmGetTable PathRecord
PATH_REC_BY_LIDS SubnAdmGet PathRecord
UD_MULTICAST_SET SubnAdmSet MCMemberRecord
UD_MULTICAST_DELETE SubnAdmDelete MCMemberRecord
MULTIPATH_REC SubnAdmGetMulti MultiPathRecord PathRecord
TABLE

#
# what they brought, and what the SA holds
#
sa NR "$sm_lid"
want=$(hex 2 "$(said lid)")0000$(hex 1 "$(said base_version)")
want+=$(hex 1 "$(said class_version)")01$(hex 1 "$(said num_ports)")
for key in sys_guid node_guid port_guid; do
	want+=$(hex 8 "$(said $key)")
done
want+=$(hex 2 "$(said partition_cap)")$(hex 2 "$(said device_id)")
want+=$(hex 4 "$(said revision)")$(hex 1 "$(said port_num)")
want+=$(hex 3 "$(said vendor_id)")$(text 64 "$(said NodeDescription)")
for type in USER_DEFINED NODE_REC_BY_NODE_GUID; do
	is "$(bytes "$(record all $type)" 0 108)" "$want" \
		"$type: the node that the SA knows"
done

sa PIR "$sm_lid/1"
want=$(hex 2 "$(said EndPortLid)")$(hex 1 "$(said PortNum)")
want+=00$(hex 8 0)$(hex 8 "$(said GidPrefix)")$(hex 2 "$(said Lid)")
want+=$(hex 2 "$(said SMLid)")$(hex 4 "$(said CapMask)")
want+=$(hex 2 "$(said DiagCode)")$(hex 2 "$(said MkeyLeasePeriod)")
want+=$(hex 1 "$(said LocalPort)")
for type in PORT_REC_BY_LID PORT_REC_BY_LID_AND_NUM; do
	is "$(bytes "$(record all $type)" 0 33)" "$want" \
		"$type: the port that the SA knows"
done

# rows of VLs and rows of weights, in turn
sa VLAR "$sm_lid/1/1"
want=$(hex 2 "$(said LID)")$(hex 1 "$(said Port)")$(hex 1 "$(said Block)")
want+=$(hex 4 0)$(awk -F: '
	$1 ~ /VL/ { split($2, vl, "|") }
	$1 ~ /Weight/ {
		split($2, weight, "|")
		for (i = 1; i <= 16; i++)
			printf "%02x%02x", vl[i], weight[i]
	}' "$out/sa")
is "$(record all VLARB_BY_LID_PORT_BLOCK)" "$want" \
	'VLARB_BY_LID_PORT_BLOCK: the table that the SA knows'
is "$(bytes "$want" 8 6)" 000001400220 '  which is the one of opensm.conf'

sa SL2VL "$sm_lid/0/0"
want=$(hex 2 "$(said LID)")$(hex 1 "$(said InPort)")$(hex 1 \
	"$(said OutPort)")$(hex 4 0)$(awk -F: '$1 ~ /VL/ {
	n = split($2, vl, "|")
	for (i = 1; i < n; i++)
		printf "%x", vl[i]
	}' "$out/sa")
is "$(record all SLVL_BY_LID_AND_PORTS)" "$want" \
	'SLVL_BY_LID_AND_PORTS: the table that the SA knows'
is "$(bytes "$want" 8 8)" 0123012301230123 '  which is the one of opensm.conf'

sa PR --slid "$lid" --dlid "$sm_lid"
want=$(gid "$(said dgid)")$(gid "$(said sgid)")$(hex 2 "$(said dlid)")
want+=$(hex 2 "$(said slid)")
rest=$(hex 2 "$(said pkey)")$(hex 2 "$(said sl)")$(hex 1 "$(said mtu)")
rest+=$(hex 1 "$(said rate)")$(hex 1 "$(said pkt_life)")
for type in PATH_REC_BY_PORT_GUIDS PATH_REC_BY_GIDS PATH_REC_BY_LIDS \
	MULTIPATH_REC; do
	record=$(record all $type)
	is "$(bytes "$record" 8 36) $(bytes "$record" 50 7)" "$want $rest" \
		"$type: the path that the SA knows"
done

sa CPI
want=$(hex 1 "$(said 'Base version')")$(hex 1 "$(said 'Class version')")
want+=$(hex 2 "$(said 'Capability mask')")
want+=$(hex 4 $(($(said 'Capability mask 2') << 5 |
	$(said 'Response time value'))))
is "$(bytes "$(record all CLASS_PORT_INFO)" 0 8)" "$want" \
	'CLASS_PORT_INFO: what the SA says of itself'

#
# what comes and goes
#
served()
{
	sa SR
	[ "$(said ServiceName)" = "$name" ]
}

is "$(awk '/ SubnAdm(Set|Delete) Service/ { print $4, $5, $15, $16, $17 }' \
	"$out/all" | sort | uniq -c | sed 's/^ *//')" \
	'4 SubnAdmDelete ServiceRecord IB_SUCCESS 0x0000 1
4 SubnAdmSet ServiceRecord IB_SUCCESS 0x0000 1' \
	'a service is set and deleted, each time'
is "$(awk '{ print $18 }' <(grep ' ServiceRecord ' "$out/all") | sort -u |
	wc -l)" 1 '  and is always the same'

name='a name, with blanks'
observe svc -n 300 -q SVC_REC -s "$name" &
pid=$!
check 'the SA knows it meanwhile' fabric_wait_for 20 served
want=$(hex 8 "$(said ServiceID)")$(gid "$(said ServiceGID)")
want+=$(hex 2 "$(said ServiceP_Key)")0000$(hex 4 "$(said ServiceLease)")
want+=$(hex 16 0)$(text 64 "$(said ServiceName)")
wait $pid
is "$?" 0 'and 300 rounds later: exit 0'
check '  all that is asked was snooped' seen "$out/svc"
for type in SVC_REC_BY_NAME SVC_REC_BY_ID; do
	is "$(grep -c "^$type " "$out/svc")" 1200 "$type: 300 rounds"
	is "$(bytes "$(record svc $type)" 0 112)" "$want" \
		"$type: the service that the SA knows"
done
observe list -q ALL -s "$name"
is "$(bytes "$(record list ALL_SVC_RECS)" 0 112)" "$want" \
	'ALL_SVC_RECS: the same'
sa SR
is "$(cat "$out/sa")" '' 'and then it is gone'

check 'UD_MULTICAST_SET alone: exit 0' observe join -q UD_MULTICAST_SET
sa MCMR --mgid ff12::10:3
want=$(gid "$(said MGID)")$(gid "$(said PortGid)")$(hex 4 "$(said qkey)")
want+=$(hex 2 "$(said mlid)")$(hex 1 "$(said mtu)")$(hex 1 "$(said TClass)")
want+=$(hex 2 "$(said pkey)")$(hex 1 "$(said rate)")
want+=$(hex 1 "$(said pkt_life)")$(hex 4 0)0$(printf %x "$(said JoinState)")
is "$(bytes "$(awk '$1 == "UD_MULTICAST_SET" { print $18; exit }' \
	"$out/join")" 0 49)" "$want" \
	'UD_MULTICAST_SET: the member that the SA knows'
observe leave -q UD_MULTICAST_DELETE
is "$? $(awk '/MULTICAST/ { print $15, $16, $17 }' "$out/leave" | uniq -c |
	tr -s ' \n' ' ')" \
	'1  1 IB_SUCCESS 0x0000 1 3 IB_REMOTE_ERROR 0x0200 0 ' \
	'UD_MULTICAST_DELETE: once; then the SA refuses, and exit 1'
check '  what is refused was snooped too' seen "$out/leave"
sa MCMR --mgid ff12::10:3
is "$(said MGID)" '' 'and then the group is gone'

#
# about others
#
check 'another host: exit 0' observe other -p 0x100003 -t 0x100005
other_lid=$(hex 2 "$(fabric_lid Hca3)")
while read -r type offset; do
	is "$(bytes "$(record other "$type")" "$offset" 2)" \
		"$other_lid" "$type: the other host's"
done <<'TABLE'
USER_DEFINED 0
NODE_REC_BY_NODE_GUID 0
PORT_REC_BY_LID 0
PORT_REC_BY_LID_AND_NUM 0
VLARB_BY_LID_PORT_BLOCK 0
SLVL_BY_LID_AND_PORTS 0
PATH_REC_BY_PORT_GUIDS 40
PATH_REC_BY_GIDS 40
PATH_REC_BY_LIDS 40
MULTIPATH_REC 40
TABLE
check 'a switch: exit 0' observe switch -t 0x200000 -q NODE
is "$(bytes "$(record switch NODE_REC_BY_NODE_GUID)" 6 1)" 02 \
	'  it is a switch'
observe nowhere -t 0x77
is "$? $(cat "$out/nowhere.err")" \
	'1 sa_observe: no SM, or it does not know the target' \
	'a target that nobody knows: exit 1'
observe port -p 0x77
is "$? $(tail -n 1 "$out/port.err")" \
	'2 sa_observe: -p: none of what ibstat -p lists' \
	'a port that is not here: exit 2'
if [ ! -e /sys/class/infiniband ]; then
	# without the simulator, too
	"$program" >"$out/none" 2>"$out/none.err"
	is "$? $(tail -n 1 "$out/none.err")" \
		'1 sa_observe: no active port' \
		'a host without a port: exit 1'
fi

# a second service of this name: what one record was asked for are two now
fabric_client Hca3 sa_client -n 1 -k service_set -o /dev/null 2>/dev/null
observe two -q SVC_REC_BY_NAME -s "osmsnoop test $(fabric_lid Hca3)"
is "$? $(outcome two SVC_REC_BY_NAME | cut -d' ' -f 8- | sort -u)" \
	'1 IB_REMOTE_ERROR 0x0400 0' \
	'two services of one name: too many records, exit 1'
check '  what is refused was snooped too' seen "$out/two"

#
# linked in another order, preloaded
#
built=$program
program=$out/bin/late
observe late
is "$? $(grep -c '^late: cannot snoop: .*this process is not tapped: link' \
	"$out/late.err")" '1 1' \
	'linked behind libosmvendor it cannot snoop, and says so'
fabric_client Hca2 timeout -s KILL 60 "$built" -q PATH >"$out/first"
FABRIC_PRELOAD=$lib fabric_client Hca2 timeout -s KILL 60 "$program" \
	-q PATH >"$out/preloaded"
check 'preloaded: the same' diff "$out/first" "$out/preloaded"
is "$(grep -c '^mad' "$out/first")" $((4 + 4 * 5 * 2)) \
	'  and these are the MADs of five queries, four times'
program=$built

#
# an SM that went away
#
fabric_opensm_stop sm || diag 'OpenSM did not end well'
observe gone
is "$? $(cut -d' ' -f 1,4,5,14-17 "$out/gone")" \
	'1 PATH_REC_BY_LIDS SubnAdmGet PathRecord ss IB_TIMEOUT 0x0000 0' \
	'no answer: the request is snooped again as it fails, and exit 1'

#
# with RMPP, and a GRH that arrives: on the double of a kernel. Each source sees
# the same messages, whatever they come in.
#
# seen_grh FILE: as seen, and the answer has the GRH that the request had
seen_grh()
{
	seen "$1" && awk '$13 != $8 { print; bad = 1 } END { exit bad }' "$1"
}

# alike FILE: what does not change from one host to the other
alike()
{
	awk '{ $6 = $11 = ""; NF = 17; print }' "$1"
}

# snoops_umad: whether that process has the receiver of source kernel
snoops_umad()
{
	grep -qs osmsnoop-umad "/proc/$FABRIC_CLIENT_PID/task"/*/comm
}

# shellcheck disable=SC2119 # no words: as it is
fabric_double
start_sm double
for i in 3 4; do
	fabric_client "Hca$i" sa_client -n 1 -k service_set -o /dev/null \
		2>/dev/null
done
check 'double: exit 0' observe kernel
is "$(cat "$out/kernel.err")" '' 'double: no error'
check 'double: request, then response, with GRH when there was one' \
	seen_grh "$out/kernel"
is "$(grep -c . "$out/kernel")" $((2 + 4 * 18)) \
	'double: as many queries as there are'
is "$(awk '{ print $1, $15, $16, $17 }' "$out/kernel.types" | sort | uniq -c |
	sed 's/^ *//')" "$(sed -n 's/^	//p' "$out/h.out" | sort |
	awk '{ print 4, $1, "IB_SUCCESS 0x0000",
	       $1 == "ALL_SVC_RECS" ? 3 : 1 }')" \
	'double: every type in each way; of all services three'
is "$(awk '$1 == "query" { type = $2 }
	$1 == "mad" && $2 == "received" && type == "ALL_SVC_RECS" { print $12 }' \
	"$out/kernel.out" | sort -u)" $((56 + 3 * 176)) \
	'double: these in one message of three segments'
# from another host: TIDs begin with 1 again, and who has had a message of that
# TID and LID takes the next one for the same for some seconds
host=Hca4
OSMSNOOP_DOUBLE=snoop=refuse observe tap
is "$?" 0 'refused, so with the tap: exit 0'
check '  the answers came with their GRH' seen_grh "$out/tap"
check '  what was snooped, and in which order' diff <(alike "$out/tap") \
	<(alike "$out/kernel")
fabric_client_bg Hca2 "$program" -n 2000 -q CLASS >"$out/busy.out" 2>&1
check 'and the former had source kernel' fabric_wait_for 10 snoops_umad
fabric_kill "$FABRIC_CLIENT_PID"
OSMSNOOP_DOUBLE=snoop=refuse fabric_client_bg Hca2 "$program" -n 2000 \
	-q CLASS >"$out/busy.out" 2>&1
fabric_wait_for 10 grep -q '^mad' "$out/busy.out"
check '  the latter not' test -z "$(snoops_umad && echo yes)"
fabric_kill "$FABRIC_CLIENT_PID"
fabric_opensm_stop double || diag 'OpenSM did not end well'
fabric_double_off

fabric_end
