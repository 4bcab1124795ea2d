/* A normalization, its scale and its shift (NORMALIZE, SCALE, SUM), both ways, some entries at a time (sieve.h).
 *
 * Each step alone has three or four doubles an entry, which it writes, and the next one reads: of a large network most of that is memory
 * that is touched for the first time. Here a chunk goes through all three steps, and is judged, while the cache holds it. On the way back
 * what was normalized is made again. Rules and numbers are those of sieve_entries.c and sieve_normalize.c, which take steps that are apart. */
#include "trace/certify/sieve_entries.h"
#include "trace/certify/sieve_normalize.h"

#include <math.h>
#include <string.h>

#define CHUNK CLARKE_SIEVE_CHUNK

/* Entries of a chunk, or sums of theirs. */
typedef struct {
  double near[CHUNK], off[CHUNK], may[CHUNK], mass[CHUNK];
} numbers;

typedef struct {
  clarke_sieve *s;
  const clarke_step *normalize, *scale, *sum;
  const clarke_operand *scaled, *shift; /* of the sum */
  const float *x;                       /* what is normalized */
  clarke_sieve_group *all;
  size_t entries, run; /* in all; that follow each other and are of one group */
  double gamma;        /* what roundings take of what was normalized */
} affine;

static clarke_sieve_sums
sums_from(numbers *to, size_t k)
{
  return (clarke_sieve_sums){to->near + k, to->off + k, to->may + k, to->mass + k};
}

/* The same where nothing is added up. */
static clarke_sieve_sums
entries_of(numbers *to)
{
  return (clarke_sieve_sums){to->near, to->off, to->may, NULL};
}

static clarke_sieve_line
line_from(const numbers *of, size_t k)
{
  return (clarke_sieve_line){of->near + k, of->off + k, of->may + k};
}

static void
clear(numbers *to, size_t n)
{
  memset(to->near, 0, n * sizeof *to->near);
  memset(to->off, 0, n * sizeof *to->off);
  memset(to->may, 0, n * sizeof *to->may);
  memset(to->mass, 0, n * sizeof *to->mass);
}

/* --- which steps --- */

/* Is a value read by the next step alone, with no name of its own? */
static bool
is_between(const clarke_sieve *s, size_t value)
{
  return s->g->values[value].name == NULL && s->reads[value] == 1 && value != s->g->output;
}

static bool
is_whole(const clarke_operand *o, size_t value)
{
  return o->value == value && o->map == NULL && o->coef == 1;
}

/* Has each of so many rows an entry of the constant? */
static bool
has_entries(const clarke_sieve *s, const clarke_operand *o, size_t rows)
{
  bool has = s->g->values[o->value].constant && s->g->values[o->value].real != NULL;

  for (size_t f = 0; has && f < rows; f++)
    has = clarke_operand_entry(o, f) != CLARKE_NONE;
  return has;
}

bool
clarke_sieve_is_affine(const clarke_sieve *s, size_t i)
{
  const clarke_step *first = &s->g->steps[i], *scale = first + 1, *sum = first + 2;
  const size_t rows = s->g->values[first->out].count;
  const clarke_value *y;
  size_t k;

  if (i + 2 >= s->g->n_steps || first->kind != CLARKE_NORMALIZE || scale->kind != CLARKE_SCALE || sum->kind != CLARKE_SUM || sum->n_in != 2
      || !(first->grouping.couples || s->n == 1))
    return false;
  y = &s->g->values[sum->out];
  k = sum->in[0].value == scale->out ? 0 : 1;
  return is_between(s, first->out) && is_between(s, scale->out) && is_whole(&scale->in[0], first->out) && is_whole(&sum->in[k], scale->out)
         && y->name != NULL && y->count == rows && s->g->values[scale->out].count == rows && clarke_certify_has(s->c, "output", y->name)
         && fabs(sum->in[1 - k].coef) == 1 && has_entries(s, &scale->in[1], rows) && has_entries(s, &sum->in[1 - k], rows);
}

