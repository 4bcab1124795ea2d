/* The certification of recorded steps, stage by stage: what each stage leaves, beside the record's own numbers and exact ones; and
 * branches, bounds of rounding and operands of sums beside definitions written down here. */
#include "scene.h"

#include "../session/shared.h"
#include "../suites.h"

#include "session/certify.h"
#include "session/gradient.h"
#include "network/reverse.h"
#include "network/sink.h"
#include "trace/rounding_back_step.h"
#include "trace/rounding_loss.h"
#include "trace/sieve.h"
#include "trace/summation.h"

#include <math.h>

static const char *const records[] = {"small", "parted", "own-side", "pooled", "tied", "two-zeros", "bounds", "lemma2"};
#define RECORDS (sizeof records / sizeof records[0])

static void
run_record(clarke_certified *c, const char *name, bool nodes_only)
{
  char folder[256];
  const clarke_certify_request ask = {folder, CLARKE_NONE, nodes_only, false};

  snprintf(folder, sizeof folder, CASES "/runs/%s", name);
  clarke_certified_init(c);
  OK(clarke_certified_run(c, &ask, &error));
}

/* The same question, with nothing found yet. */
static void
begin_again(clarke_certify *to, const clarke_certified *c)
{
  const clarke_certify *asked = &c->nodes;

  clarke_certify_init(to);
  to->g = asked->g;
  to->constants = asked->constants;
  to->x = asked->x;
  to->profile = asked->profile;
  to->loss = asked->loss;
  to->scale = asked->scale;
  to->by = asked->by;
  to->trace = asked->trace;
  to->gradients = asked->gradients;
  to->trace_file = asked->trace_file;
  to->gradients_file = asked->gradients_file;
  to->log_softmax = asked->log_softmax;
  to->seen = calloc(to->trace->n + 1, sizeof *to->seen);
  to->recorded = calloc(to->g->n_values + 1, sizeof *to->recorded);
  to->grad = clarke_matrices_new(to->g->n_values);
}

static clarke_tensor *
traced(const clarke_certify *c, const char *part, const char *name)
{
  char full[256];

  snprintf(full, sizeof full, "%s/%s", part, name);
  for (size_t t = 0; t < c->trace->n; t++)
    if (strcmp(c->trace->tensor[t].name, full) == 0)
      return &c->trace->tensor[t];
  return NULL;
}

static size_t
value_named(const clarke_graph *g, const char *name)
{
  size_t v = 0;

  while (g->values[v].name == NULL || g->values[v].constant || strcmp(g->values[v].name, name) != 0)
    v++;
  return v;
}

static const clarke_certificate *
certificate_of(const clarke_certify *c, clarke_part part, const char *name)
{
  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].part == part && strcmp(c->certificate[i].name, name) == 0)
      return &c->certificate[i];
  ck_abort_msg("no certificate of %s", name);
}

/* --- the stages of certify.h --- */

static void
check_collected(const clarke_certify *c)
{
  const size_t n = c->pass.n;

  for (size_t v = 0; v < c->g->n_values; v++) {
    const clarke_value *value = &c->g->values[v];
    const clarke_tensor *t = !value->constant && value->name != NULL && v != c->g->input ? traced(c, "output", value->name) : NULL;

    ck_assert_int_eq(c->recorded[v] != NULL, t != NULL);
    for (size_t e = 0; t != NULL && e < t->count; e++) /* samples first there, features first here */
      ck_assert(c->recorded[v][e % value->count * n + e / value->count] == t->real[e]);
  }
}

static void
check_begun(const clarke_certify *c)
{
  const clarke_matrix *x = &c->pass.value[c->g->input];

  ck_assert(x->rows * x->cols == c->x->count && x->cols == c->g->samples);
  for (size_t e = 0; e < c->x->count; e++)
    ck_assert(clarke_matrix_get_double(x, e % x->rows, e / x->rows) == c->x->real[e]);
  ck_assert(c->rounded.f == &c->pass && c->rounded.error[c->g->input] != NULL && c->rounded.by.unit == 0x1p-24);
}

/* (softmax - the label's one) scale / n, in doubles. */
static void
check_seed(const clarke_certify *c)
{
  const clarke_matrix *out = &c->pass.value[c->g->output], *grad = &c->grad[c->g->output];
  const double scale = mpq_get_d(c->scale);

  for (size_t j = 0; j < out->cols; j++) {
    double sum = 0;

    for (size_t i = 0; i < out->rows; i++)
      sum += exp(clarke_matrix_get_double(out, i, j));
    for (size_t i = 0; i < out->rows && c->loss->kind == CLARKE_LOSS_CE; i++) {
      const double want = exp(clarke_matrix_get_double(out, i, j)) / sum - (c->loss->y->integer[j] == (int64_t)i);

      ck_assert_double_eq_tol(clarke_matrix_get_double(grad, i, j), want * scale / (double)out->cols, 1e-9);
    }
    for (size_t i = 0; i < out->rows && c->loss->kind == CLARKE_LOSS_SUM; i++)
      ck_assert(clarke_matrix_get_double(grad, i, j) == scale);
  }
}

static void
same_certificates(const clarke_certify *c, const clarke_certify *whole, size_t from, size_t to)
{
  ck_assert(to <= whole->n);
  for (size_t i = from; i < to; i++) {
    const clarke_certificate *a = &c->certificate[i], *b = &whole->certificate[i];

    ck_assert_str_eq(a->name, b->name);
    ck_assert(a->part == b->part && a->certainty == b->certainty && a->entries == b->entries && a->exact == b->exact
              && a->worst == b->worst);
  }
}

START_TEST(stages)
{
  clarke_certified c;
  clarke_certify again;
  size_t constants, outputs, n;

  run_record(&c, records[_i], true);
  begin_again(&again, &c);
  OK(clarke_certify_begin(&again, &error));
  check_begun(&again);
  OK(clarke_certify_collect(&again, &error));
  check_collected(&again);
  OK(clarke_certify_constants(&again, &error));
  constants = again.n;
  for (size_t i = 0; i < constants; i++) { /* what was rearranged has its own numbers, and no operator */
    ck_assert(again.certificate[i].op == NULL && again.certificate[i].certainty == CLARKE_BIT_EXACT);
    ck_assert_ptr_nonnull(traced(&again, "output", again.certificate[i].name));
  }
  same_certificates(&again, &c.nodes, 0, constants);
  clarke_certify_clear(&again);
  begin_again(&again, &c);
  OK(clarke_certify_forward(&again, &error));
  outputs = again.n;
  for (size_t i = constants; i < outputs; i++)
    ck_assert(again.certificate[i].part == CLARKE_OUTPUT && again.certificate[i].op != NULL);
  for (size_t v = 0; v < again.g->n_values; v++)
    for (size_t e = 0; again.recorded[v] != NULL && e < again.g->values[v].count * again.pass.n; e++)
      ck_assert(clarke_matrix_get_double(&again.pass.value[v], e / again.pass.n, e % again.pass.n) == again.recorded[v][e]);
  OK(clarke_certify_windows(&again, &error));
  for (n = outputs; n < again.n; n++)
    ck_assert(again.certificate[n].part == CLARKE_INDICES && again.certificate[n].exact == again.certificate[n].entries);
  if (again.log_softmax != NULL) {
    OK(clarke_certify_log_softmax(&again, &error));
    ck_assert_uint_eq(again.n, n + 2);
    n += 2;
  }
  OK(clarke_certify_seed(&again, &error));
  check_seed(&again);
  clarke_roundback_clear(&again.back);
  for (size_t v = 0; v < again.g->n_values; v++)
    OK(clarke_matrix_resize(&again.grad[v], 0, 0, 1, &error));
  OK(clarke_certify_backward(&again, &error));
  ck_assert_uint_eq(again.n, c.nodes.n);
  same_certificates(&again, &c.nodes, 0, again.n);
  clarke_certify_clear(&again);
  clarke_certified_clear(&c);
}
END_TEST

