#include <stdio.h> /* before gmp.h, for its printing */

#include "step_proof.h"

#include <string.h>

#define MOST_STEPS 10000 /* of clarke-check (docs/proof-format.md) */
#define MOST_PRODUCTS 16000000
#define MOST_ENTRIES 65536

/* The numbers in the order of a proof. */
static const clarke_hyper order[] = {CLARKE_HYPER_STEP, CLARKE_HYPER_ALPHA, CLARKE_HYPER_BETA, CLARKE_HYPER_SIGMA, CLARKE_HYPER_MOMENTUM,
                                     CLARKE_HYPER_EPS, CLARKE_HYPER_DECAY, CLARKE_HYPER_DAMPENING, CLARKE_HYPER_MOMENTUM_DECAY, CLARKE_HYPER_LAMBD,
                                     CLARKE_HYPER_T0, CLARKE_HYPER_ETA_MINUS, CLARKE_HYPER_ETA_PLUS, CLARKE_HYPER_SIZE_MIN, CLARKE_HYPER_SIZE_MAX,
                                     CLARKE_HYPER_BETA2_DECAY, CLARKE_HYPER_EPS2, CLARKE_HYPER_CLIP, CLARKE_HYPER_NS_A, CLARKE_HYPER_NS_B,
                                     CLARKE_HYPER_NS_C, CLARKE_HYPER_NS_STEPS, CLARKE_HYPER_MAX_ITER, CLARKE_HYPER_MAX_EVAL,
                                     CLARKE_HYPER_TOLERANCE_GRAD, CLARKE_HYPER_TOLERANCE_CHANGE, CLARKE_HYPER_HISTORY_SIZE};

static clarke_status
check_provable(const clarke_step_state *s, size_t n_gradients, clarke_error *err)
{
  const clarke_status status = clarke_step_proof_length(s->n, s->k, n_gradients, err);

  return status == CLARKE_OK ? clarke_step_proof_check(s->shape, s->rule, s->hypers, err) : status;
}

clarke_status
clarke_step_proof_length(size_t n, size_t k, size_t n_gradients, clarke_error *err)
{
  if (k + n_gradients > MOST_STEPS)
    return clarke_fail(err, CLARKE_EINPUT, "--proof: %zu steps in all; clarke-check takes %d", k + n_gradients, MOST_STEPS);
  if (n > MOST_ENTRIES)
    return clarke_fail(err, CLARKE_EINPUT, "--proof: %zu entries; clarke-check takes %d", n, MOST_ENTRIES);
  return CLARKE_OK;
}

clarke_status
clarke_step_proof_check(const clarke_step_shape *s, const clarke_rule *rule, const clarke_hypers *h, clarke_error *err)
{
  const size_t least = s->rows < s->cols ? s->rows : s->cols;

  if (rule->whole == NULL || rule->slot[CLARKE_SLOT_ROW])
    return CLARKE_OK;
  if (s->n > MOST_ENTRIES || 3 * s->n * least * mpz_get_ui(mpq_numref(h->of[CLARKE_HYPER_NS_STEPS])) > MOST_PRODUCTS)
    return clarke_fail(err, CLARKE_EINPUT, "--proof: a matrix of %zu x %zu: clarke-check takes %d entries, and %d products of numbers in all iterations", s->rows,
                       s->cols, MOST_ENTRIES, MOST_PRODUCTS);
  return CLARKE_OK;
}

static void
put_word(FILE *out, const char *keyword, bool is, const char *first, const char *second)
{
  fprintf(out, "%s %s\n", keyword, is ? first : second);
}

void
clarke_step_proof_settings(FILE *out, const clarke_rule *rule, const clarke_hypers *h)
{
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    if (!clarke_rule_takes(rule, order[i]))
      continue;
    fprintf(out, "number %s ", clarke_hyper_name(order[i]));
    mpq_out_str(out, 10, h->of[order[i]]);
    fputs("\n", out);
  }
  put_word(out, "decay", h->decay == CLARKE_DECAY_COUPLED, "coupled", "decoupled");
  if (rule->slot[CLARKE_SLOT_V] && rule->whole == NULL)
    put_word(out, "root", h->place == CLARKE_EPS_INSIDE && !h->preconditioned, "inside", h->preconditioned ? "given" : "outside");
  if (clarke_rule_takes(rule, CLARKE_HYPER_DAMPENING) || clarke_rule_takes(rule, CLARKE_HYPER_NS_STEPS))
    put_word(out, "nesterov", h->nesterov, "yes", "no");
  if (clarke_rule_takes(rule, CLARKE_HYPER_NS_STEPS))
    put_word(out, "adjust", h->matches, "match_rms_adamw", "original");
  if (strcmp(rule->name, "nag") == 0)
    put_word(out, "mu", clarke_rule_grows(rule, h), "grows", "fixed");
}

