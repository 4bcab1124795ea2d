/* exp(x) = 2^k (1 + p): x - k log 2 is cut into 2^DOUBLINGS parts r, whose exp(r) - 1 is a polynomial; and exp(2 r) - 1 is p (2 + p).
 *
 * Let U be the unit of pairs, 8 u^2. |r| <= 2^-9.5. The polynomial has nine terms, and leaves out r^9 / 10! of itself, below 2^-107; its last
 * four are doubles, a part of 2^-54 of it, and so are off by 2^-106 of it. The others round by 3 U, for each term is a part of 2^-10 of the
 * one before. A doubling rounds by 2 U, and what p is off by, relatively, grows by (2 + 2 p) / (2 + p): by 1.2 in all doublings together. So p
 * is off by 1.2 (4 + 16) U of itself, and 1 + p, as p is from -0.3 to 0.42, by less than 12 U. k log 2 is off by 2^-147, its product with
 * the first part is a double, and x - k log 2 rounds by U: less than 14 U = 2^-99.2 in all. */
#include "network/pass/exponential.h"

#include "exact/upward.h"

#include <math.h>

#define DOUBLINGS 8

static const clarke_pair one = {1, 0};
static const clarke_pair log_2 = {0x1.9ef35793c7673p-41, 0x1.f97b57a079a19p-103}; /* behind its first part, of 40 bits */
#define LOG_2_FIRST 0x1.62e42fefa2p-1
static const clarke_pair sixth = {0x1.5555555555555p-3, 0x1.5555555555555p-57};
static const clarke_pair by_24 = {0x1.5555555555555p-5, 0x1.5555555555555p-59};
static const clarke_pair by_120 = {0x1.1111111111111p-7, 0x1.1111111111111p-63};
static const clarke_pair cubic = {0x1.6e4e26d4801f7p-5, 0x1.441355475a31ap-59}; /* 0.044715 */
static const clarke_pair scale = {0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54}; /* sqrt(8 / pi) */
static const clarke_pair of_erf = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56}; /* 2 / sqrt(pi) */
static const clarke_pair of_normal = {0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56}; /* 1 / sqrt(2 pi) */

/* By a power of two. */
static clarke_pair
scaled(clarke_pair x, double power)
{
  return (clarke_pair){x.high * power, x.low * power};
}

static clarke_pair
negative(clarke_pair x)
{
  return (clarke_pair){-x.high, -x.low};
}

/* exp(r) - 1, |r| <= 2^-9.5 */
static clarke_pair
polynomial(clarke_pair r)
{
  const double last = 1.0 / 720 + r.high * (1.0 / 5040 + r.high * (1.0 / 40320 + r.high * (1.0 / 362880)));
  clarke_pair q = clarke_pair_add_double(by_120, r.high * last);

  q = clarke_pair_add(by_24, clarke_pair_multiply(r, q));
  q = clarke_pair_add(sixth, clarke_pair_multiply(r, q));
  q = clarke_pair_add_double(clarke_pair_multiply(r, q), 0.5);
  q = clarke_pair_add_double(clarke_pair_multiply(r, q), 1);
  return clarke_pair_multiply(r, q);
}

clarke_pair
clarke_pair_exp(clarke_pair x)
{
  const double k = nearbyint(x.high * 0x1.71547652b82fep+0);
  const clarke_pair rest = clarke_pair_add(clarke_pair_add_double(x, -k * LOG_2_FIRST), clarke_pair_multiply((clarke_pair){-k, 0}, log_2));
  clarke_pair p = polynomial(scaled(rest, 1.0 / (1 << DOUBLINGS)));

  for (int i = 0; i < DOUBLINGS; i++)
    p = clarke_pair_add(scaled(p, 2), clarke_pair_multiply(p, p));
  return scaled(clarke_pair_add_double(p, 1), ldexp(1, (int)k));
}

/* q (1 + r), r = 1 - q x for a double q near 1 / x: r^2 is at most 4 u^2, r is off by a unit, and what is made of it by less than that. */
clarke_pair
clarke_pair_reciprocal(clarke_pair x)
{
  const double q = 1 / x.high;
  const clarke_pair r = clarke_pair_add_double(negative(clarke_pair_multiply((clarke_pair){q, 0}, x)), 1);

  return clarke_pair_add_double(clarke_pair_multiply((clarke_pair){q, 0}, r), q);
}

/* A number, and what it is off by, in parts. */
typedef struct {
  clarke_pair at;
  double off;
} near;

/* exp(z), where z is off by 12 units of itself at most if it was computed. */
static near
exponential(clarke_pair z, bool computed)
{
  return (near){clarke_pair_exp(z), CLARKE_PAIR_EXP_UNIT + (computed ? 12 * CLARKE_PAIR_UNIT * fabs(z.high) : 0)};
}

/* With t = exp(-|z|), s = 1 / (1 + t): sigmoid is s, or t s, and its slope t s^2. What t is off by, s is, too, at most; and what all of them are
 * made by are three operations of no more than 4 units. */
