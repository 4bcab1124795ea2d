/* Proofs of recorded steps (docs/proof-format.md, "Recorded steps of optimizers"): how far each tensor is from the exact rule. */
#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/text.h"
#include "step_proof.h"
#include "step_run_inside.h"

#include <math.h>
#include <string.h>

/* Settings and question of a parameter, without a program: what the proof's lines are made of. */
static clarke_status
ask(clarke_step_settings *s, clarke_step_question *q, const clarke_run *r, const clarke_step_parameter *p, clarke_error *err)
{
  clarke_single single;
  clarke_status status = clarke_run_settings(s, r->rule, r, p, err);

  if (status != CLARKE_OK)
    return status;
  clarke_run_question(q, &single, s, r, p);
  clarke_run_decay_step(s, p->k);
  q->single = NULL;
  return status;
}

/* A decimal number of two digits that is no less than d (and a little more, if d is not 0). */
static void
put_above(FILE *out, double d)
{
  mpq_t q, ten;
  mpz_t digits;
  long places = 0;

  mpq_inits(q, ten, NULL);
  mpz_init(digits);
  mpq_set_d(q, d * (1 + 0x1p-40));
  mpq_set_ui(ten, 10, 1);
  for (; d != 0 && mpq_cmp_ui(q, 100, 1) >= 0; places--)
    mpq_div(q, q, ten);
  for (; d != 0 && mpq_cmp_ui(q, 10, 1) < 0; places++)
    mpq_mul(q, q, ten);
  mpz_cdiv_q(digits, mpq_numref(q), mpq_denref(q));
  mpq_set_z(q, digits);
  for (; places > 0; places--)
    mpq_div(q, q, ten);
  for (; places < 0; places++)
    mpq_mul(q, q, ten);
  fputs(" ", out);
  mpq_out_str(out, 10, q);
  mpq_clears(q, ten, NULL);
  mpz_clear(digits);
}

/* A proof would say nothing where a wrong state could be as near. */
static clarke_status
check_small(const clarke_step_parameter *p, const double far[1 + CLARKE_N_SLOTS], clarke_error *err)
{
  for (int s = -1; s < CLARKE_N_SLOTS; s++)
    if (!isfinite(far[1 + s]) || far[1 + s] * 5 > p->finding.moved[1 + s])
      return clarke_fail(err, CLARKE_EINPUT, "--proof: %s: %s is %.3g from the exact rule's, and moved by %.3g: rounding is too large beside that, so that a "
                                             "proof would show nothing", p->name, s < 0 ? "theta" : clarke_slot_names[s], far[1 + s],
                         p->finding.moved[1 + s]);
  return CLARKE_OK;
}

static clarke_status
put_parameter(FILE *out, const clarke_run *r, const clarke_step_parameter *p, clarke_error *err)
{
  double far[1 + CLARKE_N_SLOTS];
  clarke_step_settings s;
  clarke_step_question q;
  clarke_status status;

  clarke_step_settings_init(&s);
  status = ask(&s, &q, r, p, err);
  if (status == CLARKE_OK)
    status = clarke_step_proof_check(&p->tensor.shape, s.rule, &s.hypers, err);
  if (status == CLARKE_OK)
    status = clarke_step_distances(far, &q, &p->tensor, err);
  if (status == CLARKE_OK)
    status = check_small(p, far, err);
  if (status == CLARKE_OK) {
    fputs("parameter ", out);
    clarke_proof_put_name(out, p->name);
    fprintf(out, " %zu", p->k);
    for (int slot = -1; slot < CLARKE_N_SLOTS; slot++)
      if (slot < 0 || p->tensor.slot[1][slot] != NULL)
        put_above(out, far[1 + slot]);
    fputs("\n", out);
  }
  clarke_step_settings_clear(&s);
  return status;
}

/* The next parameters that share their numbers: one group's, after as many steps. */
static size_t
group_at(const clarke_run *r, size_t from)
{
  size_t n = 1;

  while (from + n < r->n && r->parameter[from + n].group == r->parameter[from].group && r->parameter[from + n].k == r->parameter[from].k)
    n++;
  return n;
}

static clarke_status
put_group(FILE *out, const clarke_run *r, size_t from, size_t n, clarke_error *err)
{
  clarke_step_settings s;
  clarke_step_question q;
  clarke_status status;

  clarke_step_settings_init(&s);
  status = ask(&s, &q, r, &r->parameter[from], err);
  if (status == CLARKE_OK) {
    fprintf(out, "group %zu\n", n);
    clarke_step_proof_settings(out, s.rule, &s.hypers);
    fprintf(out, "direction %s\n", s.maximize ? "up" : "down");
  }
  clarke_step_settings_clear(&s);
  for (size_t i = from; i < from + n && status == CLARKE_OK; i++)
    status = put_parameter(out, r, &r->parameter[i], err);
  return status;
}

/* Are the rule and all its numbers those that run.json has? Then a checker compares them. Not of a rule that was asked about instead. */
static bool
is_told(const clarke_run *r)
{
  const clarke_run_update *u = &r->record.step->update;
  bool told = clarke_step_rule_of(u) == r->rule;

  for (size_t g = 0; g < u->n_groups && told; g++) {
    clarke_step_settings s;

    clarke_step_settings_init(&s);
    told = clarke_step_settings_read(&s, r->rule, &u->group[g], clarke_run_first_type(r, g), NULL) == CLARKE_OK && s.whole;
    clarke_step_settings_clear(&s);
  }
  return told;
}

static clarke_status
put_all(FILE *out, const clarke_run *r, clarke_error *err)
{
  const clarke_run_step *step = r->record.step;
  clarke_status status = CLARKE_OK;
  size_t groups = 0;

  fputs("clarke-proof 1\nclaim stepped\n", out);
  clarke_proof_put_file(out, "optimizer", step->optimizer.name, step->optimizer.sha256);
  if (!step->update.averages && r->given.is == CLARKE_GIVEN_RECORDED && r->given.unrecorded == 0 && r->given.summed == 0)
    clarke_proof_put_file(out, "gradients", step->gradients.name, step->gradients.sha256);
  fputs("scale ", out);
  if (step->update.scaled)
    mpq_out_str(out, 10, step->update.scale);
  else
    fputs("1", out);
  fputs(is_told(r) ? "\nsettings run.json" : "", out);
  for (size_t i = 0; i < r->n; i += group_at(r, i))
    groups++;
  fprintf(out, "\nrule %s\ngroups %zu\n", r->rule->name, groups);
  for (size_t i = 0; i < r->n && status == CLARKE_OK; i += group_at(r, i))
    status = put_group(out, r, i, group_at(r, i), err);
  return status;
}

clarke_status
clarke_run_prove(const clarke_run *r, const char *path, clarke_error *err)
{
  clarke_text t;
  clarke_status status;

  if (r->answer != CLARKE_STEP_BITS && r->answer != CLARKE_STEP_WITHIN)
    return CLARKE_OK; /* the report says why */
  status = clarke_text_open(&t, err);
  return status == CLARKE_OK ? clarke_proof_save(&t, put_all(t.to, r, err), path, err) : status;
}
