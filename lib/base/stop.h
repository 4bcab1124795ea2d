/* Long work: how far it is, and whether somebody wants it to stop. The library reads no clock; who runs it may. One process
 * has one such state, whatever its threads. */
#ifndef CLARKE_BASE_STOP_H
#define CLARKE_BASE_STOP_H

#include "base/status.h"

#include <stddef.h>

/* Work that checks from now on stops, and says why: a text that stays. The first reason stays. A signal handler may call it. */
void clarke_work_stop(const char *why);
/* Why it is to stop; NULL: it is not. */
const char *clarke_work_stopped(void);
/* It stops at the check after so many (0: at none). */
void clarke_work_stop_after(size_t checks, const char *why);

/* CLARKE_ESTOPPED with the reason, when work is to stop. Called in all loops that may take long: it costs a load. */
clarke_status clarke_work_check(clarke_error *err);

/* A stage of so many parts begins (what: a text that stays; 0 parts: nobody knows how many); one more part is done. */
void clarke_work_begin(const char *what, size_t parts);
void clarke_work_done(void);
/* The stage at work: NULL before the first. *done may be one behind. */
const char *clarke_work_at(size_t *done, size_t *parts);

#endif
