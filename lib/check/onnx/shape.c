/* Operators that move entries, and compute none. */
#include "check/onnx/shape.h"
#include "check/base/allocate.h"
#include "check/onnx/integers.h"

#include <stdlib.h>
#include <string.h>

/* Input 0's entries in another shape. */
static void
put_shaped(builder *b, size_t rank, const size_t *dims)
{
  need(product(dims, rank) == b->in[0].count, "the shapes hold different numbers of entries");
  put(b, b->in[0].constant, b->in[0].step, b->in[0].map, rank, dims);
  b->out.negated = b->in[0].negated;
}

/* Identity, Dropout. */
void
lower_identity(builder *b)
{
  long training[MAX_RANK] = {0};
  size_t n = b->in[2].name != NULL ? whole_list(b, 2, "", training) : 1;
  value *ratio = &b->in[1];
  if (n != 1 || training[0] != 0) {
    need(ratio->name != NULL && ratio->constant != NULL && ratio->constant->real && ratio->count == 1
             && mpq_sgn(&ratio->constant->value[ratio->map[0]]) == 0,
         "Dropout in training mode");
    ratio->constant->number = true;
  }
  for (size_t i = 1; i < 3; i++)
    need(b->in[i].name == NULL || (b->in[i].constant != NULL && b->in[i].rank == 0),
         "a ratio or mode that is no constant scalar");
  put_shaped(b, b->in[0].rank, b->in[0].dims);
  b->out.excluded = b->in[0].excluded;
  b->out.undefined = b->in[0].undefined;
}

void
lower_flatten(builder *b)
{
  const value *x = &b->in[0];
  long given = whole_attribute(b, "axis", 1);
  size_t axis = given == (long)x->rank ? x->rank : axis_of(b, given, x->rank), whole[MAX_RANK];
  whole_run(b, x, whole);
  put_reshaped(b, x, 2, (size_t[]){product(whole, axis), product(whole + axis, x->rank - axis)});
}

void
lower_reshape(builder *b)
{
  const value *x = &b->in[0];
  size_t dims[MAX_RANK], whole[MAX_RANK], open = NONE;
  long shape[MAX_RANK];
  size_t n = whole_list(b, 1, "", shape);
  bool copy = whole_attribute(b, "allowzero", 0) == 0; /* else 0 is no entries */
  whole_run(b, x, whole);
  for (size_t i = 0; i < n; i++) {
    long d = shape[i];
    need(d > 0 || (d == -1 && open == NONE) || (d == 0 && copy && i < x->rank), "not a shape");
    open = d == -1 ? i : open;
    dims[i] = d > 0 ? (size_t)d : d == -1 ? 1 : whole[i];
  }
  if (open != NONE) {
    size_t rest = product(dims, n);
    need(rest > 0, "an axis of what is left beside an axis of no entries");
    dims[open] = product(whole, x->rank) / rest;
  }
  put_reshaped(b, x, n, dims);
}

void
lower_transpose(builder *b)
{
  const value *x = &b->in[0];
  const tensor *perm = find_attribute(b, "perm");
  size_t dims[MAX_RANK], stride[MAX_RANK], at = 0;
  bool seen[MAX_RANK] = {false};
  need(perm == NULL || perm->count == x->rank, "perm does not fit");
  for (size_t i = 0; i < x->rank; i++) {
    long p = perm != NULL ? whole_entry(b, perm, i) : (long)(x->rank - 1 - i);
    need(p >= 0 && (size_t)p < x->rank && !seen[p], "perm is no permutation");
    seen[p] = true;
    at = on_batch(b, x, (size_t)p) ? i : at;
    dims[i] = x->dims[p];
    stride[i] = product(x->dims + p + 1, x->rank - (size_t)p - 1);
  }
  put(b, x->constant, x->step, index_map(b, x->rank, dims, stride, x->map), x->rank, dims);
  b->out.negated = x->negated;
  b->out.at = at;
  b->out.inner = x->inner;
}