static affine
affine_of(clarke_sieve *s, size_t i)
{
  const clarke_step *first = &s->g->steps[i], *sum = first + 2;
  const size_t k = sum->in[0].value == first[1].out ? 0 : 1;

  return (affine){.s = s, .normalize = first, .scale = first + 1, .sum = sum, .scaled = &sum->in[k], .shift = &sum->in[1 - k],
                  .x = s->value[first->in[0].value].exact, .all = s->group[i], .entries = s->g->values[first->out].count * s->n,
                  .run = first->grouping.length * s->n, .gamma = clarke_sieve_gamma(s, CLARKE_SIEVE_SPARE_MOMENTS)};
}

/* How many entries there are from e on, below `end`, that have the constant's entry of the first. */
static size_t
alike(const affine *a, const clarke_operand *constant, size_t e, size_t end)
{
  const size_t n = a->s->n, own = clarke_operand_entry(constant, e / n);
  size_t f = e / n + 1;

  while (f * n < end && clarke_operand_entry(constant, f) == own)
    f++;
  return (f * n < end ? f * n : end) - e;
}

/* The next chunk's end: it stays in its group. */
static size_t
end_of(const affine *a, size_t e)
{
  const size_t left = a->run - e % a->run;

  return e + (left < CHUNK ? left : CHUNK);
}

static clarke_sieve_group *
group_at(const affine *a, size_t e)
{
  return &a->all[e / a->run % a->normalize->grouping.groups];
}

/* Entries from e on, normalized. */
static void
normalize(numbers *to, const affine *a, size_t e, size_t n)
{
  const clarke_sieve_sums own = entries_of(to);

  clarke_sieve_normalize_run(&own, group_at(a, e), a->x + e, a->gamma, n);
}

/* --- forward --- */

static void
scale(numbers *to, const affine *a, const numbers *x, double gamma, size_t e, size_t n)
{
  for (size_t k = 0, some; k < n; k += some) {
    const clarke_sieve_factor by = {.c = clarke_sieve_factor_at(a->s, a->scale, (e + k) / a->s->n), .gamma = gamma, .divide = a->scale->divide};
    const clarke_sieve_line line = line_from(x, k);
    const clarke_sieve_sums sums = sums_from(to, k);

    some = alike(a, &a->scale->in[1], e + k, e + n);
    clarke_sieve_scale_line(&sums, &line, &by, some);
  }
}

static void
add_shift(numbers *to, const affine *a, size_t e, size_t n)
{
  const double *number = a->s->g->values[a->shift->value].real;

  for (size_t k = 0, some; k < n; k += some) {
    const clarke_sieve_sums sums = sums_from(to, k);

    some = alike(a, a->shift, e + k, e + n);
    clarke_sieve_add_number(&sums, a->shift->coef * number[clarke_operand_entry(a->shift, (e + k) / a->s->n)], some);
  }
}

/* The sum of what was scaled and the shift, in the order that the step has. */
static void
shift(numbers *to, const affine *a, const numbers *x, double gamma, size_t e, size_t n)
{
  const clarke_sieve_sums sums = sums_from(to, 0);
  const clarke_sieve_line line = line_from(x, 0);

  clear(to, n);
  if (a->shift < a->scaled)
    add_shift(to, a, e, n);
  clarke_sieve_add_line(&sums, &line, 1, 1, n);
  if (a->shift > a->scaled)
    add_shift(to, a, e, n);
  for (size_t k = 0; k < n; k++)
    to->may[k] += gamma * to->mass[k];
}

