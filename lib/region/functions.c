/* A set of affine functions (functions.h). */
#include "region/functions.h"

#include <flint/fmpz_vec.h>
#include <string.h>

void
clarke_functions_init(clarke_functions *s, const clarke_forms *forms)
{
  const size_t width = forms->p->n_outputs * (forms->dim + 1);

  s->key = _fmpz_vec_init((slong)width + 1);
  clarke_vector_set_init(&s->set, width);
}

void
clarke_functions_clear(clarke_functions *s)
{
  if (s->key != NULL)
    _fmpz_vec_clear(s->key, (slong)s->set.width + 1);
  clarke_vector_set_clear(&s->set);
  memset(s, 0, sizeof *s);
}

clarke_status
clarke_functions_add(size_t *number, clarke_functions *s, const clarke_forms *forms, clarke_error *err)
{
  const clarke_code *p = forms->p;
  const size_t width = forms->dim + 1;

  for (size_t o = 0; o < p->n_outputs; o++)
    _fmpz_vec_set(s->key + o * width, clarke_forms_at(forms, p->output[o]), (slong)width);
  return clarke_vector_set_add(number, &s->set, s->key, err);
}
