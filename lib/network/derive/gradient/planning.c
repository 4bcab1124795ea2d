/* What a plan is made from: what tensors bear, and how errors become theirs, by what a look at a few samples has seen. */
#include "network/derive/gradient/planning.h"

#include "network/pass/analytic.h"
#include "network/derive/gradient/sliced.h"
#include "network/derive/gradient/softmax.h"
#include "network/pass/piecewise.h"

#include <math.h>
#include <stdlib.h>

/* A tensor that is smaller than this part of the largest entry of all is borne with as one of that size. */
#define SMALLEST 0x1p-20

/* Other samples' outputs are taken to turn the loss's gradient by no more than so many times what was seen. */
#define TURNING 1.25

/* Before it is divided by 2^bits, the error that an entry of a parameter's gradient bears; 0 where it is not in wrt, or all that
 * was seen of it is zero. */
static void
find_borne(clarke_planning *q)
{
  const clarke_gradient_pass *p = q->few;
  double most = 0;

  for (size_t i = 0; i < p->g->n_parameters; i++) {
    q->borne[i] = clarke_gradient_largest(p->gradient, p->g, i);
    most = fmax(most, q->borne[i]);
  }
  for (size_t i = 0; i < p->g->n_parameters; i++)
    q->borne[i] = q->borne[i] > 0 ? fmax(q->borne[i], SMALLEST * most) / sqrt(q->more) : 0;
}

size_t
clarke_planning_source(double *root, const clarke_planning *q, size_t i)
{
  const clarke_gradient_pass *p = q->few;
  const size_t x = p->g->steps[i].in[0].value;
  const clarke_step *gather = p->deferred[x];

  *root = gather != NULL ? p->growths->growth[gather - p->g->steps][0].norm : 1;
  return gather != NULL ? gather->in[0].value : x;
}

static void
add_share(clarke_planning *q, clarke_share c)
{
  if (q->borne[c.parameter] > 0)
    q->share[q->n_shares++] = c;
}

/* The shares of a step's constants. */
static clarke_status
find_shares(clarke_planning *q, size_t i)
{
  const clarke_gradient_pass *p = q->few;
  const clarke_step *s = &p->g->steps[i];
  const size_t constant = s->kind == CLARKE_DENSE ? s->dense.weight : s->kind == CLARKE_SCALE ? s->in[1].value : CLARKE_NONE;
  clarke_status status = CLARKE_OK;
  double root;

  if (constant != CLARKE_NONE && clarke_value_is_wrt(p->g, constant))
    add_share(q, (clarke_share){i, p->g->values[constant].parameter, clarke_planning_source(&root, q, i), q->seen->by_grad[i],
                                q->seen->by_value[i], (double)(s->dense.blocks * s->dense.repeat * q->few->r->samples)});
  for (size_t k = 0; k < s->n_in && s->kind == CLARKE_SUM && status == CLARKE_OK; k++) {
    const double copies = fabs(s->in[k].coef) * (double)p->lanes * clarke_lane_root(p);
    size_t taken = 1;
    bool cancels = true;

    if (clarke_value_is_wrt(p->g, s->in[k].value))
      status = clarke_operand_cancels(&cancels, p->g, s, k, p->err);
    if (status == CLARKE_OK && !cancels)
      status = clarke_most_taken(&taken, p->g, s, s->in[k].value, p->err);
    if (status == CLARKE_OK && !cancels)
      add_share(q, (clarke_share){i, p->g->values[s->in[k].value].parameter, CLARKE_NONE, copies * sqrt((double)taken), 0, 0});
  }
  return status;
}

double
clarke_planning_growth(const clarke_planning *q, size_t i, size_t k)
{
  const clarke_step *s = &q->few->g->steps[i];

  if (q->few->deferred[s->out] != NULL) /* what reads it has the growth of both */
    return 1;
  if (s->kind == CLARKE_DENSE)
    return clarke_dense_growth(q->few, s);
  if (s->kind == CLARKE_PIECEWISE)
    return clarke_piecewise_lipschitz(q->few->g, s);
  if (s->kind == CLARKE_ANALYTIC)
    return clarke_analytic_steepest(s->function);
  if (s->kind == CLARKE_SOFTMAX)
    return clarke_softmax_growth(s);
  if (s->kind == CLARKE_PRODUCT) {
    const size_t other = s->in[1 - k].value, length = k == 0 ? s->contraction.cols : s->contraction.rows;

    return fmin(q->seen->value[other], sqrt((double)(s->contraction.inner * length)) * q->seen->value_most[other]);
  }
  return s->kind == CLARKE_NORMALIZE ? q->seen->steepest[i] : q->few->growths->growth[i][k].norm;
}

clarke_multiplied
clarke_planning_value(const clarke_planning *q, size_t value, double root)
{
  return (clarke_multiplied){root * q->seen->value[value], q->seen->value_most[value], root * q->seen->value_entries[value]};
}

clarke_multiplied
clarke_planning_grad(const clarke_planning *q, size_t value)
{
  return (clarke_multiplied){q->seen->grad[value], q->seen->grad_most[value], q->seen->grad_entries[value]};
}

/* A tail's entries are taken to lie evenly between their bounds: their root mean square is that over the root of 3. */
double
clarke_planning_taken(const clarke_planning *q, size_t i, size_t slices, size_t inner, clarke_multiplied of)
{
  const clarke_dense *d = &q->few->g->steps[i].dense;
  const double columns = (double)(d->blocks * d->repeat * (q->few->n / q->few->lanes));
  double tail = of.norm;
  int top = 0;

  frexp(of.most, &top);
  if (slices > 0)
    tail = fmin(tail, fmin(clarke_sliced_tail(top, slices, (double)inner * columns),
                           clarke_sliced_tail(top, slices, of.entries * of.entries / 3)));
  return clarke_rounded_gamma((double)inner) * q->few->growths->size[i] * tail;
}

static clarke_status
allocate(clarke_planning *q)
{
  const clarke_graph *g = q->few->g;
  size_t shares = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    shares += 1 + g->steps[i].n_in;
  q->value = malloc((g->n_values + 1) * sizeof *q->value);
  q->grad = malloc((g->n_values + 1) * sizeof *q->grad);
  q->borne = calloc(g->n_parameters + 1, sizeof *q->borne);
  q->off = malloc((g->n_parameters + 1) * sizeof *q->off);
  q->share = malloc((shares + 1) * sizeof *q->share);
  return q->value != NULL && q->grad != NULL && q->borne != NULL && q->off != NULL && q->share != NULL
           ? CLARKE_OK
           : clarke_no_memory(q->few->err);
}

clarke_status
clarke_planning_init(clarke_planning *q, clarke_gradient_plan *plan, const clarke_gradient_pass *few)
{
  clarke_status status;

  *q = (clarke_planning){.plan = plan, .few = few, .seen = few->seen, .more = (double)few->r->samples / (double)few->n,
                         .turn = TURNING * few->seen->turn};
  status = allocate(q);
  if (status == CLARKE_OK)
    find_borne(q);
  for (size_t i = 0; i < few->g->n_steps && status == CLARKE_OK; i++)
    if (few->needed[few->g->steps[i].out])
      status = find_shares(q, i);
  return status;
}

void
clarke_planning_clear(clarke_planning *q)
{
  free(q->value);
  free(q->grad);
  free(q->borne);
  free(q->off);
  free(q->share);
}
