/* Functions that are no polynomials: by their series, by pairs, or by Arb's balls; and the softmax of groups. */
#include "network/pass/pairs/pairs.h"

#include "network/pass/analytic.h"
#include "network/pass/exponential.h"
#include "network/pass/series.h"

#include <math.h>
#include <stdlib.h>

/* Bits of Arb's balls. */
#define PRECISION 128

/* A number, and what it is off by. */
typedef struct {
  clarke_pair at;
  double off;
} enclosed;

static const enclosed unknown = {{NAN, NAN}, INFINITY};

/* At most |x|, whatever it is within `off`; not above 0 where that may be 0. */
static double
least_of(clarke_pair x, double off)
{
  return clarke_down_by(clarke_down_by(fabs(x.high), 4) - off, 4);
}

/* 1 / x: off by four units of pairs, and by off / (|x| least). */
static enclosed
reciprocal(clarke_pair x, double off)
{
  const double least = least_of(x, off);
  clarke_pair y;

  if (!(least > 0x1p-400) || !(fabs(x.high) < 0x1p400))
    return unknown;
  y = clarke_pair_reciprocal(x);
  return (enclosed){y, clarke_up_by(fabs(y.high) * (off / least + 8 * CLARKE_PAIR_UNIT), 16)};
}

/* s + (x - s^2) / (2 s) for the double s next to the root of x's first part: the square of the second term over 2 s is left out, at most u^2 of
 * the root; the second term is rounded five times, each by u of itself, as it is at most 2 u of the root; and the root of what x may be is
 * off by no more than off / s beside that. */
static enclosed
root(clarke_pair x, double off)
{
  const double s = sqrt(x.high), left = fma(-s, s, x.high);

  if (!(x.high > 0x1p-400) || !(x.high < 0x1p400) || !(least_of(x, off) > 0))
    return unknown;
  return (enclosed){clarke_two_sum(s, (left + x.low) / (2 * s)), clarke_up_by(off / s + 4 * CLARKE_PAIR_UNIT * s, 16)};
}

/* 1 above 0, else 0: where nothing within `off` of x is 0. `still`: nothing moves x, which may be 0 itself. */
static enclosed
above(clarke_pair x, double off, bool still)
{
  const bool zero = still && x.high == 0 && off == 0;

  return zero || least_of(x, off) > 0 ? (enclosed){{x.high > 0, 0}, 0} : unknown;
}

/* The function of every number within `off` of x, where it is defined. */
static enclosed
by_ball(clarke_pair x, double off, clarke_function function)
{
  enclosed y = unknown;
  arb_t ball;

  if (!isfinite(x.high) || !isfinite(x.low) || !(off < INFINITY))
    return unknown;
  arb_init(ball);
  clarke_ball_of_pair(ball, x);
  mag_set_d(arb_radref(ball), off);
  if (function < CLARKE_RECIPROCAL || arb_is_positive(ball)) {
    clarke_analytic_value(ball, ball, function, PRECISION);
    y.at = clarke_pair_of_ball(&y.off, ball);
  }
  arb_clear(ball);
  return y;
}

static enclosed
function_at(clarke_kept *kept, clarke_pair x, double off, const clarke_step *s)
{
  const clarke_function function = s->function;
  enclosed y;

  if (function == CLARKE_HELD)
    return (enclosed){x, off};
  if (function == CLARKE_ABOVE)
    return above(x, off, s->still);
  if (function == CLARKE_RECIPROCAL)
    return reciprocal(x, off);
  if (function == CLARKE_SQRT)
    return root(x, off);
  if (clarke_series_pair(&y.at, &y.off, kept, x, off, function))
    return y;
  return by_ball(x, off, function);
}

/* Nothing is known where one argument is not certainly in the domain. */
clarke_status
clarke_pairs_function(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  bool inside = true;
  clarke_status status;

  status = clarke_enclosed_alloc(f, y, x->rows);
  for (size_t e = 0; e < x->rows * f->n && status == CLARKE_OK; e++) {
    const enclosed v = function_at(f->g->kept, clarke_enclosed_get(x, e), x->off[e], s);

    clarke_enclosed_put(y, e, v.at, v.off);
    inside = inside && y->off[e] < INFINITY;
  }
  if (status == CLARKE_OK && clarke_step_has_domain(s) && !inside) {
    clarke_enclosed_drop(y);
    y->known = false;
  }
  return status;
}

/* --- softmax ---------------------------------------------------------------------------------- */

/* A group's entries: `length` of them, `apart` from one another. */
typedef struct {
  const clarke_enclosed *x;
  size_t first, length, apart;
} group;

/* At least how much exponentials of the group are off by, as parts of themselves: exp(d) - 1 is at most 2 d, for d up to 1/2. */
static double
parts_off(const group *o, double largest)
{
  double most = 0;

  for (size_t i = 0; i < o->length; i++) {
    const double x = o->x->high[o->first + i * o->apart], off = o->x->off[o->first + i * o->apart];

    most = clarke_larger(most, off + 4 * CLARKE_PAIR_UNIT * (fabs(x) + fabs(largest)));
  }
  return most <= 0x1p-3 ? clarke_up_by(2 * most + 2 * CLARKE_PAIR_EXP_UNIT, 16) : (double)INFINITY;
}

/* exp(x - largest). Below -CLARKE_PAIR_FAR it is at most exp of that, which stands for it: off by less than 2^-400. */
static clarke_pair
exponential(clarke_pair x, double largest)
{
  const clarke_pair d = clarke_pair_add_double(x, -largest);

  return clarke_pair_exp(d.high >= -CLARKE_PAIR_FAR ? d : (clarke_pair){-CLARKE_PAIR_FAR, 0});
}

/* y_i = e_i / (sum of all e): every e is within a factor 1 +- p, so y is within (1 + p) / (1 - p) - 1 <= 3 p of itself, p <= 1/4. The sum of n
 * positive numbers rounds by n units, the quotient by eight. */
static void
softmax_group(clarke_enclosed *y, const group *o)
{
  clarke_pair sum = {0, 0}, by;
  double largest = -INFINITY, parts;

  for (size_t i = 0; i < o->length; i++)
    largest = fmax(largest, o->x->high[o->first + i * o->apart]);
  parts = parts_off(o, largest);
  for (size_t i = 0; i < o->length; i++) {
    const size_t e = o->first + i * o->apart;
    const clarke_pair v = exponential(clarke_enclosed_get(o->x, e), largest);

    y->high[e] = v.high;
    y->low[e] = v.low;
    sum = clarke_pair_add(sum, v);
  }
  by = clarke_pair_reciprocal(sum);
  parts = clarke_up_by(3 * parts + (double)(4 * o->length + 32) * CLARKE_PAIR_UNIT, 8);
  for (size_t i = 0; i < o->length; i++) {
    const size_t e = o->first + i * o->apart;
    const clarke_pair v = clarke_pair_multiply(clarke_enclosed_get(y, e), by);

    clarke_enclosed_put(y, e, v, parts <= 0.25 ? parts * fabs(v.high) + 0x1p-400 * (double)(o->length + 1) : (double)INFINITY);
  }
}

clarke_status
clarke_pairs_softmax(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  const size_t apart = s->stride * f->n;
  clarke_status status;

  if (s->length > CLARKE_PAIRS_MOST_TERMS)
    return CLARKE_OK;
  status = clarke_enclosed_alloc(f, y, x->rows);
  for (size_t g = 0; g < s->groups && status == CLARKE_OK; g++)
    for (size_t r = 0; r < apart; r++)
      softmax_group(y, &(group){x, g * s->length * apart + r, s->length, apart});
  return status;
}
