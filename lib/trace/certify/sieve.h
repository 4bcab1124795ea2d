/* A sieve before the exact pass of certify.h: products in doubles, by BLAS, beside what was recorded in float32.
 *
 * A product of two float32 numbers is a double, so a sum of K of them in doubles is off by at most K 2^-53 / (1 - K 2^-53) times
 * the sum of their absolute values, in any order (Higham, Lemma 3.1). That sum is at most the weights' absolute sum times the
 * largest |x|: one number a row, the row's slack. A record may be off by 2^29 times as much. How much, again asks for the sum
 * of absolute values: this time for less than it. |near| - slack is that. Where it does not suffice, the entry's own products
 * are added up.
 *
 * Normalizations, smooth functions, products of activations, and what is added up of several parts have their bounds entry by entry
 * (sieve_entries.c): what they should be, in doubles, how far that may be off, and what rounding may take.
 *
 * The sieve says "within the bound" and "bit-exact", and nothing else. One tensor that it leaves open leaves all to the exact
 * pass. What it does not know it leaves open: other types than float32, functions with a domain. */
#ifndef CLARKE_TRACE_SIEVE_H
#define CLARKE_TRACE_SIEVE_H

#include "base/wide.h"
#include "exact/upward.h"
#include "trace/certify/certify.h"

/* What underflow takes in doubles is less, of anything that is made of a dozen float32 numbers and of exponentials. */
#define CLARKE_SIEVE_LEAST 0x1p-1000

/* Numbers of an activation or its gradient, features x samples in row-major order; of a constant's gradient count x 1, or, with a
 * line, count / line x line. At most one of exact and near is set. */
typedef struct {
  const float *exact;       /* what is known: as it was recorded, or copied from there */
  double *near;             /* what was computed, in doubles */
  bool owned;               /* are they in a room of the sieve's? Else they are another's */
  const clarke_tensor *record; /* with exact: whose numbers these are, each in its place; NULL: that is not known */
  double *slack;            /* by row: at least |near - what it should be|; with near */
  double *scale;            /* by column: what slack is to be multiplied by there, at most 1; NULL: 1 */
  double *top;              /* by row: at least what the absolute values of its terms add up to; with slack */
  double *shift;            /* by row: a constant among the terms, which is not in near yet; NULL: none */
  double *floor;            /* by row, of one column: at most what the absolute values add up to; NULL: |near| - slack */
  double *off;              /* by entry, with near, in the place of slack, scale and top: at least |near - what it should be| */
  double *may;              /* with off: at most the exact pass's bound on what was computed of it (rounding.h); of a gradient's terms */
  double *mass;             /* with off, of a gradient: at most what the absolute values of its terms add up to; NULL: it is no sum */
  unsigned char *joined;    /* with mass: 0: nothing joined it; 1: one number that was moved; 2: more, or products */
  bool judged;              /* of a gradient: exact is its record, which was looked at already */
  bool enclosed;            /* with off: the exact pass has no number of it, but an enclosure, and calls nothing of it bit-exact */
  size_t line;              /* of a constant's gradient: numbers in a row; 0: 1 */
  double terms;             /* roundings that made the record, but for the spare ones */
  size_t parts;             /* steps that gave to it */
  const clarke_step *dense; /* the one step, a DENSE, whose products it is the sum of; NULL: none, or others too */
} clarke_sieved;

typedef struct {
  clarke_certify *c;
  const clarke_graph *g;
  size_t n;             /* columns */
  clarke_sieved *value, *grad; /* by value */
  clarke_identities *identities; /* made when the largest entries of a window are several, and branches are asked for */
  uint32_t **winner;    /* by step, of MAX: which rows win, of each window and sample (clarke_sieve_winners); else NULL */
  bool *carries;        /* by value: does a gradient go there? */
  size_t *reads;        /* by value: operands and weights of steps that it is */
  struct clarke_sieve_group **group; /* by step, of NORMALIZE: moments of its groups (sieve_normalize.c); else NULL */
  clarke_certificate *settled; /* by parameter: the answer, where its gradient is judged as soon as it is whole; else no entries */
  bool open;            /* something was left open */
  double *panel, *other; /* room for operands laid out, and for gradients beside them: of so many numbers */
  size_t panel_count, other_count;
  void **room; /* all that are taken */
  size_t rooms, room_capacity;
} clarke_sieve;

