#include "audit/classes.h"

#include "audit/enumerate.h"
#include "audit/factor.h"
#include "audit/touch_row.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

void
clarke_classes_init(clarke_classes *c)
{
  memset(c, 0, sizeof *c);
}

static void
class_clear(clarke_class *class)
{
  for (size_t o = 0; class->base != NULL && o < class->options; o++)
    clarke_row_clear(&class->base[o]);
  free(class->base);
  free(class->touch);
  free(class->slope);
  free(class->gain[0]);
  free(class->gain[1]);
}

void
clarke_classes_clear(clarke_classes *c)
{
  for (size_t i = 0; i < c->n; i++)
    class_clear(&c->class[i]);
  free(c->class);
  free(c->column);
  clarke_classes_init(c);
}

clarke_status
clarke_class_condition(clarke_row *row, const clarke_class *class, size_t o, size_t p,
                          clarke_error *err)
{
  const clarke_row *of[] = {&class->base[o], &class->base[p]};
  clarke_status status = CLARKE_OK;
  mpq_t x;

  mpq_init(x);
  for (size_t side = 0; side < 2; side++)
    for (size_t e = 0; e < of[side]->n && status == CLARKE_OK; e++) {
      mpq_set(x, of[side]->value[e]);
      if (side == 1)
        mpq_neg(x, x);
      status = clarke_row_add(row, of[side]->column[e], x, err);
    }
  mpq_clear(x);
  clarke_row_finish(row);
  return status;
}

/* --- one touch ------------------------------------------------------------------------------ */

/* Affine itself? */
static bool
is_plain(const clarke_marking *m, size_t k)
{
  bool plain = true;

  for (size_t c = 0; c < clarke_touch_conditions(&m->q->replay->touch[k]); c++)
    plain = plain && clarke_marking_degree(m, k, c) < 2;
  return plain;
}

/* Can it be branched on, whatever the sides of others? Of several options each must be affine: those that are so but for factors
 * of their own would not keep their proportion. */
static clarke_status
is_affine(bool *affine, const clarke_marking *m, size_t k, clarke_error *err)
{
  const clarke_touch *t = &m->q->replay->touch[k];
  const clarke_branch side = t->n_options > 0 ? CLARKE_OPTION(0) : CLARKE_RIGHT;

  *affine = t->n_options <= CLARKE_TREE_OPTIONS && is_plain(m, k);
  return *affine || t->n_options > 2 ? CLARKE_OK
                                     : clarke_affine_but_for_a_factor(affine, m, k, side, t->n_options > 0, err);
}

static clarke_status
new_class(clarke_class *class, size_t k, const clarke_touch *t, clarke_error *err)
{
  memset(class, 0, sizeof *class);
  class->touch = malloc(sizeof *class->touch);
  class->base = malloc(clarke_touch_sides(t) * sizeof *class->base);
  if (class->touch == NULL || class->base == NULL) {
    class_clear(class);
    return clarke_no_memory(err);
  }
  class->n = 1;
  class->plain = true;
  class->divided = 1;
  class->touch[0] = k;
  class->window = t->n_options > 0;
  class->options = clarke_touch_sides(t);
  for (size_t o = 0; o < class->options; o++)
    clarke_row_init(&class->base[o]);
  return CLARKE_OK;
}

/* By length, columns, and numbers times a factor. */
static int
compare_rows(const clarke_row *a, const mpq_t by_a, const clarke_row *b, const mpq_t by_b)
{
  int order = (a->n > b->n) - (a->n < b->n);
  mpq_t x, y;

  for (size_t e = 0; e < a->n && order == 0; e++)
    order = (a->column[e] > b->column[e]) - (a->column[e] < b->column[e]);
  mpq_inits(x, y, NULL);
  for (size_t e = 0; e < a->n && order == 0; e++) {
    mpq_mul(x, a->value[e], by_a);
    mpq_mul(y, b->value[e], by_b);
    order = mpq_cmp(x, y);
  }
  mpq_clears(x, y, NULL);
  return order;
}

