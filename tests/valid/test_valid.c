/* Structures that are broken by hand are noticed: by the functions that say whether they are valid, by assertions, and in
 * a build with -Dverify=true wherever a function begins with them. */
#include "../network/machine.h"
#include "break.h"

#include "exact/number.h"
#include "audit/classes.h"
#include "audit/audit.h"
#include "base/verify.h"
#include "network/graph/build.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef CLARKE_VERIFY
#define VERIFIES true
#else
#define VERIFIES false
#endif

#define SWAP(type, a, b) \
  do {                   \
    type kept = (a);     \
    (a) = (b);           \
    (b) = kept;          \
  } while (0)

/* The signal that ends a call in a process of its own, or 0. */
static int
signal_of(void (*call)(void *context), void *context)
{
  pid_t child;
  int status;

  fflush(NULL);
  child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    if (dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) < 0)
      _exit(1);
    signal(SIGABRT, SIG_DFL); /* Check may wait for it to clean up */
    call(context);
    _exit(0);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* --- a network with two Relus and a window, all touched -------------------------------------- */

typedef struct {
  clarke_model m;
  clarke_tensor x;
  clarke_profile profile;
  clarke_graph g;
  clarke_replay replay;
  clarke_question q;
} asked;

static asked a;

static void
begin(void)
{
  static const char profile[] = "like pytorch-2.13\n";

  memset(&a, 0, sizeof a);
  model_begin(&a.m, 16);
  model_input(&a.m, "x", SHAPE(-1, 2,));
  a.x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  a.x.real[0] = a.x.real[1] = 1;
  memcpy(model_floats(&a.m, "W", SHAPE(2, 2,)), (double[]){1, 2, -1, -2}, 4 * sizeof(double));
  model_floats(&a.m, "b", SHAPE(2,));
  memcpy(model_floats(&a.m, "V", SHAPE(2, 4,)), (double[]){1, 2, 3, 4, 5, 6, 7, 8}, 8 * sizeof(double));
  memcpy(model_floats(&a.m, "c", SHAPE(4,)), (double[]){1, 1, 1, 1}, 4 * sizeof(double));
  memcpy(model_integers(&a.m, "shape", SHAPE(3,)), (int64_t[]){-1, 1, 4}, 3 * sizeof(int64_t));
  model_node(&a.m, "MatMul", "x,W", "p");
  model_node(&a.m, "Add", "p,b", "s");
  model_node(&a.m, "Relu", "s", "z");
  model_node(&a.m, "MatMul", "z,V", "v");
  model_node(&a.m, "Add", "v,c", "t");
  model_node(&a.m, "Reshape", "t,shape", "r");
  attr_ints(model_node(&a.m, "MaxPool", "r", "y"), "kernel_shape", SHAPE(4,));
  model_output(&a.m, "y");
  clarke_profile_init(&a.profile);
  clarke_graph_init(&a.g);
  clarke_replay_init(&a.replay);
  OK(clarke_profile_parse(&a.profile, profile, strlen(profile), "like", &error));
  OK(clarke_graph_build(&a.g, &a.m, &a.x, &error));
  OK(clarke_graph_wrt(&a.g, NULL, 0, &error));
  OK(clarke_replay_run(&a.replay, NULL, &a.g, &a.x, true, 1, &error));
  OK(clarke_question_init(&a.q, &a.replay, &a.profile, &(clarke_loss){.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = 1}, &error));
  ck_assert_uint_eq(a.replay.n_touches, 3);
  ck_assert_uint_eq(a.replay.touch[2].n_options, 4);
}

static void
end(void)
{
  clarke_question_clear(&a.q);
  clarke_replay_clear(&a.replay);
  clarke_graph_clear(&a.g);
  clarke_profile_clear(&a.profile);
  clarke_tensor_clear(&a.x);
  clarke_model_clear(&a.m);
}

