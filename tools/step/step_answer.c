/* What is said of a recorded optimizer's step. */
#include "step_run_inside.h"

#include "command.h"
#include "session/json.h"
#include "summary.h"
#include "trace/certify/certificate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_run_add(clarke_run *r, const clarke_step_parameter *p)
{
  const clarke_step_finding *f = &p->finding;
  const bool worse = f->wrong > 0 ? r->sum.wrong == 0 : f->open > 0 && r->sum.wrong + r->sum.open == 0;

  r->ways = r->n > 0 && p == r->parameter ? f->ways : r->ways & f->ways;
  if (worse)
    r->first = p;
  if (p->miscounted != NULL && r->miscounted == NULL)
    r->miscounted = p;
  if (p->stray != NULL && r->stray == NULL)
    r->stray = p;
  if (r->wide == NULL && clarke_step_is_wide(f, &r->wide_slot))
    r->wide = p;
  r->sum.bits += f->bits;
  r->sum.within += f->within;
  r->sum.wrong += f->wrong;
  r->sum.open += f->open;
  r->sum.bound[0] = fmax(r->sum.bound[0], f->bound[0]);
  r->sum.moved[0] = fmax(r->sum.moved[0], f->moved[0]);
}

/* --- in words ------------------------------------------------------------------------------------------------ */

static const char *
name_of(clarke_step_answer answer)
{
  static const char *const names[] = {
    [CLARKE_STEP_BITS] = "the rule's, bit for bit", [CLARKE_STEP_WITHIN] = "the rule's, within the bound",
    [CLARKE_STEP_WRONG] = "not the rule's", [CLARKE_STEP_OPEN] = "undecided", [CLARKE_STEP_WIDE] = "undecided", [CLARKE_STEP_STRAY] = "undecided",
    [CLARKE_STEP_SKIPPED] = "skipped", [CLARKE_STEP_ABSENT] = "", [CLARKE_STEP_NONE] = "no step", [CLARKE_STEP_MISSING] = "undecided",
    [CLARKE_STEP_UNKNOWN] = "undecided"};

  return names[answer];
}

static bool
is_good(clarke_step_answer answer)
{
  return answer == CLARKE_STEP_BITS || answer == CLARKE_STEP_WITHIN;
}

/* Do the gradients that the optimizer was given come of those that were recorded? */
static bool
is_given(const clarke_run *r)
{
  return r->given.is != CLARKE_GIVEN_OTHER && !r->given.moved && r->given.unrecorded == 0;
}

int
clarke_run_status(const clarke_run *r)
{
  if (r->answer == CLARKE_STEP_WRONG)
    return EXIT_FAILS;
  return r->answer == CLARKE_STEP_SKIPPED || (is_good(r->answer) && is_given(r)) ? EXIT_HOLDS : EXIT_UNDECIDED;
}

static void
put_wide(char *text, size_t size, const clarke_run *r)
{
  const clarke_step_finding *f = &r->wide->finding;
  const int i = 1 + r->wide_slot;

  snprintf(text, size, "%s: the bound on rounding%s%s, %.3g, is not small beside the largest step%s, %.3g: a wrong step could pass", r->wide->name,
           i > 0 ? " of " : "", i > 0 ? clarke_slot_names[r->wide_slot] : "", f->bound[i], i > 0 ? " of it" : "", f->moved[i]);
}

