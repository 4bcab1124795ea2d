/* DFT, STFT (docs/operators.md, "Operators that are others"): real and imaginary parts times cosines and sines. */
#include "check/onnx/fourier.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

#define MOST_COSINES ((size_t)1 << 20)

/* So many numbers are made of n entries along an axis, for a period of `length`: forth or back; or of one half of the frequencies, which
 * real numbers have. */
typedef struct {
  size_t n, length, made;
  bool back, real, half;
} wave;

/* cos(i / length of a quarter turn) for i from 0 to length, but what is rational. */
static value
quarter(builder *b, size_t length)
{
  value parts = made_numbers(b, 1, (size_t[]){length + 1}), one = made_numbers(b, 0, (size_t[]){0});
  mpq_set_ui(one.constant->value, 1, 1);
  for (size_t i = 0; i <= length; i++) {
    mpq_set_ui(&parts.constant->value[i], 2 * i, length);
    mpq_canonicalize(&parts.constant->value[i]);
  }
  return of(b, "Cos", with(b, "Mul", of(b, "Atan", one), parts));
}

/* The part of a quarter turn that has, but for its sign, the cosine of `turn` parts of a whole one. */
static size_t
fold(size_t turn, size_t length, bool *minus)
{
  turn %= 4 * length;
  if (turn >= 2 * length) {
    turn -= 2 * length;
    *minus = !*minus;
  }
  if (turn <= length)
    return turn;
  *minus = !*minus;
  return 2 * length - turn;
}

/* Twice the cosine, where that is 0, 1 or 2; else -1. */
static int
twice(size_t part, size_t length)
{
  return part == 0 ? 2 : part == length ? 0 : 3 * part == 2 * length ? 1 : -1;
}

/* Entry f of the matrix (n, made) of cosines, or of sines: so often, perhaps below 0, the cosine of that part. */
static size_t
entry_of(const wave *w, bool sine, size_t f, long *count)
{
  size_t i = f / w->made, turn = i * (f % w->made) % w->length * 4;
  bool minus = w->back && sine; /* the sine of what turns back */
  size_t part = fold(sine ? turn + 3 * w->length : turn, w->length, &minus);
  *count = w->real && i > 0 && 2 * i != w->length ? 2 : 1;
  *count = minus ? -*count : *count;
  return part;
}

/* The matrix of cosines that are not all rational. */
static value
matrix_of(builder *b, const wave *w, bool sine, const value *cosines)
{
  size_t dims[2] = {w->n, w->made};
  step *s = add_step(b, LINEAR, 1, 2, dims);
  for (size_t f = 0; f < s->n; f++) {
    long count;
    size_t part = entry_of(w, sine, f, &count);
    int known = twice(part, w->length);
    rational *coef = rationals(1);
    mpq_set_si(coef, known < 0 ? 2 * count : known * count, 2);
    mpq_canonicalize(coef);
    if (known < 0)
      operand(b, s, f, cosines, part)->coef = coef;
    else
      s->factors[s->factor_row[f]].coef = coef;
  }
  value y = b->out;
  y.name = "";
  y.at = cosines->at;
  y.inner = cosines->inner;
  y.shared = cosines->shared;
  return y;
}

/* That of rational ones: a constant. */
static value
known_matrix(builder *b, const wave *w, bool sine)
{
  value y = made_numbers(b, 2, (size_t[]){w->n, w->made});
  for (size_t f = 0; f < y.count; f++) {
    long count;
    size_t part = entry_of(w, sine, f, &count);
    mpq_set_si(&y.constant->value[f], count * twice(part, w->length), 2);
    mpq_canonicalize(&y.constant->value[f]);
  }
  return y;
}

static bool
is_known(const wave *w)
{
  bool known = true;
  long count;
  for (size_t f = 0; f < 2 * w->n * w->made && known; f++)
    known = twice(entry_of(w, f % 2, f / 2, &count), w->length) >= 0;
  return known;
}

/* Part k of the numbers, its first n entries along the axis, which goes behind the others. */
static value
part_of(builder *b, value x, size_t axis, size_t n, long k)
{
  long last = (long)x.rank - 1, order[MAX_RANK], from[2] = {0, k}, to[2] = {(long)n, k + 1},
       along[2] = {(long)axis, last};
  size_t many = 0;
  x = inner_node(b, "Slice", 4, (value[]){x, list_of(b, 2, from), list_of(b, 2, to), list_of(b, 2, along)}, NULL);
  x = with(b, "Squeeze", x, list_of(b, 1, &last));
  for (size_t a = 0; a < x.rank; a++)
    if (a != axis)
      order[many++] = (long)a;
  order[many] = (long)axis;
  x = inner_node(b, "Transpose", 1, &x, inner_list("perm", x.rank, order));
  return x.rank > 1 ? x : with(b, "Unsqueeze", x, list_of(b, 1, (long[]){0}));
}

