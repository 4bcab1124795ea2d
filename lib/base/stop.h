/* Long work: how far it is, how much it was, and whether somebody wants it to stop. The library reads no clock; who runs it may.
 * One process has one such state, whatever its threads, but for what each of them counts. */
#ifndef CLARKE_BASE_STOP_H
#define CLARKE_BASE_STOP_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Work that checks from now on stops, and says why: a text that stays. The first reason stays. A signal handler may call it. */
void clarke_work_stop(const char *why);
/* Why it is to stop; NULL: it is not. Of the limit of work this thread's count is asked. */
const char *clarke_work_stopped(void);
/* It stops at the check after so many (0: at none). */
void clarke_work_stop_after(size_t checks, const char *why);

/* CLARKE_ESTOPPED with the reason, when work is to stop. Called in all loops that may take long: it costs a load. */
clarke_status clarke_work_check(clarke_error *err);

/* Work is counted, each thread's on its own, in operations on numbers of a word or two: some 10^8 take a second. What is counted
 * depends on the input alone, so that one input has one answer. */
typedef struct {
  bool limited; /* beyond the limit `work` (base/limit.h) this thread's work is to stop; else whatever is counted goes on */
  size_t spent;
} clarke_work_count;

/* So many operations more, or a number near them. Without them a check counts as some hundred. */
void clarke_work_spend(size_t operations);
/* So many bytes are kept for the answer. They count as work, some operations each, so that the limit of work is met before memory is
 * used up, and at the same place each time. */
void clarke_work_keep(size_t bytes);
clarke_work_count clarke_work_counted(void);
/* This thread counts on from there: from 0 a command, or a part of another thread's work. */
void clarke_work_count_from(clarke_work_count count);
/* Is that more than the limit? Never when it is not limited. */
bool clarke_work_beyond(clarke_work_count count);

/* A stage of so many parts begins (what: a text that stays; 0 parts: nobody knows how many); one more part is done. */
void clarke_work_begin(const char *what, size_t parts);
void clarke_work_done(void);
/* The stage at work: NULL before the first. *done may be one behind. */
const char *clarke_work_at(size_t *done, size_t *parts);

#endif
