/* Derivatives of a pass along a direction. */
#ifndef CLARKE_NETWORK_DERIVE_TANGENT_H
#define CLARKE_NETWORK_DERIVE_TANGENT_H

#include "network/derive/slopes.h"

/* Tangents along a direction in parameter space: d[p] is count x 1, or has no rows for zero.
 * tangent: n_values initialized matrices; those that do not move stay 0 x 0. */
clarke_status clarke_tangent_run(clarke_matrix *tangent, const clarke_forward *f,
                                 const clarke_slopes *s, const clarke_matrix *d,
                                 clarke_error *err);

/* The same over the replay's near samples, as far as its touches' arguments: values behind the last of them have none. */
clarke_status clarke_tangent_of_touched(clarke_matrix *tangent, const clarke_replay *r, const clarke_slopes *s,
                                        const clarke_matrix *d, clarke_error *err);

/* As clarke_tangent_run, in enclosures of about that many bits; tangent holds afterwards those of the values in keep
 * (n_values) alone. */
clarke_status clarke_tangent_enclose(clarke_matrix *tangent, const bool *keep,
                                     const clarke_forward *f, const clarke_slopes *s,
                                     const clarke_matrix *d, size_t bits, clarke_error *err);

#endif