/* The transform along the axis of x, whose last axis has the parts of its numbers. */
static value
transformed(builder *b, const wave *w, value x, size_t axis)
{
  size_t rank = x.rank, parts = x.dims[rank - 1], results = w->real ? 1 : 2;
  need(!w->half || parts == (w->back ? 2 : 1), "one side alone of other numbers than it has");
  value cosines = {0}, matrix[2], part[2], result[2];
  long order[MAX_RANK];
  need(w->n > 0 && w->length <= MOST_COSINES && w->made <= MOST_COSINES / w->n && (parts == 1 || parts == 2),
       "no entries, too many of them, or numbers of other parts than one or two");
  bool known = is_known(w);
  if (!known)
    cosines = quarter(b, w->length);
  for (int sine = 0; sine < 2; sine++)
    matrix[sine] = known ? known_matrix(b, w, sine) : matrix_of(b, w, sine, &cosines);
  for (size_t k = 0; k < parts; k++)
    part[k] = part_of(b, x, axis, w->n, (long)k);
  for (size_t k = 0; k < results; k++) { /* (u + i v) (cos - i sin) */
    value y = with(b, "MatMul", part[0], matrix[k]);
    y = k > 0 ? of(b, "Neg", y) : y;
    if (parts > 1)
      y = with(b, "Add", y, with(b, "MatMul", part[1], matrix[1 - k]));
    if (w->back) {
      rational *q = rationals(1);
      mpq_set_ui(q, 1, w->length);
      y = times(b, &y, q);
    }
    y = rank > 2 ? y : with(b, "Squeeze", y, list_of(b, 1, (long[]){0}));
    result[k] = with(b, "Unsqueeze", y, list_of(b, 1, (long[]){-1}));
  }
  value y = results > 1 ? inner_joined(b, &result[0], &result[1], rank - 1) : result[0];
  for (size_t a = 0; a < rank; a++)
    order[a] = (long)(a < axis || a + 1 == rank ? a : a == axis ? rank - 2 : a - 1);
  return inner_node(b, "Transpose", 1, &y, inner_list("perm", rank, order));
}

/* Input i, one number above 0; or `absent`. */
static size_t
number_at(const builder *b, size_t i, size_t absent)
{
  long list[MAX_RANK];
  if (!has_input(b, i))
    return absent;
  need(whole_list(b, i, "", list) == 1 && list[0] > 0 && list[0] <= INT32_MAX, "a length is no one number above 0");
  return (size_t)list[0];
}

void
lower_fourier(builder *b)
{
  bool half = whole_attribute(b, "onesided", 0) != 0;
  wave w = {.back = whole_attribute(b, "inverse", 0) != 0, .half = half};
  long list[MAX_RANK] = {b->opset < 20 ? whole_attribute(b, "axis", 1) : -2};
  need(!has_input(b, 2) || whole_list(b, 2, "", list) == 1, "its axis is no one number");
  value x = b->in[0];
  size_t axis = axis_of(b, list[0], x.rank);
  need(x.rank > 1 && axis + 1 < x.rank && !on_batch(b, &x, axis) && !on_batch(b, &x, x.rank - 1),
       "the axis is the last, or the batch's");
  size_t n = x.dims[axis];
  need(n > 0, "no entries");
  w.real = w.back && half;
  w.length = number_at(b, 1, w.real ? 2 * (n - 1) : n);
  w.made = half && !w.back ? w.length / 2 + 1 : w.length;
  w.n = n < w.length ? n : w.length;
  need(!w.real || n == w.length / 2 + 1, "other frequencies than one side has");
  need(w.length > 0, "no entries");
  b->out = transformed(b, &w, x, axis);
}

void
lower_frames(builder *b)
{
  value x = b->in[0];
  size_t hop = number_at(b, 1, 0), window[MAX_RANK], n = 0;
  need(x.rank == 3 && !on_batch(b, &x, 1) && !on_batch(b, &x, 2), "its signal has not samples, times and parts");
  if (has_input(b, 2)) {
    need(run_axes(b, 2, window) == 1, "its window is no list");
    n = window[0];
  }
  wave w = {.length = number_at(b, 3, n > 0 ? n : x.dims[1])};
  need(hop > 0 && w.length > 0 && w.length <= x.dims[1] && n == (has_input(b, 2) ? w.length : 0),
       "no hop, a frame longer than the signal, or a window of another length");
  w.n = w.length;
  w.half = whole_attribute(b, "onesided", 1) != 0;
  w.made = w.half ? w.length / 2 + 1 : w.length;
  size_t frames = (x.dims[1] - w.length) / hop + 1;
  need(frames <= ((size_t)1 << 26) / w.length, "too many frames");
  long *at = allocate(frames * w.length, sizeof *at), shape[2] = {(long)frames, (long)w.length};
  for (size_t f = 0; f < frames; f++)
    for (size_t i = 0; i < w.length; i++)
      at[f * w.length + i] = (long)(f * hop + i);
  value places = with(b, "Reshape", list_of(b, frames * w.length, at), list_of(b, 2, shape));
  x = inner_node(b, "Gather", 2, (value[]){x, places}, inner_whole("axis", 1));
  if (n > 0)
    x = with(b, "Mul", x, with(b, "Reshape", b->in[2], list_of(b, 2, (long[]){(long)n, 1})));
  b->out = transformed(b, &w, x, 2);
}
