/* Places that are computed along an axis: which share each of its entries has (docs/operators.md, "Images that are sampled"). */
#ifndef CLARKE_ONNX_PLACES_H
#define CLARKE_ONNX_PLACES_H

#include "check/onnx/builder.h"

/* The shares of entries 0 to n - 1, on the last axis, at places whose last axis has one entry: 1 of the nearest, or what both beside it
 * have. Kinks are GridSample's. */
value shares_of(builder *b, value at, size_t n, bool nearest, bool border);
/* Shares along several axes, each (lead, places, entries along it), multiplied: (lead, places, all entries). */
value joint_shares(builder *b, size_t axes, const value *along, const size_t *n, size_t lead, size_t places);

#endif
