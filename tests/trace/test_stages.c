/* The certification of recorded steps, stage by stage: what each stage leaves, beside the record's own numbers and exact ones. */
#include "recorded.h"
#include "scene.h"

#include <math.h>

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
  OK(clarke_certify_seed(&again, false, &error));
  check_seed(&again);
  ck_assert(again.back.scale == 1); /* numbers are multiplied themselves */
  for (size_t v = 0; v < again.g->n_values; v++) { /* room is made for sums as it is asked for, where a gradient goes */
    const bool goes = v == again.g->output || again.back.carries[v] || (again.g->values[v].constant && clarke_value_is_wrt(again.g, v));
    const bool fresh = again.back.sum[v].error == NULL;
    const clarke_rounding_sum *s = clarke_roundback_target(&again.back, v);

    ck_assert((s != NULL) == goes);
    for (size_t e = 0; goes && fresh && e < again.g->values[v].count * again.pass.n; e++)
      ck_assert(s->error[e] == 0 && s->mass[e] == 0 && s->parts[e] == 0);
  }
  ck_assert(!clarke_roundback_lacks(&again.back));
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
  for (size_t f = 0; f < 2; f++) /* of the first plane, whose entries are the first features */
    ck_assert_uint_eq(clarke_certify_winner(&c.nodes, &c.nodes.g->steps[step], f * c.nodes.pass.n), (size_t)t->integer[f]);
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

/* A trace without a hash is mapped where it stays packed, and only then it is asked whether it stayed what it was. */
START_TEST(mapped_traces)
{
  for (int way = 0; way < 2; way++) {
    clarke_record r;

    clarke_record_init(&r);
    r.packed = way == 1;
    OK(clarke_record_open(&r, CASES "/runs/small-plain", CLARKE_NONE, &error));
    ck_assert(r.trace_bytes.mapped == r.packed);
    OK(clarke_record_stayed(&r, &error));
    r.trace_bytes.changed[1] ^= 1;
    ck_assert_int_eq(clarke_record_stayed(&r, &error), r.packed ? CLARKE_EINPUT : CLARKE_OK);
    clarke_record_clear(&r);
  }
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
  *traced(&c.nodes, "output", "5/view")->name = *traced(&c.nodes, "output", "4/relu")->name = '-';
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
  OK(clarke_certify_seed(&again, false, &error));
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
  ck_assert(off == NULL && again.certificate[again.n - 1].certainty == CLARKE_FOLLOWED);
  again.back.sum[v].error[3] = INFINITY;
  OK(clarke_certify_gradient(&off, &again, v, "Relu", &m, &error));
  ck_assert(off == NULL && again.certificate[again.n - 1].certainty == CLARKE_CANNOT_SAY);
  ck_assert_str_eq(again.certificate[again.n - 1].why, "its gradient was not recorded, and no bound on it is known");
  clarke_matrix_clear(&m);
  free(numbers);
  clarke_certify_clear(&again);
  clarke_certified_clear(&c);
}
END_TEST

/* A parameter's gradient that is the record's own; one with another entry, with and without room for rounding; one that nobody recorded. */
START_TEST(one_parameter)
{
  clarke_certified c;
  clarke_certify again;
  clarke_rounding_sum sum = {.error = NULL};
  const clarke_tensor *t = NULL;
  clarke_matrix m;
  double *numbers;
  size_t q = 0;

  run_record(&c, "small", true);
  begin_again(&again, &c);
  OK(clarke_certify_forward(&again, &error));
  OK(clarke_certify_seed(&again, false, &error));
  while (!again.g->parameters[q].wrt)
    q++;
  t = clarke_tensors_find(again.gradients, again.g->parameters[q].name);
  ck_assert_ptr_nonnull(t);
  ck_assert(clarke_rounding_sum_init(&sum, t->count));
  numbers = calloc(t->count, sizeof *numbers);
  clarke_matrix_init(&m);
  for (int how = 0; how < 3; how++) {
    static const clarke_certainty expected[] = {CLARKE_BIT_EXACT, CLARKE_IS_REFUTED, CLARKE_WITHIN_BOUND};
    const clarke_certificate *made;

    for (size_t e = 0; e < t->count; e++)
      numbers[e] = t->real[e] + (how > 0 && e == 1);
    sum.error[1] = how == 2 ? 2 : 0;
    OK(clarke_matrix_set_doubles(&m, t->count, 1, numbers, &error));
    OK(clarke_certify_parameter(&again, q, &m, &sum, false, &error));
    made = &again.certificate[again.n - 1];
    ck_assert(made->part == CLARKE_PARAMETER && made->certainty == expected[how]);
    ck_assert_str_eq(made->name, again.g->parameters[q].name);
    ck_assert(clarke_matrix_get_double(&m, 1, 0) == numbers[1]); /* its record does not take its place */
  }
  strcpy(((clarke_tensors *)again.gradients)->tensor[t - again.gradients->tensor].name, "x");
  FAILS(clarke_certify_parameter(&again, q, &m, &sum, false, &error), "no floats of the shape of parameter");
  clarke_rounding_sum_clear(&sum);
  clarke_matrix_clear(&m);
  free(numbers);
  clarke_certify_clear(&again);
  clarke_certified_clear(&c);
}
END_TEST

