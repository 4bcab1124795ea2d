/* Trees followed with recorded numbers (summation.h). */
#include "trace/sums/summation.h"

#include "base/stop.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- arithmetic: each operation is rounded once, to float or to double; a float is kept in a double, as it is. The project is compiled
 * with -ffp-contract=off, so that none are fused --- */

_Static_assert(FLT_EVAL_METHOD == 0, "float and double must be computed in their own types");

static inline double
plus(bool floats, double x, double y)
{
  return floats ? (float)x + (float)y : x + y;
}

static inline double
times(bool floats, double x, double y)
{
  return floats ? (float)x * (float)y : x * y;
}

static inline double
times_plus(bool floats, double x, double y, double z)
{
  return floats ? fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
}

/* Sum i is added to the one before it. *spine: which of the sums on the stack has the addend. */
static inline void
add(bool floats, double *sum, size_t i, size_t *spine, const clarke_summation_factor *by)
{
  if (by == NULL || (*spine != i && *spine != i - 1)) {
    sum[i - 1] = plus(floats, sum[i - 1], sum[i]);
    return;
  }
  if (*spine == i) {
    const double other = sum[i - 1];

    sum[i - 1] = sum[i];
    sum[i] = other;
    *spine = i - 1;
  }
  sum[i - 1] = by->form == CLARKE_FORM_FUSED ? times_plus(floats, by->alpha, sum[i], sum[i - 1])
                                             : plus(floats, times(floats, by->alpha, sum[i]), sum[i - 1]);
}

/* The sum by the tree. */
static inline double
sum_of(bool floats, const clarke_summation_tree *t, const clarke_summation_factor *by, const double *p, const double *q)
{
  double sum[CLARKE_SUMMATION_DEPTH + 2];
  size_t top = 0, spine = CLARKE_NONE;

  for (size_t i = 0; i < t->n; i++) {
    const size_t k = t->step[i].leaf;

    switch (t->step[i].act) {
    case CLARKE_SUMMATION_PUSH:
      if (by != NULL && k == by->addend)
        spine = top;
      sum[top++] = times(floats, p[k], q[k]);
      break;
    case CLARKE_SUMMATION_FUSE:
      if (by != NULL && spine == top - 1)
        return NAN;
      if (by != NULL && k == by->addend) {
        sum[top - 1] = times(floats, by->alpha, sum[top - 1]);
        spine = top - 1;
      }
      sum[top - 1] = times_plus(floats, p[k], q[k], sum[top - 1]);
      break;
    case CLARKE_SUMMATION_ADD:
      add(floats, sum, --top, &spine, by);
      break;
    }
  }
  return by != NULL && by->addend == CLARKE_NONE ? times(floats, by->alpha, sum[0]) : sum[0];
}

double
clarke_summation_replay(const clarke_summation_tree *t, clarke_dtype type, const clarke_summation_factor *by, const double *p,
                        const double *q)
{
  return type == CLARKE_F32 ? sum_of(true, t, by, p, q) : sum_of(false, t, by, p, q);
}

/* --- a tensor --- */

typedef struct {
  clarke_certify *c;
  const clarke_summation *sum;
  clarke_certificate *to;
  const clarke_tensor *t;
  clarke_sum_operands from;
  double *p, *q;
} replayed;

/* Are all factors numbers of the type, so that nothing was rounded before it was multiplied? */
static bool
fits(const replayed *r)
{
  for (size_t k = 0; k < r->from.leaves; k++)
    if (r->sum->type == CLARKE_F32 && ((float)r->p[k] != r->p[k] || (float)r->q[k] != r->q[k]))
      return false;
  return true;
}

/* Factors of a half-precision result were cast to its type. */
static void
cast(replayed *r)
{
  for (size_t k = 0; r->t->dtype != CLARKE_F32 && r->t->dtype != CLARKE_F64 && k < r->from.leaves; k++) {
    r->p[k] = clarke_round_double(r->p[k], r->t->dtype);
    r->q[k] = clarke_round_double(r->q[k], r->t->dtype);
  }
}

/* What is added is multiplied by beta, and each product, if the form says so, by alpha. Without a form alpha is 1 or -1. The product
 * of two floats is exact here, and rounded when it is read as one. */
