#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What becomes of the files when the disk does not play along: they cannot be
# made, the disk is full, they are links, they grow, somebody moves them. In
# all of it OpenSM answers, and each record is in a file or in the number of a
# loss record.
#
# Root has read-only and full file systems in a mount namespace of its own,
# which ends with this test. Others do without the full one.
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

asked=0
ask()
{
	asked=$((asked + $1))
	fabric_client Hca2 timeout 60 sa_client -n "$1" -w 8 -t 20 \
		-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sa.sum" || return 1
	cat "$FABRIC_DIR/sa.sum"
	grep -q " answered $1 none 0 " "$FABRIC_DIR/sa.sum"
}

# start [OPTION...]: the trace where $trace and the socket where $listen says,
# nothing but SA MADs, so that it has a record for each query and those that the
# audit has
listen=none
start()
{
	asked=0
	audit=$FABRIC_DIR/audit
	rm -f "$audit"
	fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
		-c "event_plugin_options osmsnoop.trace=$trace osmsnoop.audit=$audit osmsnoop.listen=$listen osmsnoop.filter=class:sa ${*/#/osmsnoop.}"
}

# logged NUMBER TEXT
logged()
{
	grep -c "ERR $1: .*$2" "$FABRIC_DIR/sm/opensm.log"
}

recorded()
{
	[ "$(grep -c '"type":"sa"' "$1")" -ge "$2" ]
}

# fits FILE...: each record is there, or counted as lost
fits()
{
	local audited

	fabric_lines "$audit" || return 1
	audited=${N[lines]}
	[ "${N[loss]}" -eq 0 ] || return 1
	fabric_lines "$@" || return 1
	echo "${N[lines]} lines, ${N[loss]} of them losses of" \
		"${N[lost_file]}; $asked queries, $audited lines of audit"
	[ $((N[lines] - N[loss] + N[lost_file])) -eq $((asked + audited)) ]
}

# comes_back TEXT REASON COMMAND...: it cannot be written until the command
comes_back()
{
	local text=$1 reason=$2

	shift 2
	start
	check "$text: OpenSM answers" ask 100
	sleep 1.2
	check "$text: and still does" ask 100
	is "$(logged 5D20 "$reason")" 1 "$text: the log says so, once"
	"$@" || fail "$text: repaired" "status $?"
	check "$text: it is written again" fabric_wait_for 10 \
		fabric_log sm 'ERR 5D21: .* is written again; [1-9]'
	check "$text: OpenSM answers all the time" ask 100
	fabric_opensm_stop sm
	check "$text: what is missing is counted" fits "$trace"
	diag "$(cat "$FABRIC_DIR/check")"
	is "$(head -n 1 "$trace" | jq -r '.type, .where' | paste -sd' ')" \
		'loss file' "$text: the first line tells of it"
	is "${N[sa]}" 100 "$text: the rest is there"
	is "${N[lost_file]}" "$(sed -n \
		's/.*ERR 5D21: .*again; \([0-9]*\) .*/\1/p' \
		"$FABRIC_DIR/sm/opensm.log")" "$text: the log has the number"
}

fabric_many_starts
fabric_begin
fabric_clients
fabric_net 4 1
fabric_ibsim
dir=$FABRIC_DIR/files
mkdir "$dir"

#
# no place to write
#
trace=$dir/missing/trace
comes_back 'no folder' 'No such file or directory' mkdir "$dir/missing"
rm -r "$dir/missing"

mkdir "$dir/fixed"
trace=$dir/fixed/trace
if [ -n "${OSMSNOOP_OWN_MOUNTS:-}" ]; then
	mount -t tmpfs -o ro,size=8m osmsnoop-test "$dir/fixed" ||
		bail 'cannot mount'
	comes_back 'read-only' 'Read-only file system' \
		mount -o remount,rw "$dir/fixed"
	umount -l "$dir/fixed"
