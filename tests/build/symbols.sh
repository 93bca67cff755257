#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The shared objects export what their maps say and nothing else, and carry
# the flags and needs that the tap relies on. Where libibumad has
# umad_register_snoop, ours is not there.
set -u
: "${top_builddir:?make check sets it}" "${top_srcdir:?make check sets it}"
vendor=$top_builddir/vendor/.libs/libosmvendor_snoop.so
plugin=$top_builddir/plugin/.libs/libosmsnoop.so
number=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
echo 1..12

# same NAME EXPECTED ACTUAL
same() {
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		printf 'expected\n%s\nfound\n%s\n' "$2" "$3" | sed 's/^/# /'
	fi
}

# exports FILE: name@version of each defined function and variable
exports() {
	$READELF -W --dyn-syms "$1" | awk '
		$7 != "UND" && $4 ~ /FUNC|OBJECT/ && $5 != "LOCAL" &&
		$7 != "ABS" { sub(/@@/, "@", $8); print $8 }' |
		LC_ALL=C sort
}

# dynamic FILE PATTERN: yes when the dynamic section has it
dynamic() {
	if $READELF -dW "$1" | grep -Eq "$2"; then echo yes; else echo no; fi
}

register_snoop=umad_register_snoop@OSMVENDOR_SNOOP_1.0
grep -q UMAD_SNOOP_IN_LIBIBUMAD \
	"$top_builddir/vendor/libosmvendor_snoop.pc" && register_snoop=
same "exports of libosmvendor_snoop" "osm_vendor_bind@OSMVENDOR_2.0
osm_vendor_send@OSMVENDOR_2.0
osm_vendor_snoop_attach@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_bind@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_detach@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_get_source@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_get_stats@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_source_is_built_in@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_source_name@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_strerror@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_unbind@OSMVENDOR_SNOOP_1.0
osm_vendor_snoop_unbind_by@OSMVENDOR_SNOOP_1.0
umad_filter_match@OSMVENDOR_SNOOP_1.0${register_snoop:+
$register_snoop}" "$(exports "$vendor")"
same "exports of libosmsnoop" osm_event_plugin "$(exports "$plugin")"
same "soname" yes "$(dynamic "$vendor" 'SONAME.*\[libosmvendor_snoop\.so\.1\]')"
same "libosmvendor is needed" yes \
	"$(dynamic "$vendor" 'NEEDED.*\[libosmvendor\.so\.')"
same "the name that the tap looks for is the one that is needed" \
	"$(sed -n 's/^#define OSMVENDOR_SONAME "\(.*\)"/\1/p' \
		"$top_builddir/config.h")" \
	"$($READELF -dW "$vendor" |
		sed -n 's/.*NEEDED.*\[\(libosmvendor\.so.*\)\]/\1/p')"
same "the plugin needs libosmvendor_snoop" yes \
	"$(dynamic "$plugin" 'NEEDED.*\[libosmvendor_snoop\.so\.1\]')"
for file in "$vendor" "$plugin"; do
	same "${file##*/} is never unloaded" yes \
		"$(dynamic "$file" 'FLAGS_1.*NODELETE')"
	same "${file##*/} is bound at once" yes \
		"$(dynamic "$file" 'FLAGS_1.*NOW')"
done

# A libibumad of the seed: its header's call and filter are the only ones.
mkdir -p "$tmp/infiniband"
cat >"$tmp/infiniband/umad.h" <<'END'
#include <stddef.h>
#include <stdint.h>
typedef struct umad_filter {
	uint8_t mgmt_class;
	uint8_t mgmt_version;
	uint16_t attr_id;
	uint8_t errors;
	uint8_t oui[3];
} umad_filter_t;
static int umad_register_snoop(int portid, umad_filter_t *filter,
			       size_t filter_length)
{
	return portid + !filter + (int)filter_length;
}
END
cat >"$tmp/program.c" <<'END'
#include <infiniband/umad_snoop.h>
int main(void)
{
	umad_filter_t filter = { .mgmt_class = 3 };

	umad_filter_match(&filter, &filter, sizeof(filter), false, 0);
	return umad_register_snoop(-8, &filter, sizeof(filter));
}
END
# program [FLAG]...: does it compile with this libibumad?
program() {
	if $CC "$@" -Wall -Werror -fsyntax-only -I"$tmp" \
		-I"$top_srcdir/include" "$tmp/program.c" 2>"$tmp/log"; then
		echo yes
	else
		sed 's/^/# /' "$tmp/log" >&2
		echo no
	fi
}
same "the header leaves the call to a libibumad that has it" yes \
	"$(program -DUMAD_SNOOP_IN_LIBIBUMAD)"
same "the header has the call as it lies there" yes "$(program)"
