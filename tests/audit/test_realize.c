/* Cells, the systems that look for their directions, and the list of patterns, on networks that one can work out by hand. */
#include "asked.h"

#include "audit/cell.h"
#include "audit/degree.h"
#include "audit/layer_system.h"
#include "audit/layers.h"
#include "audit/path.h"
#include "audit/ray.h"
#include "audit/realize.h"
#include "audit/reason.h"
#include "audit/separation.h"

/* relu(w) + turn * relu(-w) at w = 0: with AD's 0 at both kinks, w has to fall and to rise. */
static void
ask_contradiction(asked *a)
{
  asked_begin(a, 1, 1, NUMBERS(1));
  weight(a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(a, "turn", SHAPE(1, 2,), NUMBERS(1, -1));
  weight(a, "sum", SHAPE(2, 1,), NUMBERS(1, -1));
  node(a, "MatMul", "x,w", "y");
  node(a, "MatMul", "y,turn", "p");
  node(a, "Relu", "p", "z");
  node(a, "MatMul", "z,sum", "out");
  a->wrt = "w";
  ask(a, "out");
  ck_assert_uint_eq(a->replay.n_touches, 2);
}

/* relu(v relu(w)) at w = v = 0. */
static void
ask_two_layers(asked *a)
{
  asked_begin(a, 1, 1, NUMBERS(1));
  weight(a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(a, "v", SHAPE(1, 1,), NUMBERS(0));
  node(a, "MatMul", "x,w", "p");
  node(a, "Relu", "p", "q");
  node(a, "MatMul", "q,v", "r");
  node(a, "Relu", "r", "out");
  a->wrt = "w,v";
  ask(a, "out");
  ck_assert_uint_eq(a->replay.n_touches, 2);
}

/* The path of both contradictory arguments, and of one. */
static void
check_path(const asked *a)
{
  clarke_cone_answer answer;
  clarke_direction d;
  clarke_path p;
  clarke_tree t;
  mpq_t minus;

  clarke_tree_init(&t);
  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  clarke_direction_init(&d);
  OK(clarke_path_init(&p, 2, &error));
  OK(clarke_row_add(clarke_path_add(&p, 0, 0), 0, minus, &error));
  OK(clarke_path_solve(&answer, &d, &t, &p, &a->graph, &error));
  ck_assert_int_eq(answer, CLARKE_CONE_FEASIBLE);
  ck_assert(d.n == 1 && mpq_sgn(d.move[0].coef) < 0);
  mpq_neg(minus, minus);
  OK(clarke_row_add(clarke_path_add(&p, 1, 0), 0, minus, &error));
  OK(clarke_path_solve(&answer, NULL, &t, &p, &a->graph, &error));
  ck_assert_int_eq(answer, CLARKE_CONE_EMPTY);
  ck_assert_uint_eq(t.n, 1);
  clarke_tree_clear(&t);
  clarke_path_clear(&p);
  clarke_direction_clear(&d);
  mpq_clear(minus);
}

START_TEST(a_contradiction_has_no_direction)
{
  bool realized = true, found, touch[2] = {false};
  clarke_cone_answer answer;
  clarke_blocks *blocks;
  clarke_direction d;
  clarke_cell cell;
  asked a;

  ask_contradiction(&a);
  verdict_is(&a, CLARKE_NOT_IN_CLARKE);
  clarke_cell_init(&cell);
  clarke_direction_init(&d);
  OK(clarke_cell_set(&cell, &a.question, NULL, &error));
  ck_assert(clarke_cell_moves(&cell, &a.question, 0) && clarke_cell_moves(&cell, &a.question, 1));
  OK(clarke_first_order(&answer, &d, &cell, &a.question, &error));
  ck_assert_int_eq(answer, CLARKE_CONE_EMPTY);
  OK(clarke_realize_by_layers(&realized, &cell, &a.audit, &a.question, &error));
  ck_assert(!realized);
  OK(clarke_realize(&realized, &cell, &a.audit, false, &a.question, &error));
  ck_assert(!realized);
  OK(clarke_blocks_begin(&blocks, &a.audit.layer[0], &cell, &a.question, &error));
  clarke_blocks_touches(touch, blocks);
  ck_assert(touch[0] && touch[1]);
  OK(clarke_blocks_next(&found, touch, blocks, &error));
  ck_assert(found && touch[0] && touch[1]);
  OK(clarke_blocks_next(&found, touch, blocks, &error));
  ck_assert(!found);
  clarke_blocks_end(blocks);
  check_path(&a);
  clarke_direction_clear(&d);
  clarke_cell_clear(&cell);
  asked_end(&a);
}
END_TEST

/* The other two patterns occur: w rises, or it falls. Directions are found, and their sign is as it must be. */
START_TEST(each_pattern_that_occurs_has_a_direction)
{
  asked a;

  ask_contradiction(&a);
  for (int right = 0; right < 2; right++) {
    const clarke_branch side[2] = { right ? CLARKE_RIGHT : CLARKE_LEFT, right ? CLARKE_LEFT : CLARKE_RIGHT };
    clarke_cell cell;
    clarke_matrix *d = clarke_matrices_new(a.graph.n_parameters);
    bool realized = false;
    clarke_cone_answer answer;
    mpq_t moved;

    mpq_init(moved);
    clarke_cell_init(&cell);
    OK(clarke_cell_set(&cell, &a.question, side, &error));
    OK(clarke_first_order(&answer, clarke_cell_direction(&cell, &error), &cell, &a.question, &error));
    ck_assert_int_eq(answer, CLARKE_CONE_FEASIBLE);
    OK(clarke_cell_verify(&realized, CLARKE_NONE, &cell, &a.question, &error));
    ck_assert(realized);
    OK(clarke_realize(&realized, &cell, &a.audit, false, &a.question, &error));
    ck_assert(realized);
    OK(clarke_realize_by_layers(&realized, &cell, &a.audit, &a.question, &error));
    ck_assert(realized);
    ck_assert_uint_eq(cell.n, 1);
    OK(clarke_direction_matrices(d, &cell.direction[0], &a.graph, &error));
    for (size_t p = 0; p < a.graph.n_parameters; p++)
      if (d[p].rows > 0) {
        clarke_matrix_get(moved, &d[p], 0, 0);
        ck_assert_int_eq(mpq_sgn(moved), right ? 1 : -1);
      }
    mpq_clear(moved);
    clarke_cell_clear(&cell);
    clarke_matrices_free(d, a.graph.n_parameters);
  }
  asked_end(&a);
}
END_TEST

/* The list has these two leaves, and no other. */
START_TEST(the_list_of_patterns)
{
  clarke_tree t;
  clarke_branch **leaf;
  size_t n;
  asked a;

  ask_contradiction(&a);
  clarke_tree_init(&t);
  OK(clarke_enumerate(&t, &a.question, &error));
  ck_assert(t.complete);
  leaf = clarke_tree_leaves(&t, &n);
  ck_assert_uint_eq(n, 2);
  for (size_t i = 0; i < n; i++) {
    ck_assert_int_eq(leaf[i][0], i == 0 ? CLARKE_LEFT : CLARKE_RIGHT);
    ck_assert_int_eq(leaf[i][1], i == 0 ? CLARKE_RIGHT : CLARKE_LEFT);
  }
  free(leaf);
  clarke_tree_clear(&t);
  asked_end(&a);
}
END_TEST

/* Along v = -1, which is -dw, a right side adds -1 to AD's 0 and a left side nothing. So v separates from all patterns but the one
 * that does not occur, and an open side may add nothing. */
START_TEST(what_sides_add_along_a_vector)
{
  static const clarke_branch both_left[2] = { CLARKE_LEFT, CLARKE_LEFT }, rises[2] = { CLARKE_RIGHT, CLARKE_LEFT };
  static const clarke_branch falls[2] = { CLARKE_PROXY, CLARKE_RIGHT }, open[2] = { CLARKE_PROXY, CLARKE_PROXY };
  clarke_separation m;
  clarke_row v;
  mpq_t minus;
  arb_t most;
  asked a;

  ask_contradiction(&a);
  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  arb_init(most);
  clarke_row_init(&v);
  OK(clarke_row_add(&v, clarke_column_base(&a.graph, a.graph.values[a.graph.steps[0].dense.weight].parameter), minus, &error));
  clarke_row_finish(&v);
  OK(clarke_adjoints_find(&a.question, &error));
  OK(clarke_separation_init(&m, &a.question, &v, &error));
  for (size_t k = 0; k < 2; k++) {
    ck_assert(arb_is_zero(clarke_separation_gain(&m, k, 0)));
    ck_assert(arb_equal_si(clarke_separation_gain(&m, k, 1), -1));
    clarke_separation_open(most, &m, k);
    ck_assert(arb_is_zero(most));
  }
  ck_assert(clarke_separation_holds(&m, rises) && clarke_separation_holds(&m, falls));
  ck_assert(!clarke_separation_holds(&m, both_left) && !clarke_separation_holds(&m, open));
  clarke_separation_clear(&m);
  clarke_row_clear(&v);
  arb_clear(most);
  mpq_clear(minus);
  asked_end(&a);
}
END_TEST

/* Directions that are drawn meet both patterns that occur, and no other. */
START_TEST(drawn_directions_meet_what_occurs)
{
  uint64_t state = 1;
  size_t met[2] = {0};
  asked a;

  ask_contradiction(&a);
  for (size_t i = 0; i < 40; i++) {
    bool realized, again;
    clarke_cell cell;

    clarke_cell_init(&cell);
    OK(clarke_ray_cell(&realized, &cell, &state, false, &a.question, &error));
    if (realized) {
      ck_assert_int_ne(cell.side[0], cell.side[1]);
      OK(clarke_cell_verify(&again, CLARKE_NONE, &cell, &a.question, &error));
      ck_assert(again);
      met[cell.side[0] == CLARKE_RIGHT]++;
    }
    clarke_cell_clear(&cell);
  }
  ck_assert(met[0] > 5 && met[1] > 5);
  asked_end(&a);
}
END_TEST

/* To one side, and turned around to the other; not where the direction is 0. */
START_TEST(directions_that_are_given_lead_there)
{
  clarke_branch side[3] = {0};
  asked a;
  mpq_t by;

  ask_contradiction(&a);
  mpq_init(by);
  for (int i = 0; i < 3; i++) {
    bool realized;
    clarke_cell cell;
    clarke_direction d;

    clarke_cell_init(&cell);
    clarke_direction_init(&d);
    mpq_set_si(by, i - 1, 3);
    OK(clarke_direction_move(&d, CLARKE_MOVE_AT, 0, 0, by, &error));
    OK(clarke_ray_along(&realized, &cell, &d, &a.question, &error));
    ck_assert(realized == (i != 1) && d.n == 0);
    side[i] = realized ? cell.side[0] : 0;
    ck_assert(!realized || cell.side[0] != cell.side[1]);
    clarke_cell_clear(&cell);
    clarke_direction_clear(&d);
  }
  ck_assert(side[0] != side[2]);
  mpq_clear(by);
  asked_end(&a);
}
END_TEST

/* v relu(w): constant where relu is on its left, a product of two parameters on its right. */
START_TEST(degrees_by_the_sides_before)
{
  static const clarke_branch sides[3][2] = {{ CLARKE_LEFT, 0 }, { CLARKE_RIGHT, 0 }, { CLARKE_PROXY, 0 }};
  static const uint8_t want[3] = { 0, 2, 2 };
  asked a;

  ask_two_layers(&a);
  for (size_t i = 0; i < 3; i++) {
    clarke_marking m;
    uint8_t degree[2];
    bool flat[2];

    OK(clarke_marking_run(&m, &a.question, sides[i], &error));
    OK(clarke_degrees(degree, &a.question, sides[i], &error));
    OK(clarke_flat(flat, &a.question, sides[i], &error));
    ck_assert_uint_eq(clarke_marking_degree(&m, 0, 0), 1);
    ck_assert_uint_eq(clarke_marking_degree(&m, 1, 0), want[i]);
    ck_assert(degree[0] == 1 && degree[1] == want[i]);
    ck_assert(!flat[0] && flat[1] == (want[i] == 0));
    clarke_marking_clear(&m);
    ck_assert_ptr_null(m.mark);
  }
  asked_end(&a);
}
END_TEST

/* The layers of a network, read again. */
START_TEST(layers_are_read_off_the_graph)
{
  clarke_audit again;
  asked a;

  ask_two_layers(&a);
  clarke_audit_init(&again);
  OK(clarke_layers_read(&again, &a.question, &error));
  ck_assert_uint_eq(again.n_layers, 2);
  for (size_t i = 0; i < 2; i++) {
    ck_assert_uint_eq(again.layer[i].step, a.replay.touch[i].step);
    ck_assert_uint_eq(again.layer[i].neurons, 1);
    ck_assert_uint_eq(again.layer[i].touched, 1);
    ck_assert_str_eq(a.graph.parameters[again.layer[i].weight].name, i == 0 ? "w" : "v");
    ck_assert(again.layer[i].bias == CLARKE_NONE && again.layer[i].fully_connected);
  }
  clarke_audit_clear(&again);
  asked_end(&a);
}
END_TEST

/* What a report counts: all that moves; without a side what lies in a layer without a direction, or what blocks have left. */
START_TEST(neurons_without_a_side)
{
  clarke_side_counts counts;
  clarke_audit open;
  size_t neuron[1];
  asked a;

  ask_contradiction(&a);
  clarke_audit_init(&open);
  OK(clarke_layers_read(&open, &a.question, &error));
  ck_assert_uint_eq(clarke_count_sides(&open, &a.question, CLARKE_NONE).moving, 0); /* no cell was looked at */
  open.cell = malloc(sizeof *open.cell);
  clarke_cell_init(&open.cell[0]);
  open.n_cells = 1;
  OK(clarke_cell_set(&open.cell[0], &a.question, NULL, &error));
  open.layer[0].feasible = CLARKE_YES;
  counts = clarke_count_sides(&open, &a.question, CLARKE_NONE);
  ck_assert(counts.moving == 2 && counts.sideless == 0);
  open.layer[0].feasible = CLARKE_NO;
  counts = clarke_count_sides(&open, &a.question, 0);
  ck_assert(counts.moving == 2 && counts.sideless == 2);
  ck_assert_uint_eq(clarke_sideless_neurons(neuron, 1, &open, &a.question, 0), 2);
  ck_assert_uint_eq(neuron[0], 0);
  clarke_obstacle_meet(&open.obstacle, CLARKE_OBSTACLE_CURVED, 2);
  open.obstacle.blocks = 1;
  clarke_reason_write(&open, &a.question);
  says(open.why, "2 kinks in /z (neurons 0, 1) leave sides open|they fall into 1 block, and|not affine");
  open.obstacle.blocks = 6; /* of three layers, it may be, which share what they depend on */
  clarke_reason_write(&open, &a.question);
  says(open.why, "layer by layer they fall into 6 blocks (those of one layer share no parameters)");
  open.obstacle.kind = CLARKE_OBSTACLE_SIMPLEX; /* which tells of the block's parameters alone */
  clarke_reason_write(&open, &a.question);
  says(open.why, "in one, of 2 of them, floats found no vector in its own parameters|in the parameters of several blocks");
  open.obstacle.sideless = calloc(2, sizeof *open.obstacle.sideless);
  open.obstacle.sideless[1] = true; /* the block's own word counts */
  ck_assert_uint_eq(clarke_count_sides(&open, &a.question, 0).sideless, 1);
  ck_assert_uint_eq(clarke_sideless_neurons(neuron, 1, &open, &a.question, 0), 1);
  ck_assert_uint_eq(neuron[0], 1);
  clarke_reason_write(&open, &a.question);
  says(open.why, "1 kink in /z (neuron 1) leaves sides open (1 other has a direction to AD's)");
  clarke_audit_clear(&open);
  asked_end(&a);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("realize");

  tcase_add_test(tests, a_contradiction_has_no_direction);
  tcase_add_test(tests, each_pattern_that_occurs_has_a_direction);
  tcase_add_test(tests, the_list_of_patterns);
  tcase_add_test(tests, what_sides_add_along_a_vector);
  tcase_add_test(tests, drawn_directions_meet_what_occurs);
  tcase_add_test(tests, directions_that_are_given_lead_there);
  tcase_add_test(tests, degrees_by_the_sides_before);
  tcase_add_test(tests, layers_are_read_off_the_graph);
  tcase_add_test(tests, neurons_without_a_side);
  return run_tests();
}