/* The rows of touch k alone. *differs: its options are told apart, exactly. */
static clarke_status
read_touch(clarke_class *class, bool *differs, clarke_columns *columns, size_t k,
           const clarke_touch *t, clarke_error *err)
{
  clarke_status status = new_class(class, k, t, err);
  mpq_t one;

  if (status != CLARKE_OK)
    return status;
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  *differs = true;
  columns->whole = t->n_options > 2;
  for (size_t o = 1; o < clarke_touch_sides(t) && status == CLARKE_OK; o++) {
    bool exact;

    status = clarke_touch_row(&class->base[o], &exact, columns, k,
                              t->n_options > 0 ? CLARKE_OPTION(o) : CLARKE_RIGHT, 0, false, err);
    *differs = *differs && exact && class->base[o].n > 0;
    class->divided = columns->divided;
    class->plain = class->plain && class->divided == 1;
    for (size_t p = 1; p < o && status == CLARKE_OK; p++)
      *differs = *differs && compare_rows(&class->base[o], one, &class->base[p], one) != 0;
  }
  mpq_clear(one);
  if (status != CLARKE_OK)
    class_clear(class);
  return status;
}

/* --- classes -------------------------------------------------------------------------------- */

/* The rows a class is known by, scaled so that their first number is 1 or -1. */
typedef struct {
  clarke_class *of;
  mpq_t scale;
} known;

static int
compare_classes(const void *left, const void *right)
{
  const known *a = left, *b = right;
  int order = (a->of->options > b->of->options) - (a->of->options < b->of->options);

  if (order == 0)
    order = (a->of->window > b->of->window) - (a->of->window < b->of->window);
  for (size_t o = 1; o < a->of->options && order == 0; o++)
    order = compare_rows(&a->of->base[o], a->scale, &b->of->base[o], b->scale);
  return order;
}

static int
compare_known(const void *left, const void *right)
{
  const known *a = left, *b = right;
  int order = compare_classes(left, right);

  return order != 0 ? order : (a->of->touch[0] > b->of->touch[0]) - (a->of->touch[0] < b->of->touch[0]);
}

static void
add_scaled(double *to, const clarke_classes *c, const clarke_row *row, double by)
{
  for (size_t e = 0, at = 0; e < row->n; e++) {
    while (c->column[at] != row->column[e])
      at++;
    to[at] += by * mpq_get_d(row->value[e]);
  }
}

double
clarke_share_of(const clarke_question *q, size_t k, size_t o)
{
  const clarke_touch *t = &q->replay->touch[k];

  if (q->touch[k].ad_side != CLARKE_PROXY)
    return q->touch[k].ad_side == clarke_side_numbered(t, o);
  if (t->n_options > 0)
    return 1 / (double)t->n_options;
  return o == 0 ? mpq_get_d(q->touch[k].lambda) : 1 - mpq_get_d(q->touch[k].lambda);
}

double
clarke_slope_given(const clarke_question *q, size_t k, size_t o, size_t p)
{
  const clarke_touch *t = &q->replay->touch[k];
  double slope;
  mpq_t side;

  if (t->n_options > 0)
    return o == p;
  mpq_init(side);
  clarke_touch_side(side, q->g, t, o == 1);
  slope = mpq_get_d(side);
  mpq_clear(side);
  return slope;
}

/* What the touch, whose rows are those of `own`, adds to the class by each option. */
static void
add_gain(clarke_class *class, const clarke_classes *c, const clarke_class *own, double pull,
         const clarke_question *q)
{
  const size_t k = own->touch[0];

  for (size_t p = 1; p < own->options; p++) {
    double ad = 0;

    for (size_t o = 0; o < own->options; o++)
      ad += clarke_share_of(q, k, o) * clarke_slope_given(q, k, o, p);
    for (size_t o = 0; o < own->options; o++)
      add_scaled(class->gain[pull < 0] + o * c->n_columns, c, &own->base[p],
                 pull * own->divided * (clarke_slope_given(q, k, o, p) - ad));
  }
}

static clarke_status
list_columns(clarke_classes *c, const clarke_class *own, size_t n, const clarke_question *q,
             clarke_error *err)
{
  size_t all = clarke_column_base(q->g, q->g->n_parameters);
  bool *used = calloc(all + 1, sizeof *used);

  for (size_t i = 0; used != NULL && i < n; i++)
    for (size_t o = 1; o < own[i].options; o++)
      for (size_t e = 0; e < own[i].base[o].n; e++) {
        c->n_columns += !used[own[i].base[o].column[e]];
        used[own[i].base[o].column[e]] = true;
      }
  c->column = malloc((c->n_columns + 1) * sizeof *c->column);
  for (size_t j = 0, at = 0; used != NULL && c->column != NULL && j < all; j++)
    if (used[j])
      c->column[at++] = j;
  free(used);
  return used != NULL && c->column != NULL ? CLARKE_OK
                                           : clarke_no_memory(err);
}