/* All entries beside their records. */
static void
pass(clarke_sieve_found *found, const affine *a, const float *recorded)
{
  const double of_scale = clarke_sieve_gamma(a->s, clarke_sieve_spare(a->scale) + 2), of_sum = clarke_sieve_gamma(a->s, 2 + clarke_sieve_spare(a->sum));
  numbers x, scaled, y;
  const clarke_sieve_sums part[] = {entries_of(&x), entries_of(&scaled), entries_of(&y)};

  for (size_t e = 0, end; e < a->entries && !a->s->open && !found->beyond; e = end) {
    const clarke_sieve_judged j = {.near = y.near, .off = y.off, .may = y.may, .recorded = recorded + e, .enclosed = true};

    end = end_of(a, e);
    normalize(&x, a, e, end - e);
    scale(&scaled, a, &x, of_scale, e, end - e);
    shift(&y, a, &scaled, of_sum, e, end - e);
    for (size_t k = 0; k < 3; k++)
      clarke_sieve_check_line(a->s, &part[k], end - e);
    if (!a->s->open)
      clarke_sieve_judge_line(found, &j, end - e);
  }
}

clarke_status
clarke_sieve_affine(clarke_sieve *s, size_t i, clarke_error *err)
{
  affine a = affine_of(s, i);
  const clarke_value *v = &s->g->values[a.sum->out];
  clarke_certificate *made;
  clarke_sieve_found found = {0};
  clarke_tensor *t;
  const float *recorded;

  s->open = s->open || a.x == NULL || a.normalize->in[0].map != NULL || a.normalize->in[0].coef != 1 || !clarke_sieve_is_factor(s, a.scale);
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieve_take_moments(&s->group[i], s, a.normalize, a.x))
    return clarke_no_memory(err);
  a.all = s->group[i];
  t = clarke_certify_find(s->c, "output", v->name);
  recorded = clarke_sieve_turned(s, t, v->count, s->n, err);
  if (recorded == NULL)
    return s->open ? CLARKE_OK : CLARKE_ENOMEM;
  made = clarke_certify_add(s->c, CLARKE_OUTPUT, v->name, a.sum->op->name, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  pass(&found, &a, recorded);
  clarke_sieve_tell(s, made, &found, a.entries, true, recorded);
  s->value[a.sum->out] = (clarke_sieved){.exact = recorded, .record = t, .owned = true, .parts = 1};
  return CLARKE_OK;
}

/* --- back --- */

/* Sums of what entries give to one entry of the factor's gradient, side by side. */
typedef struct {
  clarke_sieved *to;
  numbers own;
  size_t entry, used; /* CLARKE_NONE: none yet */
} totals;

static void
give_totals(totals *t)
{
  double near = 0, off = 0, may = 0, mass = 0;

  if (t->entry == CLARKE_NONE)
    return;
  for (size_t k = 0; k < t->used; k++) {
    clarke_sieve_plus(&near, &off, t->own.near[k]);
    off += t->own.off[k];
    may += t->own.may[k];
    mass += t->own.mass[k];
  }
  clarke_sieve_join(t->to, t->entry, near, clarke_up_by(off, 0x1p31), may, mass);
  clear(&t->own, t->used);
  t->entry = CLARKE_NONE;
  t->used = 0;
}

typedef struct {
  affine a;
  clarke_sieve_numbers g; /* the gradient of what was scaled */
  totals factor;
  bool trained, carries;               /* is the factor? Does a gradient go on to what is normalized? */
  double of_scale, of_whole, of_moved; /* what roundings take: of a product, of the gradient that it makes, and of what is handed on */
  double *room;
} back;

/* Products of the gradient and what was normalized join the factor's. */
static void
join_factor(back *b, const clarke_sieve_line *g, const numbers *y, size_t e, size_t n)
{
  for (size_t k = 0, some; k < n; k += some) {
    const clarke_operand *c = &b->a.scale->in[1];
    const size_t entry = clarke_operand_entry(c, (e + k) / b->a.s->n);
    const clarke_sieve_line own = {g->near + k, g->off + k, g->may + k}, other = line_from(y, k);
    const clarke_sieve_sums sums = sums_from(&b->factor.own, 0);

    some = alike(&b->a, c, e + k, e + n);
    if (entry != b->factor.entry)
      give_totals(&b->factor);
    b->factor.entry = entry;
    b->factor.used = some > b->factor.used ? some : b->factor.used;
    clarke_sieve_join_products(&sums, &own, &other, some);
  }
}

