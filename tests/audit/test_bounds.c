/* Bounds on what touches may add along a vector, beside the gradients under all sides: each is taken by
 * reverse mode with those sides chosen. */
#include "drawn.h"

#include "audit/branch_and_bound.h"
#include "audit/membership.h"
#include "exact/mdm.h"
#include "exact/number.h"
#include "network/derive/tangent.h"

#include <math.h>

enum { MOST_PATTERNS = 96, N_VECTORS = 4, N_PARTIAL = 12 };

#define MOST_TOUCHED ((size_t)1 << 40)

static void
dot(arb_t sum, const clarke_matrix *gradient, const clarke_row *v, const clarke_graph *g)
{
  arb_t x;

  arb_init(x);
  arb_zero(sum);
  for (size_t e = 0, p = 0; e < v->n; e++) {
    size_t entry = clarke_column_entry(&p, v->column[e], g);
    fmpq_t by;

    if (gradient[p].rows == 0)
      continue;
    fmpq_init(by);
    fmpq_set_mpq(by, v->value[e]);
    clarke_matrix_get_ball(x, &gradient[p], entry, 0, 256);
    arb_mul_fmpz(x, x, fmpq_numref(by), 256);
    arb_div_fmpz(x, x, fmpq_denref(by), 256);
    arb_add(sum, sum, x, 256);
    fmpq_clear(by);
  }
  arb_clear(x);
}

/* The gradients under all patterns of sides, and last AD's output. */
typedef struct {
  size_t n;
  clarke_matrix **gradient;
  clarke_branch *side; /* n x touches */
} patterns;

static void
patterns_init(patterns *all, const drawn *net)
{
  size_t touches = net->replay.n_touches;

  all->n = patterns_of(&net->replay, MOST_PATTERNS);
  all->gradient = malloc((all->n + 1) * sizeof *all->gradient);
  all->side = calloc((all->n + 1) * touches + 1, sizeof *all->side);
  for (size_t i = 0; i <= all->n; i++) {
    if (i < all->n)
      pattern_sides(all->side + i * touches, &net->replay, i);
    all->gradient[i] = clarke_matrices_new(net->g.n_parameters);
    OK(clarke_partial_gradient(all->gradient[i], &net->q, all->side + i * touches, &error));
  }
}

static void
patterns_clear(patterns *all, const drawn *net)
{
  for (size_t i = 0; i <= all->n; i++)
    clarke_matrices_free(all->gradient[i], net->g.n_parameters);
  free(all->gradient);
  free(all->side);
}

/* What each pattern adds to AD's output along v. */
static arb_ptr
differences_along(const patterns *all, const drawn *net, const clarke_row *v)
{
  arb_ptr x = _arb_vec_init((slong)all->n + 1);

  for (size_t i = 0; i <= all->n; i++)
    dot(x + i, all->gradient[i], v, &net->g);
  for (size_t i = 0; i < all->n; i++)
    arb_sub(x + i, x + i, x + all->n, 256);
  return x;
}

typedef struct {
  size_t networks, windows, behind, patterns, tight, tried, held, open, covered_patterns;
} tally;

static void
describe_gap(const clarke_separation *m, const clarke_branch *side, arb_srcptr sum, arb_srcptr difference)
{
  const clarke_question *q = m->q;

  for (size_t i = 0; i < q->g->n_steps; i++)
    fprintf(stderr, "step %zu: %s\n", i, q->g->steps[i].op->name);
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    fprintf(stderr, "touch %zu: step %zu, feature %zu, sample %zu, %zu options, side %d, AD's %d, pull ", k,
            t->step, t->feature, t->sample, t->n_options, side[k], q->touch[k].ad_side);
    arb_fprintd(stderr, q->touch[k].adjoint, 10);
    for (size_t o = 0; o < options_of(t); o++) {
      fprintf(stderr, ", gain ");
      arb_fprintd(stderr, clarke_separation_gain(m, k, o), 10);
    }
    fprintf(stderr, "\n");
  }
  fprintf(stderr, "loss %d; sum ", (int)q->loss.kind);
  arb_fprintd(stderr, sum, 10);
  fprintf(stderr, ", difference ");
  arb_fprintd(stderr, difference, 10);
  fprintf(stderr, "\n");
}

