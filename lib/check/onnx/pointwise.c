/* Activation functions of exponentials, and other functions of each entry. */
#include "check/onnx/pointwise.h"
#include "check/onnx/inner.h"
#include "check/onnx/masked.h"

#include <string.h>

/* Softmax, LogSoftmax. */
void
lower_softmax(builder *b)
{
  const value *x = &b->in[0];
  bool flat = b->opset < 13;
  size_t axis = axis_of(b, whole_attribute(b, "axis", flat ? 1 : -1), x->rank);
  need(!is_batch(b, x) || x->at < axis || (!flat && x->at != axis), "the batch axis would be mixed");
  size_t stride = flat ? 1 : product(x->dims + axis + 1, x->rank - axis - 1);
  size_t length = flat ? product(x->dims + axis, x->rank - axis) : x->dims[axis];
  if (x->excluded != NULL) {
    put_masked(b, x, length, stride);
    return;
  }
  step *s = add_function(b, SOFTMAX, x);
  s->stride = stride;
  s->length = length;
  s->log = b->op[0] == 'L';
}

/* The first of softmax(x, 0); 2 sigmoid(2 x) - 1. */
void
put_logistic(builder *b, const value *x, bool hyperbolic)
{
  const rational *coef = hyperbolic ? &two : &plus_one;
  step *s = add_step(b, LINEAR, 1, 3, (size_t[]){1, x->count, 2});
  need(x->constant == NULL, "its input must be an activation");
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, x, f / 2)->coef = f % 2 == 0 ? coef : &zero;
  value pairs = b->out;
  s = add_function(b, SOFTMAX, &pairs);
  s->length = 2;
  s->stride = 1;
  value shares = b->out;
  s = add_step(b, LINEAR, 1 + hyperbolic, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, f * s->width, &shares, 2 * f)->coef = coef;
    if (hyperbolic)
      s->factors[f * 2 + 1].coef = &minus_one;
  }
}

/* Sigmoid, Tanh. */
void
lower_sigmoid(builder *b)
{
  put_logistic(b, &b->in[0], b->op[0] == 'T');
}

/* Atan, Cos, Erf, Exp, Log, Reciprocal, Sin, Softplus, Sqrt. */
void
lower_function(builder *b)
{
  static const struct {
    const char *name;
    function of;
  } all[] = {{"Erf", F_ERF},           {"Exp", F_EXP},   {"Log", F_LOG}, {"Reciprocal", F_RECIPROCAL},
             {"Softplus", F_SOFTPLUS}, {"Sqrt", F_ROOT}, {"Sin", F_SIN}, {"Cos", F_COS},
             {"Atan", F_ATAN}};
  size_t i = 0;
  while (strcmp(all[i].name, b->op) != 0)
    i++;
  put_function(b, all[i].of, &b->in[0]);
}

/* x times the last step's output. */
static void
multiply_argument(builder *b)
{
  value by = b->out;
  put_products(b, &b->in[0], &by, b->in[0].rank, b->in[0].dims);
}

/* Gelu, x NORMAL(x) or x NORMAL_TANH(x); Mish, x tanh(softplus(x)); Swish, x sigmoid(x). */
void
lower_gate(builder *b)
{
  const char *approximate = text_attribute(b, "approximate", "none");
  bool tanh = strcmp(approximate, "tanh") == 0;
  RATIONAL(alpha);
  real_attribute(b, "alpha", &alpha, 1);
  need(tanh || strcmp(approximate, "none") == 0, "approximate is neither none nor tanh");
  need(mpq_equal(&alpha, &plus_one), "alpha is not 1");
  if (b->op[0] == 'S') {
    put_logistic(b, &b->in[0], false);
  } else {
    step *s = add_function(b, FUNCTION, &b->in[0]);
    s->of = b->op[0] == 'M' ? F_SOFTPLUS : tanh ? F_NORMAL_TANH : F_NORMAL;
  }
  if (b->op[0] == 'M') {
    value softplus = b->out;
    put_logistic(b, &softplus, true);
  }
  multiply_argument(b);
}

