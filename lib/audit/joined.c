#include "audit/joined.h"

#include "audit/branch_and_bound.h"
#include "audit/touch_row.h"
#include "exact/mdm.h"
#include "network/derive/reverse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOUCHES 2048
#define MOST_NUMBERS ((size_t)1 << 24) /* options of touches times wrt entries */
#define SWEEPS 200
#define LARGEST 4096 /* entry of v */

typedef struct {
  clarke_question *q;
  size_t n, columns; /* touches; wrt entries */
  size_t *of;        /* by touch: the first of its class */
  bool *turned;      /* it takes the other side than that */
  double *add;       /* by the options of touches (q->touch[k].first_gain), as rows over all columns: what a class's adds, of its first touch */
  double *row;       /* of one touch, by option */
  double *now;       /* by touch: a mean of what the options of its class add */
  double *sum;       /* of all classes */
  clarke_error *err;
} joining;

/* --- classes --------------------------------------------------------------------------------- */

/* K takes its sides with J, or the others: the classes become one, whose first touch is the lower one's. */
static void
join(joining *w, size_t j, size_t k, bool turned)
{
  const size_t a = w->of[j], b = w->of[k], first = a < b ? a : b, last = a < b ? b : a;
  const bool by = w->turned[j] != (w->turned[k] != turned);

  for (size_t i = 0; i < w->n && a != b; i++)
    if (w->of[i] == last) {
      w->of[i] = first;
      w->turned[i] = w->turned[i] != by;
    }
}

static clarke_identity
argument_of(clarke_identities *ids, const clarke_question *q, size_t k)
{
  const clarke_touch *t = &q->replay->touch[k];

  return t->n_options > 0 ? 0 : clarke_identity_of(ids, q->g->steps[t->step].in[0].value, t->feature, t->column);
}

/* Arguments of kinks that are one function in a sample, or minus it. */
static clarke_status
join_identical(joining *w)
{
  const clarke_replay *r = w->q->replay;
  clarke_identities *ids = clarke_identities_new(w->q->g, r->near.n, r->near.piece, r->near.value, NULL);
  clarke_identity *id = calloc(w->n + 1, sizeof *id);
  bool failed = ids == NULL || id == NULL;

  for (size_t k = 0; k < w->n && !failed; k++)
    id[k] = argument_of(ids, w->q, k);
  for (size_t j = 0; j < w->n && !failed; j++) {
    const clarke_identity minus = w->of[j] == j ? clarke_identity_turned(ids, id[j]) : 0;

    for (size_t k = j + 1; k < w->n && w->of[j] == j && minus != 0; k++)
      if (r->touch[k].column == r->touch[j].column && (id[k] == id[j] || id[k] == minus || clarke_identity_turned(ids, id[k]) == id[j]))
        join(w, j, k, id[k] != id[j]);
    failed = clarke_identities_failed(ids);
  }
  failed = failed || clarke_identities_failed(ids);
  clarke_identities_free(ids);
  free(id);
  return failed ? clarke_no_memory(w->err) : CLARKE_OK;
}

/* Is one row minus a multiple of the other, by a number above 0? */
static bool
are_opposite(const clarke_row *a, const clarke_row *b)
{
  bool opposite = a->n == b->n && a->n > 0 && mpq_sgn(a->value[0]) == -mpq_sgn(b->value[0]);
  mpq_t x, y;

  mpq_inits(x, y, NULL);
  for (size_t e = 0; e < a->n && opposite; e++) {
    mpq_mul(x, a->value[e], b->value[0]);
    mpq_mul(y, b->value[e], a->value[0]);
    opposite = a->column[e] == b->column[e] && mpq_equal(x, y);
  }
  mpq_clears(x, y, NULL);
  return opposite;
}