/* One number of one tensor moved: its own certificate says so, by its index, and no certificate before it. */
START_TEST(one_number_moved)
{
  static const struct {
    const char *part, *name;
    clarke_part of;
    size_t entry;
    const char *index;
  } moved[] = {
    {"output", "0/convolution", CLARKE_OUTPUT, 109, "[1, 0, 0, 1]"}, {"output", "1/relu", CLARKE_OUTPUT, 0, "[0, 0, 0, 0]"},
    {"output", "_log_softmax", CLARKE_OUTPUT, 4, "[1, 1]"},          {"output", "6/t", CLARKE_OUTPUT, 9, "[1, 1]"},
    {"gradient", "8/addmm", CLARKE_GRADIENT, 11, "[3, 2]"},          {"gradient", "_log_softmax", CLARKE_GRADIENT, 5, "[1, 2]"},
    {"gradient", "3/convolution", CLARKE_GRADIENT, 1, "[0, 0, 0, 1]"},
  };
  clarke_certified c;
  const clarke_certificate *of;
  clarke_certify again;
  clarke_tensor *t;

  run_record(&c, "small", true);
  t = traced(&c.nodes, moved[_i].part, moved[_i].name);
  t->real[moved[_i].entry] += 1;
  begin_again(&again, &c);
  OK(clarke_certify_forward(&again, &error));
  OK(clarke_certify_windows(&again, &error));
  OK(clarke_certify_log_softmax(&again, &error));
  OK(clarke_certify_backward(&again, &error));
  of = certificate_of(&again, moved[_i].of, moved[_i].name);
  ck_assert_int_eq(of->certainty, CLARKE_IS_REFUTED);
  ck_assert(of->beyond == 1 && of->has_offender);
  ck_assert_str_eq(of->offender.index, moved[_i].index);
  ck_assert(of->offender.recorded == t->real[moved[_i].entry]);
  for (size_t i = 0; &again.certificate[i] < of && moved[_i].of == CLARKE_OUTPUT; i++)
    ck_assert_int_le(again.certificate[i].certainty, CLARKE_WITHIN_BOUND);
  clarke_certify_clear(&again);
  clarke_certified_clear(&c);
}
END_TEST

/* Winners that are none: not the largest, and of no entry of the window. */
START_TEST(winners_moved)
{
  static const struct {
    int64_t index;
    const char *why;
  } moved[] = {{35, "is of no entry of its window"}, {-1, "is of no entry of its window"}, {1, NULL}};
  clarke_certified c;
  const clarke_certificate *of;
  clarke_certify again;
  clarke_tensor *t;
  size_t step, to;

  run_record(&c, "small", true);
  t = traced(&c.nodes, "indices", "2/max_pool2d_with_indices");
  step = c.nodes.g->values[value_named(c.nodes.g, "2/max_pool2d_with_indices")].producer;
  t->integer[0] = moved[_i].index != 1 ? moved[_i].index : t->integer[0] == 1 ? 0 : 1; /* the first window: 0, 1, 6, 7 */
  begin_again(&again, &c);
  OK(clarke_certify_forward(&again, &error));
  to = again.n;
  OK(clarke_certify_windows(&again, &error));
  ck_assert_uint_eq(again.n, to + 1);
  of = certificate_of(&again, CLARKE_INDICES, "2/max_pool2d_with_indices");
  ck_assert(of->certainty == CLARKE_IS_REFUTED && of->beyond == 1 && of->exact == of->entries - 1);
  ck_assert_ptr_nonnull(strstr(of->why, moved[_i].why != NULL ? moved[_i].why : "a loser was taken as winner: at [0, 0, 0, 0]"));
  if (moved[_i].why == NULL) /* the gradient goes where the record sent it */
    ck_assert_uint_eq(again.slopes.route[step].from[0][0], (size_t)t->integer[0]);
  clarke_certify_clear(&again);
  clarke_certified_clear(&c);
}
END_TEST

/* --- parts of certify.h --- */

START_TEST(certificates_and_tensors)
{
  clarke_certified c;
  clarke_certify again;
  char name[32];

  run_record(&c, "small", true);
  begin_again(&again, &c);
  for (size_t i = 0; i < 50; i++) {
    clarke_certificate *made;

    snprintf(name, sizeof name, "node %zu", i);
    made = clarke_certify_add(&again, (clarke_part)(i % 4), name, i % 2 == 0 ? "Relu" : NULL, &error);
    ck_assert(made == &again.certificate[i] && again.n == i + 1);
  }
  for (size_t i = 0; i < 50; i++) {
    snprintf(name, sizeof name, "node %zu", i);
    ck_assert_str_eq(again.certificate[i].name, name);
    ck_assert(again.certificate[i].part == (clarke_part)(i % 4) && (again.certificate[i].op != NULL) == (i % 2 == 0));
  }
  for (size_t t = 0; t < again.trace->n; t++)
    ck_assert(!again.seen[t]);
  ck_assert_ptr_eq(clarke_certify_find(&again, "output", "1/relu"), traced(&again, "output", "1/relu"));
  ck_assert_ptr_eq(clarke_certify_find(&again, "gradient", "1/relu"), traced(&again, "gradient", "1/relu"));
  ck_assert_ptr_null(clarke_certify_find(&again, "output", "2/relu"));
  for (size_t t = 0; t < again.trace->n; t++)
    ck_assert_int_eq(again.seen[t], strstr(again.trace->tensor[t].name, "/1/relu") != NULL);
  clarke_certify_clear(&again);
  ck_assert(again.n == 0 && again.certificate == NULL && again.seen == NULL);
  clarke_certified_clear(&c);
}
END_TEST

