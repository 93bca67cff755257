#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Each installed header compiles alone, from C and from C++, laid out as
# "make install" lays it out. OpenSM's own headers are not pedantic, so they
# are system headers here.
set -u
: "${top_builddir:?make check sets it}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM

MAKEFLAGS='' make -s -C "$top_builddir/include" install-data \
	includedir=/inc DESTDIR="$tmp" >"$tmp/log" 2>&1 ||
	{ cat "$tmp/log"; echo "Bail out! the headers do not install"; exit 1; }

headers="infiniband/umad_snoop.h vendor/osm_vendor_snoop.h"
warnings="-Wall -Wextra -Werror -pedantic"
number=0
echo 1..10

# report NAME COMMAND...: one test, the command's output as diagnostics
report() {
	name=$1
	shift
	number=$((number + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$tmp/log"
	fi
}

# compile COMPILER STANDARD LANGUAGE
compile() {
	for header in $headers; do
		name="$header with $1 $2"
		if ! command -v "$1" >/dev/null; then
			number=$((number + 1))
			echo "ok $number - $name # SKIP no $1"
			continue
		fi
		echo "#include <$header>" >"$tmp/alone.$3"
		# shellcheck disable=SC2086
		report "$name" "$1" "$2" $warnings -fsyntax-only \
			-I"$tmp/inc" -I"$tmp/inc/infiniband" \
			-isystem "$OPENSM_INCLUDEDIR" "$tmp/alone.$3"
	done
}

compile gcc -std=c11 c
compile clang -std=c11 c
compile g++ -std=c++17 cc
compile clang++ -std=c++17 cc

# What pkg-config says is enough.
pc="$top_builddir/vendor/libosmvendor_snoop.pc"
if command -v pkg-config >/dev/null; then
	flags=$(pkg-config --define-variable=includedir="$tmp/inc" \
		--cflags "$pc")
	for header in $headers; do
		echo "#include <$header>" >"$tmp/alone.c"
		# shellcheck disable=SC2086
		report "$header with pkg-config --cflags" \
			$CC $flags -fsyntax-only "$tmp/alone.c"
	done
else
	echo "ok 9 - pkg-config --cflags # SKIP no pkg-config"
	echo "ok 10 - pkg-config --cflags # SKIP no pkg-config"
fi