/* Fills c's certificates if every tensor is decided; else *decided is false, and c is to be begun anew. */
clarke_status clarke_sieve_run(bool *decided, clarke_certify *c, clarke_error *err);

/* A sieve about what c asks, whose pass has begun. clarke_sieve_end is for what begin left, whatever it returned. */
clarke_status clarke_sieve_begin(clarke_sieve *s, clarke_certify *c, clarke_error *err);
void clarke_sieve_end(clarke_sieve *s);

/* --- sieve_forward.c, sieve_backward.c --- */

/* Judge all recorded outputs, and all gradients: step by step, as far as doubles tell; what they leave open stays so. */
clarke_status clarke_sieve_forward(clarke_sieve *s, clarke_error *err);
clarke_status clarke_sieve_backward(clarke_sieve *s, clarke_error *err);

/* sieve_forward.c: the numbers of a recorded output, which may have been dropped. NULL: out of memory, or, and open, there are none. */
const float *clarke_sieve_known(clarke_sieve *s, size_t value, clarke_error *err);

/* sieve_back_step.c: step i's share in the gradients of what it reads, once that of its output is known. */
clarke_status clarke_sieve_step_back(clarke_sieve *s, size_t i, clarke_error *err);

/* For pieces that are each a number or x itself: the kinks, which piece is x, the numbers of the others. False: some
 * piece is neither. */
bool clarke_sieve_selects(double *kink, double *number, bool *itself, const clarke_pieces *p);

#define CLARKE_NO_WINNER UINT32_MAX

/* The first largest entries of a MAX step's windows (f, j), j < n: what they are, and which rows of x, of which there are fewer than
 * 2^32 - 1; of padding alone -INFINITY and CLARKE_NO_WINNER. */
void clarke_sieve_winners(float *top, uint32_t *winner, const clarke_step *step, const float *x, size_t n, size_t f);

/* sieve_branches.c: where that is asked for, the branches of a step with kinks whose operand has the numbers x, in c->pass.piece. Winners
 * are known by then. */
clarke_status clarke_sieve_place(clarke_sieve *s, const clarke_step *step, const float *x, clarke_error *err);

/* --- sieve_entries.c --- */

/* Numbers by entry: exact ones; or near, off by `off`, computed with errors of which the exact pass allows `may` at least. */
typedef struct {
  const float *exact;
  const double *near, *off, *may;
  bool enclosed;
} clarke_sieve_numbers;

/* Entry e: the exact one, or the one near it; by how much it is off at most; what errors are allowed at least. */
static inline double
clarke_sieve_near(const clarke_sieve_numbers *x, size_t e)
{
  return x->exact != NULL ? (double)x->exact[e] : x->near[e];
}
static inline double
clarke_sieve_off(const clarke_sieve_numbers *x, size_t e)
{
  return x->exact != NULL ? 0 : x->off[e];
}
static inline double
clarke_sieve_may(const clarke_sieve_numbers *x, size_t e)
{
  return x->exact != NULL ? 0 : x->may[e];
}
/* At most |what it should be|. */
static inline double
clarke_sieve_size(const clarke_sieve_numbers *x, size_t e)
{
  const double size = fabs(clarke_sieve_near(x, e)) - clarke_sieve_off(x, e);

  return size > 0 ? size : 0;
}

/* An activation that a step reads; a gradient that is whole. What is in rows becomes entries. False: out of memory, or, and open, they are not known. */
bool clarke_sieve_read(clarke_sieve_numbers *x, clarke_sieve *s, size_t value);
bool clarke_sieve_read_gradient(clarke_sieve_numbers *g, clarke_sieve *s, size_t value);