START_TEST(packed_tensors)
{
  clarke_record packed, plain;
  clarke_certify c;
  clarke_tensor *t;

  clarke_record_init(&packed);
  clarke_record_init(&plain);
  packed.packed = true;
  OK(clarke_record_open(&packed, CASES "/runs/small", CLARKE_NONE, &error));
  OK(clarke_record_open(&plain, CASES "/runs/small", CLARKE_NONE, &error));
  clarke_certify_init(&c);
  c.trace = &packed.trace;
  c.seen = calloc(packed.trace.n, sizeof *c.seen);
  t = clarke_certify_find(&c, "output", "1/relu");
  ck_assert(t->packed != NULL && t->real == NULL);
  OK(clarke_certify_unpack(&c, "output", "1/relu", &error));
  OK(clarke_certify_unpack(&c, "output", "no such node", &error));
  OK(clarke_certify_unpack(&c, "output", NULL, &error));
  ck_assert(t->packed == NULL && t->real != NULL);
  for (size_t e = 0; e < t->count; e++)
    ck_assert(t->real[e] == clarke_tensors_find(&plain.trace, "output/1/relu")->real[e]);
  c.trace = &plain.trace;
  clarke_certify_clear(&c);
  clarke_record_clear(&packed);
  clarke_record_clear(&plain);
}
END_TEST

/* Convolutions of several taps: those of "small" alone. */
START_TEST(convolutions)
{
  clarke_certified c;
  const clarke_graph *g;

  run_record(&c, "small", true);
  g = c.nodes.g;
  for (size_t v = 0; v < g->n_values; v++) {
    const char *name = g->values[v].name;

    if (name == NULL || g->values[v].constant)
      continue;
    ck_assert_int_eq(clarke_certify_made_by_conv(g, v), strstr(name, "/convolution") != NULL);
    ck_assert_int_eq(clarke_certify_read_by_conv(g, v), v == g->input || strcmp(name, "2/max_pool2d_with_indices") == 0);
  }
  clarke_certified_clear(&c);
  run_record(&c, "parted", true); /* a kernel of one */
  g = c.nodes.g;
  for (size_t v = 0; v < g->n_values; v++)
    ck_assert(!clarke_certify_made_by_conv(g, v) && !clarke_certify_read_by_conv(g, v));
  clarke_certified_clear(&c);
}
END_TEST

START_TEST(passed_on)
{
  clarke_certified c;
  size_t view, relu;

  run_record(&c, "small", true);
  view = value_named(c.nodes.g, "5/view");
  relu = value_named(c.nodes.g, "4/relu");
  ck_assert(!clarke_certify_is_passed_on(&c.nodes, view)); /* it was recorded */
  ck_assert(!clarke_certify_is_passed_on(&c.nodes, c.nodes.g->input));
  free(c.nodes.recorded[view]);
  free(c.nodes.recorded[relu]);
  c.nodes.recorded[view] = c.nodes.recorded[relu] = NULL;
  ck_assert(clarke_certify_is_passed_on(&c.nodes, view));  /* entries are moved */
  ck_assert(!clarke_certify_is_passed_on(&c.nodes, relu)); /* or computed */
  clarke_certified_clear(&c);
}
END_TEST

