/* Arithmetic of constants: an exporter's nodes that compute a shape, places, a mask or a scale. */
#include "check/onnx/integers.h"
#include "check/base/allocate.h"
#include "check/files/floats.h"
#include "check/onnx/float8.h"
#include "check/onnx/jump.h"
#include "check/onnx/along.h"
#include "check/onnx/stated.h"

#include <string.h>

const tensor *
numbers_of(const builder *b, const value *v)
{
  bool input = v->constant == NULL && v->step == 0 && !b->net->batched && b->net->batch == 1;
  const tensor *t = v->constant != NULL ? v->constant : input ? b->x : NULL;
  return v->name != NULL && t != NULL && !t->real ? t : NULL;
}

static bool
is_whole(const builder *b, const value *v, size_t type)
{
  const tensor *t = numbers_of(b, v);
  return t != NULL && t->type == type;
}

/* Are the inputs from the first on of that type? */
static bool
are_whole(const builder *b, size_t first, size_t type)
{
  bool all = b->node->n_in > first;
  for (size_t i = first; i < b->node->n_in; i++)
    all = all && is_whole(b, &b->in[i], type);
  return all;
}

bool
of_integers(const builder *b)
{
  return are_whole(b, 0, INT64) || are_whole(b, 0, INT32);
}

static void
need_integers(const builder *b, size_t i)
{
  need(is_whole(b, &b->in[i], INT64) || is_whole(b, &b->in[i], INT32), "an input is no constant of integers");
}

static void
need_fit(const builder *b, const integer *n, size_t type)
{
  need(type == INT32 ? mpz_cmp_si(n, INT32_MIN) >= 0 && mpz_cmp_si(n, INT32_MAX) <= 0 : mpz_fits_slong_p(n),
       "the result is no integer of the type");
}

static bool
is_float_type(long type)
{
  return type == FLOAT || type == FLOAT16 || type == DOUBLE || type == BFLOAT16;
}

/* Constants of floats that are no parameters: of Constant nodes, or computed. */
bool
is_float(const value *v)
{
  const tensor *t = v->constant;
  return v->name != NULL && t != NULL && t->real && is_float_type((long)t->type) && !t->initializer && !v->negated;
}

/* A whole number that the type of floats holds, as it does all below it. */
static bool
is_held(const rational *q, size_t type)
{
  long digits, least, most;
  float_format(type, &digits, &least, &most);
  INTEGER(n);
  mpz_tdiv_q_2exp(&n, mpq_numref(q), (mp_bitcnt_t)digits);
  return mpz_cmp_ui(mpq_denref(q), 1) == 0
         && (mpz_sgn(&n) == 0 || (mpz_cmpabs_ui(&n, 1) == 0 && mpz_scan1(mpq_numref(q), 0) == (mp_bitcnt_t)digits));
}

/* A whole number that float32 holds, as it does all below it. */
static bool
is_small(const rational *q)
{
  return mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_cmpabs_ui(mpq_numref(q), 1 << 24) <= 0;
}

static bool
are_floats(const builder *b, size_t first)
{
  bool all = b->node->n_in > first;
  for (size_t i = first; i < b->node->n_in; i++)
    all = all && is_float(&b->in[i]) && b->in[i].constant->type == b->in[first].constant->type;
  return all;
}

bool
of_floats(const builder *b)
{
  return are_floats(b, 0);
}

bool
of_power(const builder *b)
{
  bool known = of_floats(b);
  RATIONAL(size);
  for (size_t i = 0; known && i < b->in[1].count; i++) {
    known = odd_entry(&b->in[1], i) == 0;
    mpq_abs(&size, &b->in[1].constant->value[b->in[1].map[i]]);
    bool root = mpq_cmp_ui(&size, 1, 2) == 0;
    bool square = b->in[1].count == 1 && (mpq_cmp_ui(&size, 1, 1) == 0 || mpq_cmp_ui(&size, 2, 1) == 0);
    known = known && (root || (square && mpq_sgn(&b->in[1].constant->value[b->in[1].map[i]]) > 0));
  }
  return known;
}

