#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The rules for Prometheus are valid and fire when they are to; the dashboard for
# Grafana is one, and Prometheus understands its queries; both ask for metrics
# and for labels' values that plugin/metrics.c has.
set -u
: "${top_srcdir:?make check sets it}"
doc=$top_srcdir/doc
rules=$doc/alert-rules.yml
dashboard=$doc/grafana-dashboard.json
metrics=$top_srcdir/plugin/metrics.c
for tool in promtool jq; do
	command -v $tool >/dev/null && continue
	# in CI nothing is skipped
	[ -z "${FABRIC_REQUIRE:-}" ] || { echo "Bail out! no $tool"; exit 1; }
	echo "1..0 # SKIP no $tool (Debian: prometheus jq)"
	exit 0
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
number=0
echo 1..11

# check NAME COMMAND...
check() {
	number=$((number + 1))
	name=$1
	shift
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$tmp/log"
	fi
}

# names FILE: of metrics, wherever they stand
names() {
	grep -oE '\bosmsnoop_[a-z0-9_]+\b' "$1" | sort -u
}

# What metrics.c has: NAME TYPE. A histogram has three.
sed -n 's/^\t{ "\(osmsnoop_[a-z_]*\)", "\([a-z]*\)",.*/\1 \2/p' "$metrics" \
	>"$tmp/table"
awk '$2 == "histogram" { print $1 "_bucket\n" $1 "_sum\n" $1 "_count"; next }
	{ print $1 }' "$tmp/table" | sort >"$tmp/series"

# known FILE: each name in it is one of a series
known() {
	names "$1" | comm -23 - "$tmp/series" >"$tmp/unknown"
	cat "$tmp/unknown"
	[ -n "$(names "$1")" ] && [ ! -s "$tmp/unknown" ]
}

# In the dashboard each metric is somewhere.
all_shown() {
	names "$dashboard" | comm -13 - "$tmp/series" >"$tmp/hidden"
	cat "$tmp/hidden"
	[ ! -s "$tmp/hidden" ]
}

# Its members, numbers and places: nothing lies on another.
is_dashboard() {
	jq -e '(.title | length > 0) and (.uid | length > 0) and
		(.schemaVersion >= 30) and (.templating.list | length == 2) and
		(.panels | length > 10) and
		([.panels[].id] | length == (unique | length)) and
		all(.panels[]; .title and .gridPos and
			.gridPos.x + .gridPos.w <= 24) and
		all(.panels[] | select(.type != "row");
			(.targets | length > 0) and
			(.datasource.uid == "${datasource}") and
			all(.targets[]; .expr and .refId)) and
		([.panels[].gridPos as $p |
			range($p.x; $p.x + $p.w) as $x |
			range($p.y; $p.y + $p.h) as $y | [$x, $y]] |
			length == (unique | length))' "$dashboard"
}

# Each query, as a rule that records it.
queries() {
	jq -r '{groups: [{name: "dashboard", rules: [[.. | .expr? // empty] |
		to_entries[] | {record: "dashboard:\(.key)",
		expr: (.value | gsub("\\$__rate_interval"; "5m") |
			gsub("\\$instance"; ".*"))}]}]}' \
		"$dashboard" >"$tmp/queries.yml" &&
		promtool check rules "$tmp/queries.yml"
}

# The labels of each metric, as metrics.c writes them.
labels() {
	jq -r '.. | .expr? // empty' "$dashboard" | cat - "$rules" |
		grep -oE '\bosmsnoop_[a-z_]+\{[^}]*\}' |
		sed 's/^osmsnoop_//; s/"[^"]*"//g; s/[=!~]//g; s/}//' |
		awk -F'{' '{
			n = split($2, label, ",")
			for (i = 1; i <= n; i++)
				print $1, label[i]
		}' | sort -u >"$tmp/labels"
	awk 'BEGIN {
			has["mads_total"] = "class direction"
			has["sa_requests_total"] = "method attribute outcome"
			has["sa_latency_seconds_bucket"] = "le"
			has["send_errors_total"] = "class"
			has["traps_total"] = "number"
			has["alerts_total"] = "alert"
			has["lost_total"] = "where"
			has["sa_requester_requests"] = "lid name"
		}
		$2 == "instance" { next }
		index(" " has[$1] " ", " " $2 " ") == 0 { print; bad = 1 }
		END { exit bad }' "$tmp/labels"
}

# The stable names: as the manual has them, and as the watchers say them.
alerts() {
	awk '/^\.Ss Records/ { exit }
		/^\.It Cm [a-z_]+ , No/ { print $3 }' \
		"$top_srcdir/man/osmsnoop-plugin.8" | sort >"$tmp/manual"
	grep -ohE '"[a-z]+_[a-z_]+"' "$top_srcdir"/plugin/watch/*.c |
		tr -d '"' | sort -u | comm -12 - "$tmp/manual" |
		diff "$tmp/manual" -
}

known_alerts() {
	grep -ohE 'alert=~?"[^"]*"' "$rules" "$dashboard" |
		sed 's/.*="//; s/.*~"//; s/"//' | tr '|' '\n' | sort -u |
		while read -r alert; do
			grep -qxE "$alert" "$tmp/manual" || echo "$alert"
		done >"$tmp/unknown"
	cat "$tmp/unknown"
	[ ! -s "$tmp/unknown" ]
}

check "metrics.c's table has the eleven metrics" \
	test "$(wc -l <"$tmp/table")" -eq 11
check 'the rules are valid' promtool check rules "$rules"
check 'they fire when they are to' \
	promtool test rules "$doc/alert-rules-test.yml"
check 'they ask for metrics that there are' known "$rules"
check 'the dashboard is one' is_dashboard
check 'its queries are valid' queries
check 'they ask for metrics that there are' known "$dashboard"
check 'and for all of them' all_shown
check 'metrics have the labels that are asked for' labels
check 'each alert of the manual is one of a watcher' alerts
check 'the alerts that rules ask for are in the manual' known_alerts
