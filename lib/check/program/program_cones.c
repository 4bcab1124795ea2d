/* The tree of cones, whose forms are gradients. */
#include "check/program/program_cones.h"
#include "check/program/forms.h"
#include "check/program/hold.h"
#include "check/program/region_tree.h"

typedef struct {
  const program *prog;
  size_t n;
  forms form;
  rational *gradient;
  void (*each)(void *of, const rational *gradient);
  void *of;
} cone_reader;

static void
read_cone(void *what)
{
  cone_reader *q = what;
  for (size_t k = 0; k < q->prog->n_outputs * q->n; k++) {
    size_t at = q->prog->outputs[k / q->n];
    mpz_set(mpq_numref(&q->gradient[k]), &form_of(&q->form, at)[k % q->n]);
    mpz_set(mpq_denref(&q->gradient[k]), form_denominator(&q->form, at));
    mpq_canonicalize(&q->gradient[k]);
  }
  q->each(q->of, q->gradient);
}

size_t
check_cones(program *p, size_t n, void (*each)(void *of, const rational *gradient), void *of)
{
  cone_reader q = {.prog = p, .n = n, .gradient = rationals(p->n_outputs * n), .each = each, .of = of};
  region_tree tree = {0};
  hold_constants(p);
  forms_begin(&q.form, p, n);
  region_tree_begin(&tree, &q.form, n, true);
  return region_tree_check(&tree, read_cone, &q);
}
