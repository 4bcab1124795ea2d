/* Profiles: the columns of the operator table, profile files, look-up. */
#include "op/profile.h"
#include "op/surrogate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN "pytorch-2.14 (also: pytorch), pytorch-2.13, jax-0.10 (jax), tensorflow-2 (tensorflow)"

/* A bare name is the newest version's. `before`: the version whose column holds what its own does not say; itself: none. */
static const struct {
  const char *name, *bare;
  clarke_known_profile before;
  bool norm_nan;
} known[CLARKE_N_PROFILES] = {
  [CLARKE_PYTORCH_2_13] = {"pytorch-2.13", NULL, CLARKE_PYTORCH_2_13, false},
  [CLARKE_PYTORCH_2_14] = {"pytorch-2.14", "pytorch", CLARKE_PYTORCH_2_13, false},
  [CLARKE_JAX_0_10] = {"jax-0.10", "jax", CLARKE_JAX_0_10, true},
  [CLARKE_TENSORFLOW_2] = {"tensorflow-2", "tensorflow", CLARKE_TENSORFLOW_2, true},
};

/* CLARKE_N_PROFILES when there is none. */
static clarke_known_profile
find_known(const char *name)
{
  clarke_known_profile i = 0;

  while (i < CLARKE_N_PROFILES && strcmp(name, known[i].name) != 0 &&
         (known[i].bare == NULL || strcmp(name, known[i].bare) != 0))
    i++;
  return i;
}

const char *
clarke_profile_name(clarke_known_profile i, const char **bare)
{
  *bare = known[i].bare;
  return known[i].name;
}

void
clarke_profile_init(clarke_profile *p)
{
  memset(p, 0, sizeof *p);
}

void
clarke_profile_clear(clarke_profile *p)
{
  for (size_t i = 0; i < p->n; i++)
    for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
      mpq_clear(p->proxy[i][k].value);
  for (size_t i = 0; i < p->n_orders; i++)
    mpq_clear(p->rule[i].beta);
  free(p->proxy);
  free(p->op);
  free(p->order);
  free(p->rule);
  free(p->name);
  clarke_profile_init(p);
}

/* -digits[/digits], or a decimal such as 0.25, of at most 40 characters. */
static bool
parse_rational(mpq_t value, const char *text)
{
  const char *point = strchr(text, '.');
  char digits[128];
  size_t n = strlen(text);

  if (n == 0 || n > 40)
    return false;
  for (size_t i = 0; i < n; i++)
    if (!isdigit((unsigned char)text[i]) && !(text[i] == '-' && i == 0) && text[i] != '/' &&
        text[i] != '.')
      return false;
  if (point == NULL)
    snprintf(digits, sizeof digits, "%s", text);
  else {
    int places = (int)strlen(point + 1);

    snprintf(digits, sizeof digits, "%.*s%s/1%0*d", (int)(point - text), text, point + 1, places, 0);
    if (places == 0)
      return false;
  }
  if (mpq_set_str(value, digits, 10) != 0 || mpz_sgn(mpq_denref(value)) <= 0) {
    mpq_set_si(value, 0, 1);
    return false;
  }
  mpq_canonicalize(value);
  return true;
}

/* A rational, left, or right; unknown: no rule. */
static bool
parse_proxy(clarke_proxy *proxy, const char *text)
{
  if (strcmp(text, "unknown") == 0) {
    proxy->known = false;
    return true;
  }
  proxy->kind = strcmp(text, "left") == 0    ? CLARKE_PROXY_LEFT
                : strcmp(text, "right") == 0 ? CLARKE_PROXY_RIGHT
                                             : CLARKE_PROXY_VALUE;
  proxy->known = proxy->kind != CLARKE_PROXY_VALUE || parse_rational(proxy->value, text);
  return proxy->known;
}

/* Sets *rule from "first", "last", "stable", "mean", "unknown", or "hybrid" with beta ("1/2"; else NULL).
 * False when they are none of these. */
static bool
tie_parse(clarke_tie_rule *rule, const char *name, const char *beta)
{
  bool hybrid = strcmp(name, "hybrid") == 0, mean = strcmp(name, "mean") == 0;

  rule->known = false;
  if (strcmp(name, "unknown") == 0)
    return beta == NULL;
  rule->tie = strcmp(name, "last") == 0     ? CLARKE_TIE_LAST
              : strcmp(name, "stable") == 0 ? CLARKE_TIE_STABLE
                                            : CLARKE_TIE_FIRST;
  if (rule->tie == CLARKE_TIE_FIRST && !hybrid && !mean && strcmp(name, "first") != 0)
    return false;
  if (hybrid != (beta != NULL))
    return false;
  mpq_set_si(rule->beta, mean, 1);
  rule->known = !hybrid || parse_rational(rule->beta, beta);
  return rule->known;
}

