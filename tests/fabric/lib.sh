# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A simulated InfiniBand fabric for integration tests: ibsim, the real OpenSM
# and real clients. A test sources this file, and prints TAP:
#
#	. "$(dirname "$0")/../fabric/lib.sh"
#	fabric_begin
#	fabric_net 8 2
#	fabric_ibsim
#	fabric_opensm sm Hca1 -c 'sweep_interval 0'
#	check 'saquery sees the nodes' fabric_client Hca2 saquery -N
#	fabric_end
#
# Everything a test starts and writes belongs to its own directory, its own
# ibsim socket name and a list of process ids, so that any number of tests
# run side by side. No privilege is needed.
#
# Environment, all of it optional:
#
#	FABRIC_OPENSM		the OpenSM to start (/usr/sbin/opensm)
#	FABRIC_OPENSM_WRAP	a command to run it under ("valgrind -q")
#	FABRIC_OPENSM_PRELOAD	libraries to preload into OpenSM only
#	FABRIC_PRELOAD		libraries to preload everywhere
#	FABRIC_CLIENTS		where sa_client, sa_fuzz, trap_client are
#	FABRIC_DOUBLE		the double of the kernel (fabric_double)
#	FABRIC_KEEP		when set, the test's directory stays
#	FABRIC_REQUIRE		when set, a missing program is a failure and
#				not a reason to skip
#	SANITIZER_RUNTIME	the run-time library of a build with sanitizers;
#				what it reports fails the test
#
# Preloaded libraries come before libumad2sim.so, because a sanitizer's
# run-time library insists on being the first.
#
# ibsim accepts ten clients, and one that dies without closing its port (a
# SIGKILL, an unhandled SIGTERM) keeps its place until ibsim fails to send
# it something. It has no RMPP, so longer messages are cut at 256 bytes, and
# libumad2sim.so hands on only the first 224 bytes of those: what a receiver
# finds behind them is whatever was in its memory.

FABRIC_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
FABRIC_OPENSM=${FABRIC_OPENSM:-/usr/sbin/opensm}
FABRIC_DIR=
FABRIC_PIDS=()
FABRIC_NODES=0
FABRIC_SWITCHES=0
declare -A FABRIC_SM=()

TAP_COUNT=0
TAP_FAILED=0

#
# TAP
#

# diag TEXT...: something to read beside the results
diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# ok TEXT
ok()
{
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT - $1"
}

