#include "cost/operations.h"

#include "base/output.h"
#include "base/text.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

/* constant + in[0] c_nl + in[1] c_R. */
typedef struct {
  mpq_t constant, in[2];
} affine;

static const char *const letter[] = {"c_nl", "c_R"};

void
clarke_prices_init(clarke_prices *p)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++) {
    mpq_init(p->of[k]);
    mpq_set_ui(p->of[k], 1, 1);
    p->given[k] = k == CLARKE_ADDITION || k == CLARKE_MULTIPLICATION;
  }
}

void
clarke_prices_clear(clarke_prices *p)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpq_clear(p->of[k]);
}

clarke_status
clarke_prices_set(clarke_prices *p, int operation, const char *text, const char *option, clarke_error *err)
{
  if (!clarke_literal_parse(p->of[operation], text))
    return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is no number; expected an exact one, such as 2, 1/4 or 0.1", option, text);
  if (mpq_sgn(p->of[operation]) < 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s is below 0; no operation costs less than nothing", option, text);
  p->given[operation] = true;
  return CLARKE_OK;
}

void
clarke_amount_init(clarke_amount *a)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_init(a->of[k]);
}

void
clarke_amount_clear(clarke_amount *a)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_clear(a->of[k]);
}

void
clarke_amount_add(clarke_amount *a, const clarke_operations *b, const mpz_t times)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_addmul_ui(a->of[k], times, b->of[k]);
}

void
clarke_amount_add_amount(clarke_amount *a, const clarke_amount *x, const mpz_t times)
{
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    mpz_addmul(a->of[k], x->of[k], times);
}

static void
affine_init(affine *f)
{
  mpq_inits(f->constant, f->in[0], f->in[1], NULL);
}

static void
affine_clear(affine *f)
{
  mpq_clears(f->constant, f->in[0], f->in[1], NULL);
}

static void
affine_set(affine *f, const clarke_amount *a, const clarke_prices *p)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(f->constant, 0, 1);
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++) {
    mpq_set_z(term, a->of[k]);
    if (p->given[k]) {
      mpq_mul(term, term, p->of[k]);
      mpq_add(f->constant, f->constant, term);
    }
    if (k >= CLARKE_NONLINEAR)
      mpq_set_ui(f->in[k - CLARKE_NONLINEAR], 0, 1);
    if (!p->given[k])
      mpq_set(f->in[k - CLARKE_NONLINEAR], term);
  }
  mpq_clear(term);
}

static bool
affine_is_zero(const affine *f)
{
  return mpq_sgn(f->constant) == 0 && mpq_sgn(f->in[0]) == 0 && mpq_sgn(f->in[1]) == 0;
}

/* Is a = q b for a number q? Then it is that; b is not 0. */
static bool
is_multiple(mpq_t q, const affine *a, const affine *b)
{
  const mpq_t *const x[3] = {&a->constant, &a->in[0], &a->in[1]}, *const y[3] = {&b->constant, &b->in[0], &b->in[1]};
  bool is = true;
  mpq_t product;

  for (int k = 0; k < 3; k++)
    if (mpq_sgn(*y[k]) != 0)
      mpq_div(q, *x[k], *y[k]);
  mpq_init(product);
  for (int k = 0; k < 3; k++) {
    mpq_mul(product, q, *y[k]);
    is = is && mpq_equal(product, *x[k]);
  }
  mpq_clear(product);
  return is;
}

/* Divides both by the greatest common divisor of their coefficients, made whole. */
static void
lowest_terms(affine *a, affine *b)
{
  mpq_t *const all[6] = {&a->constant, &a->in[0], &a->in[1], &b->constant, &b->in[0], &b->in[1]};
  mpz_t divisor, multiple;
  mpq_t by;

  mpz_inits(divisor, multiple, NULL);
  mpz_set_ui(multiple, 1);
  mpq_init(by);
  for (int k = 0; k < 6; k++)
    mpz_lcm(multiple, multiple, mpq_denref(*all[k]));
  mpq_set_z(by, multiple);
  for (int k = 0; k < 6; k++) {
    mpq_mul(*all[k], *all[k], by);
    mpz_gcd(divisor, divisor, mpq_numref(*all[k]));
  }
  mpq_set_z(by, divisor);
  for (int k = 0; k < 6 && mpq_sgn(by) != 0; k++)
    mpq_div(*all[k], *all[k], by);
  mpq_clear(by);
  mpz_clears(divisor, multiple, NULL);
}

