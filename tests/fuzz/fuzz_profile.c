/* Profile files; then every operator is looked up in what came of it. */
#include "op/profile.h"
#include "mutate.h"
#include "target.h"

MUTATED_AS(mutate_text)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_profile p;
  clarke_error err;
  const clarke_op *op;
  bool parsed;

  clarke_profile_init(&p);
  parsed = clarke_profile_parse(&p, (const char *)data, size, "fuzzed.profile", &err) == CLARKE_OK;
  for (size_t i = 0; parsed && (op = clarke_operator_at(i)) != NULL; i++) {
    const clarke_tie_rule *rule = clarke_profile_tie(&p, op);

    REQUIRE(rule == NULL || (rule->known && op->order && mpz_sgn(mpq_denref(rule->beta)) > 0));
    for (size_t k = 0; k <= CLARKE_MAX_KINKS; k++) {
      const clarke_proxy *proxy = clarke_profile_find(&p, op, k);

      REQUIRE(proxy == NULL || (proxy->known && k < op->n_kinks));
      REQUIRE(proxy == NULL || mpz_sgn(mpq_denref(proxy->value)) > 0);
    }
  }
  clarke_profile_clear(&p);
  return 0;
}
