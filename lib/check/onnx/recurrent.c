/* LSTM, GRU, RNN: their equations (docs/operators.md) for each time in turn. */
#include "check/onnx/recurrent.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/piecewise.h"
#include "check/onnx/pointwise.h"

#include <string.h>

/* A node, and of its directions the one at hand. */
typedef struct {
  size_t time, rows, inputs, hidden, gates, directions, direction;
} recurrence;

typedef void cell(builder *b, const recurrence *r, size_t time, value *states);

/* ---- Steps, of entries (row, unit) */

/* What input i, a matrix, is multiplied with: 1, the node's x of a time; or 2, a state. Of a matrix that is computed of constants the
 * products were made before, for all rows and units at hand; else they are NULL. */
typedef struct {
  size_t i, from; /* of x, the first entry */
  const value *x;
  size_t units; /* at hand: for each row of x so many entries of the sum */
  value *made;
} multiple;

static size_t
row_length(const recurrence *r, size_t i)
{
  return i == 1 ? r->inputs : r->hidden;
}

/* The products of a row and the weights of the units from `first` on, as a step. */
static void
make_products(builder *b, const recurrence *r, multiple *of, size_t first)
{
  size_t n = row_length(r, of->i), all = r->gates * r->hidden;
  if (of->x == NULL || b->in[of->i].constant != NULL)
    return;
  step *s = add_step(b, PRODUCT, 2 * n, 2, (size_t[]){r->rows, of->units});
  for (size_t f = 0; f < s->n; f++)
    for (size_t j = 0; j < n; j++) {
      factor_source(b, s, f * s->width + 2 * j, &b->in[of->i], (r->direction * all + first + f % of->units) * n + j);
      factor_source(b, s, f * s->width + 2 * j + 1, of->x, of->from + f / of->units * n + j);
    }
  of->made = allocate(1, sizeof *of->made);
  *of->made = b->out;
}

/* How many terms it is of a sum. */
static size_t
n_terms(const builder *b, const recurrence *r, const multiple *of)
{
  return of->x == NULL ? 0 : (of->made != NULL ? 1 : row_length(r, of->i)) + (b->in[3].name != NULL);
}

/* Terms t on of entry f: row o of the direction's matrix times a row of x, and entry o of its half of the bias. */
static size_t
put_row(const builder *b, const recurrence *r, step *s, size_t t, size_t o, const multiple *of, size_t f)
{
  size_t i = of->i, n = row_length(r, i), all = r->gates * r->hidden;
  if (of->x == NULL)
    return t;
  if (of->made != NULL)
    operand(b, s, t++, of->made, f);
  for (size_t j = 0; j < n && of->made == NULL; j++, t++) {
    operand(b, s, t, of->x, of->from + f / of->units * n + j);
    operand(b, s, t, &b->in[i], (r->direction * all + o) * n + j);
  }
  if (b->in[3].name != NULL)
    operand(b, s, t++, &b->in[3], (2 * r->direction + i - 1) * all + o);
  return t;
}

/* For n gates from `first` on: W x + b of that time, but of NONE; R h + b', but of NULL; and `more`, but of NULL. */
static value
put_sum(builder *b, const recurrence *r, size_t first, size_t n, size_t time, const value *h, const value *more)
{
  size_t units = n * r->hidden;
  multiple x = {1, time * r->rows * r->inputs, time != NONE ? &b->in[0] : NULL, units, NULL},
           state = {2, 0, h, units, NULL};
  make_products(b, r, &x, first * r->hidden);
  make_products(b, r, &state, first * r->hidden);
  size_t width = n_terms(b, r, &x) + n_terms(b, r, &state) + (more != NULL);
  step *s = add_step(b, LINEAR, width, 2, (size_t[]){r->rows, units});
  for (size_t f = 0; f < s->n; f++) {
    size_t o = first * r->hidden + f % units, t = f * width;
    t = put_row(b, r, s, t, o, &x, f);
    t = put_row(b, r, s, t, o, &state, f);
    if (more != NULL)
      operand(b, s, t, more, f);
  }
  return b->out;
}

