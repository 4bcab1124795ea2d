/* A drawn program, of one input vector w, asked about at a point. */
#ifndef CLARKE_TOOLS_SUITE_POSED_H
#define CLARKE_TOOLS_SUITE_POSED_H

#include "suite.h"

#include "base/output.h"
#include "program/derive.h"

typedef struct {
  clarke_code p;
  clarke_profile profile;
  size_t n;
  mpq_t *at; /* of w */
  clarke_derivation d;
} clarke_posed;

void clarke_posed_init(clarke_posed *q);
void clarke_posed_clear(clarke_posed *q);
/* Reads the program, whose text is closed and then cleared, under PyTorch's profile. at: n integers, or NULL: zeros. */
clarke_status clarke_posed_read(clarke_posed *q, clarke_text *text, const long *at, size_t n, clarke_error *err);
/* Another profile, or another line of it, from here on. */
clarke_status clarke_posed_take(clarke_posed *q, const char *profile, clarke_error *err);
/* Executes it at the point, into d, and differentiates; g: outputs times n numbers, or NULL. */
clarke_status clarke_posed_run(clarke_posed *q, mpq_t *g, clarke_error *err);
clarke_status clarke_posed_derive(clarke_posed *q, clarke_error *err);

/* Integers near 0. */
void clarke_draw_point(long *at, clarke_draws *d, size_t n);
/* Fractions of a prime are added to the integers: no kink of small coefficients holds such a point, but for those that hold all. */
void clarke_posed_leave_kinks(clarke_posed *q, clarke_draws *d);
/* *equal stays, if f(w + h e_i) - f(w) = h g, of a program that is affine near w; else it is false. */
clarke_status clarke_posed_difference(bool *equal, clarke_posed *q, size_t i, const mpq_t g, clarke_error *err);
/* Along the segment to a point: does the claim hold that AD's integral is the difference? Segments of several pieces differ. */
clarke_status clarke_posed_follow(clarke_suite_counts *t, clarke_posed *q, mpq_t *to, clarke_error *err);

#endif