static void
put_why(char *text, size_t size, const clarke_run *r)
{
  const clarke_run_update *u = &r->record.step->update;

  *text = '\0';
  if (*r->why != '\0')
    snprintf(text, size, "%s", r->why);
  else if (r->answer == CLARKE_STEP_OPEN && r->rule->whole != NULL)
    snprintf(text, size, "%zu numbers have no finite bound, or are not PyTorch's of a CPU, and may be those of a library that rounds sums and products otherwise",
             r->sum.open);
  else if (r->answer == CLARKE_STEP_OPEN)
    snprintf(text, size, "%zu entries have no finite bound: a root may be 0", r->sum.open);
  else if (r->answer == CLARKE_STEP_WIDE)
    put_wide(text, size, r);
  else if (r->answer == CLARKE_STEP_STRAY)
    snprintf(text, size, "%s: '%s' before the step, %g, is not that of %zu steps with these settings", r->stray->name,
             r->stray->stray, r->stray->counted[0], r->stray->k);
  else if (r->answer == CLARKE_STEP_SKIPPED && u->skipped != NULL)
    snprintf(text, size, "%s; the gradient is not finite: %s", u->skipped, r->record.why);
  else if (r->answer == CLARKE_STEP_SKIPPED)
    snprintf(text, size, "the optimizer was told of infinite gradients, and changed nothing");
  else if (r->answer == CLARKE_STEP_NONE)
    snprintf(text, size, "%s", u->skipped);
  else if (r->answer == CLARKE_STEP_MISSING)
    snprintf(text, size, "%s", u->missing != NULL ? u->missing : "the file of the state is not there");
  else if (r->answer == CLARKE_STEP_UNKNOWN && r->unknown != NULL)
    snprintf(text, size, "no rule here has the setting %s", r->unknown);
  else if (r->answer == CLARKE_STEP_UNKNOWN && r->coarse != NULL)
    snprintf(text, size, "'%s' is kept in a tensor of a short type, and PyTorch rounds in it what all entries share: no bound is known for that",
             r->coarse);
  else if (r->answer == CLARKE_STEP_UNKNOWN)
    snprintf(text, size, "no rule is known for %s of %s; --rule says which is meant", u->optimizer,
             u->module != NULL ? u->module : "another package");
  else if (r->answer == CLARKE_STEP_WRONG && r->miscounted != NULL && r->sum.wrong == 0)
    snprintf(text, size, "%s: '%s' goes from %g to %g", r->miscounted->name, r->miscounted->miscounted, r->miscounted->counted[0],
             r->miscounted->counted[1]);
  else if (r->answer == CLARKE_STEP_WRONG && r->first == NULL)
    snprintf(text, size, "the optimizer was told of infinite gradients, and changed something");
}

static void
put_given(char *text, size_t size, const clarke_run *r)
{
  const clarke_given_finding *g = &r->given;
  char of[96] = "the recorded one";

  if (g->summed > 0)
    snprintf(of, sizeof of, "the sum of %zu recorded ones, of steps %zu to %zu", g->summed, g->from, r->record.step->step);
  if (r->record.step->update.averages && g->is == CLARKE_GIVEN_RECORDED)
    snprintf(text, size, "the parameters that the step left behind");
  else if (r->record.step->update.averages)
    snprintf(text, size, "not the parameters that the recorded step left behind: %s is another", g->first);
  else if (g->moved)
    snprintf(text, size, "%s was changed between the backward pass and the step", g->first);
  else if (g->unrecorded > 0)
    snprintf(text, size, "of %zu parameters that were stepped %zu have no recorded gradient", g->parameters, g->unrecorded);
  else if (g->is == CLARKE_GIVEN_RECORDED)
    snprintf(text, size, "%s", of);
  else if (g->is == CLARKE_GIVEN_MULTIPLE)
    snprintf(text, size, "one factor times %s, within rounding: from %.9g to %.9g (unscaled, or clipped by its norm)", of, g->low, g->high);
  else if (g->is == CLARKE_GIVEN_CLAMPED)
    snprintf(text, size, "%s, cut at %.9g", of, g->high);
  else
    snprintf(text, size, "not made of the recorded ones (backward passes that were not recorded, or it was changed)");
}

/* The part of the first entry that is another. */
static const char *
first_slot(const clarke_run *r)
{
  const int slot = r->first->finding.slot;

  return r->first_slot != NULL ? r->first_slot : slot < 0 ? "theta" : clarke_slot_names[slot];
}

