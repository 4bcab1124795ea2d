/* Near values: integers near an entry's value, which decide most of the pieces on which entries lie. */
#ifndef CLARKE_NEAR_H
#define CLARKE_NEAR_H

#include "check/near/near_step.h"

/* Fills what is NONE of place for a sample, or all, and returns the near values that decided, where they could. With `open` the
 * pass may end where an entry stays open that more bits may decide, and says whether it did. Only what is asked is computed. */
near *near_values(point *p, size_t sample, bool *open);
void near_free(const point *p, near *v);
void near_places(point *p); /* decides all places by them */

#endif
