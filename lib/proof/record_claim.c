#include "proof/record_claim.h"

#include <math.h>

/* Sums of products of three of these are below a float32's largest number. */
#define LARGEST 1e12

static double
largest(const clarke_tensors *all)
{
  double most = 0;

  for (size_t i = 0; i < all->n; i++) {
    const clarke_tensor *t = &all->tensor[i];

    if (t->integer != NULL)
      continue;
    if (t->dtype != CLARKE_F32 && t->dtype != CLARKE_F64)
      return INFINITY;
    for (size_t e = 0; e < t->count; e++)
      most = fmax(most, fabs(t->real != NULL ? t->real[e] : (double)clarke_f32_at(t->packed, e)));
  }
  return most;
}

bool
clarke_record_is_moderate(const clarke_certify *c)
{
  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].certainty == CLARKE_CANNOT_SAY && c->certificate[i].open > 0)
      return false;
  return largest(c->trace) <= LARGEST && largest(c->gradients) <= LARGEST && fabs(mpq_get_d(c->scale)) <= LARGEST;
}

const char *
clarke_record_claim(const clarke_certificate *made, clarke_record_rule by, bool moderate)
{
  if (by == CLARKE_NO_RULE || made == NULL || made->certainty == CLARKE_FOLLOWED)
    return "not-covered";
  if (by == CLARKE_OF_SUMS && made->certainty == CLARKE_BIT_EXACT)
    return "bit-exact";
  if (made->certainty == CLARKE_CANNOT_SAY && made->open == 0)
    return "not-covered";
  if (made->certainty > CLARKE_CANNOT_SAY || made->unsure > 0 || made->worst > CLARKE_PROOF_NEAR)
    return "not-shown";
  return made->open == 0 && moderate && by != CLARKE_OF_UNRECORDED ? "within" : "where-bounded";
}
