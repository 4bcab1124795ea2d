/* Running a check, and the result for each key. */
#include "reproduce_result.h"
#include "base/output.h"

#include "exact/cone.h"
#include "program/rounded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- reading a check -------------------------------------------------------------------------- */

void
clarke_run_init(clarke_run *r)
{
  memset(r, 0, sizeof *r);
  clarke_profile_init(&r->profile);
  clarke_derivation_init(&r->d);
}

void
clarke_run_clear(clarke_run *r)
{
  clarke_derivation_clear(&r->d);
  clarke_profile_clear(&r->profile);
  for (size_t i = 0; i < r->n_at; i++)
    mpq_clear(r->at[i]);
  free(r->at);
  clarke_run_init(r);
}

/* Calls each with the words of a text, cut in a copy at the separators. */
static clarke_status
each_word(const char *text, const char *separators,
          clarke_status (*each)(void *closure, char *word, clarke_error *err), void *closure,
          clarke_error *err)
{
  char *copy = strdup(text), *rest = NULL;
  clarke_status status = CLARKE_OK;

  if (copy == NULL)
    return clarke_no_memory(err);
  for (char *word = strtok_r(copy, separators, &rest); word != NULL && status == CLARKE_OK;
       word = strtok_r(NULL, separators, &rest))
    status = each(closure, word, err);
  free(copy);
  return status;
}

typedef struct {
  clarke_run *r;
  bool *given;
} pointing;

static clarke_status
point_word(void *closure, char *word, clarke_error *err)
{
  pointing *w = closure;

  return clarke_point_parse(w->r->at, w->given, w->r->p, word, err);
}

static clarke_status
read_point(clarke_run *r, const char *text, clarke_error *err)
{
  size_t n = clarke_code_entries(r->p);
  pointing w = {r, calloc(r->p->n_inputs + 1, 1)};
  clarke_status status;

  r->at = malloc((n + 1) * sizeof *r->at);
  for (; r->at != NULL && r->n_at < n; r->n_at++)
    mpq_init(r->at[r->n_at]);
  if (r->at == NULL || w.given == NULL) {
    free(w.given);
    return clarke_no_memory(err);
  }
  status = each_word(text, " \t", point_word, &w, err);
  for (size_t i = 0; i < r->p->n_inputs && status == CLARKE_OK; i++)
    if (!w.given[i])
      status = clarke_fail(err, CLARKE_EINPUT, "the point does not give input '%s'",
                           r->p->input[i].name);
  free(w.given);
  return status;
}

typedef struct {
  size_t n;
  char *name[16];
} naming;

