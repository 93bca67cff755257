#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A process is tapped when libosmvendor_snoop comes first, linked or
# preloaded, and when it attaches: tests/clients/snoop_client.c in each of
# these ways sees the same MADs. Where nothing is to be tapped, preloading
# changes nothing.
#
# check calls functions by name
# shellcheck disable=SC2317
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lib=libosmvendor_snoop.so.1

# build NAME [ARGUMENT...]: a snoop_client of that name
build()
{
	local name=$1

	shift
	fabric_compile snoop_client -D_GNU_SOURCE -pthread \
		-I"$FABRIC_LIB/../../include" \
		-isystem "${OPENSM_INCLUDEDIR:-/usr/include/infiniband}" \
		"$@" -Wl,--no-as-needed -losmvendor -lopensm -losmcomp -ldl
	mv "$FABRIC_DIR/bin/snoop_client" "$FABRIC_DIR/bin/$name"
}

# client MODE WHAT: its output is $out/MODE.WHAT
client()
{
	local mode=$1 preload='' command

	case $mode in
	linked) command=(snoop_linked) ;;
	preload)
		command=(snoop_plain)
		preload=$lib
		;;
	attach) command=(snoop_plain -a) ;;
	lazy) command=(snoop_lazy -a) ;;
	esac
	FABRIC_PRELOAD=$preload fabric_client Hca2 timeout -s KILL 40 \
		"$FABRIC_DIR/bin/${command[0]}" "${command[@]:1}" \
		-l "$out/$mode.log" "$2" >"$out/$mode.$2"
}

# ordered FILE: of each transaction the request comes first, then the response
# or the failure; and nothing twice
ordered()
{
	awk '$1 == "failed" || ($2 != "sent" && $2 != "received") { next }
	     $2 == "sent" && !$7 && !sent[$6]++ { next }
	     ($2 == "received" || $7) && sent[$6] && !got[$6]++ { next }
	     { print; bad = 1 }
	     END { exit bad || NR < 9 }' "$1"
}

# counted BIND SEEN PASSED TRUNCATED: as the client's counters say, and none
# lost
counted()
{
	is "$(sed -n "s/^$1 stats //p" "$out/linked.binds")" \
		"$2 $3 $3 0 0 $4" "of several binds, $5"
}

# threads NAME: of that OpenSM
threads()
{
	sed -n 's/^Threads:[[:space:]]*//p' "/proc/${FABRIC_SM[$1]}/status"
}

# ask NAME: queries that change nothing, for which OpenSM sends no SMP
ask()
{
	fabric_client Hca2 sa_client -n 40 -t 20 -o "$out/$1.sa" \
		-k path,node_table,portinfo,slvl_table,classportinfo,refused \
		2>/dev/null
}

# plain NAME: an OpenSM without the plugin; what it said and how it worked
plain()
{
	local name=$1

	fabric_opensm "$name" Hca1 -c 'sweep_interval 0'
	ask "$name"
	threads "$name" >"$out/$name.threads"
	fabric_opensm_stop "$name"
	echo "status $?" >>"$FABRIC_DIR/$name/stdout"
	sed -i "s|$FABRIC_DIR/$name|DIR|; s/-[0-9]*\$/-N/" \
		"$FABRIC_DIR/$name/stdout"
	awk '{ print $3, $4, $7, $10 }' "$out/$name.sa" >"$out/$name.answers"
	# without time, thread and number of this client
	sed -e 's/^[A-Z].* \[[0-9A-F]*\] //; s/osm-[a-z]* *[0-9]*//' \
		-e "s|$FABRIC_DIR/$name|DIR|g; s/0x[0-9a-f]\{16\}//g" \
		"$FABRIC_DIR/$name/opensm.log" | sort >"$out/$name.said"
}

# harmless TEXT COMMAND...: prints the same with the library preloaded
harmless()
{
	local text=$1 preload

	shift
	preload=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}$lib
	is "$(LD_PRELOAD=$preload "$@" 2>&1)" "$("$@" 2>&1)" \
		"preloaded into $text: prints the same"
}

fabric_begin
out=$FABRIC_DIR
fabric_clients
libs=${top_builddir:-$FABRIC_LIB/../..}/vendor/.libs
build snoop_linked -DSNOOP_LINKED -L"$libs" -losmvendor_snoop
build snoop_lazy -no-pie -fno-pie -Wl,-z,lazy
build snoop_plain

#
# processes that have nothing to do with it
#
# the program and not the builtin
# shellcheck disable=SC2016
script='echo "$0 $1"; while read -r key value; do
	[ "$key" != Threads: ] || echo "$value threads"
