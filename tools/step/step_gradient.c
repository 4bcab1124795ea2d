#include "step_run.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const clarke_tensor *
clarke_update_tensor(const clarke_tensors *ts, const char *part, const char *slot, const char *name)
{
  const size_t before = strlen(part), middle = slot != NULL ? strlen(slot) : 0;

  for (size_t i = 0; i < ts->n; i++) {
    const char *rest = ts->tensor[i].name;

    if (strncmp(rest, part, before) != 0 || rest[before] != '/')
      continue;
    rest += before + 1;
    if (slot != NULL && (strncmp(rest, slot, middle) != 0 || rest[middle] != '/'))
      continue;
    if (strcmp(slot != NULL ? rest + middle + 1 : rest, name) == 0)
      return &ts->tensor[i];
  }
  return NULL;
}

/* The same type, shape and numbers (-0 is not 0). */
static bool
equal(const clarke_tensor *a, const clarke_tensor *b)
{
  return a->dtype == b->dtype && a->count == b->count && a->real != NULL && b->real != NULL
         && memcmp(a->real, b->real, a->count * sizeof *a->real) == 0;
}

/* Twice what two roundings of the type take, and what doubles here do. */
static double
tolerance(clarke_dtype dtype)
{
  switch (dtype) {
  case CLARKE_F16:
    return 0x1p-9;
  case CLARKE_BF16:
    return 0x1p-6;
  case CLARKE_F32:
    return 0x1p-22;
  default:
    return 0x1p-49;
  }
}

/* Below it numbers are subnormal, or near: nothing is asked of them but that they are as small. */
static double
smallest(clarke_dtype dtype)
{
  return dtype == CLARKE_F16 ? 0x1p-13 : dtype == CLARKE_F64 ? 0x1p-1000 : 0x1p-120;
}

/* The factors c with g = c x but for rounding, of all entries: an interval; empty (low > high): there is none. */
static void
narrow(clarke_given_finding *f, const clarke_tensor *x, const clarke_tensor *g)
{
  const double by = tolerance(g->dtype), least = smallest(g->dtype);

  for (size_t i = 0; i < x->count; i++) {
    const double a = x->real[i], b = g->real[i], c = b / a;

    if (fabs(a) < least && fabs(b) < least)
      continue;
    if (fabs(b) < least) { /* c is at most as large as makes it vanish */
      f->high = fmin(f->high, 2 * least / fabs(a));
      continue;
    }
    f->low = a == 0 ? INFINITY : fmax(f->low, c * (1 - by));
    f->high = a == 0 ? 0 : fmin(f->high, c * (1 + by));
  }
}

/* Every entry is its own, or the bound with its sign where it was beyond. */
static bool
is_clamped(const clarke_tensor *x, const clarke_tensor *g, double bound)
{
  for (size_t i = 0; i < x->count; i++)
    if (g->real[i] != x->real[i] && !(fabs(g->real[i]) == bound && fabs(x->real[i]) >= bound && signbit(g->real[i]) == signbit(x->real[i])))
      return false;
  return true;
}

typedef struct {
  const clarke_tensor *recorded, *given;
} pair;

/* Pairs of gradients of one name: those that were recorded, or sums of them. And is theta what the step of the network began with? */
static clarke_status
pair_up(pair *pairs, size_t *n, clarke_given_finding *f, const clarke_record *r, const clarke_tensors *gradients, clarke_error *err)
{
  const clarke_tensors *u = &r->update;

  for (size_t i = 0; i < u->n; i++) {
    const char *name = u->tensor[i].name + strlen("gradient/");
    const clarke_tensor *recorded, *start, *theta;

    if (strncmp(u->tensor[i].name, "gradient/", strlen("gradient/")) != 0)
      continue;
    f->parameters++;
    recorded = clarke_tensors_find(gradients, name);
    start = clarke_tensors_find(&r->start, name);
    theta = clarke_update_tensor(u, "before", "theta", name);
    f->unrecorded += recorded == NULL;
    if (start != NULL && theta != NULL && !equal(start, theta) && !f->moved) {
      f->moved = true;
      f->first = name;
    }
    if (recorded == NULL)
      continue;
    if (recorded->count != u->tensor[i].count || recorded->real == NULL || u->tensor[i].real == NULL)
      return clarke_fail(err, CLARKE_EINPUT, "%s: the gradient that the optimizer was given has %zu entries, the recorded one %zu", name,
                         u->tensor[i].count, recorded->count);
    pairs[(*n)++] = (pair){recorded, &u->tensor[i]};
  }
  return CLARKE_OK;
}

