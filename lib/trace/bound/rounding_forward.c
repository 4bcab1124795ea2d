/* Bounds of activations, step by step (rounding.h; docs/rounding-bound.md has the rules). */
#include "trace/bound/rounding_dense.h"
#include "trace/bound/rounding_line.h"

#include "network/pass/analytic.h"
#include "network/pass/linear.h"
#include "network/pass/piecewise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings that an implementation may make beyond one a term: a product's own, a copy, a scaling in another place. */
#define SPARE 2
#define SPARE_NORMALIZED 12
/* Elementary functions are within 4 ulp: 8 units. */
#define FUNCTION 8

typedef struct {
  clarke_roundoff *r;
  const clarke_graph *g;
  const clarke_step *s;
  size_t n, count; /* columns; the step's features */
  double *error;   /* of its output */
} pass;

static double
top(const pass *p, size_t value, size_t entry)
{
  return p->r->size[value][entry] + p->r->error[value][entry];
}

/* A step that belongs to a normalization may be computed in another order altogether: alpha x + beta. */
static double
spare(const clarke_step *s)
{
  return strstr(s->op->name, "Normalization") != NULL ? SPARE_NORMALIZED : SPARE;
}

static clarke_status
dense_errors(const pass *p, clarke_error *err)
{
  const clarke_dense *d = &p->s->dense;
  const size_t x = p->s->in[0].value, inner = d->inner;
  const double narrow = clarke_roundoff_narrow(&p->r->by, p->s);
  const bool casts = clarke_roundoff_casts(p->r, d->weight);
  bool turns = false;
  const clarke_dense_sizes sizes = {clarke_roundoff_weights(p->r, d->weight, false),
                                    casts ? clarke_roundoff_weights(p->r, d->weight, true) : NULL, clarke_roundoff_tops(p->r, x)};
  double *mass = calloc(p->count * p->n + 1, sizeof *mass), *passed = malloc((p->count * p->n + 1) * sizeof *passed);
  const bool well = sizes.weight != NULL && (!casts || sizes.cast != NULL) && sizes.top != NULL && mass != NULL && passed != NULL;

  if (well) {
    turns = inner == 1 && !p->r->by.casts && clarke_roundoff_turns(sizes.weight, p->g->values[d->weight].count);
    clarke_roundoff_dense(p->error, p->s, sizes.weight, p->r->error[x], p->n);
    clarke_roundoff_dense(mass, p->s, sizes.weight, sizes.top, p->n);
  }
  if (well && casts) {
    clarke_roundoff_dense(p->error, p->s, sizes.cast, sizes.top, p->n);
    clarke_roundoff_dense(mass, p->s, sizes.cast, sizes.top, p->n);
  }
  for (size_t e = 0; well && e < p->count * p->n; e++) {
    mass[e] = clarke_roundoff_sum(mass[e], 2 * inner);
    passed[e] = clarke_roundoff_sum(p->error[e] + (narrow > 0 ? narrow * mass[e] : 0), 2 * inner);
    mass[e] = clarke_up_by(mass[e] * (1 + narrow), 4);
    if (!turns)
      p->error[e] = passed[e] + clarke_roundoff_by(&p->r->by, (double)inner + SPARE, mass[e]);
  }
  free(sizes.weight);
  free(sizes.cast);
  free(sizes.top);
  p->r->mass[p->s->out] = mass;
  p->r->passed[p->s->out] = passed;
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* The DENSE step of the same node that makes a value, whose products may be summed up together with what is added. */
static const clarke_step *
product_of(const pass *p, size_t value)
{
  const size_t producer = p->g->values[value].producer;
  const clarke_step *s = producer != CLARKE_NONE ? &p->g->steps[producer] : NULL;

  return s != NULL && s->kind == CLARKE_DENSE && s->node == p->s->node ? s : NULL;
}

/* One operand's share of an entry of a sum. */
static void
sum_operand(const pass *p, const clarke_operand *o, size_t e, double *error, double *mass, double *terms)
{
  const size_t f = clarke_operand_entry(o, e / p->n);
  const double coef = fabs(o->coef);
  const clarke_step *product;
  double size, off;

  if (f == CLARKE_NONE)
    return;
  *terms += 1;
  if (p->g->values[o->value].constant) {
    size = fabs(p->g->values[o->value].real[f]);
    off = clarke_roundoff_constant(p->r, size);
  } else {
    size = p->r->size[o->value][f * p->n + e % p->n];
    off = p->r->error[o->value][f * p->n + e % p->n];
    product = product_of(p, o->value);
    if (product != NULL && p->r->passed[o->value] != NULL) { /* one sum of all: it is rounded once a term, not as a product and again */
      size = p->r->mass[o->value][f * p->n + e % p->n];
      off = isfinite(off) ? p->r->passed[o->value][f * p->n + e % p->n] : INFINITY; /* else it may have overflowed */
      *terms += (double)product->dense.inner;
    }
  }
  *error += coef * off;
  *mass += coef * (size + off);
}

static void
sum_errors(const pass *p)
{
  bool signs = true;

  for (size_t k = 0; k < p->s->n_in; k++)
    signs = signs && fabs(p->s->in[k].coef) == 1;
  for (size_t e = 0; e < p->count * p->n; e++) {
    double error = 0, mass = 0, terms = 0;

    for (size_t k = 0; k < p->s->n_in; k++)
      sum_operand(p, &p->s->in[k], e, &error, &mass, &terms);
    if (error > 0 || !signs) /* with signs alone no product underflows: 0 are numbers without an error, as they are moved */
      error = clarke_roundoff_sum(error, 2 * p->s->n_in);
    mass = clarke_roundoff_sum(mass, 3 * p->s->n_in);
    /* where types are mixed, an entry that moves may be cast */
    p->error[e] = signs && terms <= 1 && !p->r->by.casts ? error : error + clarke_roundoff_by(&p->r->by, terms + spare(p->s), mass);
  }
}

static clarke_status
scale_errors(const pass *p, clarke_error *err)
{
  const clarke_operand *o = &p->s->in[0];
  const double roundings = spare(p->s) + (p->r->by.casts ? 4 : 2);
  clarke_matrix column;
  clarke_status status;

  clarke_matrix_init(&column);
  status = clarke_scale_column(&column, p->r->f, p->s, err);
  for (size_t f = 0; f < p->count && status == CLARKE_OK; f++) {
    const double radius = clarke_matrix_radius(&column, f, 0);
    const double c = clarke_roundoff_sum(fabs(clarke_matrix_get_double(&column, f, 0)) + radius, 2);
    const bool cancels = clarke_roundoff_cancels(p->g, p->s, f);
    const bool turns = clarke_roundoff_is_sign(&column, f) && !p->r->by.casts;

    for (size_t j = 0; j < p->n; j++) {
      const size_t from = clarke_operand_entry(o, f) * p->n + j;

      if (turns || cancels)
        p->error[f * p->n + j] = cancels ? INFINITY : p->r->error[o->value][from];
      else
        p->error[f * p->n + j] = clarke_roundoff_sum(c * p->r->error[o->value][from], 2)
                               + clarke_roundoff_by(&p->r->by, roundings, clarke_roundoff_sum(c * top(p, o->value, from), 2));
    }
  }
  clarke_matrix_clear(&column);
  return status;
}

/* Is every piece 0, x or -x, or another number, which a comparison gives unrounded? */
static bool
selects(const clarke_step *s)
{
  const clarke_pieces *p = &s->pieces;

  for (size_t i = 0; i <= p->n_kinks; i++) {
    const bool constant = mpq_sgn(p->coef[i][1]) == 0;
    const bool itself = mpz_cmpabs_ui(mpq_numref(p->coef[i][1]), 1) == 0 && mpz_cmp_ui(mpq_denref(p->coef[i][1]), 1) == 0
                        && mpq_sgn(p->coef[i][0]) == 0;

    if (mpq_sgn(p->coef[i][2]) != 0 || (!constant && !itself))
      return false;
  }
  return p->slope == CLARKE_NONE;
}

/* The sum of |c| |x|^k over the coefficients of all pieces: at least what any formula of theirs adds up. */
static double
formula_mass(const pass *p, size_t f, double x)
{
  const clarke_pieces *q = &p->s->pieces;
  double mass = 0;

  for (size_t i = 0; i <= q->n_kinks; i++)
    for (size_t k = 0; k < 3; k++)
      mass += clarke_up_by(fabs(mpq_get_d(q->coef[i][k])) * pow(x, (double)k), 0x1p12);
  if (q->slope != CLARKE_NONE)
    mass += fabs(p->g->values[q->slope].real[q->slope_map != NULL ? q->slope_map[f] : f]) * x;
  return clarke_roundoff_sum(mass, 12);
}

static clarke_status
piecewise_errors(const pass *p, clarke_error *err)
{
  const size_t x = p->s->in[0].value, step = (size_t)(p->s - p->g->steps);
  const bool exact = selects(p->s);
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; e < p->count * p->n && status == CLARKE_OK; e++) {
    clarke_reach reach = {.selects = exact};
    double mass;

    if (p->r->error[x][e] > 0 || !exact)
      status = clarke_roundoff_reach(&reach, p->r, step, e, err);
    mass = reach.multiplies ? clarke_roundoff_sum(reach.steepest * top(p, x, e), 4) : formula_mass(p, e / p->n, top(p, x, e));
    if (p->r->recorded != NULL && p->r->recorded[x] != NULL && p->r->error[x][e] > 0) /* between the two numbers: any slope */
      reach.steepest = fmax(reach.steepest, clarke_piecewise_steepest(p->s, p->r->steepest[step], top(p, x, e)));
    p->error[e] = p->r->error[x][e] > 0 ? clarke_roundoff_sum(reach.steepest * p->r->error[x][e], 2) : 0;
    if (!reach.selects && !exact)
      p->error[e] += clarke_roundoff_by(&p->r->by, SPARE + 4, mass);
  }
  return status;
}

