#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Completion offers what there is: every option, and names that are names.
# shellcheck source=tests/tools/lib.sh disable=SC2154
. "${top_srcdir:?}/tests/tools/lib.sh"
# shellcheck source=completions/osmsnoop
. "$top_srcdir/completions/osmsnoop"

# complete_words WORD...: what may stand for the last
complete_words()
{
	COMP_WORDS=(osmsnoop "$@")
	COMP_CWORD=$#
	_osmsnoop
	printf '%s\n' "${COMPREPLY[@]}"
}

"$make_capture" 0 >"$tmp/story"
is "the options are those of --help" \
	"$("$snoop" --help | grep -o -e '--[a-z-]*' | sort -u)" \
	"$(complete_words -- | sort)"
for option in $("$snoop" --help | sed -n 's/^  \(-[a-z]\),.*/\1/p'); do
	has "$option" "^$option$" "$(complete_words -)"
done
is "the options of top are those of its --help" \
	"$("$snoop" top --help | grep -o -e '-[a-z],' -e '--[a-z-]*' |
		tr -d , | sort -u)" \
	"$(complete_words top - | sort)"
is "its columns are columns" "" \
	"$(for column in $(complete_words top -s ''); do
		"$snoop" top -r "$tmp/story" -s "$column" 2>&1 >/dev/null
	done)"
has "top takes expressions" '^attr$' "$(complete_words top at)"
has "a subcommand" '^stats$' "$(complete_words st)"
has "a word of an expression" '^attr$' "$(complete_words at)"
is "its value" PathRecord "$(complete_words attr Path)"
is "after src" lid "$(complete_words src '')"
has "what goes on" '^and$' "$(complete_words sent a)"
is "files" "$tmp/story" "$(complete_words -r "$tmp/sto")"
is "files of stats" "$tmp/story" "$(complete_words stats "$tmp/sto")"
is "files of verify" "$tmp/story" "$(complete_words verify "$tmp/sto")"
is "the options of verify are those of its --help" \
	"$("$snoop" verify --help | grep -o -e '-[a-z],' -e '--[a-z-]*' |
		tr -d , | sort -u)" \
	"$(complete_words verify - | sort)"
for word in class method attr status; do
	wrong=
	for value in $(complete_words $word ''); do
		"$snoop" -r "$tmp/story" $word "$value" >/dev/null 2>&1 ||
			wrong="$wrong $value"
	done
	is "$word: every name is one" "" "$wrong"
done
for word in $(complete_words ''); do
	case $word in
	stats | top | verify) ;;
	sent | received | error)
		"$snoop" -r "$tmp/story" "$word" >/dev/null 2>&1
		is "$word stands alone" 0 $?
		;;
	*)
		has "$word is a word" "something is missing at the end" \
			"$("$snoop" -r "$tmp/story" "$word" 2>&1)"
		;;
	esac
done
done_testing
