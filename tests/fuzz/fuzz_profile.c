/* Profile files. */
#include "graph/profile.h"
#include "target.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_profile p;
  clarke_error err;

  clarke_profile_init(&p);
  clarke_profile_parse(&p, (const char *)data, size, "fuzzed.profile", &err);
  clarke_profile_clear(&p);
  return 0;
}
