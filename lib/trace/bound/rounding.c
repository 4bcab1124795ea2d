/* Roundings of a type, sizes of exact numbers, and the branches that rounding may take (rounding.h). */
#include "trace/bound/rounding.h"

#include "network/pass/piecewise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
clarke_rounding_add_type(clarke_rounding *r, const char *name)
{
  static const struct {
    const char *name;
    double unit, tiny, largest;
  } type[] = {{"float16", 0x1p-11, 0x1p-24, 65504},
              {"bfloat16", 0x1p-8, 0x1p-126, 0x1.fep127},
              {"tf32", 0x1p-11, 0x1p-126, 0x1.fffffep127}, /* what products keep of float32 numbers */
              {"float32", 0x1p-24, 0x1p-126, 0x1.fffffep127},
              {"float64", 0x1p-53, 0x1p-1022, 0x1.fffffffffffffp1023}};

  for (size_t i = 0; i < sizeof type / sizeof *type; i++) {
    if (strcmp(name, type[i].name) != 0)
      continue;
    r->casts = r->casts || (r->unit > 0 && r->unit != type[i].unit);
    r->unit = fmax(r->unit, type[i].unit);
    r->tiny = fmax(r->tiny, type[i].tiny);
    r->largest = r->largest > 0 ? fmin(r->largest, type[i].largest) : type[i].largest;
    return true;
  }
  return false;
}

/* Far below all numbers of the types that have few enough bits for n u to reach 1/2, and above what sums of nothing are told to be. (Of
 * float64 that is n = 2^52.) */
#define NOTHING 0x1p-900

/* n u / (1 - n u) bounds the product of n factors 1 + d, less 1 (Higham, Accuracy and Stability, Lemma 3.1). */
double
clarke_roundoff_by(const clarke_rounding *r, double n, double mass)
{
  const double nu = n * r->unit;

  if (nu >= 0.5 && !(mass < NOTHING))
    return INFINITY;
  if (nu >= 0.5) /* each of these is rounded to zero, or is zero */
    return clarke_roundoff_sum(2 * n * mass, 8);
  if (!(mass <= r->largest)) /* some order of summation may overflow */
    return INFINITY;
  return clarke_roundoff_sum(nu / (1 - nu) * mass + n * fmin(r->tiny, 2 * mass), 8); /* what underflows is off by itself at most */
}

void
clarke_roundoff_init(clarke_roundoff *r)
{
  memset(r, 0, sizeof *r);
  r->offender = CLARKE_NONE;
}

void
clarke_roundoff_clear(clarke_roundoff *r)
{
  for (size_t v = 0; r->f != NULL && v < r->f->g->n_values; v++) {
    if (r->size != NULL)
      free(r->size[v]);
    if (r->error != NULL)
      free(r->error[v]);
    if (r->wide != NULL)
      free(r->wide[v]);
    if (r->mass != NULL)
      free(r->mass[v]);
    if (r->passed != NULL)
      free(r->passed[v]);
  }
  free(r->size);
  free(r->error);
  free(r->steepest);
  free(r->wide);
  free(r->mass);
  free(r->passed);
  r->steepest = NULL;
  r->mass = r->passed = NULL;
  r->wide = NULL;
  r->size = r->error = NULL;
}

bool
clarke_roundoff_convolves(const char *op)
{
  return strcmp(op, "Conv") == 0 || strcmp(op, "ConvTranspose") == 0;
}

bool
clarke_roundoff_contracts(const char *op)
{
  static const char *const products[] = {"Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"};

  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    if (strcmp(op, products[i]) == 0)
      return true;
  return false;
}

double
clarke_roundoff_narrow(const clarke_rounding *r, const clarke_step *s)
{
  const double f = clarke_roundoff_convolves(s->op->name) ? r->conv : clarke_roundoff_contracts(s->op->name) ? r->matmul : 0;

  return clarke_up_by(f * (2 + f), 4);
}

bool
clarke_roundoff_cancels(const clarke_graph *g, const clarke_step *s, size_t f)
{
  const clarke_value *c = &g->values[s->in[s->n_in - 1].value];
  const size_t e = clarke_operand_entry(&s->in[s->n_in - 1], f);

  return s->kind == CLARKE_SCALE && s->root && e != CLARKE_NONE && c->real != NULL && c->real[e] < 0;
}

