/* The floating-point filter: the whole minibatch in double arithmetic, with an a priori error bound
 * that holds for any order of summation, with or without FMA (docs/filter.md). An entry's place
 * is decided only when it is farther from every kink than the bound; the rest stay open. */
#ifndef CLARKE_NETWORK_PASS_FILTER_H
#define CLARKE_NETWORK_PASS_FILTER_H

#include "network/pass/forward.h"
#include "network/norms/growth.h"

typedef struct clarke_filter clarke_filter; /* filter/enclosure.h */

/* How a pass is run. A fine pass keeps a bound for every entry, which stays small in deep networks; it takes about twice
 * the time. growths: NULL, or of the steps whose outputs kinks need; with them another pass keeps bounds of norms, which
 * stay small there, too, at no cost. With more than `limit` entries open a pass stops, and later steps have no places. */
typedef struct {
  bool fine;
  size_t limit;
  const clarke_growths *growths;
  void (*seen)(void *context, const clarke_filter *pass, size_t value); /* NULL, or told each value when it is made */
  void *context;
} clarke_filter_way;

/* x: the batch, its first axis the samples (all that g was built for, when a step couples them); integers below 2^53 in
 * absolute value. piece[step] (n_steps, NULL but for steps with kinks) is allocated and filled, feature-major as in
 * clarke_forward; a window whose largest entries are identical is decided by that. ties[step], of MAX, by sample: windows
 * so decided. *open counts the entries left open, *transcendental those of steps that depend on transcendental functions,
 * which are left open too. margin: NULL, or what clarke_margin_rows made for these samples: bounds of what is decided are
 * taken in. */
clarke_status clarke_filter_run(clarke_branch **piece, size_t **ties, clarke_margin **margin, size_t *open,
                                size_t *transcendental, const clarke_graph *g, const clarke_tensor *x,
                                const clarke_filter_way *way, clarke_error *err);

#endif
