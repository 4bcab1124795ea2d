/* Touched kinks and windows at rest: their arguments' gradients under the cell are zero. By networks made by hand, by forward mode
 * along every parameter, and behind normalizations by the formula of their derivative. */
#include "drawn.h"

#include "audit/cell.h"
#include "audit/moves.h"
#include "audit/touch_row.h"
#include "network/graph/build.h"
#include "network/derive/tangent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  clarke_model m;
  clarke_tensor x;
  clarke_graph g;
  clarke_profile profile;
  clarke_replay replay;
  clarke_question q;
  clarke_cell cell;
} asked;

/* The model, under the cell of these sides (NULL: all left), with the conditions that rest. */
static void
ask(asked *a, bool *any, const char *wrt, const clarke_branch *side)
{
  static const char profile[] = "Relu 0 left\ntie MaxPool first\ntie Maximum first\n";
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = a->x.dims[0]};
  size_t n;
  char **names = words_of(wrt, &n);

  clarke_graph_init(&a->g);
  clarke_profile_init(&a->profile);
  clarke_replay_init(&a->replay);
  clarke_cell_init(&a->cell);
  OK(clarke_graph_build(&a->g, &a->m, &a->x, &error));
  OK(clarke_graph_wrt(&a->g, names, n, &error));
  OK(clarke_profile_parse(&a->profile, profile, strlen(profile), "left", &error));
  OK(clarke_replay_run(&a->replay, NULL, &a->g, &a->x, true, 1, &error));
  ck_assert_uint_eq(a->replay.open, 0);
  OK(clarke_question_init(&a->q, &a->replay, &a->profile, &loss, &error));
  OK(clarke_cell_set(&a->cell, &a->q, side, &error));
  OK(clarke_cell_rest(any, &a->cell, &a->q, &error));
  for (size_t i = 0; i < n; i++)
    free(names[i]);
  free(names);
}

static void
asked_clear(asked *a)
{
  clarke_cell_clear(&a->cell);
  clarke_question_clear(&a->q);
  clarke_replay_clear(&a->replay);
  clarke_profile_clear(&a->profile);
  clarke_graph_clear(&a->g);
  clarke_tensor_clear(&a->x);
  clarke_model_clear(&a->m);
}

/* --- by hand --------------------------------------------------------------------------------- */

/* relu(u w x), relu(w x) at x = 1, weights as they are given. */
static void
chain(asked *a, double u, double w)
{
  model_begin(&a->m, 18);
  model_input(&a->m, "x", SHAPE(-1, 1,));
  model_output(&a->m, "y");
  model_floats(&a->m, "u", SHAPE(1, 1,))[0] = u;
  model_floats(&a->m, "w", SHAPE(1, 1,))[0] = w;
  model_node(&a->m, "MatMul", "x,u", "ux");
  model_node(&a->m, "MatMul", "ux,w", "wux");
  model_node(&a->m, "Relu", "wux", "y");
  a->x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  a->x.real[0] = 1;
}

static const struct {
  double u, w;
  const char *wrt;
  bool flat, rests;
} chains[] = {
  {0, 0, "u,w", false, true}, {1, 0, "u,w", false, false}, {0, 1, "u,w", false, false},
  {1, 0, "w", false, false},  {0, 1, "u", false, false},   {0, 0, "u", false, true},
  {0, 0, "w", true, false},
};

START_TEST(a_product_of_zeros_rests_and_a_weight_does_not)
{
  asked a;
  bool any;

  chain(&a, chains[_i].u, chains[_i].w);
  ask(&a, &any, chains[_i].wrt, NULL);
  ck_assert_uint_eq(a.replay.n_touches, 1);
  ck_assert_int_eq(any, chains[_i].rests);
  ck_assert_int_eq(a.cell.flat[0], chains[_i].flat);
  ck_assert_int_eq(a.cell.rests[0], chains[_i].rests);
  ck_assert_int_eq(clarke_cell_asks(&a.cell, &a.q, 0, 0), !chains[_i].flat && !chains[_i].rests);
  ck_assert_int_eq(clarke_cell_moves(&a.cell, &a.q, 0), !chains[_i].flat && !chains[_i].rests);
  asked_clear(&a);
}
END_TEST

