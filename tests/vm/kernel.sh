#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A mainline kernel never took the snoop registration: it refuses, the snoop
# bind goes on with the tap, and nothing is left behind.
#
# shellcheck disable=SC2317 # functions that only "check" calls
set -u

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../fabric/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

fabric_begin
if ! vm_find_kernel; then
	if [ -n "${FABRIC_REQUIRE:-}" ]; then
		fail 'the real kernel' "$VM_REASON"
	else
		skip 'the real kernel' "$VM_REASON"
	fi
	fabric_end
fi

lib=$(cd "${top_builddir:?}/vendor/.libs" && pwd)
fabric_compile kernel_client -I"$FABRIC_LIB/../../include" \
	-isystem "${OPENSM_INCLUDEDIR:-/usr/include/infiniband}" \
	-L"$lib" -losmvendor_snoop -losmvendor -lopensm -losmcomp -libumad \
	-Wl,-rpath,"$lib"

out=$FABRIC_DIR/out
vm_run "$FABRIC_DIR/bin/kernel_client" rxe0 >"$out" 2>&1
is $? 0 'the client ran to its end'
diag "$(grep -v 'ERR 5D10\|SNOOP: source' "$out")"

# value NAME
value()
{
	sed -n "s/^$1 //p" "$out"
}

for name in bad_port bad_filter bad_length closed_port; do
	is "$(value $name)" -22 "umad_register_snoop, $name: -EINVAL"
done
for name in all smi sa; do
	is "$(value $name)" -1 "umad_register_snoop, $name: -EPERM"
done
is "$(value agent)" 1 'an agent that is no snoop is welcome as ever'
check 'source kernel: refused, with what to do' \
	grep -q '^kernel .*source tap' "$out"
is "$(value auto)" tap 'source auto: the tap'
is "$(grep -c 'SNOOP: source tap is used' "$out")" 21 \
	'the log says so, in one line a bind'
is "$(value fds_more)" 0 'no descriptor is left'
is "$(value tasks_more)" 0 'no thread is left'

fabric_end