static clarke_step *
step_of(clarke_step_kind kind)
{
  size_t i = 0;

  while (i < a.g.n_steps && a.g.steps[i].kind != kind)
    i++;
  ck_assert_uint_lt(i, a.g.n_steps);
  return &a.g.steps[i];
}

/* --- tests --------------------------------------------------------------------------------------- */

START_TEST(numbers_and_matrices)
{
  clarke_matrix m;
  mpq_t q;

  mpq_init(q);
  BREAK_RATIONAL(clarke_rational_is_canonical(q), q, 2, 4);
  BREAK_RATIONAL(clarke_rational_is_canonical(q), q, 0, 2);
  BREAK_RATIONAL(clarke_rational_is_canonical(q), q, 1, -2);
  BREAK_RATIONAL(clarke_rational_is_canonical(q), q, 1, 0);
  mpq_clear(q);
  clarke_matrix_init(&m);
  ck_assert(clarke_matrix_is_valid(&m));
  OK(clarke_matrix_resize(&m, 2, 2, 1, &error));
  m.radius = calloc(4, sizeof *m.radius);
  BREAK(clarke_matrix_is_valid(&m), m.radius[3], -1);
  BREAK(clarke_matrix_is_valid(&m), m.radius[0], NAN);
  BREAK(clarke_matrix_is_valid(&m), m.limbs, 0);
  BREAK(clarke_matrix_is_valid(&m), m.exp, 1L << 25);
  BREAK(clarke_matrix_is_valid(&m), m.word, NULL);
  mpz_set_si(m.den, 2);
  ck_assert(!clarke_matrix_is_valid(&m));
  mpz_set_si(m.den, -3);
  ck_assert(!clarke_matrix_is_valid(&m));
  clarke_matrix_clear(&m);
}
END_TEST

START_TEST(graphs)
{
  clarke_step *relu = step_of(CLARKE_PIECEWISE), *dense = step_of(CLARKE_DENSE), *max = step_of(CLARKE_MAX);

  BREAK(clarke_graph_is_valid(&a.g), relu->in[0].value, max->out); /* comes later */
  BREAK(clarke_graph_is_valid(&a.g), relu->in[0].value, relu->out);
  BREAK(clarke_graph_is_valid(&a.g), relu->in[0].value, a.g.n_values);
  BREAK(clarke_graph_is_valid(&a.g), relu->out, dense->out);
  BREAK(clarke_graph_is_valid(&a.g), dense->dense.inner, 3);
  BREAK(clarke_graph_is_valid(&a.g), dense->dense.weight, a.g.input);
  BREAK(clarke_graph_is_valid(&a.g), max->in[0].map[1], 4);
  BREAK(clarke_graph_is_valid(&a.g), max->width, CLARKE_MAX_WIDTH + 1);
  BREAK(clarke_graph_is_valid(&a.g), a.g.output, CLARKE_NONE);
  BREAK(clarke_graph_is_valid(&a.g), a.g.values[dense->dense.weight].parameter, a.g.n_parameters);
  BREAK(clarke_graph_is_valid(&a.g), a.g.parameters[0].statistic, true);
  BREAK_RATIONAL(clarke_graph_is_valid(&a.g), relu->pieces.coef[1][1], 2, 2);
  BREAK_RATIONAL(clarke_graph_is_valid(&a.g), relu->pieces.kink[0], 0, 3);
}
END_TEST

START_TEST(profiles)
{
  clarke_tie_rule *rule = &a.profile.rule[0];

  ck_assert(rule->known && rule->tie == CLARKE_TIE_FIRST);
  BREAK_RATIONAL(clarke_profile_is_valid(&a.profile), rule->beta, 2, 4);
  mpq_set_ui(rule->beta, 1, 2);
  BREAK(clarke_profile_is_valid(&a.profile), rule->tie, CLARKE_TIE_LAST);
}
END_TEST