/* The node's output, a constant of zeros. */
rational *
put_whole(builder *b, size_t type, size_t rank, const size_t *dims)
{
  tensor *t = allocate(1, sizeof *t);
  *t = (tensor){.name = "", .type = type, .rank = rank, .count = product(dims, rank)};
  need(t->count > 0 && t->count <= 65536, "no integers, or more than are computed");
  memcpy(t->dims, dims, rank * sizeof *dims);
  t->value = rationals(t->count);
  put(b, t, 0, NULL, rank, dims);
  return t->value;
}

/* to = x op y; x, y are whole. */
static void
compute(const builder *b, integer *to, const integer *x, const integer *y)
{
  const char *op = b->op;
  bool divided = strcmp(op, "Div") == 0 || strcmp(op, "Mod") == 0, equal = strstr(op, "Equal") != NULL;
  int order = mpz_cmp(x, y);
  need(!divided || (mpz_sgn(x) >= 0 && mpz_sgn(y) > 0), "a negative number is divided, or by none above 0");
  if (strcmp(op, "And") == 0 || strcmp(op, "Or") == 0)
    mpz_set_ui(to, (mpz_sgn(x) != 0) + (mpz_sgn(y) != 0) > (op[0] == 'A'));
  else if (strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0)
    mpz_set(to, (order > 0) == (op[1] == 'a') ? x : y);
  else if (strcmp(op, "Neg") == 0)
    mpz_neg(to, x);
  else if (op[0] == 'N')
    mpz_set_ui(to, mpz_sgn(x) == 0);
  else if (op[0] == 'E')
    mpz_set_ui(to, order == 0);
  else if (op[0] == 'L')
    mpz_set_ui(to, order < 0 || (equal && order == 0));
  else if (op[0] == 'G')
    mpz_set_ui(to, order > 0 || (equal && order == 0));
  else if (op[0] == 'A')
    mpz_add(to, x, y);
  else if (op[0] == 'S')
    mpz_sub(to, x, y);
  else if (op[0] == 'D')
    mpz_tdiv_q(to, x, y);
  else if (divided)
    mpz_tdiv_r(to, x, y);
  else
    mpz_mul(to, x, y);
}

/* How l and r, entries f of two constants or what is known of them, compare: minus infinity is below all, and equal to itself. */
static int
order_of(const builder *b, const value *v, const value *w, size_t f, const rational *l, const rational *r)
{
  char left = odd_entry(v, f), right = odd_entry(w, f);
  need((left == 0 || left == '-') && (right == 0 || right == '-'), "a comparison with infinity or NaN");
  if (left != 0 || right != 0)
    return (right != 0) - (left != 0);
  return (mpq_cmp(l, r) > 0) - (mpq_cmp(l, r) < 0);
}

/* An activation is a number, so it is above minus infinity, which input `bottom` is; or marked, and equal to it. */
static void
compare_with_bottom(builder *b, size_t bottom)
{
  size_t dims[MAX_RANK], rank = broadcast(b, &b->in[0], &b->in[1], dims);
  bool holds = bottom == 1 ? b->op[0] == 'G' : b->op[0] == 'L', equal = strstr(b->op, "Equal") != NULL;
  value x = spread(b, &b->in[1 - bottom], rank, dims);
  b->in[bottom].constant->number = true;
  rational *out = put_whole(b, BOOL, rank, dims);
  for (size_t f = 0; f < b->out.count; f++)
    mpq_set_ui(&out[f], x.excluded != NULL && x.excluded[f] ? equal : holds, 1);
}