static void
decide(clarke_given_finding *f, const pair *pairs, size_t n)
{
  double bound = 0;
  bool same = true, clamped = true;

  f->low = -INFINITY;
  f->high = INFINITY;
  for (size_t i = 0; i < n; i++) {
    same = same && equal(pairs[i].recorded, pairs[i].given);
    narrow(f, pairs[i].recorded, pairs[i].given);
    for (size_t k = 0; k < pairs[i].given->count; k++)
      bound = fmax(bound, fabs(pairs[i].given->real[k]));
  }
  for (size_t i = 0; i < n; i++)
    clamped = clamped && is_clamped(pairs[i].recorded, pairs[i].given, bound);
  f->is = same ? CLARKE_GIVEN_RECORDED
          : f->low <= f->high && f->low > 0 && isfinite(f->high) ? CLARKE_GIVEN_MULTIPLE
          : clamped && bound > 0 ? CLARKE_GIVEN_CLAMPED : CLARKE_GIVEN_OTHER;
  if (f->is == CLARKE_GIVEN_CLAMPED)
    f->high = bound;
}

/* Is the optimizer given what is made of these? */
static clarke_status
find_of(clarke_given_finding *f, const clarke_record *r, const clarke_tensors *gradients, clarke_error *err)
{
  pair *pairs = calloc(r->update.n + 1, sizeof *pairs);
  size_t n = 0;
  clarke_status status;

  memset(f, 0, sizeof *f);
  if (pairs == NULL)
    return clarke_no_memory(err);
  status = pair_up(pairs, &n, f, r, gradients, err);
  f->unstepped = gradients->n - n;
  if (status == CLARKE_OK)
    decide(f, pairs, n);
  free(pairs);
  return status;
}

/* --- several backward passes ------------------------------------------------------------------------------- */

/* The first of the steps right before this one, by their places, that waited for the same optimizer's step. */
static size_t
first_waiting(const clarke_record *r, size_t mine)
{
  const clarke_run_step *of = r->run.step;
  size_t first = mine;

  while (first > 0 && of[first - 1].update.there && of[first - 1].update.skipped != NULL
         && strcmp(of[first - 1].update.optimizer, of[mine].update.optimizer) == 0)
    first--;
  return first;
}

/* x += y, as tensors of the type are added. False: they are not alike. */
static bool
add_tensors(clarke_tensor *x, const clarke_tensor *y)
{
  if (y == NULL || x->real == NULL || y->real == NULL || x->dtype != y->dtype || x->count != y->count)
    return false;
  for (size_t i = 0; i < x->count; i++)
    x->real[i] = clarke_single_round(x->dtype, x->real[i] + y->real[i]);
  return true;
}

/* The sum of the gradients of the steps there, from the first one on. False: some parameter has none in one of them. */
static clarke_status
add_up(clarke_tensors *sum, bool *is, const clarke_record *r, size_t from, size_t to, clarke_error *err)
{
  clarke_status status = clarke_record_gradients(sum, r, &r->run.step[from], err);

  *is = true;
  for (size_t k = from + 1; k <= to && status == CLARKE_OK && *is; k++) {
    clarke_tensors more = {.n = 0};

    status = clarke_record_gradients(&more, r, &r->run.step[k], err);
    for (size_t i = 0; i < sum->n && status == CLARKE_OK && *is; i++)
      *is = sum->n == more.n && add_tensors(&sum->tensor[i], clarke_tensors_find(&more, sum->tensor[i].name));
    clarke_tensors_clear(&more);
  }
  return status;
}