/* The gains sum up to what the pattern adds; where no touch is behind another, nothing is lost. */
static void
check_sum(const clarke_separation *m, const clarke_branch *side, arb_srcptr difference, bool tight, tally *t)
{
  const clarke_replay *r = m->q->replay;
  arb_t sum, gap;

  arb_init(sum);
  arb_init(gap);
  for (size_t k = 0; k < r->n_touches; k++) {
    size_t o = 0;

    while (side_of(&r->touch[k], o) != side[k])
      o++;
    arb_add(sum, sum, clarke_separation_gain(m, k, o), 256);
  }
  arb_sub(gap, sum, difference, 256);
  if (!arb_contains_zero(gap)) {
    describe_gap(m, side, sum, difference);
    ck_abort_msg("the gains do not sum up to what the sides add");
  }
  if (tight)
    ck_assert_msg(mag_cmp_2exp_si(arb_radref(gap), -50) < 0, "the gains' sum is wide: %g, loss %d",
                  mag_get_d(arb_radref(gap)), (int)m->q->loss.kind);
  t->patterns++;
  t->tight += tight;
  arb_clear(sum);
  arb_clear(gap);
}

static bool
extends(const clarke_branch *whole, const clarke_branch *part, size_t n)
{
  for (size_t k = 0; k < n; k++)
    if (part[k] != CLARKE_PROXY && part[k] != whole[k])
      return false;
  return true;
}

/* Where the separation holds, it does for every pattern. */
static void
check_partial(const clarke_separation *m, const clarke_branch *side, const patterns *all, arb_srcptr difference,
              tally *t)
{
  size_t n = m->q->replay->n_touches;
  bool open = false;

  t->tried++;
  if (!clarke_separation_holds(m, side))
    return;
  t->held++;
  for (size_t k = 0; k < n && !open; k++)
    open = side[k] == CLARKE_PROXY;
  t->open += open;
  for (size_t i = 0; i < all->n; i++)
    if (extends(all->side + i * n, side, n)) {
      ck_assert_msg(arb_is_negative(difference + i), "pattern %zu of a family is not separated", i);
      t->covered_patterns++;
    }
}

static void
draw_partial(clarke_branch *side, const clarke_replay *r, size_t chance, uint64_t *state)
{
  for (size_t k = 0; k < r->n_touches; k++)
    side[k] = draw_below(state, 4) < chance ? CLARKE_PROXY
                                            : side_of(&r->touch[k], draw_below(state, options_of(&r->touch[k])));
}

/* Does some touch lie in the sums or pieces before another's? */
static bool
one_layer(const clarke_replay *r)
{
  for (size_t k = 0; k < r->n_touches; k++)
    if (r->touch[k].step != r->touch[0].step)
      return false;
  return true;
}

static void
check_vector(const drawn *net, const patterns *all, uint64_t *state, tally *t)
{
  size_t n = net->replay.n_touches;
  clarke_branch *side = calloc(n + 1, sizeof *side);
  clarke_separation m;
  clarke_row v;
  arb_ptr difference;

  clarke_row_init(&v);
  draw_row(&v, &net->g, state);
  OK(clarke_separation_init(&m, &net->q, &v, &error));
  difference = differences_along(all, net, &v);
  for (size_t i = 0; i < all->n; i++) {
    check_sum(&m, all->side + i * n, difference + i, one_layer(&net->replay), t);
    check_partial(&m, all->side + i * n, all, difference, t);
  }
  for (size_t i = 0; i < N_PARTIAL; i++) {
    draw_partial(side, &net->replay, i == 0 ? 4 : 1 + i % 3, state);
    check_partial(&m, side, all, difference, t);
  }
  _arb_vec_clear(difference, (slong)all->n + 1);
  clarke_separation_clear(&m);
  clarke_row_clear(&v);
  free(side);
}