/* Room for so many entries, which are not set; a gradient's are zeros that are to be added to. False: out of memory. */
bool clarke_sieve_begin_entries(clarke_sieve *s, clarke_sieved *v, size_t count);
bool clarke_sieve_begin_gradient(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols);
/* A term is added to a sum in doubles; what that rounds, exactly (Knuth's), to what it is off by. Sums of doubles do not underflow. */
static inline void
clarke_sieve_plus(double *sum, double *off, double term)
{
  const double before = *sum, after = before + term, of_term = after - before;

  *sum = after;
  *off += fabs((before - (after - of_term)) + (term - of_term));
}

/* A part of a gradient joins it: what it is near, what that is off by, the exact pass's bound and absolute values, at most. `moved`: it was recorded, and is turned in sign at most; a 0 takes nothing from anyone. */
static inline void
clarke_sieve_join(clarke_sieved *v, size_t e, double near, double off, double may, double mass)
{
  v->off[e] += off;
  clarke_sieve_plus(&v->near[e], &v->off[e], near);
  v->may[e] += may;
  v->mass[e] += mass;
  v->joined[e] = 2;
}
static inline void
clarke_sieve_join_moved(clarke_sieved *v, size_t e, double near)
{
  const unsigned char joined = v->joined[e];

  clarke_sieve_join(v, e, near, 0, 0, fabs(near));
  v->joined[e] = near != 0 && joined < 2 ? (unsigned char)(joined + 1) : joined;
}

/* What so many roundings may take of absolute values that add up to `mass`, at most (clarke_roundoff_by); with them what underflows. */
double clarke_sieve_gamma(clarke_sieve *s, double roundings);
static inline double
clarke_sieve_by(double gamma, double roundings, double tiny, double mass)
{
  return gamma * mass + roundings * fmin(tiny, mass);
}

/* What a number that is within `off` of a double becomes when it is rounded to float32: it lies between these. */
static inline void
clarke_sieve_rounded(float *low, float *high, double near, double off)
{
  const double wide = off > 0 ? clarke_up_by(off, 4) + clarke_taken(2, fabs(near)) : 0;

  *low = (float)(near - wide);
  *high = (float)(near + wide);
}

/* Is a record another float32 than what it should be, which is within `off` of a number, rounded? */
static inline bool
clarke_sieve_is_another(float recorded, double near, double off)
{
  float low, high;

  clarke_sieve_rounded(&low, &high, near, off);
  return recorded < low || recorded > high;
}

/* Is it that one? Where both are false, it is not known. */
static inline bool
clarke_sieve_is_that(float recorded, double near, double off)
{
  float low, high;

  clarke_sieve_rounded(&low, &high, near, off);
  return recorded == low && recorded == high;
}

/* Are all numbers so small that no sum of theirs overflows? Else all is left open. */
void clarke_sieve_check_sizes(clarke_sieve *s, const clarke_sieved *v, size_t count);

