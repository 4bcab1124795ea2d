#include "recorded.h"

#include <stdio.h>

void
clarke_print_record(const clarke_record *r)
{
  printf("Recorded with %s %s on %s, step %zu, in %s.\n", r->run.framework, r->run.version, r->run.device, r->step->step, r->types);
  for (size_t i = 0; i < r->n_claims; i++)
    printf("%s%s%s", i == 0 ? "Told by run.json alone: " : "; ", r->claim[i], i + 1 == r->n_claims ? ".\n" : "");
  if (r->run.n_surrogates > 0)
    puts("Surrogates: AD differentiates another function here than the one that is computed, by design. All that is said is of the step in "
         "which these are\nwhat their derivative belongs to, a constant or a multiple of the argument:");
  for (size_t i = 0; i < r->run.n_surrogates; i++)
    printf("  %s\n", r->run.surrogate[i]);
}
