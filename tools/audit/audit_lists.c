/* The nearest kinks and the touched ones, a line each. */
#include "audit_report.h"

#include <stdio.h>
#include <string.h>

/* Longer rationals are shown as decimals, rounded down. */
#define SHORT 14

void
clarke_audit_distance(char *text, size_t size, const clarke_near_text *t)
{
  if (t->distance != NULL && (strlen(t->distance) <= SHORT || t->at_least_exact))
    snprintf(text, size, "%s", strlen(t->distance) <= SHORT ? t->distance : t->at_least);
  else
    snprintf(text, size, "%s %s", t->distance != NULL ? ">" : ">=", t->at_least);
}

static void
print_near(const clarke_near_text *t, const clarke_near *near)
{
  char distance[64];

  clarke_audit_distance(distance, sizeof distance, t);
  printf("%-28.28s %-12s %8zu %8zu  %-8s %-16s %s%s\n", t->step->name, t->step->op->name, near->feature, near->sample,
         t->window ? "tie" : t->kink, distance, t->ulps_exact ? "" : t->distance != NULL ? "> " : ">= ", t->ulps);
}

clarke_status
clarke_audit_print_nearest(const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (s->nearest.n == 0)
    return CLARKE_OK;
  printf("\n%-28s %-12s %8s %8s  %-8s %-16s %s\n", "nearest to a kink", "op", "neuron", "sample", "kink", "distance",
         "in float32's ulps");
  for (size_t i = 0; i < s->nearest.n && status == CLARKE_OK; i++) {
    clarke_near_text t;

    status = clarke_near_describe(&t, s, i, err);
    if (status == CLARKE_OK)
      print_near(&t, &s->nearest.near[i]);
    clarke_near_text_clear(&t);
  }
  return status;
}

static void
print_touch(const clarke_touch_text *t)
{
  printf("%-28.28s %-12s %8zu %8zu  %-14s %-12s ", t->step->name, t->step->op->name, t->neuron, t->sample,
         t->argument == NULL ? "?" : strlen(t->argument) <= SHORT ? t->argument : "(long)", t->ad);
  if (t->slope != NULL)
    printf("%s on the left, %s on the right", t->slope[0], t->slope[1]);
  for (size_t i = 0; t->slope == NULL && i < t->n_sides; i++)
    printf("%s%zu", i == 0 ? "tied entries " : ", ", t->option[i]);
  putchar('\n');
}

clarke_status
clarke_audit_print_touched(const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (!s->list_touched || s->replay.n_touches == 0)
    return CLARKE_OK;
  printf("\n%-28s %-12s %8s %8s  %-14s %-12s %s\n", "touched", "op", "neuron", "sample", "argument", "AD takes", "slopes");
  for (size_t k = 0; k < s->replay.n_touches && status == CLARKE_OK; k++) {
    clarke_touch_text t;

    status = clarke_touch_describe(&t, s, k, err);
    if (status == CLARKE_OK)
      print_touch(&t);
    clarke_touch_text_clear(&t);
  }
  return status;
}
