#include "audit/pool.h"

#include "audit/ascent.h"
#include "base/stop.h"
#include "exact/mdm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 96       /* directions */
#define LEAST 8       /* ... where each is long, or its steps are */
#define BYTES (1 << 16) /* of a pool: every node of a path has one */
#define STEPS 4       /* of a walk */
#define WORK (1 << 20) /* products of a step of all walks */
#define CANDIDATES 24
#define SHARP 4       /* of the bound, how many parts are one natural unit of a score */

/* As many as are afforded when each costs so much. */
static size_t
between(size_t all, size_t each)
{
  return all / each > MOST ? MOST : all / each < LEAST ? LEAST : all / each;
}

clarke_status
clarke_pool_init(clarke_pool *p, const clarke_classes *c, clarke_error *err)
{
  const size_t most = between(BYTES, c->n_columns * sizeof *p->direction + (c->n + 1) * sizeof *p->option);

  *p = (clarke_pool){.c = c, .most = most, .direction = malloc(most * (c->n_columns + 1) * sizeof *p->direction),
                     .option = malloc(most * (c->n + 1) * sizeof *p->option)};
  return p->direction != NULL && p->option != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_pool_clear(clarke_pool *p)
{
  free(p->direction);
  free(p->option);
  memset(p, 0, sizeof *p);
}

/* --- directions ------------------------------------------------------------------------------ */

/* The option of a class that the direction leads to. */
static uint16_t
option_along(const clarke_class *class, const double *d, size_t columns)
{
  double most = 0;
  uint16_t option = 0;

  for (size_t o = 1; o < class->options; o++) {
    const double x = clarke_dot(class->slope + o * columns, d, columns);

    if (x > most) {
      most = x;
      option = (uint16_t)o;
    }
  }
  return option;
}

void
clarke_pool_add(clarke_pool *p, const double *direction, const size_t *chosen)
{
  const size_t columns = p->c->n_columns;
  uint16_t *option = p->option + p->n * p->c->n;

  if (p->n == p->most)
    return;
  clarke_work_spend(p->c->n * (columns + 4) / 4);
  for (size_t i = 0; i < p->c->n; i++) {
    option[i] = option_along(&p->c->class[i], direction, columns);
    if (chosen[i] != CLARKE_UNCHOSEN && chosen[i] != option[i])
      return;
  }
  memcpy(p->direction + p->n * columns, direction, columns * sizeof *direction);
  p->n++;
}

void
clarke_pool_take(clarke_pool *p, const clarke_pool *from, size_t class, size_t option)
{
  const size_t columns = p->c->n_columns, classes = p->c->n;

  for (size_t i = 0; i < from->n && p->n < p->most; i++) {
    if (from->option[i * classes + class] != option)
      continue;
    memcpy(p->direction + p->n * columns, from->direction + i * columns, columns * sizeof *p->direction);
    memcpy(p->option + p->n * classes, from->option + i * classes, classes * sizeof *p->option);
    p->n++;
  }
}

/* The unit ball's part of the line x + t along. */
static void
clip_to_ball(double *least, double *most, const double *x, const double *along, size_t columns)
{
  const double a = clarke_dot(along, along, columns), b = clarke_dot(x, along, columns);
  const double c = clarke_dot(x, x, columns) - 1, root = sqrt(fmax(b * b - a * c, 0));

  *least = (-b - root) / a;
  *most = (-b + root) / a;
}

static void
clip_to_rows(double *least, double *most, const double *x, const double *along, const double *row, size_t n,
             size_t columns)
{
  for (size_t i = 0; i < n; i++) {
    const double by = clarke_dot(row + i * columns, along, columns);
    const double t = -clarke_dot(row + i * columns, x, columns) / by;

    if (by > 0 && t > *least)
      *least = t;
    if (by < 0 && t < *most)
      *most = t;
  }
}

/* One step of a walk; along: room for a line. */
static void
hit_and_run(double *x, double *along, const double *row, size_t n, size_t columns, uint64_t *state)
{
  double least, most, t;

  clarke_work_spend(n * (columns + 2) / 4 + columns);
  for (size_t j = 0; j < columns; j++)
    along[j] = clarke_draw(state);
  clip_to_ball(&least, &most, x, along, columns);
  clip_to_rows(&least, &most, x, along, row, n, columns);
  t = least + (most - least) * (clarke_draw(state) + 1) / 2;
  if (!(most > least) || !isfinite(t))
    return;
  for (size_t j = 0; j < columns; j++)
    x[j] += t * along[j];
}

clarke_status
clarke_pool_fill(clarke_pool *p, const double *row, size_t n, const size_t *chosen, uint64_t *state,
                 clarke_error *err)
{
  const size_t columns = p->c->n_columns, afford = between(WORK, (n + 1) * (columns + 1));
  const size_t wanted = afford < p->most ? afford : p->most;
  double *x = malloc(2 * (columns + 1) * sizeof *x);

  if (x == NULL)
    return clarke_no_memory(err);
  for (size_t tries = 0; p->n < wanted && tries < wanted && (p->n > 0 || n == 0); tries++) {
    for (size_t j = 0; j < columns; j++)
      x[j] = p->n > 0 ? p->direction[tries % p->n * columns + j] : 0;
    for (size_t step = 0; step < STEPS; step++)
      hit_and_run(x, x + columns, row, n, columns, state);
    clarke_pool_add(p, x, chosen);
  }
  free(x);
  return CLARKE_OK;
}

/* --- what they tell -------------------------------------------------------------------------- */

static double
gain_of(const clarke_pool *p, const clarke_gains *g, size_t at, size_t class)
{
  return g->option[class][p->option[at * p->c->n + class]];
}

double
clarke_pool_best(size_t *cell, const clarke_pool *p, const clarke_gains *g)
{
  double most = -INFINITY;

  for (size_t i = 0; i < p->n; i++) {
    double sum = g->base;

    for (size_t k = 0; k < p->c->n; k++)
      sum += gain_of(p, g, i, k);
    if (sum <= most)
      continue;
    most = sum;
    for (size_t k = 0; k < p->c->n; k++)
      cell[k] = p->option[i * p->c->n + k];
  }
  return most;
}

typedef struct {
  double between; /* the witnesses' gains */
  size_t class;
} candidate;

typedef struct {
  const clarke_pool *p;
  const clarke_gains *g;
  const size_t *chosen;
  double *most, *part; /* by class: of the witnesses; of those with one option */
  candidate *list;
  size_t n;
} choice;

static int
compare_candidates(const void *left, const void *right)
{
  const candidate *a = left, *b = right;

  return a->between != b->between ? (a->between < b->between ? 1 : -1) : (a->class > b->class) - (a->class < b->class);
}

/* The largest gain of each open class, and how far the witnesses differ. */
static void
weigh(choice *s)
{
  for (size_t i = 0; i < s->p->c->n; i++) {
    double least = INFINITY;

    s->most[i] = -INFINITY;
    if (s->chosen[i] != CLARKE_UNCHOSEN)
      continue;
    for (size_t at = 0; at < s->p->n; at++) {
      const double x = gain_of(s->p, s->g, at, i);

      s->most[i] = fmax(s->most[i], x);
      least = fmin(least, x);
    }
    if (s->most[i] > least)
      s->list[s->n++] = (candidate){s->most[i] - least, i};
  }
}

/* The open class with the largest of: open less `most` (NULL: its spread). */
static size_t
largest_class(const choice *s, const double *most)
{
  size_t found = CLARKE_NONE;
  double largest = 0;

  for (size_t i = 0; i < s->p->c->n; i++) {
    const double x = most != NULL ? s->g->open[i] - most[i] : clarke_gains_spread(s->g, i);

    if (s->chosen[i] == CLARKE_UNCHOSEN && x > largest) {
      largest = x;
      found = i;
    }
  }
  return found;
}

/* By how much the witnesses that take the option stay below the bound of all witnesses. -1: none takes it. */
static double
improvement(choice *s, size_t class, size_t option)
{
  const size_t classes = s->p->c->n;
  double sum = 0;
  bool any = false;

  clarke_work_spend(classes * (s->p->n + 4) / 4);
  for (size_t i = 0; i < classes; i++)
    s->part[i] = -INFINITY;
  for (size_t at = 0; at < s->p->n; at++) {
    if (s->p->option[at * classes + class] != option)
      continue;
    any = true;
    for (size_t i = 0; i < classes; i++)
      if (s->chosen[i] == CLARKE_UNCHOSEN)
        s->part[i] = fmax(s->part[i], gain_of(s->p, s->g, at, i));
  }
  for (size_t i = 0; i < classes && any; i++)
    if (s->chosen[i] == CLARKE_UNCHOSEN)
      sum += s->most[i] - s->part[i];
  return any ? sum : -1;
}

/* total: the bound of all witnesses. */
static size_t
best_candidate(choice *s, double total)
{
  size_t found = CLARKE_NONE;
  double least = INFINITY;

  qsort(s->list, s->n, sizeof *s->list, compare_candidates);
  for (size_t i = 0; i < s->n && i < CANDIDATES; i++) {
    const size_t class = s->list[i].class;
    double score = 0;

    for (size_t o = 0; o < s->p->c->class[class].options; o++) {
      const double by = improvement(s, class, o);

      score += by < 0 ? 0 : exp(-SHARP * by / fmax(total, DBL_MIN));
    }
    if (score < least) {
      least = score;
      found = class;
    }
  }
  return found;
}

clarke_status
clarke_pool_choose(size_t *class, const clarke_pool *p, const clarke_gains *g, const size_t *chosen, double bound,
                   clarke_error *err)
{
  choice s = {.p = p, .g = g, .chosen = chosen, .most = malloc((p->c->n + 1) * sizeof *s.most),
              .part = malloc((p->c->n + 1) * sizeof *s.part), .list = malloc((p->c->n + 1) * sizeof *s.list)};
  const bool any = s.most != NULL && s.part != NULL && s.list != NULL;
  double total = bound;

  *class = CLARKE_NONE;
  if (any && p->n > 0) {
    weigh(&s);
    for (size_t i = 0; i < p->c->n; i++)
      total -= chosen[i] == CLARKE_UNCHOSEN ? g->open[i] - s.most[i] : 0;
    *class = total < 0 ? largest_class(&s, s.most) : best_candidate(&s, total);
  }
  if (any && *class == CLARKE_NONE)
    *class = largest_class(&s, NULL);
  free(s.most);
  free(s.part);
  free(s.list);
  return any ? CLARKE_OK : clarke_no_memory(err);
}
