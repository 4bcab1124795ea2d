/* Blocks of a layer's system share no parameters: a convolution's filters are apart from each other. Where
 * one has no direction, AD's output may be separated in its own parameters, whatever all other touches
 * do: a few of the block's are branched on, the rest is bounded.
 *
 * The vector is the point of a hull nearest to the origin: of what cells change in AD's output, as floats have it. Every
 * cell that it turns out not to separate joins the hull, until a tree covers all of them (or none can). */
#include "theorem/audit.h"

#include "subdiff/climb.h"
#include "subdiff/cover.h"
#include "subdiff/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 64
#define ROUNDS 256
#define MOST_TOUCHES ((size_t)1 << 14)
#define MOST_CLASSES 1024 /* with more no tree is small */
#define LARGEST 4096 /* entry of v */
#define NEARLY 0.01  /* a cell is worth adding */
#define WORK 8192    /* systems solved for a block */

/* What the search of one block keeps. */
typedef struct {
  clarke_parallels classes;
  double *cell; /* n_cells x columns: AD's output less the cell's gradient */
  size_t n_cells, most_cells, work;
  double *v;
  size_t *option;
  uint64_t state;
} search;

static void
search_clear(search *s)
{
  clarke_parallels_clear(&s->classes);
  free(s->cell);
  free(s->v);
  free(s->option);
}

static void
add_cell(search *s)
{
  const clarke_parallels *c = &s->classes;
  double *cell = s->cell + s->n_cells++ * c->n_columns;

  memset(cell, 0, c->n_columns * sizeof *cell);
  for (size_t i = 0; i < c->n; i++)
    for (size_t j = 0; j < c->n_columns; j++)
      for (size_t sign = 0; sign < 2; sign++)
        cell[j] -= c->class[i].gain[sign][s->option[i] * c->n_columns + j];
}