/* The gradient of what was normalized: that of the output times the factor. */
static void
hand_scaled(numbers *to, const back *b, const clarke_sieve_line *g, size_t e, size_t n)
{
  const affine *a = &b->a;
  const clarke_sieve_sums all = sums_from(to, 0);
  unsigned char joined[CHUNK] = {0};

  clear(to, n);
  for (size_t k = 0, some; k < n; k += some) {
    const clarke_sieve_factor by = {.c = clarke_sieve_factor_at(a->s, a->scale, (e + k) / a->s->n), .gamma = b->of_scale, .divide = a->scale->divide};
    const clarke_sieve_line own = {g->near + k, g->off + k, g->may + k};
    const clarke_sieve_sums sums = sums_from(to, k);

    some = alike(a, &a->scale->in[1], e + k, e + n);
    clarke_sieve_hand_scaled(&sums, joined + k, &own, b->g.exact != NULL, &by, some);
  }
  clarke_sieve_check_line(a->s, &all, n);
  clarke_sieve_finish_line(&all, joined, b->of_whole, n);
}

/* To the factor's gradient, and the sums of groups. */
static void
sum_up(back *b)
{
  const affine *a = &b->a;
  numbers y, scaled;

  for (size_t e = 0, end; e < a->entries; e = end) {
    const clarke_sieve_line g = clarke_sieve_line_of(&b->g, e, end_of(a, e) - e, b->room);
    const clarke_sieve_line of_y = line_from(&y, 0), of_scaled = line_from(&scaled, 0);

    end = end_of(a, e);
    normalize(&y, a, e, end - e);
    if (b->trained)
      join_factor(b, &g, &y, e, end - e);
    if (b->carries) {
      hand_scaled(&scaled, b, &g, e, end - e);
      clarke_sieve_add_terms(group_at(a, e), &of_scaled, &of_y, end - e);
    }
  }
  give_totals(&b->factor);
}

/* What a chunk gives to the gradient of what is normalized. */
static void
hand(const clarke_sieve_sums *to, back *b, size_t e, size_t n)
{
  const affine *a = &b->a;
  const clarke_sieve_line g = clarke_sieve_line_of(&b->g, e, n, b->room);
  numbers y, scaled;
  const clarke_sieve_line of_y = line_from(&y, 0), of_scaled = line_from(&scaled, 0);

  normalize(&y, a, e, n);
  hand_scaled(&scaled, b, &g, e, n);
  a->s->open = clarke_sieve_hand_line(to, group_at(a, e), &of_scaled, &of_y, b->of_moved, n) || a->s->open;
  clarke_sieve_check_line(a->s, to, n);
}

/* Is that all of it, and has it a record, which the step before is judged by? */
static bool
is_judged_here(const back *b)
{
  const clarke_sieve *s = b->a.s;
  const size_t value = b->a.normalize->in[0].value;
  const clarke_value *v = &s->g->values[value];
  const clarke_sieved *to = &s->grad[value];

  return to->near == NULL && to->exact == NULL && s->reads[value] == 1 && value != s->g->output && v->name != NULL
         && v->producer + 1 == (size_t)(b->a.normalize - s->g->steps) && !clarke_certify_is_passed_on(s->c, value)
         && clarke_certify_has(s->c, "gradient", v->name);
}