/* A mean over everything, as a sum and its division: the loss's own, when nothing was recorded of it. */
START_TEST(the_division_of_a_mean)
{
  clarke_tensor recorded = tensor_of("output/mean", CLARKE_F32, SHAPE(1, ));
  clarke_certify c;
  clarke_model m;
  scene s;
  size_t last;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 4, ));
  model_floats(&m, "four", SHAPE(1, ))[0] = 4;
  model_floats(&m, "b", SHAPE(4, ));
  model_node(&m, "Add", "x,b", "a");
  model_node(&m, "Relu", "a", "r");
  model_node(&m, "Div", "r,four", "mean");
  model_output(&m, "mean");
  s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 4, ));
  clarke_tensor_init(&s.y);
  scene_build(&s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  clarke_certify_init(&c);
  c.g = &s.graph;
  c.loss = &s.loss;
  c.trace = &s.trace;
  c.seen = calloc(2, sizeof *c.seen);
  last = s.graph.values[s.graph.output].producer;
  for (size_t i = 0; i < s.graph.n_steps; i++)
    ck_assert_int_eq(clarke_certify_is_loss(&c, i), i == last);
  s.loss.kind = CLARKE_LOSS_MSE;
  ck_assert(!clarke_certify_is_loss(&c, last));
  s.loss.kind = CLARKE_LOSS_SUM;
  s.trace.tensor = &recorded;
  s.trace.n = 1;
  ck_assert(!clarke_certify_is_loss(&c, last));
  strcpy(recorded.name, "output/none");
  ck_assert(clarke_certify_is_loss(&c, last));
  clarke_tensor_clear(&recorded);
  recorded = tensor_of("gradient/mean", CLARKE_F32, SHAPE(1, ));
  ck_assert(!clarke_certify_is_loss(&c, last));
  s.trace = (clarke_tensors){0};
  clarke_tensor_clear(&recorded);
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* What was recorded takes the place of what was computed; two entries that are a little off may be a convolution's. */
START_TEST(replaced)
{
  static const struct {
    double moved[2];
    bool conv;
    clarke_certainty certainty;
  } known[] = {
    {{0, 0}, false, CLARKE_BIT_EXACT},     {{0.5, 0}, false, CLARKE_WITHIN_BOUND}, {{2, 0}, true, CLARKE_IS_REFUTED},
    {{2, 2}, true, CLARKE_NOT_CERTIFIED},  {{2, 2}, false, CLARKE_IS_REFUTED},     {{2, 1024}, true, CLARKE_NOT_CERTIFIED},
    {{2, 1025}, true, CLARKE_IS_REFUTED},
  };
  clarke_certify c;
  clarke_certificate made;
  clarke_tensor t = tensor_of("output/v", CLARKE_F32, SHAPE(2, 3, )); /* two samples of three */
  double computed[6] = {1, 4, 2, 5, 3, 0x1p-130}, bound[6] = {1, 1, 1, 1, 1, 1}, *off;
  clarke_matrix m;

  for (size_t e = 0; e < 6; e++)
    t.real[e] = (double[]){1, 2, 3, 4, 5, 0x1p-130}[e];
  t.real[0] += known[_i].moved[0];
  t.real[4] += known[_i].moved[1];
  clarke_certify_init(&c);
  ck_assert(clarke_rounding_add_type(&c.by, "float32"));
  clarke_matrix_init(&m);
  OK(clarke_matrix_set_doubles(&m, 3, 2, computed, &error));
  OK(clarke_certificate_init(&made, CLARKE_OUTPUT, "v", "Conv", &error));
  OK(clarke_certify_replace(&off, &c, &made, &t, &m, bound, known[_i].conv, &error));
  ck_assert_int_eq(made.certainty, known[_i].certainty);
  for (size_t e = 0; e < 6; e++) {
    ck_assert(clarke_matrix_get_double(&m, e % 3, e / 3) == t.real[e]);
    ck_assert(off[e] == (e == 5 ? 0x1p-130 : 0)); /* a subnormal may have been read as 0 */
  }
  free(off);
  clarke_matrix_clear(&m);
  clarke_certificate_clear(&made);
  clarke_tensor_clear(&t);
  clarke_certify_clear(&c);
}
END_TEST

/* A gradient that is the record's own; one that is not; one that was not recorded. */
START_TEST(one_gradient)
{
  clarke_certified c;
  clarke_certify again;
  const clarke_tensor *t;
  clarke_matrix m;
  double *off = NULL, *numbers;
  size_t v, rows;

  run_record(&c, "small", true);
  begin_again(&again, &c);
  OK(clarke_certify_forward(&again, &error));
  OK(clarke_certify_seed(&again, &error));
  v = value_named(again.g, "4/relu");
  t = traced(&again, "gradient", "4/relu");
  rows = again.g->values[v].count;
  numbers = calloc(t->count, sizeof *numbers);
  clarke_matrix_init(&m);
  for (int moved = 0; moved < 2; moved++) {
    for (size_t e = 0; e < t->count; e++)
      numbers[e % rows * again.pass.n + e / rows] = t->real[e] + (moved == 1 && e == 7);
    OK(clarke_matrix_set_doubles(&m, rows, again.pass.n, numbers, &error));
    OK(clarke_certify_gradient(&off, &again, v, "Relu", &m, &error));
    ck_assert_int_eq(again.certificate[again.n - 1].certainty, moved ? CLARKE_IS_REFUTED : CLARKE_BIT_EXACT);
    ck_assert_uint_eq(again.certificate[again.n - 1].exact, t->count - (size_t)moved);
    ck_assert(off[7] == 0 && clarke_matrix_get_double(&m, 7, 0) == t->real[7]);
    free(off);
  }
  OK(clarke_matrix_set_doubles(&m, rows - 1, again.pass.n, numbers, &error));
  FAILS(clarke_certify_gradient(&off, &again, v, "Relu", &m, &error), "'gradient/4/relu': expected 140 floats");
  strcpy(traced(&again, "gradient", "4/relu")->name, "gradient/x/relu");
  OK(clarke_certify_gradient(&off, &again, v, "Relu", &m, &error));
  ck_assert(off == NULL && again.certificate[again.n - 1].certainty == CLARKE_CANNOT_SAY);
  ck_assert_str_eq(again.certificate[again.n - 1].why, "its gradient was not recorded");
  clarke_matrix_clear(&m);
  free(numbers);
  clarke_certify_clear(&again);
  clarke_certified_clear(&c);
}
END_TEST

/* --- branches --- */

/* The piece of a number, or the kink it is at, by comparisons. */
static clarke_branch
place_of(const clarke_pieces *p, double x)
{
  clarke_branch piece = 0;

  for (size_t k = 0; k < p->n_kinks; k++) {
    const double kink = mpq_get_d(p->kink[k]);

    if (x == kink)
      return CLARKE_AT(k);
    piece += x > kink;
  }
  return piece;
}

START_TEST(branches_of_kinks)
{
  clarke_branches p;
  clarke_certified c;
  size_t at = 0, asked = 0;

  run_record(&c, records[_i], false);
  clarke_branches_init(&p);
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == c.pattern.n && p.open == 0 && p.unrecorded == 0);
  for (size_t i = 0; i < c.nodes.g->n_steps; i++) {
    const clarke_step *s = &c.nodes.g->steps[i];
    const size_t entries = c.nodes.g->values[s->out].count * c.nodes.pass.n, x = s->in[0].value;

    if (!clarke_step_has_kinks(s))
      continue;
    asked += entries;
    while (s->kind == CLARKE_MAX && at < p.n && p.parted[at].step == i)
      at++;
    for (size_t e = 0; s->kind == CLARKE_PIECEWISE && e < entries; e++) {
      const clarke_branch exact = c.audit.replay.piece[i][e];
      const double number = c.nodes.recorded[x] != NULL ? c.nodes.recorded[x][e]
                                                        : clarke_matrix_get_double(&c.nodes.pass.value[x], e / c.nodes.pass.n, e % c.nodes.pass.n);
      const clarke_branch recorded = place_of(&s->pieces, number);

      if (exact == recorded)
        continue;
      ck_assert(at < p.n && p.parted[at].step == i && p.parted[at].feature == e / c.nodes.pass.n && p.parted[at].sample == e % c.nodes.pass.n);
      ck_assert_int_eq(p.parted[at].kind, exact < 0 ? CLARKE_AT_EXACTLY : recorded < 0 ? CLARKE_AT_RECORDED : CLARKE_OTHER_SIDE);
      at++;
    }
  }
  ck_assert_uint_eq(at, p.n);
  ck_assert_uint_eq(p.asked, asked);
  clarke_branches_clear(&p);
  ck_assert(p.n == 0 && p.parted == NULL && p.asked == 0);
  clarke_certified_clear(&c);
}
END_TEST

START_TEST(branches_of_windows)
{
  static const struct {
    clarke_parting kind;
    size_t feature;
    bool alike;
  } want[] = {{CLARKE_AT_RECORDED, 2, false}, {CLARKE_AT_EXACTLY, 4, false}, {CLARKE_OTHER_SIDE, 0, false}, {CLARKE_AT_RECORDED, 1, true},
              {CLARKE_AT_EXACTLY, 2, true}};
  clarke_certified c;
  clarke_branches p;
  size_t x;

  run_record(&c, "parted", false);
  clarke_branches_init(&p);
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert_uint_eq(p.n, 5);
  for (size_t i = 0; i < 5; i++)
    ck_assert(p.parted[i].kind == want[i].kind && p.parted[i].feature == want[i].feature && p.parted[i].alike == want[i].alike);
  clarke_branches_clear(&p);
  x = value_named(c.nodes.g, "mix/convolution"); /* the relu's arguments are forgotten, and its outputs are there */
  free(c.nodes.recorded[x]);
  c.nodes.recorded[x] = NULL;
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == 3 && p.unrecorded == 6 && p.asked == 9);
  clarke_branches_clear(&p);
  c.audit.replay.piece[c.nodes.g->values[value_named(c.nodes.g, "max_pool2d_with_indices")].producer][0] = CLARKE_OPEN;
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == 2 && p.open == 1);
  clarke_branches_clear(&p);
  clarke_certified_clear(&c);
}
END_TEST

