/* Gradients that are 0, and why: what training does not move. */
#include "audit_report.h"

#include <stdio.h>

#define CAUSES_ROOM 256

/* Prints these entries, too: they have no factor on each path that is known to be 0. */
static void
print_recorded(const clarke_recorded_zeros *z)
{
  const size_t open = z->n - z->zero - z->not;

  if (z->n == 0)
    return;
  printf("%-28s %zu more recorded as 0:", "", z->n);
  if (z->not > 0)
    printf(" %zu not 0 exactly, floating point made them so (underflow, saturation)%s", z->not, z->zero + open > 0 ? ";" : "");
  if (z->zero > 0)
    printf(" %zu are 0 exactly all the same (a sum that cancels, a target that is met, a curve's slope at its 0)%s", z->zero, open > 0 ? ";" : "");
  if (open > 0)
    printf(" of %zu the exact number is not known", open);
  putchar('\n');
}

static void
print_parameter(const clarke_audit_session *s, const clarke_record *record, size_t p)
{
  const clarke_zero_summary z = clarke_audit_zeros_of(s, p);
  char causes[CAUSES_ROOM];

  clarke_zero_causes(causes, sizeof causes, &z.ad);
  if (z.ad.zero > 0)
    printf("%-28.28s %9zu %9zu %9zu %9zu %9zu  %s\n", s->graph.parameters[p].name, z.entries, z.ad.zero, z.near, z.stays, z.along, causes);
  if (record == NULL || record->zeros == NULL || record->zeros[p].n == 0)
    return;
  if (z.ad.zero == 0)
    printf("%-28.28s %9zu %9d %9d %9d %9d\n", s->graph.parameters[p].name, z.entries, 0, 0, 0, 0);
  print_recorded(&record->zeros[p]);
}

static bool
has_zeros(const clarke_audit_session *s, const clarke_record *record, size_t p)
{
  return s->graph.parameters[p].wrt && (clarke_audit_zeros_of(s, p).ad.zero > 0
                                        || (record != NULL && record->zeros != NULL && record->zeros[p].n > 0));
}

void
clarke_audit_print_zeros(const clarke_audit_session *s, const clarke_record *record)
{
  bool any = false;

  for (size_t p = 0; s->zeros.known && p < s->graph.n_parameters; p++) {
    if (!has_zeros(s, record, p))
      continue;
    if (!any)
      printf("\n%-28s %9s %9s %9s %9s %9s  %s\n", "gradient 0", "entries", "AD's", "limits'", "nearby", "not along", "why AD's is (a path to the loss may have several)");
    any = true;
    print_parameter(s, record, p);
  }
  if (s->moved.known)
    printf("not along: AD's gradient is not 0 at weights a little way along one direction (--json: zero_direction).\n");
}

/* Is all of it 0? */
static bool
is_zero(const clarke_audit_session *s, size_t p, clarke_zero_summary *z)
{
  *z = s->graph.parameters[p].wrt ? clarke_audit_zeros_of(s, p) : (clarke_zero_summary){0};
  return z->entries > 0 && z->ad.zero == z->entries;
}

static void
put_parameter(FILE *to, const clarke_audit_session *s, size_t p, const clarke_zero_summary *z)
{
  const char *most = NULL;
  size_t by = 0;

  for (size_t i = 0; i < CLARKE_ZERO_CAUSES; i++)
    if (z->ad.by[i] > by) {
      by = z->ad.by[i];
      most = clarke_zero_cause_name(i);
    }
  fprintf(to, "%s (%s%s)", s->graph.parameters[p].name, most,
          z->stays == z->entries   ? ", nearby too"
          : z->along == z->entries ? ", a direction is known along which it is not"
          : z->near == z->entries  ? ", and so is each limit of gradients nearby"
                                   : "");
}

void
clarke_audit_put_zeros(FILE *to, const clarke_audit_session *s)
{
  clarke_zero_summary z;
  size_t n = 0;

  for (size_t p = 0; s->zeros.known && p < s->graph.n_parameters; p++) {
    if (!is_zero(s, p, &z) || n++ >= CLARKE_NAMED)
      continue;
    fputs(n == 1 ? "All of AD's gradient is 0 in " : ", ", to);
    put_parameter(to, s, p, &z);
  }
  if (n > CLARKE_NAMED)
    fprintf(to, ", and %zu more", n - CLARKE_NAMED);
  if (n > 0)
    fputs(": it moves nothing there. ", to);
}