static clarke_status
name_word(void *closure, char *word, clarke_error *err)
{
  naming *w = closure;

  if (w->n == sizeof w->name / sizeof *w->name)
    return clarke_fail(err, CLARKE_EINPUT, "wrt names too many inputs");
  w->name[w->n] = strdup(word);
  return w->name[w->n++] != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
mark_wrt(clarke_code *p, const char *names, clarke_error *err)
{
  naming w = {0, {NULL}};
  clarke_status status = names != NULL ? each_word(names, ", \t", name_word, &w, err) : CLARKE_OK;

  if (status == CLARKE_OK)
    status = clarke_code_wrt(p, w.name, w.n, err);
  for (size_t i = 0; i < w.n; i++)
    free(w.name[i]);
  return status;
}

/* --- results --------------------------------------------------------------------------------- */

void
clarke_result_init(clarke_result *result)
{
  memset(result, 0, sizeof *result);
  clarke_points_init(&result->points, 0);
}

void
clarke_result_clear(clarke_result *result)
{
  free(result->text);
  clarke_numbers_free(result->x, result->n);
  clarke_points_clear(&result->points);
  clarke_result_init(result);
}

static clarke_status
word(clarke_result *result, const char *text, clarke_error *err)
{
  result->kind = CLARKE_RESULT_WORD;
  result->text = strdup(text);
  return result->text != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
yes_no(clarke_result *result, clarke_truth a, clarke_error *err)
{
  return word(result, a == CLARKE_YES ? "yes" : a == CLARKE_NO ? "no" : "unknown", err);
}

/* n numbers to a stream: bare when there is one; rows of width in parentheses within parentheses
 * when there are several rows. */
static clarke_status
put_numbers(FILE *out, const clarke_number *x, size_t n, size_t width, bool rows, clarke_error *err)
{
  bool bare = n == 1 && !rows;

  fputs(bare ? "" : "(", out);
  for (size_t i = 0; i < n; i++) {
    char *text = clarke_number_text(&x[i]);

    if (text == NULL)
      return clarke_no_memory(err);
    fputs(i > 0 ? ", " : "", out);
    fputs(rows && i % width == 0 ? "(" : "", out);
    fputs(text, out);
    fputs(rows && (i + 1) % width == 0 ? ")" : "", out);
    free(text);
  }
  fputs(bare ? "" : ")", out);
  return CLARKE_OK;
}

/* Ends the text, which becomes the result's. */
static clarke_status
take_text(clarke_result *result, clarke_text *t, clarke_status status, clarke_error *err)
{
  status = clarke_text_close(t, status, err);
  if (status == CLARKE_OK) {
    result->text = t->text;
    t->text = NULL;
  }
  clarke_text_clear(t);
  return status;
}

/* Takes x, n numbers in rows of width, over. */
static clarke_status
numbers(clarke_result *result, clarke_number *x, size_t n, size_t width, clarke_error *err)
{
  clarke_text text;
  clarke_status status;

  result->kind = CLARKE_RESULT_NUMBERS;
  result->x = x;
  result->n = x != NULL ? n : 0;
  status = x != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);
  if (status != CLARKE_OK)
    return status;
  status = put_numbers(text.to, x, n, width, width > 0 && n > width, err);
  return take_text(result, &text, status, err);
}

static clarke_number *
from_rationals(mpq_t *q, size_t n)
{
  clarke_number *x = clarke_numbers(n);

  for (size_t i = 0; x != NULL && i < n; i++)
    clarke_number_set_q(&x[i], q[i]);
  return x;
}

/* Rows of a Jacobian of m outputs; one output: no rows. */
static size_t
row_width(const clarke_run *r)
{
  return r->p->n_outputs > 1 ? clarke_code_wrt_count(r->p) : 0;
}

static clarke_status
rationals(clarke_result *result, const clarke_run *r, mpq_t *q, size_t n, clarke_error *err)
{
  return numbers(result, from_rationals(q, n), n, row_width(r), err);
}

/* width: of the rows that a vector is written in; 0: none. */
static clarke_status
set_of(clarke_result *result, const clarke_points *s, size_t width, clarke_error *err)
{
  bool interval = s->dim == 1 && s->n == 2;
  clarke_text text;
  clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  result->kind = CLARKE_RESULT_SET;
  result->dim = s->dim;
  fputs(interval ? "[" : "{", text.to);
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    clarke_number *x = from_rationals(s->entry + i * s->dim, s->dim);

    fputs(i > 0 ? ", " : "", text.to);
    status = x != NULL ? put_numbers(text.to, x, s->dim, width, width > 0 && s->dim > width, err) : clarke_no_memory(err);
    clarke_numbers_free(x, s->dim);
  }
  fputs(interval ? "]" : "}", text.to);
  status = take_text(result, &text, status, err);
  if (status != CLARKE_OK)
    return status;
  clarke_points_clear(&result->points);
  clarke_points_init(&result->points, s->dim);
  return clarke_points_set(&result->points, s->n, s->entry, err);
}

/* --- keys ------------------------------------------------------------------------------------ */

static clarke_status
find_value(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_number *x;

  if (r->d.execution.open)
    return word(result, "unknown", err);
  x = clarke_numbers(r->p->n_outputs);
  for (size_t i = 0; x != NULL && i < r->p->n_outputs; i++)
    clarke_number_set(&x[i], &r->d.execution.value[r->p->output[i]]);
  return numbers(result, x, r->p->n_outputs, 0, err);
}

static clarke_status
find_ad(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_number *x;

  if (r->d.ad == NULL || r->d.execution.open)
    return word(result, "unknown", err);
  x = clarke_numbers(r->d.dim);
  for (size_t i = 0; x != NULL && i < r->d.dim; i++)
    clarke_number_set(&x[i], &r->d.ad[i]);
  return numbers(result, x, r->d.dim, row_width(r), err);
}