static void
put_first_index(char *text, size_t size, const clarke_run *r)
{
  const clarke_tensor *t = r->first->theta;

  clarke_put_index(text, size, t->dims, t->rank, r->first->finding.entry);
}

static void
print_first(const clarke_run *r)
{
  const clarke_step_finding *f = &r->first->finding;
  char index[256];

  put_first_index(index, sizeof index, r);
  printf("  first: %s of %s%s%s is %.17g, by the rule %s\n", first_slot(r), r->first->name, *index != '\0' ? ", entry " : "", index,
         f->recorded, f->by_rule);
}

/* The ways that explain all entries which are bit for bit: are products and sums fused? */
static void
put_fused(char *text, size_t size, const clarke_run *r)
{
  bool fused = false, apart = false;

  for (unsigned way = 0; way < CLARKE_N_WAYS; way++)
    if ((r->ways >> way & 1) != 0) {
      fused = fused || way % CLARKE_WAY_POWERS != 0;
      apart = apart || way % CLARKE_WAY_POWERS == 0;
    }
  snprintf(text, size, "%s%s", apart || fused ? "as the single-tensor program computes it" : "each as the single-tensor program computes it",
           apart   ? ""
           : fused ? ", with fused multiplications and additions"
                   : ", in ways that differ by entry");
}

static void
print_counts(const clarke_run *r)
{
  char how[128];

  put_fused(how, sizeof how, r);
  if (r->sum.bits > 0)
    printf("  %zu entries bit for bit, %s\n", r->sum.bits, how);
  if (r->sum.within > 0)
    printf("  %zu entries within %.3g, which rounding may make; the largest %s is %.3g\n", r->sum.within, r->sum.bound[0],
           r->rule->evaluates ? "entry of a direction" : "step", r->sum.moved[0]);
  if (r->sum.wrong > 0 && !r->rule->evaluates)
    printf("  %zu entries are not the rule's\n", r->sum.wrong);
}

static size_t
count_entries(const clarke_run *r)
{
  size_t entries = 0;

  for (size_t i = 0; i < r->n; i++)
    entries += r->parameter[i].tensor.n;
  return entries;
}

static void
print_text(const clarke_run *r)
{
  const clarke_run_update *u = &r->record.step->update;
  const size_t entries = count_entries(r);
  char text[512];

  printf("Step %zu: %s", r->record.step->step, u->optimizer);
  if (r->rule != NULL && r->n > 0)
    printf(" (%s), %zu group%s, %zu parameters, %zu entries, path %s", r->rule->name, u->n_groups, u->n_groups == 1 ? "" : "s", r->n, entries,
           u->group[0].path);
  puts("");
  if (r->n > 0) {
    put_given(text, sizeof text, r);
    printf("%s: %s\n", u->averages ? "Averaged" : "Gradient", text);
    if (r->given.unstepped > 0)
      printf("Not stepped: %zu parameters that have a recorded gradient\n", r->given.unstepped);
  }
  put_why(text, sizeof text, r);
  printf("%s%s%s\n", name_of(r->answer), *text != '\0' ? ": " : "", text);
  print_counts(r);
  if (r->first != NULL)
    print_first(r);
  if (*r->instead != '\0')
    printf("  all entries are those of: %s\n", r->instead);
  if (is_good(r->answer) && !is_given(r))
    printf("undecided: the step is the rule's for %s, which does not follow from the record\n",
           u->averages ? "the parameters that were averaged" : "the gradient that the optimizer was given");
}

/* --- three lines in front -------------------------------------------------------------------------------------- */

static void
put_asked(FILE *to, const clarke_run *r)
{
  fprintf(to, "Did the %s do what its rule says? Step %zu, %s",
          r->record.step->update.averages ? "recorded average of parameters" : "optimizer's recorded step", r->record.step->step,
          r->record.step->update.optimizer);
  if (r->n > 0) {
    fputs(", ", to);
    clarke_put_count(to, r->n, "parameter");
    fprintf(to, ", %zu entries", count_entries(r));
  }
  fputc('.', to);
}

