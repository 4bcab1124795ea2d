/* Near values: integers near an entry's value, which decide most of the pieces on which entries lie. */
#ifndef CLARKE_KERNEL_NEAR_H
#define CLARKE_KERNEL_NEAR_H

#include "check/kernel/near_step.h"

/* Fills what is NONE of place for a sample, or all, and returns the near values that decided, where they could. With `open` the
 * pass may end where an entry stays open that more bits may decide, and says whether it did. Only what is asked is computed. */
near *near_values(point *p, size_t sample, bool *open);
void near_free(const point *p, near *v);
void point_evaluate(point *p); /* finds the touched kinks, by them */

#endif