/* max(u w1 + b, u w2 + b, c) at zero: the first two have one gradient, that of b. */
static void
window(asked *a)
{
  model_begin(&a->m, 18);
  model_input(&a->m, "x", SHAPE(-1, 1, 1,));
  model_output(&a->m, "y");
  model_floats(&a->m, "u", SHAPE(1, 1,));
  model_floats(&a->m, "w", SHAPE(1, 2,));
  model_floats(&a->m, "b", SHAPE(1,));
  model_floats(&a->m, "c", SHAPE(1, 1,));
  model_node(&a->m, "MatMul", "x,u", "ux");
  model_node(&a->m, "MatMul", "ux,w", "wux");
  model_node(&a->m, "Add", "wux,b", "two");
  model_node(&a->m, "MatMul", "x,c", "one");
  attr_int(model_node(&a->m, "Concat", "two,one", "three"), "axis", 2);
  attr_ints(model_node(&a->m, "MaxPool", "three", "y"), "kernel_shape", SHAPE(3,));
  a->x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 1,));
  a->x.real[0] = 1;
}

START_TEST(options_of_equal_gradients_rest)
{
  const clarke_branch side = CLARKE_OPTION(_i);
  asked a;
  bool any;

  window(&a);
  ask(&a, &any, "u,w,b,c", &side);
  ck_assert_uint_eq(a.replay.n_touches, 1);
  ck_assert_uint_eq(a.replay.touch[0].n_options, 3);
  for (size_t i = 0; i < 3; i++) { /* the pair of the first two rests, from either side */
    ck_assert_int_eq(a.cell.rests[i], (_i == 0 && i == 1) || (_i == 1 && i == 0));
    ck_assert_int_eq(clarke_cell_asks(&a.cell, &a.q, 0, i), i != (size_t)_i && (i == 2 || _i == 2));
  }
  ck_assert_int_eq(any, _i < 2);
  ck_assert(clarke_cell_moves(&a.cell, &a.q, 0));
  asked_clear(&a);
}
END_TEST

/* With c far below, the window is the first two's: nothing is asked. */
START_TEST(a_window_whose_conditions_all_rest_does_not_move)
{
  asked a;
  bool any;

  window(&a);
  a.m.tensors[3].real[0] = -1;
  ask(&a, &any, "u,w,b,c", NULL);
  ck_assert_uint_eq(a.replay.touch[0].n_options, 2);
  ck_assert(any && !a.cell.flat[0]);
  ck_assert(!clarke_cell_moves(&a.cell, &a.q, 0));
  asked_clear(&a);
}
END_TEST

/* --- by forward mode ------------------------------------------------------------------------- */

/* Are the arguments' tangents those of the whole pass? */
static void
compare_arguments(clarke_matrix *whole, clarke_matrix *touched, const drawn *n)
{
  const clarke_replay *r = &n->replay;
  mpq_t a, b;

  mpq_inits(a, b, NULL);
  for (size_t k = 0; k < r->n_touches; k++) {
    const size_t value = n->g.steps[r->touch[k].step].in[0].value;

    ck_assert_uint_eq(whole[value].rows, touched[value].rows);
    for (size_t i = 0; i < whole[value].rows * whole[value].cols; i++) {
      clarke_matrix_get(a, &whole[value], i / whole[value].cols, i % whole[value].cols);
      clarke_matrix_get(b, &touched[value], i / whole[value].cols, i % whole[value].cols);
      ck_assert(mpq_equal(a, b));
    }
  }
  mpq_clears(a, b, NULL);
}

