/* clarke derive --sweep: the answers along a line of points, one a row. */
#include "derive_report.h"
#include "base/limit.h"
#include "base/output.h"
#include "exact/literal.h"
#include "program/ieee.h"
#include "object.h"
#include "session/json.h"
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_derive_range_init(clarke_derive_range *r)
{
  r->input = r->entry = r->n = 0;
  mpq_inits(r->from, r->step, NULL);
}

void
clarke_derive_range_clear(clarke_derive_range *r)
{
  mpq_clears(r->from, r->step, NULL);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Is input i named by a --at? (Arrays of files are looked at later: these name none.) */
static bool
is_given(const clarke_derive_session *s, const clarke_derive_command *c, size_t i)
{
  const char *name = s->program.input[i].name;
  size_t n = strlen(name);

  for (size_t k = 0; k < c->ask.n_at; k++)
    if (strncmp(c->ask.at[k], name, n) == 0 && c->ask.at[k][n] == '=')
      return true;
  return false;
}

static clarke_status
only_free_input(size_t *input, const clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err)
{
  size_t n = 0;

  for (size_t i = 0; i < s->program.n_inputs; i++)
    if (!is_given(s, c, i)) {
      *input = i;
      n++;
    }
  return n == 1 ? CLARKE_OK
                : clarke_fail(err, CLARKE_EINPUT, "--sweep: %zu inputs are not given by --at; "
                              "write --sweep NAME=A:B:STEP", n);
}

static clarke_status
named_input(size_t *input, const clarke_derive_session *s, const char *name, size_t length,
            clarke_error *err)
{
  const clarke_code *p = &s->program;

  for (*input = 0; *input < p->n_inputs; (*input)++)
    if (strlen(p->input[*input].name) == length &&
        memcmp(p->input[*input].name, name, length) == 0)
      return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "--sweep: %s has no input '%.*s'", p->file,
                     (int)(length < 80 ? length : 80), name);
}

/* The part of text before the separator, as a number; *text moves past it. */
static bool
take_number(mpq_t x, const char **text, char separator)
{
  size_t n = strcspn(*text, ":");
  char *part;
  bool good;

  if ((*text)[n] != separator || (part = strndup(*text, n)) == NULL)
    return false;
  good = clarke_literal_parse(x, part);
  free(part);
  *text += n + (separator != '\0');
  return good;
}

/* n = floor((to - from) / step) + 1. */
static clarke_status
count_rows(clarke_derive_range *r, const mpq_t to, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t length;
  mpz_t n;

  if (mpq_sgn(r->step) == 0)
    return clarke_fail(err, CLARKE_EINPUT, "--sweep: the step is zero");
  mpq_init(length);
  mpz_init(n);
  mpq_sub(length, to, r->from);
  mpq_div(length, length, r->step);
  mpz_fdiv_q(n, mpq_numref(length), mpq_denref(length));
  if (mpz_sgn(n) < 0)
    status = clarke_fail(err, CLARKE_EINPUT, "--sweep: the step leads away from the end");
  else if (mpz_cmp_ui(n, clarke_limit_of(CLARKE_LIMIT_ROWS)) >= 0)
    status = clarke_limit_fail(err, CLARKE_LIMIT_ROWS, "--sweep: more rows");
  else
    r->n = mpz_get_ui(n) + 1;
  mpz_clear(n);
  mpq_clear(length);
  return status;
}

static clarke_status
choose_input(clarke_derive_range *r, const clarke_derive_session *s, const clarke_derive_command *c, const char **text,
             clarke_error *err)
{
  const char *equals = strchr(*text, '=');
  clarke_status status = equals == NULL
                           ? only_free_input(&r->input, s, c, err)
                           : named_input(&r->input, s, *text, (size_t)(equals - *text), err);

  if (status != CLARKE_OK)
    return status;
  *text = equals != NULL ? equals + 1 : *text;
  r->entry = 0;
  for (size_t i = 0; i < r->input; i++)
    r->entry += s->program.input[i].n;
  return s->program.input[r->input].n == 1
           ? CLARKE_OK
           : clarke_fail(err, CLARKE_EINPUT, "--sweep: input '%s' has %zu entries, expected one",
                         s->program.input[r->input].name, s->program.input[r->input].n);
}