bool
clarke_roundoff_is_sign(const clarke_matrix *column, size_t f)
{
  bool sign;
  mpq_t c;

  mpq_init(c);
  clarke_matrix_get(c, column, f, 0);
  sign = clarke_matrix_radius(column, f, 0) == 0 && mpz_cmpabs_ui(mpq_numref(c), 1) == 0 && mpz_cmp_ui(mpq_denref(c), 1) == 0;
  mpq_clear(c);
  return sign;
}

double *
clarke_roundoff_sizes(const clarke_matrix *m)
{
  double *size = malloc((m->rows * m->cols + 1) * sizeof *size);

  for (size_t i = 0, e = 0; size != NULL && i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++, e++) {
      const double near = clarke_matrix_get_double(m, i, j), radius = m->radius == NULL ? 0 : m->radius[e];
      const bool zero = near == 0 && radius == 0 && clarke_matrix_entry_is_zero(m, i, j);

      size[e] = zero ? 0 : clarke_roundoff_sum(fabs(near) + radius, 2);
    }
  return size;
}

/* --- branches --- */

typedef struct {
  clarke_roundoff *r;
  const clarke_step *s;
  size_t feature, column;
  mpq_t own;              /* AD's slope, enclosed within `off` */
  double off;
  mpq_t low, high;        /* where the computed argument is */
  size_t met;             /* branches: pieces that join without a kink are one; and kinks */
  clarke_reach *reach;
} look;

static void
meet(look *l, const mpq_t slope)
{
  mpq_t apart;

  mpq_init(apart);
  l->reach->selects = l->reach->selects && mpz_cmpabs_ui(mpq_numref(slope), 1) <= 0 && mpz_cmp_ui(mpq_denref(slope), 1) == 0;
  mpq_sub(apart, slope, l->own);
  l->reach->steepest = fmax(l->reach->steepest, clarke_roundoff_sum(fabs(mpq_get_d(slope)), 2));
  if (mpq_sgn(apart) != 0 || l->off > 0)
    l->reach->apart = fmax(l->reach->apart, clarke_roundoff_sum(fabs(mpq_get_d(apart)) + l->off, 4));
  mpq_clear(apart);
}

/* The slopes of a piece at both ends of what is met of it: it is linear between them. Where it joins the one before, of which something
 * is met, too, AD's slope goes on without a step: no branch was turned there, and the slopes' difference is in `apart`. */
static void
meet_piece(look *l, size_t piece, const mpq_t from, const mpq_t to)
{
  const clarke_graph *g = l->r->f->g;
  mpq_t slope;

  mpq_init(slope);
  clarke_piecewise_slope(slope, g, l->s, l->feature, piece, from);
  meet(l, slope);
  clarke_piecewise_slope(slope, g, l->s, l->feature, piece, to);
  meet(l, slope);
  l->met += !(piece > 0 && mpq_cmp(l->low, l->s->pieces.kink[piece - 1]) < 0 && clarke_pieces_joined(&l->s->pieces, piece - 1));
  mpq_clear(slope);
}

/* A kink that the argument may be at: the profile's number. Where the slopes agree both sides have told it. */
static clarke_status
meet_kink(look *l, size_t k, clarke_error *err)
{
  const clarke_touch t = {.step = (size_t)(l->s - l->r->f->g->steps), .feature = l->feature, .kink = k};
  clarke_status status;
  mpq_t slope;

  if (clarke_pieces_joined(&l->s->pieces, k))
    return CLARKE_OK;
  mpq_init(slope);
  status = clarke_touch_proxy(slope, l->r->f->g, &t, l->r->profile, err);
  if (status == CLARKE_OK)
    meet(l, slope);
  l->met++;
  mpq_clear(slope);
  return status;
}

static clarke_status
meet_all(look *l, clarke_error *err)
{
  const clarke_pieces *p = &l->s->pieces;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i <= p->n_kinks && status == CLARKE_OK; i++) {
    const bool after = i == 0 || mpq_cmp(l->high, p->kink[i - 1]) > 0;
    const bool before = i == p->n_kinks || mpq_cmp(l->low, p->kink[i]) < 0;

    if (after && before)
      meet_piece(l, i, i > 0 && mpq_cmp(l->low, p->kink[i - 1]) < 0 ? p->kink[i - 1] : l->low,
                 i < p->n_kinks && mpq_cmp(l->high, p->kink[i]) > 0 ? p->kink[i] : l->high);
    if (i < p->n_kinks && mpq_cmp(l->low, p->kink[i]) <= 0 && mpq_cmp(l->high, p->kink[i]) >= 0)
      status = meet_kink(l, i, err);
  }
  return status;
}