static void
scale(replayed *r, clarke_summation_form form)
{
  const size_t products = r->from.leaves - (r->from.added != NULL);

  for (size_t k = 0; (form == CLARKE_FORM_FIRST || form == CLARKE_FORM_NONE) && k < products; k++)
    r->p[k] *= r->from.alpha;
  for (size_t k = 0; form == CLARKE_FORM_SECOND && k < products; k++)
    r->q[k] *= r->from.alpha;
  if (r->from.added != NULL)
    r->q[products] = r->from.beta; /* times 1 */
}

/* A mean's division is rounded, too. */
static double
divided(const replayed *r, double sum)
{
  if (r->from.divisor == 1)
    return sum;
  return r->sum->type == CLARKE_F32 ? (double)((float)sum / (float)r->from.divisor) : sum / r->from.divisor;
}

/* False: the tree does not give an entry of its part, and *why says which. */
static bool
follow(replayed *r, const clarke_summation_tree *tree, const clarke_summation_part *part, char *why, size_t size)
{
  const size_t columns = r->t->rank > 0 ? r->t->dims[r->t->rank - 1] : 1;
  const clarke_summation_factor by = {part->form, r->from.alpha, r->from.added != NULL ? r->from.leaves - 1 : CLARKE_NONE};
  const bool whole = by.form == CLARKE_FORM_SUM || by.form == CLARKE_FORM_FUSED;
  char index[256];

  for (size_t i = part->row[0]; i <= part->row[1]; i++)
    for (size_t j = part->column[0]; j <= part->column[1]; j++) {
      const size_t k = i * columns + j;
      double made;

      clarke_sum_operands_take(r->p, r->q, &r->from, k);
      cast(r);
      if (!fits(r)) {
        snprintf(why, size, "its factors are no numbers of type %s", clarke_dtype_name(r->sum->type));
        return false;
      }
      scale(r, by.form);
      made = divided(r, clarke_summation_replay(tree, r->sum->type, whole ? &by : NULL, r->p, r->q));
      made = clarke_round_double(made, r->t->dtype);
      if (made == r->t->real[k])
        continue;
      clarke_put_index(index, sizeof index, r->t->dims, r->t->rank, k);
      snprintf(why, size, "at %s it gives %.9g, and %.9g was recorded", index, made, r->t->real[k]);
      return false;
    }
  return true;
}

/* Are the parts in the tensor, and is every entry in just one? */
static clarke_status
check_parts(const replayed *r, char *why, size_t size, clarke_error *err)
{
  const size_t columns = r->t->rank > 0 ? r->t->dims[r->t->rank - 1] : 1, rows = columns > 0 ? r->t->count / columns : 0;
  size_t covered = 0;

  for (size_t i = 0; i < r->sum->n_parts; i++) {
    const clarke_summation_part *p = &r->sum->at[i];

    if (p->row[1] >= rows || p->column[1] >= columns)
      return clarke_fail(err, CLARKE_EINPUT, "a tree is of rows to %zu and columns to %zu, and the tensor has %zu and %zu", p->row[1],
                         p->column[1], rows, columns);
    covered += (p->row[1] - p->row[0] + 1) * (p->column[1] - p->column[0] + 1);
    for (size_t j = 0; j < i; j++) {
      const clarke_summation_part *q = &r->sum->at[j];

      if (p->row[0] <= q->row[1] && q->row[0] <= p->row[1] && p->column[0] <= q->column[1] && q->column[0] <= p->column[1])
        return clarke_fail(err, CLARKE_EINPUT, "two trees are of one entry");
    }
  }
  if (covered != r->t->count)
    snprintf(why, size, "%zu entries have no tree", r->t->count - covered);
  return CLARKE_OK;
}

/* Why the trees do not explain the tensor; empty: they do. */
static clarke_status
replay(replayed *r, char *why, size_t size, clarke_error *err)
{
  clarke_status status = check_parts(r, why, size, err);

  r->p = malloc(r->from.leaves * sizeof *r->p);
  r->q = malloc(r->from.leaves * sizeof *r->q);
  if (status == CLARKE_OK && (r->p == NULL || r->q == NULL))
    status = clarke_no_memory(err);
  for (size_t i = 0; i < r->sum->n_parts && status == CLARKE_OK; i++) {
    clarke_summation_tree tree = {0, 0, NULL};

    status = clarke_work_check(err);
    if (status == CLARKE_OK)
      status = clarke_summation_tree_parse(&tree, r->sum->at[i].tree, r->from.leaves, err);
    if (status == CLARKE_OK && *why == '\0' && !follow(r, &tree, &r->sum->at[i], why, size))
      status = clarke_work_check(err);
    clarke_summation_tree_clear(&tree);
  }
  free(r->p);
  free(r->q);
  return status;
}