static void
put_wrong(FILE *to, const clarke_run *r, const char *why)
{
  if (r->sum.wrong > 0)
    fprintf(to, "No: %zu of %zu entries are not what the rule makes of them (%s).", r->sum.wrong, count_entries(r), name_of(r->answer));
  else
    fprintf(to, "No: %s (%s).", why, name_of(r->answer));
  if (*r->instead != '\0')
    fprintf(to, " All entries are those of another: %s.", r->instead);
}

static void
put_answer(FILE *to, const clarke_run *r)
{
  char why[512];

  put_why(why, sizeof why, r);
  if (r->answer == CLARKE_STEP_WRONG)
    put_wrong(to, r, why);
  else if (is_good(r->answer) && !is_given(r))
    fprintf(to, "Not decided: the step is the rule's for %s not follow from the record (undecided).",
            r->record.step->update.averages ? "the parameters that were averaged, and those do"
                                            : "the gradient that the optimizer was given, and that one does");
  else if (is_good(r->answer))
    fprintf(to, "Yes: every entry is what the rule makes of it, %s (%s).", r->answer == CLARKE_STEP_BITS ? "bit for bit" : "but for rounding",
            name_of(r->answer));
  else if (r->answer == CLARKE_STEP_SKIPPED)
    fprintf(to, "Yes: the step was left out, as it is to be (skipped). Why: %s.", why);
  else
    fprintf(to, "Not decided: %s (%s).", why, name_of(r->answer));
}

static const char *
what_next(const clarke_run *r, bool proved)
{
  if (r->answer == CLARKE_STEP_WRONG)
    return "Look at the first entry below, and at the optimizer's settings; --rule NAME asks about another rule of clarke step list.";
  if (r->answer == CLARKE_STEP_UNKNOWN)
    return "Say by --rule NAME which rule is meant; clarke step list has all.";
  if (r->answer == CLARKE_STEP_NONE || r->answer == CLARKE_STEP_MISSING)
    return "Record the step with optimizer=optimizer, and call optimizer.step() behind its backward pass.";
  if (is_good(r->answer) && !is_given(r) && r->record.step->update.averages)
    return "Average right behind the recorded optimizers' steps, before anything else changes the parameters.";
  if (is_good(r->answer) && !is_given(r))
    return "Record each backward pass whose gradient the optimizer is given.";
  if (clarke_run_status(r) != EXIT_HOLDS)
    return "The reason is below.";
  if (proved || r->answer == CLARKE_STEP_SKIPPED || (r->rule != NULL && r->rule->evaluates))
    return "Nothing needs doing.";
  return "Nothing needs doing; --proof FILE writes a proof for clarke-check.";
}

/* Ended. */
static clarke_status
summarize(clarke_summary *s, const clarke_run *r, const char *proof, clarke_error *err)
{
  const clarke_status status = clarke_summary_begin(s, err);

  if (status != CLARKE_OK)
    return status;
  put_asked(s->asked.to, r);
  put_answer(s->answer.to, r);
  if (proof != NULL)
    clarke_put_proof(s->next.to, proof);
  fputs(what_next(r, proof != NULL), s->next.to);
  return clarke_summary_end(s, status, err);
}