/* Between what ends does the computed argument lie? Where it was recorded, at one number. */
static void
find_ends(look *l, size_t entry)
{
  const size_t x = l->s->in[0].value;
  double off;
  mpq_t error;

  if (l->r->recorded != NULL && l->r->recorded[x] != NULL) {
    const double at = l->r->recorded[x][entry];

    mpq_set_d(l->low, fabs(at) < l->r->by.tiny ? fmin(at, 0) : at); /* a subnormal may be read as zero */
    mpq_set_d(l->high, fabs(at) < l->r->by.tiny ? fmax(at, 0) : at);
    return;
  }
  mpq_init(error);
  off = l->r->error[x][entry] + clarke_matrix_radius(&l->r->f->value[x], l->feature, l->column);
  mpq_set_d(error, off > 0 ? clarke_roundoff_sum(off, 2) : 0); /* what is exact is at one number, be that a kink */
  clarke_matrix_get(l->low, &l->r->f->value[x], l->feature, l->column);
  mpq_add(l->high, l->low, error);
  mpq_sub(l->low, l->low, error);
  mpq_clear(error);
}

/* Is each piece a number, or a multiple of x by at most 1? */
static bool
multiplies(const clarke_pieces *p)
{
  bool plain = p->slope == CLARKE_NONE;

  for (size_t i = 0; i <= p->n_kinks; i++)
    plain = plain && mpq_sgn(p->coef[i][2]) == 0 && (mpq_sgn(p->coef[i][0]) == 0 || mpq_sgn(p->coef[i][1]) == 0)
            && mpz_cmpabs(mpq_numref(p->coef[i][1]), mpq_denref(p->coef[i][1])) <= 0;
  return plain;
}

/* --- the same where doubles suffice --- */

/* A small integer, exactly. False: it is none. */
static bool
small_integer(double *value, mpq_srcptr q)
{
  const bool is = mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_cmpabs_ui(mpq_numref(q), 1UL << 31) < 0;

  *value = is ? (double)mpz_get_si(mpq_numref(q)) : 0;
  return is;
}

/* Is AD's slope there 0, or that of the piece, exactly? Before slopes are made it is taken for 0. */
static bool
own_slope(double *own, const clarke_matrix *m, size_t i, size_t j, mpq_srcptr of_piece, double met)
{
  const bool none = m == NULL || clarke_matrix_entry_is_zero(m, i, j);

  *own = none ? 0 : met;
  if (m != NULL && !none && m->limbs == 1 && m->exp == 0 && mpz_cmp_ui(m->den, 1) == 0) /* integers, as slopes of lines are: both are small */
    return clarke_matrix_radius(m, i, j) == 0 && (int64_t)m->word[i * m->cols + j] == (int64_t)met;
  return m == NULL || (clarke_matrix_radius(m, i, j) == 0 && (none || clarke_matrix_compare(m, i, j, of_piece) == 0));
}

/* The piece of a step made of lines in which the computed argument is, far from its kinks. False: doubles do not tell. */
static bool
find_piece(size_t *piece, const look *l, size_t entry)
{
  const size_t x = l->s->in[0].value;
  const double *recorded = l->r->recorded != NULL ? l->r->recorded[x] : NULL;
  const double at = recorded != NULL ? recorded[entry] : clarke_matrix_get_double(&l->r->f->value[x], l->feature, l->column);
  const double off = recorded != NULL ? 0 : l->r->error[x][entry] + clarke_matrix_radius(&l->r->f->value[x], l->feature, l->column);
  const clarke_pieces *p = &l->s->pieces;

  *piece = 0;
  if (p->slope != CLARKE_NONE || (recorded != NULL && fabs(at) < l->r->by.tiny))
    return false;
  for (size_t k = 0; k < p->n_kinks; k++) {
    const double kink = mpq_get_d(p->kink[k]), wide = clarke_roundoff_sum(off + clarke_taken(4, fabs(at) + fabs(kink)), 8) + CLARKE_TINY;

    if (!(fabs(at - kink) > wide))
      return false;
    *piece += at > kink;
  }
  return mpq_sgn(p->coef[*piece][2]) == 0;
}