/* Squeeze, of axes that are named or of all of one entry; Unsqueeze. */
void
lower_squeeze(builder *b)
{
  const value *x = &b->in[0];
  bool insert = b->op[0] == 'U', marked[MAX_RANK] = {false};
  bool all = !insert && b->in[1].name == NULL && find_attribute(b, "axes") == NULL;
  long axes[MAX_RANK];
  size_t dims[MAX_RANK], whole[MAX_RANK], n = 0, from = 0, count = all ? 0 : whole_list(b, 1, "axes", axes);
  size_t rank = x->rank + (insert ? count : 0);
  need(rank <= MAX_RANK, "more axes than supported");
  whole_run(b, x, whole);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], rank);
    need(!marked[axis] && (insert || whole[axis] == 1), "an axis twice, or not of size 1 in the whole tensor");
    marked[axis] = true;
  }
  for (size_t i = 0; i < rank && all; i++)
    marked[i] = whole[i] == 1;
  for (size_t i = 0; i < rank; i++)
    if (insert || !marked[i])
      dims[n++] = insert && marked[i] ? 1 : whole[insert ? from++ : i];
  put_reshaped(b, x, n, dims);
}

/* Expand, Tile. Each axis of the output is so many times an axis of x, or of one entry. */
void
lower_repeat(builder *b)
{
  const value *x = &b->in[0];
  bool tile = b->op[0] == 'T';
  long list[MAX_RANK];
  size_t whole[MAX_RANK], dims[MAX_RANK], parts[2 * MAX_RANK], stride[2 * MAX_RANK], next = 1;
  size_t n = whole_list(b, 1, "", list), rank = tile || n < x->rank ? x->rank : n;
  need(!tile || n == rank, "not a number of repeats for each axis");
  whole_run(b, x, whole);
  for (size_t i = rank; i-- > 0;) {
    bool new = i + x->rank < rank;
    size_t old = i + x->rank - rank, length = new ? 1 : whole[old], own = new ? 1 : x->dims[old];
    long by = i + n < rank ? 1 : list[i + n - rank];
    need(by > 0 && by <= INT32_MAX && length > 0 && length <= INT32_MAX, "not a number of entries");
    size_t times = tile || length == 1 ? (size_t)by : 1;
    need(tile || by == 1 || (size_t)by == length * times, "the shapes do not fit");
    need(times == 1 || new || !on_batch(b, x, old), "the batch axis would be repeated");
    parts[2 * i] = times;
    stride[2 * i] = 0;
    parts[2 * i + 1] = own;
    stride[2 * i + 1] = next;
    dims[i] = times * own;
    next *= own;
  }
  put(b, x->constant, x->step, index_map(b, 2 * rank, parts, stride, x->map), rank, dims);
  b->out.negated = x->negated;
  b->out.at = x->at + rank - x->rank;
  b->out.inner = x->inner;
}

void
lower_constant(builder *b)
{
  tensor *t = b->node->attributes;
  need(b->node->n_attributes == 1 && t->value != NULL, "not one tensor");
  put(b, t, 0, NULL, t->rank, t->dims);
}

/* No initializer, and without entries: a part that a Split made? */
static bool
is_nothing(const value *v)
{
  return v->constant != NULL && v->count == 0 && v->constant->real && !v->constant->initializer;
}

