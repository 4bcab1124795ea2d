/* Activation functions with kinks, which are polynomials between them. */
#include "check/onnx/piecewise.h"

#include <float.h>

/* Bound i of Clip into q; false when there is none. */
static bool
clip_bound(builder *b, size_t i, rational *q)
{
  const value *v = &b->in[1 + i];
  if (b->opset < 11 && !b->node->own) {
    RATIONAL(most); /* the defaults, which are the largest floats, are no bounds, given or not */
    bool given = real_attribute(b, i == 0 ? "min" : "max", q, 0);
    mpq_set_d(&most, (double)FLT_MAX);
    bool below = mpq_cmp(q, &most) < 0;
    mpq_neg(&most, &most);
    return given && below && mpq_cmp(q, &most) > 0;
  }
  if (v->name == NULL)
    return false;
  need(v->constant != NULL && v->constant->real && v->count == 1, "a bound must be a constant number");
  v->constant->number = true;
  mpq_set(q, &v->constant->value[v->map[0]]);
  return true;
}

/* Clip, and Clamp, which is the same function. */
void
lower_clip(builder *b)
{
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  INTERVAL(q);
  bool lo = clip_bound(b, 0, &q.lo), hi = clip_bound(b, 1, &q.hi);
  b->net->read[UNBOUNDED] = b->net->read[UNBOUNDED] || !lo || !hi;
  need(!lo || !hi || mpq_cmp(&q.lo, &q.hi) < 0, "the lower bound must be less than the upper");
  s->n_kinks = lo + hi;
  s->number[0] = !lo;
  s->number[1] = 1;
  mpq_set(&s->at[0], lo ? &q.lo : &q.hi);
  mpq_set(&s->at[1], &q.hi);
  mpq_set(&s->piece[0][0], &q.lo);
  mpq_set(&s->piece[lo + 1][0], &q.hi);
  mpq_set(&s->piece[lo][1], &plus_one);
}

/* alpha x + beta between 0 and 1; the float32 nearest to 1/6 is read as 1/6. HardSwish is x times
 * that with 1/6 and 1/2. */
void
lower_hard(builder *b)
{
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  rational *alpha = &s->piece[1][1], *beta = &s->piece[1][0];
  RATIONAL(q);
  real_attribute(b, "alpha", alpha, b->op[5] == 'w' ? 0 : 0.2f);
  real_attribute(b, "beta", beta, 0.5f);
  mpq_set_d(&q, 1.0f / 6.0f);
  bool swish = b->op[5] == 'w', sixth = !swish && mpq_equal(alpha, &q);
  b->net->read[SIXTH] = b->net->read[SIXTH] || sixth;
  if (sixth || swish)
    mpq_set_ui(alpha, 1, 6);
  need(mpq_sgn(alpha) > 0, "alpha must be positive");
  mpq_neg(&q, beta);
  mpq_div(&s->at[0], &q, alpha);
  mpq_sub(&q, &plus_one, beta);
  mpq_div(&s->at[1], &q, alpha);
  mpq_set(&s->piece[2][0], &plus_one);
  s->n_kinks = 2;
  s->number[1] = 1;
  for (size_t i = 0; i < 6 && swish; i++)
    mpq_swap(&s->piece[2 - i / 2][2 - i % 2], &s->piece[2 - i / 2][1 - i % 2]);
}

step *
put_relu(builder *b, const value *x)
{
  step *s = add_function(b, PIECEWISE, x);
  s->n_kinks = 1;
  mpq_set(&s->piece[1][1], &plus_one);
  return s;
}

/* Abs, LeakyRelu, PRelu, Relu. */
void
lower_relu(builder *b)
{
  const value *x = &b->in[0];
  step *s = put_relu(b, x);
  if (b->op[0] == 'A')
    mpq_set(&s->piece[0][1], &minus_one);
  if (b->op[0] == 'L')
    real_attribute(b, "alpha", &s->piece[0][1], 0.01f);
  if (b->op[0] != 'P')
    return;
  need(b->in[1].constant != NULL, "the slope is no constant");
  value slope = spread_over(b, 1, x);
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, &slope, f);
}

/* x^2 / 2 between -delta and delta, delta |x| - delta^2 / 2 beyond. */
void
lower_huber(builder *b)
{
  const value *v = &b->in[1];
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  need(v->constant != NULL && v->constant->real && v->count == 1, "its second input must be a constant number");
  v->constant->number = true;
  const rational *q = &v->constant->value[v->map[0]];
  need(mpq_sgn(q) > 0, "a delta that is not positive");
  mpq_set_ui(&s->piece[1][2], 1, 2);
  s->n_kinks = 2; /* no kinks: the slopes agree there */
  mpq_neg(&s->at[0], q);
  mpq_set(&s->at[1], q);
  for (size_t i = 0; i < 2; i++) {
    mpq_set(&s->piece[2 * i][1], &s->at[i]);
    mpq_mul(&s->piece[2 * i][0], q, q);
    mpq_mul(&s->piece[2 * i][0], &s->piece[2 * i][0], &s->piece[1][2]);
    mpq_neg(&s->piece[2 * i][0], &s->piece[2 * i][0]);
  }
}