START_TEST(margins_are_of_all_sides)
{
  const size_t n = 2500;
  uint64_t state = 31;
  tally t = {.networks = n};

  for (size_t i = 0; i < n; i++) {
    drawn net;
    patterns all;

    draw_touched(&net, &state, MOST_PATTERNS);
    patterns_init(&all, &net);
    OK(clarke_adjoints_find(&net.q, &error));
    for (size_t k = 0; k < N_VECTORS; k++)
      check_vector(&net, &all, &state, &t);
    for (size_t k = 0, any = 0; k < net.replay.n_touches && !any; k++)
      t.windows += any = net.replay.touch[k].n_options > 0;
    t.behind += !one_layer(&net.replay);
    patterns_clear(&all, &net);
    drawn_clear(&net);
  }
  printf("adjoints: %zu networks (%zu with windows, %zu with touches in several steps), %zu sums (%zu tight), "
         "%zu of %zu families held (%zu with open touches), of %zu patterns\n", t.networks, t.windows, t.behind,
         t.patterns, t.tight, t.held, t.tried, t.open, t.covered_patterns);
  ck_assert_uint_gt(t.windows, n / 4);
  ck_assert_uint_gt(t.behind, n / 4);
  ck_assert_uint_gt(t.open, n);
  ck_assert_uint_gt(t.tight, 10 * n);
}
END_TEST

/* --- classes of parallel touches --------------------------------------------------------------- */

/* What the touch's options are along a direction: exactly. */
static void
option_along(mpq_t x, const clarke_touch *t, size_t option, const clarke_matrix *tangent, const clarke_graph *g)
{
  const clarke_matrix *in = &tangent[g->steps[t->step].in[0].value];

  mpq_set_ui(x, 0, 1);
  if (in->rows > 0 && (t->n_options > 0 || option == 1))
    clarke_matrix_get(x, in, t->n_options > 0 ? t->option[option] : t->feature, t->column);
}

/* Which of two options of the touch is the larger along it. */
static int
compare_options(const clarke_touch *t, size_t a, size_t b, const clarke_matrix *tangent, const clarke_graph *g)
{
  mpq_t x, y;
  int order;

  mpq_inits(x, y, NULL);
  option_along(x, t, a, tangent, g);
  option_along(y, t, b, tangent, g);
  order = mpq_cmp(x, y);
  mpq_clears(x, y, NULL);
  return order;
}

/* Tangents along v of all values, with these sides. */
static clarke_matrix *
tangents_along(const drawn *net, const clarke_branch *side, const double *move)
{
  clarke_matrix *d = clarke_matrices_new(net->g.n_parameters), *tangent = clarke_matrices_new(net->g.n_values);
  clarke_slopes slopes;

  clarke_slopes_init(&slopes);
  for (size_t p = 0; p < net->g.n_parameters; p++)
    if (!net->g.parameters[p].statistic)
      OK(clarke_matrix_set_doubles(&d[p], net->g.parameters[p].count, 1, move + clarke_column_base(&net->g, p), &error));
  OK(clarke_slopes_choose(&slopes, &net->replay.near, net->replay.touch, net->replay.n_touches, side, &net->profile,
                          &error));
  OK(clarke_tangent_run(tangent, &net->replay.near, &slopes, d, &error));
  clarke_slopes_clear(&slopes);
  clarke_matrices_free(d, net->g.n_parameters);
  return tangent;
}

static double *
draw_move(const clarke_graph *g, long most, uint64_t *state)
{
  size_t n = clarke_column_base(g, g->n_parameters);
  double *move = calloc(n + 1, sizeof *move);

  for (size_t e = 0; e < n; e++)
    move[e] = (double)draw_between(state, -most, most);
  return move;
}