/* Affine arguments whose rows are multiples. */
static clarke_status
join_affine(joining *w)
{
  bool *among = malloc(w->n + 1);
  clarke_classes c;
  clarke_status status = among != NULL ? CLARKE_OK : clarke_no_memory(w->err);

  clarke_classes_init(&c);
  for (size_t k = 0; k < w->n && status == CLARKE_OK; k++)
    among[k] = true;
  if (status == CLARKE_OK)
    status = clarke_classes_find(&c, w->q, among, w->err);
  for (size_t i = 0; i < c.n && status == CLARKE_OK; i++) {
    for (size_t m = 1; m < c.class[i].n; m++)
      join(w, c.class[i].touch[0], c.class[i].touch[m], false);
    for (size_t j = 0; j < i && !c.class[i].window; j++)
      if (!c.class[j].window && are_opposite(&c.class[i].base[1], &c.class[j].base[1]))
        join(w, c.class[j].touch[0], c.class[i].touch[0], true);
  }
  clarke_classes_clear(&c);
  free(among);
  return status;
}

/* --- what is added ---------------------------------------------------------------------------- */

/* Each option over the first; of a kink its argument. */
static clarke_status
read_rows(joining *w, clarke_columns *columns, size_t k)
{
  const clarke_touch *t = &w->q->replay->touch[k];
  clarke_status status = CLARKE_OK;

  for (size_t o = 1; o < clarke_touch_sides(t) && status == CLARKE_OK; o++) {
    clarke_row row;
    bool exact;

    clarke_row_init(&row);
    status = clarke_touch_row(&row, &exact, columns, k, clarke_side_numbered(t, o), 0, false, w->err);
    memset(w->row + o * w->columns, 0, w->columns * sizeof *w->row);
    for (size_t e = 0; e < row.n && status == CLARKE_OK; e++)
      w->row[o * w->columns + row.column[e]] = mpq_get_d(row.value[e]);
    clarke_row_clear(&row);
  }
  return status;
}

/* Adds what the options of touch k add to those of its class. */
static void
add_touch(joining *w, size_t k)
{
  const clarke_question *q = w->q;
  const size_t sides = clarke_touch_sides(&q->replay->touch[k]), to = q->touch[w->of[k]].first_gain;
  const double pull = arf_get_d(arb_midref(q->touch[k].adjoint), ARF_RND_NEAR);

  for (size_t p = 1; p < sides; p++) {
    double ad = 0;

    for (size_t o = 0; o < sides; o++)
      ad += clarke_share_of(q, k, o) * clarke_slope_given(q, k, o, p);
    for (size_t o = 0; o < sides; o++) {
      const double by = pull * (clarke_slope_given(q, k, o, p) - ad);
      double *row = w->add + (to + (w->turned[k] ? 1 - o : o)) * w->columns;

      for (size_t e = 0; e < w->columns && by != 0; e++)
        row[e] += by * w->row[p * w->columns + e];
    }
  }
}

static clarke_status
find_additions(joining *w)
{
  clarke_columns columns = {0};
  clarke_status status = clarke_columns_init(&columns, w->q, NULL, w->err);

  columns.whole = true;
  for (size_t j = 0; j < w->q->replay->near.n; j++)
    for (size_t k = 0; k < w->n && status == CLARKE_OK; k++) {
      if (w->q->replay->touch[k].column != j)
        continue;
      status = read_rows(w, &columns, k);
      if (status == CLARKE_OK)
        add_touch(w, k);
    }
  clarke_columns_clear(&columns);
  return status;
}

/* --- a vector -------------------------------------------------------------------------------- */

/* The option that adds least along x. */
static size_t
least_option(const joining *w, size_t k, const double *x)
{
  const double *row = w->add + w->q->touch[k].first_gain * w->columns;
  size_t least = 0;

  for (size_t o = 1; o < clarke_touch_sides(&w->q->replay->touch[k]); o++)
    if (clarke_dot(row + o * w->columns, x, w->columns) < clarke_dot(row + least * w->columns, x, w->columns))
      least = o;
  return least;
}