START_TEST(replays)
{
  clarke_touch *t = a.replay.touch;

  BREAK(clarke_replay_is_valid(&a.replay), t[1].first_condition, 2);
  BREAK(clarke_replay_is_valid(&a.replay), t[1].feature, 0);
  BREAK(clarke_replay_is_valid(&a.replay), t[0].kink, 1);
  BREAK(clarke_replay_is_valid(&a.replay), t[0].column, a.replay.near.n);
  BREAK(clarke_replay_is_valid(&a.replay), t[0].sample, 1);
  BREAK(clarke_replay_is_valid(&a.replay), t[2].option[3], 4);
  BREAK(clarke_replay_is_valid(&a.replay), t[2].n_options, 1);
  BREAK(clarke_replay_is_valid(&a.replay), a.replay.n_conditions, 5);
  BREAK(clarke_replay_is_valid(&a.replay), a.replay.piece[t[0].step][0], 0);
  SWAP(size_t, t[0].feature, t[1].feature);
  ck_assert(!clarke_replay_is_valid(&a.replay));
  SWAP(size_t, t[0].feature, t[1].feature);
  BREAK(clarke_question_is_valid(&a.q), a.q.touch[0].ad_side, 2);
  BREAK(clarke_question_is_valid(&a.q), a.q.touch[2].ad_side, -1);
  BREAK(clarke_question_is_valid(&a.q), a.q.touch[2].ad_side, 5);
  BREAK_RATIONAL(clarke_question_is_valid(&a.q), a.q.touch[1].lambda, 3, 9);
  BREAK(clarke_question_is_valid(&a.q), a.q.touch[1].first_gain, 1);
  BREAK(clarke_question_is_valid(&a.q), a.q.n_gains, 0);
}
END_TEST

static void
fill_row(clarke_row *r)
{
  mpq_t one;

  clarke_row_init(r);
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  for (size_t i = 0; i < 3; i++)
    OK(clarke_row_add(r, 2 * i, one, &error));
  mpq_clear(one);
}

START_TEST(rows_directions_and_cells)
{
  clarke_row r;
  clarke_cell c;
  clarke_direction *d;

  fill_row(&r);
  BREAK(clarke_row_is_valid(&r), r.column[1], 5);
  BREAK(clarke_row_is_valid(&r), r.column[1], 0);
  BREAK(clarke_row_is_valid(&r), r.n, r.capacity + 1);
  BREAK_RATIONAL(clarke_row_is_valid(&r), r.value[2], 0, 1);
  BREAK_RATIONAL(clarke_row_is_valid(&r), r.value[0], 2, 2);
  clarke_cell_init(&c);
  OK(clarke_cell_set(&c, &a.q, NULL, &error));
  d = clarke_cell_direction(&c, &error);
  OK(clarke_direction_move(d, CLARKE_MOVE_AT, 0, 3, r.value[0], &error));
  BREAK(clarke_cell_is_valid(&c, &a.q), d->move[0].entry, 4);
  BREAK(clarke_cell_is_valid(&c, &a.q), d->move[0].parameter, a.g.n_parameters);
  BREAK(clarke_cell_is_valid(&c, &a.q), a.g.parameters[0].wrt, false);
  BREAK(clarke_cell_is_valid(&c, &a.q), c.side[1], 2);
  BREAK(clarke_cell_is_valid(&c, &a.q), c.side[2], CLARKE_LEFT);
  clarke_cell_clear(&c);
  clarke_row_clear(&r);
}
END_TEST

static clarke_node *
node_of(clarke_tree *t, clarke_node_kind kind)
{
  size_t i = 0;

  while (i < t->n && t->node[i].kind != kind)
    i++;
  ck_assert_uint_lt(i, t->n);
  return &t->node[i];
}