/* a + b, or a - b. */
static value
put_both(builder *b, const recurrence *r, const value *v, const value *w, bool minus)
{
  step *s = add_step(b, LINEAR, 2, 2, (size_t[]){r->rows, r->hidden});
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, 2 * f, v, f);
    operand(b, s, 2 * f + 1, w, f)->coef = minus ? &minus_one : &plus_one;
  }
  return b->out;
}

static value
put_gates(builder *b, const value *sum, bool hyperbolic)
{
  put_logistic(b, sum, hyperbolic);
  return b->out;
}

/* Gate `gate` of a value of n gates, times v. */
static value
put_gated(builder *b, const recurrence *r, const value *gates, size_t n, size_t gate, const value *v)
{
  size_t dims[2] = {r->rows, r->hidden};
  value one = *gates;
  one.rank = 2;
  memcpy(one.dims, dims, sizeof dims);
  one.count = r->rows * r->hidden;
  one.map = index_map(b, 2, dims, (size_t[]){n * r->hidden, 1}, gates->map + gate * r->hidden);
  put_products(b, &one, v, 2, dims);
  return b->out;
}

/* sigmoid of gate `gate` of the sums and its peephole into the state: P has a number for each unit, gate after gate. */
static value
put_peeping(builder *b, const recurrence *r, const value *sum, size_t gate, const value *state)
{
  step *s = add_step(b, LINEAR, 2, 2, (size_t[]){r->rows, r->hidden});
  for (size_t f = 0; f < s->n; f++) {
    size_t unit = f % r->hidden;
    operand(b, s, 2 * f, sum, f / r->hidden * 3 * r->hidden + gate * r->hidden + unit);
    operand(b, s, 2 * f + 1, state, f);
    operand(b, s, 2 * f + 1, &b->in[7], (3 * r->direction + gate) * r->hidden + unit);
  }
  value y = b->out;
  return put_gates(b, &y, false);
}

/* ---- The cells */

/* Where there are peepholes, i and f see the c before, o the new one. */
static void
peeping_cell(builder *b, const recurrence *r, const value *sum, const value *g, value *states)
{
  value in = put_peeping(b, r, sum, 0, &states[1]), keep = put_peeping(b, r, sum, 2, &states[1]);
  value kept = put_gated(b, r, &keep, 1, 0, &states[1]), new = put_gated(b, r, &in, 1, 0, g);
  states[1] = put_both(b, r, &kept, &new, false);
  value out = put_peeping(b, r, sum, 1, &states[1]), bounded = put_gates(b, &states[1], true);
  states[0] = put_gated(b, r, &out, 1, 0, &bounded);
}

/* Gates i, o, f, g: c becomes f c + i g, h becomes o tanh(c). */
static void
lstm_cell(builder *b, const recurrence *r, size_t time, value *states)
{
  value sum = put_sum(b, r, 0, 3, time, &states[0], NULL), own = put_sum(b, r, 3, 1, time, &states[0], NULL);
  value g = put_gates(b, &own, true);
  if (b->in[7].name != NULL) {
    peeping_cell(b, r, &sum, &g, states);
    return;
  }
  value gates = put_gates(b, &sum, false);
  value kept = put_gated(b, r, &gates, 3, 2, &states[1]), new = put_gated(b, r, &gates, 3, 0, &g);
  states[1] = put_both(b, r, &kept, &new, false);
  value bounded = put_gates(b, &states[1], true);
  states[0] = put_gated(b, r, &gates, 3, 1, &bounded);
}

/* Gates z, r, n: h becomes n + z (h - n). */
static void
gru_cell(builder *b, const recurrence *r, size_t time, value *states)
{
  value sum = put_sum(b, r, 0, 2, time, &states[0], NULL), gates = put_gates(b, &sum, false), own;
  if (whole_attribute(b, "linear_before_reset", 0) != 0) {
    value linear = put_sum(b, r, 2, 1, NONE, &states[0], NULL), reset = put_gated(b, r, &gates, 2, 1, &linear);
    own = put_sum(b, r, 2, 1, time, NULL, &reset);
  } else {
    value reset = put_gated(b, r, &gates, 2, 1, &states[0]);
    own = put_sum(b, r, 2, 1, time, &reset, NULL);
  }
  value n = put_gates(b, &own, true), rest = put_both(b, r, &states[0], &n, true);
  value kept = put_gated(b, r, &gates, 2, 0, &rest);
  states[0] = put_both(b, r, &n, &kept, false);
}