/* The members' options lie as the first's do; and as the class says. */
static void
check_class(const clarke_class *class, const drawn *net, const clarke_matrix *tangent, size_t *compared)
{
  const clarke_touch *first = &net->replay.touch[class->touch[0]];

  for (size_t i = 0; i < class->n; i++) {
    const clarke_touch *t = &net->replay.touch[class->touch[i]];

    ck_assert_uint_eq(options_of(t), class->options);
    ck_assert(i == 0 || class->touch[i] > class->touch[i - 1]);
    for (size_t a = 0; a < class->options; a++)
      for (size_t b = 0; b < a; b++, *compared += i > 0)
        ck_assert_msg(compare_options(t, a, b, tangent, &net->g) == compare_options(first, a, b, tangent, &net->g),
                      "touches %zu and %zu are not parallel", class->touch[0], class->touch[i]);
  }
}

/* No touch is in two classes. */
static void
check_classes(const clarke_classes *c, const drawn *net)
{
  bool *seen = calloc(net->replay.n_touches + 1, sizeof *seen);

  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->class[i].n; k++) {
      ck_assert(!seen[c->class[i].touch[k]]);
      seen[c->class[i].touch[k]] = true;
    }
  free(seen);
}

static void
find_classes(clarke_classes *c, const drawn *net)
{
  bool *all = malloc(net->replay.n_touches + 1);

  memset(all, true, net->replay.n_touches);
  clarke_classes_init(c);
  OK(clarke_classes_find(c, &net->q, all, &error));
  free(all);
}

START_TEST(classes_take_their_sides_together)
{
  const size_t n = 1500, directions = 12;
  uint64_t state = 5;
  size_t compared = 0, classes = 0, shared = 0;

  for (size_t i = 0; i < n; i++) {
    drawn net;
    clarke_classes c;
    clarke_branch *side;

    draw_touched(&net, &state, MOST_TOUCHED);
    side = calloc(net.replay.n_touches + 1, sizeof *side);
    OK(clarke_adjoints_find(&net.q, &error));
    find_classes(&c, &net);
    check_classes(&c, &net);
    classes += c.n;
    for (size_t k = 0; k < c.n; k++)
      shared += c.class[k].n > 1;
    for (size_t k = 0; k < directions; k++) {
      double *move = draw_move(&net.g, 1 + (long)k, &state);
      clarke_matrix *tangent;

      draw_partial(side, &net.replay, 0, &state);
      tangent = tangents_along(&net, side, move);
      for (size_t j = 0; j < c.n; j++)
        check_class(&c.class[j], &net, tangent, &compared);
      clarke_matrices_free(tangent, net.g.n_values);
      free(move);
    }
    clarke_classes_clear(&c);
    drawn_clear(&net);
    free(side);
  }
  printf("classes: %zu, %zu of them of several touches; %zu comparisons\n", classes, shared, compared);
  ck_assert_uint_gt(shared, n / 4);
  ck_assert_uint_gt(compared, 10 * n);
}
END_TEST

/* --- trees ----------------------------------------------------------------------------------------- */

/* The touch's side along the tangents; CLARKE_PROXY when several options lead. */
static clarke_branch
leading_side(const clarke_touch *t, const clarke_matrix *tangent, const clarke_graph *g)
{
  size_t best = 0, ties = 0, n = options_of(t);

  for (size_t o = 1; o < n; o++)
    best = compare_options(t, o, best, tangent, g) > 0 ? o : best;
  for (size_t o = 0; o < n; o++)
    ties += compare_options(t, o, best, tangent, g) == 0;
  return ties == 1 ? side_of(t, best) : CLARKE_PROXY;
}

/* The sides to which a direction moves all touches, step by step: a cell that occurs. False when one of them is
 * left where it is. */
static bool
find_cell(clarke_branch *side, const drawn *net, const double *move)
{
  const clarke_replay *r = &net->replay;
  bool found = true;

  memset(side, 0, r->n_touches * sizeof *side);
  for (size_t k = 0; k < r->n_touches && found;) {
    clarke_matrix *tangent = tangents_along(net, side, move);

    for (size_t step = r->touch[k].step; k < r->n_touches && r->touch[k].step == step; k++) {
      side[k] = leading_side(&r->touch[k], tangent, &net->g);
      found = found && side[k] != CLARKE_PROXY;
    }
    clarke_matrices_free(tangent, net->g.n_values);
  }
  return found;
}