static void
analytic_errors(const pass *p)
{
  const size_t x = p->s->in[0].value, y = p->s->out;
  const clarke_function function = p->s->function;
  const double steepest = clarke_analytic_steepest(function);
  const bool whole = function == CLARKE_NORMAL || function == CLARKE_NORMAL_TANH || function == CLARKE_ELU
                     || function == CLARKE_SIN || function == CLARKE_COS; /* 1 + erf, 1 + tanh, exp - 1, parts of a turn: of the size of 1 */
  const double threshold = function == CLARKE_SOFTPLUS ? CLARKE_SOFTPLUS_LEFT : 0;

  for (size_t e = 0; e < p->count * p->n; e++) {
    const double off = p->r->error[x][e], size = p->r->size[y][e];
    const double grown = clarke_step_has_domain(p->s)  ? clarke_roundoff_inside(p->r, p->s, e)
                         : function == CLARKE_EXP      ? clarke_up_by(size * expm1(off), 0x1p12)
                                                       : steepest * off;
    const double top = function == CLARKE_EXP || clarke_step_has_domain(p->s) ? size + grown : whole ? fmax(1, size) : size;

    p->error[e] = clarke_roundoff_sum(grown + threshold, 4) + clarke_roundoff_by(&p->r->by, FUNCTION, top);
  }
}

