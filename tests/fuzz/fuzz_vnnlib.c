/* VNNLIB queries: what is read has bounds for all inputs. */
#include "exact/number.h"
#include "format/vnnlib.h"
#include "mutate.h"
#include "target.h"

MUTATED_AS(mutate_text)

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
  return 0;
}