/* The node that follows the subtree at `node`. */
static size_t
after(const clarke_tree *tree, size_t node, const clarke_replay *r)
{
  size_t end = node + 1;

  if (tree->node[node].kind == CLARKE_BRANCH)
    for (size_t o = 0; o < options_of(&r->touch[tree->node[node].at]); o++)
      end = after(tree, end, r);
  return end;
}

/* Down the tree by the sides: a leaf, whose sides are among them. */
static void
check_path(const clarke_tree *tree, const clarke_branch *side, const clarke_replay *r)
{
  size_t at = 0;

  while (tree->node[at].kind == CLARKE_BRANCH) {
    const clarke_touch *t = &r->touch[tree->node[at].at];
    clarke_branch taken = side[tree->node[at++].at];

    for (size_t o = 0; side_of(t, o) != taken; o++)
      at = after(tree, at, r);
  }
  ck_assert_msg(tree->node[at].kind == CLARKE_LEAF, "a cell that occurs is called dead");
  ck_assert_msg(extends(side, tree->node[at].side, r->n_touches), "the leaf has other sides");
}

/* Cells as the classes have them, and the vector that is tried on them. */
typedef struct {
  const clarke_classes *c;
  size_t n, *option; /* cells; of the last one, by class */
  double *cell, *v;  /* AD's output less theirs */
} search;

enum { FIRST_CELLS = 16, ROUNDS = 24 };

static void
add_cell(search *s)
{
  const clarke_classes *c = s->c;

  for (size_t k = 0; k < c->n; k++)
    for (size_t j = 0; j < c->n_columns; j++)
      for (size_t sign = 0; sign < 2; sign++)
        s->cell[s->n * c->n_columns + j] -= c->class[k].gain[sign][s->option[k] * c->n_columns + j];
  s->n++;
}

static void
search_begin(search *s, const clarke_classes *c, uint64_t *state)
{
  *s = (search){.c = c};
  s->option = calloc(c->n + 1, sizeof *s->option);
  s->cell = calloc((FIRST_CELLS + ROUNDS) * c->n_columns + 1, sizeof *s->cell);
  s->v = calloc(c->n_columns + 1, sizeof *s->v);
  while (s->n < FIRST_CELLS) {
    for (size_t j = 0; j < c->n_columns; j++)
      s->v[j] = (double)draw_between(state, -9, 9);
    clarke_classes_along(s->option, c, s->v);
    add_cell(s);
  }
}

static void
search_end(search *s)
{
  free(s->option);
  free(s->cell);
  free(s->v);
}

/* A vector that separates the cells so far, if there is one; rounded, and with some noise for trees that have more
 * to do. */
static bool
guess_vector(clarke_row *row, search *s, long noise, uint64_t *state)
{
  double most = 0;
  bool outside;
  mpq_t x;

  OK(clarke_nearest(&outside, s->v, s->cell, s->n, s->c->n_columns, &error));
  for (size_t j = 0; j < s->c->n_columns; j++)
    most = fabs(s->v[j]) > most ? fabs(s->v[j]) : most;
  mpq_init(x);
  for (size_t j = 0; j < s->c->n_columns && outside; j++) {
    s->v[j] = rint(s->v[j] / most * 64) + (double)draw_between(state, -noise, noise);
    mpq_set_d(x, s->v[j]);
    if (s->v[j] != 0)
      OK(clarke_row_add(row, s->c->column[j], x, &error));
  }
  mpq_clear(x);
  return outside;
}

typedef struct {
  size_t tried, covered, branched, dead, recalled, cells, beyond;
} coverings;

/* sum[column] += u (what the class's option asks over another) */
static void
add_condition(mpq_t *sum, const clarke_class *class, size_t option, const clarke_multiplier *by)
{
  clarke_row row;
  mpq_t x;

  clarke_row_init(&row);
  mpq_init(x);
  OK(clarke_class_condition(&row, class, option, class->window ? by->condition : 1 - option, &error));
  for (size_t e = 0; e < row.n; e++) {
    mpq_mul(x, row.value[e], by->u);
    mpq_add(sum[row.column[e]], sum[row.column[e]], x);
  }
  mpq_clear(x);
  clarke_row_clear(&row);
}