/* Each exponential is off by a factor of exp(shift) at most, and so is their sum. */
static double
softmax_error(const pass *p, const clarke_rounding_line *l, size_t e)
{
  const clarke_step *s = p->s;
  const size_t x = s->in[0].value;
  const bool far = clarke_roundoff_is_far(l, p->r, x, e);
  const double n = (double)s->length + 2 * FUNCTION, y = p->r->size[s->out][e], shift = l->error + l->lost + clarke_roundoff_by(&p->r->by, 2, 2 * l->size);
  double own = shift;

  if (far && !s->log)
    return clarke_roundoff_far(p->r) + clarke_roundoff_by(&p->r->by, n, y + clarke_roundoff_far(p->r));
  if (far)
    own = shift + p->r->error[x][e] + clarke_roundoff_by(&p->r->by, 2, 2 * top(p, x, e));
  if (s->log)
    return clarke_roundoff_sum(own + shift, 2) + clarke_roundoff_by(&p->r->by, n, 1 + y + own);
  return clarke_roundoff_sum(clarke_up_by(y * expm1(2 * shift), 0x1p12), 4)
         + clarke_roundoff_by(&p->r->by, n, clarke_up_by(y * exp(2 * shift), 0x1p12));
}

static void
softmax_errors(const pass *p)
{
  const clarke_step *s = p->s;

  for (size_t f = 0; f < p->count; f++)
    for (size_t j = 0; j < p->n; j++) {
      const size_t first = f / (s->length * s->stride) * s->length * s->stride + f % s->stride;
      clarke_rounding_line l;

      clarke_roundoff_line(&l, p->r, s->in[0].value, first * p->n + j, s->stride * p->n, s->length);
      p->error[f * p->n + j] = softmax_error(p, &l, f * p->n + j);
    }
}

