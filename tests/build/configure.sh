#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# configure finds OpenSM below another prefix, in each directory where systems
# keep libraries, and takes the soname from the library that it finds there.
# OpenSM's other libraries and its headers are those of the host.
set -u
: "${top_srcdir:?make check sets it}" "${top_builddir:?make check sets it}"
: "${OPENSM_INCLUDEDIR:?make check sets it}"
if [ -e "$top_srcdir/config.status" ]; then
	echo "1..0 # SKIP the source directory itself is configured"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
number=0
echo 1..15

# is NAME EXPECTED ACTUAL
is() {
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		printf 'expected\n%s\nfound\n%s\n' "$2" "$3" | sed 's/^/# /'
		sed 's/^/# /' "$tmp/log"
	fi
}

# vendor DIRECTORY SONAME: a libosmvendor that is good for linking; what is not
# in it comes from the real one
vendor() {
	mkdir -p "$1"
	# shellcheck disable=SC2086
	echo 'int osm_vendor_bind, osm_mad_pool_get;' |
		$CC -shared -fPIC -o "$1/$2" -Wl,-soname,"$2" -x c - \
			-Wl,--no-as-needed ${OPENSM_LDFLAGS:-} -losmvendor &&
		ln -sf "$2" "$1/libosmvendor.so"
}

# run [ARGUMENT]...: configure in a directory of its own
run() {
	rm -rf "$tmp/build"
	mkdir "$tmp/build"
	(cd "$tmp/build" && "$top_srcdir/configure" --disable-tests \
		--cache-file="$tmp/cache" "$@") >"$tmp/log" 2>&1 || return 1
	# what depends on the prefix is asked again
	grep -v osm "$tmp/cache" >"$tmp/other"
	mv "$tmp/other" "$tmp/cache"
}
soname() {
	sed -n 's/^#define OSMVENDOR_SONAME "\(.*\)"/\1/p' \
		"$tmp/build/config.h" 2>/dev/null
}
ldflags() {
	sed -n 's/^OPENSM_LDFLAGS = //p' "$tmp/build/vendor/Makefile" \
		2>/dev/null
}

# Where nothing is, nothing is found.
run --with-opensm="$tmp/nowhere"
is "no OpenSM below the prefix: configure fails" 1 $?
is "and names the package" yes \
	"$(grep -q 'missing Debian packages: libopensm-dev' "$tmp/log" &&
		echo yes)"
rm -f "$tmp/cache"

# And so are tools, and libraries that pkg-config does not know.
run PKG_CONFIG=false ac_cv_path_FLEX=no ac_cv_path_BISON=no \
	ac_cv_header_nettle_sha2_h=no ac_cv_header_pcap_pcap_h=no \
	ac_cv_header_curses_h=no
is "neither flex, bison, nettle, libpcap nor ncurses: configure fails" 1 $?
is "and names the packages" yes \
	"$(grep -q 'missing Debian packages: nettle-dev libpcap-dev libncurses-dev flex bison (' \
		"$tmp/log" && echo yes)"
rm -f "$tmp/cache"

# From the worst place to the best, each beside those before it.
mkdir -p "$tmp/opensm/include"
ln -s "$OPENSM_INCLUDEDIR" "$tmp/opensm/include/infiniband"
cpu=$($CC -dumpmachine)
major=6
for dir in lib lib64 "lib/${cpu%%-*}-linux-gnu"; do
	vendor "$tmp/opensm/$dir" libosmvendor.so.$major
	run --with-opensm="$tmp/opensm"
	is "$dir: configure" 0 $?
	is "$dir: it is searched" "-L$tmp/opensm/$dir" "$(ldflags)"
	is "$dir: the soname is the library's" libosmvendor.so.$major \
		"$(soname)"
	major=$((major + 1))
done

# readelf may be missing.
run --with-opensm="$tmp/opensm" READELF=false
is "without readelf: configure" 0 $?
is "without readelf: the soname of OpenSM 3.3" libosmvendor.so.5 "$(soname)"