/* Class k's mean moves towards an option, as far as it makes the sum shortest. Did it move? */
static bool
step_towards(joining *w, size_t k)
{
  const double *to = w->add + (w->q->touch[k].first_gain + least_option(w, k, w->sum)) * w->columns;
  double *now = w->now + k * w->columns, along = 0, length = 0, by;

  for (size_t e = 0; e < w->columns; e++) {
    along += w->sum[e] * (to[e] - now[e]);
    length += (to[e] - now[e]) * (to[e] - now[e]);
  }
  by = length > 0 ? fmin(1, -along / length) : 0;
  for (size_t e = 0; e < w->columns && by > 0; e++) {
    const double d = by * (to[e] - now[e]);

    now[e] += d;
    w->sum[e] += d;
  }
  return by > 1e-9;
}

/* The shortest of all sums of a mean of each class's options: minus it separates, if anything does. */
static void
find_shortest(joining *w)
{
  bool moved = true;

  for (size_t k = 0; k < w->n; k++) {
    const double *first = w->add + w->q->touch[k].first_gain * w->columns;

    for (size_t e = 0; e < w->columns && w->of[k] == k; e++) {
      w->now[k * w->columns + e] = first[e];
      w->sum[e] += first[e];
    }
  }
  for (size_t i = 0; i < SWEEPS && moved; i++) {
    moved = false;
    for (size_t k = 0; k < w->n; k++)
      if (w->of[k] == k)
        moved = step_towards(w, k) || moved;
  }
}

/* In small whole numbers; *found is false when there is none. */
static clarke_status
put_vector(bool *found, clarke_row *v, const joining *w)
{
  clarke_status status = CLARKE_OK;
  double most = 0;
  mpq_t x;

  for (size_t e = 0; e < w->columns; e++)
    most = fmax(most, fabs(w->sum[e]));
  mpq_init(x);
  v->n = 0;
  for (size_t e = 0; e < w->columns && most > 0 && isfinite(most) && status == CLARKE_OK; e++) {
    const double entry = -rint(w->sum[e] / most * LARGEST);

    mpq_set_d(x, entry);
    if (entry != 0)
      status = clarke_row_add(v, e, x, w->err);
  }
  *found = v->n > 0;
  mpq_clear(x);
  return status;
}

/* --- the proof ------------------------------------------------------------------------------- */

/* What class k adds at most. */
static void
add_most(arb_t sum, const joining *w, const clarke_separation *m, size_t k)
{
  arb_t most, option;

  arb_init(most);
  arb_init(option);
  for (size_t o = 0; o < clarke_touch_sides(&w->q->replay->touch[k]); o++) {
    arb_zero(option);
    for (size_t i = k; i < w->n; i++)
      if (w->of[i] == k)
        arb_add(option, option, clarke_separation_gain(m, i, w->turned[i] ? 1 - o : o), 128);
    if (o == 0)
      arb_set(most, option);
    else
      arb_max(most, most, option, 128);
  }
  arb_add(sum, sum, most, 128);
  arb_clear(most);
  arb_clear(option);
}

static clarke_status
prove(bool *separated, const joining *w, const clarke_row *v)
{
  clarke_separation m;
  clarke_status status = clarke_separation_init(&m, w->q, v, w->err);
  arb_t sum;

  arb_init(sum);
  for (size_t k = 0; k < w->n && status == CLARKE_OK; k++)
    if (w->of[k] == k)
      add_most(sum, w, &m, k);
  *separated = status == CLARKE_OK && arb_is_negative(sum);
  arb_clear(sum);
  clarke_separation_clear(&m);
  return status;
}