elif [ "$(id -u)" -ne 0 ]; then
	chmod 0555 "$dir/fixed"
	comes_back 'read-only' 'Permission denied' chmod 0755 "$dir/fixed"
else
	skip 'read-only' 'root may write everywhere but in a mount namespace'
fi

trace=$dir/link
echo untouched >"$dir/target"
ln -s target "$trace"
comes_back 'a link' 'is a symbolic link' rm "$trace"
is "$(cat "$dir/target")" untouched 'a link: what it led to is untouched'
rm "$trace"

trace=$dir/passwd
printf 'root:x:0:0:root:/root:/bin/bash\nhalf a li' >"$trace"
cp "$trace" "$dir/before"
not_ours()
{
	cmp "$trace" "$dir/before" && rm "$trace"
}
comes_back "another's file" 'no file of osmsnoop' not_ours
rm "$trace"

mkdir "$dir/folder"
trace=$dir/folder
comes_back 'a folder' '' rmdir "$trace"
rm "$trace"

mkfifo "$dir/pipe"
trace=$dir/pipe
comes_back 'a pipe' 'is no regular file' rm "$trace"
rm "$trace"

#
# a full disk
#
if [ -n "${OSMSNOOP_OWN_MOUNTS:-}" ]; then
	mkdir "$dir/small"
	mount -t tmpfs -o size=1m osmsnoop-test "$dir/small" ||
		bail 'cannot mount'
	head -c 600000 /dev/zero >"$dir/small/filler"
	trace=$dir/small/trace
	start
	check 'full: OpenSM answers' ask 5000
	check 'full: the log says so' fabric_wait_for 10 \
		fabric_log sm 'ERR 5D20: .*No space left on device'
	sleep 1.2
	check 'full: OpenSM still answers' ask 100
	check 'full: what is there is whole' fabric_lines "$trace"
	diag "full: ${N[lines]} lines"
	rm "$dir/small/filler"
	# what room a line leaves may do for a loss record, so it may have
	# gone on and stopped again meanwhile
	is_written_again()
	{
		[ "$(logged 5D21 'written again')" -eq "$(logged 5D20 space)" ]
	}
	check 'full: with room it is written again' \
		fabric_wait_for 10 is_written_again
	check 'full: OpenSM answers to the end' ask 100
	fabric_opensm_stop sm
	check 'full: what is missing is counted' fits "$trace"
	diag "$(cat "$FABRIC_DIR/check")"
	check 'full: by loss records' test "${N[loss]}" -gt 0
	# behind them: the ends of alerts, and of OpenSM
	is "$(grep -v '"type":"alert"' "$trace" | tail -n 101 |
		grep -c '"type":"sa"')" 100 \
		'full: the last ones are there'
	diag "full: $(logged 5D20 space) times full"
	umount -l "$dir/small"
else
	skip 'a full disk' 'only root may mount one'
fi

#
# a disk that hangs: a frozen file system, on which a write does not return
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

swept()
{
	grep -c '"sweep_done"' "$audit"
}

swept_again()
{
	[ "$(swept)" -gt "$sweeps" ]
}

if [ -z "${OSMSNOOP_OWN_MOUNTS:-}" ]; then
	skip 'a disk that hangs' 'only root may mount one'