static clarke_status
judge(back *b, clarke_error *err)
{
  clarke_sieve *s = b->a.s;
  const size_t value = b->a.normalize->in[0].value;
  const clarke_value *v = &s->g->values[value];
  clarke_tensor *t = clarke_certify_find(s->c, "gradient", v->name);
  const float *recorded = clarke_sieve_turned(s, t, v->count, s->n, err);
  clarke_sieve_found found = {0};
  clarke_certificate *made;
  unsigned char joined[CHUNK];
  numbers own;
  const clarke_sieve_sums to = sums_from(&own, 0);
  const double gamma = clarke_sieve_gamma(s, 1 + CLARKE_ROUNDBACK_SPARE);

  if (recorded == NULL)
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  made = clarke_certify_add(s->c, CLARKE_GRADIENT, v->name, s->g->steps[v->producer].op->name, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  memset(joined, 2, sizeof joined);
  for (size_t e = 0, end; e < b->a.entries && !s->open && !found.beyond; e = end) {
    const clarke_sieve_judged j = {.near = own.near, .off = own.off, .may = own.may, .mass = own.mass, .joined = joined, .recorded = recorded + e,
                                   .gamma = gamma, .enclosed = true};

    end = end_of(&b->a, e);
    clear(&own, end - e);
    hand(&to, b, e, end - e);
    if (!s->open)
      clarke_sieve_judge_line(&found, &j, end - e);
  }
  clarke_sieve_tell(s, made, &found, b->a.entries, true, recorded);
  s->grad[value] = (clarke_sieved){.exact = recorded, .record = t, .owned = true, .parts = 1, .terms = 1, .judged = true};
  return CLARKE_OK;
}

static clarke_status
hand_on(back *b, clarke_error *err)
{
  clarke_sieve *s = b->a.s;
  const size_t value = b->a.normalize->in[0].value;
  clarke_sieved *to = &s->grad[value];

  if (is_judged_here(b))
    return judge(b, err);
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[value].count, s->n))
    return clarke_no_memory(err);
  for (size_t e = 0; e < b->a.entries; e = end_of(&b->a, e)) {
    const clarke_sieve_sums sums = clarke_sieve_sums_of(to, e);

    hand(&sums, b, e, end_of(&b->a, e) - e);
    memset(to->joined + e, 2, end_of(&b->a, e) - e);
  }
  to->enclosed = true;
  to->terms += 1;
  to->parts += 2;
  return CLARKE_OK;
}

/* Both ends are ready: the gradient, and what it is given to. */
static clarke_status
begin(back *b, clarke_error *err)
{
  clarke_sieve *s = b->a.s;
  const size_t c = b->a.scale->in[1].value;
  const double members = (double)clarke_step_group_size(b->a.normalize, s->n);

  b->trained = clarke_value_is_wrt(s->g, c);
  b->carries = s->carries[b->a.normalize->in[0].value];
  b->of_scale = clarke_sieve_gamma(s, clarke_sieve_spare_back(b->a.scale));
  b->of_whole = clarke_sieve_gamma(s, 1 + CLARKE_ROUNDBACK_SPARE);
  b->of_moved = clarke_sieve_gamma(s, 2 * members + CLARKE_SIEVE_SPARE_MOMENTS);
  b->factor.to = &s->grad[c];
  b->factor.entry = CLARKE_NONE;
  s->open = s->open || (b->trained && b->a.scale->divide) || !clarke_sieve_is_factor(s, b->a.scale);
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieve_read_gradient(&b->g, s, b->a.scale->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  b->room = clarke_sieve_line_room(s, CHUNK);
  if (b->room == NULL || (b->trained && !clarke_sieve_begin_gradient(s, b->factor.to, s->g->values[c].count, 1)))
    return clarke_no_memory(err);
  return CLARKE_OK;
}

clarke_status
clarke_sieve_affine_back(clarke_sieve *s, size_t i, clarke_error *err)
{
  back b = {.a = affine_of(s, i)};
  clarke_status status = begin(&b, err);

  if (status != CLARKE_OK || s->open)
    return status;
  sum_up(&b);
  if (b.trained) {
    b.factor.to->enclosed = true;
    b.factor.to->terms += (double)s->n + clarke_sieve_spare_back(b.a.scale);
    b.factor.to->parts += 2;
  }
  if (b.carries && !s->open) {
    for (size_t k = 0; k < b.a.normalize->grouping.groups; k++)
      clarke_sieve_divide_sums(&b.a.all[k], (double)clarke_step_group_size(b.a.normalize, s->n));
    status = hand_on(&b, err);
  }
  clarke_sieve_leave(s, b.room);
  return status;
}
