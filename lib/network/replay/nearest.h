/* The arguments and windows that come nearest to a kink without touching one, layer by layer, exactly (docs/margins.md). */
#ifndef CLARKE_NETWORK_REPLAY_NEAREST_H
#define CLARKE_NETWORK_REPLAY_NEAREST_H

#include "network/replay/replay.h"

typedef struct {
  size_t step, feature, sample;
  size_t kink;    /* the nearest of the step's; of a window 0 */
  bool exact;
  mpq_t distance; /* or, when it is not exact, a number that it is at least */
  /* 2^ulp is the spacing of float32 at the largest number compared in this layer and sample; when the distance is not
   * exact, at an upper bound of it; at 2^1024 where no double is one. */
  long ulp;
} clarke_near;

typedef struct {
  size_t n;
  clarke_near *near; /* by step, then distance, then feature and sample */
} clarke_nearest;

void clarke_nearest_init(clarke_nearest *list);
void clarke_nearest_clear(clarke_nearest *list);

/* The n nearest of each layer (fewer where there are not so many), of a replay that was measured. Whatever of a layer is not
 * listed, and can be told from its kink, has at least the distance of each that is. Exact passes are made over samples that may hold one of them; where
 * that would be over `work` products, or too large, of each layer the smallest lower bound is listed. SIZE_MAX: any number
 * is taken, and what is too large is an error. */
clarke_status clarke_nearest_find(clarke_nearest *list, clarke_replay *r, size_t n, size_t work, clarke_error *err);

/* The exponent of float32's spacing at numbers from 2^exponent on, below 2^(exponent + 1). */
static inline long
clarke_float32_ulp(long exponent)
{
  return (exponent < -126 ? -126 : exponent) - 23;
}

#endif
