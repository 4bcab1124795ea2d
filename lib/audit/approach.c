#include "audit/approach.h"

#include "audit/ascent.h"
#include "audit/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WALKS 4     /* the first by weight, the others in random orders */
#define LONGEST 256 /* classes: a walk may solve a system for each */
#define LITTLE 1e-6

typedef struct {
  double weight;
  size_t class, option; /* the option that changes nothing */
} wish;

typedef struct {
  clarke_sample *s;
  const clarke_question *q;
  wish *wish;
  size_t n;
  clarke_path path;
  size_t *option; /* by class, along s->v */
  clarke_error *err;
} walk;

/* The length of what the option changes in AD's output. */
static double
change_of(const clarke_class *class, size_t option, size_t columns)
{
  double sum = 0;

  for (size_t j = 0; j < columns; j++) {
    const double x = class->gain[0][option * columns + j] + class->gain[1][option * columns + j];

    sum += x * x;
  }
  return sqrt(sum);
}

/* The options that change nothing: AD's own, where it has one for all of a class; by what the others would change. */
static void
list_wishes(walk *w)
{
  const clarke_classes *c = &w->s->classes;

  for (size_t i = 0; i < c->n; i++) {
    wish one = {0, i, c->class[i].options};

    for (size_t o = 0; o < c->class[i].options; o++) {
      const double x = change_of(&c->class[i], o, c->n_columns);

      one.weight = fmax(one.weight, x);
      if (x == 0)
        one.option = o;
    }
    if (one.option < c->class[i].options && one.weight > 0)
      w->wish[w->n++] = one;
  }
}

static int
compare_wishes(const void *left, const void *right)
{
  const wish *a = left, *b = right;

  return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1) : (a->class > b->class) - (a->class < b->class);
}

/* The direction by the classes' columns, with a little of a random one. */
static void
spread(walk *w, const clarke_direction *d)
{
  const clarke_classes *c = &w->s->classes;
  double most = 0;

  memset(w->s->v, 0, c->n_columns * sizeof *w->s->v);
  for (size_t i = 0; i < d->n; i++) {
    const size_t column = clarke_column_base(w->q->g, d->move[i].parameter) + d->move[i].entry;

    for (size_t j = 0; j < c->n_columns; j++)
      if (c->column[j] == column)
        w->s->v[j] += mpq_get_d(d->move[i].coef);
  }
  for (size_t j = 0; j < c->n_columns; j++)
    most = fmax(most, fabs(w->s->v[j]));
  for (size_t j = 0; j < c->n_columns; j++)
    w->s->v[j] += LITTLE * most * clarke_draw(&w->s->state);
  clarke_classes_along(w->option, c, w->s->v);
}

static clarke_status
ask(walk *w, const wish *one)
{
  const clarke_class *class = &w->s->classes.class[one->class];
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < class->options && status == CLARKE_OK; p++)
    if (p != one->option)
      status = clarke_class_condition(clarke_path_add(&w->path, class->touch[0], p), class, one->option, p, w->err);
  return status;
}

/* Keeps the wish when it goes with those kept before. */
static clarke_status
try_wish(walk *w, const wish *one)
{
  const size_t before = w->path.n;
  clarke_cone_answer answer = CLARKE_CONE_FEASIBLE;
  clarke_direction d;
  clarke_status status = ask(w, one);

  clarke_direction_init(&d);
  if (status == CLARKE_OK && (before == 0 || w->option[one->class] != one->option)) {
    status = clarke_path_direction(&answer, &d, &w->path, w->q->g, w->err);
    if (status == CLARKE_OK && answer == CLARKE_CONE_FEASIBLE)
      spread(w, &d);
  }
  if (answer != CLARKE_CONE_FEASIBLE)
    clarke_path_drop(&w->path, before);
  clarke_direction_clear(&d);
  return status;
}

static clarke_status
walk_once(walk *w)
{
  clarke_status status = CLARKE_OK;

  clarke_path_drop(&w->path, 0);
  qsort(w->wish, w->n, sizeof *w->wish, compare_wishes);
  for (size_t i = 0; i < w->n && status == CLARKE_OK; i++)
    status = try_wish(w, &w->wish[i]);
  if (status == CLARKE_OK && w->path.n > 0) {
    memcpy(w->s->option, w->option, w->s->classes.n * sizeof *w->option);
    clarke_sample_add(w->s);
  }
  for (size_t i = 0; i < w->n; i++)
    w->wish[i].weight = clarke_draw(&w->s->state);
  return status;
}

clarke_status
clarke_approach(clarke_sample *s, const clarke_question *q, clarke_error *err)
{
  const clarke_classes *c = &s->classes;
  walk w = {.s = s, .q = q, .err = err};
  size_t conditions = 0;
  clarke_status status;

  if (c->n == 0 || c->n > LONGEST)
    return CLARKE_OK;
  for (size_t i = 0; i < c->n; i++)
    conditions += c->class[i].options;
  w.wish = malloc((c->n + 1) * sizeof *w.wish);
  w.option = calloc(c->n + 1, sizeof *w.option);
  status = clarke_path_init(&w.path, conditions, err);
  if (w.wish == NULL || w.option == NULL)
    status = clarke_no_memory(err);
  else
    list_wishes(&w);
  for (size_t i = 0; i < WALKS && status == CLARKE_OK; i++)
    status = walk_once(&w);
  clarke_path_clear(&w.path);
  free(w.wish);
  free(w.option);
  return status;
}