elif make_hung >"$FABRIC_DIR/mount" 2>&1; then
	trap 'freeze -u 2>/dev/null; fabric_cleanup' EXIT
	trace=$hung/trace
	start
	check 'hangs: OpenSM answers' ask 100
	check 'hangs: the trace is written' \
		fabric_wait_for 10 recorded "$trace" 100
	freeze -f
	check 'hangs: OpenSM answers meanwhile' ask 5000
	sweeps=$(swept)
	kill -HUP "${FABRIC_SM[sm]}"
	check 'hangs: the audit goes on' fabric_wait_for 10 swept_again
	freeze -u
	check 'hangs: the trace goes on' \
		fabric_wait_for 10 recorded "$trace" 5100
	fabric_opensm_stop sm
	check 'hangs: nothing is missing then' fits "$trace"
	diag "$(cat "$FABRIC_DIR/check")"
	is "${N[loss]}" 0 'hangs: not even in loss records'
	is "$(logged '5D2.' '')" 0 'hangs: nothing to complain of'

	listen=$hung/sock
	start
	listen=none
	check 'hangs at the end: OpenSM answers' ask 100
	check 'hangs at the end: the trace is written' \
		fabric_wait_for 10 recorded "$trace" 5200
	freeze -f
	check 'hangs at the end: OpenSM answers meanwhile' ask 100
	kill -INT "${FABRIC_SM[sm]}"
	check 'hangs at the end: OpenSM comes to its end' \
		fabric_wait_for 3 grep -q '^Exiting SM' "$FABRIC_DIR/sm/stdout"
	is "$(logged 5D25 'without waiting for [1-9]')" 1 \
		'hangs at the end: the log says what is missing'
	is "$(logged 5D33 'without waiting')" 1 \
		'hangs at the end: nor is the socket waited for'
	check 'hangs at the end: the audit is whole' fabric_lines "$audit"
	is "${N[last]}" stop 'hangs at the end: with the stop record'
	# until now the kernel lets no process end that waits for the disk
	freeze -u
	fabric_opensm_stop sm
	check 'hangs at the end: the trace has whole lines' \
		fabric_lines "$trace"
	trap fabric_cleanup EXIT
	umount -l "$hung"
elif [ -n "${FABRIC_REQUIRE:-}" ]; then
	fail 'a disk that hangs' "$(cat "$FABRIC_DIR/mount")"
else
	skip 'a disk that hangs' 'a loop device cannot be mounted here'
fi

