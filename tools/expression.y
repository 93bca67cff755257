/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The grammar of expressions: `or` binds less than `and`, that less than `not`. */
%require "3.6"
%define api.pure full
%define api.prefix {expression_yy}
%define api.location.type {struct place}
%define parse.error custom
%define parse.lac full
%locations
%lex-param {void *scanner}
%parse-param {void *scanner} {struct parsing *p}

%code requires {
#include <stdio.h>

#include "expression_code.h"

#define YYLLOC_DEFAULT(all, parts, n) do { \
		if (n) { \
			(all).from = YYRHSLOC(parts, 1).from; \
			(all).to = YYRHSLOC(parts, n).to; \
		} else { \
			(all).from = (all).to = YYRHSLOC(parts, 0).to; \
		} \
	} while (0)
}

/* as flex calls them */
%code provides {
#define YYSTYPE EXPRESSION_YYSTYPE
#define YYLTYPE EXPRESSION_YYLTYPE
}

%union {
	struct word word;
	enum test test;
	enum end end;
}

%code {
int expression_yylex(EXPRESSION_YYSTYPE *value, struct place *place,
		     void *scanner);

static void expression_yyerror(const struct place *place, void *scanner,
			       struct parsing *p, const char *message)
{
	(void)scanner;
	code_error(p, place, NULL, "%s", message);
}

#define DO(call) do { \
		if (!(call)) \
			YYABORT; \
	} while (0)
}

%token END 0 "the end"
%token AND "and" OR "or" NOT "not" OPEN "(" CLOSE ")"
%token CLASS "class" METHOD "method" ATTR "attr"
%token SRC "src" DST "dst" LID "lid" GUID "guid" GID "gid" NAME "name"
%token TID "tid" STATUS "status" RECORDS "records"
%token SENT "sent" RECEIVED "received" ERROR "error"
%token <word> VALUE_WORD "a value"
%token <word> COMPARE "<, <=, =, >=, >"
%token UNKNOWN "a word"
%type <test> value simple
%type <end> end

%left OR
%left AND
%precedence NOT

%%

all:
	%empty
|	expression
;

expression:
	expression OR expression {
		DO(code_step(p, &@$, &(struct step){ .test = TEST_OR }));
	}
|	expression AND expression {
		DO(code_step(p, &@$, &(struct step){ .test = TEST_AND }));
	}
|	NOT expression {
		DO(code_step(p, &@$, &(struct step){ .test = TEST_NOT }));
	}
|	OPEN expression CLOSE
|	value VALUE_WORD { DO(code_word(p, &@2, $1, END_ANY, &$2)); }
|	end LID VALUE_WORD { DO(code_word(p, &@3, TEST_LID, $1, &$3)); }
|	STATUS VALUE_WORD { DO(code_status(p, &@2, &$2)); }
|	RECORDS VALUE_WORD { DO(code_records(p, &@2, NULL, &$2)); }
|	RECORDS COMPARE VALUE_WORD { DO(code_records(p, &@3, &$2, &$3)); }
|	simple { DO(code_step(p, &@1, &(struct step){ .test = $1 })); }
;

end:
	%empty	{ $$ = END_ANY; }
|	SRC	{ $$ = END_SOURCE; }
|	DST	{ $$ = END_DESTINATION; }
;

value:
	CLASS	{ $$ = TEST_CLASS; }
|	METHOD	{ $$ = TEST_METHOD; }
|	ATTR	{ $$ = TEST_ATTRIBUTE; }
|	GUID	{ $$ = TEST_GUID; }
|	GID	{ $$ = TEST_GID; }
|	NAME	{ $$ = TEST_NAME; }
|	TID	{ $$ = TEST_TID; }
;

simple:
	SENT		{ $$ = TEST_SENT; }
|	RECEIVED	{ $$ = TEST_RECEIVED; }
|	ERROR		{ $$ = TEST_ERROR; }
;

%%

/* What would be accepted at the place, in the order of the grammar. */
static void list_expected(const yypcontext_t *context, char *list, size_t size)
{
	yysymbol_kind_t expected[YYNTOKENS];
	int i, n = yypcontext_expected_tokens(context, expected, YYNTOKENS);
	size_t len = 0;

	list[0] = '\0';
	for (i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(list + len, size - len, "%s%s",
					i ? ", " : "",
					yysymbol_name(expected[i]));
}

static int yyreport_syntax_error(const yypcontext_t *context, void *scanner,
				 struct parsing *p)
{
	struct place *place = yypcontext_location(context);
	char list[1024];

	(void)scanner;
	list_expected(context, list, sizeof(list));
	if (yypcontext_token(context) == YYSYMBOL_YYEOF)
		code_error(p, place, list, "something is missing at the end");
	else
		code_error(p, place, list, "'%.*s' does not belong here",
			   (int)(place->to - place->from),
			   p->text + place->from);
	return 0;
}
