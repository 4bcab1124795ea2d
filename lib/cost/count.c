#include "cost/count.h"

#include "base/output.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

void
clarke_count_init(clarke_count *c)
{
  memset(c, 0, sizeof *c);
}

void
clarke_count_clear(clarke_count *c)
{
  for (size_t i = 0; i < c->n; i++)
    mpz_clear(c->row[i].times);
  free(c->row);
  clarke_count_init(c);
}

static bool
same(const clarke_elementary *a, const clarke_elementary *b)
{
  return a->arguments == b->arguments && memcmp(&a->cost, &b->cost, sizeof a->cost) == 0
         && memcmp(&a->joint, &b->joint, sizeof a->joint) == 0 && strcmp(a->name, b->name) == 0;
}

/* Its row, which may be a new one; NULL when out of memory. */
static clarke_counted *
row_of(clarke_count *c, const clarke_elementary *e)
{
  for (size_t i = c->n; i-- > 0;)
    if (same(&c->row[i].what, e))
      return &c->row[i];
  if (!clarke_room(&c->row, &c->capacity, c->n + 1, sizeof *c->row))
    return NULL;
  c->row[c->n].what = *e;
  mpz_init(c->row[c->n].times);
  return &c->row[c->n++];
}

clarke_status
clarke_count_add(clarke_count *c, const clarke_elementary *e, size_t times, clarke_error *err)
{
  clarke_counted *row = times > 0 ? row_of(c, e) : NULL;

  if (times > 0 && row == NULL)
    return clarke_no_memory(err);
  if (times > 0)
    mpz_add_ui(row->times, row->times, times);
  return CLARKE_OK;
}

clarke_status
clarke_count_join(clarke_count *c, const clarke_count *more, clarke_error *err)
{
  for (size_t i = 0; i < more->n; i++) {
    clarke_counted *row = row_of(c, &more->row[i].what);

    if (row == NULL)
      return clarke_no_memory(err);
    mpz_add(row->times, row->times, more->row[i].times);
  }
  return CLARKE_OK;
}

void
clarke_elementary_backward(clarke_operations *o, const clarke_elementary *e)
{
  *o = e->joint;
  o->of[CLARKE_ADDITION] += e->arguments;
  o->of[CLARKE_MULTIPLICATION] += e->arguments;
}

void
clarke_elementary_forward(clarke_amount *a, const clarke_elementary *e, const mpz_t p)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_set_ui(a->of[k], e->joint.of[k]);
  mpz_addmul_ui(a->of[CLARKE_MULTIPLICATION], p, e->arguments);
  mpz_addmul_ui(a->of[CLARKE_ADDITION], p, e->arguments - 1);
}

void
clarke_count_operations(mpz_t n, const clarke_count *c)
{
  mpz_set_ui(n, 0);
  for (size_t i = 0; i < c->n; i++)
    mpz_add(n, n, c->row[i].times);
}

static void
set_zero(clarke_amount *a)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_set_ui(a->of[k], 0);
}

void
clarke_count_cost(clarke_amount *a, const clarke_count *c)
{
  set_zero(a);
  for (size_t i = 0; i < c->n; i++)
    clarke_amount_add(a, &c->row[i].what.cost, c->row[i].times);
}

void
clarke_count_backward(clarke_amount *a, const clarke_count *c)
{
  set_zero(a);
  for (size_t i = 0; i < c->n; i++) {
    clarke_operations o;

    clarke_elementary_backward(&o, &c->row[i].what);
    clarke_amount_add(a, &o, c->row[i].times);
  }
}

void
clarke_count_forward(clarke_amount *a, const clarke_count *c, const mpz_t p)
{
  clarke_amount one;

  set_zero(a);
  clarke_amount_init(&one);
  for (size_t i = 0; i < c->n; i++) {
    clarke_elementary_forward(&one, &c->row[i].what, p);
    clarke_amount_add_amount(a, &one, c->row[i].times);
  }
  clarke_amount_clear(&one);
}

/* --- Theorem 3 ---------------------------------------------------------------------------------------- */

/* cost(gd) + 2 max(c+, cx) |pr|, in operations of the dearer kind. */
static void
bounded_backward(clarke_amount *a, const clarke_elementary *e, const clarke_prices *p)
{
  const int dearer = mpq_cmp(p->of[CLARKE_ADDITION], p->of[CLARKE_MULTIPLICATION]) > 0 ? CLARKE_ADDITION : CLARKE_MULTIPLICATION;

  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_set_ui(a->of[k], e->joint.of[k]);
  mpz_add_ui(a->of[dearer], a->of[dearer], e->arguments);
  mpz_add_ui(a->of[dearer], a->of[dearer], e->arguments);
}