/* And, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Mod, Not, Or; Add, Sub, Mul, Div, Max, Min and Neg of integers. */
void
lower_whole(builder *b)
{
  const char *op = b->op;
  bool logic = strcmp(op, "And") == 0 || op[0] == 'O' || strcmp(op, "Not") == 0,
       truths = logic || strchr("EGL", op[0]) != NULL;
  value *x = &b->in[0], *y = &b->in[b->node->n_in - 1];
  const rational *known[2] = {known_entries(x), known_entries(y)};
  bool numbers = !logic && truths && of_floats(b),
       moved = !logic && truths && !numbers && known[0] != NULL && known[1] != NULL;
  bool floats = numbers || moved;
  if (strcmp(op, "Mod") == 0 && (x->constant == NULL || y->constant == NULL) && !of_integers(b)) {
    lower_modulo(b);
    return;
  }
  if (!logic && truths && bottom_input(b) < 2) {
    compare_with_bottom(b, bottom_input(b));
    return;
  }
  for (size_t i = 0; i < b->node->n_in; i++)
    need(b->in[i].excluded == NULL, "an input has entries that are minus infinity, which are compared with that alone");
  if (truths && !floats && (numbers_of(b, x) == NULL || numbers_of(b, y) == NULL)) {
    lower_truths(b);
    return;
  }
  size_t dims[MAX_RANK], rank = broadcast(b, x, y, dims);
  need(floats || logic ? floats || are_whole(b, 0, BOOL) : of_integers(b) || (op[0] == 'E' && are_whole(b, 0, BOOL)),
       "an input is no constant of integers, or of truth values");
  const tensor *left = floats ? NULL : numbers_of(b, x), *right = floats ? NULL : numbers_of(b, y);
  value all[2] = {*x, *y};
  for (size_t i = 0; i < 2 && numbers; i++)
    known[i] = all[i].constant->value;
  for (size_t i = 0; i < 2 && moved; i++)
    all[i].map = index_map(b, 1, &all[i].count, &(size_t){1}, NULL); /* of what is known */
  value p = spread(b, &all[0], rank, dims), q = spread(b, &all[1], rank, dims);
  rational *out = put_whole(b, truths ? BOOL : left->type, rank, dims);
  INTEGER(order);
  b->net->read[DECIDED] = b->net->read[DECIDED] || moved;
  for (size_t f = 0; f < b->out.count; f++) {
    const rational *l = floats ? &known[0][p.map[f]] : &left->value[p.map[f]];
    const rational *r = floats ? &known[1][q.map[f]] : &right->value[q.map[f]];
    need(!moved || !mpq_equal(l, r), "both sides are equal, and a parameter moves them");
    mpz_set_si(&order, floats ? order_of(b, &p, &q, f, l, r) : 0); /* which compares with 0 as they do */
    compute(b, mpq_numref(&out[f]), floats ? &order : mpq_numref(l), floats ? mpq_numref(&zero) : mpq_numref(r));
    need_fit(b, mpq_numref(&out[f]), b->out.constant->type);
  }
}

/* Sums along an axis, of all entries up to each. */
void
lower_running(builder *b)
{
  const value *x = &b->in[0], *by = &b->in[1];
  if (x->constant == NULL && x->name != NULL && numbers_of(b, x) == NULL) {
    lower_running_activation(b);
    return;
  }
  need(by->constant != NULL && by->count == 1 && whole_attribute(b, "exclusive", 0) == 0
           && whole_attribute(b, "reverse", 0) == 0,
       "not one axis, or exclusive or reverse");
  size_t axis = axis_of(b, whole_entry(b, by->constant, by->map[0]), x->rank);
  size_t apart = product(x->dims + axis + 1, x->rank - axis - 1);
  bool floats = x->constant != NULL && is_float(x);
  if (!floats)
    need_integers(b, 0);
  const tensor *t = floats ? x->constant : numbers_of(b, x);
  rational *out = put_whole(b, t->type, x->rank, x->dims);
  b->out.constant->real = floats;
  for (size_t f = 0; f < b->out.count; f++) {
    mpq_set(&out[f], &t->value[x->map[f]]);
    if (f / apart % x->dims[axis] > 0)
      mpq_add(&out[f], &out[f], &out[f - apart]);
    need(!floats || is_held(&out[f], t->type), "a sum of floats that is no whole number that its type has");
    need_fit(b, mpq_numref(&out[f]), floats ? INT64 : t->type);
  }
}

