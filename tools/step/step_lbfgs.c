#include <stdio.h> /* before gmp.h, for its printing */

#include "step_lbfgs.h"

#include "base/stop.h"
#include "base/text.h"
#include "command.h"
#include "session/json.h"
#include "step_proof.h"
#include "step_report.h"
#include "summary.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>

#define LONG_TEXT 60 /* of a number in words; JSON has all of it */

typedef struct {
  const clarke_lbfgs_request *q;
  clarke_lbfgs l;
  clarke_step_vectors state, evaluation;
  bool scalar;
  size_t next, steps; /* the next file of a gradient; steps that were made */
  json_t *list, *asked; /* asked: where the step has evaluated */
  clarke_text proof, told;
  size_t compared;
  int answer;
} lbfgs_work;

/* --- parts of the state --------------------------------------------------------------------------------------------- */

enum { THETA, DIRECTION, LENGTH, SCALE, PREVIOUS, DIRS, STEPS, RO, N_PARTS };
static const char *const names[N_PARTS] = {"theta", "d", "t", "H_diag", "prev_flat_grad", "old_dirs", "old_stps", "ro"};

/* A part's rows: of vectors one, of pairs one for each. */
static size_t
rows_of(const clarke_lbfgs *l, int part)
{
  return part == DIRS || part == STEPS ? l->n_pairs : 1;
}

static size_t
columns_of(const clarke_lbfgs *l, int part)
{
  return part == LENGTH || part == SCALE ? 1 : part == RO ? l->n_pairs : l->n;
}

static clarke_number *
number_at(const clarke_lbfgs *l, int part, size_t row, size_t column)
{
  switch (part) {
  case THETA:
    return &l->theta[column];
  case DIRECTION:
    return &l->d[column];
  case LENGTH:
    return (clarke_number *)&l->t;
  case SCALE:
    return (clarke_number *)&l->scale;
  case PREVIOUS:
    return &l->previous[column];
  case DIRS:
    return &l->pair[row].y[column];
  case STEPS:
    return &l->pair[row].s[column];
  default:
    return &l->pair[column].ro;
  }
}

/* Before the first iteration there is theta alone. */
static int
parts_of(const clarke_lbfgs *l)
{
  return l->iterations == 0 ? 1 : N_PARTS;
}

/* --- reading ------------------------------------------------------------------------------------------------------------ */

static clarke_status
check_names(const lbfgs_work *w, clarke_error *err)
{
  for (size_t i = 0; i < w->state.n; i++) {
    bool known = strcmp(w->state.vector[i].name, "k") == 0;

    for (int p = 0; p < N_PARTS; p++)
      known = known || strcmp(w->state.vector[i].name, names[p]) == 0;
    if (!known)
      return clarke_fail(err, CLARKE_EINPUT, "%s: torch-lbfgs has no '%s' in its state", w->state.file, w->state.vector[i].name);
  }
  return CLARKE_OK;
}

static clarke_status
missing(const lbfgs_work *w, int part, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is missing; torch-lbfgs has it after %zu iterations", w->state.file, names[part], w->l.iterations);
}

/* A part of the state, of as many numbers as it is to have. */
static clarke_status
take_part(lbfgs_work *w, int part, clarke_error *err)
{
  const clarke_step_vector *v = clarke_step_vectors_find(&w->state, names[part]);
  const size_t rows = rows_of(&w->l, part), columns = columns_of(&w->l, part);

  if (v == NULL)
    return missing(w, part, err);
  if (v->n != rows * columns)
    return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' has %zu entries, it should have %zu", w->state.file, names[part], v->n, rows * columns);
  for (size_t i = 0; i < v->n; i++)
    clarke_number_set(number_at(&w->l, part, i / columns, i % columns), &v->x[i]);
  return CLARKE_OK;
}

