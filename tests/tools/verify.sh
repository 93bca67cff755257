#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# osmsnoop verify: what it says and with which exit status. That each change is
# found is in tools/test_audit_check.c.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"

make_audit=$top_builddir/tests/tools/make_audit
audit=$tmp/audit.jsonl

# begin: 10,000 records in 5 files
begin()
{
	rm -rf "$audit"*
	"$make_audit" "$audit" 420000 10000
}

# holds WHAT PATTERN FILE...
holds()
{
	local what=$1 pattern=$2
	shift 2
	run verify "$@"
	is "$what: exit 0" 0 "$rc"
	has "$what: it is said" "$pattern" "$out"
}

# broken WHAT PATTERN FILE...
broken()
{
	local what=$1 pattern=$2
	shift 2
	run verify "$@"
	is "$what: exit 1" 1 "$rc"
	has "$what: it is said" "$pattern" "$out"
	has "$what: so is the sum" '^broken: [1-9]' "$out"
}

begin
holds "an audit" '^well; 10000 records in 5 files, 0 said to be lost$' "$audit"
has "its first file comes first" "^$audit.4: 2287 records, 2026-11-30T00:00" \
	"$(head -n 1 "$tmp/out")"
holds "its files, in any order" '^well; 10000 records' \
	"$audit.2" "$audit" "$audit.4" "$audit.1" "$audit.3"
run verify -j "$audit"
is "as JSON" '[true,10000,5,true,0,0,1]' \
	"$(jq -c '[.well, .records, (.files | length), .from_the_beginning,
		(.faults | length), .newer_than_sidecar,
		.files[0].chained_from]' "$tmp/out")"

rm "$audit.4"
holds "without the oldest file" '^begins at .*: earlier files are not here' \
	"$audit"
rm "$audit.2"
broken "without one in the middle" \
	"^BROKEN: $audit.1: does not go on from the end of $audit.3" "$audit"
begin
rm "$audit"
broken "without the current one" "^BROKEN: $audit: No such file" "$audit"
broken "which nobody names" "^BROKEN: $audit is missing, or was not named" \
	"$audit.1" "$audit.2" "$audit.3" "$audit.4"

begin
sed -i '700s/sweep/swept/' "$audit.2"
broken "one word" "^BROKEN: $audit.2: line 700, record 700: its chain value" \
	"$audit"
run verify -j "$audit"
is "as JSON: exit 1" 1 "$rc"
is "as JSON: which" "[false,\"$audit.2\",700,700]" \
	"$(jq -c '[.well, .faults[0].file, .faults[0].line,
		.faults[0].seq]' "$tmp/out")"
begin
sed -i 700d "$audit.2"
broken "a line removed" \
	"$audit.2: line 700, record 701: stands where record 700 should" \
	"$audit"
begin
sed -i '$d' "$audit"
broken "the last line removed" \
	"$audit: its end is missing: record 852, which $audit.chain names" \
	"$audit"
begin
sed -i '$d' "$audit.3"
broken "the last line of another" \
	"^BROKEN: $audit.2: does not go on from the end of $audit.3" "$audit"
begin
truncate -s -1 "$audit"
broken "the last byte" "its end is missing" "$audit"
begin
rm "$audit.chain"
broken "the sidecar" "^BROKEN: $audit.chain is missing: whether" "$audit"
begin
printf '{"seq":853,"time":"2026' >>"$audit"
holds "half a line, as a kill leaves it" "then half a line" "$audit"
"$make_audit" "$audit" 420000 10
holds "and gone on with" '^well; 10010 records' "$audit"

run verify
is "no file: exit 2" 2 "$rc"
has "no file: usage" '^usage: osmsnoop verify' "$err"
run verify -x "$audit"
is "an unknown option: exit 2" 2 "$rc"
run verify --help
is "--help: exit 0" 0 "$rc"
broken "a name that the terminal would obey" 'a\\u001b\[2J' "$tmp"/$'a\033[2J'
broken "no audit" 'line 1: is no record of osmsnoop' "$snoop"
"$snoop" verify "$audit" >/dev/full 2>"$tmp/err"
is "a full device: exit 1" 1 $?
done_testing
