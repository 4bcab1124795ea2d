/* What the files of a sweep's job share. */
#ifndef CLARKE_SESSION_SWEEP_INSIDE_H
#define CLARKE_SESSION_SWEEP_INSIDE_H

#include "session/checkpoint.h"
#include "session/sweep.h"

/* The sum of the absolute values of a vector's entries, and the sum over tensors of the largest one: sum is exact, and what is
 * meant is no farther from it than `within`. */
typedef struct {
  mpq_t l1, inf;
  double l1_within, inf_within;
  bool finite; /* else some entry is infinite or no number */
} clarke_sweep_norms;

void clarke_sweep_norms_init(clarke_sweep_norms *n);
void clarke_sweep_norms_clear(clarke_sweep_norms *n);
/* Puts them into an object: "finite", and, if so, "l1" and "inf". */
clarke_status clarke_sweep_put_norms(json_t **to, const clarke_sweep_norms *n, clarke_error *err);

/* --- sweep_exact.c --- */

/* The difference of AD's exact gradients under two profiles. *zero: is it 0? */
clarke_status clarke_sweep_exact(clarke_sweep_norms *n, clarke_truth *zero, const clarke_audit_session *s, const clarke_sweep_question *q,
                                 size_t a, size_t b, clarke_error *err);

/* --- sweep_floats.c --- */

typedef struct {
  double **gradient; /* by profile: an entry for each in wrt */
  size_t *only;      /* by step: kinks touched, and windows tied, that are none exactly */
} clarke_sweep_floats;

/* AD's gradients in a format under all profiles of the question; *f is cleared by the caller, on errors too. */
clarke_status clarke_sweep_replay(clarke_sweep_floats *f, const clarke_audit_session *s, const clarke_sweep_question *q, clarke_ieee format,
                                  clarke_error *err);
void clarke_sweep_floats_clear(clarke_sweep_floats *f, const clarke_sweep_question *q);
/* Adds the difference of the gradients under profiles a and b. */
void clarke_sweep_compare(clarke_sweep_norms *n, const clarke_sweep_floats *f, const clarke_graph *g, size_t a, size_t b);
/* How many kinks are touched, and windows tied, in floats alone, in steps where the two profiles take other numbers. */
size_t clarke_sweep_only(const clarke_sweep_floats *f, const clarke_graph *g, const clarke_profile *a, const clarke_profile *b);

/* --- sweep_draw.c --- */

/* The parameters of the layers anew, as PyTorch's modules draw them when they are made (Kaiming, uniform), by a counter: any
 * entry is a function of seed, parameter and place. */
clarke_status clarke_sweep_draw(clarke_graph *g, uint32_t seed, clarke_error *err);

#endif
