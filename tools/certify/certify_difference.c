/* What makes two records of one step differ. */
#include "certify_report.h"

#include <stdio.h>

static void
print_place(const char *what, const clarke_bifurcation *at, const clarke_certified *a)
{
  const clarke_step *s = &a->audit.graph.steps[at->step];
  const clarke_value *v = &a->audit.graph.values[s->out];
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, at->feature);
  printf("%s is %s%s of sample %zu", what, v->name != NULL ? v->name : s->name, index, at->sample);
}

static void
print_fork(const clarke_difference *d, const clarke_certified *a)
{
  print_place("The first", &d->at, a);
  if (a->audit.graph.steps[d->at.step].kind == CLARKE_PIECEWISE)
    printf(": its argument was recorded as %.9g and %.9g", d->argument[0], d->argument[1]);
  else
    printf(": two entries of the window won");
  puts(".");
  if (d->kind == CLARKE_BY_BRANCHES && d->exactly != CLARKE_UNKNOWN)
    puts(d->exactly == CLARKE_YES ? "It is touched exactly, too: a real bifurcation." : "Exactly it is not touched: the branch is of floats alone.");
}

/* How many of the steps that both runs have are the same, and which is the first that is not. */
static void
print_same(const clarke_steps_apart *s, bool differ)
{
  if (differ && s->same == 0)
    printf("The first step that both runs have, %zu, differs.\n", s->step);
  else if (differ)
    printf("Of the steps that both runs have the first %zu %s the same numbers; step %zu differs.\n", s->same, s->same == 1 ? "has" : "have", s->step);
  else
    printf("All %zu step%s that both runs have are the same numbers.\n", s->same, s->same == 1 ? "" : "s");
}

void
clarke_certify_print_difference(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b, const clarke_steps_apart *apart)
{
  static const char *const sentence[] = {
    "none: all recorded numbers are equal.",
    "rounding (compensation): one pattern, and all nodes of both are certified.",
    "branches (bifurcation): the records part at kinks or windows.",
    "AD's numbers: one pattern, and at a kink the two profiles have another number.",
    "not explained: the pattern is not known, or it is one and some node is not certified.",
  };

  if (apart != NULL)
    print_same(apart, d->kind != CLARKE_NO_DIFFERENCE);
  printf("Difference from %s: %s\n", b->record.folder, sentence[d->kind]);
  if (d->forked)
    print_fork(d, a);
  if (d->numbered) {
    print_place("The first number that differs", &d->number, a);
    printf(": %.9g and %.9g.\n", d->recorded[0], d->recorded[1]);
  }
  printf("That record by itself: %s.\nOf %zu entries of the gradient %zu differ", clarke_certainty_name(clarke_certified_answer(b)),
         d->entries, d->differing);
  if (d->parameter != NULL)
    printf(", the most %s%s: %.9g and %.9g", d->parameter, d->index, d->value[0], d->value[1]);
  puts(".\n");
}