/* What Where chooses is of one type: that of either of its inputs that tells. */
static held_kind
chosen_kind(const builder *b)
{
  for (size_t i = 1; i < 3; i++) {
    const tensor *t = numbers_of(b, &b->in[i]);
    if (t != NULL && !t->real)
      return t->type == BOOL ? HOLDS_TRUTHS : HOLDS_INTEGERS;
    if (b->in[i].constant == NULL && b->in[i].holds != HOLDS_FLOATS)
      return b->in[i].holds;
  }
  return HOLDS_FLOATS;
}

/* Where of a mask and two constants, or of activations: it takes entries from them and does nothing else. */
void
lower_where(builder *b)
{
  held_kind holds = chosen_kind(b);
  if (b->in[0].name != NULL && b->in[0].constant == NULL && b->in[0].holds == HOLDS_TRUTHS) {
    need(b->in[1].excluded == NULL && b->in[2].excluded == NULL,
         "an input has entries that are minus infinity or NaN, and the mask is no constant");
    lower_chosen(b, holds);
    return;
  }
  value *x = &b->in[1], *y = &b->in[2], all;
  const tensor *mask = numbers_of(b, &b->in[0]), *t;
  bool whole = are_whole(b, 1, INT64) || are_whole(b, 1, INT32) || are_whole(b, 1, BOOL);
  if (!whole && !are_floats(b, 1))
    share_constants(b);
  size_t dims[MAX_RANK], rank = broadcast(b, x, y, dims);
  need(mask != NULL && mask->type == BOOL, "its mask is no constant of truth values");
  if (!whole && are_floats(b, 1)) {
    lower_floats(b);
    return;
  }
  all = is_batch(b, x) || (x->constant == NULL && !is_batch(b, y)) ? *x : *y;
  all.at += rank - all.rank;
  all.rank = rank;
  memcpy(all.dims, dims, rank * sizeof *dims);
  rank = broadcast(b, &all, &b->in[0], dims);
  value p = spread(b, x, rank, dims), q = spread(b, y, rank, dims), r = spread(b, &b->in[0], rank, dims);
  if (whole) {
    t = numbers_of(b, x);
    const tensor *other = numbers_of(b, y);
    rational *out = put_whole(b, t->type, rank, dims);
    for (size_t f = 0; f < b->out.count; f++) {
      bool first = mpq_sgn(&mask->value[r.map[f]]) != 0;
      mpq_set(&out[f], first ? &t->value[p.map[f]] : &other->value[q.map[f]]);
    }
    return;
  }
  need(x->constant == NULL || y->constant == NULL, "only constants");
  value left = without_odd(b, &p), right = without_odd(b, &q);
  step *s = add_step(b, LINEAR, 1, rank, dims);
  put_batch(b, &p, &q, rank);
  b->out.holds = holds;
  s->copy = true;
  for (size_t f = 0; f < s->n; f++) {
    bool first = mpq_sgn(&mask->value[r.map[f]]) != 0;
    if (!exclude(b, s, f, first ? &p : &q))
      operand(b, s, f, first ? &left : &right, f);
  }
}

void
lower_listed(builder *b)
{
  const value *x = b->in;
  size_t dims[MAX_RANK], axis = axis_of(b, whole_attribute(b, "axis", MAX_RANK), x->rank), before = 0;
  bool whole = of_integers(b);
  memcpy(dims, x->dims, sizeof dims);
  for (size_t i = 1; i < b->node->n_in; dims[axis] += x[i++].dims[axis]) {
    need(x[i].rank == x->rank && (!whole || x->rank == 1), "not the same axes, or integers that are no lists");
    for (size_t j = 0; j < x->rank; j++)
      need(j == axis || x[i].dims[j] == dims[j], "the shapes do not fit");
  }
  need(!whole || x->rank == 1, "integers that are no lists");
  size_t apart = product(dims + axis + 1, x->rank - axis - 1);
  rational *out = put_whole(b, whole ? numbers_of(b, x)->type : x->constant->type, x->rank, dims);
  b->out.constant->real = !whole;
  for (size_t i = 0; i < b->node->n_in; before += x[i++].dims[axis]) {
    const tensor *t = whole ? numbers_of(b, &x[i]) : x[i].constant;
    for (size_t f = 0, block = x[i].dims[axis] * apart; f < x[i].count; f++)
      mpq_set(&out[(f / block * dims[axis] + before) * apart + f % block], &t->value[x[i].map[f]]);
  }
}