START_TEST(trees)
{
  clarke_tree t;
  clarke_node *branch, *leaf;
  clarke_multiplier m = {.of = 1};

  clarke_tree_init(&t);
  OK(clarke_enumerate(&t, &a.q, &error));
  ck_assert(t.complete);
  branch = node_of(&t, CLARKE_BRANCH) + 1;
  leaf = node_of(&t, CLARKE_LEAF);
  ck_assert_int_eq(branch->kind, CLARKE_BRANCH);
  BREAK(clarke_tree_is_valid(&t, &a.q), branch->at, t.node[0].at); /* twice on a path */
  BREAK(clarke_tree_is_valid(&t, &a.q), branch->at, 3);
  BREAK(clarke_tree_is_valid(&t, &a.q), branch->kind, CLARKE_LEAF);
  BREAK(clarke_tree_is_valid(&t, &a.q), branch->n_branches, 1);
  BREAK(clarke_tree_is_valid(&t, &a.q), leaf->side[0], 3);
  BREAK(clarke_tree_is_valid(&t, &a.q), t.n, t.n - 1);
  /* The leaf as if a relation had refuted it. */
  mpq_init(m.u);
  mpq_set_ui(m.u, 1, 2);
  leaf->kind = CLARKE_DEAD;
  leaf->gordan = (clarke_gordan){1, &m};
  BREAK(clarke_tree_is_valid(&t, &a.q), leaf->gordan.n, 0);
  BREAK(clarke_tree_is_valid(&t, &a.q), m.condition, 1);
  BREAK(clarke_tree_is_valid(&t, &a.q), m.of, 3);
  BREAK_RATIONAL(clarke_tree_is_valid(&t, &a.q), m.u, 0, 1);
  BREAK_RATIONAL(clarke_tree_is_valid(&t, &a.q), m.u, -1, 1);
  leaf->kind = CLARKE_LEAF;
  leaf->gordan = (clarke_gordan){0};
  mpq_clear(m.u);
  clarke_tree_clear(&t);
}
END_TEST

/* A tree of one branch, both sides of which are refuted, by a touch that is chosen there: only such count. */
START_TEST(refutations)
{
  clarke_tree t;
  clarke_multiplier m = {.of = 0};

  clarke_tree_init(&t);
  mpq_init(m.u);
  mpq_set_ui(m.u, 1, 2);
  *clarke_tree_add(&t, CLARKE_BRANCH) = (clarke_node){.kind = CLARKE_BRANCH, .n_branches = 2};
  for (int side = 0; side < 2; side++) {
    clarke_node *dead = clarke_tree_add(&t, CLARKE_DEAD);

    dead->gordan = (clarke_gordan){1, &m};
  }
  t.complete = true;
  BREAK(clarke_tree_is_valid(&t, &a.q), m.of, 1);
  for (size_t i = 1; i < 3; i++)
    t.node[i].gordan = (clarke_gordan){0};
  mpq_clear(m.u);
  clarke_tree_clear(&t);
}
END_TEST

START_TEST(memberships)
{
  clarke_membership m;
  mpq_t weight[2];

  clarke_membership_init(&m);
  ck_assert(clarke_membership_is_valid(&m, 0));
  mpq_inits(weight[0], weight[1], NULL);
  mpq_set_ui(weight[0], 1, 3);
  mpq_set_ui(weight[1], 2, 3);
  m.weight = weight;
  m.place = CLARKE_HULL_INSIDE;
  BREAK_RATIONAL(clarke_membership_is_valid(&m, 2), weight[1], 1, 2);
  BREAK_RATIONAL(clarke_membership_is_valid(&m, 2), weight[1], 4, 6);
  mpq_set_si(weight[0], -1, 3);
  mpq_set_ui(weight[1], 4, 3);
  ck_assert(!clarke_membership_is_valid(&m, 2));
  m.weight = NULL;
  m.place = CLARKE_HULL_OUTSIDE;
  ck_assert(!clarke_membership_is_valid(&m, 2));
  fill_row(&m.v);
  BREAK(clarke_membership_is_valid(&m, 2), m.v.column[2], 1);
  mpq_clears(weight[0], weight[1], NULL);
  clarke_membership_clear(&m, 0);
}
END_TEST