/* By definition: positive numbers that combine what the options chosen ask to 0. */
static void
check_gordan(const clarke_node *dead, const clarke_classes *c, const size_t *chosen, const clarke_graph *g)
{
  const size_t columns = clarke_column_base(g, g->n_parameters);
  mpq_t *sum = clarke_rationals(columns);

  ck_assert_uint_gt(dead->gordan.n, 0);
  for (size_t m = 0; m < dead->gordan.n; m++) {
    size_t i = 0;

    while (c->class[i].touch[0] != dead->gordan.multiplier[m].of)
      ck_assert_uint_lt(++i, c->n);
    ck_assert(chosen[i] != CLARKE_UNCHOSEN && mpq_sgn(dead->gordan.multiplier[m].u) > 0);
    add_condition(sum, &c->class[i], chosen[i], &dead->gordan.multiplier[m]);
  }
  for (size_t j = 0; j < columns; j++)
    ck_assert_int_eq(mpq_sgn(sum[j]), 0);
  clarke_rationals_free(sum, columns);
}

/* The dead ends from node `at` on; returns the node after its part of the tree. */
static size_t
check_dead_ends(const clarke_tree *tree, size_t at, const clarke_classes *c, size_t *chosen, const clarke_graph *g)
{
  const clarke_node *node = &tree->node[at++];
  size_t i = 0;

  if (node->kind == CLARKE_DEAD)
    check_gordan(node, c, chosen, g);
  if (node->kind != CLARKE_BRANCH)
    return at;
  while (c->class[i].touch[0] != node->at)
    i++;
  for (size_t o = 0; o < c->class[i].options; o++) {
    chosen[i] = o;
    at = check_dead_ends(tree, at, c, chosen, g);
  }
  chosen[i] = CLARKE_UNCHOSEN;
  return at;
}

/* With the vectors met before the tree is the same, and none of its dead ends is solved again. */
static void
check_again(const clarke_tree *tree, const search *s, clarke_search *around, const clarke_separation *m, const drawn *net,
            coverings *t)
{
  const size_t known = around->circuits.n, before = around->recalled;
  size_t *chosen = malloc((s->c->n + 1) * sizeof *chosen), dead = 0;
  clarke_tree again;
  clarke_bounding answer;

  clarke_tree_init(&again);
  for (size_t i = 0; i < s->c->n; i++)
    chosen[i] = CLARKE_UNCHOSEN;
  ck_assert_uint_eq(check_dead_ends(tree, 0, s->c, chosen, &net->g), tree->n);
  OK(clarke_branch_and_bound(&answer, &again, s->option, around, s->v, m, &error));
  ck_assert(answer == CLARKE_BOUNDED && again.n == tree->n);
  for (size_t i = 0; i < tree->n; i++) {
    ck_assert(again.node[i].kind == tree->node[i].kind && again.node[i].at == tree->node[i].at);
    dead += again.node[i].kind == CLARKE_DEAD;
  }
  ck_assert_uint_eq(check_dead_ends(&again, 0, s->c, chosen, &net->g), again.n);
  ck_assert_uint_eq(around->circuits.n, known);
  ck_assert_uint_eq(around->recalled, before + dead);
  t->recalled += dead;
  clarke_tree_clear(&again);
  free(chosen);
}