/* The node's output times a number, which is kept. */
static void
put_scaled(builder *b, const rational *by)
{
  value x = b->out;
  if (mpq_equal(by, &plus_one))
    return;
  step *s = add_function(b, LINEAR, &x);
  rational *coef = rationals(1);
  mpq_set(coef, by);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f].coef = coef;
}

/* Celu, alpha ELU(x / alpha); Elu, that of x, or alpha x below 0. Selu, gamma times Elu: beta ELU(y / beta), with beta alpha gamma, y gamma x, or
 * beta x below 0. So a proxy is Selu's own slope. */
void
lower_elu(builder *b)
{
  const value *x = &b->in[0];
  bool scaled = b->op[0] == 'S';
  RATIONAL(alpha);
  RATIONAL(gamma);
  RATIONAL(inverse);
  real_attribute(b, "alpha", &alpha, scaled ? 0x1.ac5afap+0f : 1);
  if (scaled)
    real_attribute(b, "gamma", &gamma, 0x1.0cfabep+0f);
  else
    mpq_set(&gamma, &plus_one);
  need(mpq_sgn(&alpha) > 0 && mpq_sgn(&gamma) > 0, "alpha and gamma must be positive");
  mpq_mul(&alpha, &alpha, &gamma);
  need(x->constant == NULL, "its input must be an activation");
  put(b, NULL, x->step, x->map, x->rank, x->dims);
  if (b->op[0] != 'C') {
    step *s = add_function(b, PIECEWISE, x);
    s->n_kinks = 1;
    mpq_set(&s->piece[0][1], &alpha);
    mpq_set(&s->piece[1][1], &gamma);
  }
  mpq_inv(&inverse, &alpha);
  put_scaled(b, &inverse);
  value argument = b->out;
  put_function(b, F_ELU, &argument);
  put_scaled(b, &alpha);
}

/* The exponential of the exponents times the logarithm. One constant is a number, which no parameter is; so are integers. */
static void
power_by_logarithm(builder *b)
{
  value e = b->in[1], y = inner_of(b, "Log", &b->in[0], NULL);
  bool one = e.constant != NULL && e.count == 1 && e.rank <= 1;
  if (e.constant != NULL && (one || !e.constant->real)) {
    value made = made_numbers(b, e.rank, e.dims);
    for (size_t i = 0; i < e.count; i++) {
      const rational *q = &e.constant->value[e.map[i]];
      need(e.constant->real || mpz_sizeinbase(mpq_numref(q), 2) <= 53, "an exponent that is too large");
      mpq_set(&made.constant->value[i], q);
    }
    e.constant->number = e.constant->number || e.constant->real;
    e = made;
  }
  y = inner_of(b, "Mul", &y, &e);
  b->out = inner_of(b, "Exp", &y, NULL);
  b->in[0].at = b->out.at;
  b->in[0].inner = b->out.inner;
}

/* Pow with a whole exponent from 1 to 8, or 1/2; or minus that; or any, or several, of what is above 0. */
void
lower_power(builder *b)
{
  const value *x = &b->in[0], *e = &b->in[1];
  bool one = e->constant != NULL && e->count == 1 && e->rank <= 1, root = false, whole = false;
  const rational *q = one ? &e->constant->value[e->map[0]] : &zero;
  RATIONAL(size);
  mpq_abs(&size, q);
  root = mpq_cmp_ui(&size, 1, 2) == 0;
  whole = mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_cmp_ui(&size, 1, 1) >= 0 && mpq_cmp_ui(&size, 8, 1) <= 0;
  need(x->constant == NULL, "its input must be an activation");
  if (!root && !whole) {
    power_by_logarithm(b);
    return;
  }
  e->constant->number = true;
  put(b, NULL, x->step, x->map, x->rank, x->dims);
  for (unsigned long k = root ? 1 : mpz_get_ui(mpq_numref(&size)); k > 1; k--)
    multiply_argument(b);
  if (root)
    put_function(b, F_ROOT, x);
  value power = b->out;
  if (mpq_sgn(q) < 0)
    put_function(b, F_RECIPROCAL, &power);
}
