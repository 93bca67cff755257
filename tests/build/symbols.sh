#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The shared objects export what their maps say and nothing else, and carry
# the flags and needs that the tap relies on.
set -u
: "${top_builddir:?make check sets it}"
vendor=$top_builddir/vendor/.libs/libosmvendor_snoop.so
plugin=$top_builddir/plugin/.libs/libosmsnoop.so
number=0
echo 1..10

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
umad_filter_match@OSMVENDOR_SNOOP_1.0" "$(exports "$vendor")"
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