/* An entry that has a tangent is among those that may have one. */
static void
compare_moves(bool **moves, const clarke_matrix *tangent, const drawn *n)
{
  for (size_t v = 0; v < n->g.n_values; v++)
    for (size_t e = 0; moves[v] != NULL && e < tangent[v].rows * tangent[v].cols; e++)
      ck_assert(moves[v][e] || clarke_matrix_entry_is_zero(&tangent[v], e / tangent[v].cols, e % tangent[v].cols));
}

/* moved[condition]: its argument, or difference, has a tangent along some parameter's entry. */
static void
move_by_entries(bool *moved, const clarke_cell *c, const drawn *n)
{
  const clarke_replay *r = &n->replay;
  bool **moves = calloc(n->g.n_values + 1, sizeof *moves);
  clarke_slopes slopes;

  clarke_slopes_init(&slopes);
  OK(clarke_question_slopes(&slopes, &n->q, c->side, &error));
  OK(clarke_moves_find(moves, &r->near, &slopes, n->g.n_steps, &error));
  for (size_t p = 0; p < n->g.n_parameters; p++)
    for (size_t e = 0; e < n->g.parameters[p].count; e++) {
      clarke_matrix *d = clarke_matrices_new(n->g.n_parameters), *t = clarke_matrices_new(n->g.n_values),
                    *touched = clarke_matrices_new(n->g.n_values);

      OK(clarke_matrix_resize(&d[p], n->g.parameters[p].count, 1, 1, &error));
      d[p].word[e] = 1;
      OK(clarke_tangent_run(t, &r->near, &slopes, d, &error));
      OK(clarke_tangent_of_touched(touched, r, &slopes, d, &error));
      compare_arguments(t, touched, n);
      compare_moves(moves, t, n);
      clarke_matrices_free(touched, n->g.n_values);
      for (size_t k = 0; k < r->n_touches; k++) {
        const clarke_touch *touch = &r->touch[k];
        const clarke_matrix *m = &t[n->g.steps[touch->step].in[0].value];

        for (size_t i = 0; i < clarke_touch_conditions(touch) && m->rows > 0; i++)
          if (touch->n_options == 0
                ? !clarke_matrix_entry_is_zero(m, touch->feature, touch->column)
                : clarke_matrix_compare_entries(m, touch->option[CLARKE_OPTION_OF(c->side[k])], touch->option[i],
                                                touch->column) != 0)
            moved[touch->first_condition + i] = true;
      }
      clarke_matrices_free(d, n->g.n_parameters);
      clarke_matrices_free(t, n->g.n_values);
    }
  clarke_moves_free(moves, n->g.n_values);
  clarke_slopes_clear(&slopes);
}

typedef struct {
  size_t rest, move, pairs_rest;
} tally;

static void
compare_cell(const drawn *n, const clarke_branch *side, tally *count)
{
  bool *moved = calloc(n->replay.n_conditions + 1, sizeof *moved), any, found = false;
  clarke_columns columns;
  clarke_cell c;

  clarke_cell_init(&c);
  OK(clarke_cell_set(&c, &n->q, side, &error));
  OK(clarke_cell_rest(&any, &c, &n->q, &error));
  OK(clarke_columns_init(&columns, &n->q, side, &error));
  move_by_entries(moved, &c, n);
  for (size_t k = 0; k < n->replay.n_touches; k++) {
    const clarke_touch *t = &n->replay.touch[k];
    bool moves = false;

    for (size_t i = 0; i < clarke_touch_conditions(t); i++) {
      const size_t condition = t->first_condition + i;
      const bool own = t->n_options > 0 && CLARKE_OPTION(i) == side[k];
      bool rests = false;

      if (!own)
        OK(clarke_touch_rests(&rests, &columns, k, side[k], i, &error));
      ck_assert(own || rests == !moved[condition]);
      if (c.flat[k] || own)
        ck_assert(!moved[condition] && !c.rests[condition] && !clarke_cell_asks(&c, &n->q, k, i));
      else {
        ck_assert_int_eq(c.rests[condition], !moved[condition]);
        ck_assert_int_eq(clarke_cell_asks(&c, &n->q, k, i), moved[condition]);
        count->rest += !moved[condition];
        count->move += moved[condition];
        count->pairs_rest += !moved[condition] && t->n_options > 0;
      }
      moves = moves || moved[condition];
      found = found || c.rests[condition];
    }
    ck_assert_int_eq(clarke_cell_moves(&c, &n->q, k), moves);
  }
  ck_assert_int_eq(any, found);
  clarke_columns_clear(&columns);
  clarke_cell_clear(&c);
  free(moved);
}