static const clarke_tensor *
tensor_of(clarke_certify *c, clarke_part part, const char *name)
{
  return part == CLARKE_PARAMETER ? clarke_tensors_find(c->gradients, name) : clarke_certify_find(c, clarke_part_name(part), name);
}

/* Why the tensor's sums cannot be replayed at all; NULL: they can. */
static const char *
unfit(const replayed *r)
{
  const clarke_sum_operands *f = &r->from;

  if (r->sum->leaves != r->from.leaves)
    return "the graph's sum has another number of products";
  if (r->sum->type == CLARKE_F32 && r->t->dtype == CLARKE_F64)
    return "sums in float32 are no float64 results";
  if (r->from.divisor != 1 && r->sum->type != r->t->dtype)
    return "a mean is of its sum's type";
  if (f->kind == CLARKE_SUM_OF_PARTS && r->t->dtype != r->sum->type)
    return "in half precision each part was rounded";
  if (f->alpha == 1 && f->beta == 1)
    return NULL;
  if (f->divisor != 1 || r->t->dtype != r->sum->type)
    return "of a mean, or in half precision, factors are not followed";
  for (size_t i = 0; i < r->sum->n_parts; i++)
    if (fabs(f->alpha) != 1 && r->sum->at[i].form == CLARKE_FORM_NONE) /* -1 rounds nothing, wherever it is */
      return "there is a factor, and no form says where it is multiplied in";
  if (r->sum->type == CLARKE_F32 && ((float)f->alpha != f->alpha || (float)f->beta != f->beta))
    return "a factor is no number of the sums' type";
  return NULL;
}

static clarke_status
explain(replayed *r, clarke_error *err)
{
  char text[512] = "";
  const char *why = NULL;
  clarke_status status = clarke_sum_operands_find(&r->from, &why, r->c, r->to->part, r->to->name, err);

  if (status == CLARKE_OK && why == NULL)
    why = unfit(r);
  if (status == CLARKE_OK && why == NULL)
    status = replay(r, text, sizeof text, err);
  if (status != CLARKE_OK)
    return status;
  if (why == NULL && text[0] == '\0') {
    if (r->to->certainty == CLARKE_WITHIN_BOUND || r->to->certainty == CLARKE_CANNOT_SAY) {
      r->to->certainty = CLARKE_BY_TREE;
      r->to->has_offender = false;
    }
    r->to->tree = CLARKE_TREE_EXPLAINS;
    return CLARKE_OK;
  }
  r->to->tree = CLARKE_TREE_DOES_NOT;
  free(r->to->tree_why);
  r->to->tree_why = strdup(why != NULL ? why : text);
  return r->to->tree_why != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* The certificate of that part and name; NULL: there is none. */
static clarke_certificate *
certificate_of(clarke_certify *c, const clarke_summation *s)
{
  for (size_t i = 0; i < c->n; i++)
    if (strcmp(clarke_part_name(c->certificate[i].part), s->part) == 0 && strcmp(c->certificate[i].name, s->name) == 0)
      return &c->certificate[i];
  return NULL;
}

clarke_status
clarke_summation_explain(clarke_certify *c, const clarke_summations *s, const char *file, clarke_error *err)
{
  clarke_status status = s->n > 0 ? clarke_tensors_unpack(c->trace, err) : CLARKE_OK;

  if (s->n > 0 && status == CLARKE_OK)
    status = clarke_tensors_unpack(c->gradients, err);

  if (s->n > 0 && status == CLARKE_OK)
    status = clarke_certify_collect(c, err);
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    replayed r = {.c = c, .sum = &s->sum[i], .to = certificate_of(c, &s->sum[i])};

    r.t = r.to != NULL ? tensor_of(c, r.to->part, r.to->name) : NULL;
    if (r.to != NULL && r.to->tree != CLARKE_NO_TREE)
      status = clarke_fail(err, CLARKE_EINPUT, "it is there twice");
    else if (r.t == NULL || r.t->real == NULL)
      status = clarke_fail(err, CLARKE_EINPUT, "no such tensor was recorded");
    else
      status = explain(&r, err);
    clarke_sum_operands_clear(&r.from);
    if (status != CLARKE_OK && status != CLARKE_ESTOPPED)
      clarke_fail_in(err, status, "%s: %s %s", file, s->sum[i].part, s->sum[i].name);
  }
  return status;
}
