/* What lower functions call, on a node made by hand. */
#include "node.h"

#include "op/broadcast.h"
#include "op/floats.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/pieces.h"

#include <math.h>

START_TEST(failures_name_the_node)
{
  ck_assert_int_eq(clarke_lower_fail(&low, &error, "%s", "no good"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "net.onnx: node 7 '/y' (LayerNormalization): no good");
  ck_assert_int_eq(clarke_lower_no_memory(&low, &error), CLARKE_ENOMEM);
  says(error.text, "net.onnx");
  ck_assert_int_eq(clarke_lower_too_large(&low, &error), CLARKE_ENOMEM);
  says(error.text, "node 7|--limit entries=N");
}
END_TEST

START_TEST(inputs_are_what_is_asked_for)
{
  const int64_t *list;
  size_t n;

  ck_assert(clarke_lower_has(&low, 0) && clarke_lower_has(&low, 2) && !clarke_lower_has(&low, 3) && !clarke_lower_has(&low, 4));
  ck_assert_ptr_eq(clarke_lower_value(&low, 2), &g.values[2]);
  ck_assert_int_eq(clarke_lower_activation(&low, 0, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_lower_activation(&low, 2, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_lower_activation(&low, 3, &error), CLARKE_EINPUT);
  says(error.text, "input 3 must be an activation, not a constant");
  ck_assert_int_eq(clarke_lower_constant(&low, 2, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_lower_constant(&low, 1, &error), CLARKE_EINPUT);
  says(error.text, "input 1 must hold floats");
  ck_assert_int_eq(clarke_lower_constant(&low, 0, &error), CLARKE_EINPUT);
  says(error.text, "input 0 must be a constant");
  ck_assert_int_eq(clarke_lower_integers(&low, 1, &list, &n, &error), CLARKE_OK);
  ck_assert(n == 3 && list == g.values[1].integer);
  ck_assert_int_eq(clarke_lower_integers(&low, 2, &list, &n, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_lower_integers(&low, 3, &list, &n, &error), CLARKE_EINPUT);
  says(error.text, "input 3 is missing");
}
END_TEST

START_TEST(attributes_have_defaults)
{
  attr_int(&m.nodes[0], "axis", -2);
  attr_float(&m.nodes[0], "alpha", 0.5);
  ck_assert_int_eq(clarke_lower_int(&low, "axis", 7), -2);
  ck_assert_int_eq(clarke_lower_int(&low, "axes", 7), 7);
  ck_assert_int_eq(clarke_lower_int(&low, "alpha", 7), 7); /* of another type */
  ck_assert(clarke_lower_float(&low, "alpha", 7) == 0.5 && clarke_lower_float(&low, "axis", 7) == 7);
}
END_TEST

/* An initializer becomes a parameter when it is used as a weight; one that is a statistic, too, becomes two. */
START_TEST(initializers_become_parameters)
{
  ck_assert_int_eq(clarke_lower_weight(&low, 2, &error), CLARKE_OK);
  ck_assert_uint_eq(g.n_parameters, 0);
  g.values[2].initializer = true;
  g.values[2].name = strdup("scale");
  ck_assert_int_eq(clarke_lower_weight(&low, 2, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_lower_weight(&low, 2, &error), CLARKE_OK);
  ck_assert(g.n_parameters == 1 && g.values[2].parameter == 0);
  ck_assert_str_eq(g.parameters[0].name, "scale");
  ck_assert(g.parameters[0].uses == 2 && g.parameters[0].count == 3 && g.parameters[0].real == g.values[2].real);
  ck_assert_int_eq(clarke_lower_statistic(&low, 2, &error), CLARKE_OK); /* beside the weight, another of its name */
  ck_assert(g.n_parameters == 2 && !g.parameters[0].statistic && g.parameters[1].statistic && g.parameters[1].uses == 1);
  ck_assert_str_eq(g.parameters[1].name, "scale");
  ck_assert(g.parameters[0].uses == 2 && clarke_lower_value(&low, 2)->parameter == 1 && g.parameters[1].real == g.parameters[0].real);
}
END_TEST

/* Values move when one is added, and the shape asked for may be one of theirs. */
START_TEST(shapes_are_taken_before_values_move)
{
  for (size_t k = 0; k < 40; k++) {
    const clarke_value *last = &g.values[k == 0 ? 0 : g.n_values - 1];
    clarke_step *s = clarke_lower_step(&low, CLARKE_SUM, 1, last->rank, last->dims, &error);

    ck_assert_ptr_nonnull(s);
    ck_assert(g.values[s->out].rank == 3 && g.values[s->out].count == 24 && g.values[s->out].dims[1] == 3);
  }
}
END_TEST

/* An activation of a constant's entries, in some order; where all inputs are constants the first becomes one, whose batch is where it
 * has one sample's entries for each. */
START_TEST(constants_become_activations)
{
  static size_t alone[] = {2, 2}, one[] = {2};
  static const double rows[] = {1, 2, 1, 2}, others[] = {1, 2, 1, 3};
  const clarke_value *v;
  size_t *turned = calloc(2, sizeof *turned), value;

  turned[0] = 2;
  memcpy(g.values[2].real, (double[]){1, 2, 3}, 3 * sizeof(double));
  ck_assert_int_eq(clarke_lower_lifted(&low, 2, 1, (const size_t[]){2}, turned, &value, &error), CLARKE_OK);
  ck_assert(!g.values[value].constant && g.values[value].count == 2 && g.steps[0].kind == CLARKE_SUM && g.steps[0].in[0].map[1] == CLARKE_NONE);
  ck_assert(g.steps[0].in[1].value == 2 && g.steps[0].in[1].map[0] == 2 && g.steps[0].in[1].coef == 1);
  ck_assert_int_eq(clarke_lower_lift(&low, &error), CLARKE_OK); /* an activation is there already */
  ck_assert_int_eq(clarke_lower_lift_first(&low, &error), CLARKE_OK);
  ck_assert_uint_eq(g.n_steps, 1);
  low.in = (size_t[]){2, 0};
  low.n_in = 2;
  ck_assert_int_eq(clarke_lower_lift(&low, &error), CLARKE_OK); /* not all are constants */
  ck_assert_int_eq(clarke_lower_lift_given(&low, &error), CLARKE_OK);
  ck_assert(low.in[0] == 2 && g.n_steps == 1);
  ck_assert_int_eq(clarke_lower_lift_first(&low, &error), CLARKE_OK);
  ck_assert(low.in[0] == g.n_values - 1 && g.n_steps == 2 && g.steps[1].kind == CLARKE_SUM);
  low.in = alone;
  low.n_in = 2;
  g.values[2].negated = true;
  ck_assert_int_eq(clarke_lower_lift(&low, &error), CLARKE_OK);
  v = clarke_lower_value(&low, 0);
  ck_assert(!v->constant && v->batch.none && v->rank == 1 && v->count == 3 && alone[1] == 2 && g.steps[2].in[1].coef == -1);
  low.in = (size_t[]){2, CLARKE_NONE, 2};
  low.n_in = 3;
  ck_assert_int_eq(clarke_lower_lift(&low, &error), CLARKE_OK); /* one is left out */
  ck_assert(low.in[0] == 2 && g.n_steps == 3);
  ck_assert_int_eq(clarke_lower_lift_given(&low, &error), CLARKE_OK);
  ck_assert(low.in[0] == g.n_values - 1 && g.n_steps == 4);
  for (int same = 0; same < 2; same++) {
    low.in = one;
    low.n_in = 1;
    one[0] = 2;
    g.together = g.samples = 2;
    free(g.values[2].real);
    set_value(2, true, 2, (const size_t[]){2, 2});
    g.values[2].real = malloc(sizeof rows);
    memcpy(g.values[2].real, same ? rows : others, sizeof rows);
    ck_assert_int_eq(clarke_lower_lift(&low, &error), CLARKE_OK);
    v = clarke_lower_value(&low, 0);
    ck_assert(v->batch.none == (same == 0) && v->count == (same ? 2 : 4) && v->batch.axis == 0);
  }
  one[0] = 1;
  ck_assert_int_eq(clarke_lower_lift(&low, &error), CLARKE_EINPUT);
  says(error.text, "input 0 must hold floats");
}
END_TEST

/* Of numbers and integers alone a sum is computed; of what may be a parameter it is not. */
START_TEST(computed_of_constants)
{
  static size_t integers[] = {1, 1}, floats[] = {2, 2}, both[] = {1, 2};
  bool computed;

  free(m.nodes[0].op_type);
  m.nodes[0].op_type = strdup("Add");
  low.n_in = 2;
  g.values[1].dtype = CLARKE_I64;
  g.values[1].integer[2] = 7;
  g.values[2].dtype = CLARKE_F32;
  g.values[2].real[0] = 0.25;
  low.in = integers;
  ck_assert(clarke_lower_computes_integers(&low));
  ck_assert_int_eq(clarke_lower_computed(&low, &computed, &error), CLARKE_OK);
  ck_assert(computed && g.values[g.n_values - 1].integer[2] == 14);
  low.in = floats;
  ck_assert(!clarke_lower_computes_integers(&low));
  ck_assert_int_eq(clarke_lower_computed(&low, &computed, &error), CLARKE_OK);
  ck_assert(computed && g.values[g.n_values - 1].real[0] == 0.5);
  low.in = both;
  ck_assert_int_eq(clarke_lower_computed(&low, &computed, &error), CLARKE_OK);
  ck_assert(!computed);
  low.in = floats;
  g.values[2].initializer = true;
  ck_assert_int_eq(clarke_lower_computed(&low, &computed, &error), CLARKE_OK);
  ck_assert(!computed && !clarke_lower_computes_integers(&low));
}
END_TEST

/* A mask, and what it chooses among: numbers that are computed with, all of one type. */
START_TEST(masks_choose)
{
  static size_t floats[] = {1, 2, 2}, integers[] = {1, 1, 1}, mixed[] = {1, 1, 2};

  g.values[1].dtype = CLARKE_BOOL;
  g.values[2].dtype = CLARKE_F32;
  low.n_in = 3;
  low.in = floats;
  ck_assert(clarke_lower_of_truths(&low, 0) && clarke_lower_chooses_floats(&low) && !clarke_lower_chooses_integers(&low));
  low.in = integers;
  ck_assert(!clarke_lower_chooses_floats(&low) && clarke_lower_chooses_integers(&low));
  low.in = mixed;
  ck_assert(!clarke_lower_chooses_floats(&low) && !clarke_lower_chooses_integers(&low));
  g.values[1].dtype = CLARKE_I64;
  low.in = integers;
  ck_assert(!clarke_lower_of_truths(&low, 0) && !clarke_lower_chooses_integers(&low));
  ck_assert(!clarke_lower_computes_integers(&low)); /* of LayerNormalization there is no rule */
}
END_TEST

/* A constant of one number everywhere, or of zeros that the caller fills; of no entries, or too many, there is none. */
START_TEST(constants_are_made)
{
  static const size_t shape[] = {2, 3}, none[] = {2, 0}, many[] = {1 << 10, 1 << 10};
  const clarke_value *v;
  int64_t *out;

  ck_assert_int_eq(clarke_lower_floats_filled(&low, CLARKE_F32, 2, shape, -0.75, &error), CLARKE_OK);
  v = &g.values[g.n_values - 1];
  ck_assert(v->constant && v->rank == 2 && v->dims[0] == 2 && v->dims[1] == 3 && v->dtype == CLARKE_F32 && v->parameter == CLARKE_NONE);
  for (size_t i = 0; i < 6; i++)
    ck_assert(v->real[i] == -0.75);
  ck_assert_int_eq(clarke_lower_floats_filled(&low, CLARKE_F32, 2, none, 0, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_lower_floats_filled(&low, CLARKE_F32, 2, many, 0, &error), CLARKE_EINPUT);
  out = clarke_lower_integers_made(&low, CLARKE_I32, 2, shape, &error);
  v = &g.values[g.n_values - 1];
  ck_assert(out != NULL && v->integer == out && v->real == NULL && v->constant && v->count == 6 && v->dtype == CLARKE_I32);
  for (size_t i = 0; i < 6; i++)
    ck_assert_int_eq(out[i], 0);
  ck_assert_ptr_null(clarke_lower_integers_made(&low, CLARKE_I64, 2, none, &error));
  says(error.text, "1 to 65536 integers");
  ck_assert_ptr_null(clarke_lower_integers_made(&low, CLARKE_I64, 2, many, &error));
}
END_TEST

/* Lists of floats one after another; sums along an axis, which must be whole. */
START_TEST(floats_are_listed)
{
  static size_t twice[] = {2, 2}, one[] = {2, 1};
  static const double list[] = {1, 2, -3}, sums[] = {1, 3, 0};
  const clarke_value *out;

  g.values[2].dtype = CLARKE_F32;
  memcpy(g.values[2].real, list, sizeof list);
  low.n_in = 2;
  low.in = twice;
  attr_int(&m.nodes[0], "axis", 0);
  ck_assert_int_eq(clarke_lower_floats_joined(&low, &error), CLARKE_OK);
  out = &g.values[g.n_values - 1];
  ck_assert(out->count == 6 && memcmp(out->real, list, sizeof list) == 0 && memcmp(out->real + 3, list, sizeof list) == 0);
  low.in = one;
  ck_assert_int_eq(clarke_lower_floats_running(&low, 0, &error), CLARKE_OK);
  ck_assert_mem_eq(g.values[g.n_values - 1].real, sums, sizeof sums);
  g.values[2].real[1] = 0.5;
  ck_assert_int_eq(clarke_lower_floats_running(&low, 0, &error), CLARKE_EINPUT);
  says(error.text, "entry 1: the sum is no whole number");
}
END_TEST

/* A number's nearest of each type: of two the even one; too large ones are infinite, and below the normal ones digits are lost. */
START_TEST(floats_are_rounded)
{
  static const struct {
    double x;
    clarke_dtype type;
    double y;
  } all[] = {
    {0x1.003p0, CLARKE_F16, 0x1.004p0}, {0x1.002p0, CLARKE_F16, 1},         {0x1.006p0, CLARKE_F16, 0x1.008p0},
    {-65519, CLARKE_F16, -65504},       {65520, CLARKE_F16, INFINITY},      {0x1p-25, CLARKE_F16, 0},
    {0x1.8p-25, CLARKE_F16, 0x1p-24},   {0x1.01p0, CLARKE_BF16, 1},         {0x1.03p0, CLARKE_BF16, 0x1.04p0},
    {0x1.000001p0, CLARKE_F32, 1},      {0x1.000003p0, CLARKE_F32, 0x1.000004p0}, {0x1p128, CLARKE_F32, INFINITY},
    {0.1, CLARKE_F32, (double)0.1f},    {0.1, CLARKE_F64, 0.1},             {-INFINITY, CLARKE_F16, -INFINITY},
  };

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    ck_assert_msg(clarke_floats_nearest(all[i].x, all[i].type) == all[i].y, "%zu", i);
  ck_assert(clarke_floats_are(CLARKE_F16) && clarke_floats_are(CLARKE_F64) && !clarke_floats_are(CLARKE_I64));
}
END_TEST

/* A type has all whole numbers up to 2^digits, of which no more than 2^24 are taken. */
START_TEST(floats_that_are_whole)
{
  ck_assert(clarke_floats_whole(1 << 24, CLARKE_F32) && !clarke_floats_whole((1 << 24) + 1, CLARKE_F64));
  ck_assert(clarke_floats_whole(-2048, CLARKE_F16) && !clarke_floats_whole(2049, CLARKE_F16) && !clarke_floats_whole(2050, CLARKE_F16));
  ck_assert(clarke_floats_whole(256, CLARKE_BF16) && !clarke_floats_whole(258, CLARKE_BF16) && !clarke_floats_whole(0.5, CLARKE_F64));
  ck_assert(!clarke_floats_whole(NAN, CLARKE_F32) && !clarke_floats_whole(INFINITY, CLARKE_F32));
}
END_TEST

/* Powers that are computed of constants: by one number that is 1 or 2; by halves, whatever their number. */
START_TEST(powers_that_are_computed)
{
  static size_t of[] = {2, 3};
  static const struct {
    double first, rest;
    size_t n;
    bool known;
  } t[] = {{2, 0, 1, true}, {1, 0, 1, true}, {2, 2, 3, false}, {0.5, -0.5, 3, true}, {0.5, 1, 3, false}, {-2, 0, 1, false}, {3, 0, 1, false},
           {-1, 0, 1, false}, {NAN, 0, 1, false}};

  low.n_in = 2;
  low.in = of;
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    size_t rank = t[i].n > 1 ? 1 : 0, value;

    ck_assert_int_eq(clarke_lower_made(&low, rank, &t[i].n, &value, &error), CLARKE_OK);
    for (size_t e = 0; e < t[i].n; e++)
      g.values[value].real[e] = e == 0 ? t[i].first : t[i].rest;
    g.values[2].dtype = g.values[value].dtype = CLARKE_F32;
    of[1] = value;
    ck_assert_msg(clarke_lower_is_power(&low) == t[i].known, "%zu", i);
    g.values[2].dtype = CLARKE_F64; /* of two types */
    ck_assert(!clarke_lower_is_power(&low));
  }
}
END_TEST

/* Constants become those of another type, or of another shape; what is put in may be infinite. */
START_TEST(floats_are_cast_and_moved)
{
  static size_t one[] = {2}, weight[] = {0};
  static const double list[] = {1, 0.1, -INFINITY};
  static const size_t four[] = {4};
  size_t *map = malloc(4 * sizeof *map);
  const clarke_value *out;

  g.values[2].dtype = CLARKE_F32;
  memcpy(g.values[2].real, list, sizeof list);
  low.n_in = 1;
  low.in = one;
  ck_assert(clarke_lower_is_floats(&low, 0));
  ck_assert_int_eq(clarke_lower_floats_cast(&low, CLARKE_BF16, &error), CLARKE_OK);
  out = &g.values[g.n_values - 1];
  ck_assert(out->dtype == CLARKE_BF16 && out->odd && out->real[0] == 1 && out->real[1] == 0x1.9ap-4 && out->real[2] == -INFINITY);
  ck_assert_ptr_nonnull(map);
  for (size_t f = 0; f < 4; f++)
    map[f] = f < 2 ? f : CLARKE_NONE;
  ck_assert_int_eq(clarke_lower_floats_moved(&low, 1, four, map, -INFINITY, &error), CLARKE_OK);
  out = &g.values[g.n_values - 1];
  ck_assert(out->dtype == CLARKE_F32 && out->odd && out->real[1] == 0.1 && out->real[3] == -INFINITY);
  g.values[2].real[0] = 70000;
  ck_assert_int_eq(clarke_lower_floats_cast(&low, CLARKE_F16, &error), CLARKE_EINPUT);
  says(error.text, "entry 0 is no number, or too large");
  low.in = weight;
  ck_assert(!clarke_lower_is_floats(&low, 0));
}
END_TEST

START_TEST(steps_take_maps)
{
  static const size_t dims[] = {2, 6};
  clarke_step *s = clarke_lower_step(&low, CLARKE_SCALE, 2, 2, dims, &error);
  size_t made, *map;

  ck_assert_ptr_nonnull(s);
  ck_assert(g.n_steps == 1 && g.values[s->out].count == 12 && g.values[s->out].producer == 0);
  ck_assert_int_eq(clarke_lower_periodic(&low, s, 1, 2, 3, &error), CLARKE_OK);
  for (size_t f = 0; f < 12; f++)
    ck_assert_uint_eq(s->in[1].map[f], f / 2 % 3);
  ck_assert_int_eq(clarke_lower_periodic(&low, s, 0, 1, 12, &error), CLARKE_OK);
  ck_assert_ptr_null(s->in[0].map); /* the identity */
  map = clarke_lower_map(&low, s, 0, 12, &error);
  ck_assert(map != NULL && map == s->in[0].map);
  for (size_t f = 0; f < 12; f++)
    map[f] = f;
  ck_assert_ptr_null(clarke_lower_map(&low, s, 1, CLARKE_MAX_MAP + 1, &error));
  says(error.text, "an index map of");
  ck_assert_int_eq(clarke_lower_made(&low, 2, dims, &made, &error), CLARKE_OK);
  ck_assert(g.values[made].constant && g.values[made].count == 12 && g.values[made].real[11] == 0);
  ck_assert_uint_eq(g.values[made].parameter, CLARKE_NONE);
  ck_assert_int_eq(clarke_lower_done(&low, g.steps[0].out, &error), CLARKE_OK);
  ck_assert_str_eq(g.values[g.steps[0].out].name, "y");
}
END_TEST

/* max(x, 2 x) with a kink at 1 too, where both slopes are 2. */
START_TEST(kinks_that_bend_nothing_are_dropped)
{
  clarke_step *s = clarke_lower_pointwise(&low, 2, &error);

  ck_assert_ptr_nonnull(s);
  ck_assert(s->kind == CLARKE_PIECEWISE && s->in[0].value == 0 && g.values[s->out].count == 24);
  mpq_set_ui(s->pieces.kink[1], 1, 1);
  mpq_set_ui(s->pieces.coef[0][1], 1, 1);
  mpq_set_ui(s->pieces.coef[1][1], 2, 1);
  mpq_set_ui(s->pieces.coef[2][1], 2, 1);
  ck_assert_int_eq(clarke_lower_pieces_done(&low, s, &error), CLARKE_OK);
  ck_assert(s->pieces.n_kinks == 1 && mpq_sgn(s->pieces.kink[0]) == 0);
  ck_assert(mpq_cmp_ui(s->pieces.coef[0][1], 1, 1) == 0 && mpq_cmp_ui(s->pieces.coef[1][1], 2, 1) == 0);
  ck_assert_str_eq(g.values[s->out].name, "y");
  low.in[0] = 2; /* a constant: it is the same of each sample */
  s = clarke_lower_pointwise(&low, 1, &error);
  ck_assert(s != NULL && s->in[0].value != 2 && g.values[s->out].count == g.values[2].count);
  low.in[0] = 0;
}
END_TEST

START_TEST(rearranged_entries_keep_their_origin)
{
  static const size_t dims[] = {3, 1}, flat[] = {24}, wrong[] = {23};
  size_t *map = malloc(3 * sizeof *map);
  const clarke_value *v;

  for (size_t f = 0; f < 3; f++)
    map[f] = 2 - f;
  memcpy(g.values[2].real, (double[]){5, 6, 7}, 3 * sizeof(double));
  low.in[0] = 2;
  ck_assert_int_eq(clarke_lower_rearranged(&low, 2, dims, map, &error), CLARKE_OK);
  low.in[0] = 0;
  v = &g.values[3];
  ck_assert(v->constant && v->rank == 2 && v->real[0] == 7 && v->real[2] == 5 && v->origin[0] == 2 && v->origin[2] == 0);
  ck_assert_int_eq(clarke_lower_rearranged(&low, 1, flat, NULL, &error), CLARKE_OK);
  ck_assert(g.steps[0].kind == CLARKE_GATHER && g.values[g.steps[0].out].rank == 1);
  ck_assert_int_eq(clarke_lower_rearranged(&low, 1, wrong, NULL, &error), CLARKE_EINPUT);
  says(error.text, "24 entries a sample cannot take a shape of 23");
}
END_TEST

/* The activation is (batch, 2, 3, 4); a constant of shape (3, 1) goes along its axis of 3. */
START_TEST(constants_are_broadcast)
{
  clarke_batch_axis batch;
  static size_t in[] = {0, 2};
  size_t rank, dims[CLARKE_MAX_RANK], *map0, *map1;

  low.in = in;
  low.n_in = 2;
  g.values[2].rank = 2;
  g.values[2].dims[1] = 1;
  ck_assert_int_eq(clarke_lower_broadcast(&low, &rank, dims, &map0, &map1, &batch, &error), CLARKE_OK);
  ck_assert(rank == 3 && dims[0] == 2 && dims[1] == 3 && dims[2] == 4 && map0 == NULL);
  for (size_t f = 0; f < 24; f++)
    ck_assert_uint_eq(map1[f], f / 4 % 3);
  free(map1);
  g.values[2].rank = 1; /* (3) beside an axis of 4 */
  ck_assert_int_eq(clarke_lower_broadcast(&low, &rank, dims, &map0, &map1, &batch, &error), CLARKE_EINPUT);
  ck_assert(clarke_lower_affordable(&g, 0) && !clarke_lower_affordable(&g, SIZE_MAX));
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("lower");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, failures_name_the_node);
  tcase_add_test(tests, inputs_are_what_is_asked_for);
  tcase_add_test(tests, attributes_have_defaults);
  tcase_add_test(tests, initializers_become_parameters);
  tcase_add_test(tests, shapes_are_taken_before_values_move);
  tcase_add_test(tests, constants_become_activations);
  tcase_add_test(tests, computed_of_constants);
  tcase_add_test(tests, masks_choose);
  tcase_add_test(tests, constants_are_made);
  tcase_add_test(tests, floats_are_listed);
  tcase_add_test(tests, floats_are_rounded);
  tcase_add_test(tests, floats_that_are_whole);
  tcase_add_test(tests, powers_that_are_computed);
  tcase_add_test(tests, floats_are_cast_and_moved);
  tcase_add_test(tests, steps_take_maps);
  tcase_add_test(tests, kinks_that_bend_nothing_are_dropped);
  tcase_add_test(tests, rearranged_entries_keep_their_origin);
  tcase_add_test(tests, constants_are_broadcast);
  return run_tests();
}