/* One piece is met, whose slope and AD's are small integers: what meet_piece finds, number for number. */
static bool
reach_plainly(clarke_reach *reach, const look *l, const clarke_matrix *slope, size_t entry)
{
  double own, met;
  size_t piece;

  if (!find_piece(&piece, l, entry) || !small_integer(&met, l->s->pieces.coef[piece][1])
     || !own_slope(&own, slope, l->feature, l->column, l->s->pieces.coef[piece][1], met))
    return false;
  reach->selects = reach->selects && fabs(met) <= 1;
  reach->steepest = fmax(clarke_roundoff_sum(fabs(own), 2), clarke_roundoff_sum(fabs(met), 2));
  reach->apart = met != own ? clarke_roundoff_sum(fabs(met - own), 4) : 0;
  return true;
}

clarke_status
clarke_roundoff_reach(clarke_reach *reach, clarke_roundoff *r, size_t step, size_t entry, clarke_error *err)
{
  const clarke_step *s = &r->f->g->steps[step];
  const clarke_matrix *slope = r->slopes->slope != NULL ? &r->slopes->slope[step] : NULL; /* not before the pass is made */
  look l = {.r = r, .s = s, .feature = entry / r->f->n, .column = entry % r->f->n, .reach = reach};
  clarke_status status;

  *reach = (clarke_reach){.multiplies = multiplies(&s->pieces), .selects = multiplies(&s->pieces)};
  if (!isfinite(r->error[s->in[0].value][entry])) {
    *reach = (clarke_reach){.steepest = INFINITY, .apart = INFINITY, .open = true};
    return CLARKE_OK;
  }
  if (reach_plainly(reach, &l, slope, entry))
    return CLARKE_OK;
  mpq_inits(l.own, l.low, l.high, NULL);
  if (slope != NULL) {
    clarke_matrix_get(l.own, slope, l.feature, l.column);
    l.off = clarke_matrix_radius(slope, l.feature, l.column);
  }
  find_ends(&l, entry);
  reach->steepest = clarke_roundoff_sum(fabs(mpq_get_d(l.own)) + l.off, 2);
  status = meet_all(&l, err);
  reach->open = l.met > 1 && reach->apart > 0;
  mpq_clears(l.own, l.low, l.high, NULL);
  return status;
}

/* --- windows --- */

bool
clarke_roundoff_may_win(const clarke_roundoff *r, size_t value, size_t best, size_t other, size_t j)
{
  const clarke_matrix *m = &r->f->value[value];
  const size_t n = r->f->n;
  const double gap = clarke_matrix_get_double(m, best, j) - clarke_matrix_get_double(m, other, j);
  const double off = r->error[value][best * n + j] + r->error[value][other * n + j];
  const double radius = clarke_matrix_radius(m, best, j) + clarke_matrix_radius(m, other, j)
                        + clarke_taken(4, r->size[value][best * n + j] + r->size[value][other * n + j]);

  return off > 0 && gap <= off + radius;
}

size_t
clarke_roundoff_winner(const clarke_roundoff *r, const clarke_step *s, size_t entry)
{
  const clarke_operand *o = &s->in[0];
  const double *x = r->recorded[o->value];
  size_t best = CLARKE_NONE;

  for (size_t i = 0; i < s->width; i++) {
    const size_t f = o->map[entry / r->f->n * s->width + i];

    if (f != CLARKE_NONE && (best == CLARKE_NONE || x[f * r->f->n + entry % r->f->n] > x[best * r->f->n + entry % r->f->n]))
      best = f;
  }
  return best;
}

void
clarke_roundoff_reroute(clarke_roundoff *r)
{
  const clarke_graph *g = r->f->g;

  for (size_t i = 0; r->recorded != NULL && i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t x = s->in[0].value;

    if (s->kind != CLARKE_MAX || r->recorded[x] == NULL)
      continue;
    for (size_t e = 0; e < g->values[s->out].count * r->f->n; e++) {
      const size_t winner = clarke_roundoff_winner(r, s, e);
      size_t *own = &r->slopes->route[i].from[0][e];

      /* not touched, so what is as large as the winner is identical with it */
      if (r->f->piece[i][e] >= 0 && *own != winner && *own != CLARKE_NONE
          && clarke_matrix_compare_entries(&r->f->value[x], *own, winner, e % r->f->n) == 0)
        *own = winner;
    }
  }
}