done </proc/$$/status; exit 3'
harmless sh sh -c "$script" a b
harmless timeout timeout 20 sh -c "$script" a b
harmless env env -i PATH="$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" \
	sh -c "$script" a b
is "$(LD_PRELOAD=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}$lib \
	sh -c "$script" a b)" $'a b\n1 threads' 'and it starts no thread'

#
# a client of the vendor layer that snoops on itself
#
fabric_net 4
fabric_ibsim
fabric_opensm sm Hca1
for mode in linked preload attach lazy; do
	for what in queries errors binds churn; do
		check "$mode: $what" client $mode $what
	done
	is "$(cat "$out/$mode.log")" '' "$mode: nothing in its log"
done
for mode in preload attach lazy; do
	for what in queries errors binds churn; do
		check "$mode sees what linked sees: $what" \
			diff "$out/linked.$what" "$out/$mode.$what"
	done
done

is "$(tail -n 1 "$out/linked.queries")" 'queries 30 answers 30' \
	'every query is answered'
is "$(grep stats "$out/linked.queries")" 'sa stats 60 60 60 0 0 0' \
	'each query and each response is captured once'
check 'a request comes before its response' ordered "$out/linked.queries"
is "$(awk '/^sa/ && !/stats/ { print $3 }' "$out/linked.queries" | sort -u)" \
	0x03 'of class SA'

check 'a failure comes after its request' ordered "$out/linked.errors"
is "$(grep ^failed "$out/linked.errors" | cut -d' ' -f2-5,7-8,10-)" \
	"sent 0x04 0x01 0x0012 6 49120 256 256 0
stats 6 1 1 0 0" 'a filter for errors sees the MAD that timed out, alone'

lid=$(fabric_lid Hca2)
is "$(grep -v stats "$out/linked.errors" | cut -d' ' -f9 | sort -u)" "$lid" \
	'captures name the local LID'

counted all 120 120 0 'one without a filter sees everything'
counted path 120 20 0 'one for an attribute sees this attribute'
counted two 120 40 0 'one with two filters sees what passes either'
counted short 120 120 120 'one with a snap length sees all, cut'
counted sent 120 60 0 'one for sends sees sends'
counted small 120 60 0 'one for receives with a small ring sees receives'
counted port 120 120 0 'one for this port sees all'
counted smp 120 0 0 'one for another class sees nothing'
is "$(awk '$1 == "path" && !/stats/ { print $5 }' "$out/linked.binds" |
	sort -u)" 0x0035 'the attribute is the one'
is "$(awk '$1 == "short" && !/stats/ { print $10, ($11 > 24) }' \
	"$out/linked.binds" | sort -u)" '24 1' 'what is cut tells how long it was'
is "$(awk '($1 == "sent" && $2 != "sent" || $1 == "small" &&
	$2 != "received") && !/stats/' "$out/linked.binds")" '' \
	'the directions are the ones'
is "$(cat "$out/linked.churn")" 'churn 100 captures some lost 0 late 0' \
	'100 binds amid queries: nothing lost, no callback after an unbind'
fabric_opensm_stop sm || diag 'OpenSM did not end well'

#
# OpenSM, preloaded and without the plugin
#
plain without
FABRIC_OPENSM_PRELOAD=$lib plain preloaded
is "$(cat "$out/preloaded.threads")" "$(cat "$out/without.threads")" \
	'OpenSM, preloaded without the plugin: no more threads'
check 'the same answers' diff "$out/without.answers" "$out/preloaded.answers"
check 'the same output' diff "$FABRIC_DIR/without/stdout" \
	"$FABRIC_DIR/preloaded/stdout"
check 'the same log' diff "$out/without.said" "$out/preloaded.said"

#
# the library in OpenSM's place for preloading, and the plugin beside it
#
for mode in attached preloaded-and-attached; do
	fabric_plugin $mode
	FABRIC_OPENSM_PRELOAD=
	[ $mode = attached ] || FABRIC_OPENSM_PRELOAD=$lib
	fabric_opensm $mode Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0'
	ask $mode
	fabric_opensm_stop $mode || diag 'OpenSM did not end well'
	check "OpenSM $mode: captured is what it counted" \
		"$FABRIC_LIB/records.py" complete "$FABRIC_DIR/$mode/trace"
	fabric_jq $mode 'select(.type == "sa" or .type == "mad") |
		[.type, .direction, .class, .method, .attribute, .path,
		 .status_code, .outcome, .completion] | @tsv' |
		sort >"$out/$mode.seen"
done
check 'OpenSM attached and preloaded: the same MADs are seen' \
	diff "$out/attached.seen" "$out/preloaded-and-attached.seen"

fabric_end