START_TEST(simplices_and_classes)
{
  size_t touch[2] = {0, 1}, column[2] = {1, 3};
  clarke_row base[2];
  clarke_direction d;
  clarke_simplex x = {2, touch, 1, &d};
  clarke_class class = {.n = 2, .touch = touch, .options = 2, .base = base};
  clarke_classes all = {1, &class, 2, column};

  clarke_direction_init(&d);
  clarke_row_init(&base[0]);
  fill_row(&base[1]);
  BREAK(clarke_simplex_is_valid(&x, &a.q), touch[1], 0);
  BREAK(clarke_simplex_is_valid(&x, &a.q), touch[1], 3);
  BREAK(clarke_simplex_is_valid(&x, &a.q), x.n, 0);
  BREAK(clarke_classes_are_valid(&all, &a.q), touch[0], 1);
  BREAK(clarke_classes_are_valid(&all, &a.q), touch[1], 2); /* a window among kinks */
  BREAK(clarke_classes_are_valid(&all, &a.q), column[0], 3);
  BREAK(clarke_classes_are_valid(&all, &a.q), base[1].column[0], 9);
  BREAK(clarke_classes_are_valid(&all, &a.q), base[0].n, 1);
  clarke_row_clear(&base[1]);
}
END_TEST

START_TEST(audits)
{
  clarke_audit audit;
  clarke_cell *cell;

  clarke_audit_init(&audit);
  OK(clarke_audit_run(&audit, &a.q, false, &error));
  ck_assert_int_eq(audit.evidence, CLARKE_EVIDENCE_AD);
  cell = &audit.cell[0];
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.verdict, CLARKE_NOT_IN_CLARKE);
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.verdict, CLARKE_UNDECIDED);
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.evidence, CLARKE_EVIDENCE_NONE);
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.evidence, CLARKE_EVIDENCE_SIMPLICES);
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.evidence, CLARKE_EVIDENCE_SEPARATOR);
  BREAK(clarke_audit_is_valid(&audit, &a.q), cell->side[0], 7);
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.layer[0].moving, audit.layer[0].touched + 1);
  BREAK(clarke_audit_is_valid(&audit, &a.q), audit.flat, a.replay.n_touches + 1);
  clarke_audit_clear(&audit);
}
END_TEST

/* An audit of two layers with cells of AD's sides, whose evidence is filled in by hand. */
static void
begin_audit(clarke_audit *audit, clarke_layer *layer, clarke_cell *cell, size_t n)
{
  clarke_audit_init(audit);
  memset(layer, 0, 2 * sizeof *layer);
  layer[0].step = a.replay.touch[0].step;
  layer[0].touched = layer[0].moving = 2;
  layer[1].step = a.replay.touch[2].step;
  layer[1].touched = 1;
  audit->layer = layer;
  audit->n_layers = 2;
  for (size_t i = 0; i < n; i++) {
    clarke_cell_init(&cell[i]);
    OK(clarke_cell_set(&cell[i], &a.q, NULL, &error));
  }
  audit->cell = cell;
}

static bool
sound(const clarke_audit *audit)
{
  return clarke_audit_is_valid(audit, &a.q);
}

