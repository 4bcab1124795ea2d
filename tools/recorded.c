#include "recorded.h"

#include <stdio.h>

void
clarke_print_record(const clarke_record *r)
{
  printf("Recorded with %s %s on %s, step %zu, in %s.\n", r->run.framework, r->run.version, r->run.device, r->step->step, r->types);
  for (size_t i = 0; i < r->n_claims; i++)
    printf("%s%s%s", i == 0 ? "Told by run.json alone: " : "; ", r->claim[i], i + 1 == r->n_claims ? ".\n" : "");
}