/* [NAME=]A:B:STEP; without NAME, the one input that --at leaves out. */
static clarke_status
parse_range(clarke_derive_range *r, const clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err)
{
  const char *text = c->sweep;
  clarke_status status = choose_input(r, s, c, &text, err);
  mpq_t to;

  if (status != CLARKE_OK)
    return status;
  mpq_init(to);
  if (take_number(r->from, &text, ':') && take_number(to, &text, ':') &&
      take_number(r->step, &text, '\0'))
    status = count_rows(r, to, err);
  else
    status = clarke_fail(err, CLARKE_EINPUT, "--sweep: expected [NAME=]A:B:STEP, three numbers "
                         "such as -1:1:1/10");
  mpq_clear(to);
  return status;
}

/* --- the table -------------------------------------------------------------------------------- */

static void
put_head(FILE *to, const clarke_derive_session *s, const clarke_derive_range *r)
{
  fprintf(to, "%-14s  %-20s  %-20s", s->program.input[r->input].name, "value", "AD");
  for (size_t f = 0; f < CLARKE_FORMATS; f++)
    if (s->format[f])
      fprintf(to, "  AD %-21s", clarke_ieee_name((clarke_ieee)f));
  fprintf(to, "  %-12s  %s\n", "zone", "verdict");
}

/* In a column; wider text pushes the rest along. */
static clarke_status
put_cell(FILE *to, const clarke_vectors *v, const clarke_derive_text *t, int width, clarke_error *err)
{
  clarke_text text;
  clarke_status status;

  if (!v->known) {
    fprintf(to, "  %-*s", width, "-");
    return CLARKE_OK;
  }
  status = clarke_text_open(&text, err);
  if (status != CLARKE_OK)
    return status;
  clarke_vector_print(text.to, v, 0, t);
  status = clarke_text_close(&text, status, err);
  if (status == CLARKE_OK)
    fprintf(to, "  %-*s", width, text.text);
  clarke_text_clear(&text);
  return status;
}

/* d is NULL where there is no answer, because of why. */
static clarke_status
put_row(FILE *to, const char *at, const clarke_derivation *d, const clarke_derive_text *t,
        const char *why, clarke_error *err)
{
  clarke_derive_text flat = {.rows = false};
  clarke_status status;

  if (d == NULL) {
    fprintf(to, "%-14s  undefined: %.*s\n", at, (int)strcspn(why, "\n"), why);
    return CLARKE_OK;
  }
  fprintf(to, "%-14s", at);
  status = put_cell(to, &t->value, &flat, 20, err);
  if (status == CLARKE_OK)
    status = put_cell(to, &t->ad, t, 20, err);
  for (size_t f = 0; f < 4 && status == CLARKE_OK; f++)
    if (t->rounded[f].asked)
      status = put_cell(to, &t->rounded[f].ad, t, 24, err);
  fprintf(to, "  %-12s  %s\n", clarke_zone_name(d->zone), clarke_verdict_name(d->verdict));
  return status;
}

/* What the rows come to. */
typedef struct {
  clarke_text rows;
  json_t *verdicts;
  size_t undefined;
  char *first; /* the first point where AD is not right (malloc) */
} table;

static void
count_row(table *t, const char *at, const clarke_derivation *d)
{
  const char *verdict = d != NULL ? clarke_verdict_name(d->verdict) : NULL;

  if (verdict == NULL)
    t->undefined++;
  else
    clarke_json_set(&t->verdicts, verdict, json_integer((json_int_t)clarke_count_at(t->verdicts, verdict) + 1));
  if (t->first == NULL && verdict != NULL && d->verdict != CLARKE_IN_BOULIGAND)
    t->first = strdup(at);
}