/* Gradients of micro-batches are added up. A step between that a GradScaler skipped has cleared them: so each of the last few may be meant. */
static clarke_status
find_sum(clarke_given_finding *f, const clarke_record *r, clarke_error *err)
{
  const size_t mine = (size_t)(r->step - r->run.step), first = first_waiting(r, mine);
  clarke_status status = CLARKE_OK;

  for (size_t from = mine; from-- > first && status == CLARKE_OK && f->is == CLARKE_GIVEN_OTHER;) {
    clarke_tensors sum = {.n = 0};
    clarke_given_finding found;
    clarke_error why = {CLARKE_OK, ""};
    bool is = false;

    status = add_up(&sum, &is, r, from, mine, &why);
    if (status == CLARKE_OK && is)
      status = find_of(&found, r, &sum, &why);
    if (status == CLARKE_OK && is && found.is != CLARKE_GIVEN_OTHER) {
      *f = found;
      f->summed = mine - from + 1;
      f->from = r->run.step[from].step;
    }
    clarke_tensors_clear(&sum);
    if (status == CLARKE_EINPUT) /* gradients that are not finite, say: no sum */
      return CLARKE_OK;
    if (status != CLARKE_OK)
      return clarke_fail(err, status, "%s", why.text);
  }
  return status;
}

/* --- averages ------------------------------------------------------------------------------------------------------ */

/* Is a parameter that was averaged what the step's optimizers left behind? One that none of them had is as it was in the step itself. */
static bool
is_left(const clarke_record *r, const clarke_tensors *others, const clarke_tensor *averaged, const char *name)
{
  const clarke_tensor *start = clarke_tensors_find(&r->start, name);
  bool stepped = false, same = false;

  for (size_t k = 0; k < r->step->n_more; k++) {
    const clarke_tensor *left = clarke_update_tensor(&others[k], "after", "theta", name);

    stepped = stepped || left != NULL;
    same = same || (left != NULL && equal(left, averaged));
  }
  return stepped ? same : start != NULL && equal(start, averaged);
}

static void
find_left(clarke_given_finding *f, const clarke_record *r, const clarke_tensors *others)
{
  static const char part[] = "gradient/";

  for (size_t i = 0; i < r->update.n; i++) {
    const char *name = r->update.tensor[i].name + strlen(part);

    if (strncmp(r->update.tensor[i].name, part, strlen(part)) != 0)
      continue;
    f->parameters++;
    if (f->is == CLARKE_GIVEN_OTHER || is_left(r, others, &r->update.tensor[i], name))
      continue;
    f->is = CLARKE_GIVEN_OTHER;
    f->first = name;
  }
}

static clarke_status
find_averaged(clarke_given_finding *f, const clarke_record *r, clarke_error *err)
{
  const size_t n = r->step->n_more;
  clarke_tensors *others = calloc(n + 1, sizeof *others);
  clarke_status status = others != NULL ? CLARKE_OK : clarke_no_memory(err);

  memset(f, 0, sizeof *f);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    if (!r->step->more[k].update.averages)
      status = clarke_record_update(&others[k], r, &r->step->more[k], err);
  if (status == CLARKE_OK)
    find_left(f, r, others);
  for (size_t k = 0; others != NULL && k < n; k++)
    clarke_tensors_clear(&others[k]);
  free(others);
  return status;
}

clarke_status
clarke_given_find(clarke_given_finding *f, const clarke_record *r, clarke_error *err)
{
  clarke_status status = r->step->update.averages ? find_averaged(f, r, err) : find_of(f, r, &r->gradients, err);

  return status == CLARKE_OK && f->is == CLARKE_GIVEN_OTHER && !r->step->update.averages ? find_sum(f, r, err) : status;
}
