/* Normalizations of the gradient in fixed point (docs/gradient.md). Names are those of normalize.c. */
#include "network/derive/gradient/back_fixed.h"

#include <stdlib.h>
#include <string.h>

/* |y| is less than 2^32, the root of a group's size: bits above its unit's limbs. */
#define NORMALIZED_TOP 40
/* Bits of MPFR's numbers beyond the limbs'. */
#define MORE_BITS 64

/* A NORMALIZE step's group at work: of a column, `width` samples. */
typedef struct {
  clarke_gradient_pass *p;
  const clarke_step *s;
  size_t group, column, width, limbs;
  double m;
} normalizing;

static normalizing
normalizing_of(clarke_gradient_pass *p, const clarke_step *s, size_t group, size_t column)
{
  return (normalizing){p, s, group, column, s->grouping.couples ? p->n : 1, p->plan->limbs,
                       (double)clarke_step_group_size(s, p->n)};
}

/* Calls `go` for each entry of the group; false where one call is. */
static bool
each_entry(const normalizing *q, bool (*go)(const normalizing *, size_t e, void *), void *context)
{
  for (size_t b = 0; b < q->s->grouping.blocks; b++)
    for (size_t i = 0; i < q->s->grouping.length; i++) {
      const size_t at = clarke_group_row(q->s, b, q->group, i) * q->p->n + q->column * q->width;

      for (size_t e = at; e < at + q->width; e++)
        if (!go(q, e, context))
          return false;
    }
  return true;
}

/* --- forward --------------------------------------------------------------------------------- */

typedef struct {
  mp_limb_t mean[CLARKE_FIXED_LIMBS], squares[2 * CLARKE_FIXED_LIMBS + 1];
  clarke_fixed_factor factor;
} moments;

static mp_limb_t *
operand_at(const normalizing *q, size_t e)
{
  return clarke_fixed_at(&q->p->value[q->s->in[0].value].fixed, e);
}

static bool
add_up(const normalizing *q, size_t e, void *context)
{
  moments *to = context;

  return clarke_fixed_add(to->mean, operand_at(q, e), q->limbs, false);
}

/* x becomes c, and squares their sum, without error. */
static bool
centre(const normalizing *q, size_t e, void *context)
{
  moments *to = context;
  mp_limb_t *c = operand_at(q, e), size[CLARKE_FIXED_LIMBS], square[2 * CLARKE_FIXED_LIMBS + 1] = {0};

  if (!clarke_fixed_add(c, to->mean, q->limbs, true))
    return false;
  clarke_fixed_size(size, c, q->limbs);
  mpn_sqr(square, size, (mp_size_t)q->limbs);
  return mpn_add_n(to->squares, to->squares, square, (mp_size_t)(2 * q->limbs + 1)) == 0;
}

static bool
divide(const normalizing *q, size_t e, void *context)
{
  const clarke_fixed *x = &q->p->value[q->s->in[0].value].fixed, *y = &q->p->value[q->s->out].fixed;
  const moments *of = context;

  return clarke_fixed_add_multiple(clarke_fixed_at(y, e), clarke_fixed_at(x, e), q->limbs, &of->factor,
                                   (long)y->unit - x->unit - of->factor.unit, false);
}

/* d and 1 / d from the squares: each operation is off by a part of less than 2^-(64 limbs). */
static void
find_root(moments *of, double *d, const normalizing *q)
{
  const mpfr_prec_t precision = (mpfr_prec_t)q->limbs * CLARKE_FIXED_LIMB + MORE_BITS;
  const int unit = q->p->value[q->s->in[0].value].fixed.unit;
  mpfr_t v, factor;
  mpz_t sum;

  mpz_init(sum);
  mpfr_init2(v, precision);
  mpfr_init2(factor, precision);
  mpz_import(sum, 2 * q->limbs + 1, -1, sizeof *of->squares, 0, 0, of->squares);
  mpfr_set_z_2exp(v, sum, 2 * (mpfr_exp_t)unit, MPFR_RNDN);
  mpfr_div_ui(v, v, (unsigned long)q->m, MPFR_RNDN);
  mpfr_add_q(v, v, q->s->epsilon, MPFR_RNDN);
  mpfr_rec_sqrt(factor, v, MPFR_RNDN);
  clarke_fixed_factor_of(&of->factor, factor, q->limbs);
  mpfr_sqrt(v, v, MPFR_RNDN);
  *d = mpfr_get_d(v, MPFR_RNDN);
  mpfr_clear(v);
  mpfr_clear(factor);
  mpz_clear(sum);
}

/* A unit is lost of the mean, so d is off by no more, and y by two of them over d, by the factor's part of it, and by its own unit.
 * The norm of what is lost of the group's y; *relative grows to by how much of itself 1 / d is off. */
static double
bound_group(clarke_normalized *to, double *relative, const normalizing *q, double d)
{
  const clarke_normed *x = &q->p->value[q->s->in[0].value], *y = &q->p->value[q->s->out];
  const double root = sqrt(q->m), off = ldexp(1, x->fixed.unit), e = x->error[q->p->lanes == 1 ? 0 : q->column];
  const double epsilon = clarke_down_by(sqrt(mpq_get_d(q->s->epsilon)), 0x1p12), low = clarke_down_by(d, 0x1p12) - off;
  const double least = fmax(low - e / root, epsilon), least_here = fmax(low, epsilon);

  to->steepest = fmax(to->steepest, clarke_bound_up(1 / least));
  *relative = fmax(*relative, clarke_bound_up((e / root + off) / least_here + clarke_fixed_part(q->limbs)));
  return clarke_bound_up(root * (2 * off / least_here + clarke_fixed_part(q->limbs) + ldexp(1, y->fixed.unit)));
}

