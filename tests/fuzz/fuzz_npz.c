#include "mutate.h"
#include "target.h"
#include "format/npz.h"

MUTATED_AS(mutate_archive)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_tensors ts;
  bool stored;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_npz_parse(&ts, &stored, data, size, "x.npz", &err);
  if (status == CLARKE_OK)
    require_tensors(&ts);
  else
    require_refusal(status, &err, "x.npz: ");
  clarke_tensors_clear(&ts);
  return 0;
}
