/* A piecewise linear program over a box's variables: its instructions as affine forms, given the sides of kinks.
 *
 * The entries of the program's inputs are affine in variables z in Q^dim: the variables themselves, or, along a segment, A + z_0
 * (B - A). Under choices of sides, each instruction is an affine form too: (form . (z, 1)) / den, form being dim + 1 integers. Its
 * den > 0 does not depend on the choices, so that forms are computed in integers alone. */
#ifndef CLARKE_REGION_FORMS_H
#define CLARKE_REGION_FORMS_H

#include "region/sums.h"

#include <flint/fmpz.h>

typedef struct {
  const clarke_code *p;
  size_t dim;
  bool *needed;    /* by instruction: some output depends on it */
  size_t n_live, *live; /* the needed instructions that are no part of a sum, in order: they have forms */
  fmpz *den;
  fmpz **coef;     /* PIECEWISE: 2 for each piece; ORDER: n_in; else NULL */
  clarke_sum *sum; /* by instruction: of what is affine */
  fmpz *form;      /* by instruction, dim + 1 */
  uint64_t *version; /* by instruction: it goes up whenever the form changes */
  fmpz *next;      /* dim + 1 */
  size_t kinks;    /* needed PIECEWISE and ORDER instructions */
} clarke_forms;

/* needed (by instruction, all false): those that an output depends on; *kinks: so many of them are PIECEWISE or ORDER. One that is
 * not piecewise linear is an error, as of clarke_forms_init; with `products`, a product of what varies is none. */
clarke_status clarke_forms_check(bool *needed, size_t *kinks, const clarke_code *p, bool products, clarke_error *err);

/* Writes the form of an entry of the inputs, all counted through: dim + 1 rationals, which are 0 before. */
typedef void (*clarke_entry_form)(mpq_t *form, size_t entry, void *context);

/* Do their forms fit in memory? The limit of entries says so. */
bool clarke_forms_fit(const clarke_code *p, size_t dim);

/* Asks for the form of each entry once. An instruction that is not piecewise linear is an error that names it: pieces of degree 2,
 * transcendental functions, branches, products and quotients of what is not constant, order statistics but maximum and minimum. More forms
 * than memory should hold (the limit of entries) are CLARKE_ENOMEM. */
clarke_status clarke_forms_init(clarke_forms *f, const clarke_code *p, size_t dim, clarke_entry_form entry, void *context,
                                clarke_error *err);
void clarke_forms_clear(clarke_forms *f); /* of forms that are zeroed, too */

/* A copy for another thread, which shares what does not change with `from`; that must stay. */
clarke_status clarke_forms_share(clarke_forms *to, const clarke_forms *from, clarke_error *err);
void clarke_forms_unshare(clarke_forms *f); /* of such a copy */

/* The form of an instruction: dim + 1 integers. */
static inline fmpz *
clarke_forms_at(const clarke_forms *f, size_t instruction)
{
  return f->form + instruction * (f->dim + 1);
}

/* Computes the form of what is live, where those of its sum's terms, or of its arguments, are known: of a PIECEWISE on that piece,
 * of an ORDER whose argument number `choice` wins. */
void clarke_forms_compute(clarke_forms *f, size_t instruction, size_t choice);

/* row (dim + 1): a positive multiple of the argument of a PIECEWISE less its kink k; of argument i less argument j of a
 * maximum, of j less i of a minimum: above 0, i wins. */
void clarke_forms_kink(fmpz *row, const clarke_forms *f, size_t instruction, size_t k);
void clarke_forms_difference(fmpz *row, const clarke_forms *f, size_t instruction, size_t i, size_t j);

/* Are the pieces on both sides of kink k one polynomial? Then it is none. */
bool clarke_forms_is_smooth(const clarke_instruction *i, size_t k);

#endif
