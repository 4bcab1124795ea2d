/* How far a point is from a query's sides (property.h). */
#include "format/property.h"

#include <stdlib.h>
#include <string.h>

static void
property_clear(clarke_property *p)
{
  for (size_t i = 0; i < p->n; i++)
    property_clear(&p->part[i]);
  free(p->part);
  free(p->variable);
  clarke_rationals_free(p->coef, p->coef != NULL ? p->n_terms + 1 : 0);
}

void
clarke_query_clear(clarke_query *q)
{
  property_clear(&q->asserted);
  memset(q, 0, sizeof *q);
}

void
clarke_counterexample_clear(clarke_counterexample *c)
{
  clarke_rationals_free(c->input, c->n_inputs);
  clarke_rationals_free(c->output, c->n_outputs);
  memset(c, 0, sizeof *c);
}

static void
form_value(clarke_number *y, const clarke_property *p, const clarke_number *value, long precision)
{
  clarke_number_set_q(y, p->coef[p->n_terms]);
  for (size_t k = 0; k < p->n_terms; k++)
    clarke_number_addmul_q(y, p->coef[k], &value[p->variable[k]], precision);
}

/* The less of the two, or the larger; of balls that meet, what holds both. */
static void
take_extreme(clarke_number *y, const clarke_number *other, bool larger, long precision)
{
  const int order = clarke_number_compare(y, other, precision);

  if (order == 2)
    clarke_number_join(y, y, other, precision);
  else if (larger ? order < 0 : order > 0)
    clarke_number_set(y, other);
}

void
clarke_property_margin(clarke_number *margin, const clarke_property *p, const clarke_number *value, long precision)
{
  const bool any = p->kind == CLARKE_PROPERTY_ANY;
  clarke_number part;

  if (p->kind == CLARKE_PROPERTY_AT_LEAST) {
    form_value(margin, p, value, precision);
    return;
  }
  clarke_number_set_si(margin, any ? -1 : 1);
  clarke_number_init(&part);
  for (size_t i = 0; i < p->n; i++) {
    clarke_property_margin(&part, &p->part[i], value, precision);
    if (i == 0)
      clarke_number_set(margin, &part);
    else
      take_extreme(margin, &part, any, precision);
  }
  clarke_number_clear(&part);
}