static void
max_errors(const pass *p)
{
  const clarke_operand *o = &p->s->in[0];

  for (size_t e = 0; e < p->count * p->n; e++) {
    double most = 0;

    for (size_t i = 0; i < p->s->width; i++) {
      const size_t from = o->map[e / p->n * p->s->width + i];

      if (from != CLARKE_NONE)
        most = fmax(most, p->r->error[o->value][from * p->n + e % p->n]);
    }
    p->error[e] = most;
  }
}

static clarke_status
normalize_errors(const pass *p, clarke_error *err)
{
  double *wide = malloc((p->count * p->n + 1) * sizeof *wide);

  if (wide == NULL)
    return clarke_no_memory(err);
  p->r->wide[p->s->out] = wide;
  return clarke_roundoff_normalize(p->error, wide, p->r, p->s) ? CLARKE_OK : clarke_no_memory(err);
}

/* The recorded numbers of a value, within the bound, are what comes after goes on from. */
static void
compare_recorded(clarke_roundoff *r, size_t v)
{
  const clarke_matrix *m = &r->f->value[v];
  mpq_t exact, rec;

  if (r->recorded == NULL || r->recorded[v] == NULL)
    return;
  mpq_inits(exact, rec, NULL);
  for (size_t e = 0; e < m->rows * m->cols; e++) {
    const double radius = clarke_matrix_radius(m, e / m->cols, e % m->cols);
    double apart;

    clarke_matrix_get(exact, m, e / m->cols, e % m->cols);
    mpq_set_d(rec, r->recorded[v][e]);
    mpq_sub(rec, rec, exact);
    apart = fabs(mpq_get_d(rec));
    if (clarke_down_by(apart, 4) > clarke_roundoff_sum(r->error[v][e] + radius, 2)) {
      if (r->offender == CLARKE_NONE) {
        r->offender = v;
        r->offender_entry = e;
      }
      continue;
    }
    r->checked++;
    r->error[v][e] = mpq_sgn(rec) == 0 && radius == 0 ? 0 : clarke_roundoff_sum(apart + radius, 4);
  }
  mpq_clears(exact, rec, NULL);
}

/* |a| q + p |c| + p q, p and q being the errors of the factors, and what a sum of so many products rounds. */
static void
product_errors(const pass *p)
{
  const clarke_step *s = p->s;
  const size_t n = s->contraction.inner;
  const double narrow = clarke_roundoff_narrow(&p->r->by, s);

  for (size_t e = 0; e < p->count * p->n; e++) {
    double error = 0, mass = 0;

    for (size_t k = 0; k < n; k++) {
      const size_t x = s->in[0].value, a = clarke_step_factor(s, 0, e / p->n, k) * p->n + e % p->n;
      const size_t z = s->in[1].value, c = clarke_step_factor(s, 1, e / p->n, k) * p->n + e % p->n;

      error += p->r->size[x][a] * p->r->error[z][c] + p->r->error[x][a] * top(p, z, c);
      mass += top(p, x, a) * top(p, z, c);
    }
    error += narrow > 0 ? narrow * mass : 0;
    mass *= 1 + narrow;
    p->error[e] = clarke_roundoff_sum(error, 4 * n + 4)
                  + clarke_roundoff_by(&p->r->by, (double)n + SPARE, clarke_roundoff_sum(mass, 2 * n + 2));
  }
}