START_TEST(what_rests_has_no_tangent)
{
  uint64_t state = 51;
  tally count = {0, 0, 0};

  for (size_t i = 0; i < 250; i++) {
    drawn n;
    clarke_branch *side;
    size_t patterns;

    draw_touched(&n, &state, 1 << 20);
    patterns = patterns_of(&n.replay, 1 << 20);
    side = malloc(n.replay.n_touches * sizeof *side);
    for (size_t k = 0; k < 3; k++) {
      pattern_sides(side, &n.replay, draw_below(&state, patterns));
      compare_cell(&n, side, &count);
    }
    free(side);
    drawn_clear(&n);
  }
  printf("%zu conditions rest, %zu of them of windows; %zu move\n", count.rest, count.pairs_rest, count.move);
  ck_assert_uint_gt(count.pairs_rest, 20);
  ck_assert_uint_gt(count.rest - count.pairs_rest, 20);
  ck_assert_uint_gt(count.move, 500);
}
END_TEST

/* --- behind roots ---------------------------------------------------------------------------- */

enum { GROUPS = 2, LENGTH = 3, ENTRIES = GROUPS * LENGTH, MOVES = 2 };

/* relu(<take, normalized(start + u shift)> + u around) at u = 0, two groups normalized; reverse mode meets the way around
 * them before them, at u itself, or, early, behind them. */
typedef struct {
  double start[ENTRIES], shift[MOVES][ENTRIES], take[ENTRIES], around[MOVES];
  bool early;
} rooted;

static void
rooted_model(asked *a, const rooted *r)
{
  double *scale;

  model_begin(&a->m, 18);
  model_input(&a->m, "x", SHAPE(-1, 1,));
  model_output(&a->m, "y");
  model_floats(&a->m, "u", SHAPE(1, MOVES,));
  memcpy(model_floats(&a->m, "shift", SHAPE(MOVES, ENTRIES,)), r->shift, sizeof r->shift);
  memcpy(model_floats(&a->m, "start", SHAPE(ENTRIES,)), r->start, sizeof r->start);
  memcpy(model_floats(&a->m, "take", SHAPE(ENTRIES, 1,)), r->take, sizeof r->take);
  scale = model_floats(&a->m, "scale", SHAPE(LENGTH,));
  for (size_t i = 0; i < LENGTH; i++)
    scale[i] = 1;
  memcpy(model_integers(&a->m, "grouped", SHAPE(3,)), ((const int64_t[]){0, GROUPS, LENGTH}), 3 * sizeof(int64_t));
  memcpy(model_floats(&a->m, "around", SHAPE(MOVES, 1,)), r->around, sizeof r->around);
  model_node(&a->m, "MatMul", "x,u", "ux");
  if (r->early)
    model_node(&a->m, "MatMul", "ux,around", "by");
  model_node(&a->m, "MatMul", "ux,shift", "moved");
  model_node(&a->m, "Add", "moved,start", "sum");
  model_node(&a->m, "Reshape", "sum,grouped", "groups");
  attr_float(model_node(&a->m, "LayerNormalization", "groups,scale", "normal"), "epsilon", 0x1p-10);
  model_node(&a->m, "Flatten", "normal", "flat");
  model_node(&a->m, "MatMul", "flat,take", "taken");
  if (!r->early) {
    model_node(&a->m, "MatMul", "x,u", "xu");
    model_node(&a->m, "MatMul", "xu,around", "by");
  }
  model_node(&a->m, "Add", "taken,by", "argument");
  model_node(&a->m, "Relu", "argument", "y");
  a->x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  a->x.real[0] = 1;
}