static void
set_cost(clarke_amount *a, const clarke_elementary *e)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_set_ui(a->of[k], e->cost.of[k]);
}

/* entries NULL: backward. */
static bool
largest(mpq_t omega, const clarke_count *c, const mpz_t *entries, const clarke_prices *p)
{
  clarke_amount above, below;
  bool bounded = true;
  mpq_t ratio;

  mpq_init(ratio);
  mpq_set_ui(omega, 0, 1);
  clarke_amount_init(&above);
  clarke_amount_init(&below);
  for (size_t i = 0; i < c->n && bounded; i++) {
    if (entries != NULL)
      clarke_elementary_forward(&above, &c->row[i].what, *entries);
    else
      bounded_backward(&above, &c->row[i].what, p);
    set_cost(&below, &c->row[i].what);
    bounded = clarke_amount_ratio(ratio, &above, &below, p);
    if (bounded && mpq_cmp(ratio, omega) > 0)
      mpq_set(omega, ratio);
  }
  clarke_amount_clear(&above);
  clarke_amount_clear(&below);
  mpq_clear(ratio);
  return bounded;
}

bool
clarke_count_omega(mpq_t omega, const clarke_count *c, const clarke_prices *p)
{
  return largest(omega, c, NULL, p);
}

bool
clarke_count_omega_forward(mpq_t omega, const clarke_count *c, const mpz_t entries, const clarke_prices *p)
{
  mpz_t copy;
  bool bounded;

  mpz_init_set(copy, entries);
  bounded = largest(omega, c, (const mpz_t *)&copy, p);
  mpz_clear(copy);
  return bounded;
}

/* The ratios that have letters, each once, in a list behind the largest number. */
typedef struct {
  mpq_t number;
  bool any_number, failed;
  size_t n;
  char **text;
} ratios;

static void
take_ratio(ratios *r, char *text)
{
  char **grown;
  mpq_t q;
  bool known = text == NULL;

  for (size_t i = 0; i < r->n && !known; i++)
    known = strcmp(r->text[i], text) == 0;
  mpq_init(q);
  if (!known && strpbrk(text, "cu") == NULL && mpq_set_str(q, text, 10) == 0) {
    if (!r->any_number || mpq_cmp(q, r->number) > 0)
      mpq_set(r->number, q);
    r->any_number = known = true;
  }
  mpq_clear(q);
  r->failed = r->failed || text == NULL;
  grown = known ? NULL : realloc(r->text, (r->n + 1) * sizeof *grown);
  if (grown == NULL) {
    r->failed = r->failed || !known;
    free(text);
    return;
  }
  r->text = grown;
  r->text[r->n++] = text;
}

static void
put_ratios(FILE *out, const ratios *r)
{
  const bool one = r->n + r->any_number <= 1;

  fputs(one ? "" : "max(", out);
  if (r->any_number || r->n == 0)
    gmp_fprintf(out, "%Qd", r->number);
  for (size_t i = 0; i < r->n; i++)
    fprintf(out, "%s%s", i > 0 || r->any_number ? ", " : "", r->text[i]);
  fputs(one ? "" : ")", out);
}

char *
clarke_count_omega_text(const clarke_count *c, const clarke_prices *p)
{
  ratios r = {.n = 0};
  clarke_amount above, below;
  clarke_text t;
  char *text = NULL;

  mpq_init(r.number);
  clarke_amount_init(&above);
  clarke_amount_init(&below);
  for (size_t i = 0; i < c->n && !r.failed; i++) {
    bounded_backward(&above, &c->row[i].what, p);
    set_cost(&below, &c->row[i].what);
    take_ratio(&r, clarke_amount_ratio_text(&above, &below, p));
  }
  if (!r.failed && clarke_text_open(&t, NULL) == CLARKE_OK) {
    put_ratios(t.to, &r);
    if (clarke_text_close(&t, CLARKE_OK, NULL) == CLARKE_OK)
      text = strdup(t.text);
    clarke_text_clear(&t);
  }
  for (size_t i = 0; i < r.n; i++)
    free(r.text[i]);
  free(r.text);
  clarke_amount_clear(&above);
  clarke_amount_clear(&below);
  mpq_clear(r.number);
  return text;
}
