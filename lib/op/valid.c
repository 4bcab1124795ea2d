/* Are pieces and profiles as their headers say? */
#include "op/profile.h"

#include "exact/number.h"

bool
clarke_pieces_are_valid(const clarke_pieces *p)
{
  bool valid = p->n_kinks <= CLARKE_MAX_KINKS;

  for (size_t k = 0; valid && k < p->n_kinks; k++)
    valid = clarke_rational_is_canonical(p->kink[k]) && (k == 0 || mpq_cmp(p->kink[k - 1], p->kink[k]) < 0);
  for (size_t i = 0; valid && i <= p->n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      valid = valid && clarke_rational_is_canonical(p->coef[i][c]);
  return valid;
}

bool
clarke_profile_is_valid(const clarke_profile *p)
{
  for (size_t i = 0; i < p->n; i++)
    for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
      if (p->proxy[i][k].known && (p->proxy[i][k].kind == CLARKE_PROXY_VALUE || p->proxy[i][k].kind == CLARKE_PROXY_INJECTED) &&
          !clarke_rational_is_canonical(p->proxy[i][k].value))
        return false;
  for (size_t i = 0; i < p->n_orders; i++)
    if (p->rule[i].known && (!clarke_rational_is_canonical(p->rule[i].beta) ||
                             (p->rule[i].tie != CLARKE_TIE_FIRST && mpq_sgn(p->rule[i].beta) != 0)))
      return false;
  return p->name != NULL;
}
