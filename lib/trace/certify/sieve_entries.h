/* Rules of sieve_entries.c, for those who pass some entries at a time. */
#ifndef CLARKE_TRACE_SIEVE_ENTRIES_H
#define CLARKE_TRACE_SIEVE_ENTRIES_H

#include "trace/certify/sieve_wide.h"

/* A row's factor; is the constant one that is known: no root of a statistic, in float32's range? Else all is left open. Roundings that a
 * node is given beside its sums', both ways (rounding_forward.c, rounding_back_step.c). */
double clarke_sieve_factor_at(const clarke_sieve *s, const clarke_step *step, size_t f);
bool clarke_sieve_is_factor(clarke_sieve *s, const clarke_step *step);
double clarke_sieve_spare(const clarke_step *step);
double clarke_sieve_spare_back(const clarke_step *step);

/* A gradient, times a factor, joins sums that are to be a gradient; recorded: it is known. A sign that is turned alone is not rounded. */
void clarke_sieve_hand_scaled(const clarke_sieve_sums *to, unsigned char *joined, const clarke_sieve_line *g, bool recorded,
                              const clarke_sieve_factor *by, size_t n);
/* Such sums are whole: may and off become what the exact pass takes them to be off by, and what they are. */
void clarke_sieve_finish_line(const clarke_sieve_sums *v, const unsigned char *joined, double gamma, size_t n);

/* Are all numbers of a line so small that no sum of theirs overflows? Else all is left open. mass: NULL where it is no sum. */
void clarke_sieve_check_line(clarke_sieve *s, const clarke_sieve_sums *v, size_t n);

/* What was found of a whole tensor becomes its certificate's. */
void clarke_sieve_tell(clarke_sieve *s, clarke_certificate *made, const clarke_sieve_found *found, size_t count, bool enclosed, const float *recorded);

#endif