START_TEST(audits_without_evidence)
{
  clarke_audit audit;
  clarke_layer layer[3];

  begin_audit(&audit, layer, NULL, 0);
  BREAK(sound(&audit), audit.verdict, CLARKE_IN_BOULIGAND);
  BREAK(sound(&audit), audit.verdict, CLARKE_IN_CLARKE);
  BREAK(sound(&audit), audit.verdict, CLARKE_NOT_IN_CLARKE);
  BREAK(sound(&audit), audit.evidence, 99);
  BREAK(sound(&audit), layer[1].step, layer[0].step);
  BREAK(sound(&audit), layer[1].step, a.g.n_steps);
  BREAK(sound(&audit), layer[0].step, layer[1].step + 1);
  BREAK(sound(&audit), layer[1].moving, 2);
  layer[0].weight = layer[0].bias = layer[0].dense = CLARKE_NONE;
  layer[0].feasible = CLARKE_UNKNOWN;
  BREAK(sound(&audit), layer[0].plain_sum, true);
  BREAK(sound(&audit), layer[0].bias_distinct, true);
  BREAK(sound(&audit), layer[0].two_kinks, true);
  layer[0].alone = true;
  BREAK(sound(&audit), layer[0].bias_covers, true);
  BREAK(sound(&audit), layer[0].fully_connected, true);
  layer[0].bias = layer[0].dense = 0;
  layer[0].alone = false;
  BREAK(sound(&audit), layer[0].bias_covers, true);
  BREAK(sound(&audit), layer[0].fully_connected, true);
  BREAK(sound(&audit), audit.flat, 4);
  audit.flat = 3;
  layer[1].moving = 1;
  ck_assert(sound(&audit));
  layer[2] = layer[1];
  layer[1].step = layer[0].step + 1;
  audit.n_layers = 3;
  ck_assert(sound(&audit));
  BREAK(sound(&audit), layer[2].step, layer[0].step);
}
END_TEST

START_TEST(mixes)
{
  clarke_audit audit;
  clarke_layer layer[2];
  clarke_cell cell[4];
  size_t mixed[2] = {0, 1};
  mpq_t lambda[2];

  begin_audit(&audit, layer, cell, 4);
  mpq_inits(lambda[0], lambda[1], NULL);
  mpq_set_ui(lambda[0], 1, 2);
  mpq_set_ui(lambda[1], 1, 3);
  audit.verdict = CLARKE_IN_CLARKE;
  audit.evidence = CLARKE_EVIDENCE_MIX;
  audit.mixed = mixed;
  audit.lambda = lambda;
  audit.n_mixed = 2;
  audit.n_cells = 4;
  BREAK(sound(&audit), audit.verdict, CLARKE_IN_BOULIGAND);
  BREAK(sound(&audit), mixed[1], 0);
  BREAK(sound(&audit), mixed[0], 1);
  BREAK(sound(&audit), mixed[1], 2);
  BREAK(sound(&audit), audit.n_cells, 3);
  BREAK(sound(&audit), audit.n_mixed, 1);
  BREAK(sound(&audit), audit.n_layers, 1);
  BREAK(sound(&audit), cell[3].side[0], 7);
  for (size_t i = 0; i < 2; i++) {
    BREAK_RATIONAL(sound(&audit), lambda[i], 0, 1);
    BREAK_RATIONAL(sound(&audit), lambda[i], 1, 1);
    BREAK_RATIONAL(sound(&audit), lambda[i], -1, 2);
    BREAK_RATIONAL(sound(&audit), lambda[i], 3, 2);
  }
  audit.n_mixed = 0;
  audit.n_cells = 1;
  ck_assert(!sound(&audit));
  mpq_clears(lambda[0], lambda[1], NULL);
  for (size_t i = 0; i < 4; i++)
    clarke_cell_clear(&cell[i]);
}
END_TEST