void
lower_shape(builder *b)
{
  const value *x = &b->in[0];
  size_t whole[MAX_RANK];
  long rank = (long)x->rank, end[2] = {whole_attribute(b, "start", 0), whole_attribute(b, "end", rank)};
  for (size_t i = 0; i < 2; i++) {
    end[i] += end[i] < 0 ? rank : 0;
    end[i] = end[i] < 0 ? 0 : end[i] > rank ? rank : end[i];
  }
  need(end[0] < end[1], "no axes");
  size_t n = (size_t)(end[1] - end[0]);
  rational *out = put_whole(b, INT64, 1, &n);
  whole_run(b, x, whole);
  for (size_t i = 0; i < n; i++)
    mpq_set_ui(&out[i], whole[i + (size_t)end[0]], 1);
}

void
lower_size(builder *b)
{
  size_t whole[MAX_RANK], none = 0;
  whole_run(b, &b->in[0], whole);
  rational *out = put_whole(b, INT64, 0, &none);
  mpq_set_ui(out, 1, 1);
  for (size_t i = 0; i < b->in[0].rank; i++)
    mpz_mul_ui(mpq_numref(out), mpq_numref(out), whole[i]);
  need_fit(b, mpq_numref(out), INT64);
}

/* The ends and the step of a Range are floats: numbers that no parameter is then. Ends and step are whole, and so is what lies between,
 * such that the type has all of them. */
static void
read_float_ends(const builder *b)
{
  size_t type = b->in[0].constant->type;
  RATIONAL(length);
  for (size_t i = 0; i < 3; i++) {
    const tensor *t = b->in[i].constant;
    need(t != NULL && t->real && t->type == type && is_float_type((long)type) && !b->in[i].negated,
         "its ends and step are no constants of one type");
    need(b->in[i].count == 1 && odd_entry(&b->in[i], 0) == 0, "an end that is not one number");
    const rational *q = &t->value[b->in[i].map[0]];
    need(is_held(q, type) && is_small(q), "ends and step of floats that are no whole numbers that the type has");
    b->in[i].constant->number = true;
  }
  mpq_sub(&length, &b->in[1].constant->value[b->in[1].map[0]], &b->in[0].constant->value[b->in[0].map[0]]);
  need(is_held(&length, type) && is_small(&length), "ends that are too far apart for their type");
}

/* From the first number on, `by` apart, below the second; above it where `by` is below 0. */
void
lower_range(builder *b)
{
  INTEGER(n);
  bool floats = b->in[0].name != NULL && b->in[0].constant != NULL && b->in[0].constant->real;
  need(floats || of_integers(b), "an input is no constant of integers, or they are of two types");
  const integer *end[3];
  if (floats)
    read_float_ends(b);
  for (size_t i = 0; i < 3; i++) {
    need(b->in[i].count == 1, "an end that is not one integer");
    const tensor *t = floats ? b->in[i].constant : numbers_of(b, &b->in[i]);
    end[i] = mpq_numref(&t->value[b->in[i].map[0]]);
  }
  need(mpz_sgn(end[2]) != 0, "a step of 0");
  mpz_sub(&n, end[1], end[0]);
  mpz_cdiv_q(&n, &n, end[2]);
  need(mpz_sgn(&n) > 0 && mpz_cmp_ui(&n, 65536) <= 0, "no integers, or more than are computed");
  size_t count = mpz_get_ui(&n);
  rational *out = put_whole(b, floats ? b->in[0].constant->type : numbers_of(b, &b->in[0])->type, 1, &count);
  b->out.constant->real = floats;
  for (size_t i = 0; i < count; i++) {
    mpz_set(mpq_numref(&out[i]), end[0]);
    mpz_addmul_ui(mpq_numref(&out[i]), end[2], i);
  }
}

