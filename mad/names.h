/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The names of the field: management classes, methods, attributes, status
 * values, SM states. IBA's own, each in one table that code, option parser
 * and documentation share. All numbers are in host byte order.
 */
#ifndef OSMSNOOP_NAMES_H
#define OSMSNOOP_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Every function below returns a static string, or NULL when the number has
 * no name (the caller then shows the number).
 */
const char *class_name(uint8_t mgmt_class);	/* "SubnAdm", "Perf", ... */
const char *method_name(uint8_t mgmt_class, uint8_t method);
const char *attribute_name(uint8_t mgmt_class, uint16_t attr_id);

/* 1 "DISCOVERING", 2 "STANDBY", 3 "MASTER", 0 "NOTACTIVE" in lower case */
const char *sm_state_name(uint8_t state);

/*
 * The status of an SA response: "OK", "ERR_NO_RECORDS", ... (IBA table 188),
 * or the common status ("BUSY", "REDIRECT", "ERR_METHOD_UNSUPPORTED", ...;
 * IBA table 117) when the class specific part is zero.
 */
const char *sa_status_name(uint16_t status);

/* Names to numbers, without regard to case; false when there is none. */
bool class_number(const char *name, size_t len, uint8_t *mgmt_class);
bool attribute_number(uint8_t mgmt_class, const char *name, size_t len,
		      uint16_t *attr_id);

/* Of any class: "Get", "GetTableResp", ... */
bool method_number(const char *name, size_t len, uint8_t *method);

/* The string that sa_status_name() returns for such a status, or NULL. */
const char *sa_status_find(const char *name, size_t len);

/* The class names that class_number() takes, for error messages. */
const char *class_names_accepted(void);

/*
 * The same for the others: names with ", " between, in a caller's buffer of
 * NAMES_LIST_MAX bytes.
 */
enum { NAMES_LIST_MAX = 2048 };
void method_names_accepted(char list[NAMES_LIST_MAX]);
void sa_status_names_accepted(char list[NAMES_LIST_MAX]);
void attribute_names_accepted(uint8_t mgmt_class, char list[NAMES_LIST_MAX]);

#endif /* OSMSNOOP_NAMES_H */