/* Every cell that random directions lead to is separated, and has its leaf. */
static void
check_cells(const clarke_tree *tree, const clarke_row *v, const drawn *net, uint64_t *state, coverings *t)
{
  clarke_branch *side = calloc(net->replay.n_touches + 1, sizeof *side);
  arb_t ad, x;

  arb_init(ad);
  arb_init(x);
  for (size_t i = 0; i < 16; i++) {
    double *move = draw_move(&net->g, 20, state);
    bool found = i > 0 && find_cell(side, net, move);
    clarke_matrix *gradient = clarke_matrices_new(net->g.n_parameters);

    OK(clarke_partial_gradient(gradient, &net->q, side, &error)); /* at first AD's */
    dot(i == 0 ? ad : x, gradient, v, &net->g);
    ck_assert_msg(!found || arb_lt(x, ad), "a cell that occurs is not separated");
    if (found)
      check_path(tree, side, &net->replay);
    t->cells += found;
    t->beyond += found && !one_layer(&net->replay);
    clarke_matrices_free(gradient, net->g.n_parameters);
    free(move);
  }
  arb_clear(ad);
  arb_clear(x);
  free(side);
}

static void
count_nodes(const clarke_tree *tree, coverings *t)
{
  t->covered++;
  t->branched += tree->n > 1;
  for (size_t i = 0; i < tree->n; i++)
    t->dead += tree->node[i].kind == CLARKE_DEAD;
}

/* One vector; false when none was found, or no other will do better. */
static bool
check_cover(search *s, long noise, const drawn *net, uint64_t *state, coverings *t)
{
  clarke_row row;
  clarke_separation m;
  clarke_tree tree;
  clarke_search around;
  clarke_bounding answer = CLARKE_EXHAUSTED;

  clarke_row_init(&row);
  clarke_tree_init(&tree);
  if (guess_vector(&row, s, noise, state)) {
    OK(clarke_separation_init(&m, &net->q, &row, &error));
    clarke_search_init(&around, &net->q, s->c, 10000, 2000);
    OK(clarke_branch_and_bound(&answer, &tree, s->option, &around, s->v, &m, &error));
    t->tried++;
    ck_assert(tree.complete == (answer == CLARKE_BOUNDED));
    if (tree.complete) {
      count_nodes(&tree, t);
      check_again(&tree, s, &around, &m, net, t);
      check_cells(&tree, &row, net, state, t);
    }
    clarke_search_clear(&around);
    clarke_separation_clear(&m);
  }
  clarke_tree_clear(&tree);
  clarke_row_clear(&row);
  if (answer == CLARKE_VIOLATED && noise == 0)
    add_cell(s);
  return answer == CLARKE_VIOLATED;
}

static void
check_network(const clarke_classes *c, const drawn *net, uint64_t *state, coverings *t)
{
  search s;

  search_begin(&s, c, state);
  for (size_t i = 0; i < ROUNDS && check_cover(&s, 0, net, state, t); i++)
    continue;
  for (long noise = 10; noise < 60; noise += 10)
    check_cover(&s, noise, net, state, t);
  search_end(&s);
}

START_TEST(covered_cells_are_separated)
{
  const size_t n = 2500;
  uint64_t state = 77;
  coverings t = {0};

  for (size_t i = 0; i < n; i++) {
    drawn net;
    clarke_classes c;

    draw_touched(&net, &state, MOST_TOUCHED);
    OK(clarke_adjoints_find(&net.q, &error));
    find_classes(&c, &net);
    if (c.n > 0)
      check_network(&c, &net, &state, &t);
    clarke_classes_clear(&c);
    drawn_clear(&net);
  }
  printf("coverings: %zu of %zu, %zu with branches (%zu dead, %zu of them again by the vectors met); %zu cells separated, %zu with touches in several "
         "steps\n", t.covered, t.tried, t.branched, t.dead, t.recalled, t.cells, t.beyond);
  ck_assert_uint_gt(t.covered, n / 10);
  ck_assert_uint_gt(t.branched, n / 40);
  ck_assert_uint_gt(t.dead, n / 40);
  ck_assert_uint_gt(t.beyond, n / 10);
  ck_assert_uint_gt(t.cells, n);
}
END_TEST

int
main(void)
{
  TCase *c = tests_of("bounds");

  tcase_add_test(c, margins_are_of_all_sides);
  tcase_add_test(c, classes_take_their_sides_together);
  tcase_add_test(c, covered_cells_are_separated);
  return run_tests();
}
