/* Affine sums of a program's instructions, joined, and kept up to date.
 *
 * A sum is c_0 f_(in 0) + ... + c_(n-1) f_(in n-1) + c_n over forms (forms.h), in integers over a denominator of its own. An affine
 * instruction, whose only use is another one, is no sum: its terms stand in that one's.
 *
 * Between two regions that are neighbours few terms change. So a sum holds copies of its forms, and adds what has changed since:
 * in integers, so that nothing drifts. */
#ifndef CLARKE_REGION_SUMS_H
#define CLARKE_REGION_SUMS_H

#include "program/code.h"

#include <flint/fmpz.h>
#include <stdint.h>

typedef struct {
  size_t n;
  size_t *in;     /* instructions */
  fmpz *coef;     /* n + 1; the last is for 1 */
  uint64_t *seen; /* n: versions of the forms held; NULL: none are held */
  fmpz *held;     /* n x width, with `seen` */
} clarke_sum;

/* Terms in rationals, while sums are made. */
typedef struct {
  size_t n, room;
  size_t *in;
  mpq_t *coef;
  mpq_t constant;
  bool made; /* by terms_init */
} clarke_terms;

typedef struct {
  const clarke_code *p;
  size_t width;        /* of forms */
  bool *joined;        /* by instruction: its terms stand in its only use's */
  clarke_terms *terms; /* by instruction: of those joined */
  size_t left;         /* entries that may be held yet */
} clarke_sums;

/* PRODUCT with a constant, QUOTIENT by one: the argument's place that varies, 0 or 1; 2: there is none. */
size_t clarke_varying_factor(const clarke_code *p, const clarke_instruction *i);

clarke_status clarke_sums_init(clarke_sums *s, const clarke_code *p, const bool *needed, size_t width, clarke_error *err);
void clarke_sums_clear(clarke_sums *s); /* of sums that are zeroed, too */

/* The sum of an affine instruction, or none (to->in NULL) when it is joined. Asked in the instructions' order. den: by instruction,
 * those of the terms known; the sum's is set. form: width zeros; becomes what the sum is of forms 0. A division by 0 is an
 * error. */
clarke_status clarke_sums_make(clarke_sum *to, clarke_sums *s, fmpz *den, fmpz *form, size_t instruction, clarke_error *err);
void clarke_sum_clear(clarke_sum *s, size_t width); /* of one that is zeroed, too */

/* A copy that shares terms and coefficients with `from`, and holds forms of its own. */
clarke_status clarke_sum_share(clarke_sum *to, const clarke_sum *from, size_t width, clarke_error *err);
void clarke_sum_unshare(clarke_sum *s, size_t width); /* of such a copy */

/* Brings the sum's form up to date with `forms` (by instruction). Two forms of one instruction differ only where their versions
 * do; a version above 0 goes with a form that was set. Did any term change, as far as is known? */
bool clarke_sum_update(clarke_sum *s, fmpz *form, const fmpz *forms, const uint64_t *version, size_t width);

#endif