static void
put_rational(FILE *out, const mpq_t q)
{
  gmp_fprintf(out, "%Qd", q);
}

static void
put_affine(FILE *out, const affine *f)
{
  bool first = mpq_sgn(f->constant) == 0 && !affine_is_zero(f);

  if (!first)
    put_rational(out, f->constant);
  for (int k = 0; k < 2; k++) {
    if (mpq_sgn(f->in[k]) == 0)
      continue;
    fputs(first ? "" : " + ", out);
    first = false;
    if (mpq_cmp_ui(f->in[k], 1, 1) != 0) {
      put_rational(out, f->in[k]);
      fputc(' ', out);
    }
    fputs(letter[k], out);
  }
}

static bool
is_bare(const affine *f)
{
  const bool none[2] = {mpq_sgn(f->in[0]) == 0, mpq_sgn(f->in[1]) == 0};

  if (mpq_sgn(f->constant) != 0 || (none[0] && none[1]))
    return none[0] && none[1];
  return (none[0] && mpq_cmp_ui(f->in[1], 1, 1) == 0) || (none[1] && mpq_cmp_ui(f->in[0], 1, 1) == 0);
}

static void
put_in_parentheses(FILE *out, const affine *f)
{
  const bool alone = is_bare(f);

  fputs(alone ? "" : "(", out);
  put_affine(out, f);
  fputs(alone ? "" : ")", out);
}

/* The text that was written, or NULL. */
static char *
taken(clarke_text *t)
{
  char *copy = clarke_text_close(t, CLARKE_OK, NULL) == CLARKE_OK ? strdup(t->text) : NULL;

  clarke_text_clear(t);
  return copy;
}

char *
clarke_amount_text(const clarke_amount *a, const clarke_prices *p)
{
  clarke_text t;
  affine f;

  if (clarke_text_open(&t, NULL) != CLARKE_OK)
    return NULL;
  affine_init(&f);
  affine_set(&f, a, p);
  put_affine(t.to, &f);
  affine_clear(&f);
  return taken(&t);
}

static void
put_ratio(FILE *out, affine *above, affine *below)
{
  mpq_t q;

  if (affine_is_zero(below)) {
    fputs(affine_is_zero(above) ? "0" : "unbounded", out);
    return;
  }
  mpq_init(q);
  if (is_multiple(q, above, below))
    put_rational(out, q);
  else {
    lowest_terms(above, below);
    put_in_parentheses(out, above);
    fputs(" / ", out);
    put_in_parentheses(out, below);
  }
  mpq_clear(q);
}

char *
clarke_amount_ratio_text(const clarke_amount *above, const clarke_amount *below, const clarke_prices *p)
{
  clarke_text t;
  affine a, b;

  if (clarke_text_open(&t, NULL) != CLARKE_OK)
    return NULL;
  affine_init(&a);
  affine_init(&b);
  affine_set(&a, above, p);
  affine_set(&b, below, p);
  put_ratio(t.to, &a, &b);
  affine_clear(&a);
  affine_clear(&b);
  return taken(&t);
}

void
clarke_amount_price(mpq_t cost, const clarke_amount *a, const clarke_prices *p)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(cost, 0, 1);
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++) {
    mpq_set_z(term, a->of[k]);
    mpq_mul(term, term, p->of[k]);
    mpq_add(cost, cost, term);
  }
  mpq_clear(term);
}

bool
clarke_amount_ratio(mpq_t ratio, const clarke_amount *above, const clarke_amount *below, const clarke_prices *p)
{
  mpq_t divisor;
  bool is;

  mpq_init(divisor);
  clarke_amount_price(divisor, below, p);
  clarke_amount_price(ratio, above, p);
  is = mpq_sgn(divisor) != 0;
  if (is)
    mpq_div(ratio, ratio, divisor);
  mpq_clear(divisor);
  return is;
}

char *
clarke_price_text(const mpq_t q)
{
  clarke_text t;

  if (clarke_text_open(&t, NULL) != CLARKE_OK)
    return NULL;
  put_rational(t.to, q);
  return taken(&t);
}