static clarke_status
find_set(clarke_result *result, const clarke_run *r, const clarke_points *s, bool known,
         clarke_error *err)
{
  return known ? set_of(result, s, row_width(r), err) : word(result, "unknown", err);
}

static clarke_status
find_bouligand(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_set(result, r, &r->d.bouligand, r->d.sets_known, err);
}

static clarke_status
find_clarke(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_set(result, r, &r->d.clarke, r->d.sets_known, err);
}

static clarke_status
find_conservative(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_conservative *c = &r->d.conservative;

  return find_set(result, r, &c->vertices, c->known && c->enumerated, err);
}

static clarke_status
find_singleton(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_conservative *c = &r->d.conservative;

  return yes_no(result,
                !c->known && !c->singleton_known ? CLARKE_UNKNOWN
                : c->singleton                   ? CLARKE_YES
                                                 : CLARKE_NO,
                err);
}

static clarke_status
find_selection(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_representation *p = &r->d.representation;

  return find_set(result, r, &p->selection, p->declared && p->selection_known, err);
}

static clarke_status
find_associated(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_representation *p = &r->d.representation;

  if (!p->declared || p->associated == NULL)
    return word(result, "unknown", err);
  return rationals(result, r, p->associated, clarke_code_wrt_count(r->p), err);
}

static clarke_status
find_representation(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_representation *p = &r->d.representation;

  return yes_no(result,
                !p->declared || p->answer == CLARKE_REPRESENTS_UNKNOWN ? CLARKE_UNKNOWN
                : p->answer == CLARKE_REPRESENTS                       ? CLARKE_YES
                                                                       : CLARKE_NO,
                err);
}

static clarke_status
find_differentiable(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return yes_no(result, r->d.differentiable, err);
}

static clarke_status
find_zone(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return word(result, clarke_zone_name(r->d.zone), err);
}

static clarke_status
find_least(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  if (!r->d.least_known)
    return word(result, "unknown", err);
  return rationals(result, r, r->d.least, r->d.dim, err);
}

static clarke_status
find_verdict(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return word(result, clarke_verdict_name(r->d.verdict), err);
}

static clarke_status
count(clarke_result *result, size_t n, clarke_error *err)
{
  clarke_number *x = clarke_numbers(1);

  if (x != NULL)
    clarke_number_set_si(x, (long)n);
  return numbers(result, x, 1, 0, err);
}

static clarke_status
find_touched(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return r->d.execution.open ? word(result, "unknown", err)
                             : count(result, r->d.execution.n_touched, err);
}

static clarke_status
find_instructions(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  size_t n = 0;

  for (size_t i = 0; i < r->p->n; i++)
    n += r->p->instruction[i].kind != CLARKE_DO_INPUT
         && r->p->instruction[i].kind != CLARKE_DO_CONSTANT;
  return count(result, n, err);
}

/* Pointwise functions with kinks by their layer: how many of them are on the longest path to one,
 * itself counted. widths[l - 1] of layer l; *layers is how many there are. */
static long *
layer_widths(size_t *layers, const clarke_code *p)
{
  size_t *layer = calloc(p->n + 1, sizeof *layer);
  long *width = calloc(p->n + 1, sizeof *width);

  *layers = 0;
  for (size_t i = 0; layer != NULL && width != NULL && i < p->n; i++) {
    const clarke_instruction *in = &p->instruction[i];

    for (size_t k = 0; k < in->n_in; k++)
      layer[i] = layer[in->in[k]] > layer[i] ? layer[in->in[k]] : layer[i];
    if (in->kind == CLARKE_DO_PIECEWISE || in->kind == CLARKE_DO_ELU)
      width[layer[i]++]++;
    *layers = layer[i] > *layers ? layer[i] : *layers;
  }
  if (layer == NULL) {
    free(width);
    width = NULL;
  }
  free(layer);
  return width;
}

static clarke_status
find_widths(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  size_t n;
  long *width = layer_widths(&n, r->p);
  clarke_number *x = width != NULL ? clarke_numbers(n) : NULL;

  for (size_t i = 0; x != NULL && i < n; i++)
    clarke_number_set_si(&x[i], width[i]);
  free(width);
  return numbers(result, x, n, 0, err);
}