START_TEST(hulls)
{
  clarke_audit audit;
  clarke_layer layer[2];
  clarke_cell cell[2];
  mpq_t weight[2];

  begin_audit(&audit, layer, cell, 2);
  mpq_inits(weight[0], weight[1], NULL);
  mpq_set_ui(weight[1], 1, 1);
  audit.verdict = CLARKE_IN_CLARKE;
  audit.evidence = CLARKE_EVIDENCE_HULL;
  audit.weight = weight;
  audit.n_cells = 2;
  BREAK(sound(&audit), audit.verdict, CLARKE_NOT_IN_CLARKE);
  BREAK(sound(&audit), audit.verdict, CLARKE_UNDECIDED);
  BREAK(sound(&audit), audit.n_cells, 0);
  BREAK(sound(&audit), audit.n_cells, 1);
  BREAK(sound(&audit), cell[1].side[2], CLARKE_LEFT);
  BREAK_RATIONAL(sound(&audit), weight[0], 1, 2);
  BREAK_RATIONAL(sound(&audit), weight[1], 2, 2);
  mpq_set_ui(weight[0], 2, 1);
  mpq_set_si(weight[1], -1, 1);
  ck_assert(!sound(&audit));
  mpq_swap(weight[0], weight[1]);
  ck_assert(!sound(&audit));
  mpq_set_ui(weight[0], 1, 4);
  mpq_set_ui(weight[1], 3, 4);
  audit.verdict = CLARKE_IN_BOULIGAND;
  ck_assert(sound(&audit));
  mpq_clears(weight[0], weight[1], NULL);
  for (size_t i = 0; i < 2; i++)
    clarke_cell_clear(&cell[i]);
}
END_TEST

START_TEST(separators)
{
  clarke_audit audit;
  clarke_layer layer[2];
  size_t parallel[3] = {CLARKE_NONE, 0, 2};

  begin_audit(&audit, layer, NULL, 0);
  OK(clarke_enumerate(&audit.tree, &a.q, &error));
  fill_row(&audit.membership.v);
  audit.membership.place = CLARKE_HULL_OUTSIDE;
  audit.verdict = CLARKE_NOT_IN_CLARKE;
  for (int bound = 0; bound < 2; bound++) {
    audit.evidence = bound ? CLARKE_EVIDENCE_BOUND : CLARKE_EVIDENCE_SEPARATOR;
    BREAK(sound(&audit), audit.verdict, CLARKE_IN_CLARKE);
    BREAK(sound(&audit), audit.verdict, CLARKE_UNDECIDED);
    BREAK(sound(&audit), audit.tree.complete, false);
    BREAK(sound(&audit), audit.tree.n, audit.tree.n - 1);
    BREAK(sound(&audit), audit.tree.n, audit.tree.capacity + 1);
    BREAK(sound(&audit), audit.membership.v.n, 0);
    BREAK(sound(&audit), audit.membership.v.column[0], 3);
  }
  audit.tree.parallel = parallel;
  BREAK(sound(&audit), parallel[0], 1);
  BREAK(sound(&audit), parallel[1], 2);
  audit.tree.parallel = NULL;
  clarke_tree_clear(&audit.tree);
  clarke_membership_clear(&audit.membership, 0);
}
END_TEST

START_TEST(surroundings)
{
  clarke_audit audit;
  clarke_layer layer[2];
  size_t touch[2] = {0, 2};
  clarke_direction d[2];
  clarke_simplex x[2] = {{1, touch, 1, d}, {1, touch + 1, 1, d + 1}};
  mpq_t one;

  begin_audit(&audit, layer, NULL, 0);
  clarke_direction_init(&d[0]);
  clarke_direction_init(&d[1]);
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  OK(clarke_direction_move(&d[1], CLARKE_MOVE_AT, 0, 3, one, &error));
  mpq_clear(one);
  OK(clarke_cell_set(&audit.others, &a.q, NULL, &error));
  audit.verdict = CLARKE_IN_CLARKE;
  audit.evidence = CLARKE_EVIDENCE_SIMPLICES;
  audit.simplex = x;
  audit.n_simplices = 2;
  BREAK(sound(&audit), audit.verdict, CLARKE_NOT_IN_CLARKE);
  audit.verdict = CLARKE_IN_BOULIGAND;
  ck_assert(sound(&audit));
  BREAK(sound(&audit), x[0].n, 2); /* in-clarke at most */
  audit.verdict = CLARKE_IN_CLARKE;
  BREAK(sound(&audit), audit.n_simplices, 0);
  BREAK(sound(&audit), audit.others.side[0], 3);
  BREAK(sound(&audit), x[1].n_touches, 0);
  BREAK(sound(&audit), x[1].n, 0);
  BREAK(sound(&audit), touch[1], 3);
  BREAK(sound(&audit), d[1].move[0].entry, 4);
  BREAK(sound(&audit), d[1].n, d[1].capacity + 1);
  clarke_direction_clear(&d[1]);
  clarke_cell_clear(&audit.others);
}
END_TEST

