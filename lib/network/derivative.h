/* Derivatives of a pass, forward and reverse, with a slope chosen at every touched kink: AD when
 * they are the profile's proxies, the gradient of a cell when each is a side's. */
#ifndef CLARKE_NETWORK_DERIVATIVE_H
#define CLARKE_NETWORK_DERIVATIVE_H

#include "op/profile.h"
#include "network/replay.h"

#define CLARKE_LEFT ((int8_t)-1)
#define CLARKE_RIGHT ((int8_t)1)
#define CLARKE_PROXY ((int8_t)0)
/* Of a touched window: the number of the option that is the largest. */
#define CLARKE_OPTION(o) ((int8_t)((o) + 1))
#define CLARKE_OPTION_OF(side) ((size_t)((side) - 1))

/* The sides that a touch may take are numbered: left 0 and right 1, a window's as its options. */
static inline int8_t
clarke_side_numbered(const clarke_touch *t, size_t o)
{
  return t->n_options > 0 ? CLARKE_OPTION(o) : o == 1 ? CLARKE_RIGHT : CLARKE_LEFT;
}

static inline size_t
clarke_side_number(const clarke_touch *t, int8_t side)
{
  return t->n_options > 0 ? CLARKE_OPTION_OF(side) : side == CLARKE_RIGHT;
}

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
                                   const clarke_touch *touch, size_t n, const int8_t *choice,
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
/* Does the profile say what AD does at a tied window of the operator? */
clarke_status clarke_tie_check(const clarke_tie_rule *rule, const clarke_profile *profile,
                               const clarke_op *op, clarke_error *err);

/* Tangents along a direction in parameter space: d[p] is count x 1, or has no rows for zero.
 * tangent: n_values initialized matrices; those that do not move stay 0 x 0. */
clarke_status clarke_tangent_run(clarke_matrix *tangent, const clarke_forward *f,
                                 const clarke_slopes *s, const clarke_matrix *d,
                                 clarke_error *err);

/* The same in enclosures of about that many bits; tangent holds afterwards those of the values in keep
 * (n_values) alone. */
clarke_status clarke_tangent_enclose(clarke_matrix *tangent, const bool *keep,
                                     const clarke_forward *f, const clarke_slopes *s,
                                     const clarke_matrix *d, size_t bits, clarke_error *err);

/* What reverse mode meets: step's operand `value` (a constant that shows a wrt parameter) has the
 * step's output gradient g. The receiver makes of it what it needs. */
typedef clarke_status (*clarke_sink)(void *context, const clarke_forward *f,
                                     const clarke_step *step, size_t operand,
                                     const clarke_matrix *g, clarke_error *err);

/* Reverse mode: grad holds n_values initialized matrices, those seeded having the value's shape;
 * all end as gradients of the seeded combination. With segment, the number of the seeded step with
 * kinks, it stops at the nearest kinks and transcendental functions (of a MAX at those before the
 * pointwise function it may pool): the derivative in a layer's own parameters. */
clarke_status clarke_reverse_run(clarke_matrix *grad, const clarke_forward *f,
                                 const clarke_slopes *s, size_t segment, clarke_sink sink,
                                 void *context, clarke_error *err);

/* The same over all parameters. The visitor is asked when all of the gradient g of a step's output has been added up, before it
 * goes on: it may put other numbers in its place (a record's). context goes to both. */
typedef clarke_status (*clarke_visit)(void *context, clarke_matrix *g, size_t step, clarke_error *err);
clarke_status clarke_reverse_visited(clarke_matrix *grad, const clarke_forward *f, const clarke_slopes *s,
                                     clarke_visit visit, clarke_sink sink, void *context, clarke_error *err);

/* The same over all parameters, of which gradient[p] (0 x 0 to begin with) is the sum of what clarke_gradient_sink makes; up to
 * a positive factor: where all that is on its way is at entries with one irrational root, that is left out. */
clarke_status clarke_reverse_up_to_root(clarke_matrix *gradient, clarke_matrix *grad, const clarke_forward *f,
                                        const clarke_slopes *s, clarke_error *err);

/* Reverse mode in enclosures of about that many bits: grad is seeded as above, and holds afterwards the
 * gradients of the values in keep (n_values) alone. */
clarke_status clarke_reverse_enclose(clarke_matrix *grad, const bool *keep,
                                     const clarke_forward *f, const clarke_slopes *s, size_t bits,
                                     clarke_error *err);

/* carries[v] (n_values): does the value depend on a wrt parameter, within the segment? */
void clarke_reverse_carriers(bool *carries, const clarke_graph *g, size_t segment);

/* The sink that sums whole gradients: gradient[p], count x 1, for the parameters in wrt. */
clarke_status clarke_gradient_sink(void *gradient, const clarke_forward *f,
                                   const clarke_step *step, size_t operand,
                                   const clarke_matrix *g, clarke_error *err);

/* What a sink has met: the constant's value, and the gradient in its own entries, count x 1. */
clarke_status clarke_constant_gradient(clarke_matrix *c, size_t *value, const clarke_forward *f, const clarke_step *step,
                                       size_t operand, const clarke_matrix *g, clarke_error *err);

/* The sink that emits single entries of one column's derivative: only nonzero ones. */
typedef struct {
  clarke_status (*emit)(void *context, size_t parameter, size_t entry, const mpq_t value,
                        clarke_error *err);
  void *context;
} clarke_emitter;
clarke_status clarke_emit_sink(void *emitter, const clarke_forward *f, const clarke_step *step,
                               size_t operand, const clarke_matrix *g, clarke_error *err);

#endif