static void
rnn_cell(builder *b, const recurrence *r, size_t time, value *states)
{
  value sum = put_sum(b, r, 0, 1, time, &states[0], NULL);
  if (strncmp(text_attribute(b, "activations", "Tanh"), "Relu", 4) == 0)
    put_relu(b, &sum)->turn = r->direction * r->time + time + 1;
  else
    put_logistic(b, &sum, true);
  states[0] = b->out;
}

/* ---- The node */

/* Are the activations, if they are named, the text for each direction? */
static bool
activations_are(const builder *b, const recurrence *r, const char *each)
{
  const char *said = text_attribute(b, "activations", "");
  size_t n = strlen(each);
  bool first = strncmp(said, each, n) == 0;
  return *said == '\0' || (first && r->directions == 1 && said[n] == '\0')
         || (first && r->directions == 2 && said[n] == ' ' && strcmp(said + n + 1, each) == 0);
}

static void
check_weight(const builder *b, size_t i, size_t rank, const size_t *dims)
{
  const value *v = &b->in[i];
  need((v->constant != NULL ? v->constant->real : !is_batch(b, v)) && v->rank == rank
           && memcmp(v->dims, dims, rank * sizeof *dims) == 0,
       "a weight is no constant, or has not the shape that the others ask for");
}

static recurrence
read_node(const builder *b, size_t gates)
{
  const value *x = &b->in[0], *lengths = &b->in[4];
  const char *direction = text_attribute(b, "direction", "forward");
  bool both = strcmp(direction, "bidirectional") == 0;
  need(both || strcmp(direction, "forward") == 0 || strcmp(direction, "reverse") == 0, "an unknown direction");
  need(x->constant == NULL && x->rank == 3 && (!b->net->batched || (is_batch(b, x) && x->at == 1)),
       "its input is no activation of times, batch and features");
  need(b->in[2].rank == 3, "R is no constant of three axes");
  recurrence r = {x->dims[0], x->dims[1], x->dims[2], b->in[2].dims[2], gates, 1 + both, 0};
  check_weight(b, 1, 3, (size_t[]){r.directions, gates * r.hidden, r.inputs});
  check_weight(b, 2, 3, (size_t[]){r.directions, gates * r.hidden, r.hidden});
  if (b->in[3].name != NULL)
    check_weight(b, 3, 2, (size_t[]){r.directions, 2 * gates * r.hidden});
  need(whole_attribute(b, "hidden_size", (long)r.hidden) == (long)r.hidden, "hidden_size is another");
  need(lengths->name == NULL || lengths->constant != NULL, "sequence_lens is no constant");
  for (size_t i = 0; lengths->name != NULL && i < lengths->count; i++)
    need(whole_entry(b, lengths->constant, lengths->map[i]) == (long)r.time, "a sample is shorter than others");
  need(whole_attribute(b, "input_forget", 0) == 0 && find_attribute(b, "clip") == NULL
           && find_attribute(b, "activation_alpha") == NULL && find_attribute(b, "activation_beta") == NULL,
       "input_forget, clip, or parameters of activations");
  const value *peepholes = &b->in[7];
  need(peepholes->name == NULL || peepholes->constant != NULL, "peepholes are no constant");
  if (peepholes->name != NULL)
    check_weight(b, 7, 2, (size_t[]){r.directions, 3 * r.hidden});
  return r;
}

static bool
is_zero(const value *v)
{
  bool none = v->constant != NULL && v->constant->real;
  for (size_t i = 0; none && i < v->count; i++)
    none = mpq_sgn(&v->constant->value[v->map[i]]) == 0;
  return none;
}

/* The direction's state at the beginning: zeros; or entries of input i, the same for all samples if it is constant. Zeros
 * of the model are a number. */