/* Room for all operators, with no rule known. */
static clarke_status
new_tables(clarke_profile *p, const char *name, clarke_error *err)
{
  const clarke_op *op;
  size_t n = 0, n_orders = 0;

  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++) {
    n += op->n_kinks > 0;
    n_orders += op->order;
  }
  p->name = strdup(name);
  p->op = calloc(n + 1, sizeof *p->op);
  p->proxy = calloc(n + 1, sizeof *p->proxy);
  p->order = calloc(n_orders + 1, sizeof *p->order);
  p->rule = calloc(n_orders + 1, sizeof *p->rule);
  if (p->name == NULL || p->op == NULL || p->proxy == NULL || p->order == NULL || p->rule == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++) {
    if (op->order) {
      mpq_init(p->rule[p->n_orders].beta);
      p->order[p->n_orders++] = op;
    }
    if (op->n_kinks > 0) {
      for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
        mpq_init(p->proxy[p->n][k].value);
      p->op[p->n++] = op;
    }
  }
  return CLARKE_OK;
}

/* The column of the operators' own files. */
static clarke_status
fill(clarke_profile *p, clarke_known_profile which, clarke_error *err)
{
  const clarke_known_profile before = known[which].before;

  p->norm_nan = known[which].norm_nan;
  for (size_t i = 0; i < p->n; i++)
    for (size_t k = 0; k < p->op[i]->n_kinks; k++) {
      const char *const *proxy = p->op[i]->proxy[which], *text = proxy[k] != NULL ? proxy[k] : p->op[i]->proxy[before][k];

      p->proxy[i][k].known = false;
      if (text != NULL && !parse_proxy(&p->proxy[i][k], text))
        return clarke_fail(err, CLARKE_EINTERNAL, "operator %s has a bad proxy", p->op[i]->name);
    }
  for (size_t i = 0; i < p->n_orders; i++) {
    const char *const *tie = p->order[i]->tie, *text = tie[which] != NULL ? tie[which] : tie[before];

    p->rule[i].known = false;
    if (text != NULL && !tie_parse(&p->rule[i], text, NULL))
      return clarke_fail(err, CLARKE_EINTERNAL, "operator %s has a bad tie rule",
                         p->order[i]->name);
  }
  return CLARKE_OK;
}

static clarke_status
load_known(clarke_profile *p, clarke_known_profile which, const char *name, clarke_error *err)
{
  clarke_status status = new_tables(p, name, err);

  return status == CLARKE_OK ? fill(p, which, err) : status;
}

/* Where a line is, and its words. */
typedef struct {
  const char *file;
  size_t number;
  size_t n;
  char *word[5];
} profile_line;

static clarke_status
parse_like(clarke_profile *p, const profile_line *l, bool first, clarke_error *err)
{
  clarke_known_profile which = l->n == 2 ? find_known(l->word[1]) : CLARKE_N_PROFILES;

  if (!first)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: 'like' must be the first statement", l->file,
                       l->number);
  if (which == CLARKE_N_PROFILES)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: expected: like NAME, a known profile: " KNOWN,
                       l->file, l->number);
  return fill(p, which, err);
}

static clarke_status
parse_tie(clarke_profile *p, const profile_line *l, clarke_error *err)
{
  size_t i = 0;

  if (l->n != 3 && l->n != 4)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: expected: tie OPERATOR RULE", l->file,
                       l->number);
  while (i < p->n_orders && strcmp(p->order[i]->name, l->word[1]) != 0)
    i++;
  if (i == p->n_orders)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: no order statistic is called '%s'", l->file,
                       l->number, l->word[1]);
  if (!tie_parse(&p->rule[i], l->word[2], l->n == 4 ? l->word[3] : NULL))
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: '%s%s%s': expected first, last, stable, mean, "
                       "unknown, or hybrid and a rational such as 1/2", l->file, l->number, l->word[2],
                       l->n == 4 ? " " : "", l->n == 4 ? l->word[3] : "");
  return CLARKE_OK;
}

static clarke_status
parse_norm(clarke_profile *p, const profile_line *l, clarke_error *err)
{
  bool nan = l->n == 2 && strcmp(l->word[1], "nan") == 0;

  if (!nan && (l->n != 2 || strcmp(l->word[1], "0") != 0))
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: expected: norm 0, or norm nan", l->file, l->number);
  p->norm_nan = nan;
  return CLARKE_OK;
}