/* The relu of "own-side" is touched exactly; the record has its argument on one side. */
START_TEST(sides)
{
  clarke_certified c;
  const clarke_touch *t;
  clarke_branch *piece;
  bool known;

  run_record(&c, "own-side", false);
  ck_assert_uint_eq(c.audit.replay.n_touches, 1);
  t = &c.audit.replay.touch[0];
  piece = &c.nodes.pass.piece[t->step][0];
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0),
                   c.nodes.recorded[c.nodes.g->steps[t->step].in[0].value][0] > 0 ? CLARKE_RIGHT : CLARKE_LEFT);
  ck_assert(known);
  *piece = 0;
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0), CLARKE_LEFT);
  *piece = 1;
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0), CLARKE_RIGHT);
  *piece = CLARKE_AT(0);
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0), CLARKE_PROXY);
  ck_assert(known);
  *piece = 2;
  clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0);
  ck_assert(!known);
  clarke_certified_clear(&c);
  /* A window: the option that the record names. */
  run_record(&c, "parted", false);
  for (size_t k = 0; k < c.audit.replay.n_touches; k++) {
    const size_t e = c.audit.replay.touch[k].feature * c.nodes.pass.n + c.audit.replay.touch[k].sample;

    t = &c.audit.replay.touch[k];
    for (size_t o = 0; o < t->n_options; o++) {
      c.nodes.slopes.route[t->step].from[0][e] = t->option[o];
      ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, k), CLARKE_OPTION(o));
      ck_assert(known);
    }
    if (t->n_options == 0)
      continue;
    c.nodes.slopes.route[t->step].from[0][e] = c.nodes.g->values[c.nodes.g->steps[t->step].in[0].value].count - 1 - t->option[0];
    clarke_branches_side(&known, &c.nodes, &c.audit.replay, k);
    ck_assert(!known);
  }
  clarke_certified_clear(&c);
}
END_TEST