/* slot -1: theta */
static const clarke_number *
number_at(const clarke_step_state *s, int slot, size_t i)
{
  return slot < 0 ? &s->entry[i].theta : &s->entry[i].slot[slot];
}

/* An end of a ball, of so many bits that a checker finds it: a little outside. */
static void
put_end(FILE *out, const clarke_number *x, bool up)
{
  arb_t wide, share;
  arf_t end;
  fmpz_t digits, exponent;
  mpq_t q;

  arb_init(wide);
  arb_init(share);
  arf_init(end);
  fmpz_init(digits);
  fmpz_init(exponent);
  mpq_init(q);
  arb_mul_2exp_si(share, x->b, -80);
  arb_set(wide, x->b);
  arb_add_error(wide, share);
  arb_add_error_2exp_si(wide, -200);
  (up ? arb_get_ubound_arf : arb_get_lbound_arf)(end, wide, 96);
  arf_get_fmpz_2exp(digits, exponent, end);
  fmpz_get_mpz(mpq_numref(q), digits);
  if (fmpz_sgn(exponent) < 0)
    mpq_div_2exp(q, q, (mp_bitcnt_t)(-fmpz_get_si(exponent)));
  else
    mpq_mul_2exp(q, q, fmpz_get_ui(exponent));
  mpq_out_str(out, 10, q);
  mpq_clear(q);
  fmpz_clear(digits);
  fmpz_clear(exponent);
  arf_clear(end);
  arb_clear(wide);
  arb_clear(share);
}

void
clarke_step_proof_bounds(FILE *out, const clarke_number *x)
{
  for (int up = 0; up < 2; up++) {
    fputs(" ", out);
    if (x->exact)
      mpq_out_str(out, 10, x->q);
    else
      put_end(out, x, up == 1);
  }
}

/* bounds: two numbers an entry, else one. */
static void
put_state(FILE *out, const clarke_step_state *s, bool bounds)
{
  for (int slot = -1; slot < CLARKE_N_SLOTS; slot++) {
    if (!clarke_rule_has(s->rule, s->hypers, slot) || !clarke_shape_has(s->shape, s->rule, slot))
      continue;
    fputs(slot < 0 ? "theta" : clarke_slot_names[slot], out);
    for (size_t i = 0; i < clarke_shape_count(s->shape, slot); i++)
      if (bounds)
        clarke_step_proof_bounds(out, number_at(s, slot, i));
      else {
        fputs(" ", out);
        mpq_out_str(out, 10, number_at(s, slot, i)->q);
      }
    fputs("\n", out);
  }
}

clarke_status
clarke_step_proof_begin(clarke_text *t, const clarke_step_state *s, size_t n_gradients, clarke_error *err)
{
  clarke_status status = check_provable(s, n_gradients, err);

  if (status == CLARKE_OK)
    status = clarke_text_open(t, err);
  if (status != CLARKE_OK)
    return status;
  fprintf(t->to, "clarke-proof 1\nclaim update\nrule %s\n", s->rule->name);
  clarke_step_proof_settings(t->to, s->rule, s->hypers);
  fprintf(t->to, "entries %zu\n", s->n);
  if (s->rule->whole != NULL)
    fprintf(t->to, "matrices %zu %zu %zu\n", s->shape->rank < 2 ? 0 : s->shape->batches, s->shape->rows, s->shape->cols);
  fprintf(t->to, "before %zu\n", s->k);
  put_state(t->to, s, false);
  fprintf(t->to, "gradients %zu\n", n_gradients);
  return CLARKE_OK;
}

void
clarke_step_proof_gradient(clarke_text *t, const clarke_number *g, size_t n)
{
  fputs("gradient", t->to);
  for (size_t i = 0; i < n; i++) {
    fputs(" ", t->to);
    mpq_out_str(t->to, 10, g[i].q);
  }
  fputs("\n", t->to);
}

clarke_status
clarke_step_proof_save(clarke_text *t, const clarke_step_state *s, clarke_status status, const char *path, clarke_error *err)
{
  if (t->to == NULL)
    return status;
  if (status == CLARKE_OK) {
    fprintf(t->to, "after %zu\n", s->k);
    put_state(t->to, s, true);
  }
  return clarke_proof_save(t, status, path, err);
}