static clarke_status
parse_surrogate(clarke_profile *p, const profile_line *l, clarke_error *err)
{
  clarke_surrogate rule;
  size_t i = 0;

  if (l->n != 3)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: expected: surrogate OPERATOR RULE", l->file, l->number);
  while (clarke_surrogate_operator(i) != NULL && strcmp(clarke_surrogate_operator(i), l->word[1]) != 0)
    i++;
  if (clarke_surrogate_operator(i) == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: no operator with a surrogate is called '%s'; they are QuantizeLinear, Quant, "
                       "BipolarQuant, Round, Floor, Ceil and Sign", l->file, l->number, l->word[1]);
  if (!clarke_surrogate_parse(&rule, l->word[2]) || !clarke_surrogate_knows(i, rule))
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: '%s': expected none, all, and of operators with a range, range, or of those with a zero point "
                       "rounded", l->file, l->number, l->word[2]);
  p->surrogates.rule[i] = rule;
  return CLARKE_OK;
}

static clarke_status
inject(clarke_proxy *proxy, const profile_line *l, clarke_error *err)
{
  if (!proxy->known || proxy->kind != CLARKE_PROXY_VALUE)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: '%s': as-released wants a rational, which is handed on", l->file, l->number, l->word[2]);
  proxy->kind = CLARKE_PROXY_INJECTED;
  return CLARKE_OK;
}

static clarke_status
parse_kink(clarke_profile *p, const profile_line *l, clarke_error *err)
{
  const char *name = l->word[0], *kink = l->word[1], *value = l->word[2];
  size_t i = 0;

  if (l->n != 3 && (l->n != 4 || strcmp(l->word[3], "as-released") != 0))
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: expected: OPERATOR KINK VALUE, or OPERATOR KINK VALUE as-released", l->file,
                       l->number);
  while (i < p->n && strcmp(p->op[i]->name, name) != 0)
    i++;
  if (i == p->n)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: no operator with kinks is called '%s'", l->file,
                       l->number, name);
  if (strlen(kink) != 1 || kink[0] < '0' || (size_t)(kink[0] - '0') >= p->op[i]->n_kinks)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: %s has kinks 0 to %zu, not '%s'", l->file,
                       l->number, name, p->op[i]->n_kinks - 1, kink);
  if (!parse_proxy(&p->proxy[i][kink[0] - '0'], value))
    return clarke_fail(err, CLARKE_EINPUT,
                       "%s:%zu: '%s': expected a rational such as 1/2, or left, right or unknown", l->file,
                       l->number, value);
  return l->n == 4 ? inject(&p->proxy[i][kink[0] - '0'], l, err) : CLARKE_OK;
}

/* *first: no statement came before it. */
static clarke_status
parse_line(clarke_profile *p, char *line, const char *file, size_t number, bool *first,
           clarke_error *err)
{
  char *hash = strchr(line, '#'), *save = NULL;
  profile_line l = {.file = file, .number = number};
  bool was_first = *first;

  if (hash != NULL)
    *hash = '\0';
  for (char *w = strtok_r(line, " \t\r", &save); w != NULL && l.n < 5;
       w = strtok_r(NULL, " \t\r", &save))
    l.word[l.n++] = w;
  if (l.n == 0)
    return CLARKE_OK;
  *first = false;
  if (strcmp(l.word[0], "like") == 0)
    return parse_like(p, &l, was_first, err);
  if (strcmp(l.word[0], "surrogate") == 0)
    return parse_surrogate(p, &l, err);
  if (strcmp(l.word[0], "norm") == 0)
    return parse_norm(p, &l, err);
  return strcmp(l.word[0], "tie") == 0 ? parse_tie(p, &l, err) : parse_kink(p, &l, err);
}

clarke_status
clarke_profile_parse(clarke_profile *p, const char *text, size_t size, const char *file,
                     clarke_error *err)
{
  clarke_status status = load_known(p, CLARKE_PYTORCH_2_13, file, err);
  bool first = true;
  size_t at = 0;

  for (size_t number = 1; status == CLARKE_OK && at < size; number++) {
    const char *end = memchr(text + at, '\n', size - at);
    size_t n = end != NULL ? (size_t)(end - text) - at : size - at;
    char line[512];

    if (n >= sizeof line || memchr(text + at, '\0', n) != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: not a line of text", file, number);
    memcpy(line, text + at, n);
    line[n] = '\0';
    status = parse_line(p, line, file, number, &first, err);
    at += n + 1;
  }
  return status;
}

static clarke_status
load_file(clarke_profile *p, const char *path, clarke_error *err)
{
  const char *slash = strrchr(path, '/');
  FILE *f = fopen(path, "rb");
  char *text = malloc(1 << 20);
  size_t n = f != NULL && text != NULL ? fread(text, 1, 1 << 20, f) : 0;
  clarke_status status;

  if (f == NULL || text == NULL || n == 1 << 20 || ferror(f))
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %s", path,
                         f == NULL          ? "cannot be opened; known profiles: " KNOWN
                         : n == 1 << 20     ? "a profile of over 1 MiB"
                                            : "cannot be read");
  else
    status = clarke_profile_parse(p, text, n, slash != NULL ? slash + 1 : path, err);
  if (f != NULL)
    fclose(f);
  free(text);
  return status;
}

