/* The patterns around a point where what varies multiplies, printed when all are found (patterns_around.h). */
#include <stdio.h> /* before flint.h */

#include "patterns_around.h"
#include "check_needs.h"
#include "base/stop.h"
#include "base/text.h"
#include "patterns_list.h"
#include "patterns_text.h"
#include "region/forms.h"
#include "session/around.h"
#include "watch.h"

#include <stdlib.h>

typedef struct {
  const clarke_regions_command *command;
  const clarke_region_function *function;
  clarke_around found;
  size_t told, gradients;
  clarke_patterns_list list;
} answer;

/* As of regions: each kink's piece as a digit, a maximum's winner as a letter; a point where no side is chosen. */
static void
put_pattern(const answer *a)
{
  for (size_t i = 0; i < a->found.p->n; i++) {
    const clarke_do kind = a->found.p->instruction[i].kind;

    if (!a->found.needed[i] || (kind != CLARKE_DO_PIECEWISE && kind != CLARKE_DO_ORDER))
      continue;
    clarke_patterns_put_choice(a->list.to, kind, clarke_around_choice(&a->found, i));
  }
}

/* Where nothing parts, every direction stays in the pattern. */
static void
put_any_direction(const answer *a)
{
  for (size_t k = 0; k < a->found.patterns.width; k++)
    fprintf(a->list.to, a->command->json ? "%s\"%d\"" : "%s%d", k == 0 ? "" : a->command->json ? ", " : " ", k == 0);
}

static bool
is_zero(mpq_t *q, size_t n)
{
  for (size_t k = 0; k < n; k++)
    if (mpq_sgn(q[k]) != 0)
      return false;
  return true;
}

/* `along d`, or of an arc `along t (d_1) + t^3 (d_3)`; steps of zeros are left out. */
static void
put_arc(const answer *a, const clarke_pattern *p)
{
  const size_t n = a->found.patterns.width;
  size_t told = 0;

  if (p->n_directions == 0)
    put_any_direction(a);
  else if (p->first_order)
    clarke_patterns_put_row(a->list.to, p->direction[0], n, false);
  for (size_t k = 0; !p->first_order && k < p->n_directions; k++) {
    if (is_zero(p->direction[k], n))
      continue;
    fputs(told++ > 0 ? " + " : "", a->list.to);
    fprintf(a->list.to, k == 0 ? "t (" : "t^%zu (", k + 1);
    clarke_patterns_put_row(a->list.to, p->direction[k], n, false);
    putc(')', a->list.to);
  }
}

static void
put_arc_json(const answer *a, const clarke_pattern *p)
{
  const bool one = p->n_directions == 0 || p->first_order;

  fputs(one ? ", \"along\": [" : ", \"arc\": [", a->list.to);
  if (p->n_directions == 0)
    put_any_direction(a);
  else if (one)
    clarke_patterns_put_row(a->list.to, p->direction[0], a->found.patterns.width, true);
  for (size_t k = 0; !one && k < p->n_directions; k++) {
    fputs(k > 0 ? ", [" : "[", a->list.to);
    clarke_patterns_put_row(a->list.to, p->direction[k], a->found.patterns.width, true);
    putc(']', a->list.to);
  }
  putc(']', a->list.to);
}

static void
put_gradients(const answer *a, const clarke_pattern *p)
{
  const size_t n = a->found.patterns.width;
  const bool json = a->command->json;

  for (size_t o = 0; o < a->function->program.n_outputs; o++) {
    fputs(!json ? "  gradient " : o == 0 ? ", \"gradient\": [[" : ", [", a->list.to);
    for (size_t k = 0; k < n; k++) {
      fputs(k == 0 ? "" : json ? ", " : " ", a->list.to);
      clarke_patterns_put_rational(a->list.to, p->gradient[o * n + k].q, json);
    }
    fputs(json ? "]" : "", a->list.to);
  }
  fputs(json ? "]" : "", a->list.to);
}

static void
put_one(const answer *a, const clarke_pattern *p)
{
  const bool json = a->command->json;

  if (json)
    fprintf(a->list.to, "%s\n  {\"pattern\": \"", a->told > 0 ? "," : "");
  put_pattern(a);
  fputs(json ? "\"" : p->realized ? "  along " : "  undecided", a->list.to);
  if (json && !p->realized)
    fputs(", \"undecided\": true", a->list.to);
  else if (json)
    put_arc_json(a, p);
  else if (p->realized)
    put_arc(a, p);
  if (p->realized)
    put_gradients(a, p);
  fputs(json ? "}" : "\n", a->list.to);
}

/* Up to the limit of regions. Where work is told to stop, what is left is not listed, for each pattern is walked to anew. */
static clarke_status
put_all(answer *a, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < a->found.patterns.n && status == CLARKE_OK && clarke_patterns_below_limit(a->told); i++) {
    const clarke_pattern *p = &a->found.patterns.pattern[i];

    if (!a->command->count)
      status = clarke_around_show(&a->found, p, err);
    a->found.stopped = a->found.stopped || status == CLARKE_ESTOPPED;
    if (a->found.stopped)
      return CLARKE_OK;
    if (status == CLARKE_OK && !a->command->count)
      put_one(a, p);
    a->told++;
  }
  return status;
}

static bool
is_whole(const answer *a)
{
  return !a->found.stopped && a->found.patterns.tree.complete && a->told == a->found.patterns.n;
}

/* Why more patterns may be. */
static const char *
why(const answer *a)
{
  if (a->found.stopped || a->found.patterns.tree.complete)
    return clarke_patterns_why(false, a->found.stopped);
  return a->found.patterns.why;
}

