/* The pass at work: activations enclosed in pairs, and a function for each kind of step. */
#ifndef CLARKE_NETWORK_PASS_PAIRS_PAIRS_H
#define CLARKE_NETWORK_PASS_PAIRS_PAIRS_H

#include "exact/pair.h"
#include "exact/upward.h"
#include "network/pass/pairs/pass.h"

/* Where a middle is larger it may have overflowed on its way: then nothing is known. */
#define CLARKE_PAIRS_FAR 0x1p900
/* Where a bound is less, and a kink within it, an argument is at the kink as a rule. */
#define CLARKE_PAIRS_CLOSE 0x1p-60
/* More than what underflow takes of an operation on such numbers, or of a few. */
#define CLARKE_PAIRS_LEAST 0x1p-1060

/* An activation, rows x samples: |high + low - true| <= off at each entry. A bound of infinity, or a NaN, says nothing. */
typedef struct {
  double *high, *low, *off; /* one piece of memory, which begins at high */
  size_t rows;
  bool known; /* false: made of something that the pass does not follow */
} clarke_enclosed;

struct clarke_pairs_pass {
  const clarke_graph *g;
  size_t n;
  const clarke_tensor *x;
  clarke_enclosed *value;       /* n_values */
  const clarke_step **deferred; /* n_values: a GATHER that is left to the one product that reads it */
  size_t step;                  /* the one at work */
  clarke_branch **piece;
  size_t **ties;
  clarke_margin **margin;
  clarke_identities *ids; /* made when windows are open */
  size_t vague;           /* places left open whose bounds are wide */
  size_t *depth, deepest; /* n_values: products one behind another before it; the most before a value that is needed */
  bool open, early;       /* a place of the steps so far is left open; the pass may end early */
  double needs;           /* bits, where it has ended so */
  bool outside;           /* some argument is not certainly in its function's domain */
  clarke_error *err;
};

/* Room for so many rows of a known value, nothing in it yet; given back by the other. */
clarke_status clarke_enclosed_alloc(clarke_pairs_pass *f, clarke_enclosed *v, size_t rows);
void clarke_enclosed_drop(clarke_enclosed *v);

/* The middle of entry e. */
static inline clarke_pair
clarke_enclosed_get(const clarke_enclosed *v, size_t e)
{
  return (clarke_pair){v->high[e], v->low[e]};
}

/* Entry e becomes y, off by no more than `off`, which may have been rounded 2^10 times. */
static inline void
clarke_enclosed_put(clarke_enclosed *v, size_t e, clarke_pair y, double off)
{
  v->high[e] = y.high;
  v->low[e] = y.low;
  v->off[e] = fabs(y.high) <= CLARKE_PAIRS_FAR ? clarke_up_over(off, 0x1p10, CLARKE_PAIRS_LEAST) : (double)INFINITY;
}

/* A constant that values are multiplied by; NaNs where what it lost to underflow would be multiplied, too. */
static inline clarke_pair
clarke_pairs_constant(clarke_pair k)
{
  const bool kept = k.high == 0 || (fabs(k.high) >= 1 / CLARKE_PAIRS_FAR && fabs(k.high) <= CLARKE_PAIRS_FAR);

  return kept ? k : (clarke_pair){NAN, NAN};
}

/* -x */
static inline clarke_pair
clarke_pairs_negative(clarke_pair x)
{
  return (clarke_pair){-x.high, -x.low};
}

/* What is added to a bound for |w| |x.low| of each of a sum of products w x, of a double and a pair, and for `lows`. Let a be the sum of a
 * product's error and of what a sum's first part loses, b = w x.low, d = a + b, and l the second part, to which d is added; `lows` is the
 * sum of all |l|. These four are rounded, each by u of itself. As |d| is at most |l| and the |l| before, but for its rounding, and |a| at most
 * |d| + |b|, they lose u (5 lows + 2 times all |b|), but for parts of u of that. */
#define CLARKE_PAIRS_MOST_TERMS ((size_t)1 << 20)
#define CLARKE_PAIRS_BY_LOW (4 * CLARKE_UNIT)
#define CLARKE_PAIRS_BY_LOWS (5.125 * CLARKE_UNIT)

typedef struct {
  double high, low, lows;
} clarke_pairs_sum_of;

/* One product more in such a sum. */
static inline clarke_pairs_sum_of
clarke_pairs_add_product(double high, double low, double lows, double w, double x_high, double x_low)
{
  const double p = w * x_high, e = __builtin_fma(w, x_high, -p), s = high + p, t = s - high;
  const double q = (high - (s - t)) + (p - t), l = low + ((e + q) + w * x_low);

  return (clarke_pairs_sum_of){s, l, lows + fabs(l)};
}

/* A distance of the feature, which is off by no more than `off`, into its sample's margin. */
void clarke_pairs_measure(const clarke_pairs_pass *f, size_t column, double distance, double off, size_t feature);

/* f->value[s->out] of the operands' enclosures, which are known. It stays unknown where a step is not followed. */
clarke_status clarke_pairs_gather(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_sum(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_scale(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_dense(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_contract(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_function(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_softmax(clarke_pairs_pass *f, const clarke_step *s);
/* With kinks: open places that bounds decide are set. */
clarke_status clarke_pairs_piecewise(clarke_pairs_pass *f, const clarke_step *s);
clarke_status clarke_pairs_max(clarke_pairs_pass *f, const clarke_step *s);

#endif
