/* Where a record parts from exact arithmetic, and both semantics. */
#include "certify_report.h"

#include <stdio.h>

#define MOST_PARTED 10 /* lines; --json has all */

static void
print_parted(const clarke_parted *p, const clarke_certified *c)
{
  static const char *const kink[] = {"recorded at the kink, and exactly not", "exactly at the kink, and recorded at a side",
                                     "recorded on another side of the kink"};
  static const char *const window[] = {"recorded as a tie, and exactly none", "exactly a tie, and recorded with one winner",
                                       "a loser was taken as winner"};
  const clarke_step *s = &c->audit.graph.steps[p->step];
  const clarke_value *v = &c->audit.graph.values[s->out];
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, p->feature);
  printf("  %s%s of sample %zu: %s%s\n", v->name != NULL ? v->name : s->name, index, p->sample,
         (s->kind == CLARKE_MAX ? window : kink)[p->kind], p->alike ? " (AD's gradient is the same)" : "");
}

static void
print_pattern(const clarke_certified *c)
{
  const clarke_branches *p = &c->pattern;

  if (!c->compared)
    return;
  if (p->asked == 0) {
    puts("\nPattern: the network has no kinks.");
    return;
  }
  if (p->n == 0 && p->doubtful == 0) {
    printf("\nPattern: all %zu kinks and windows were taken as exact arithmetic has them.\n", p->asked);
    return;
  }
  printf("\nPattern: %zu of %zu kinks and windows part from exact arithmetic; of %zu it is not known.\n", p->n, p->asked,
         p->doubtful);
  for (size_t i = 0; i < p->n && i < MOST_PARTED; i++)
    print_parted(&p->parted[i], c);
  if (p->n > MOST_PARTED)
    puts("  ...");
}

void
clarke_certify_print_semantics(const clarke_certified *c)
{
  if (!c->replayed)
    return;
  print_pattern(c);
  printf("\nAD's exact gradient of the real function: %s (%s).\n", clarke_verdict_name(c->real.verdict), c->real.why);
  printf("AD's exact gradient along the recorded branches: %s (%s).\n", clarke_verdict_name(c->along.verdict), c->along.why);
}
