/* A network and its gradient in floats, in a declared order (docs/rounding.md, "Networks"): each sample as its unrolled program
 * is replayed (program/rounded.h), of which only the matrix products are not unrolled. Where a normalization couples the samples
 * they are replayed together, each up to it, then it, then each on. */
#ifndef CLARKE_PROGRAM_UNROLL_FLOATS_H
#define CLARKE_PROGRAM_UNROLL_FLOATS_H

#include "program/rounded.h"
#include "program/unroll/unroll.h"

typedef struct clarke_floats clarke_floats;

/* Graph and batch outlive it. *f is NULL on errors, which are clarke_unroll's. */
clarke_status clarke_floats_new(clarke_floats **f, const clarke_graph *g, const clarke_tensor *x, clarke_ieee format, clarke_error *err);
void clarke_floats_free(clarke_floats *f); /* which may be NULL */

/* One operation, rounded. */
double clarke_floats_add(const clarke_floats *f, double a, double b);
double clarke_floats_mul(const clarke_floats *f, double a, double b);
double clarke_floats_div(const clarke_floats *f, double a, double b);
double clarke_floats_exp(clarke_floats *f, double x);
double clarke_floats_log(clarke_floats *f, double x);
/* A number of the file's, rounded. */
double clarke_floats_of(clarke_floats *f, double x);

/* How many samples are replayed together: 1, or all. */
size_t clarke_floats_together(const clarke_floats *f);

/* The forward pass of those samples, from `sample` on, which stops between samples where work is to. output: as many as the network has
 * entries, sample by sample. */
clarke_status clarke_floats_forward(clarke_floats *f, double *output, size_t sample, clarke_error *err);

/* AD's derivative, by the entries in wrt, of the outputs of the samples that were passed forward, weighted by `seed`: as for a
 * program that ends in their weighted sum; those of several samples are added up, from the first. The profile says what is taken at kinks. */
clarke_status clarke_floats_backward(clarke_floats *f, double *gradient, const double *seed, const clarke_profile *profile,
                                     clarke_error *err);

/* In the k-th of those samples, is the argument of the step's entry at a kink whose slopes differ, or does the window have several
 * largest entries? */
bool clarke_floats_is_touched(clarke_floats *f, size_t k, size_t step, size_t feature);

#endif
