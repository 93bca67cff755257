#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The audit of a real OpenSM holds: osmsnoop verify says so after a restart,
# kill -9, SIGHUP, logrotate in both ways and a disk that was full, and finds
# what was cut off. Its records go to syslog, too, and so does that it cannot be
# written.
#
# Root has a /dev and a small file system in a mount namespace of its own, which
# ends with this test. Others do without.
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

# verify: leaves what it says
verify()
{
	"${top_builddir:?}/tools/osmsnoop" verify "$audit"
}

start()
{
	fabric_opensm sm Hca1 -c 'event_plugin_name osmsnoop' \
		-c "event_plugin_options osmsnoop.audit=$audit osmsnoop.listen=none ${*/#/osmsnoop.}"
}

# records FILE
records()
{
	wc -l <"$1"
}

more_than()
{
	[ "$(records "$audit")" -gt "$1" ]
}

# One sweep; OpenSM may overlook what asks for it while it ends another.
sweep()
{
	local had try

	had=$(records "$audit")
	for try in 1 2 3 4 5; do
		kill -HUP "${FABRIC_SM[sm]}"
		fabric_wait_for 3 more_than "$had" && return
		diag "sweep: asked $try times"
	done
	return 1
}

# sweeps N: each is some records of state
sweeps()
{
	local i

	for ((i = 0; i < $1; i++)); do
		sweep || return 1
	done
}

# A syslog that keeps what it gets, and a /dev with it alone
start_syslog()
{
	local d=$FABRIC_DIR/dev f

	mkdir "$d" && mount -t tmpfs osmsnoop-test "$d" || return 1
	for f in null zero full random urandom; do
		: >"$d/$f" && mount --bind "/dev/$f" "$d/$f" || return 1
	done
	ln -s /proc/self/fd "$d/fd"
	mkdir "$d/shm" && mount --bind /dev/shm "$d/shm"
	mount --rbind "$d" /dev || return 1
	# there alone, else what clears up would go into it, and into /dev/shm
	umount -R "$d" && rmdir "$d" || return 1
	python3 - "$FABRIC_DIR/syslog" <<-'END' &
	import socket, sys
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	s.bind("/dev/log")
	with open(sys.argv[1], "wb", 0) as to:
	    while True:
	        to.write(s.recv(65536) + b"\n")
	END
	FABRIC_PIDS+=("$!")
	fabric_wait_for 10 test -S /dev/log
}

# told PATTERN: syslog was
told()
{
	grep -q -e "$1" "$FABRIC_DIR/syslog"
}

fabric_begin
fabric_clients
fabric_net 4 1
fabric_ibsim
audit=$FABRIC_DIR/audit
options=()
if [ -n "${OSMSNOOP_OWN_MOUNTS:-}" ] &&
	start_syslog >"$FABRIC_DIR/mounts" 2>&1; then
	options=(forward=syslog failure=syslog)
elif [ -n "${FABRIC_REQUIRE:-}" ]; then
	fail 'a syslog of our own' "$(cat "$FABRIC_DIR/mounts")"
fi

#
# restart, SIGHUP, kill -9
#
start "${options[@]}"
check 'SIGHUP: records come' sweeps 3
fabric_opensm_stop sm
check 'one run: the audit holds' verify
is "$(head -n 1 "$audit" | jq -r .chain_from)" \
	"$(printf '%064d' 0)" 'one run: it begins with zeroes'
is "$(stat -c %a "$audit" "$audit.chain" | paste -sd' ')" '640 640' \
	'one run: the sidecar has the same mode'
