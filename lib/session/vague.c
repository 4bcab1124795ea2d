#include "session/vague.h"

#include "exact/upward.h"
#include "trace/certify/certificate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_NAMED 3

void
clarke_norms_add(clarke_norms *n, double near, double radius, double recorded, double bound)
{
  n->exact = hypot(n->exact, fmax(fabs(near) - radius, 0));
  n->recorded = hypot(n->recorded, recorded);
  n->apart = hypot(n->apart, fabs(recorded - near) + radius);
  n->bound = hypot(n->bound, bound);
}

bool
clarke_norms_are_vague(const clarke_norms *n, double allowed, double whole)
{
  if (n->exact == 0)
    return n->recorded > 0 && !(clarke_up_by(allowed, 0x1p32) <= whole * CLARKE_VAGUE_ZERO);
  return n->apart > 0 && !(clarke_up_by(allowed, 0x1p32) <= n->exact * CLARKE_VAGUE);
}

void
clarke_vague_add(clarke_vague *v, const char *parameter, double norm, double allowed, const char *how)
{
  const size_t at = strlen(v->named);

  if (v->n < MOST_NAMED)
    snprintf(v->named + at, sizeof v->named - at, "%s%.200s (norm %.3g, %.3g %s)", v->n > 0 ? ", " : "", parameter, norm, allowed, how);
  v->n++;
}

clarke_status
clarke_vague_say(const clarke_vague *v, clarke_record *r, clarke_error *err)
{
  return clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "rounding would explain a wrong gradient, too, of %zu parameter%s: %s%s", v->n,
                           v->n == 1 ? "" : "s", v->named, v->n > MOST_NAMED ? ", ..." : "");
}
