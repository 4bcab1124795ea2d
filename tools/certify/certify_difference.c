/* What makes two records of one step differ. */
#include "certify_report.h"

#include <stdio.h>

static void
print_fork(const clarke_difference *d, const clarke_certified *a)
{
  const clarke_step *s = &a->audit.graph.steps[d->at.step];
  const clarke_value *v = &a->audit.graph.values[s->out];
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, d->at.feature);
  printf("The first is %s%s of sample %zu", v->name != NULL ? v->name : s->name, index, d->at.sample);
  if (s->kind == CLARKE_PIECEWISE)
    printf(": its argument was recorded as %.9g and %.9g", d->argument[0], d->argument[1]);
  else
    printf(": two entries of the window won");
  puts(".");
}

void
clarke_certify_print_difference(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b)
{
  static const char *const sentence[] = {
    "none: all recorded numbers are equal.",
    "rounding (compensation): one pattern, and all nodes of both are certified.",
    "branches (bifurcation): the records part at kinks or windows.",
    "AD's numbers: one pattern, and at a kink the two profiles have another number.",
    "not explained: the pattern is not known, or it is one and some node is not certified.",
  };

  printf("Difference from %s: %s\n", b->record.folder, sentence[d->kind]);
  if (d->forked)
    print_fork(d, a);
  printf("That record by itself: %s.\nOf %zu entries of the gradient %zu differ", clarke_certainty_name(clarke_certified_answer(b)),
         d->entries, d->differing);
  if (d->parameter != NULL)
    printf(", the most %s%s: %.9g and %.9g", d->parameter, d->index, d->value[0], d->value[1]);
  puts(".\n");
}
