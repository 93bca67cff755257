# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What an OpenSM is asked in tests of its capture file, for tests/fabric/lib.sh:
# everything that clients on ibsim can ask.
#
#	traffic_begin
#	traffic_large
#	traffic_start tap snaplen=0
#	traffic_tables tap
#	fabric_opensm_stop sm
#	traffic_large_end
#	traffic_small
#	...
#
# $capture is then the file, $out a directory for the test.

m_key=8811223344556677
sm_key=9966554433221100

# traffic_begin: without tshark there is nothing to test
traffic_begin()
{
	fabric_begin
	fabric_clients
	command -v tshark >/dev/null || {
		[ -z "${FABRIC_REQUIRE:-}" ] || bail 'no tshark'
		echo '1..0 # SKIP no tshark'
		exit 0
	}
	out=$FABRIC_DIR/out
	mkdir "$out"
	# tshark is to read and write nothing of the user's
	export HOME=$FABRIC_DIR
}

# all the hosts get LIDs: ibsim tells OpenSM of its own at the next start
traffic_fabric()
{
	fabric_net "$1"
	fabric_ibsim
	fabric_opensm first Hca1 -c 'sweep_interval 0' -c "m_key 0x$m_key"
	fabric_opensm_stop first
}

# traffic_large: 512 hosts, and RMPP
traffic_large()
{
	# shellcheck disable=SC2119 # no words: as it is
	fabric_double
	fabric_compile rmpp_client "$FABRIC_LIB/../clients/umad_client.c" \
		-libumad
	traffic_fabric 512
}

traffic_large_end()
{
	fabric_ibsim_stop
	fabric_double_off
}

# traffic_small: 8 hosts
traffic_small()
{
	traffic_fabric 8
}

# traffic_start NAME [OPTION...]: OpenSM, which writes $capture
traffic_start()
{
	capture=$FABRIC_DIR/$1.pcap
	rm -f "$FABRIC_DIR/sm/trace" "$FABRIC_DIR/sm/audit"
	fabric_plugin sm capture="$capture" "${@:2}"
	fabric_opensm sm Hca1 "${FABRIC_PLUGIN[@]}" -c 'sweep_interval 0' \
		-c "m_key 0x$m_key" -c "sa_key 0x$sm_key" -c "sm_key 0x$sm_key"
	# until the names are known
	sleep 2.2
}

# every query that saquery has by name, of one LID where there would be 280,000
# paths; with the SM_Key of the trusted
traffic_queries()
{
	local query

	for query in CPI NR PIR SL2VL PKTR VLAR LR SR 'PR --slid 1' MCMR LFTR \
		MFTR GIR SWIR SMIR IIR; do
		# a query and its arguments
		# shellcheck disable=SC2086
		fabric_client Hca2 timeout -s KILL 60 saquery -t 30000 \
			--smkey 0x$sm_key $query >"$out/${query%% *}" 2>&1 || {
			echo "$query: $(tail -n 1 "$out/${query%% *}")"
			return 1
		}
	done
}

# traffic_tables NAME: what a large fabric answers
traffic_tables()
{
	check "$1: every query of saquery" traffic_queries
	check "$1: 400 paths" fabric_client Hca3 timeout 60 sa_client \
		-k path -n 400 -w 8 -t 20 -o "$out/sa"
	check "$1: a table with a GRH" fabric_client Hca4 timeout 60 \
		"$FABRIC_DIR/bin/rmpp_client" -g table
	check "$1: smpquery" fabric_client Hca5 timeout 20 \
		smpquery nodeinfo 1
}

# traffic_changes NAME: each kind of query and change, errors, traps, Reports
traffic_changes()
{
	local flow

	check "$1: every query of saquery" traffic_queries
	for flow in c q; do
		check "$1: osmtest -f $flow" fabric_client Hca4 timeout 30 \
			osmtest -f $flow -i "$out/osmtest.dat" \
			-l "$out/osmtest.log"
	done
	check "$1: all that sa_client asks" fabric_client Hca3 timeout 60 \
		sa_client -k mixed,refused -n 100 -w 1 -t 1 -o "$out/sa"
	check "$1: traps" fabric_client Hca5 trap_client
	check "$1: Reports of traps" fabric_client Hca6 trap_client \
		-r answer 144 257
}
