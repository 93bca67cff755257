#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The example of osm_vendor_snoop_bind(3) compiles and links without a warning,
# and then has the tap before libosmvendor.
set -u
: "${top_srcdir:?make check sets it}" "${top_builddir:?make check sets it}"
: "${OPENSM_INCLUDEDIR:?make check sets it}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM

echo 1..3
sed -n '/^#include <inttypes.h>/,/^\.Ed/p' \
	"$top_srcdir/man/osm_vendor_snoop_bind.3" |
	sed -e '/^\.Ed/d' -e 's/\\e/\\/g' >"$tmp/example.c"

# The flags of the library under test too: it may need a sanitizer's runtime.
case ${SANITIZER_RUNTIME:-} in
*asan*) sanitize=-fsanitize=address,undefined ;;
*tsan*) sanitize=-fsanitize=thread ;;
*) sanitize= ;;
esac
# shellcheck disable=SC2086
if $CC -Wall -Wextra -Werror $sanitize -I"$top_srcdir/include" \
	-isystem "$OPENSM_INCLUDEDIR" -o "$tmp/example" "$tmp/example.c" \
	-L"$top_builddir/vendor/.libs" ${OPENSM_LDFLAGS:-} \
	-losmvendor_snoop -losmvendor -lopensm -losmcomp >"$tmp/log" 2>&1
then
	echo "ok 1 - the example of osm_vendor_snoop_bind(3) is built"
else
	echo "not ok 1 - the example of osm_vendor_snoop_bind(3) is built"
	sed 's/^/# /' "$tmp/log"
fi

libraries=$($READELF -d "$tmp/example" 2>/dev/null |
	sed -n 's/.*(NEEDED).*\[libosmvendor\([^.]*\).*/\1/p' | tr '\n' ' ')
case $libraries in
"_snoop "*) echo "ok 2 - the tap comes first" ;;
*)
	echo "not ok 2 - the tap comes first"
	echo "# libosmvendor*: $libraries"
	;;
esac

# it is to be read at one sitting
if [ "$(wc -l <"$top_srcdir/tools/sa_observe.c")" -lt 250 ]; then
	echo "ok 3 - sa_observe.c has less than 250 lines"
else
	echo "not ok 3 - sa_observe.c has less than 250 lines"
fi