/* Group g's part of the argument's derivative along move i, without the root, and the root; only entries at their group's mean,
 * whose normal forms are 0, are taken. */
static double
part_of(double *root, const rooted *r, size_t i, size_t g)
{
  double sum = 0, mean = 0, squares = 0;

  for (size_t e = g * LENGTH; e < (g + 1) * LENGTH; e++) {
    mean += r->shift[i][e] / LENGTH;
    squares += r->start[e] * r->start[e];
  }
  for (size_t e = g * LENGTH; e < (g + 1) * LENGTH; e++)
    sum += r->take[e] * (r->shift[i][e] - mean);
  *root = 1 / sqrt(squares / LENGTH + 0x1p-10);
  return sum;
}

/* Do all parts vanish? Does their sum? */
static void
parts_vanish(bool *each, bool *together, const rooted *r)
{
  *each = *together = true;
  for (size_t i = 0; i < MOVES; i++) {
    double sum = r->around[i];

    *each = *each && sum == 0;
    for (size_t g = 0; g < GROUPS; g++) {
      double root, part = part_of(&root, r, i, g);

      *each = *each && fabs(part) < 1e-9;
      sum += part * root;
    }
    *together = *together && fabs(sum) < 1e-9;
  }
}

static bool
rooted_rests(const rooted *r)
{
  clarke_columns columns;
  asked a;
  bool any, rests;

  rooted_model(&a, r);
  ask(&a, &any, "u", NULL);
  ck_assert_uint_eq(a.replay.n_touches, 1);
  ck_assert(!a.cell.flat[0]);
  OK(clarke_columns_init(&columns, &a.q, a.cell.side, &error));
  OK(clarke_touch_rests(&rests, &columns, 0, a.cell.side[0], 0, &error));
  ck_assert(any == rests && a.cell.rests[0] == rests);
  clarke_columns_clear(&columns);
  asked_clear(&a);
  return rests;
}

static const struct {
  rooted net;
  bool rests;
} known[] = {
  /* An entry at its group's mean, all of which moves: it rests, though the root of 2/3 + 2^-10 is irrational. */
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{1, 1, 1, 0, 0, 0}}, .take = {0, 1, 0, 0, 0, 0}}, true},
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{0, 1, 0, 0, 0, 0}}, .take = {0, 1, 0, 0, 0, 0}}, false},
  /* Two roots: a difference that is none but for them does not rest; what moves neither group does. */
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{0, 1, 0, 0, 1, 0}}, .take = {0, 1, 0, 0, -1, 0}}, false},
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{0, 0, 0, 0, 0, 0}}, .take = {0, 1, 0, 0, -1, 0}}, true},
  /* One vanishes, the other does not. */
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{1, 1, 1, 0, 1, 0}}, .take = {0, 1, 0, 0, -1, 0}}, false},
  /* A root beside none. */
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{0, 1, 0, 0, 0, 0}}, .take = {0, 1, 0, 0, 0, 0}, .around = {-2}}, false},
  {{.start = {-1, 0, 1, -2, 0, 2}, .shift = {{0, 1, 0, 0, 0, 0}}, .take = {0, 1, 0, 0, 0, 0}, .around = {-2}, .early = true},
   false},
};

START_TEST(known_roots)
{
  bool each, together;

  parts_vanish(&each, &together, &known[_i].net);
  ck_assert_int_eq(each, known[_i].rests);
  ck_assert_int_eq(rooted_rests(&known[_i].net), known[_i].rests);
}
END_TEST

/* Is one root all that reverse mode meets? */
static bool
one_root(const rooted *r)
{
  bool taken[GROUPS] = {false};

  if (r->early)
    return false;
  for (size_t e = 0; e < ENTRIES; e++)
    taken[e / LENGTH] = taken[e / LENGTH] || r->take[e] != 0;
  return !taken[0] || !taken[1];
}

