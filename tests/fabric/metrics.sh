#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The file of metrics: what promtool says of it, that it agrees with the stop
# record and the trace, that it is written at the start, every ten seconds and
# at the end; then places where it cannot be written, a full disk and one that
# hangs, in all of which OpenSM answers.
#
# Root has full and hanging file systems in a mount namespace of its own, which
# ends with this test. Others do without them.
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

if [ "$(id -u)" -eq 0 ] && [ -z "${OSMSNOOP_OWN_MOUNTS:-}" ] &&
	unshare -m --propagation private true 2>/dev/null; then
	export OSMSNOOP_OWN_MOUNTS=yes
	exec unshare -m --propagation private "$BASH" "$0" "$@"
fi

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# ask HOST COUNT [ARGUMENT...]
ask()
{
	local host=$1 count=$2

	shift 2
	fabric_client "$host" timeout 30 sa_client -n "$count" -w 4 -t 20 \
		-o "$FABRIC_DIR/sa" "$@"
}

answers()
{
	ask Hca2 20 2>"$FABRIC_DIR/sa.sum" || return 1
	grep -q ' answered 20 none 0 ' "$FABRIC_DIR/sa.sum"
}

# has TEXT: a line of the file
has()
{
	grep -Fqx -e "$1" "$file"
}

# value NAME: the sum of the lines that begin so
value()
{
	awk -v name="$1" 'index($0, name) == 1 { n += $NF } END { print n + 0 }' \
		"$file"
}

has_requests()
{
	[ "$(value osmsnoop_sa_requests_total)" -ge "$1" ]
}

# valid FILE
valid()
{
	promtool check metrics <"$1"
}

# logged NUMBER TEXT
logged()
{
	grep -c "ERR $1: .*$2" "$FABRIC_DIR/sm/opensm.log"
}

start()
{
	fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
		-c "event_plugin_options osmsnoop.listen=none osmsnoop.metrics=$file"
}

# comes_back TEXT REASON COMMAND...: it cannot be written until the command
comes_back()
{
	local text=$1 reason=$2

	shift 2
	start
	check "$text: the log says so" fabric_wait_for 5 \
		fabric_log sm "ERR 5D40: .*$reason"
	check "$text: OpenSM answers" answers
	sleep 1.2
	is "$(logged 5D4. '')" 1 "$text: and says it once"
	"$@" || fail "$text: repaired" "status $?"
	check "$text: it is written again" fabric_wait_for 5 \
		fabric_log sm 'ERR 5D41: .* is written again'
	check "$text: and lives" has 'osmsnoop_up 1'
	fabric_opensm_stop sm
	check "$text: to the end" has 'osmsnoop_up 0'
	is "$(logged 5D4. '')" 2 "$text: nothing else to complain of"
	is "$(find "${file%/*}" -name '*.tmp')" '' "$text: nothing is left"
}

fabric_begin
fabric_clients
fabric_compile send_fail.so -fPIC -shared -ldl
fabric_net 8 2
fabric_ibsim
dir=$FABRIC_DIR/files
mkdir "$dir"

#
# what it says
#
file=$dir/osmsnoop.prom
fabric_plugin sm storm=300/10 metrics="$file"
began=$SECONDS
export SEND_FAIL=$FABRIC_DIR/send_fail
FABRIC_OPENSM_PRELOAD=$FABRIC_DIR/bin/send_fail.so \
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}"
check 'it is written at the start' fabric_wait_for 2 has 'osmsnoop_up 1'
is "$(stat -c %a "$file")" 644 'all may read it'
check 'SA queries of all kinds' ask Hca2 500 -k mixed
check 'and of another host' ask Hca3 20 -k mixed
check 'queries that are refused' ask Hca4 20 -k refused
ask Hca5 10 -k bad -t 0.1
touch "$SEND_FAIL"
ask Hca7 5 -t 0.1
rm "$SEND_FAIL"
check 'traps' fabric_client Hca6 trap_client 128 144 256 259 0
for _ in 1 2; do
	kill -HUP "${FABRIC_SM[sm]}"
	sleep 0.3
done
check 'it is written anew within ten seconds, with these' \
	fabric_wait_for 12 has_requests 500
check 'and not at once' test $((SECONDS - began)) -ge 9
check 'OpenSM still is up there' has 'osmsnoop_up 1'
cp "$file" "$dir/before"
check 'queries behind the last text' answers
fabric_opensm_stop sm
check 'at the end it has the last ones, too' \
	"$FABRIC_LIB/metrics.py" "$file" "$FABRIC_DIR/sm/trace"
diag "$(cat "$FABRIC_DIR/check")"
# whatever else there is, these are
is "$(value 'osmsnoop_alerts_total{alert="sa_storm"}')" 1 'a storm began'
check 'traps were counted' test "$(value osmsnoop_traps_total)" -ge 5
check 'and requests without an answer' \
	test "$(grep -c 'outcome="unanswered"} [1-9]' "$file")" -ge 1
is "$(value 'osmsnoop_send_errors_total{class="SubnAdm"}')" 5 \
	'and answers that could not be sent'
is "$(grep -c 'ERR 5D4' "$FABRIC_DIR/sm/opensm.log")" 0 \
	'nothing to complain of'

# no_less: no counter of the second text is less than in the first
no_less()
{
	awk '/^#/ { if ($2 == "TYPE") type[$3] = $4; next }
	{
		name = $1
		sub(/{.*/, "", name)
		key = $0
		sub(/ [^ ]*$/, "", key)
	}
	type[name] != "counter" && name !~ /_(bucket|count|sum)$/ { next }
	NR == FNR { before[key] = $NF; n++; next }
	{ now[key] = $NF }
	END {
		for (key in before)
			if (!(key in now) || now[key] < before[key]) {
				print key, before[key], now[key]
				bad = 1
			}
		print n
		exit bad || n < 30
	}' "$1" "$2"
}
check 'no counter goes back' no_less "$dir/before" "$file"

