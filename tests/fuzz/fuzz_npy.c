#include "mutate.h"
#include "target.h"
#include "format/npy.h"

MUTATED_AS(mutate_array)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_tensor t;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_tensor_init(&t);
  status = clarke_npy_parse(&t, data, size, "x.npy", &err);
  if (status == CLARKE_OK)
    require_tensor(&t);
  else
    require_refusal(status, &err, "x.npy: ");
  clarke_tensor_clear(&t);
  return 0;
}