/* Running statistics by their definition, in doubles: each is where it should be, but for rounding; with another share it is not. */
START_TEST(running_statistics)
{
  clarke_run_statistics two[2] = {{.node = "1/native_batch_norm", .mean = "1.running_mean", .variance = "1.running_var", .samples = 1}};
  const clarke_tensor *x, *mean, *variance;
  clarke_certify again;
  clarke_certified c;
  size_t rows;

  run_record(&c, "fresh", true);
  ck_assert_uint_eq(c.record.step->n_statistics, 1);
  x = traced(&c.nodes, "output", "0/convolution");
  mean = traced(&c.nodes, "after", "1.running_mean");
  variance = traced(&c.nodes, "after", "1.running_var");
  rows = x->count / x->dims[0] / 4;
  for (size_t k = 0; k < 4; k++) {
    double sum = 0, squares = 0, n = (double)(rows * x->dims[0]);

    for (size_t e = 0; e < x->count; e++)
      sum += e / rows % 4 == k ? x->real[e] : 0;
    for (size_t e = 0; e < x->count; e++)
      squares += e / rows % 4 == k ? pow(x->real[e] - sum / n, 2) : 0;
    ck_assert_double_eq_tol(mean->real[k], 0.1 * sum / n, 1e-6);
    ck_assert_double_eq_tol(variance->real[k], 0.9 + 0.1 * squares / (n - 1), 1e-6);
  }
  for (int i = 0; i < 4; i++) { /* as it was; another share; twice; what is normalized is not known */
    const clarke_certainty want = i == 0 ? CLARKE_WITHIN_BOUND : i < 3 ? CLARKE_IS_REFUTED : CLARKE_CANNOT_SAY;
    const size_t before = c.nodes.n;

    mpq_init(two[0].momentum);
    mpq_set_d(two[0].momentum, i == 1 ? 0.1 * (1 + 0x1p-8) : 0.1);
    two[1] = two[0];
    again = c.nodes;
    ck_assert(clarke_certify_is_known(&again, value_named(again.g, "0/convolution")));
    if (i == 3) {
      again.rounded.error[value_named(again.g, "0/convolution")][5] = 0x1p-60;
      ck_assert(!clarke_certify_is_known(&again, value_named(again.g, "0/convolution")));
    }
    again.statistics = two;
    again.n_statistics = i == 2 ? 2 : 1;
    OK(clarke_certify_statistics(&(bool){false}, &again, NULL, &error));
    ck_assert_uint_eq(again.n, before + 2);
    for (size_t k = before; k < again.n; k++)
      ck_assert_int_eq(again.certificate[k].certainty, want);
    if (i == 3)
      again.rounded.error[value_named(again.g, "0/convolution")][5] = 0;
    c.nodes.certificate = again.certificate;
    c.nodes.n = again.n;
    c.nodes.capacity = again.capacity;
    mpq_clear(two[0].momentum);
  }
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
  tcase_add_test(tests, mapped_traces);
  tcase_add_test(tests, convolutions);
  tcase_add_test(tests, passed_on);
  tcase_add_test(tests, the_division_of_a_mean);
  tcase_add_loop_test(tests, replaced, 0, 7);
  tcase_add_test(tests, one_gradient);
  tcase_add_test(tests, one_parameter);
  tcase_add_test(tests, running_statistics);
  return all_tests;
}