bool
clarke_profile_known(const char *name)
{
  return find_known(name) != CLARKE_N_PROFILES;
}

clarke_status
clarke_profile_check_plain(const clarke_profile *p, clarke_error *err)
{
  for (size_t i = 0; clarke_surrogate_operator(i) != NULL; i++)
    if (p->surrogates.rule[i] != CLARKE_SURROGATE_NONE)
      return clarke_fail(err, CLARKE_EINPUT, "%s: 'surrogate %s %s' makes another function of the network, which `clarke audit` alone asks about, "
                         "of an ONNX file", p->name, clarke_surrogate_operator(i), clarke_surrogate_name(p->surrogates.rule[i]));
  return CLARKE_OK;
}

clarke_status
clarke_profile_load(clarke_profile *p, const char *name, clarke_error *err)
{
  const clarke_status status = clarke_profile_load_surrogates(p, name, err);

  return status == CLARKE_OK ? clarke_profile_check_plain(p, err) : status;
}

clarke_status
clarke_profile_load_surrogates(clarke_profile *p, const char *name, clarke_error *err)
{
  clarke_status status = clarke_profile_load_any(p, name, err);

  for (size_t i = 0; status == CLARKE_OK && i < p->n; i++)
    for (size_t k = 0; status == CLARKE_OK && k < p->op[i]->n_kinks; k++)
      if (clarke_profile_injected(p, p->op[i], k) != NULL)
        status = clarke_fail(err, CLARKE_EINPUT, "%s: '%s %zu ... as-released' puts a number in the gradient's place, so what comes out is no "
                             "derivative of anything, and only `clarke sweep` compares it. Leave as-released out to ask about the slope", p->name,
                             p->op[i]->name, k);
  return status;
}

clarke_status
clarke_profile_load_any(clarke_profile *p, const char *name, clarke_error *err)
{
  clarke_known_profile which = find_known(name != NULL ? name : "pytorch-2.13");

  if (which != CLARKE_N_PROFILES)
    return load_known(p, which, known[which].name, err);
  if (strpbrk(name, "/.") != NULL)
    return load_file(p, name, err);
  return clarke_fail(err, CLARKE_EINPUT, "no profile '%s'; known: %s, or a file", name, KNOWN);
}

const clarke_proxy *
clarke_profile_find(const clarke_profile *p, const clarke_op *op, size_t kink)
{
  for (size_t i = 0; i < p->n; i++)
    if (p->op[i] == op)
      return kink < op->n_kinks && p->proxy[i][kink].known ? &p->proxy[i][kink] : NULL;
  return NULL;
}

const clarke_proxy *
clarke_profile_injected(const clarke_profile *p, const clarke_op *op, size_t kink)
{
  const clarke_proxy *proxy = clarke_profile_find(p, op, kink);

  return proxy != NULL && proxy->kind == CLARKE_PROXY_INJECTED ? proxy : NULL;
}

const clarke_tie_rule *
clarke_profile_tie(const clarke_profile *p, const clarke_op *op)
{
  for (size_t i = 0; i < p->n_orders; i++)
    if (p->order[i] == op)
      return p->rule[i].known ? &p->rule[i] : NULL;
  return NULL;
}

bool
clarke_profile_shares(const clarke_profile *p, const clarke_op *op)
{
  const clarke_tie_rule *rule = clarke_profile_tie(p, op);

  return rule != NULL && mpq_sgn(rule->beta) != 0;
}

clarke_status
clarke_tie_sorts(const clarke_tie_rule *rule, const clarke_profile *p, const clarke_op *op, clarke_error *err)
{
  if (!op->first_alone || (rule != NULL && rule->known && rule->tie == CLARKE_TIE_FIRST && mpq_sgn(rule->beta) == 0))
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "profile %s does not say of %s that the first of equal entries comes first, and no other rule "
                     "is known%s%s%s. Say so with --profile FILE, a file with the line 'tie %s first'", p->name, op->name,
                     op->hint != NULL ? " (" : "", op->hint != NULL ? op->hint : "", op->hint != NULL ? ")" : "", op->name);
}