static clarke_status
find_coefficients(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_points s;
  clarke_status status = CLARKE_OK;

  clarke_points_init(&s, 1);
  for (size_t i = 0; i < r->p->n && status == CLARKE_OK; i++) {
    const clarke_instruction *in = &r->p->instruction[i];

    for (size_t k = 0; in->kind == CLARKE_DO_LINEAR && k < in->n_in && status == CLARKE_OK; k++)
      status = clarke_points_add(&s, &in->coef[k], err);
  }
  if (status == CLARKE_OK)
    status = set_of(result, &s, 0, err);
  clarke_points_clear(&s);
  return status;
}

/* Row i of AD's Jacobian times the least common denominator of its entries. */
static void
integer_row(fmpz_mat_t a, size_t i, const clarke_number *row, size_t n)
{
  mpz_t scale, x;

  mpz_init_set_ui(scale, 1);
  mpz_init(x);
  for (size_t k = 0; k < n; k++)
    mpz_lcm(scale, scale, mpq_denref(row[k].q));
  for (size_t k = 0; k < n; k++) {
    mpz_divexact(x, scale, mpq_denref(row[k].q));
    mpz_mul(x, x, mpq_numref(row[k].q));
    fmpz_set_mpz(fmpz_mat_entry(a, (slong)i, (slong)k), x);
  }
  mpz_clear(scale);
  mpz_clear(x);
}

/* Is there a direction along which every output increases to first order? (With s_i y_i and the
 * differences of tied entries as outputs: is P_l of Park et al., Algorithm 1, not empty?) */
static clarke_status
find_ascent(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  size_t m = r->p->n_outputs, n = clarke_code_wrt_count(r->p);
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  if (!r->d.ad_exact || r->d.ad == NULL)
    return word(result, "unknown", err);
  fmpz_mat_init(a, (slong)m, (slong)n);
  clarke_cone_init(&cone);
  for (size_t i = 0; i < m; i++)
    integer_row(a, i, &r->d.ad[i * n], n);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  if (status == CLARKE_OK)
    status = yes_no(result,
                    cone.answer == CLARKE_CONE_FEASIBLE ? CLARKE_YES
                    : cone.answer == CLARKE_CONE_EMPTY  ? CLARKE_NO
                                                        : CLARKE_UNKNOWN,
                    err);
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

/* derived: it takes more than an execution and AD. */
static const struct {
  const char *key;
  bool derived;
  clarke_status (*find)(clarke_result *result, const clarke_run *r, clarke_error *err);
} keys[] = {
  {"value", false, find_value},
  {"ad", false, find_ad},
  {"bouligand", true, find_bouligand},
  {"clarke", true, find_clarke},
  {"conservative", true, find_conservative},
  {"conservative-singleton", true, find_singleton},
  {"selection", true, find_selection},
  {"associated", true, find_associated},
  {"representation", true, find_representation},
  {"differentiable", true, find_differentiable},
  {"zone", true, find_zone},
  {"least", true, find_least},
  {"verdict", true, find_verdict},
  {"touched", false, find_touched},
  {"instructions", false, find_instructions},
  {"widths", false, find_widths},
  {"coefficients", false, find_coefficients},
  {"ascent", false, find_ascent},
};

#define N_KEYS (sizeof keys / sizeof keys[0])

/* FORMAT-ad or FORMAT-value: the format, and whether it is ad. */
static bool
float_key(clarke_ieee *format, bool *ad, const char *key)
{
  const char *dash = strchr(key, '-');
  char name[16];

  if (dash == NULL || (size_t)(dash - key) >= sizeof name)
    return false;
  memcpy(name, key, (size_t)(dash - key));
  name[dash - key] = '\0';
  *ad = strcmp(dash, "-ad") == 0;
  return (*ad || strcmp(dash, "-value") == 0)
         && clarke_ieee_parse(format, name, NULL) == CLARKE_OK;
}

bool
clarke_fact_key_known(const char *key)
{
  clarke_ieee format;
  bool ad;

  for (size_t i = 0; i < N_KEYS; i++)
    if (strcmp(keys[i].key, key) == 0)
      return true;
  return float_key(&format, &ad, key);
}

/* By the fewest digits that read back as itself. */
static void
put_double(FILE *out, double v)
{
  char text[32] = "0";

  for (int digits = 1; v != 0 && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    if (strtod(text, NULL) == v)
      break;
  }
  fputs(text, out);
}

/* Doubles as numbers, exactly, in rows of width when there are several. */
static clarke_status
doubles(clarke_result *result, const double *v, size_t n, size_t width, clarke_error *err)
{
  bool rows = width > 0 && n > width;
  clarke_text text;
  clarke_status status;
  mpq_t q;

  for (size_t i = 0; i < n; i++)
    if (!isfinite(v[i]))
      return word(result, "not finite", err);
  result->kind = CLARKE_RESULT_NUMBERS;
  result->x = clarke_numbers(n);
  result->n = result->x != NULL ? n : 0;
  status = result->x != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);
  if (status != CLARKE_OK)
    return status;
  mpq_init(q);
  fputs(n == 1 ? "" : "(", text.to);
  for (size_t i = 0; i < n; i++) {
    mpq_set_d(q, v[i]);
    clarke_number_set_q(&result->x[i], q);
    fputs(i > 0 ? ", " : "", text.to);
    fputs(rows && i % width == 0 ? "(" : "", text.to);
    put_double(text.to, v[i]);
    fputs(rows && (i + 1) % width == 0 ? ")" : "", text.to);
  }
  fputs(n == 1 ? "" : ")", text.to);
  mpq_clear(q);
  return take_text(result, &text, status, err);
}