/* A constant's part is as a bias is: terms without an x. One without entries has none. */
void
lower_concat(builder *b)
{
  if (of_integers(b) || of_floats(b)) {
    lower_listed(b);
    return;
  }
  value *x = b->in;
  bool activation = false;
  size_t axis = axis_of(b, whole_attribute(b, "axis", 1), x->rank), dims[MAX_RANK], before = 0, first = 0;
  while (first + 1 < b->node->n_in && x[first].constant != NULL)
    first++;
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(x[i].count > 0 || (is_nothing(&x[i]) && x[i].dims[axis] == 0), "an input without entries");
    need(x[i].constant == NULL || x[first].shared || b->net->together == 1 || make_shared(b, &x[i], x[first].at),
         "a constant, which has not the axis of all samples");
    need(x[i].constant != NULL || x[i].shared == x[first].shared,
         "some inputs have the batch, and others are computed of constants");
    need(!is_batch(b, &x[i]) || (x[i].at == x[first].at && x[i].inner == x[first].inner),
         "the inputs have the batch on different axes");
  }
  memcpy(dims, x->dims, sizeof dims); /* a constant first may have become one sample's */
  size_t apart = product(dims + axis + 1, x->rank - axis - 1);
  dims[axis] = 0;
  need(find_attribute(b, "axis") != NULL && !on_batch(b, &x[first], axis), "no axis, or the batch's");
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(x[i].rank == x->rank, "not the same axes");
    activation = activation || x[i].constant == NULL;
    for (size_t j = 0; j < x->rank; j++)
      need(j == axis || x[i].dims[j] == dims[j], "the shapes do not fit");
    dims[axis] += x[i].dims[axis];
  }
  need(activation, "only constants");
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  for (size_t i = 0; i < b->node->n_in; before += x[i++].dims[axis])
    for (size_t f = 0; f < x[i].count; f++) {
      size_t block = x[i].dims[axis] * apart;
      operand(b, s, (f / block * dims[axis] + before) * apart + f % block, &x[i], f);
    }
  b->out.at = x[first].at;
  b->out.inner = x[first].inner;
}

/* Which of n entries stands at a place that is d entries before the first, or behind the last; the place itself when it is one of
 * them. */
static long
padded_place(const char *mode, long place, long n)
{
  bool before = place < 0;
  if (place >= 0 && place < n)
    return place;
  if (mode[0] == 'e')
    return before ? 0 : n - 1;
  if (mode[0] == 'r')
    return before ? -place : n - 1 - (place - (n - 1));
  return before ? n + place : place - n;
}

/* Where no zeros are put in: pads that the entries of the axis reach for. */
static void
check_padded(const builder *b, const char *mode, long pad, size_t n)
{
  bool edge = strcmp(mode, "edge") == 0, mirror = strcmp(mode, "reflect") == 0;
  need(edge || mirror || (strcmp(mode, "wrap") == 0 && b->opset >= 19), "an unknown mode");
  need(pad >= 0 && (edge || pad <= (long)n - mirror), "a pad below 0, or beyond what the axis has entries for");
}

/* What is put in: 0; '-', minus infinity; '?', what is infinite or NaN otherwise. */
static char
filling_of(const builder *b, const value *with)
{
  rational *number = rationals(1);
  real_attribute(b, "value", number, 0);
  need(mpq_sgn(number) == 0, "not with zeros");
  if (with->name == NULL)
    return 0;
  need(with->constant != NULL && with->constant->real && with->count == 1, "its value is no constant number");
  with->constant->number = true;
  char odd = odd_entry(with, 0);
  need(odd != 0 || mpq_sgn(&with->constant->value[with->map[0]]) == 0, "not with zeros");
  return odd;
}

/* The output, for its entries: a constant where x is one, else a step, with marks where some may be minus infinity. */
static void
put_padded(builder *b, const value *x, const size_t *dims, char filling)
{
  if (x->constant != NULL) {
    put_whole(b, x->constant->type, x->rank, dims);
    b->out.constant->real = true;
    b->out.constant->odd = allocate(b->out.count, 1);
    return;
  }
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  b->out.excluded = filling != 0 || x->excluded != NULL ? allocate(s->n, sizeof(bool)) : NULL;
}