/* --- who notices --------------------------------------------------------------------------------- */

static void
read_beyond(void *context)
{
  clarke_matrix *m = context;
  mpz_t z;

  mpz_init(z);
  clarke_matrix_load(z, m, 1, 0);
}

static void
divide_by_zero(void *context)
{
  clarke_number x, zero;

  (void)context;
  clarke_number_init(&x);
  clarke_number_init(&zero);
  clarke_number_div(&x, &x, &zero, 64);
}

/* Benign where nothing is checked: an assertion costs no access outside. */
START_TEST(assertions_are_always_on)
{
  clarke_matrix m;

  clarke_matrix_init(&m);
  OK(clarke_matrix_resize(&m, 1, 1, 1, &error));
  ck_assert_int_eq(signal_of(read_beyond, &m), SIGABRT);
  ck_assert_int_eq(signal_of(divide_by_zero, NULL), SIGABRT);
  clarke_matrix_clear(&m);
}
END_TEST

static void
solve_row(void *context)
{
  clarke_cone_answer answer;
  clarke_direction d;
  mpq_t u;

  mpq_init(u);
  clarke_direction_init(&d);
  (void)clarke_system_solve(&answer, &d, &u, context, 1, &a.g, NULL);
}

static void
run_replay(void *context)
{
  clarke_replay again;

  (void)context;
  clarke_replay_init(&again);
  (void)clarke_replay_run(&again, NULL, &a.g, &a.x, true, 1, NULL);
}

static void
ask_again(void *context)
{
  clarke_question q;

  (void)context;
  (void)clarke_question_init(&q, &a.replay, &a.profile, &(clarke_loss){.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = 1}, NULL);
}

static void
set_cell(void *context)
{
  clarke_cell c;

  clarke_cell_init(&c);
  (void)clarke_cell_set(&c, &a.q, context, NULL);
}

/* Each call is harmless with what is broken, so that only a check can end it. */
START_TEST(functions_begin_with_checks)
{
  const int expected = VERIFIES ? SIGABRT : 0;
  clarke_branch side[3] = {CLARKE_LEFT, CLARKE_LEFT, 1};
  clarke_row r;

  fill_row(&r);
  ck_assert_int_eq(signal_of(solve_row, &r), 0);
  SWAP(size_t, r.column[0], r.column[1]);
  ck_assert_int_eq(signal_of(solve_row, &r), expected);
  clarke_row_clear(&r);
  ck_assert_int_eq(signal_of(run_replay, NULL), 0);
  a.g.parameters[0].statistic = true;
  ck_assert_int_eq(signal_of(run_replay, NULL), expected);
  a.g.parameters[0].statistic = false;
  ck_assert_int_eq(signal_of(ask_again, NULL), 0);
  a.replay.n_conditions++;
  ck_assert_int_eq(signal_of(ask_again, NULL), expected);
  a.replay.n_conditions--;
  ck_assert_int_eq(signal_of(set_cell, side), 0);
  side[0] = 2; /* right, to who asks for no more than its sign */
  ck_assert_int_eq(signal_of(set_cell, side), expected);
}
END_TEST

int
main(void)
{
  const TTest *const tests[] = {
    numbers_and_matrices, graphs, profiles, replays, rows_directions_and_cells, trees, refutations,
    memberships,
    simplices_and_classes, audits, audits_without_evidence, mixes, hulls, separators, surroundings, assertions_are_always_on, functions_begin_with_checks,
  };
  TCase *tcase = tests_of("valid");

  tcase_add_checked_fixture(tcase, begin, end);
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
    tcase_add_test(tcase, tests[i]);
  return run_tests();
}