if command -v promtool >/dev/null; then
	check 'promtool has nothing to say against it' valid "$file"
	check 'nor against the one before' valid "$dir/before"
elif [ -n "${FABRIC_REQUIRE:-}" ]; then
	fail promtool 'there is none'
else
	skip promtool 'there is none (Debian: prometheus)'
fi
rm "$file"

#
# where it must not, or cannot, be written
#
mkdir "$file"
comes_back 'a folder' 'is no regular file' rmdir "$file"
rm "$file"

echo untouched >"$dir/target"
ln -s target "$file"
comes_back 'a link' 'is a symbolic link' rm "$file"
is "$(cat "$dir/target")" untouched 'a link: what it led to is untouched'
rm "$file"

if [ -n "${OSMSNOOP_OWN_MOUNTS:-}" ]; then
	mkdir "$dir/small"
	mount -t tmpfs -o size=64k osmsnoop-test "$dir/small" ||
		bail 'cannot mount'
	head -c 60000 /dev/zero >"$dir/small/filler"
	file=$dir/small/osmsnoop.prom
	echo '# HELP osmsnoop_up from before' >"$file"
	cp "$file" "$dir/before"
	# what is there stays as long as there is no room for the next
	repair()
	{
		cmp "$file" "$dir/before" && rm "$dir/small/filler"
	}
	comes_back 'a full disk' 'No space left on device' repair
	umount -l "$dir/small"
else
	skip 'a full disk' 'only root may mount one'
fi

#
# a disk that hangs: a frozen file system
#
hung=$dir/hung
make_hung()
{
	truncate -s 32M "$dir/image" &&
		PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q "$dir/image" &&
		mkdir "$hung" && mount -o loop "$dir/image" "$hung"
}

freeze()
{
	PATH=$PATH:/usr/sbin:/sbin fsfreeze "$1" "$hung"
}

if [ -z "${OSMSNOOP_OWN_MOUNTS:-}" ]; then
	skip 'a disk that hangs' 'only root may mount one'
elif make_hung >"$FABRIC_DIR/mount" 2>&1; then
	trap 'freeze -u 2>/dev/null; fabric_cleanup' EXIT
	file=$hung/osmsnoop.prom
	freeze -f
	start
	check 'hangs: OpenSM answers' answers
	check 'hangs: the log says so' fabric_wait_for 5 \
		fabric_log sm 'ERR 5D40: .*its disk hangs or is too slow'
	check 'hangs: OpenSM answers meanwhile' answers
	freeze -u
	check 'hangs: it goes on' fabric_wait_for 5 \
		fabric_log sm 'ERR 5D41: .* is written again'
	check 'hangs: the metrics live' has 'osmsnoop_up 1'
	freeze -f
	kill -INT "${FABRIC_SM[sm]}"
	check 'hangs at the end: OpenSM comes to its end' \
		fabric_wait_for 3 grep -q '^Exiting SM' "$FABRIC_DIR/sm/stdout"
	is "$(logged 5D40 'without waiting for the last metrics')" 1 \
		'hangs at the end: the log says so'
	# until now the kernel lets no process end that waits for the disk
	freeze -u
	fabric_opensm_stop sm
	trap fabric_cleanup EXIT
	umount -l "$hung"
elif [ -n "${FABRIC_REQUIRE:-}" ]; then
	fail 'a disk that hangs' "$(cat "$FABRIC_DIR/mount")"
else
	skip 'a disk that hangs' 'a loop device cannot be mounted here'
fi

fabric_end