/* An input where the program is undefined is a row that says so; anything else ends the table. rows NULL: a row of JSON. */
static clarke_status
sweep_row(table *rows, clarke_derive_session *s, size_t entry, bool last, clarke_error *err)
{
  clarke_derivation d;
  clarke_derive_text t;
  clarke_error wrong = {CLARKE_OK, ""};
  char *at = mpq_get_str(NULL, 10, s->at[entry]);
  clarke_status status;
  bool answered;

  clarke_derivation_init(&d);
  clarke_derive_text_init(&t);
  status = clarke_derive(&d, &s->program, s->at, &s->profile, &wrong);
  if (status == CLARKE_OK)
    status = clarke_derive_text_fill(&t, s, &d, &wrong);
  answered = status == CLARKE_OK;
  if (status == CLARKE_EINPUT)
    status = CLARKE_OK;
  if (status != CLARKE_OK)
    clarke_fail(err, status, "%s", wrong.text);
  else if (rows != NULL) {
    count_row(rows, at, answered ? &d : NULL);
    status = put_row(rows->rows.to, at, answered ? &d : NULL, &t, wrong.text, err);
  } else
    status = clarke_derive_row_json(stdout, at, answered ? &d : NULL, &t, wrong.text, last, err);
  clarke_derive_text_clear(&t);
  clarke_derivation_clear(&d);
  free(at);
  return status;
}

static clarke_status
sweep_rows(table *rows, clarke_derive_session *s, const clarke_derive_range *r, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  mpq_set(s->at[r->entry], r->from);
  for (size_t i = 0; i < r->n && status == CLARKE_OK; i++) {
    status = sweep_row(rows, s, r->entry, i + 1 == r->n, err);
    mpq_add(s->at[r->entry], s->at[r->entry], r->step);
  }
  return status;
}

static clarke_status
print_json(clarke_derive_session *s, const clarke_derive_range *r, clarke_error *err)
{
  clarke_status status;

  clarke_watch_hide(true);
  puts("[");
  status = sweep_rows(NULL, s, r, err);
  if (status == CLARKE_OK)
    puts("]");
  return status;
}

static clarke_status
tell_summary(const table *t, const clarke_derive_session *s, const clarke_derive_range *r, clarke_error *err)
{
  const char *input = s->program.input[r->input].name;
  clarke_summary lines;
  clarke_status status = clarke_summary_begin(&lines, err);

  if (status == CLARKE_OK) {
    fprintf(lines.asked.to, "Where is AD right? %s at ", s->program.file);
    clarke_put_count(lines.asked.to, r->n, "point");
    fprintf(lines.asked.to, " of %s, AD as %s; ", input, s->profile.name);
    clarke_put_hash(lines.asked.to, s->sha256);
    fputs(".", lines.asked.to);
    clarke_put_verdicts(lines.answer.to, t->verdicts, t->undefined == r->n, "AD's derivative is ", "at", "point");
    if (t->undefined > 0)
      fprintf(lines.answer.to, "Undefined at %zu.", t->undefined);
    if (t->first != NULL)
      fprintf(lines.next.to, "The first to look at is %s = %s: with --at in place of --sweep it has the whole report.", input, t->first);
    else
      fputs(t->undefined == r->n ? "Choose points where the function is defined." : "Nothing needs doing.", lines.next.to);
  }
  return clarke_summary_tell(&lines, status, err);
}

static clarke_status
print_text(clarke_derive_session *s, const clarke_derive_range *r, clarke_error *err)
{
  table t = {.verdicts = json_object()};
  clarke_status status = clarke_text_open(&t.rows, err);

  if (status == CLARKE_OK) {
    put_head(t.rows.to, s, r);
    status = sweep_rows(&t, s, r, err);
    status = clarke_text_close(&t.rows, status, err);
  }
  clarke_watch_hide(true);
  if (status == CLARKE_OK)
    status = tell_summary(&t, s, r, err);
  if (status == CLARKE_OK)
    fputs(t.rows.text, stdout);
  clarke_text_clear(&t.rows);
  json_decref(t.verdicts);
  free(t.first);
  return status;
}

clarke_status
clarke_derive_sweep(clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err)
{
  clarke_derive_range r;
  clarke_status status;

  clarke_derive_range_init(&r);
  status = parse_range(&r, s, c, err);
  if (status == CLARKE_OK)
    status = clarke_derive_point(s, c->ask.at, c->ask.n_at, r.input, err);
  if (status == CLARKE_OK && c->plot != NULL)
    status = clarke_derive_figure(s, c->plot, &r, err);
  if (status == CLARKE_OK)
    status = (c->json ? print_json : print_text)(s, &r, err);
  clarke_derive_range_clear(&r);
  return status;
}
