/* Distances from kinks as far as the filter's bounds tell, into f->margin where there is one. */
#ifndef CLARKE_NETWORK_PASS_FILTER_MEASURE_H
#define CLARKE_NETWORK_PASS_FILTER_MEASURE_H

#include "network/pass/filter/enclosure.h"

/* A row of arguments, feature i's, which f->bound holds the bounds of. kinks: the step's, truncated, for a quotient a row is much; piece: their places, or NULL where the one kink is 0
 * and an entry is decided when it is farther from 0 than its bound. smooth: as clarke_margin_is_smooth says of the step. */
void clarke_measure_arguments(clarke_filter *f, const clarke_step *s, const double *kinks, bool smooth, const double *x,
                              const clarke_branch *piece, size_t i);

/* A row of windows with their places. y: their largest entries; f->bound: how far below these others must be to be
 * certainly smaller, as decide_windows left it. */
void clarke_measure_windows(clarke_filter *f, const clarke_step *s, const double *y, const clarke_branch *piece, size_t i);

#endif
