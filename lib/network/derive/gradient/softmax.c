/* Softmax, and its logarithm, in a gradient: values and probabilities from balls (docs/gradient.md). */
#include "network/derive/gradient/softmax.h"

#include "network/derive/gradient/analytic.h"
#include "network/pass/softmax.h"

/* Bits of the balls; and what a probability may be off by. */
#define PRECISION 128
#define OFF 0x1p-100

/* The variance of v under p is at most a quarter of the square of its range, which is at most sqrt(2) |v|; so |diag(p) - p p^T| <= 1/2.
 * Of the logarithm |I - 1 p^T| <= 1 + sqrt(length). */
double
clarke_softmax_growth(const clarke_step *s)
{
  return s->log ? clarke_bound_up(1 + sqrt((double)s->length)) : 0.5;
}

/* |diag(q)| + |p q^T| + |q p^T| <= 3 |q|, for probabilities that are q apart, or |1 q^T|; and |q| is at most half of x's error. */
double
clarke_softmax_bend(const clarke_step *s)
{
  return s->log ? clarke_bound_up(sqrt((double)s->length) / 2) : 1.5;
}

/* A group's entries: `length` of them from `first` on, `stride` rows apart. */
typedef struct {
  size_t first, length, apart;
} softmax_group;

/* Calls `go` for each group, of each sample. */
static void
each_group(clarke_gradient_pass *p, const clarke_step *s, void (*go)(clarke_gradient_pass *, const clarke_step *, const softmax_group *, arb_ptr))
{
  arb_ptr room = _arb_vec_init((long)s->length);

  for (size_t g = 0; g < s->groups; g++)
    for (size_t r = 0; r < s->stride; r++)
      for (size_t j = 0; j < p->n; j++)
        go(p, s, &(softmax_group){(g * s->length * s->stride + r) * p->n + j, s->length, s->stride * p->n}, room);
  _arb_vec_clear(room, (long)s->length);
}

/* The balls of a group. */
static void
enclose_group(arb_ptr ball, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  for (size_t i = 0; i < of->length; i++)
    clarke_ball_of_pair(ball + i, clarke_normed_get(&p->value[s->in[0].value], of->first + i * of->apart));
  clarke_softmax_balls(ball, of->length, 1, logarithm, PRECISION);
}

/* For a look, whose numbers tell sizes alone, doubles: as balls. */
static void
look_at_group(arb_ptr ball, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  const clarke_normed *x = &p->value[s->in[0].value];
  double most = -INFINITY, sum = 0;

  for (size_t i = 0; i < of->length; i++)
    most = fmax(most, clarke_normed_get(x, of->first + i * of->apart).high);
  for (size_t i = 0; i < of->length; i++)
    sum += exp(clarke_normed_get(x, of->first + i * of->apart).high - most);
  for (size_t i = 0; i < of->length; i++) {
    const double z = clarke_normed_get(x, of->first + i * of->apart).high - most;

    arb_set_d(ball + i, logarithm ? z - log(sum) : exp(z) / sum);
  }
}

static void
group_balls(arb_ptr ball, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  (p->seen != NULL ? look_at_group : enclose_group)(ball, p, s, of, logarithm);
}

static void
group_forward(clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, arb_ptr ball)
{
  clarke_normed *y = &p->value[s->out];

  group_balls(ball, p, s, of, s->log);
  for (size_t i = 0; i < of->length; i++) {
    const size_t e = of->first + i * of->apart;
    double off;
    const clarke_pair v = clarke_pair_of_ball(&off, ball + i);

    p->lost = p->lost || !isfinite(off);
    clarke_normed_put(y, e, v);
    off = clarke_bound_up(off + (y->low == NULL ? fabs(v.low) : 0));
    y->error[clarke_lane_of(p, e % p->n)] += off * off;
  }
}

clarke_status
clarke_softmax_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];

  each_group(p, s, group_forward);
  for (size_t j = 0; j < p->lanes; j++)
    y->error[j] = clarke_bound_up(clarke_softmax_growth(s) * x->error[j] + sqrt(clarke_bound_up(y->error[j])));
  return CLARKE_OK;
}

/* p (g - <p, g>), or g - p <1, g>. */
static void
group_back(clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, arb_ptr ball)
{
  const clarke_normed *g = &p->grad[s->out];
  clarke_normed *to = &p->grad[s->in[0].value];
  clarke_pair sum = {0, 0};

  group_balls(ball, p, s, of, false);
  for (size_t i = 0; i < of->length; i++) {
    double off;
    const clarke_pair weight = clarke_pair_of_ball(&off, ball + i), v = clarke_normed_get(g, of->first + i * of->apart);

    p->lost = p->lost || !(off <= OFF);
    sum = clarke_pair_add(sum, s->log ? v : clarke_pair_multiply(weight, v));
  }
  for (size_t i = 0; i < of->length; i++) {
    const size_t e = of->first + i * of->apart;
    double off;
    const clarke_pair weight = clarke_pair_of_ball(&off, ball + i), v = clarke_normed_get(g, e);
    const clarke_pair rest = clarke_pair_multiply(s->log ? weight : (clarke_pair){1, 0}, (clarke_pair){-sum.high, -sum.low});
    const clarke_pair here = clarke_pair_add(v, rest);

    clarke_normed_add(to, e, s->log ? here : clarke_pair_multiply(weight, here));
  }
}

/* Sums over a group have at most the norm of g times sqrt(length), and are rounded; each probability is off by OFF. */
clarke_status
clarke_softmax_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const double length = (double)s->length, growth = clarke_softmax_growth(s);
  const double rounded = (clarke_bound_gamma(length + 8, CLARKE_PAIR_UNIT) + 4 * OFF) * (length + 2);
  double most = 0;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  for (size_t j = 0; j < p->lanes; j++)
    most = fmax(most, p->value[s->in[0].value].error[j]);
  status = clarke_note_operand(p, s, &p->grad[s->out], growth, clarke_bound_up(clarke_softmax_bend(s) * most + rounded), 0);
  if (status == CLARKE_OK)
    each_group(p, s, group_back);
  return status;
}