static clarke_status
take_pairs(lbfgs_work *w, clarke_error *err)
{
  const clarke_step_vector *ro = clarke_step_vectors_find(&w->state, names[RO]);

  if (ro == NULL)
    return missing(w, RO, err);
  if (mpq_cmp_ui(w->q->hypers->of[CLARKE_HYPER_HISTORY_SIZE], ro->n, 1) < 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'ro' has %zu entries, more than --history-size", w->state.file, ro->n);
  for (size_t i = 0; i < ro->n; i++)
    if (clarke_lbfgs_append(&w->l) == NULL)
      return clarke_no_memory(err);
  for (size_t i = 0; i < ro->n; i++)
    if (clarke_number_sign(&ro->x[i]) <= 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: entry %zu of 'ro' is not above 0", w->state.file, i);
  return CLARKE_OK;
}

static clarke_status
read_state(lbfgs_work *w, clarke_error *err)
{
  const clarke_step_vector *theta;
  size_t k = 0;
  clarke_status status = clarke_step_vectors_read(&w->state, w->q->state, "theta", err);

  theta = status == CLARKE_OK ? clarke_step_vectors_find(&w->state, "theta") : NULL;
  if (status == CLARKE_OK && (theta == NULL || theta->n == 0))
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'theta' is missing, or has no entries", w->state.file);
  if (status == CLARKE_OK)
    status = check_names(w, err);
  if (status == CLARKE_OK)
    status = clarke_step_vectors_count(&k, &w->state, err);
  if (status == CLARKE_OK)
    status = clarke_lbfgs_init(&w->l, theta->n, err);
  if (status != CLARKE_OK)
    return status;
  w->scalar = theta->scalar;
  w->l.iterations = k;
  if (k > 0)
    status = take_pairs(w, err);
  for (int p = 0; p < parts_of(&w->l) && status == CLARKE_OK; p++)
    status = take_part(w, p, err);
  if (status == CLARKE_OK && k == 0 && w->state.n > 1 + (clarke_step_vectors_find(&w->state, "k") != NULL))
    return clarke_fail(err, CLARKE_EINPUT, "%s: before the first iteration ('k' is 0, or missing) there is 'theta' alone", w->state.file);
  return status;
}

/* --- evaluations -------------------------------------------------------------------------------------------------------- */

static json_t *
number_json(const clarke_number *x)
{
  char *text = clarke_number_text(x);
  json_t *j = json_string(text);

  free(text);
  return j;
}

/* One number, a list, or a list of lists. */
static json_t *
part_json(const lbfgs_work *w, int part)
{
  const size_t columns = columns_of(&w->l, part);
  json_t *all = json_array();

  if (part == LENGTH || part == SCALE || (part == THETA && w->scalar)) {
    json_decref(all);
    return number_json(number_at(&w->l, part, 0, 0));
  }
  for (size_t r = 0; r < rows_of(&w->l, part); r++) {
    json_t *row = part == DIRS || part == STEPS ? json_array() : json_incref(all);

    for (size_t c = 0; c < columns; c++)
      clarke_json_append(&row, number_json(number_at(&w->l, part, r, c)));
    if (part == DIRS || part == STEPS)
      clarke_json_append(&all, row);
    else
      json_decref(row);
  }
  return all;
}

static void
put_exact(FILE *to, const clarke_number *x)
{
  putc(' ', to);
  mpq_out_str(to, 10, x->q);
}

static clarke_status
put_number(FILE *to, const clarke_number *x, clarke_error *err)
{
  char *text = clarke_number_text(x);

  if (text == NULL)
    return clarke_no_memory(err);
  if (strlen(text) > LONG_TEXT)
    fprintf(to, " %.17g...", clarke_number_double(x));
  else
    fprintf(to, " %s", text);
  free(text);
  return CLARKE_OK;
}

static clarke_status
put_numbers(FILE *to, const lbfgs_work *w, int part, size_t row, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t c = 0; c < columns_of(&w->l, part) && status == CLARKE_OK; c++)
    status = put_number(to, number_at(&w->l, part, row, c), err);
  putc('\n', to);
  return status;
}

/* A line search evaluates at other points than those that theta has behind a step, which are told. */
static clarke_status
tell_asked(lbfgs_work *w, clarke_error *err)
{
  if (!w->q->hypers->searches)
    return CLARKE_OK;
  clarke_json_append(&w->asked, part_json(w, THETA));
  fprintf(w->told.to, "step %zu evaluates at", w->steps + 1);
  return put_numbers(w->told.to, w, THETA, 0, err);
}

/* No file is left. */
static clarke_status
fail_short(const lbfgs_work *w, clarke_error *err)
{
  clarke_text at = {.to = NULL};
  clarke_status status = w->q->hypers->searches ? clarke_text_open(&at, err) : CLARKE_OK;

  if (status != CLARKE_OK)
    return status;
  if (w->q->hypers->searches) {
    fputs(", at", at.to);
    status = put_numbers(at.to, w, THETA, 0, err);
    status = clarke_text_close(&at, status, err);
  }
  if (status == CLARKE_OK)
    status = clarke_fail(err, CLARKE_EINPUT, "step %zu evaluates once more than there are --gradient files%.*s; give another, or end the step sooner by --max-iter (1: each file is a step)",
                         w->steps + 1, at.text != NULL ? (int)strcspn(at.text, "\n") : 0, at.text != NULL ? at.text : "");
  clarke_text_clear(&at);
  return status;
}

/* The next file. Where there is none the step cannot go on. */
static clarke_status
evaluate(void *of, const clarke_number **g, const clarke_number **loss, clarke_error *err)
{
  lbfgs_work *w = of;
  const clarke_step_vector *v = NULL, *l;
  clarke_status status;

  clarke_step_vectors_clear(&w->evaluation);
  if (w->next == w->q->n_gradients)
    return fail_short(w, err);
  status = clarke_step_vectors_read(&w->evaluation, w->q->gradient[w->next++], "g", err);
  if (status == CLARKE_OK)
    status = clarke_step_vectors_gradient(&v, &w->evaluation, err);
  if (status != CLARKE_OK)
    return status;
  if (v->n != w->l.n)
    return clarke_fail(err, CLARKE_EINPUT, "%s: the gradient has %zu entries, theta has %zu", w->evaluation.file, v->n, w->l.n);
  l = clarke_step_vectors_find(&w->evaluation, "loss");
  if (l != NULL && l->n != 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'loss' has %zu entries; one is expected", w->evaluation.file, l->n);
  *g = v->x;
  *loss = l != NULL ? l->x : NULL;
  status = tell_asked(w, err);
  if (w->proof.to == NULL || status != CLARKE_OK)
    return status;
  fputs("gradient", w->proof.to);
  for (size_t i = 0; i < v->n; i++)
    put_exact(w->proof.to, &v->x[i]);
  fputs(l != NULL ? "\nloss" : "\nloss unknown", w->proof.to);
  if (l != NULL)
    put_exact(w->proof.to, l->x);
  fputs("\n", w->proof.to);
  return CLARKE_OK;
}

/* --- the proof ------------------------------------------------------------------------------------------------------------ */

/* bounds: two numbers an entry. */
static void
put_proved(FILE *out, const clarke_lbfgs *l, bool bounds)
{
  for (int p = 0; p < parts_of(l); p++) {
    if (p == DIRS)
      fprintf(out, "pairs %zu\n", l->n_pairs);
    for (size_t r = 0; r < rows_of(l, p); r++) {
      fputs(names[p], out);
      for (size_t c = 0; c < columns_of(l, p); c++)
        if (bounds)
          clarke_step_proof_bounds(out, number_at(l, p, r, c));
        else
          put_exact(out, number_at(l, p, r, c));
      fputs("\n", out);
    }
  }
}

static clarke_status
begin_proof(lbfgs_work *w, clarke_error *err)
{
  FILE *out;
  clarke_status status = clarke_step_proof_length(w->l.n, w->l.iterations, w->q->n_gradients, err);

  if (status == CLARKE_OK)
    status = clarke_text_open(&w->proof, err);
  if (status != CLARKE_OK)
    return status;
  out = w->proof.to;
  fprintf(out, "clarke-proof 1\nclaim update\nrule %s\n", clarke_lbfgs_rule.name);
  clarke_step_proof_settings(out, &clarke_lbfgs_rule, w->q->hypers);
  fprintf(out, "entries %zu\nbefore %zu\n", w->l.n, w->l.iterations);
  put_proved(out, &w->l, false);
  return CLARKE_OK;
}

static clarke_status
save_proof(lbfgs_work *w, clarke_status status, clarke_error *err)
{
  if (w->proof.to == NULL)
    return status;
  fprintf(w->proof.to, "after %zu\n", w->l.iterations);
  put_proved(w->proof.to, &w->l, true);
  return clarke_proof_save(&w->proof, status, w->q->proof, err);
}

/* --- what was found ------------------------------------------------------------------------------------------------------- */

static void
set_state(json_t **j, const lbfgs_work *w)
{
  clarke_json_set(j, "k", json_integer((json_int_t)w->l.iterations));
  for (int p = 0; p < parts_of(&w->l); p++)
    clarke_json_set(j, names[p], part_json(w, p));
}

static clarke_status
put_state(FILE *to, const lbfgs_work *w, size_t evaluations, clarke_lbfgs_end end, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  fprintf(to, "after step %zu: ", w->steps);
  clarke_put_count(to, evaluations, "evaluation");
  fputs(", ", to);
  clarke_put_count(to, w->l.iterations, "iteration");
  fprintf(to, " in all; ended by %s\n", clarke_lbfgs_end_says(end));
  for (int p = 0; p < parts_of(&w->l) && status == CLARKE_OK; p++)
    for (size_t r = 0; r < rows_of(&w->l, p) && columns_of(&w->l, p) > 0 && status == CLARKE_OK; r++) {
      fprintf(to, "  %-14s", names[p]);
      status = put_numbers(to, w, p, r, err);
    }
  return status;
}

static clarke_status
make_steps(lbfgs_work *w, clarke_error *err)
{
  clarke_status status = w->q->proof != NULL ? begin_proof(w, err) : CLARKE_OK;

  clarke_work_begin("evaluations", w->q->n_gradients);
  while (w->next < w->q->n_gradients && status == CLARKE_OK) {
    clarke_lbfgs_end end = CLARKE_LBFGS_REST;
    size_t n = 0;
    json_t *j = json_object();

    if (w->proof.to != NULL)
      fputs("step\n", w->proof.to);
    w->asked = json_array();
    status = clarke_lbfgs_step(&w->l, &end, &n, evaluate, w, w->q->hypers, err);
    w->steps++;
    clarke_watch_hide(true);
    if (status == CLARKE_OK)
      status = put_state(w->told.to, w, n, end, err);
    if (status == CLARKE_OK)
      set_state(&j, w);
    clarke_json_set(&j, "evaluations", json_integer((json_int_t)n));
    clarke_json_set(&j, "end", json_string(clarke_lbfgs_end_says(end)));
    if (w->q->hypers->searches)
      clarke_json_set(&j, "asked", json_incref(w->asked));
    json_decref(w->asked);
    clarke_json_append(&w->list, j);
    for (size_t i = 0; i < n; i++)
      clarke_work_done();
  }
  return save_proof(w, status, err);
}

/* --- beside another state ------------------------------------------------------------------------------------------------- */

static clarke_status
tell(lbfgs_work *w, int is, int part, size_t i, const clarke_number *other, const clarke_number *by_rule, clarke_error *err)
{
  char *texts[2] = {clarke_number_text(by_rule), clarke_number_text(other)};
  const bool are = texts[0] != NULL && texts[1] != NULL;

  w->answer = is == 0 ? EXIT_FAILS : EXIT_UNDECIDED;
  if (are)
    fprintf(w->told.to, "%s: entry %zu of %s is %s, by the rule %s\n", is == 0 ? "not the rule's" : "undecided", i, names[part], texts[1], texts[0]);
  free(texts[0]);
  free(texts[1]);
  return are ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
compare(lbfgs_work *w, json_t **j, clarke_error *err)
{
  clarke_step_vectors against = {.n = 0};
  clarke_status status = clarke_step_vectors_read(&against, w->q->against, "theta", err);

  for (int p = 0; p < parts_of(&w->l) && status == CLARKE_OK; p++) {
    const clarke_step_vector *v = clarke_step_vectors_find(&against, names[p]);
    const size_t columns = columns_of(&w->l, p), n = rows_of(&w->l, p) * columns;

    if (v != NULL && v->n != n)
      status = clarke_fail(err, CLARKE_EINPUT, "%s: '%s' has %zu entries, by the rule it has %zu", against.file, names[p], v->n, n);
    for (size_t i = 0; v != NULL && status == CLARKE_OK && i < n && w->answer == EXIT_HOLDS; i++, w->compared++) {
      const clarke_number *x = number_at(&w->l, p, i / columns, i % columns);
      const int is = clarke_step_is_within(x, &v->x[i], w->q->bound);

      if (is != 1)
        status = tell(w, is, p, i, &v->x[i], x, err);
    }
  }
  if (status == CLARKE_OK && w->compared == 0 && w->answer == EXIT_HOLDS)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: no 'theta', and nothing else of torch-lbfgs's state", against.file);
  clarke_step_vectors_clear(&against);
  clarke_json_set(j, "agrees", w->answer == EXIT_UNDECIDED ? json_null() : json_boolean(w->answer == EXIT_HOLDS));
  return status;
}

/* --- three lines ------------------------------------------------------------------------------------------------------------ */

static clarke_status
tell_summary(const lbfgs_work *w, clarke_error *err)
{
  const clarke_step_answered a = {.rule = &clarke_lbfgs_rule, .state = w->state.file, .against = w->q->against != NULL ? clarke_base_name(w->q->against) : NULL, .within = w->q->within, .proof = w->q->proof,
                                  .steps = w->steps, .given = w->q->n_gradients, .n = w->l.n, .k = w->steps, .compared = w->compared, .answer = w->answer,
                                  .theta = w->l.theta};

  return clarke_step_tell(&a, err);
}

static clarke_status
print(lbfgs_work *w, clarke_error *err)
{
  json_t *j = json_object();
  clarke_status status = w->q->against != NULL ? compare(w, &j, err) : CLARKE_OK;

  if (status == CLARKE_OK && w->q->json) {
    clarke_json_set(&j, "rule", json_string(clarke_lbfgs_rule.name));
    set_state(&j, w);
    clarke_json_set(&j, "steps", json_incref(w->list));
    return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
  }
  json_decref(j);
  if (status == CLARKE_OK)
    status = clarke_text_close(&w->told, status, err);
  if (status == CLARKE_OK)
    status = tell_summary(w, err);
  if (status == CLARKE_OK)
    fputs(w->told.text, stdout);
  return status;
}

clarke_status
clarke_step_lbfgs(int *answer, const clarke_lbfgs_request *q, clarke_error *err)
{
  lbfgs_work w = {.q = q, .answer = EXIT_HOLDS, .list = json_array()};
  clarke_status status = clarke_text_open(&w.told, err);

  if (status == CLARKE_OK && q->proof != NULL && q->hypers->searches)
    status = clarke_fail(err, CLARKE_EINPUT, "steps with --line-search have no proof yet: clarke-check has no rule for the search");
  if (status == CLARKE_OK)
    status = read_state(&w, err);
  if (status == CLARKE_OK) {
    status = make_steps(&w, err);
    if (status == CLARKE_OK)
      status = print(&w, err);
  }
  *answer = w.answer;
  if (w.l.n > 0)
    clarke_lbfgs_clear(&w.l);
  clarke_step_vectors_clear(&w.state);
  clarke_step_vectors_clear(&w.evaluation);
  clarke_text_clear(&w.told);
  json_decref(w.list);
  return status;
}