/* What a SUM, and a SCALE, makes of its operands entry by entry. */
clarke_status clarke_sieve_add_entries(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_scale(clarke_sieve *s, const clarke_step *step, clarke_error *err);
/* What a SUM hands back to one operand, from a whole gradient. Through a GATHER that nothing was recorded of sums go on
 * as they are. */
clarke_status clarke_sieve_add_back(clarke_sieve *s, const clarke_step *step, const clarke_operand *o, clarke_error *err);
clarke_status clarke_sieve_move_back(clarke_sieve *s, const clarke_step *step, clarke_error *err);
/* A DENSE whose weight is not trained, of what was not recorded; from a whole gradient that nothing was recorded of. */
clarke_status clarke_sieve_dense_entries(clarke_sieve *s, const clarke_step *dense, clarke_error *err);
clarke_status clarke_sieve_dense_entries_back(clarke_sieve *s, const clarke_step *dense, clarke_error *err);
clarke_status clarke_sieve_scale_back(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_judge_entries(clarke_sieve *s, clarke_certificate *made, const clarke_sieved *v, size_t count, const float *recorded,
                                         double roundings);

/* --- sieve_normalize.c, sieve_smooth.c, sieve_contraction.c --- */

/* Each passes a step of that kind forward, or, `back`, its gradient backward. What doubles cannot tell leaves the sieve
 * open, which is no error. */
clarke_status clarke_sieve_normalize(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_normalize_back(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_analytic(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_analytic_back(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_softmax(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_softmax_back(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_contract(clarke_sieve *s, const clarke_step *step, clarke_error *err);
clarke_status clarke_sieve_contract_back(clarke_sieve *s, const clarke_step *step, clarke_error *err);

/* --- sieve_affine.c --- */

/* Are step i and the two behind it a normalization, its scale and its shift, of which the last alone has a name? Such are passed together,
 * forward with what was recorded of the last; backward from the gradient of what was scaled. */
bool clarke_sieve_is_affine(const clarke_sieve *s, size_t i);
clarke_status clarke_sieve_affine(clarke_sieve *s, size_t i, clarke_error *err);
clarke_status clarke_sieve_affine_back(clarke_sieve *s, size_t i, clarke_error *err);

/* --- sieve_judge.c --- */

typedef enum { CLARKE_TERMS_OF_OUTPUT, CLARKE_TERMS_OF_INPUT, CLARKE_TERMS_OF_WEIGHT } clarke_terms_kind;

/* Judges rows x cols numbers by the records: of a sum with so many roundings. `kind`: whose products v->dense has. The rows and
 * columns of a constant's gradient are as its line has them. */
clarke_status clarke_sieve_judge(clarke_sieve *s, clarke_certificate *made, const clarke_sieved *v, size_t rows, size_t cols,
                                 const float *recorded, double roundings, clarke_terms_kind kind, clarke_error *err);

bool clarke_sieve_is_equal(const float *a, const float *b, size_t n); /* a NaN is equal to none */

/* Are these two records the same, byte by byte, and packed? Then neither is turned beside the other. NULL is no record. */
bool clarke_sieve_is_same(const clarke_tensor *a, const clarke_tensor *b);

/* A float32 tensor, cols x rows (samples first), as rows x cols: a room, or its own bytes where they lie so. NULL: out of memory, or,
 * and open, if it is none. */
const float *clarke_sieve_turned(clarke_sieve *s, clarke_tensor *t, size_t rows, size_t cols, clarke_error *err);

/* --- sieve_operand.c --- */

/* Row f of a DENSE step's operand: n numbers; NULL: zeros. */
const float *clarke_sieve_operand(const clarke_sieve *s, const clarke_step *dense, size_t f);
/* Is that operand known exactly, behind one rearrangement or none? Its value; CLARKE_NONE: it is not. */
size_t clarke_sieve_source(const clarke_sieve *s, const clarke_step *dense);
/* The rearrangement; NULL: none. */
const size_t *clarke_sieve_map(const clarke_sieve *s, const clarke_step *dense);

/* --- sieve_product.c --- */

/* y = W x; x += W^T g, where it carries; w += g x^T, where it is trained. */
clarke_status clarke_sieve_dense(clarke_sieve *s, const clarke_step *dense, clarke_error *err);
clarke_status clarke_sieve_dense_back(clarke_sieve *s, const clarke_step *dense, clarke_error *err);

/* Sums of |g| |x|, but for what doubles round, of each entry of the weight, while the gradient g of the step's output and its operand are known. */
clarke_status clarke_sieve_weight_sizes(double *size, clarke_sieve *s, const clarke_step *dense, clarke_error *err);

/* --- sieve_loss.c --- */

/* Is the loss the sum of the network's outputs, of which nothing was recorded? */
bool clarke_sieve_sums_loss(const clarke_sieve *s);
/* There, and where nothing but a loss was recorded behind some output: does it follow from what doubles have of the network's outputs? What they
 * cannot tell leaves the sieve open. */
clarke_status clarke_sieve_loss(clarke_sieve *s, clarke_error *err);
/* The gradient in each of these outputs, of which there is no record: the factor on the loss. */
clarke_status clarke_sieve_seed_sum(clarke_sieve *s, clarke_error *err);

/* --- sieve_winograd.c --- */

#define CLARKE_WINOGRAD_MOST 6

/* A step that is a convolution of planes h x w to oh x ow with kernels of 3 x 3 and a border above and to the left. */
typedef struct {
  size_t planes, h, w, oh, ow, top, left;
} clarke_sieve_conv;

/* Is the DENSE step such a one, of enough planes, entry by entry? */
bool clarke_sieve_is_conv(clarke_sieve_conv *c, const clarke_sieve *s, const clarke_step *dense);

/* y = W x; x = W^T g, or x += W^T g; w = g x^T, or w += g x^T: as clarke_sieve_dense and its way back have them. False when out of memory. */
bool clarke_sieve_conv_run(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const double *w, const float *x, double *y);
bool clarke_sieve_conv_back(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const double *w, const float *g, double *x,
                            bool add);
bool clarke_sieve_conv_weight(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const float *x, const float *g, double *w,
                              bool add);

/* At least what an output is off by that is a sum over so many planes: top is at least the largest number times the sum over the
 * planes of the kernels' largest weights. Of the weight's gradient: top is at least both planes' norms multiplied. */
double clarke_sieve_conv_slack(size_t planes, double top);
double clarke_sieve_conv_weight_slack(const clarke_sieve_conv *c, size_t n, double top);

/* --- sieve_rows.c --- */

/* Numbers as doubles. */
void clarke_sieve_widen(double *to, const float *x, size_t n);
/* The largest absolute value of finite numbers; of each column those in most, or of the rows if larger. */
double clarke_sieve_largest(const float *x, size_t n);
void clarke_sieve_largest_in_columns(float *most, const float *x, size_t rows, size_t n);
/* The sum of the squares; of the numbers and of their absolute values, added to what is there. Each of n terms, in some order. */
double clarke_sieve_squares(const float *x, size_t n);
void clarke_sieve_total(double *sum, double *mass, const float *x, size_t n);
/* At most the norm of a judged record, where somebody may ask whether its bounds tell it from a wrong one. */
double clarke_sieve_norm(const clarke_sieve *s, const clarke_certificate *made, const float *recorded);
/* to += coef x; the largest |x|. */
double clarke_sieve_add_row(double *to, double coef, const float *x, size_t n);
/* part becomes slope g where x > kink, and at g where x == kink: of numbers that do not overlap. */
void clarke_sieve_beyond(float *part, const float *x, const float *g, float kink, float at, float slope, size_t n);

/* --- sieve_room.c --- */

/* Room for so many bytes, doubles or floats, which are not set; NULL: out of memory. It is given back by clarke_sieve_leave, or with
 * the sieve by clarke_sieve_leave_all. What is no room is passed over. */
void *clarke_sieve_take(clarke_sieve *s, size_t size);
double *clarke_sieve_take_doubles(clarke_sieve *s, size_t count);
float *clarke_sieve_take_floats(clarke_sieve *s, size_t count);
void clarke_sieve_leave(clarke_sieve *s, const void *at);
void clarke_sieve_leave_all(clarke_sieve *s);

/* Sums with slack, to be added to: zeros, or, where they are to be set, any numbers. What is there already is kept, with slack 0
 * where it was exact. */
bool clarke_sieved_begin(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols, bool set);
void clarke_sieved_clear(clarke_sieve *s, clarke_sieved *v);

/* A bound made in doubles, of at most 2^31 terms, rounded up; what so many roundings take of sums of that size. Numbers are 0
 * or, as float32 has them, at least 2^-149: no bound underflows, and what a product loses by it is far below a rounding of top. */
static inline double
clarke_sieve_up(double sum)
{
  return clarke_up_by(sum, 0x1p34);
}
static inline double
clarke_sieve_slack(double roundings, double top)
{
  return clarke_sieve_up((roundings + 2) * CLARKE_UNIT * top);
}

#endif
