/* Places that are computed, along an axis: the share that each entry of the axis has in what is seen there. */
#ifndef CLARKE_OP_SHARES_H
#define CLARKE_OP_SHARES_H

#include "op/operator.h"

typedef enum { CLARKE_SEES_NEAREST, CLARKE_SEES_BETWEEN } clarke_seeing;

/* The shares of entries 0 to n - 1, on the last axis, at places whose last axis has one entry. Outside there is nothing, or with `border`
 * the entry at the end. Kinks of BETWEEN are GridSample's. CLARKE_NONE when it fails. */
size_t clarke_shares(clarke_lowering *low, size_t places, size_t n, clarke_seeing how, bool border, clarke_error *err);

/* Shares along `axes` axes, each (lead, places, entries along the axis), multiplied: (lead, places, all entries). */
size_t clarke_shares_joined(clarke_lowering *low, const size_t *along, size_t axes, size_t lead, size_t places, const size_t *n,
                            clarke_error *err);

#endif
