#include "session/vague.h"

#include "exact/upward.h"
#include "trace/certificate.h"

#include <math.h>

#define VAGUE_ZERO 0x1p-6

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
    return n->recorded > 0 && !(clarke_up_by(allowed, 0x1p32) <= whole * VAGUE_ZERO);
  return n->apart > 0 && !(clarke_up_by(allowed, 0x1p32) <= n->exact * CLARKE_VAGUE);
}
