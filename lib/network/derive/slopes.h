/* The slopes of a pass, one chosen at every touched kink: AD's when they are the profile's proxies, those of a cell when
 * each is a side's. */
#ifndef CLARKE_NETWORK_DERIVE_SLOPES_H
#define CLARKE_NETWORK_DERIVE_SLOPES_H

#include "op/profile.h"
#include "network/replay/replay.h"

/* What the outputs of a MAX step are taken to be: the sum over r < n of weight[r] (0 x 0: 1) times the
 * entries from[r] of its operand (features, by output and column; CLARKE_NONE: none). */
typedef struct {
  size_t n;
  size_t **from;
  clarke_matrix *weight;
} clarke_route;

/* The slope of every entry of every PIECEWISE and ANALYTIC step, features x columns; the route of
 * every MAX step. */
typedef struct {
  size_t n;
  clarke_matrix *slope; /* by step */
  clarke_route *route;  /* by step */
} clarke_slopes;

void clarke_slopes_init(clarke_slopes *s);
void clarke_slopes_clear(clarke_slopes *s);

/* The profile's number at a touch; the slope on one of its sides. */
clarke_status clarke_touch_proxy(mpq_t value, const clarke_graph *g, const clarke_touch *t,
                                 const clarke_profile *profile, clarke_error *err);
void clarke_touch_side(mpq_t slope, const clarke_graph *g, const clarke_touch *t, bool right);

/* choice[k] of CLARKE_LEFT, CLARKE_RIGHT, CLARKE_PROXY for each of the n touches, whose columns
 * are columns of f; of a window CLARKE_OPTION(o) or CLARKE_PROXY. NULL: CLARKE_PROXY for all. Slopes of enclosed
 * arguments are enclosures. */
clarke_status clarke_slopes_choose(clarke_slopes *s, const clarke_forward *f,
                                   const clarke_touch *touch, size_t n, const clarke_branch *choice,
                                   const clarke_profile *profile, clarke_error *err);
/* The touches' slopes become enclosures that hold those of both sides; a window's output that of each option, with a
 * weight between 0 and 1. f and touch as for clarke_slopes_choose. */
clarke_status clarke_slopes_loosen(clarke_slopes *s, const clarke_forward *f,
                                   const clarke_touch *touch, size_t n, clarke_error *err);
/* AD's slopes over a pass of all samples of the replay's batch (clarke_replay_all). */
clarke_status clarke_slopes_of_ad(clarke_slopes *s, const clarke_forward *all,
                                  const clarke_replay *r, const clarke_profile *profile,
                                  clarke_error *err);
/* The slopes of one column of f's. */
clarke_status clarke_slopes_column(clarke_slopes *s, const clarke_slopes *all,
                                   const clarke_forward *f, size_t column, clarke_error *err);
/* D^AD of a tied window, what multiplies entry i of the n tied ones: (1 - beta) of the first or last of them, and beta of their mean. */
void clarke_tie_share(mpq_t share, const clarke_tie_rule *rule, size_t i, size_t n);
/* Does the profile say what AD does at a tied window of the operator? */
clarke_status clarke_tie_check(const clarke_tie_rule *rule, const clarke_profile *profile,
                               const clarke_op *op, clarke_error *err);

#endif