/* A class from n equal ones of a touch each, whose first keeps its rows. */
static clarke_status
join(clarke_class *class, const clarke_classes *c, known *same, size_t n,
     const clarke_question *q, clarke_error *err)
{
  const size_t size = same[0].of->options * c->n_columns + 1;

  *class = *same[0].of;
  class->touch = malloc(n * sizeof *class->touch);
  class->slope = calloc(size, sizeof *class->slope);
  for (size_t sign = 0; sign < 2; sign++)
    class->gain[sign] = calloc(size, sizeof **class->gain);
  if (class->touch == NULL || class->slope == NULL || class->gain[0] == NULL ||
      class->gain[1] == NULL) {
    class->base = NULL; /* it stays with same[0] */
    class_clear(class);
    return clarke_no_memory(err);
  }
  class->n = n;
  for (size_t i = 0; i < n; i++) {
    class->touch[i] = same[i].of->touch[0];
    class->plain = class->plain && same[i].of->plain;
    add_gain(class, c, same[i].of, arf_get_d(arb_midref(q->touch[class->touch[i]].adjoint), ARF_RND_NEAR),
             q);
  }
  for (size_t o = 1; o < class->options; o++)
    add_scaled(class->slope + o * c->n_columns, c, &class->base[o], class->divided);
  same[0].of->base = NULL;
  return CLARKE_OK;
}

static clarke_status
classify(clarke_classes *c, clarke_class *own, size_t n, const clarke_question *q,
         clarke_error *err)
{
  known *list = malloc((n + 1) * sizeof *list);
  clarke_status status = list_columns(c, own, n, q, err);

  c->class = malloc((n + 1) * sizeof *c->class);
  if (status != CLARKE_OK || list == NULL || c->class == NULL) {
    free(list);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    list[i].of = &own[i];
    mpq_init(list[i].scale);
    mpq_inv(list[i].scale, own[i].base[1].value[0]);
    mpq_abs(list[i].scale, list[i].scale);
  }
  qsort(list, n, sizeof *list, compare_known);
  for (size_t i = 0, end; i < n && status == CLARKE_OK; i = end) {
    for (end = i + 1; end < n && compare_classes(&list[i], &list[end]) == 0;)
      end++;
    status = join(&c->class[c->n], c, &list[i], end - i, q, err);
    c->n += status == CLARKE_OK;
  }
  for (size_t i = 0; i < n; i++)
    mpq_clear(list[i].scale);
  free(list);
  return status;
}

/* Every touch a class of its own. */
static clarke_status
read_touches(clarke_class *own, size_t *n, const clarke_question *q, const bool *among,
             clarke_error *err)
{
  const clarke_replay *r = q->replay;
  clarke_marking marking = {0};
  clarke_columns columns = {0};
  clarke_status status = clarke_marking_run(&marking, q, NULL, err);

  if (status == CLARKE_OK)
    status = clarke_columns_init(&columns, q, NULL, err);
  for (size_t j = 0; j < r->near.n; j++)
    for (size_t k = 0; k < r->n_touches && status == CLARKE_OK; k++) {
      bool differs, affine = false;

      if (r->touch[k].column == j && among[k])
        status = is_affine(&affine, &marking, k, err);
      if (!affine || status != CLARKE_OK)
        continue;
      status = read_touch(&own[*n], &differs, &columns, k, &r->touch[k], err);
      own[*n].plain = status == CLARKE_OK && own[*n].plain && is_plain(&marking, k);
      if (status == CLARKE_OK && differs)
        (*n)++;
      else if (status == CLARKE_OK)
        class_clear(&own[*n]);
    }
  if (columns.q != NULL)
    clarke_columns_clear(&columns);
  clarke_marking_clear(&marking);
  return status;
}

clarke_status
clarke_classes_find(clarke_classes *c, const clarke_question *q, const bool *among,
                      clarke_error *err)
{
  clarke_class *own = malloc((q->replay->n_touches + 1) * sizeof *own);
  size_t n = 0;
  clarke_status status = own != NULL ? read_touches(own, &n, q, among, err)
                                     : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = classify(c, own, n, q, err);
  for (size_t i = 0; i < n; i++)
    class_clear(&own[i]);
  free(own);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_classes_are_valid(c, q));
  return status;
}

void
clarke_classes_along(size_t *option, const clarke_classes *c, const double *d)
{
  for (size_t i = 0; i < c->n; i++) {
    const clarke_class *class = &c->class[i];
    double most = 0;

    option[i] = 0;
    for (size_t o = 1; o < class->options; o++) {
      double x = 0;

      for (size_t j = 0; j < c->n_columns; j++)
        x += class->slope[o * c->n_columns + j] * d[j];
      if (x > most) {
        most = x;
        option[i] = o;
      }
    }
  }
}