/* The first kink or window that parts, in the graph's order. */
START_TEST(forks)
{
  clarke_certified a, b;
  clarke_bifurcation at;
  size_t pool, relu;

  run_record(&a, "small", true);
  run_record(&b, "small", true);
  pool = a.nodes.g->values[value_named(a.nodes.g, "2/max_pool2d_with_indices")].producer;
  relu = a.nodes.g->values[value_named(a.nodes.g, "4/relu")].producer;
  ck_assert(!clarke_branches_fork(&at, &a.nodes, &b.nodes));
  b.nodes.pass.piece[relu][6] = (clarke_branch)!b.nodes.pass.piece[relu][6];
  ck_assert(clarke_branches_fork(&at, &a.nodes, &b.nodes));
  ck_assert(at.step == relu && at.feature == 6 / b.nodes.pass.n && at.sample == 6 % b.nodes.pass.n);
  b.nodes.pass.piece[pool][9] = 3; /* of a window the winner counts, not how it came to be */
  ck_assert(clarke_branches_fork(&at, &b.nodes, &a.nodes) && at.step == relu);
  b.nodes.slopes.route[pool].from[0][9]++;
  ck_assert(clarke_branches_fork(&at, &a.nodes, &b.nodes));
  ck_assert(at.step == pool && at.feature == 9 / b.nodes.pass.n && at.sample == 9 % b.nodes.pass.n);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

/* --- rounding, both ways --- */

typedef struct {
  clarke_certified c;
  clarke_forward pass; /* the network's own */
  clarke_slopes slopes;
  clarke_roundoff r;
  clarke_matrix *grad, *gradient;
  double **bound;
} bounds;

static void
begin_bounds(bounds *b, const char *name)
{
  run_record(&b->c, name, false);
  clarke_forward_init(&b->pass);
  clarke_slopes_init(&b->slopes);
  clarke_roundoff_init(&b->r);
  OK(clarke_audit_pass(&b->pass, &b->c.audit, &error));
  OK(clarke_slopes_of_ad(&b->slopes, &b->pass, &b->c.audit.replay, &b->c.audit.profile, &error));
  b->r.f = &b->pass;
  b->r.slopes = &b->slopes;
  b->r.profile = &b->c.audit.profile;
  b->r.loss = &b->c.audit.question.loss;
  b->r.by = b->c.nodes.by;
  b->grad = clarke_matrices_new(b->c.audit.graph.n_values);
  b->gradient = clarke_matrices_new(b->c.audit.graph.n_parameters);
  b->bound = calloc(b->c.audit.graph.n_parameters + 1, sizeof *b->bound);
}

static void
end_bounds(bounds *b)
{
  for (size_t p = 0; p < b->c.audit.graph.n_parameters; p++)
    free(b->bound[p]);
  free(b->bound);
  clarke_matrices_free(b->grad, b->c.audit.graph.n_values);
  clarke_matrices_free(b->gradient, b->c.audit.graph.n_parameters);
  clarke_roundoff_clear(&b->r);
  clarke_slopes_clear(&b->slopes);
  clarke_forward_clear(&b->pass);
  clarke_certified_clear(&b->c);
}

/* What PyTorch computed in float32 is as near to the exact numbers as the bound says, which is not much more than a few roundings. */
START_TEST(bounds_of_outputs)
{
  bounds b;
  clarke_roundoff steps;
  const clarke_graph *g;
  size_t asked = 0;

  begin_bounds(&b, records[_i]);
  g = b.pass.g;
  steps = b.r;
  OK(clarke_roundoff_forward(&b.r, &error));
  OK(clarke_roundoff_begin(&steps, &error));
  for (size_t i = 0; i < g->n_steps; i++)
    if (b.pass.value[g->steps[i].out].rows > 0)
      OK(clarke_roundoff_step(&steps, i, &error));
  for (size_t v = 0; v < g->n_values; v++) {
    const size_t n = b.r.error[v] != NULL ? g->values[v].count * b.pass.n : 0;

    ck_assert_int_eq(b.r.error[v] != NULL, steps.error[v] != NULL);
    if (n > 0)
      ck_assert(memcmp(b.r.error[v], steps.error[v], n * sizeof **steps.error) == 0);
    for (size_t e = 0; e < n && b.c.nodes.recorded[v] != NULL && isfinite(b.r.error[v][e]); e++, asked++) {
      const double exact = clarke_matrix_get_double(&b.pass.value[v], e / b.pass.n, e % b.pass.n);

      ck_assert(fabs(b.c.nodes.recorded[v][e] - exact) <= b.r.error[v][e] + fabs(exact) * 0x1p-50);
      ck_assert(b.r.error[v][e] <= 1e-3);
      ck_assert(b.r.size[v][e] >= fabs(exact));
    }
  }
  ck_assert_uint_gt(asked, 0);
  clarke_roundoff_clear(&steps);
  end_bounds(&b);
}
END_TEST

/* A record beside the pass: what lies within the bounds is counted, the first that does not is named. */
START_TEST(offenders)
{
  bounds b;
  size_t all = 0, v;

  begin_bounds(&b, "small");
  b.r.recorded = b.c.nodes.recorded;
  v = value_named(b.pass.g, "3/convolution");
  OK(clarke_roundoff_forward(&b.r, &error));
  for (size_t k = 0; k < b.pass.g->n_values; k++)
    all += b.c.nodes.recorded[k] != NULL ? b.pass.g->values[k].count * b.pass.n : 0;
  ck_assert(b.r.offender == CLARKE_NONE && b.r.checked == all && b.r.open == 0);
  clarke_roundoff_clear(&b.r);
  b.r.checked = 0;
  b.c.nodes.recorded[v][11] += 1;
  OK(clarke_roundoff_forward(&b.r, &error));
  ck_assert(b.r.offender == v && b.r.offender_entry == 11 && b.r.checked < all);
  end_bounds(&b);
}
END_TEST

static void
run_back(bounds *b)
{
  const clarke_graph *g = b->pass.g;

  OK(clarke_loss_seed(&b->grad[g->output], b->r.loss, &b->pass, NULL, &error));
  OK(clarke_reverse_run(b->grad, &b->pass, &b->slopes, CLARKE_NONE, clarke_gradient_sink, b->gradient, &error));
}

/* The pass back by hand: the same sums as the whole has. */
static void
step_back(bounds *b, double scale)
{
  const clarke_graph *g = b->pass.g;
  clarke_roundback back;

  OK(clarke_roundback_begin(&back, &b->r, b->grad, scale, &error));
  clarke_roundback_seed(&back);
  for (size_t i = g->n_steps; i-- > 0;)
    if (b->grad[g->steps[i].out].rows > 0)
      OK(clarke_roundback_step(&back, i, NULL, &error));
  for (size_t q = 0; q < g->n_parameters; q++) {
    clarke_rounding_sum whole = {NULL, NULL, 0};
    double terms = 0;

    if (!g->parameters[q].wrt)
      continue;
    ck_assert(clarke_rounding_sum_init(&whole, g->parameters[q].count));
    for (size_t v = 0; v < g->n_values; v++)
      if (g->values[v].constant && g->values[v].parameter == q && back.sum[v].error != NULL) {
        clarke_roundback_fold(&whole, &back, v);
        terms += back.sum[v].terms;
      }
    ck_assert(whole.terms == terms);
    for (size_t e = 0; e < g->parameters[q].count; e++)
      ck_assert(clarke_roundback_bound(&back, &whole, e, CLARKE_ROUNDBACK_SPARE_NORMALIZED) == b->bound[q][e]);
    clarke_rounding_sum_clear(&whole);
    ck_assert(whole.error == NULL && whole.mass == NULL && whole.terms == 0);
  }
  clarke_roundback_clear(&back);
  ck_assert(back.sum == NULL && back.reads == NULL);
}

/* The same of the gradient in the parameters; and its pass, step by step. */
START_TEST(bounds_of_gradients)
{
  bounds b;
  const clarke_graph *g;
  double scale;

  begin_bounds(&b, records[_i]);
  g = b.pass.g;
  scale = clarke_roundoff_size_of(b.c.record.step->scale);
  b.r.recorded = b.c.nodes.recorded;
  OK(clarke_roundoff_forward(&b.r, &error));
  ck_assert_uint_eq(b.r.offender, CLARKE_NONE);
  clarke_roundoff_reroute(&b.r);
  run_back(&b);
  OK(clarke_roundoff_backward(b.bound, &b.r, b.grad, scale, &error));
  for (size_t q = 0; q < g->n_parameters; q++) {
    const clarke_tensor *t = clarke_tensors_find(&b.c.record.gradients, g->parameters[q].name);

    for (size_t e = 0; g->parameters[q].wrt && e < g->parameters[q].count; e++) {
      const double exact = b.gradient[q].rows > 0 ? clarke_matrix_get_double(&b.gradient[q], e, 0) * mpq_get_d(b.c.record.step->scale) : 0;

      if (isfinite(b.bound[q][e])) /* else a branch may have been turned */
        ck_assert(fabs(t->real[e] - exact) <= b.bound[q][e] + fabs(exact) * 0x1p-48);
      if (_i == 0) /* "small" */
        ck_assert(b.bound[q][e] < 0.1 && b.bound[q][e] >= fabs(exact) * 0x1p-24);
    }
  }
  step_back(&b, scale);
  end_bounds(&b);
}
END_TEST

/* A step's rule by the sums it leaves: of a Relu each entry's error times the slope that it may have met. */
START_TEST(the_rule_of_a_relu)
{
  clarke_roundback back;
  bounds b;
  size_t step, x, n;

  begin_bounds(&b, "small");
  OK(clarke_roundoff_forward(&b.r, &error));
  run_back(&b);
  step = b.pass.g->values[value_named(b.pass.g, "4/relu")].producer;
  x = b.pass.g->steps[step].in[0].value;
  OK(clarke_roundback_begin(&back, &b.r, b.grad, 1, &error));
  back.s = &b.pass.g->steps[step];
  back.count = b.pass.g->values[back.s->out].count;
  n = back.count * back.n;
  back.size = clarke_roundoff_sizes(&b.grad[back.s->out]);
  back.error = calloc(n, sizeof *back.error);
  for (size_t e = 0; e < n; e++)
    back.error[e] = 0.25 * (double)(e % 3);
  OK(clarke_roundback_rule(&back, &error));
  for (size_t e = 0; e < n; e++) {
    const double argument = clarke_matrix_get_double(&b.pass.value[x], e / back.n, e % back.n);

    ck_assert(fabs(argument) > b.r.error[x][e]); /* no branch of these may have turned */
    ck_assert(back.sum[x].error[e] >= (argument > 0 ? back.error[e] : 0));
    ck_assert(back.sum[x].error[e] <= (argument > 0 ? back.error[e] * (1 + 1e-9) + back.size[e] * 1e-6 : 1e-300));
    ck_assert(argument < 0 || back.sum[x].mass[e] >= back.size[e]);
  }
  free(back.size);
  free(back.error);
  clarke_roundback_clear(&back);
  end_bounds(&b);
}
END_TEST

/* Sums are made once, and bounds grow with all three of a sum's parts. */
START_TEST(sums)
{
  clarke_roundoff r;
  const clarke_roundback b = {.r = &r};
  clarke_rounding_sum s = {NULL, NULL, 0};
  double *there, before;

  clarke_roundoff_init(&r);
  ck_assert(clarke_rounding_add_type(&r.by, "float32"));
  ck_assert(clarke_rounding_sum_init(&s, 3));
  there = s.error;
  s.error[2] = 0.5;
  s.mass[2] = 8;
  s.terms = 4;
  ck_assert(clarke_rounding_sum_init(&s, 100) && s.error == there && s.error[2] == 0.5);
  before = clarke_roundback_bound(&b, &s, 2, 4);
  ck_assert(before >= 0.5 + 8 * 8 * 0x1p-24 && before <= 0.5 + 8.1 * 8 * 0x1p-24);
  ck_assert(clarke_roundback_bound(&b, &s, 2, 5) > before && clarke_roundback_bound(&b, &s, 0, 4) < 1e-30);
  s.mass[2] = INFINITY;
  ck_assert(isinf(clarke_roundback_bound(&b, &s, 2, 4)));
  s.mass[2] = NAN;
  ck_assert(isinf(clarke_roundback_bound(&b, &s, 2, 4)));
  clarke_rounding_sum_clear(&s);
}
END_TEST

/* Which slopes of a relu a computed argument may have met. */
START_TEST(reaches)
{
  clarke_reach reach;
  bounds b;
  size_t step, x;

  begin_bounds(&b, "small");
  OK(clarke_roundoff_forward(&b.r, &error));
  step = b.pass.g->values[value_named(b.pass.g, "4/relu")].producer;
  x = b.pass.g->steps[step].in[0].value;
  for (size_t e = 0; e < b.pass.g->values[x].count * b.pass.n; e++) {
    const double argument = clarke_matrix_get_double(&b.pass.value[x], e / b.pass.n, e % b.pass.n), own = b.r.error[x][e];

    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(!reach.open && reach.apart == 0 && fabs(reach.steepest - (argument > 0)) < 1e-12);
    b.r.error[x][e] = 2 * fabs(argument); /* now it may have been on either side */
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(reach.open && fabs(reach.steepest - 1) < 1e-12 && fabs(reach.apart - 1) < 1e-12);
    b.r.error[x][e] = INFINITY;
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(reach.open && isinf(reach.steepest) && isinf(reach.apart));
    b.r.error[x][e] = 2 * fabs(argument);
    b.r.recorded = b.c.nodes.recorded; /* or it was recorded where it is */
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(!reach.open && reach.apart == 0);
    b.r.recorded = NULL;
    b.r.error[x][e] = own;
  }
  end_bounds(&b);
}
END_TEST

/* The first largest of a window's recorded numbers; and a gradient that goes to it where the window's entries are one function. */
START_TEST(winners)
{
  bounds b;
  const clarke_step *s;
  size_t step, x, entries;

  begin_bounds(&b, "small");
  b.r.recorded = b.c.nodes.recorded;
  step = b.pass.g->values[value_named(b.pass.g, "2/max_pool2d_with_indices")].producer;
  s = &b.pass.g->steps[step];
  x = s->in[0].value;
  entries = b.pass.g->values[s->out].count * b.pass.n;
  for (size_t e = 0; e < entries; e++) {
    const size_t j = e % b.pass.n, *map = s->in[0].map + e / b.pass.n * s->width;
    double most = -INFINITY;
    size_t first = CLARKE_NONE;

    for (size_t i = 0; i < s->width; i++)
      most = map[i] != CLARKE_NONE ? fmax(most, b.r.recorded[x][map[i] * b.pass.n + j]) : most;
    for (size_t i = s->width; i-- > 0;)
      if (map[i] != CLARKE_NONE && b.r.recorded[x][map[i] * b.pass.n + j] == most)
        first = map[i];
    ck_assert_uint_eq(clarke_roundoff_winner(&b.r, s, e), first);
  }
  clarke_roundoff_reroute(&b.r); /* winners are AD's own: nothing moves */
  for (size_t e = 0; e < entries; e++) {
    const size_t j = e % b.pass.n, own = b.slopes.route[step].from[0][e];
    size_t winner;

    ck_assert(own == CLARKE_NONE || own == clarke_roundoff_winner(&b.r, s, e)
              || clarke_matrix_compare_entries(&b.pass.value[x], own, clarke_roundoff_winner(&b.r, s, e), j) != 0);
    if (b.pass.piece[step][e] < 0 || own == CLARKE_NONE)
      continue;
    /* The record names another entry of the window: taken where it is exactly as large, and else not. */
    winner = s->in[0].map[e / b.pass.n * s->width] == own ? s->in[0].map[e / b.pass.n * s->width + 1] : s->in[0].map[e / b.pass.n * s->width];
    b.c.nodes.recorded[x][winner * b.pass.n + j] = 1e9;
    clarke_roundoff_reroute(&b.r);
    ck_assert_uint_eq(b.slopes.route[step].from[0][e],
                      clarke_matrix_compare_entries(&b.pass.value[x], own, winner, j) == 0 ? winner : own);
  }
  end_bounds(&b);
}
END_TEST

/* --- operands of sums --- */

/* The products that an entry is the sum of give it, in doubles, but for float32's rounding. */
START_TEST(operands)
{
  clarke_certified c;
  size_t found = 0;

  run_record(&c, records[_i], true);
  for (size_t i = 0; i < c.nodes.n; i++) {
    const clarke_certificate *of = &c.nodes.certificate[i];
    const clarke_tensor *t = of->part == CLARKE_PARAMETER ? clarke_tensors_find(c.nodes.gradients, of->name)
                                                          : traced(&c.nodes, clarke_part_name(of->part), of->name);
    const char *why = NULL;
    clarke_sum_operands o;
    double *p, *q;

    OK(clarke_sum_operands_find(&o, &why, &c.nodes, of->part, of->name, &error));
    p = calloc(o.leaves + 1, sizeof *p);
    q = calloc(o.leaves + 1, sizeof *q);
    for (size_t k = 0; why == NULL && k < t->count; k++) {
      double sum = 0, mass = 0;

      clarke_sum_operands_take(p, q, &o, k);
      for (size_t l = 0; l < o.leaves; l++) {
        sum += p[l] * q[l];
        mass += fabs(p[l] * q[l]);
      }
      ck_assert(fabs(sum / o.divisor - t->real[k]) <= ((double)o.leaves + 4) * 0x1p-24 * mass);
    }
    found += why == NULL;
    if (why != NULL)
      ck_assert_uint_gt(strlen(why), 5);
    if (of->op != NULL && strcmp(of->op, "Relu") == 0 && of->part == CLARKE_OUTPUT)
      ck_assert_ptr_nonnull(why);
    free(p);
    free(q);
    clarke_sum_operands_clear(&o);
    ck_assert(o.own == NULL && o.start == NULL && o.reader == NULL);
  }
  ck_assert(found > 0 || _i >= 5);
  ck_assert(_i != 0 || found == 15);
  clarke_certified_clear(&c);
}
END_TEST

/* The trees once more, of certificates that have none yet. */
static void
explain(clarke_certified *c)
{
  for (size_t i = 0; i < c->nodes.n; i++) {
    c->nodes.certificate[i].tree = CLARKE_NO_TREE;
    free(c->nodes.certificate[i].tree_why);
    c->nodes.certificate[i].tree_why = NULL;
  }
  OK(clarke_summation_explain(&c->nodes, &c->record.trees, "trees", &error));
}

/* Recorded trees explain what is within the bound; not another's numbers, and not what is refuted. */
START_TEST(trees)
{
  clarke_certified c;
  clarke_certificate *of;
  clarke_tensor *t;
  double own;

  run_record(&c, "small-trees", true);
  of = (clarke_certificate *)certificate_of(&c.nodes, CLARKE_OUTPUT, "6/addmm");
  ck_assert(of->certainty == CLARKE_BY_TREE && of->tree == CLARKE_TREE_EXPLAINS);
  t = traced(&c.nodes, "output", "6/addmm");
  own = t->real[3];
  t->real[3] = (double)nextafterf((float)own, 1e9f);
  of->certainty = CLARKE_WITHIN_BOUND;
  FAILS(clarke_summation_explain(&c.nodes, &c.record.trees, "trees", &error), "is there twice");
  explain(&c);
  ck_assert(of->certainty == CLARKE_WITHIN_BOUND && of->tree == CLARKE_TREE_DOES_NOT && of->tree_why != NULL);
  t->real[3] = own;
  of->certainty = CLARKE_IS_REFUTED;
  explain(&c);
  ck_assert_int_eq(of->certainty, CLARKE_IS_REFUTED);
  of->certainty = CLARKE_WITHIN_BOUND;
  explain(&c);
  ck_assert(of->certainty == CLARKE_BY_TREE && of->tree == CLARKE_TREE_EXPLAINS);
  clarke_certified_clear(&c);
}
END_TEST

/* --- the sieve --- */

/* Doubles alone: the exact answers, or less; what they leave open is said so. */
START_TEST(sieved)
{
  clarke_certified c;
  clarke_certify fast;
  bool decided;

  run_record(&c, records[_i], true);
  begin_again(&fast, &c);
  OK(clarke_sieve_run(&decided, &fast, &error));
  ck_assert(_i > 1 || decided);
  for (size_t i = 0; decided && i < fast.n; i++) {
    const clarke_certificate *a = &fast.certificate[i], *b = certificate_of(&c.nodes, a->part, a->name);

    ck_assert(a->entries == b->entries && a->exact <= b->exact && a->certainty >= b->certainty);
    ck_assert(a->certainty <= CLARKE_WITHIN_BOUND && a->worst >= b->worst * (1 - 1e-9));
  }
  clarke_certify_clear(&fast);
  traced(&c.nodes, "output", certificate_of(&c.nodes, CLARKE_OUTPUT, c.nodes.g->values[c.nodes.g->output].name)->name)->real[0] += 1;
  begin_again(&fast, &c);
  OK(clarke_sieve_run(&decided, &fast, &error));
  ck_assert(!decided);
  clarke_certify_clear(&fast);
  clarke_certified_clear(&c);
}
END_TEST

/* Its two passes by hand: each value near what was recorded, within its slack and the bound of its certificate. */
START_TEST(passes_of_the_sieve)
{
  clarke_certified c;
  clarke_certify fast;
  clarke_sieve s;
  size_t values, forward;

  run_record(&c, "small", true);
  begin_again(&fast, &c);
  OK(clarke_certify_begin(&fast, &error));
  values = fast.g->n_values + 1;
  s = (clarke_sieve){.c = &fast, .g = fast.g, .n = fast.pass.n, .value = calloc(values, sizeof *s.value),
                     .grad = calloc(values, sizeof *s.grad), .carries = calloc(values, sizeof *s.carries),
                     .winner = calloc(fast.g->n_steps + 1, sizeof *s.winner)};
  clarke_reverse_carriers(s.carries, fast.g, CLARKE_NONE);
  OK(clarke_sieve_forward(&s, &error));
  ck_assert(!s.open);
  forward = fast.n;
  for (size_t i = 0; i < forward; i++)
    ck_assert(fast.certificate[i].part == CLARKE_OUTPUT || fast.certificate[i].part == CLARKE_INDICES);
  for (size_t v = 0; v < fast.g->n_values; v++)
    for (size_t e = 0; c.nodes.recorded[v] != NULL && s.value[v].near != NULL && e < fast.g->values[v].count * s.n; e++)
      ck_assert_double_eq_tol(s.value[v].near[e], c.nodes.recorded[v][e], 1e-5);
  OK(clarke_sieve_backward(&s, &error));
  ck_assert(!s.open && fast.n > forward);
  for (size_t i = forward; i < fast.n; i++) {
    const clarke_certificate *b = certificate_of(&c.nodes, fast.certificate[i].part, fast.certificate[i].name);

    ck_assert(fast.certificate[i].certainty >= b->certainty && fast.certificate[i].certainty <= CLARKE_WITHIN_BOUND);
  }
  for (size_t v = 0; v < fast.g->n_values; v++) {
    clarke_sieved_clear(&s, &s.value[v]);
    clarke_sieved_clear(&s, &s.grad[v]);
  }
  for (size_t k = 0; k < s.rooms; k++)
    free(s.room[k].at);
  free(s.room);
  free(s.value);
  free(s.grad);
  free(s.carries);
  free(s.winner);
  clarke_certify_clear(&fast);
  clarke_certified_clear(&c);
}
END_TEST

MODULE(stages)
{
  TCase *tests = tests_of("stages");

  tcase_add_loop_test(tests, stages, 0, RECORDS);
  tcase_add_loop_test(tests, one_number_moved, 0, 7);
  tcase_add_loop_test(tests, winners_moved, 0, 3);
  tcase_add_test(tests, certificates_and_tensors);
  tcase_add_test(tests, packed_tensors);
  tcase_add_test(tests, convolutions);
  tcase_add_test(tests, passed_on);
  tcase_add_test(tests, the_division_of_a_mean);
  tcase_add_loop_test(tests, replaced, 0, 7);
  tcase_add_test(tests, one_gradient);
  tcase_add_loop_test(tests, branches_of_kinks, 0, RECORDS);
  tcase_add_test(tests, branches_of_windows);
  tcase_add_test(tests, sides);
  tcase_add_test(tests, forks);
  tcase_add_loop_test(tests, bounds_of_outputs, 0, RECORDS);
  tcase_add_test(tests, offenders);
  tcase_add_loop_test(tests, bounds_of_gradients, 0, RECORDS);
  tcase_add_test(tests, the_rule_of_a_relu);
  tcase_add_test(tests, sums);
  tcase_add_test(tests, reaches);
  tcase_add_test(tests, winners);
  tcase_add_loop_test(tests, operands, 0, RECORDS);
  tcase_add_test(tests, trees);
  tcase_add_loop_test(tests, sieved, 0, RECORDS);
  tcase_add_test(tests, passes_of_the_sieve);
  return all_tests;
}