/* Pad with zeros, fewer than none cut off; or with entries of the axis. A mask of constants to which minus infinity belongs stays one. */
void
lower_pad(builder *b)
{
  const value *x = &b->in[0], *with = &b->in[2];
  const char *mode = text_attribute(b, "mode", "constant");
  bool zeros = strcmp(mode, "constant") == 0, stays = x->constant != NULL;
  char filling = zeros ? filling_of(b, with) : 0;
  long pads[2 * MAX_RANK], axes[MAX_RANK], before[MAX_RANK] = {0};
  size_t dims[MAX_RANK], n = whole_list_within(b, 1, "pads", pads, 2 * MAX_RANK), count = x->rank;
  bool padded[MAX_RANK] = {false};
  need(filling != '?' || stays, "not with zeros, nor minus infinity");
  for (size_t i = 0; i < x->rank; i++)
    axes[i] = (long)i;
  if (b->in[3].name != NULL)
    count = whole_list(b, 3, "", axes);
  need(n == 2 * count, "its pads are not two for each axis");
  memcpy(dims, x->dims, sizeof dims);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], x->rank);
    need(labs(pads[i]) <= INT32_MAX && labs(pads[count + i]) <= INT32_MAX && dims[axis] <= INT32_MAX && !padded[axis],
         "an axis twice, or too large a number");
    padded[axis] = true;
    for (size_t side = 0; side < 2 && !zeros; side++)
      check_padded(b, mode, pads[side * count + i], dims[axis]);
    long size = (long)dims[axis] + pads[i] + pads[count + i];
    need(size > 0 && (!is_batch(b, x) || axis > 0 || (pads[i] == 0 && pads[count + i] == 0)),
         "the batch axis is padded, or nothing is left");
    before[axis] = pads[i];
    dims[axis] = (size_t)size;
  }
  put_padded(b, x, dims, filling);
  step *s = stays ? NULL : &b->net->steps[b->out.step];
  for (size_t f = 0; f < product(dims, x->rank); f++) {
    size_t rest = f, at = 0, stride = 1;
    bool inside = true;
    for (size_t i = x->rank; i-- > 0; stride *= x->dims[i], rest /= dims[i]) {
      long place = (long)(rest % dims[i]) - before[i];
      place = zeros ? place : padded_place(mode, place, (long)x->dims[i]);
      inside = inside && place >= 0 && place < (long)x->dims[i];
      at += inside ? (size_t)place * stride : 0;
    }
    if (stays) {
      b->out.constant->odd[f] = inside ? odd_entry(x, at) : filling;
      if (inside)
        mpq_set(&b->out.constant->value[f], &x->constant->value[x->map[at]]);
      continue;
    }
    if (b->out.excluded != NULL)
      b->out.excluded[f] = inside ? x->excluded != NULL && x->excluded[at] : filling != 0;
    if (inside)
      operand(b, s, f, x, at);
    else
      s->sources[f].step = PADDING;
  }
}

/* x, rounded as nearest_mode says; half is for what is computed meanwhile. */
static void
round_to(rational *x, rational *half, const char *how)
{
  bool up = strcmp(how, "ceil") == 0 || strcmp(how, "round_prefer_floor") == 0;
  if (how[0] == 'r') { /* the nearest whole number; of two the one below (up) or above */
    mpq_set_si(half, up ? -1 : 1, 2);
    mpq_add(x, x, half);
  }
  if (up)
    mpz_cdiv_q(mpq_numref(x), mpq_numref(x), mpq_denref(x));
  else
    mpz_fdiv_q(mpq_numref(x), mpq_numref(x), mpq_denref(x));
  mpz_set_ui(mpq_denref(x), 1);
}

/* An axis of Resize: from n entries to out, which are `scale` times as many; x and half are for what is computed. */
typedef struct {
  size_t n, out;
  rational *scale, *x, *half;
} resized;

/* a->x becomes where place j lies among the entries, cut off at the first and the last. */
static void
place_between(const builder *b, const resized *a, size_t j)
{
  const char *where = text_attribute(b, "coordinate_transformation_mode", "half_pixel");
  bool ends = strcmp(where, "align_corners") == 0, half = strcmp(where, "half_pixel") == 0;
  bool torch = strcmp(where, "pytorch_half_pixel") == 0;
  mpq_set_ui(a->x, j, 1);
  if (ends || (torch && a->out == 1))
    mpq_set_ui(a->x, a->out > 1 ? j * (a->n - 1) : 0, a->out > 1 ? a->out - 1 : 1);
  else {
    mpq_set_ui(a->half, half || torch ? 1 : 0, half || torch ? 2 : 1);
    mpq_add(a->x, a->x, a->half);
    mpq_div(a->x, a->x, a->scale);
    mpq_sub(a->x, a->x, a->half);
  }
  mpq_canonicalize(a->x);
  if (mpq_sgn(a->x) < 0)
    mpq_set_ui(a->x, 0, 1);
  if (mpq_cmp_ui(a->x, a->n - 1, 1) > 0)
    mpq_set_ui(a->x, a->n - 1, 1);
}