/* ReduceProd: of a list's integers. */
void
lower_whole_product(builder *b)
{
  const value *x = &b->in[0];
  bool named = b->in[1].name != NULL || find_attribute(b, "axes") != NULL;
  long axes[MAX_RANK];
  size_t n = named ? whole_list(b, 1, "axes", axes) : 0, one = 1;
  if (x->constant == NULL && x->name != NULL && numbers_of(b, x) == NULL) {
    lower_product_over(b, n, axes);
    return;
  }
  need_integers(b, 0);
  const tensor *t = numbers_of(b, x);
  need(x->rank == 1 && n <= 1 && (n == 0 || axis_of(b, axes[0], 1) == 0), "not of a list, along its axis");
  need(n > 0 || whole_attribute(b, "noop_with_empty_axes", 0) == 0, "noop_with_empty_axes");
  rational *out = put_whole(b, t->type, whole_attribute(b, "keepdims", 1) != 0, &one);
  mpq_set_ui(out, 1, 1);
  for (size_t i = 0; i < x->count; i++) {
    mpq_mul(out, out, &t->value[x->map[i]]);
    need_fit(b, mpq_numref(out), t->type);
  }
}

void
lower_filled(builder *b)
{
  const tensor *with = find_attribute(b, "value");
  long list[MAX_RANK];
  size_t dims[MAX_RANK];
  need_integers(b, 0);
  size_t rank = whole_list(b, 0, "", list);
  bool floats = with == NULL || (with->real && is_float_type((long)with->type));
  need(with == NULL || (with->count == 1 && (floats || with->type == INT64)),
       "its value is no 64-bit integer, and no float");
  for (size_t i = 0; i < rank; i++) {
    need(list[i] > 0 && list[i] <= INT32_MAX, "not a shape");
    dims[i] = (size_t)list[i];
  }
  rational *out = put_whole(b, with == NULL ? FLOAT : with->type, rank, dims);
  b->out.constant->real = floats;
  for (size_t i = 0; i < b->out.count && with != NULL; i++)
    mpq_set(&out[i], with->value);
  if (with != NULL && with->odd != NULL) {
    b->out.constant->odd = allocate(b->out.count, 1);
    memset(b->out.constant->odd, with->odd[0], b->out.count);
  }
}

/* The nearest number of that type of floats. */
static void
round_float(const builder *b, rational *q, size_t type)
{
  need(float_nearest(q, type), "no number of its type of floats, or one below its normal numbers");
}

/* The root of q, or a number that is rounded to the same float32: between the root's neighbours of 64 digits. */
static void
near_root(const builder *b, rational *q)
{
  INTEGER(root);
  INTEGER(rest);
  need(mpq_sgn(q) >= 0, "the root of a negative number");
  mp_bitcnt_t by = 64 + mpz_sizeinbase(mpq_denref(q), 2);
  mpz_mul_2exp(&root, mpq_numref(q), 2 * by);
  mpz_fdiv_qr(&root, &rest, &root, mpq_denref(q));
  bool exact = mpz_sgn(&rest) == 0;
  mpz_sqrtrem(&root, &rest, &root);
  exact = exact && mpz_sgn(&rest) == 0;
  mpz_mul_2exp(&root, &root, 1);
  if (!exact)
    mpz_add_ui(&root, &root, 1);
  mpq_set_z(q, &root);
  mpq_div_2exp(q, q, by + 1);
}

/* x becomes x op y. */
static void
compute_float(const builder *b, rational *x, const rational *y)
{
  switch (b->op[0]) {
  case 'A': mpq_add(x, x, y); break;
  case 'M': mpq_mul(x, x, y); break;
  case 'D':
    need(mpq_sgn(y) != 0, "division by zero");
    mpq_div(x, x, y);
    break;
  case 'P':
    if (mpq_cmp_ui(y, 1, 1) == 0 || mpq_cmp_ui(y, 2, 1) == 0) {
      if (mpq_cmp_ui(y, 2, 1) == 0)
        mpq_mul(x, x, x);
      break;
    }
    need(mpq_cmp_si(y, 1, 2) == 0 || (mpq_cmp_si(y, -1, 2) == 0 && mpq_sgn(x) > 0),
         "a power of a constant, not 1, 2, 1/2 or -1/2");
    if (mpq_sgn(y) < 0)
      mpq_inv(x, x);
    near_root(b, x);
    break;
  case 'S':
    if (b->op[1] == 'u')
      mpq_sub(x, x, y);
    else
      near_root(b, x);
    break;
  default: /* Cast, Where */ break;
  }
}

