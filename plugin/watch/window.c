/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "window.h"

/* Makes this step the newest: what is no longer within is forgotten. */
static void advance(struct window *w, uint64_t step)
{
	uint32_t *old;

	if (step - w->step >= WINDOW_STEPS) {
		memset(w->steps, 0, sizeof(w->steps));
		w->total = 0;
		w->step = step;
		return;
	}
	while (w->step < step) {
		old = &w->steps[++w->step % WINDOW_STEPS];
		w->total -= *old;
		*old = 0;
	}
}

bool window_add(struct window *w, uint64_t step_ns, uint64_t mono_ns)
{
	const uint64_t step = mono_ns / step_ns;

	if (step > w->step)
		advance(w, step);
	else if (w->step - step >= WINDOW_STEPS)
		return false;
	w->steps[step % WINDOW_STEPS]++;
	w->total++;
	return true;
}