/* Groups -d, 0, d or 0, 0, 0; moves and what is taken at their means, small. */
static void
draw_rooted(rooted *r, uint64_t *state)
{
  memset(r, 0, sizeof *r);
  r->early = draw_below(state, 4) == 0;
  for (size_t i = 0; i < MOVES; i++)
    r->around[i] = draw_below(state, 6) == 0 ? (double)draw_between(state, -2, 2) : 0;
  for (size_t g = 0; g < GROUPS; g++) {
    double spread = (double)draw_below(state, 4);

    r->start[g * LENGTH] = -spread;
    r->start[g * LENGTH + 2] = spread;
    for (size_t e = g * LENGTH; e < (g + 1) * LENGTH; e++)
      r->take[e] = r->start[e] == 0 ? (double)draw_between(state, -1, 1) : 0;
    for (size_t i = 0; i < MOVES; i++) {
      double all = (double)draw_between(state, -1, 1);

      for (size_t e = g * LENGTH; e < (g + 1) * LENGTH; e++)
        r->shift[i][e] = draw_below(state, 3) > 0 ? all : (double)draw_between(state, -1, 1);
    }
  }
}

START_TEST(drawn_roots)
{
  uint64_t state = 52;
  size_t rest = 0, move = 0, two = 0;

  for (size_t k = 0; k < 600; k++) {
    rooted r;
    bool each, together, rests;

    draw_rooted(&r, &state);
    parts_vanish(&each, &together, &r);
    rests = rooted_rests(&r);
    ck_assert_msg(rests || !each || !one_root(&r), "network %zu: it is zero", k);
    ck_assert_msg(!rests || together, "network %zu: it moves", k);
    rest += rests;
    move += !rests;
    two += !rests && !one_root(&r);
  }
  printf("behind roots: %zu rest, %zu do not, %zu of them behind two\n", rest, move, two);
  ck_assert_uint_gt(rest, 50);
  ck_assert_uint_gt(two, 50);
  ck_assert_uint_gt(move - two, 20);
}
END_TEST

/* max(relu(w x), u w x) with u = 1 at w = 1: one function of w, though w is in the window's own layer, too; two of w and u. */
START_TEST(an_activation_and_what_is_made_of_it_rest)
{
  const bool both = _i == 1;
  asked a = {0};
  bool any;

  model_begin(&a.m, 18);
  model_input(&a.m, "x", SHAPE(-1, 1,));
  model_output(&a.m, "y");
  model_floats(&a.m, "w", SHAPE(1, 1,))[0] = 1;
  model_floats(&a.m, "u", SHAPE(1,))[0] = 1;
  model_node(&a.m, "MatMul", "x,w", "wx");
  model_node(&a.m, "Relu", "wx", "r");
  model_node(&a.m, "Mul", "wx,u", "v");
  model_node(&a.m, "Max", "r,v", "y");
  a.x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  a.x.real[0] = 1;
  ask(&a, &any, both ? "w,u" : "w", (const clarke_branch[]){CLARKE_OPTION(0)});
  ck_assert_uint_eq(a.replay.n_touches, 1);
  ck_assert_int_eq(any, !both);
  ck_assert_int_eq(clarke_cell_moves(&a.cell, &a.q, 0), both);
  asked_clear(&a);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("rest");
  int failed;

  tcase_add_loop_test(tests, a_product_of_zeros_rests_and_a_weight_does_not, 0, (int)(sizeof chains / sizeof chains[0]));
  tcase_add_loop_test(tests, options_of_equal_gradients_rest, 0, 3);
  tcase_add_test(tests, a_window_whose_conditions_all_rest_does_not_move);
  tcase_add_test(tests, what_rests_has_no_tangent);
  tcase_add_loop_test(tests, an_activation_and_what_is_made_of_it_rest, 0, 2);
  tcase_add_loop_test(tests, known_roots, 0, (int)(sizeof known / sizeof known[0]));
  tcase_add_test(tests, drawn_roots);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