/* Add, Sub, Mul, Div, Sqrt, Where: each rounded to the type of what is computed. */
void
lower_floats(builder *b)
{
  bool chosen = b->op[0] == 'W';
  value *x = &b->in[chosen], *y = &b->in[b->node->n_in - 1], all = *x;
  size_t dims[MAX_RANK], rank = broadcast(b, x, y, dims);
  if (chosen) {
    all.rank = rank;
    memcpy(all.dims, dims, rank * sizeof *dims);
    rank = broadcast(b, &all, &b->in[0], dims);
  }
  value p = spread(b, x, rank, dims), q = spread(b, y, rank, dims), r = spread(b, &b->in[0], rank, dims);
  const tensor *left = x->constant, *mask = numbers_of(b, &b->in[0]);
  rational *out = put_whole(b, left->type, rank, dims);
  b->out.constant->real = true;
  b->net->read[ROUNDED] = true;
  for (size_t f = 0; f < b->out.count; f++) {
    bool second = chosen && mpq_sgn(&mask->value[r.map[f]]) == 0;
    char odd = odd_entry(second ? &q : &p, f);
    char other = chosen ? 0 : odd_entry(&q, f);
    /* minus infinity and a number */
    bool mask_sum = strcmp(b->op, "Add") == 0 && (odd == 0 || odd == '-') && (other == 0 || other == '-');
    odd = odd == 0 ? other : odd;
    need(odd == 0 || chosen || mask_sum, "arithmetic with an infinite number or NaN");
    if (odd != 0) {
      b->out.constant->odd = b->out.constant->odd == NULL ? allocate(b->out.count, 1) : b->out.constant->odd;
      b->out.constant->odd[f] = odd;
      continue;
    }
    mpq_set(&out[f], second ? &y->constant->value[q.map[f]] : &left->value[p.map[f]]);
    compute_float(b, &out[f], chosen ? NULL : &y->constant->value[q.map[f]]);
    round_float(b, &out[f], left->type);
  }
}

/* q becomes the nearest number of the type, which of half precision it must be also by way of float32, as runtimes cast. */
static void
round_cast(const builder *b, rational *q, size_t type)
{
  rational *twice = rationals(1);
  mpq_set(twice, q);
  round_float(b, q, type);
  if (type == FLOAT16 || type == BFLOAT16) {
    round_float(b, twice, FLOAT);
    round_float(b, twice, type);
    need(mpq_equal(twice, q), "by way of float32 it is another number than the nearest");
  }
  rationals_free(twice, 1);
}

/* Is it a constant of floats of 8 bits that no parameter is? */
static bool
is_eighth(const value *v)
{
  const tensor *t = v->constant;
  return v->name != NULL && t != NULL && is_float8(t->type) && !t->initializer && !v->negated;
}

/* q becomes the nearest number of 8 bits, which it must be also by way of float32. */
static void
round_eighth(const builder *b, rational *q, size_t type)
{
  RATIONAL(twice);
  RATIONAL(most);
  mpq_set(&twice, q);
  mpq_set_ui(&most, 1 << 20, 1);
  float8_nearest(&most, type);
  mpq_abs(&twice, &twice);
  need(whole_attribute(b, "saturate", 1) != 0 || mpq_cmp(&twice, &most) <= 0,
       "a number beyond the largest, and saturate is 0");
  mpq_set(&twice, q);
  bool is_float = float_nearest(&twice, FLOAT);
  float8_nearest(q, type);
  float8_nearest(&twice, type);
  need(is_float && mpq_equal(&twice, q), "by way of float32 it is another number than the nearest");
}