#
# rotation by size
#
trace=$dir/trace
start max_bytes=64K max_files=100
check 'size: OpenSM answers' ask 2000
fabric_opensm_stop sm
files=("$trace".*)
mapfile -t files < <(printf '%s\n' "${files[@]}" | sort -t. -k3 -rn)
check 'size: there are many files' test ${#files[@]} -gt 10
check 'size: all of them together have each record' \
	fits "${files[@]}" "$trace"
diag "$(cat "$FABRIC_DIR/check")"
is "${N[loss]}" 0 'size: and no loss'
is "$(find "$dir" -name 'trace*' -size +65536c)" '' 'size: none is larger'
is "$(stat -c %a "$trace" "${files[@]}" | sort -u)" 640 'size: all are 0640'
rm "$trace" "${files[@]}"

start max_bytes=64K max_files=3
check 'three files: OpenSM answers' ask 2000
fabric_opensm_stop sm
is "$(cd "$dir" && echo trace*)" 'trace trace.1 trace.2' \
	'three files: three are kept'
check 'three files: they are whole' \
	fabric_lines "$trace.2" "$trace.1" "$trace"
is "${N[last]}" stop 'three files: the newest ends with the stop record'
# of the last queries none is missing, in the order in which they came
diff <(cat "$trace.2" "$trace.1" "$trace" | jq -r 'select(.type == "sa").tid' |
	sort) <(grep -v '^#' "$FABRIC_DIR/sa" | awk '{ print $2 }' |
	tail -n "${N[sa]}" | sort) >"$FABRIC_DIR/diff"
# queries that overtake each other at the edge: a window of eight
check 'three files: with the last of the queries' \
	test "$(grep -c '^[<>]' "$FABRIC_DIR/diff")" -le 16
rm "$trace" "$trace.1" "$trace.2"

#
# logrotate
#
logrotate=$(PATH=$PATH:/usr/sbin:/sbin command -v logrotate)
if [ -n "$logrotate" ]; then
	cat >"$dir/logrotate.conf" <<-END
		$trace {
			rotate 50
			create 0640
			nocompress
			nodateext
		}
	END
	chmod 0644 "$dir/logrotate.conf"
	start
	asked=3000
	fabric_client_bg Hca2 sa_client -n $asked -r 1500 -w 8 -t 20 \
		-o "$FABRIC_DIR/sa" 2>"$FABRIC_DIR/sa.sum"
	for i in 1 2 3 4 5 6; do
		sleep 0.25
		"$logrotate" -f -s "$dir/state" "$dir/logrotate.conf" ||
			fail "logrotate, time $i" "status $?"
	done
	wait "$FABRIC_CLIENT_PID"
	check 'logrotate: OpenSM answers all' \
		grep -q " answered $asked none 0 " "$FABRIC_DIR/sa.sum"
	fabric_opensm_stop sm
	files=("$trace".*)
	mapfile -t files < <(printf '%s\n' "${files[@]}" | sort -t. -k3 -rn)
	is ${#files[@]} 6 'logrotate: six files were moved away'
	check 'logrotate: all of them together have each record' \
		fits "${files[@]}" "$trace"
	diag "$(cat "$FABRIC_DIR/check")"
	is "${N[sa]} ${N[loss]}" "$asked 0" 'logrotate: and no loss'
	is "$(stat -c %a "$trace" "${files[@]}" | sort -u)" 640 \
		'logrotate: all are 0640'
	rm "$trace" "${files[@]}"

	# emptied in its place: what comes between the copy and that is lost,
	# by logrotate; what follows is a file from its first line on
	sed -i 's/create 0640/copytruncate/' "$dir/logrotate.conf"
	start
	check 'copytruncate: OpenSM answers' ask 100
	fabric_wait_for 10 recorded "$trace" 100
	"$logrotate" -f -s "$dir/state" "$dir/logrotate.conf" ||
		fail 'copytruncate' "status $?"
	check 'copytruncate: the log says so' \
		fabric_wait_for 10 fabric_log sm 'ERR 5D26: .* was emptied'
	check 'copytruncate: OpenSM answers' ask 100
	fabric_opensm_stop sm
	check 'copytruncate: what was copied is whole' \
		fabric_lines "$trace.1"
	check 'copytruncate: so is what came after it' fabric_lines "$trace"
	is "${N[sa]} ${N[loss]}" '100 0' 'copytruncate: and all of it'
	is "$(logged 5D26 emptied)" 1 'copytruncate: said once'
	rm "$trace" "$trace.1"
elif [ -n "${FABRIC_REQUIRE:-}" ]; then
	fail 'logrotate' 'there is none'
else
	skip 'logrotate' 'there is none'
fi

# moved away and nothing in its place, then removed
start
check 'moved: OpenSM answers' ask 100
fabric_wait_for 10 recorded "$trace" 100
mv "$trace" "$trace.away"
check 'moved: a new one comes' fabric_wait_for 10 test -e "$trace"
check 'moved: OpenSM answers' ask 100
fabric_opensm_stop sm
check 'moved: both together have each record' fits "$trace.away" "$trace"
is "${N[sa]} ${N[loss]}" '200 0' 'moved: and no loss'
rm "$trace" "$trace.away"

#
# modes and descriptors
#
for mask in 000 077; do
	umask $mask
	trace=$trace.$mask start
	umask 022
	ask 1 >/dev/null
	is "$(stat -c %a "$trace.$mask" "$FABRIC_DIR/audit" | paste -sd' ')" \
		'640 640' "umask $mask: new files are 0640"
	if [ $mask = 000 ]; then
		pid=${FABRIC_SM[sm]}
		found=0
		for fd in "/proc/$pid/fd"/*; do
			case $(readlink "$fd") in
			"$trace.$mask" | "$FABRIC_DIR/audit") ;;
			*) continue ;;
			esac
			found=$((found + 1))
			flags=$(sed -n 's/^flags:[[:space:]]*//p' \
				"/proc/$pid/fdinfo/${fd##*/}")
			check "descriptor ${fd##*/}: closed on exec" \
				test $((0$flags & 02000000)) -ne 0
		done
		is $found 2 'both files were looked at'
	fi
	fabric_opensm_stop sm
done

fabric_end
