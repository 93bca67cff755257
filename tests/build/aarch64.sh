#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What depends on the processor compiles for aarch64 without a warning. This
# runs nothing there.
set -u
: "${top_srcdir:?make check sets it}" "${top_builddir:?make check sets it}"
cc=aarch64-linux-gnu-gcc
: "${AARCH64_CFLAGS=}"	# where the C library is, if in no usual place
# shellcheck disable=SC2086
if ! echo '#include <stdlib.h>' | $cc $AARCH64_CFLAGS -x c -c -o /dev/null - \
	2>/dev/null; then
	echo "1..0 # SKIP no aarch64 compiler with a C library" \
		"(Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM

# The host's InfiniBand headers, and none of its others.
ln -s "$OPENSM_INCLUDEDIR" "$tmp/infiniband"

number=0
echo 1..4
for file in attach.c place.c ring.c tap.c; do
	number=$((number + 1))
	# shellcheck disable=SC2086
	if $cc $AARCH64_CFLAGS -std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -c \
		-I"$top_builddir" -I"$top_srcdir/include" -iquote "$top_srcdir/mad" \
		-isystem "$OPENSM_INCLUDEDIR" -isystem "$tmp" \
		-o "$tmp/out.o" "$top_srcdir/vendor/$file" >"$tmp/log" 2>&1
	then
		echo "ok $number - $file"
	else
		echo "not ok $number - $file"
		sed 's/^/# /' "$tmp/log"
	fi
done