static void
print_summary(const answer *a)
{
  const bool whole = is_whole(a), all = whole && a->found.undecided == 0;

  if (all && a->command->count) {
    printf("%zu\n", a->found.realized);
    return;
  }
  printf("%s%zu pattern%s around the point, %zu gradient%s", all ? "" : "at least ", a->found.realized, a->found.realized == 1 ? "" : "s",
         a->gradients, a->gradients == 1 ? "" : "s");
  if (!whole)
    printf("; undecided: %s", why(a));
  else if (!all)
    printf("; %zu undecided: neither realized nor refuted", a->found.undecided);
  putchar('\n');
}

static clarke_status
print_json(answer *a, clarke_error *err)
{
  const bool all = is_whole(a) && a->found.undecided == 0;

  if (clarke_patterns_list_keys(&a->list, a->told > 0, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  printf("\"patterns\": \"%zu\", \"undecided\": \"%zu\", \"gradients\": \"%zu\", \"complete\": %s, \"inputs\": %zu, \"kinks\": %zu",
         a->found.realized, a->found.undecided, a->gradients, all ? "true" : "false", a->function->n, a->found.kinks);
  return clarke_patterns_list_end(&a->list, a->told > 0, a->found.stopped, err);
}

static clarke_status
tell(answer *a, clarke_error *err)
{
  const bool whole = is_whole(a), all = whole && a->found.undecided == 0;
  clarke_summary s = {0};
  clarke_status status = clarke_summary_begin(&s, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(s.asked.to, "On which parts around the point do kinks keep their sides? Only %s may change. ", a->command->wrt);
  clarke_patterns_put_file(s.asked.to, a->command->model, a->function->sha256);
  clarke_patterns_put_begun(s.answer.to, all);
  clarke_put_count(s.answer.to, a->found.realized, "part");
  fputs(", with ", s.answer.to);
  clarke_put_count(s.answer.to, a->gradients, "gradient");
  fputs(" at the point (patterns of kinks).", s.answer.to);
  clarke_patterns_put_next(&a->list, s.next.to, !whole ? why(a) : all ? NULL : "of some it was not decided whether they are there",
                           "a part: the side of each kink, a way into it, the gradient", a->command->proof);
  return clarke_patterns_list_tell(&a->list, &s, status, err);
}

clarke_status
clarke_around_may_ask(const clarke_regions_command *c, const clarke_region_function *f, clarke_error *err)
{
  const clarke_error linear = *err;
  bool *needed = calloc(f->program.n + 1, sizeof *needed);
  size_t kinks;
  clarke_status status = needed != NULL ? clarke_forms_check(needed, &kinks, &f->program, true, err) : clarke_no_memory(err);

  free(needed);
  if (status != CLARKE_OK)
    return status;
  if (c->box != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s. In a box only what is not multiplied may vary together, as a weight or a bias of one layer "
                       "(--wrt NAME); around a point, --at without --box, several layers may", linear.text);
  if (c->pieces)
    return clarke_fail(err, CLARKE_EINPUT, "%s: what --wrt names is multiplied, as parameters of several layers are; --pieces is for one layer "
                       "at a time (--wrt NAME)", clarke_base_name(c->model));
  return c->proof != NULL ? clarke_region_function_may_prove(f, c->model, err) : CLARKE_OK;
}

static clarke_status
count_gradients(answer *a, clarke_error *err)
{
  const clarke_number **gradient;
  clarke_status status = clarke_patterns_gradients(&gradient, &a->gradients, &a->found.patterns, err);

  if (status == CLARKE_OK)
    free(gradient);
  return status;
}

static clarke_status
prove(const answer *a, mpq_t *point, clarke_error *err)
{
  const clarke_regions_command *c = a->command;
  const clarke_code *p = &a->function->program;
  const clarke_status status = clarke_around_prove(&a->found, a->function, c->model, point, c->proof, err);
  clarke_check_needs needs;

  if (status != CLARKE_OK)
    return status;
  clarke_check_needs_read(&needs, c->proof, &c->model, 1);
  clarke_check_needs_to_follow(&needs, p, clarke_code_wrt_count(p), !a->function->network);
  clarke_say_check_needs("patterns", &needs);
  return CLARKE_OK;
}

clarke_status
clarke_around_answer(bool *complete, const clarke_regions_command *c, const clarke_region_function *f, mpq_t *point, clarke_error *err)
{
  answer a = {.command = c, .function = f};
  clarke_status status;

  clarke_around_init(&a.found);
  clarke_work_begin("patterns found", 0);
  status = clarke_around_find(&a.found, &f->program, point, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK)
    status = count_gradients(&a, err);
  a.list = (clarke_patterns_list){c->json, c->count, c->as_found, "regions", NULL};
  if (status == CLARKE_OK)
    status = clarke_patterns_list_begin(&a.list, err);
  if (status == CLARKE_OK)
    status = put_all(&a, err);
  *complete = is_whole(&a) && a.found.undecided == 0;
  if (status == CLARKE_OK && c->proof != NULL && *complete)
    status = prove(&a, point, err);
  else if (status == CLARKE_OK && c->proof != NULL)
    fputs("clarke patterns: no proof is written of a list that is not complete\n", stderr);
  if (status == CLARKE_OK)
    status = c->json ? print_json(&a, err) : tell(&a, err);
  if (status == CLARKE_OK && !c->json)
    print_summary(&a);
  clarke_patterns_list_clear(&a.list);
  clarke_around_clear(&a.found);
  return status;
}