static value
initial_state(builder *b, const recurrence *r, size_t i)
{
  value v = b->in[i];
  size_t n = r->rows * r->hidden, whole[MAX_RANK];
  bool given = v.name != NULL, none = !given || is_zero(&v), moved = given && v.constant == NULL;
  if (given) {
    size_t samples = r->rows * (is_batch(b, &b->in[0]) ? b->net->together : 1);
    whole_run(b, &v, whole);
    need(v.rank == 3 && whole[0] == r->directions && whole[1] == samples && whole[2] == r->hidden,
         "an initial state has not the shape that the weights ask for");
    need(!is_batch(b, &v) || (v.at == 1 && v.inner == b->in[0].inner),
         "an initial state has the batch on another axis");
    need(none || moved || b->net->together == 1 || make_shared(b, &v, 1),
         "an initial state has entries for each sample");
  }
  if (given && none)
    v.constant->number = true;
  step *s = add_step(b, LINEAR, 1, 2, (size_t[]){r->rows, r->hidden});
  s->copy = true;
  for (size_t f = 0; f < s->n; f++)
    if (none)
      s->sources[f].step = PADDING;
    else
      operand(b, s, f, &v, r->direction * n + f);
  return b->out;
}

/* Output k of the node: n states of all directions, which have these axes. */
static void
put_output(builder *b, const recurrence *r, const value *states, size_t rank, const size_t *dims)
{
  size_t n = r->rows * r->hidden;
  step *s = add_step(b, LINEAR, 1, rank, dims);
  s->copy = true;
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, &states[f / n], f % n);
  b->out.at = rank - 2;
  b->out.inner = b->in[0].inner;
}

/* With the batch first, layout 1, axes are exchanged before and behind. */
static void
turn(builder *b, value *v, size_t rank, const long *order)
{
  if (v->name != NULL)
    *v = inner_node(b, "Transpose", 1, v, inner_list("perm", rank, order));
}

static void
lower(builder *b, size_t gates, size_t n_states, cell *next, const char *activations, const char *others)
{
  static const long swapped[] = {1, 0, 2}, to_front[] = {2, 0, 1, 3};
  long layout = whole_attribute(b, "layout", 0);
  need(layout == 0 || layout == 1, "an unknown layout");
  for (size_t i = 0; i < 7 && layout == 1; i += i == 0 ? 5 : 1)
    turn(b, &b->in[i], 3, swapped);
  recurrence r = read_node(b, gates);
  value *all = allocate(r.time * r.directions, sizeof *all), last[2][2], states[2];
  bool reversed = strcmp(text_attribute(b, "direction", "forward"), "reverse") == 0;
  need(activations_are(b, &r, activations) || (others != NULL && activations_are(b, &r, others)), "other activations");
  for (; r.direction < r.directions; r.direction++) {
    bool back = reversed || r.direction == 1;
    for (size_t k = 0; k < n_states; k++)
      states[k] = initial_state(b, &r, 5 + k);
    for (size_t t = 0; t < r.time; t++) {
      size_t time = back ? r.time - 1 - t : t;
      next(b, &r, time, states);
      all[time * r.directions + r.direction] = states[0];
    }
    for (size_t k = 0; k < n_states; k++)
      last[k][r.direction] = states[k];
  }
  for (size_t k = 0; k < n_states; k++)
    if (1 + k < b->node->n_out && *b->node->out[1 + k] != '\0') {
      put_output(b, &r, last[k], 3, (size_t[]){r.directions, r.rows, r.hidden});
      if (layout == 1)
        b->out = inner_node(b, "Transpose", 1, &b->out, inner_list("perm", 3, swapped));
      define(b, b->node->out[1 + k]);
    }
  if (*b->node->out[0] == '\0')
    return;
  put_output(b, &r, all, 4, (size_t[]){r.time, r.directions, r.rows, r.hidden});
  if (layout == 1)
    b->out = inner_node(b, "Transpose", 1, &b->out, inner_list("perm", 4, to_front));
}

void
lower_lstm(builder *b)
{
  lower(b, 4, 2, lstm_cell, "Sigmoid Tanh Tanh", NULL);
}

void
lower_gru(builder *b)
{
  lower(b, 3, 1, gru_cell, "Sigmoid Tanh", NULL);
}

void
lower_rnn(builder *b)
{
  lower(b, 1, 1, rnn_cell, "Tanh", "Relu");
}