static near
sigmoid_at(clarke_pair z, bool slope, bool computed)
{
  const near t = exponential(z.high < 0 ? z : negative(z), computed);
  const clarke_pair s = clarke_pair_reciprocal(clarke_pair_add_double(t.at, 1)), ts = clarke_pair_multiply(t.at, s);

  return (near){slope ? clarke_pair_multiply(ts, s) : z.high < 0 ? ts : s, 3 * t.off + 16 * CLARKE_PAIR_UNIT};
}

/* sqrt(8 / pi) x (1 + a x^2), or times (1 + 3 a x^2) instead: of five positive factors and terms. */
static clarke_pair
cubic_at(clarke_pair x, bool slope)
{
  const clarke_pair square = clarke_pair_multiply(clarke_pair_multiply(x, x), cubic);
  const clarke_pair sum = clarke_pair_add_double(slope ? clarke_pair_add(square, scaled(square, 2)) : square, 1);

  return clarke_pair_multiply(scale, slope ? sum : clarke_pair_multiply(x, sum));
}

static near
normal_tanh_at(clarke_pair x, bool slope)
{
  near y = sigmoid_at(cubic_at(x, false), slope, true);

  if (slope)
    y.at = clarke_pair_multiply(y.at, cubic_at(x, true));
  y.off += 16 * CLARKE_PAIR_UNIT;
  return y;
}

/* With t = exp(-2 |x|), s = 1 / (1 + t): (1 - t) s, which is off by parts of 1, or 4 t s^2. */
static near
tanh_at(clarke_pair x, bool slope)
{
  const near t = exponential(scaled(x.high < 0 ? x : negative(x), 2), false);
  const clarke_pair s = clarke_pair_reciprocal(clarke_pair_add_double(t.at, 1));
  clarke_pair y = clarke_pair_multiply(scaled(t.at, slope ? 4 : -1), s);

  y = slope ? clarke_pair_multiply(y, s) : clarke_pair_add(s, y);
  return (near){x.high < 0 && !slope ? negative(y) : y, 3 * t.off + 16 * CLARKE_PAIR_UNIT};
}

/* c exp(-x^2), or half of that square. */
static near
bell_at(clarke_pair c, clarke_pair x, bool half)
{
  const near e = exponential(scaled(negative(clarke_pair_multiply(x, x)), half ? 0.5 : 1), true);

  return (near){clarke_pair_multiply(c, e.at), e.off + 2 * CLARKE_PAIR_UNIT};
}

/* x, or exp(x) - 1, which is off by parts of 1; 1, or exp(x). */
static near
elu_at(clarke_pair x, bool slope)
{
  near e;

  if (x.high >= 0)
    return (near){slope ? one : x, 0};
  e = exponential(x, false);
  return (near){slope ? e.at : clarke_pair_add_double(e.at, -1), e.off + CLARKE_PAIR_UNIT};
}

/* Is an exponential near enough to 1, and to 0, of all that goes into one? */
static bool
is_inside(clarke_pair x, clarke_function function, bool slope)
{
  const double size = fabs(x.high);

  switch (function) {
  case CLARKE_SIGMOID:
    return size <= CLARKE_PAIR_FAR;
  case CLARKE_TANH:
    return 2 * size <= CLARKE_PAIR_FAR;
  case CLARKE_NORMAL_TANH:
    return 1.6 * size * (1 + 0.045 * size * size) <= CLARKE_PAIR_FAR;
  case CLARKE_ERF:
  case CLARKE_NORMAL:
    return slope && 1.01 * size * size <= CLARKE_PAIR_FAR;
  case CLARKE_SOFTPLUS:
    return slope && size <= CLARKE_PAIR_FAR;
  case CLARKE_ELU:
    return x.high >= -CLARKE_PAIR_FAR && isfinite(x.high);
  default:
    return false;
  }
}

bool
clarke_pair_function(clarke_pair *y, double *off, clarke_pair x, clarke_function function, bool slope)
{
  near at;

  if (!is_inside(x, function, slope))
    return false;
  switch (function) {
  case CLARKE_TANH:
    at = tanh_at(x, slope);
    break;
  case CLARKE_NORMAL_TANH:
    at = normal_tanh_at(x, slope);
    break;
  case CLARKE_ERF:
    at = bell_at(of_erf, x, false);
    break;
  case CLARKE_NORMAL:
    at = bell_at(of_normal, x, true);
    break;
  case CLARKE_ELU:
    at = elu_at(x, slope);
    break;
  default: /* softplus has a sigmoid as its slope */
    at = sigmoid_at(x, slope && function == CLARKE_SIGMOID, false);
  }
  *y = at.at;
  *off = clarke_up_over(at.off * fmax(fabs(at.at.high), slope ? 0 : 1), 0x1p32, 0x1p-900);
  return true;
}
