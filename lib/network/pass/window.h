/* The largest entries of windows: MAX steps of a pass. */
#ifndef CLARKE_NETWORK_PASS_WINDOW_H
#define CLARKE_NETWORK_PASS_WINDOW_H

#include "network/pass/forward.h"

/* Fills piece and ties of a MAX step, whose argument has been computed. */
clarke_status clarke_window_decide(clarke_forward *f, size_t step, clarke_error *err);
/* The places in the window of the largest entries of (feature, column): tied[0..]; how many. */
size_t clarke_window_tied(size_t *tied, const clarke_forward *f, size_t step, size_t feature,
                          size_t column);
/* The places that may be the largest: those that are certainly smaller than another are not. */
size_t clarke_window_candidates(size_t *place, const clarke_forward *f, size_t step, size_t feature, size_t column);
/* The first of each identity among those tied: the window's options, a, b, ... Its identities are known. */
size_t clarke_window_options(size_t *option, const clarke_forward *f, size_t step, size_t feature,
                             size_t column);
/* How many tied entries are not identical with the first of them; the identities are known. */
size_t clarke_window_parted(const clarke_forward *f, size_t step, size_t feature, size_t column);
/* Adds to count[o] how many tied entries option o stands for, by clarke_window_options' numbers. */
void clarke_window_count_options(size_t *count, const clarke_forward *f, size_t step, size_t feature, size_t column);
/* The option that the last tied entry belongs to. */
size_t clarke_window_last_option(const clarke_forward *f, size_t step, size_t feature,
                                 size_t column);

#endif
