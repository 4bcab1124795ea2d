#include "mutate.h"
#include "target.h"
#include "format/safetensors.h"

MUTATED_AS(mutate_safetensors)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_safetensors_parse(&ts, data, size, "x.safetensors", &err);
  if (status == CLARKE_OK)
    require_tensors(&ts);
  else
    require_refusal(status, &err, "x.safetensors: ");
  clarke_tensors_clear(&ts);
  return 0;
}
