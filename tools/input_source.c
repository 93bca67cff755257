/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* -i SOURCE: which kind of input it is. */
#include <opensm/osm_config.h>
#include <string.h>
#include <vendor/osm_vendor_snoop.h>

#include "input_kind.h"

/* What follows PREFIX or PREFIX: in the source; NULL where it is another. */
static const char *argument_of(const char *source, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(source, prefix, len))
		return NULL;
	if (source[len] == ':')
		return source + len + 1;
	return source[len] ? NULL : source + len;
}

struct input *input_open_source(const char *source,
				const volatile sig_atomic_t *stop,
				char error[INPUT_ERROR_MAX])
{
	const char *argument;

	if ((argument = argument_of(source, "kernel")))
		return input_open_snoop(OSM_SNOOP_SOURCE_KERNEL,
					*argument ? argument : NULL, stop,
					error);
	if ((argument = argument_of(source, "bpf")))
		return input_open_snoop(OSM_SNOOP_SOURCE_BPF,
					*argument ? argument : NULL, stop,
					error);
	if (!strchr(source, '/'))
		return input_fail(error, "source '%s' is not known; accepted are the path of a socket (with a /), kernel:DEV[:PORT] and bpf[:DEV]; a file is read with -r",
				  source);
	return input_open_socket(source, stop, error);
}