static clarke_status
forward_room(clarke_gradient_pass *p, const clarke_step *s)
{
  const size_t rows = p->g->values[s->out].count, limbs = p->plan->limbs;
  clarke_normalized *to = &p->normalized[s - p->g->steps];
  clarke_normed *y = &p->value[s->out];
  clarke_status status = clarke_normed_make(y, rows, p->n, true, p->err);

  to->fixed = calloc(s->grouping.groups * (s->grouping.couples ? 1 : p->n) + 1, sizeof *to->fixed);
  if (status == CLARKE_OK)
    status = clarke_normed_fix(y, rows, p->n, limbs, NORMALIZED_TOP - (int)limbs * CLARKE_FIXED_LIMB, p->err);
  return to->fixed != NULL ? status : clarke_no_memory(p->err);
}

clarke_status
clarke_normalized_forward_fixed(clarke_gradient_pass *p, const clarke_step *s)
{
  const size_t columns = s->grouping.couples ? 1 : p->n;
  clarke_normalized *to = &p->normalized[s - p->g->steps];
  clarke_normed *y = &p->value[s->out];
  double relative = 0;
  clarke_status status = forward_room(p, s);

  for (size_t c = 0; c < columns && status == CLARKE_OK && !p->lost; c++)
    for (size_t g = 0; g < s->grouping.groups && !p->lost; g++) {
      const normalizing q = normalizing_of(p, s, g, c);
      moments of = {.squares = {0}};
      double d = 0, rounded;

      p->lost = !each_entry(&q, add_up, &of);
      clarke_fixed_divide(of.mean, q.limbs, (size_t)q.m);
      p->lost = p->lost || !each_entry(&q, centre, &of);
      if (p->lost)
        break;
      find_root(&of, &d, &q);
      to->fixed[g * columns + c] = of.factor;
      p->lost = !each_entry(&q, divide, &of);
      rounded = bound_group(to, &relative, &q, d);
      y->error[p->lanes == 1 ? 0 : c] += rounded * rounded;
    }
  if (status == CLARKE_OK && !p->lost)
    clarke_normalized_settle(p, s, relative);
  return status;
}

/* --- back ------------------------------------------------------------------------------------ */

typedef struct {
  mp_limb_t mean[CLARKE_FIXED_LIMBS], product[CLARKE_FIXED_LIMBS]; /* of g, of g y */
  clarke_fixed_factor by_product;
  const clarke_fixed_factor *factor;
} slopes;

static bool
add_slopes(const normalizing *q, size_t e, void *context)
{
  const clarke_fixed *y = &q->p->value[q->s->out].fixed;
  const mp_limb_t *g = clarke_fixed_at(&q->p->grad[q->s->out].fixed, e);
  slopes *to = context;
  clarke_fixed_factor by;

  clarke_fixed_factor_of_entry(&by, clarke_fixed_at(y, e), q->limbs, y->unit);
  return clarke_fixed_add(to->mean, g, q->limbs, false) &&
         clarke_fixed_add_multiple(to->product, g, q->limbs, &by, -(long)y->unit, false);
}

/* (g - mean g - y mean (g y)) / d, all in the gradients' unit */
static bool
turn_back(const normalizing *q, size_t e, void *context)
{
  const clarke_fixed *y = &q->p->value[q->s->out].fixed;
  const slopes *of = context;
  mp_limb_t rest[CLARKE_FIXED_LIMBS];

  memcpy(rest, clarke_fixed_at(&q->p->grad[q->s->out].fixed, e), q->limbs * sizeof *rest);
  return clarke_fixed_add(rest, of->mean, q->limbs, true) &&
         clarke_fixed_add_multiple(rest, clarke_fixed_at(y, e), q->limbs, &of->by_product, -(long)y->unit, true) &&
         clarke_fixed_add_multiple(clarke_fixed_at(&q->p->grad[q->s->in[0].value].fixed, e), rest, q->limbs, of->factor,
                                   -(long)of->factor->unit, false);
}

/* A product is off by a unit, a mean of such by two; so is what is in brackets by 2 |y| + 2 units, y's entries of a group having a
 * norm of sqrt(m), or less than twice that: by 6 in the mean over entries. That is divided by d, and loses one unit more. */
clarke_status
clarke_normalized_back_fixed(clarke_gradient_pass *p, const clarke_step *s)
{
  const size_t columns = s->grouping.couples ? 1 : p->n;
  const clarke_normalized *of = &p->normalized[s - p->g->steps];
  const double steepest = of->steepest;
  clarke_status status = clarke_note_operand_fixed(p, s, steepest, of->turned + 8 * clarke_fixed_part(p->plan->limbs) * steepest,
                                                   6 * steepest + 1);

  for (size_t c = 0; c < columns && status == CLARKE_OK && !p->lost; c++)
    for (size_t g = 0; g < s->grouping.groups && !p->lost; g++) {
      const normalizing q = normalizing_of(p, s, g, c);
      slopes back = {.factor = &of->fixed[g * columns + c]};

      p->lost = !each_entry(&q, add_slopes, &back);
      clarke_fixed_divide(back.mean, q.limbs, (size_t)q.m);
      clarke_fixed_divide(back.product, q.limbs, (size_t)q.m);
      clarke_fixed_factor_of_entry(&back.by_product, back.product, q.limbs, p->plan->unit);
      back.by_product.unit = 0; /* p's digits: y p has g's unit where y's is taken off */
      p->lost = p->lost || !each_entry(&q, turn_back, &back);
    }
  return status;
}