/* Which entry place j is. To cut off at whole numbers, then round, is to round, then cut off. */
static size_t
nearest(const builder *b, const resized *a, size_t j)
{
  place_between(b, a, j);
  round_to(a->x, a->half, text_attribute(b, "nearest_mode", "round_prefer_floor"));
  return mpz_get_ui(mpq_numref(a->x));
}

/* Which of the scales or sizes is axis i's: its own number, or where `axes` lists it; NONE where it does not. */
static size_t
listed_at(const builder *b, size_t i)
{
  const tensor *axes = find_attribute(b, "axes");
  size_t found = axes == NULL ? i : NONE;
  for (size_t k = 0; axes != NULL && k < axes->count; k++)
    if (axis_of(b, whole_entry(b, axes, k), b->in[0].rank) == i) {
      need(found == NONE, "an axis twice");
      found = k;
    }
  return found;
}

/* The length and scale of axis i, by input 2 or 3. */
static void
resize_axis(const builder *b, resized *a, size_t i)
{
  const value *scales = &b->in[2], *sizes = &b->in[3];
  bool batch = on_batch(b, &b->in[0], i);
  size_t at = listed_at(b, i);
  a->n = b->in[0].dims[i];
  if (at == NONE) {
    a->out = a->n;
    mpq_set_ui(a->scale, 1, 1);
  } else if (sizes->name != NULL) {
    size_t whole = batch ? b->net->together : 1;
    long size = whole_entry(b, sizes->constant, sizes->map[at]);
    need(size > 0 && size <= INT32_MAX && (size_t)size % whole == 0, "a size is not above 0, or too large");
    a->out = (size_t)size / whole;
    mpq_set_ui(a->scale, a->out, a->n);
    mpq_canonicalize(a->scale);
  } else {
    mpq_set(a->scale, &scales->constant->value[scales->map[at]]);
    mpz_mul_ui(mpq_numref(a->x), mpq_numref(a->scale), a->n);
    mpz_fdiv_q(mpq_numref(a->x), mpq_numref(a->x), mpq_denref(a->scale));
    need(mpz_sgn(mpq_numref(a->x)) > 0 && mpz_cmp_ui(mpq_numref(a->x), INT32_MAX) <= 0,
         "a scale leaves no entries, or too many");
    a->out = mpz_get_ui(mpq_numref(a->x));
    mpz_set_ui(mpq_denref(a->x), 1);
  }
  need(!batch || mpq_cmp_ui(a->scale, 1, 1) == 0, "samples would be mixed");
}

static bool
is_linear(const builder *b)
{
  return strcmp(text_attribute(b, "mode", "nearest"), "linear") == 0;
}

static bool
is_among(const char *word, const char *const among[4])
{
  size_t i = 0;
  while (i < 4 && strcmp(word, among[i]) != 0)
    i++;
  return i < 4;
}

