/* An axis of which each place has shares of several entries: a matrix of rational numbers. Resize's, and GridSample's cubic shares. */
#ifndef CLARKE_OP_RESAMPLE_H
#define CLARKE_OP_RESAMPLE_H

#include "op/operator.h"

/* Where each place j of `out` lies among `in` entries: at[j], which may be outside; apart[j]: it has no entries at all. */
typedef struct {
  size_t in, out;
  mpq_t *at;
  bool *apart;
} clarke_places;

/* Linear, of two entries; or cubic, of four, by the polynomials with `a`. exclude: entries outside have no share, and the others all. */
typedef struct {
  bool cubic, exclude;
  mpq_t a;
} clarke_kernel;

#define CLARKE_MOST_SHARES 4

clarke_status clarke_places_init(clarke_places *p, const clarke_lowering *low, clarke_error *err); /* of p->out places, all at 0 */
void clarke_places_clear(clarke_places *p);

/* Place j of the axis in the input's coordinates, the output being `scale` times as long, as Resize's coordinate_transformation_mode
 * `how` has it; roi: where a crop begins and ends, as shares of the axis. */
void clarke_places_set(clarke_places *p, size_t j, mpq_srcptr scale, const char *how, const double roi[2]);

/* The CLARKE_MOST_SHARES shares of the entries around a place that lies r behind the second of them. */
void clarke_cubic_shares(mpq_t *share, mpq_srcptr r, mpq_srcptr a);

/* *value has an axis of p->in entries, `blocks` times before it and `repeat` entries behind it; it becomes one of the given shape with
 * p->out along that axis. */
clarke_status clarke_resample(const clarke_places *p, const clarke_kernel *kernel, clarke_lowering *low, size_t blocks, size_t repeat,
                              size_t rank, const size_t *dims, size_t *value, clarke_error *err);

#endif