static clarke_status
search_init(search *s, const clarke_margins *m, const bool *among, clarke_error *err)
{
  const size_t begin = 64;
  clarke_status status;

  memset(s, 0, sizeof *s);
  clarke_parallels_init(&s->classes);
  status = clarke_parallels_find(&s->classes, m, among, err);
  if (status != CLARKE_OK)
    return status;
  s->most_cells = begin + ROUNDS;
  s->work = WORK;
  s->state = 1;
  s->cell = malloc((s->most_cells * s->classes.n_columns + 1) * sizeof *s->cell);
  s->v = malloc((s->classes.n_columns + 1) * sizeof *s->v);
  s->option = malloc((s->classes.n + 1) * sizeof *s->option);
  if (s->cell == NULL || s->v == NULL || s->option == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (size_t i = 0; i < begin; i++) {
    for (size_t j = 0; j < s->classes.n_columns; j++)
      s->v[j] = clarke_draw(&s->state);
    clarke_parallels_along(s->option, &s->classes, s->v);
    add_cell(s);
  }
  return CLARKE_OK;
}

/* The largest gain along v of the cells so far. */
static double
most_gained(const search *s)
{
  const size_t n = s->classes.n_columns;
  double most = -INFINITY;

  for (size_t i = 0; i < s->n_cells; i++) {
    double sum = 0;

    for (size_t j = 0; j < n; j++)
      sum -= s->cell[i * n + j] * s->v[j];
    most = sum > most ? sum : most;
  }
  return most;
}

/* A vector that separates the cells so far, and those that it leads to. */
static clarke_status
find_nearest(bool *found, search *s, clarke_error *err)
{
  double value, before = INFINITY;
  clarke_status status;

  do {
    status = clarke_nearest(found, s->v, s->cell, s->n_cells, s->classes.n_columns, err);
    if (status != CLARKE_OK || !*found)
      return status;
    before = most_gained(s);
    status = clarke_climb(s->option, &value, &s->classes, s->v, &s->state, err);
    if (status != CLARKE_OK || !(value > before + NEARLY * fabs(before)))
      return status;
    add_cell(s);
  } while (s->n_cells < s->most_cells);
  return status;
}

/* The same, rounded to small integers. */
static clarke_status
find_vector(bool *found, clarke_row *row, search *s, clarke_error *err)
{
  const clarke_parallels *c = &s->classes;
  clarke_status status = find_nearest(found, s, err);
  double most = 0;
  mpq_t x;

  for (size_t j = 0; j < c->n_columns && status == CLARKE_OK; j++)
    most = fabs(s->v[j]) > most ? fabs(s->v[j]) : most;
  mpq_init(x);
  row->n = 0;
  for (size_t j = 0; j < c->n_columns && status == CLARKE_OK && *found; j++) {
    s->v[j] = rint(s->v[j] / most * LARGEST);
    mpq_set_d(x, s->v[j]);
    if (s->v[j] != 0)
      status = clarke_row_add(row, c->column[j], x, err);
  }
  mpq_clear(x);
  return status;
}

/* First by guesses alone; then every leaf is proved. */
static clarke_status
cover(clarke_covering *answer, clarke_audit *a, search *s, const clarke_margins *m,
      clarke_error *err)
{
  clarke_margin margin;
  clarke_status status =
    clarke_cover(answer, &a->tree, s->option, &s->work, &s->classes, s->v, NULL, m->q, err);

  if (status != CLARKE_OK || *answer != CLARKE_COVERED)
    return status;
  status = clarke_margin_init(&margin, m, &a->membership.v, err);
  if (status == CLARKE_OK)
    status = clarke_cover(answer, &a->tree, s->option, &s->work, &s->classes, s->v, &margin, m->q, err);
  clarke_margin_clear(&margin);
  return status;
}

static clarke_status
separate_block(bool *done, clarke_audit *a, const bool *among, const clarke_margins *m,
               clarke_error *err)
{
  clarke_covering answer = CLARKE_CROSSED;
  bool found = true;
  search s;
  clarke_status status = search_init(&s, m, among, err);

  while (status == CLARKE_OK && found && answer == CLARKE_CROSSED && s.n_cells < s.most_cells &&
         s.classes.n > 0 && s.classes.n <= MOST_CLASSES) {
    status = find_vector(&found, &a->membership.v, &s, err);
    if (status == CLARKE_OK && found)
      status = cover(&answer, a, &s, m, err);
    if (status == CLARKE_OK && found && answer == CLARKE_CROSSED && s.n_cells < s.most_cells)
      add_cell(&s);
  }
  search_clear(&s);
  *done = status == CLARKE_OK && answer == CLARKE_COVERED;
  return status;
}

static clarke_status
separate_layer(bool *done, clarke_audit *a, const clarke_layer *layer, const clarke_margins *m,
               clarke_error *err)
{
  const clarke_question *q = m->q;
  size_t from = 0;
  bool *among = malloc(q->replay->n_touches + 1), found = true;
  clarke_status status = among != NULL ? CLARKE_OK
                                       : clarke_fail(err, CLARKE_ENOMEM, "out of memory");

  *done = false;
  for (size_t i = 0; i < ATTEMPTS && found && !*done && status == CLARKE_OK; i++) {
    memset(among, 0, q->replay->n_touches);
    status = clarke_empty_block(&found, &from, among, layer, &a->cell[0], q, err);
    if (status == CLARKE_OK && found)
      status = separate_block(done, a, among, m, err);
  }
  free(among);
  return status;
}

/* Bounds go through no transcendental functions: the checker has none there. */
static bool
is_piecewise(const clarke_graph *g)
{
  bool *carries = malloc(g->n_values + 1);
  bool all = carries != NULL;

  if (carries != NULL)
    clarke_reverse_carriers(carries, g, CLARKE_NONE);
  for (size_t i = 0; i < g->n_steps && all; i++)
    all = !carries[g->steps[i].out] ||
          (g->steps[i].kind != CLARKE_ANALYTIC && g->steps[i].kind != CLARKE_SOFTMAX &&
           g->steps[i].kind != CLARKE_NORMALIZE);
  free(carries);
  return all;
}

clarke_status
clarke_separate_blocks(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  bool done = false;
  clarke_margins margins;
  clarke_status status;

  if (!is_piecewise(q->g))
    return CLARKE_OK;
  status = clarke_margins_init(&margins, q, err);
  for (size_t i = 0; i < a->n_layers && !done && status == CLARKE_OK; i++)
    if (a->layer[i].feasible == CLARKE_NO && a->layer[i].moving > 0 &&
        a->layer[i].moving <= MOST_TOUCHES)
      status = separate_layer(&done, a, &a->layer[i], &margins, err);
  clarke_margins_clear(&margins);
  if (done)
    a->membership.place = CLARKE_OUTSIDE;
  else {
    clarke_tree_clear(&a->tree);
    clarke_membership_clear(&a->membership, 0);
  }
  return status;
}