if [ ${#options[@]} -gt 0 ]; then
	check 'forward: syslog has the start' \
		told '<29>.* osmsnoop\[[0-9]*\]: start'
	check 'forward: and the states' told '<30>.*subnet_up'
	is "$(grep -c ' osmsnoop\[' "$FABRIC_DIR/syslog")" \
		"$(records "$audit")" \
		'forward: and all of the audit'
else
	skip 'forward' 'only root may have a /dev of its own'
fi

before=$(records "$audit")
start "${options[@]}"
check 'restart: records come' sweeps 3
kill -KILL "${FABRIC_SM[sm]}"
wait "${FABRIC_SM[sm]}" 2>/dev/null
check 'kill -9: the audit holds' verify
start "${options[@]}"
check 'after kill -9: it goes on' more_than $((before + 3))
check 'after kill -9: the audit holds' verify
check 'after kill -9: in one file' \
	test "$(grep -c chain_from "$audit")" -eq 1

#
# logrotate, while it runs
#
logrotate=$(PATH=$PATH:/usr/sbin:/sbin command -v logrotate)
# rotate CREATE-OR-COPYTRUNCATE
rotate()
{
	cat >"$FABRIC_DIR/logrotate.conf" <<-END
		$audit {
			rotate 50
			$1
			nocompress
			nodateext
		}
	END
	chmod 0644 "$FABRIC_DIR/logrotate.conf"
	"$logrotate" -f -s "$FABRIC_DIR/state" "$FABRIC_DIR/logrotate.conf"
}

if [ -n "$logrotate" ]; then
	for how in 'create 0640' copytruncate; do
		check "$how: logrotate" rotate "$how"
		check "$how: the audit holds" verify
		check "$how: it goes on" sweeps 2
		check "$how: and holds" verify
		is "$(head -n 1 "$audit" | jq -r '.chain_from')" \
			"$(tail -n 1 "$audit.1" | jq -r .chain)" \
			"$how: it is linked to the one before"
	done
	fabric_opensm_stop sm
	check 'logrotate: the audit holds at the end' verify
	mv "$audit.1" "$FABRIC_DIR/away"
	if verify >"$FABRIC_DIR/verified"; then
		fail 'logrotate: a file in the middle is missed'
	else
		is "$(grep -c 'BROKEN: .*does not go on' "$FABRIC_DIR/verified")" \
			1 'logrotate: a file in the middle is missed'
	fi
	mv "$FABRIC_DIR/away" "$audit.1"
elif [ -n "${FABRIC_REQUIRE:-}" ]; then
	fail 'logrotate' 'there is none'
else
	fabric_opensm_stop sm
	skip 'logrotate' 'there is none'
fi

#
# an end that was cut off while nobody wrote
#
had=$(records "$audit")
sed -i '$d' "$audit"
sed -i '$d' "$audit"
if verify >"$FABRIC_DIR/verified"; then
	fail 'cut off: it is found'
else
	check 'cut off: it is found' \
		grep "its end is missing: record $had" "$FABRIC_DIR/verified"
fi
start "${options[@]}"
check 'cut off: the log says so' fabric_wait_for 10 \
	fabric_log sm "ERR 5D29: .*record $had, which .* is not there"
fabric_opensm_stop sm
check 'cut off: the audit says how many are missing' \
	grep '"type":"loss","where":"file","lost":2,' "$audit"
check 'cut off: from there on it holds' verify

#
# a full disk
#
if [ -n "${OSMSNOOP_OWN_MOUNTS:-}" ]; then
	mkdir "$FABRIC_DIR/small"
	mount -t tmpfs -o size=64k osmsnoop-test "$FABRIC_DIR/small" ||
		bail 'cannot mount'
	audit=$FABRIC_DIR/small/audit
	start "${options[@]}"
	head -c 1M /dev/zero >"$FABRIC_DIR/small/filler" 2>/dev/null
	is_full()
	{
		kill -HUP "${FABRIC_SM[sm]}"
		fabric_log sm 'ERR 5D20: .*No space left on device'
	}
	check 'full: the log says so' fabric_wait_for 10 is_full
	check 'full: the audit holds' verify
	rm "$FABRIC_DIR/small/filler"
	check 'full: with room it is written again' fabric_wait_for 10 \
		fabric_log sm 'ERR 5D21: .* is written again'
	check 'full: and holds' verify
	fabric_opensm_stop sm
	check 'full: and does so at the end' verify
	check 'full: with a loss record' \
		grep '"type":"loss","where":"file"' "$audit"
	if [ ${#options[@]} -gt 0 ]; then
		check 'failure: syslog has its begin' \
			told '<26>.*ERR 5D20: audit: .*No space left'
		check 'failure: and its end' \
			told '<26>.*ERR 5D21: audit: .*written again'
	fi
	umount -l "$FABRIC_DIR/small"
else
	skip 'a full disk' 'only root may mount one'
fi

fabric_end