static void
check_resize(const builder *b)
{
  static const char *const wheres[4] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
  static const char *const roundings[4] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  const value *x = &b->in[0], *scales = &b->in[2], *sizes = &b->in[3];
  bool by_scales = scales->name != NULL && scales->count > 0, by_sizes = sizes->name != NULL;
  need(x->constant == NULL && by_scales != by_sizes, "its input must be an activation, with scales or sizes");
  const value *v = by_sizes ? sizes : scales;
  const tensor *axes = find_attribute(b, "axes");
  need(v->constant != NULL && v->constant->real == by_scales && v->count == (axes != NULL ? axes->count : x->rank)
           && x->rank > 0,
       "scales or sizes are not constant, or not one for each axis");
  need((is_linear(b) || strcmp(text_attribute(b, "mode", "nearest"), "nearest") == 0)
           && whole_attribute(b, "antialias", 0) == 0 && whole_attribute(b, "exclude_outside", 0) == 0
           && strcmp(text_attribute(b, "keep_aspect_ratio_policy", "stretch"), "stretch") == 0,
       "a mode that is not supported");
  need(is_among(text_attribute(b, "coordinate_transformation_mode", wheres[0]), wheres), "unknown coordinates");
  need(is_among(text_attribute(b, "nearest_mode", "round_prefer_floor"), roundings), "unknown nearest_mode");
  if (by_scales)
    scales->constant->number = true;
}

/* x with axis i as the output has it: place j is between two entries, and has of each what is left to the other. */
static void
put_between(builder *b, const value *x, size_t i, const resized *a)
{
  size_t dims[MAX_RANK], behind = product(x->dims + i + 1, x->rank - i - 1);
  memcpy(dims, x->dims, sizeof dims);
  dims[i] = a->out;
  step *s = add_step(b, LINEAR, 2, x->rank, dims);
  rational *share = rationals(2 * a->out);
  size_t *entry = allocate(a->out, sizeof *entry);
  for (size_t j = 0; j < a->out; j++) {
    rational *near = &share[2 * j], *far = near + 1;
    place_between(b, a, j);
    mpz_fdiv_q(mpq_numref(near), mpq_numref(a->x), mpq_denref(a->x));
    entry[j] = mpz_get_ui(mpq_numref(near));
    mpq_sub(far, a->x, near);
    mpq_sub(near, &plus_one, far);
  }
  for (size_t f = 0; f < s->n; f++) {
    size_t j = f / behind % a->out, at = (f / behind / a->out * a->n + entry[j]) * behind + f % behind;
    operand(b, s, 2 * f, x, at)->coef = &share[2 * j];
    if (mpq_sgn(&share[2 * j + 1]) != 0)
      operand(b, s, 2 * f + 1, x, at + behind)->coef = &share[2 * j + 1];
    else
      s->sources[2 * f + 1].step = PADDING;
  }
}

/* Axis by axis, those that stay left out. */
static void
resize_between(builder *b)
{
  value x = b->in[0];
  rational *spare = rationals(3);
  resized a = {.scale = spare, .x = spare + 1, .half = spare + 2};
  put(b, NULL, x.step, x.map, x.rank, x.dims);
  for (size_t i = 0; i < b->in[0].rank; i++) {
    resize_axis(b, &a, i);
    x = b->out;
    if (!on_batch(b, &b->in[0], i) && (a.n != a.out || mpq_cmp_ui(a.scale, 1, 1) != 0))
      put_between(b, &x, i, &a);
  }
}

/* To the nearest entries: one of x's at each place. Or linear. */
void
lower_resize(builder *b)
{
  check_resize(b);
  if (is_linear(b)) {
    resize_between(b);
    return;
  }
  const value *x = &b->in[0];
  rational *spare = rationals(3);
  resized a = {.scale = spare, .x = spare + 1, .half = spare + 2};
  size_t dims[MAX_RANK], *entry[MAX_RANK];
  for (size_t i = 0; i < x->rank; i++) {
    resize_axis(b, &a, i);
    dims[i] = a.out;
  }
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  for (size_t i = 0; i < x->rank; i++) {
    resize_axis(b, &a, i);
    entry[i] = allocate(dims[i], sizeof *entry[i]);
    for (size_t j = 0; j < dims[i]; j++)
      entry[i][j] = nearest(b, &a, j);
  }
  for (size_t f = 0; f < s->n; f++) {
    size_t rest = f, at = 0, stride = 1;
    for (size_t i = x->rank; i-- > 0; stride *= x->dims[i], rest /= dims[i])
      at += entry[i][rest % dims[i]] * stride;
    operand(b, s, f, x, at);
  }
}
