/* Cases of the papers: programs with claims in their comments. */
#include "checker.h"
#include "mutate.h"
#include "target.h"

#include "reproduce_case.h"

MUTATED_AS(mutate_text)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_case c;
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;

  clarke_case_init(&c);
  status = clarke_case_read(&c, checker_file(0, data, size), &err);
  REQUIRE(status == CLARKE_OK || (err.code == status && *err.text != '\0'));
  REQUIRE(status != CLARKE_OK || c.n_claims > 0);
  for (size_t i = 0; status == CLARKE_OK && i < c.n_checks; i++)
    REQUIRE(c.check[i].claim < c.n_claims && c.check[i].facts < c.n_facts && c.check[i].at != NULL);
  clarke_case_clear(&c);
  return 0;
}