/* Cast of such constants, of integers and of truth values. Infinity and NaN stay what they are. */
static void
cast_float(builder *b, size_t to)
{
  const value *x = &b->in[0];
  const tensor *t = x->constant != NULL ? x->constant : numbers_of(b, x);
  rational *out = put_whole(b, to, x->rank, x->dims);
  tensor *made = b->out.constant;
  made->real = true;
  b->net->read[ROUNDED] = true;
  for (size_t f = 0; f < x->count; f++) {
    char odd = odd_entry(x, f);
    need(odd == 0 || !is_float8(to), "an infinite number or NaN becomes a float of 8 bits");
    if (odd != 0) {
      made->odd = made->odd == NULL ? allocate(x->count, 1) : made->odd;
      made->odd[f] = odd;
      continue;
    }
    mpq_set(&out[f], &t->value[x->map[f]]);
    need(t->real || to == FLOAT || to == DOUBLE || is_held(&out[f], DOUBLE), "an integer beyond 2^53");
    (is_float8(to) ? round_eighth : round_cast)(b, &out[f], to);
  }
}

/* Truth values and integers as numbers of another type, which has all of them; of integers the truth is whether they are not 0. */
static void
cast_held(builder *b, long to)
{
  const value *x = &b->in[0];
  if (to == BOOL) {
    lower_cast_activation(b, true);
    return;
  }
  put(b, NULL, x->step, x->map, x->rank, x->dims);
  b->out.at = x->at;
  b->out.inner = x->inner;
  b->out.holds = is_float_type(to) ? HOLDS_FLOATS : HOLDS_INTEGERS;
}

/* Activations and parameters are what they are in any type of floats. Constants become integers, truth values, or float32. */
static void
cast(builder *b, long to)
{
  const value *x = &b->in[0];
  const tensor *t = numbers_of(b, x);
  bool activation = t == NULL && x->constant == NULL, whole = to == INT64 || to == INT32;
  bool constant = t != NULL || (x->constant != NULL && !x->constant->initializer);
  need(!is_float8((size_t)to) || constant, "activations and parameters become no floats of 8 bits");
  need(!activation || x->holds != HOLDS_FLOAT8 || is_float_type(to), "floats of 8 bits become larger floats alone");
  need(x->excluded == NULL || (activation && is_float_type(to)), "entries that are minus infinity become no integers");
  if (activation && x->holds == HOLDS_FLOATS && (whole || to == BOOL)) {
    lower_cast_activation(b, to == BOOL);
    return;
  }
  if (activation && x->holds != HOLDS_FLOATS && (is_float_type(to) || whole || to == BOOL)) {
    cast_held(b, to);
    return;
  }
  if (t == NULL && is_float_type(to) && (x->constant == NULL || x->constant->initializer)) {
    put(b, x->constant, x->step, x->map, x->rank, x->dims);
    b->out.at = x->at;
    b->out.inner = x->inner;
    b->out.excluded = x->excluded;
    b->out.undefined = x->undefined;
    return;
  }
  bool known = t != NULL && (t->type == INT64 || t->type == INT32 || t->type == BOOL);
  if ((is_float_type(to) || is_float8((size_t)to)) && (of_floats(b) || known || is_eighth(x))) {
    cast_float(b, (size_t)to);
    return;
  }
  need((known || of_floats(b)) && (to == INT64 || to == INT32 || to == BOOL),
       "not of constants that become such a type");
  need(!is_odd(x), "an infinite number or NaN becomes another type");
  t = known ? t : x->constant;
  rational *out = put_whole(b, (size_t)to, x->rank, x->dims);
  for (size_t i = 0; i < x->count; i++) {
    const rational *q = &t->value[x->map[i]];
    need(known || is_small(q), "a float that is no whole number up to 2^24");
    mpq_set(&out[i], q);
    if (to == BOOL)
      mpq_set_ui(&out[i], mpq_sgn(q) != 0, 1);
    need_fit(b, mpq_numref(&out[i]), (size_t)to);
  }
}

void
lower_cast(builder *b)
{
  cast(b, whole_attribute(b, "to", 0));
}

/* CastLike: only the type of its second input is read. */
void
lower_cast_like(builder *b)
{
  const node *n = b->node;
  node one = *n;
  need(n->like > 0, "the type of its second input is not known");
  one.n_in = 1;
  b->node = &one;
  cast(b, (long)n->like);
  b->node = n;
}