static clarke_status
step_errors(const pass *p, clarke_error *err)
{
  switch (p->s->kind) {
  case CLARKE_GATHER:
  case CLARKE_SUM:
    sum_errors(p);
    return CLARKE_OK;
  case CLARKE_SCALE:
    return scale_errors(p, err);
  case CLARKE_DENSE:
    return dense_errors(p, err);
  case CLARKE_PIECEWISE:
    return piecewise_errors(p, err);
  case CLARKE_ANALYTIC:
    analytic_errors(p);
    return CLARKE_OK;
  case CLARKE_SOFTMAX:
    softmax_errors(p);
    return CLARKE_OK;
  case CLARKE_NORMALIZE:
    return normalize_errors(p, err);
  case CLARKE_MAX:
    max_errors(p);
    return CLARKE_OK;
  case CLARKE_PRODUCT:
    product_errors(p);
  }
  return CLARKE_OK;
}

/* Numbers past the type's largest were infinite when they were computed: nothing can be said. */
static void
mark_overflow(clarke_roundoff *r, size_t v, size_t n)
{
  for (size_t e = 0; e < n; e++)
    if (!(r->size[v][e] + r->error[v][e] <= r->by.largest))
      r->error[v][e] = INFINITY;
}

clarke_status
clarke_roundoff_begin(clarke_roundoff *r, clarke_error *err)
{
  const clarke_graph *g = r->f->g;
  const clarke_matrix *x = &r->f->value[g->input];

  r->size = calloc(g->n_values + 1, sizeof *r->size);
  r->error = calloc(g->n_values + 1, sizeof *r->error);
  r->steepest = calloc(g->n_steps + 1, sizeof *r->steepest);
  r->wide = calloc(g->n_values + 1, sizeof *r->wide);
  r->mass = calloc(g->n_values + 1, sizeof *r->mass);
  r->passed = calloc(g->n_values + 1, sizeof *r->passed);
  if (r->size == NULL || r->error == NULL || r->steepest == NULL || r->wide == NULL || r->mass == NULL || r->passed == NULL)
    return clarke_no_memory(err);
  r->size[g->input] = clarke_roundoff_sizes(x);
  r->error[g->input] = calloc(x->rows * x->cols + 1, sizeof **r->error);
  if (r->size[g->input] == NULL || r->error[g->input] == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < x->rows * x->cols; e++)
    r->error[g->input][e] = clarke_roundoff_constant(r, r->size[g->input][e]);
  return CLARKE_OK;
}

clarke_status
clarke_roundoff_step(clarke_roundoff *r, size_t i, clarke_error *err)
{
  const clarke_graph *g = r->f->g;
  const clarke_step *s = &g->steps[i];
  const clarke_matrix *m = &r->f->value[s->out];
  clarke_status status;

  r->size[s->out] = clarke_roundoff_sizes(m);
  r->error[s->out] = calloc(m->rows * m->cols + 1, sizeof **r->error);
  if (r->size[s->out] == NULL || r->error[s->out] == NULL)
    return clarke_no_memory(err);
  if (s->kind == CLARKE_PIECEWISE)
    r->steepest[i] = clarke_piecewise_lipschitz(g, s);
  const pass p = {r, g, s, r->f->n, g->values[s->out].count, r->error[s->out]};
  status = step_errors(&p, err);
  for (size_t e = 0; e < p.count * p.n && status == CLARKE_OK; e++)
    p.error[e] = clarke_roundoff_lift(&r->by, p.error[e]);
  if (status == CLARKE_OK)
    mark_overflow(r, s->out, p.count * p.n);
  return status;
}

clarke_status
clarke_roundoff_forward(clarke_roundoff *r, clarke_error *err)
{
  const clarke_graph *g = r->f->g;
  clarke_status status = clarke_roundoff_begin(r, err);

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    if (r->f->value[g->steps[i].out].rows == 0)
      continue;
    status = clarke_roundoff_step(r, i, err);
    if (status == CLARKE_OK)
      compare_recorded(r, g->steps[i].out);
  }
  return status;
}