# fail TEXT [REASON...]
fail()
{
	TAP_COUNT=$((TAP_COUNT + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	echo "not ok $TAP_COUNT - $1"
	shift
	[ $# -eq 0 ] || diag "$@"
	return 0
}

# skip TEXT REASON
skip()
{
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT - $1 # SKIP $2"
}

# check TEXT COMMAND...: ok when the command succeeds; else what it printed
#
# The command runs in this shell: it may set variables and wait for children.
check()
{
	local text=$1 rc=0

	shift
	"$@" >"$FABRIC_DIR/check" 2>&1 || rc=$?
	if [ $rc -eq 0 ]; then
		ok "$text"
	else
		fail "$text" "status $rc of: $*"
		diag "$(tail -n 20 "$FABRIC_DIR/check")"
	fi
}

# is GOT WANTED TEXT
is()
{
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		fail "$3" "got '$1', wanted '$2'"
	fi
}

# bail TEXT: nothing after this makes sense
bail()
{
	echo "Bail out! $*"
	exit 1
}

#
# processes
#

fabric_alive()
{
	local state

	# a zombie still has its pid
	state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" \
		2>/dev/null) || return 1
	case $state in
	'' | [ZX]*) return 1 ;;
	esac
}

# fabric_wait_for SECONDS COMMAND...: until the command succeeds
fabric_wait_for()
{
	local end=$((SECONDS + $1 + 1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

fabric_dead()
{
	! fabric_alive "$1"
}

# fabric_kill PID [SIGNAL [SECONDS]]: asks, waits, then does not ask
fabric_kill()
{
	local pid=$1 rc=0

	fabric_alive "$pid" && kill -s "${2:-TERM}" "$pid" 2>/dev/null
	if ! fabric_wait_for "${3:-10}" fabric_dead "$pid"; then
		diag "process $pid did not end on ${2:-TERM}"
		kill -s KILL "$pid" 2>/dev/null
		rc=1
	fi
	wait "$pid" 2>/dev/null
	return $rc
}

fabric_cleanup()
{
	local rc=$? i

	trap - EXIT INT TERM HUP
	# the last started first: clients, OpenSM, then ibsim
	for ((i = ${#FABRIC_PIDS[@]} - 1; i >= 0; i--)); do
		fabric_alive "${FABRIC_PIDS[i]}" &&
			fabric_kill "${FABRIC_PIDS[i]}" TERM 5
	done
	if [ -n "$FABRIC_DIR" ]; then
		if [ -n "${FABRIC_KEEP:-}" ]; then
			diag "kept $FABRIC_DIR"
		else
			rm -rf --one-file-system "$FABRIC_DIR"
		fi
	fi
	exit $rc
}

#
# the fabric
#

# fabric_begin: the test's own directory ($FABRIC_DIR) and socket name
fabric_begin()
{
	local p

	FABRIC_UMAD2SIM=${FABRIC_UMAD2SIM:-$(fabric_find_umad2sim)}
	for p in ibsim "$FABRIC_OPENSM" "${FABRIC_UMAD2SIM:-libumad2sim.so}"
	do
		command -v "$p" >/dev/null || [ -e "$p" ] && continue
		[ -z "${FABRIC_REQUIRE:-}" ] || bail "no $p"
		echo "1..0 # SKIP no $p"
		exit 0
	done

	trap fabric_cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	FABRIC_DIR=$(mktemp -d "${TMPDIR:-/tmp}/osmsnoop-fabric.XXXXXX") ||
		bail 'no temporary directory'
	mkdir "$FABRIC_DIR/cwd" "$FABRIC_DIR/bin"
	export IBSIM_SOCKNAME=${FABRIC_DIR##*/}
	unset IBSIM_SERVER_NAME IBSIM_SERVER_PORT SIM_SET_ISSM
	fabric_sanitizers
}

fabric_find_umad2sim()
{
	local f

	for f in /usr/lib/*/umad2sim/libumad2sim.so \
		/usr/lib*/umad2sim/libumad2sim.so \
		/usr/local/lib*/umad2sim/libumad2sim.so; do
		[ -e "$f" ] && echo "$f" && return
	done
}

# fabric_sanitizers: they write into the test's directory. OpenSM leaks much
# of its own, so leaks are not asked for (hostile.sh does, by valgrind).
#
# TSan gives up when a thread is cancelled in a library that it was told to
# ignore (tsan.supp), as OpenSM does with its receiver at the very end. That
# is no report, and shall not be OpenSM's exit status either. The order of
# OpenSM's own locks (timers, event wheels, the subnet's) is not asked about.
fabric_sanitizers()
{
	local common=log_path=$FABRIC_DIR/sanitizer

	[ -n "${SANITIZER_RUNTIME:-}" ] || return 0
	ASAN_OPTIONS=$common:detect_leaks=0:suppressions=$FABRIC_LIB/asan.supp
	UBSAN_OPTIONS=$common:print_stacktrace=1
	TSAN_OPTIONS=$common:exitcode=0:detect_deadlocks=0
	TSAN_OPTIONS+=:suppressions=$FABRIC_LIB/tsan.supp
	export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS
}

# fabric_many_starts: for tests that start OpenSM ten times and more. Ended by
# TSan it leaves its place in ibsim taken, and there are only ten.
fabric_many_starts()
{
	case ${SANITIZER_RUNTIME:-} in
	*tsan*)
		echo '1..0 # SKIP not with TSan: starts OpenSM too often'
		exit 0
		;;
	esac
}

fabric_sanitizers_silent()
{
	local file rc=0

	for file in "$FABRIC_DIR"/sanitizer.*; do
		grep -Eq 'SUMMARY|ERROR|WARNING|FATAL|CHECK|runtime error' \
			"$file" 2>/dev/null || continue
		head -n 60 "$file"
		rc=1
	done
	return $rc
}

# fabric_end: the plan; ends the test
fabric_end()
{
	[ -z "${SANITIZER_RUNTIME:-}" ] ||
		check 'no sanitizer reports anything' fabric_sanitizers_silent
	echo "1..$TAP_COUNT"
	exit $((TAP_FAILED > 0))
}

# fabric_net HOSTS [SWITCHES]: writes $FABRIC_DIR/net
#
# Hosts are Hca1.., switches Switch1... Up to 32 hosts are spread over a
# chain of SWITCHES (1). More hosts make a two-level fat tree with 32 hosts
# on each leaf and SWITCHES (2) spines, which are numbered after the leaves.
#
# ibsim counts the GUIDs itself: those of hosts start at 0x100000 in steps
# of two (port GUID one more), those of switches at 0x200000.
fabric_net()
{
	local hosts=$1 switches=${2:-} leaves spines ports

	if [ "$hosts" -le 32 ]; then
		leaves=${switches:-1}
		spines=0
		ports=36
	else
		leaves=$(((hosts + 31) / 32))
		spines=${switches:-2}
		ports=$((leaves > 34 ? leaves + 2 : 36))
		[ "$spines" -le 4 ] || ports=$((ports < 32 + spines ?
			32 + spines : ports))
	fi
	FABRIC_SWITCHES=$((leaves + spines))
	FABRIC_NODES=$((hosts + FABRIC_SWITCHES))

	awk -v hosts="$hosts" -v leaves="$leaves" -v spines="$spines" \
	    -v ports="$ports" '
	function link(l, lp, r, rp) {
		line[l] = line[l] "[" lp "]\t\"" r "\"[" rp "]\n"
	}
	function both(a, ap, b, bp) {
		link(a, ap, b, bp)
		link(b, bp, a, ap)
	}
	BEGIN {
		for (h = 1; h <= hosts; h++) {
			l = spines ? int((h - 1) / 32) + 1 : (h - 1) % leaves + 1
			both("Hca" h, 1, "Switch" l, ++used[l])
		}
		for (l = 1; l <= leaves; l++)
			if (spines)
				for (s = 1; s <= spines; s++)
					both("Switch" l, 32 + s,
					     "Switch" (leaves + s), l)
			else if (l < leaves)
				both("Switch" l, 35, "Switch" (l + 1), 36)
		# the first port in the file is the default place of a client
		for (h = 1; h <= hosts; h++)
			printf "Hca 1 \"Hca%d\"\n%s\n", h, line["Hca" h]
		for (s = 1; s <= leaves + spines; s++)
			printf "Switch %d \"Switch%d\"\n%s\n", ports, s,
			       line["Switch" s]
	}' >"$FABRIC_DIR/net"
}

fabric_ibsim_listens()
{
	# ibsim binds its ten data sockets last
	grep -q "@$IBSIM_SOCKNAME:out9@\?\$" /proc/net/unix
}

# fabric_ibsim: starts ibsim and waits until it can be used
#
# A fifo that is opened for reading and writing never comes to its end, and
# takes console commands (fabric_ibsim_do).
fabric_ibsim()
{
	mkfifo "$FABRIC_DIR/console"
	ibsim -s -N $((FABRIC_NODES + 16)) -S $((FABRIC_SWITCHES + 16)) \
		-P $((FABRIC_NODES * 3 + FABRIC_SWITCHES * 260)) \
		"$FABRIC_DIR/net" <>"$FABRIC_DIR/console" \
		>"$FABRIC_DIR/ibsim.log" 2>&1 &
	FABRIC_IBSIM_PID=$!
	FABRIC_PIDS+=("$FABRIC_IBSIM_PID")
	fabric_wait_for 20 fabric_ibsim_listens ||
		bail "ibsim does not start: $(tail -n 3 "$FABRIC_DIR/ibsim.log")"
}

# fabric_ibsim_stop: so that another fabric can be started
fabric_ibsim_stop()
{
	fabric_kill "$FABRIC_IBSIM_PID"
	rm -f "$FABRIC_DIR/console"
}

# fabric_ibsim_do COMMAND: a console command, such as 'Unlink "Hca3"[1]'
fabric_ibsim_do()
{
	printf '%s\n' "$1" >"$FABRIC_DIR/console"
}

fabric_preload()
{
	local p=${1:-}

	[ -z "${FABRIC_PRELOAD:-}" ] || p=${p:+$p:}$FABRIC_PRELOAD
	[ -z "${SANITIZER_RUNTIME:-}" ] || p=$SANITIZER_RUNTIME${p:+:$p}
	echo "${p:+$p:}$FABRIC_UMAD2SIM"
}

# fabric_opensm NAME HOST [-c LINE]... [-i] [-w PATTERN | -n] [-- ARGUMENTS]
#
#	-c LINE		a line for opensm.conf; -i: more of them from stdin
#	-w PATTERN	wait for this in its log instead of SUBNET UP
#	-n		do not wait
#
# Its files are $FABRIC_DIR/NAME/{opensm.conf,opensm.log,stdout,tmp,cache},
# its pid ${FABRIC_SM[NAME]}. Starting the same NAME again keeps the cache
# and the log's name, and moves the old log to opensm.log.old.
fabric_opensm()
{
	local name=$1 host=$2 dir=$FABRIC_DIR/$1 pattern='SUBNET UP' o
	local OPTIND=1 OPTARG lines=()

	shift 2
	while getopts c:iw:n o; do
		case $o in
		c) lines+=("$OPTARG") ;;
		i) mapfile -t -O "${#lines[@]}" lines ;;
		w) pattern=$OPTARG ;;
		n) pattern= ;;
		*) bail "fabric_opensm: bad option" ;;
		esac
	done
	shift $((OPTIND - 1))

	mkdir -p "$dir/tmp" "$dir/cache"
	[ ! -e "$dir/opensm.log" ] ||
		mv "$dir/opensm.log" "$dir/opensm.log.old"
	{
		# nothing of the host's own /etc/opensm, and a log that can
		# be read while OpenSM runs
		echo "partition_config_file $dir/partitions.conf"
		echo "prefix_routes_file $dir/prefix-routes.conf"
		echo "per_module_logging_file $dir/per-module-logging.conf"
		echo "qos_policy_file $dir/qos-policy.conf"
		echo "force_log_flush TRUE"
		[ ${#lines[@]} -eq 0 ] || printf '%s\n' "${lines[@]}"
	} >"$dir/opensm.conf"

	(
		cd "$dir" || exit 1
		# a wrapper is a command with arguments
		# shellcheck disable=SC2086
		LD_PRELOAD=$(fabric_preload "${FABRIC_OPENSM_PRELOAD:-}") \
			SIM_HOST=$host OSM_TMP_DIR=$dir/tmp/ \
			OSM_CACHE_DIR=$dir/cache/ \
			exec ${FABRIC_OPENSM_WRAP:-} "$FABRIC_OPENSM" \
			-F "$dir/opensm.conf" -f "$dir/opensm.log" "$@"
	) >"$dir/stdout" 2>&1 </dev/null &
	FABRIC_SM[$name]=$!
	FABRIC_PIDS+=("$!")
	[ -z "$pattern" ] || fabric_opensm_wait "$name" "$pattern" ||
		bail "OpenSM $name: no '$pattern': $(tail -n 5 "$dir/stdout")"
}

# fabric_plugin NAME [OPTION...]: $FABRIC_PLUGIN is then what makes
# fabric_opensm NAME load osmsnoop; it writes NAME/trace and NAME/audit, and
# listens at NAME/sock
#
#	fabric_plugin sm unanswered=2
#	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
fabric_plugin()
{
	local dir=$FABRIC_DIR/$1 words='' word

	shift
	for word in trace="$dir/trace" audit="$dir/audit" \
		listen="$dir/sock" unanswered=1 "$@"
	do
		words="$words osmsnoop.$word"
	done
	# for the test, not for this file
	# shellcheck disable=SC2034
	FABRIC_PLUGIN=(-c 'event_plugin_name osmsnoop'
		-c "event_plugin_options$words")
}

# fabric_lines [-t] FILE...: reads them strictly; ${N[...]} are then the numbers
# that lines.py tells of
declare -A N=()
fabric_lines()
{
	local key value rc=0

	"$FABRIC_LIB/lines.py" "$@" >"$FABRIC_DIR/lines" || rc=1
	N=()
	while IFS='=' read -r key value; do
		# for the test, not for this file
		# shellcheck disable=SC2034
		N[$key]=$value
	done <"$FABRIC_DIR/lines"
	return $rc
}

# fabric_jq NAME FILTER [ARGUMENT...]: jq on the trace of that OpenSM
fabric_jq()
{
	local name=$1 filter=$2

	shift 2
	jq -r "$@" "$filter" "$FABRIC_DIR/$name/trace"
}

# fabric_recorded NAME CONDITION [COUNT]: whether the trace has (so many)
# records for which jq's condition is true; its last line may be half written
fabric_recorded()
{
	local n

	n=$(grep '}$' "$FABRIC_DIR/$1/trace" |
		jq -c "select($2) | 1" | grep -c 1)
	[ "$n" -ge "${3:-1}" ]
}

# fabric_log NAME PATTERN: whether the log has it
fabric_log()
{
	grep -q -e "$2" "$FABRIC_DIR/$1/opensm.log" 2>/dev/null
}

fabric_log_or_dead()
{
	fabric_log "$1" "$2" || fabric_dead "${FABRIC_SM[$1]}"
}

# fabric_opensm_wait NAME PATTERN [SECONDS]
fabric_opensm_wait()
{
	fabric_wait_for "${3:-60}" fabric_log_or_dead "$1" "$2"
	fabric_log "$1" "$2"
}

fabric_opensm_alive()
{
	fabric_alive "${FABRIC_SM[$1]}"
}

# fabric_opensm_ended NAME: whether it has done everything, but for the one
# thing that libumad2sim.so now and then does not: joining its receiver, which
# waits for a mutex, when a process ends
fabric_opensm_ended()
{
	local task=/proc/${FABRIC_SM[$1]}/task

	grep -q '^Exiting SM' "$FABRIC_DIR/$1/stdout" &&
		[ "$(cat "$task"/*/comm | wc -l)" -eq 2 ] &&
		! grep -q osmsnoop "$task"/*/comm
}

# fabric_opensm_stop NAME [SIGNAL]: its exit status
fabric_opensm_stop()
{
	local pid=${FABRIC_SM[$1]} rc=0 ended=''

	fabric_alive "$pid" && kill -s "${2:-INT}" "$pid"
	if ! fabric_wait_for 30 fabric_dead "$pid"; then
		diag "OpenSM $1 did not end on ${2:-INT}"
		fabric_opensm_ended "$1" && ended=yes
		diag "$(tail -n 2 "$FABRIC_DIR/$1/stdout")" \
			"$(grep -H . "/proc/$pid/task"/*/{comm,wchan,syscall})"
		kill -s KILL "$pid"
	fi
	wait "$pid" 2>/dev/null || rc=$?
	[ -n "$ended" ] || return $rc
}

# fabric_client HOST COMMAND...: runs a client in a directory of its own
fabric_client()
{
	local dir rc=0

	dir=$(mktemp -d "$FABRIC_DIR/cwd/XXXXXX") || return 1
	(fabric_exec "$dir" "$@") || rc=$?
	rm -rf "$dir"
	return $rc
}

# fabric_client_bg HOST COMMAND...: the same in the background. Its pid is in
# $FABRIC_CLIENT_PID; it ends with the test at the latest.
fabric_client_bg()
{
	local dir

	dir=$(mktemp -d "$FABRIC_DIR/cwd/XXXXXX") || return 1
	(fabric_exec "$dir" "$@") </dev/null &
	FABRIC_CLIENT_PID=$!
	FABRIC_PIDS+=("$FABRIC_CLIENT_PID")
}

fabric_exec()
{
	local host=$2

	cd "$1" || exit 1
	shift 2
	PATH=${FABRIC_BIN:+$FABRIC_BIN:}$PATH
	LD_PRELOAD=$(fabric_preload) SIM_HOST=$host exec "$@"
}

# fabric_clients: finds the programs of tests/clients, or compiles them;
# fabric_client then knows them by name
fabric_clients()
{
	local src=$FABRIC_LIB/../clients d p

	for d in "${FABRIC_CLIENTS:-}" \
		"${top_builddir:+$top_builddir/tests/clients}" \
		"$src"; do
		if [ -n "$d" ] && [ -x "$d/sa_client" ] &&
			[ -x "$d/sa_fuzz" ] && [ -x "$d/trap_client" ]; then
			FABRIC_BIN=$(cd "$d" && pwd)
			return
		fi
	done
	FABRIC_BIN=$FABRIC_DIR/bin
	for p in sa_client sa_fuzz trap_client; do
		"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -o "$FABRIC_BIN/$p" \
			"$src/$p.c" "$src/umad_client.c" -libumad ||
			bail "cannot compile $p"
	done
}

# fabric_compile NAME [ARGUMENT...]: $FABRIC_DIR/bin/NAME from tests/clients,
# for a test that wants something of its own; NAME.so comes from NAME.c
fabric_compile()
{
	local name=$1

	shift
	"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -o "$FABRIC_DIR/bin/$name" \
		"$FABRIC_LIB/../clients/${name%.so}.c" "$@" ||
		bail "cannot compile $name"
}

# fabric_lid HOST: the LID that OpenSM gave its port
fabric_lid()
{
	fabric_client "$1" smpquery -D portinfo 0 2>/dev/null |
		sed -n 's/^Lid:\.*//p'
}

# fabric_find_double: the double, compiled when nobody has built it
fabric_find_double()
{
	local src=$FABRIC_LIB/../double d

	for d in "${FABRIC_DOUBLE:-}" \
		"${top_builddir:+$top_builddir/tests/double/.libs/libumad_double.so}"; do
		[ -n "$d" ] && [ -e "$d" ] && FABRIC_DOUBLE=$d && return
	done
	FABRIC_DOUBLE=$FABRIC_DIR/bin/libumad_double.so
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -fPIC -shared \
		-fvisibility=hidden -o "$FABRIC_DOUBLE" "$src"/*.c \
		-lpthread -ldl || bail 'cannot compile libumad_double.so'
}

# fabric_double [WORD...]: from now on OpenSM and clients are started with the
# double of the kernel (tests/double), which snoops and has RMPP, set to these
# words: drop=10 snoop=refuse. For one command alone:
#
#	fabric_double
#	fabric_opensm sm Hca1
#	OSMSNOOP_DOUBLE=drop_ack=10 fabric_client Hca2 saquery -N
#
# Both ends of an RMPP transfer need it. It snoops within a process: a program
# that is to capture something has to send it, or be sent it, itself.
fabric_double()
{
	local IFS=,

	fabric_double_off
	fabric_find_double
	FABRIC_PRELOAD=${FABRIC_PRELOAD:+$FABRIC_PRELOAD:}$FABRIC_DOUBLE
	export OSMSNOOP_DOUBLE="$*"
}

# fabric_double_off: what is started from now on is without it
fabric_double_off()
{
	local p=${FABRIC_PRELOAD:-}

	unset OSMSNOOP_DOUBLE
	[ -n "${FABRIC_DOUBLE:-}" ] || return 0
	[ "$p" != "$FABRIC_DOUBLE" ] || p=
	FABRIC_PRELOAD=${p%:"$FABRIC_DOUBLE"}
}