/* --- JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *
first_json(const clarke_run *r)
{
  const clarke_step_finding *f;
  char index[256], recorded[40];

  if (r->first == NULL)
    return json_null();
  f = &r->first->finding;
  put_first_index(index, sizeof index, r);
  snprintf(recorded, sizeof recorded, "%.17g", f->recorded);
  return json_pack("{s:o, s:s, s:I, s:s, s:s, s:s}", "parameter", clarke_json_text(r->first->name), "slot", first_slot(r), "entry",
                   (json_int_t)f->entry, "index", index, "recorded", recorded, "by_rule", f->by_rule);
}

static json_t *
given_json(const clarke_run *r)
{
  static const char *const kinds[] = {"recorded", "multiple", "clamped", "other"};
  json_t *j = json_object();
  char text[512];

  put_given(text, sizeof text, r);
  clarke_json_set(&j, "is", json_string(kinds[r->given.is]));
  clarke_json_set(&j, "follows", json_boolean(is_given(r)));
  clarke_json_set(&j, "why", clarke_json_text(text));
  clarke_json_set(&j, "sum_of", json_integer((json_int_t)(r->given.summed > 0 ? r->given.summed : 1)));
  clarke_json_set(&j, "unstepped", json_integer((json_int_t)r->given.unstepped));
  if (r->given.is == CLARKE_GIVEN_MULTIPLE)
    clarke_json_set(&j, "factor", json_pack("[f, f]", r->given.low, r->given.high));
  return j;
}

static json_t *
answer_json(const clarke_run *r)
{
  const clarke_run_update *u = &r->record.step->update;
  json_t *j = json_object();
  char text[512];

  put_why(text, sizeof text, r);
  clarke_json_set(&j, "answer", json_string(name_of(r->answer)));
  clarke_json_set(&j, "why", clarke_json_text(text));
  clarke_json_set(&j, "holds", clarke_run_status(r) == EXIT_UNDECIDED ? json_null() : json_boolean(clarke_run_status(r) == EXIT_HOLDS));
  clarke_json_set(&j, "step", json_integer((json_int_t)r->record.step->step));
  clarke_json_set(&j, "optimizer", clarke_json_text(u->optimizer));
  clarke_json_set(&j, "rule", r->rule != NULL ? json_string(r->rule->name) : json_null());
  clarke_json_set(&j, "gradient", r->n > 0 ? given_json(r) : json_null());
  clarke_json_set(&j, "path", u->n_groups > 0 ? clarke_json_text(u->group[0].path) : json_null());
  clarke_json_set(&j, "bits", json_integer((json_int_t)r->sum.bits));
  clarke_json_set(&j, "within", json_integer((json_int_t)r->sum.within));
  clarke_json_set(&j, "wrong", json_integer((json_int_t)r->sum.wrong));
  clarke_json_set(&j, "open", json_integer((json_int_t)r->sum.open));
  clarke_json_set(&j, "bound", isfinite(r->sum.bound[0]) ? json_real(r->sum.bound[0]) : json_null());
  clarke_json_set(&j, "largest_step", isfinite(r->sum.moved[0]) ? json_real(r->sum.moved[0]) : json_null());
  clarke_json_set(&j, "first", first_json(r));
  clarke_json_set(&j, "instead", *r->instead != '\0' ? json_string(r->instead) : json_null());
  return j;
}

clarke_status
clarke_run_print(json_t **list, const clarke_run *r, bool json, const char *proof, clarke_error *err)
{
  clarke_summary s = {0};
  const clarke_status status = summarize(&s, r, proof, err);
  json_t *answer;

  if (status == CLARKE_OK && json) {
    answer = answer_json(r);
    clarke_summary_set(&answer, &s, true);
    clarke_json_append(list, answer);
  } else if (status == CLARKE_OK) {
    clarke_summary_print(&s);
    print_text(r);
  }
  clarke_summary_clear(&s);
  return status;
}

clarke_status
clarke_run_print_all(json_t *list, size_t step, int status, clarke_error *err)
{
  json_t *j;

  if (json_array_size(list) == 1)
    return clarke_json_print(stdout, json_incref(json_array_get(list, 0)), JSON_INDENT(2), "\n", err);
  j = json_object();
  clarke_json_set(&j, "step", json_integer((json_int_t)step));
  clarke_json_set(&j, "holds", status == EXIT_UNDECIDED ? json_null() : json_boolean(status == EXIT_HOLDS));
  clarke_json_set(&j, "optimizers", json_incref(list));
  return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
}
