/* VNNLIB queries: what is read has bounds for all inputs; its assertions speak of what is declared. The same bytes as a counterexample. */
#include "exact/number.h"
#include "format/property.h"
#include "format/vnnlib.h"
#include "mutate.h"
#include "target.h"

MUTATED_AS(mutate_text)

static void
require_valid(const clarke_property *p, size_t variables)
{
  for (size_t i = 0; i < p->n; i++)
    require_valid(&p->part[i], variables);
  for (size_t k = 0; k < p->n_terms; k++) {
    REQUIRE(p->variable[k] < variables && clarke_rational_is_canonical(p->coef[k]));
    for (size_t other = 0; other < k; other++)
      REQUIRE(p->variable[other] != p->variable[k]);
  }
}

static void
ask_of_properties(const uint8_t *data, size_t size)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_query q = {0};
  clarke_counterexample c = {0};
  clarke_status status = clarke_query_parse(&q, data, size, "x.vnnlib", &err);

  if (status == CLARKE_OK) {
    REQUIRE(q.asserted.n > 0 && q.asserted.kind == CLARKE_PROPERTY_ALL);
    require_valid(&q.asserted, q.n_inputs + q.n_outputs);
  } else {
    require_refusal(status, &err, "x.vnnlib: ");
    REQUIRE(q.asserted.part == NULL && q.n_inputs == 0);
  }
  clarke_query_clear(&q);
  status = clarke_counterexample_parse(&c, data, size, "x.txt", &err);
  if (status == CLARKE_OK)
    REQUIRE(c.n_inputs > 0);
  else {
    require_refusal(status, &err, "x.txt: ");
    REQUIRE(c.input == NULL && c.output == NULL);
  }
  clarke_counterexample_clear(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_vnnlib v;
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;

  clarke_vnnlib_init(&v);
  status = clarke_vnnlib_parse(&v, data, size, "x.vnnlib", &err);
  if (status == CLARKE_OK) {
    REQUIRE(v.n > 0 && v.n <= CLARKE_VNNLIB_INPUTS);
    for (size_t i = 0; i < v.n; i++)
      REQUIRE(clarke_rational_is_canonical(v.lower[i]) && clarke_rational_is_canonical(v.upper[i]));
  } else {
    require_refusal(status, &err, "x.vnnlib: ");
    REQUIRE(v.n == 0 && v.lower == NULL && v.upper == NULL);
  }
  clarke_vnnlib_clear(&v);
  ask_of_properties(data, size);
  return 0;
}
