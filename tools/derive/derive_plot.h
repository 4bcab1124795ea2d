/* A function of one real variable and what AD gives for its derivative, drawn as an SVG. */
#ifndef CLARKE_TOOLS_DERIVE_PLOT_H
#define CLARKE_TOOLS_DERIVE_PLOT_H

#include "base/status.h"

#include <stddef.h>

/* A number that is not finite is not drawn: the curve has a gap there. */
typedef struct {
  double t, value, ad;
} clarke_plot_sample;

/* lo and hi: the Clarke subdifferential [lo, hi]; NaN when it is not known. */
typedef struct {
  double t, value, ad, lo, hi;
} clarke_plot_kink;

/* Samples and kinks by increasing t; a kink may be a sample too. The same input gives the same
 * bytes, whatever the locale. The file is there whole or, after an error, as it was. */
clarke_status clarke_plot_write(const char *path, const clarke_plot_sample *sample,
                                size_t n_samples, const clarke_plot_kink *kink, size_t n_kinks,
                                const char *title, clarke_error *err);

#endif