static clarke_status
find_rounded(clarke_result *result, const clarke_run *r, clarke_ieee format, bool ad,
             clarke_error *err)
{
  clarke_rounded f;
  clarke_status status;

  clarke_rounded_init(&f);
  status = clarke_rounded_run(&f, r->p, r->at, format, &r->profile, err);
  if (status == CLARKE_OK)
    status = ad ? doubles(result, f.gradient, f.n_gradient, row_width(r), err)
                : doubles(result, f.value, f.n_values, 0, err);
  clarke_rounded_clear(&f);
  return status;
}

clarke_status
clarke_result_find(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  clarke_ieee format;
  bool ad;

  for (size_t i = 0; i < N_KEYS; i++)
    if (strcmp(keys[i].key, key) == 0)
      return keys[i].find(result, r, err);
  if (float_key(&format, &ad, key))
    return find_rounded(result, r, format, ad, err);
  return clarke_fail(err, CLARKE_EINTERNAL, "no such key: %s", key);
}

/* --- running ---------------------------------------------------------------------------------- */

static bool
needs_derivation(const clarke_facts *f)
{
  for (size_t i = 0; i < f->n; i++)
    for (size_t k = 0; k < N_KEYS; k++)
      if (keys[k].derived && strcmp(keys[k].key, f->fact[i].key) == 0)
        return true;
  return false;
}

/* The execution and AD alone. */
static clarke_status
differentiate(clarke_derivation *d, const clarke_run *r, clarke_error *err)
{
  clarke_status status = clarke_execute(&d->execution, r->p, r->at, err);

  d->verdict = CLARKE_UNDECIDED;
  if (status != CLARKE_OK || d->execution.open)
    return status;
  d->dim = r->p->n_outputs * clarke_code_wrt_count(r->p);
  d->ad = clarke_numbers(d->dim);
  if (d->ad == NULL)
    return clarke_no_memory(err);
  status = clarke_execution_ad(d->ad, &d->execution, &r->profile, err);
  d->ad_exact = status == CLARKE_OK;
  for (size_t i = 0; i < d->dim; i++)
    d->ad_exact = d->ad_exact && d->ad[i].exact;
  return status;
}

clarke_status
clarke_run_check(clarke_run *r, clarke_case *c, const clarke_check *check, clarke_error *err)
{
  clarke_status status;

  r->c = c;
  r->check = check;
  r->p = &c->program;
  status = mark_wrt(r->p, check->wrt, err);
  if (status == CLARKE_OK)
    status = clarke_profile_parse(&r->profile, check->profile, strlen(check->profile), "case", err);
  if (status == CLARKE_OK)
    status = read_point(r, check->at, err);
  if (status == CLARKE_OK)
    status = needs_derivation(&c->facts[check->facts])
               ? clarke_derive(&r->d, r->p, r->at, &r->profile, err)
               : differentiate(&r->d, r, err);
  return status == CLARKE_OK
           ? CLARKE_OK
           : clarke_fail_in(err, status, "%s:%zu", c->name, check->line);
}