/* One leaf, and the classes. */
static clarke_status
put_tree(clarke_tree *t, const joining *w)
{
  clarke_node *node;

  clarke_tree_clear(t);
  node = clarke_tree_add(t, CLARKE_LEAF);
  t->parallel = malloc((w->n + 1) * sizeof *t->parallel);
  t->opposite = malloc(w->n + 1);
  if (node != NULL)
    node->side = calloc(w->n + 1, sizeof *node->side);
  if (node == NULL || node->side == NULL || t->parallel == NULL || t->opposite == NULL)
    return clarke_no_memory(w->err);
  for (size_t k = 0; k < w->n; k++) {
    t->parallel[k] = w->of[k] == k ? CLARKE_NONE : w->of[k];
    t->opposite[k] = w->turned[k];
  }
  t->complete = true;
  return CLARKE_OK;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* From the first touched kink on: adjoints are bounded through all steps but normalizations. */
static clarke_status
is_followed(bool *followed, const clarke_question *q, clarke_error *err)
{
  bool *carries = malloc(q->g->n_values + 1);

  *followed = false;
  if (carries == NULL)
    return clarke_no_memory(err);
  clarke_reverse_carriers(carries, q->g, CLARKE_NONE);
  *followed = true;
  for (size_t i = q->replay->touch[0].step; i < q->g->n_steps && *followed; i++)
    *followed = !carries[q->g->steps[i].out] || q->g->steps[i].kind != CLARKE_NORMALIZE;
  free(carries);
  return CLARKE_OK;
}

static clarke_status
begin(joining *w)
{
  const size_t options = w->q->n_gains, columns = w->columns;

  w->of = malloc((w->n + 1) * sizeof *w->of);
  w->turned = calloc(w->n + 1, sizeof *w->turned);
  w->add = calloc(options * columns + 1, sizeof *w->add);
  w->row = calloc(options * columns + 1, sizeof *w->row);
  w->now = calloc(w->n * columns + 1, sizeof *w->now);
  w->sum = calloc(columns + 1, sizeof *w->sum);
  if (w->of == NULL || w->turned == NULL || w->add == NULL || w->row == NULL || w->now == NULL || w->sum == NULL)
    return clarke_no_memory(w->err);
  for (size_t k = 0; k < w->n; k++)
    w->of[k] = k;
  return CLARKE_OK;
}

static void
end(joining *w)
{
  free(w->of);
  free(w->turned);
  free(w->add);
  free(w->row);
  free(w->now);
  free(w->sum);
}

/* Without classes of several kinks the lists of patterns say as much. */
static bool
joins_any(const joining *w)
{
  for (size_t k = 0; k < w->n; k++)
    if (w->of[k] != k)
      return true;
  return false;
}

static clarke_status
settle(bool *separated, clarke_audit *a, joining *w)
{
  clarke_row *v = &a->membership.v;
  bool found = false;
  clarke_status status = begin(w);

  if (status == CLARKE_OK)
    status = join_identical(w);
  if (status == CLARKE_OK)
    status = clarke_adjoints_find(w->q, w->err);
  if (status == CLARKE_OK)
    status = join_affine(w);
  if (status != CLARKE_OK || !joins_any(w))
    return status;
  status = find_additions(w);
  if (status == CLARKE_OK) {
    find_shortest(w);
    status = put_vector(&found, v, w);
  }
  if (status == CLARKE_OK && found)
    status = prove(separated, w, v);
  return status == CLARKE_OK && *separated ? put_tree(&a->tree, w) : status;
}

clarke_status
clarke_settle_joined(bool *separated, clarke_audit *a, clarke_question *q, clarke_error *err)
{
  joining w = {.q = q, .n = q->replay->n_touches, .columns = clarke_column_base(q->g, q->g->n_parameters), .err = err};
  bool followed;
  clarke_status status;

  *separated = false;
  if (w.n < 2 || w.n > MOST_TOUCHES || w.columns > MOST_NUMBERS / q->n_gains)
    return CLARKE_OK;
  status = is_followed(&followed, q, err);
  if (status == CLARKE_OK && followed)
    status = settle(separated, a, &w);
  end(&w);
  return status;
}
