/* Reading a case: its header lines, in order, then the program. */
#include "reproduce_case.h"
#include "reproduce_keys.h"
#include "format/file.h"

#include <stdlib.h>
#include <string.h>

/* No case has more claims or checks, no check more facts; what each check copies is no longer. */
#define MOST_CLAIMS 10000
#define MOST_CHECKS 10000
#define MOST_FACTS 64
#define MOST_SETTING 4096

/* What header lines set for the checks after them; a claim begins anew. */
typedef struct {
  clarke_case *c;
  char *profile, *against, *wrt, *prices;
  bool group_open; /* the last line was an `at`: the next one shares its facts */
  size_t line;
  clarke_error *err;
} reading;

void
clarke_case_init(clarke_case *c)
{
  memset(c, 0, sizeof *c);
  clarke_prog_init(&c->source);
  clarke_code_init(&c->program);
}

static void
facts_clear(clarke_facts *f)
{
  for (size_t i = 0; i < f->n; i++) {
    free(f->fact[i].key);
    free(f->fact[i].expect);
    free(f->fact[i].claimed);
  }
  free(f->fact);
}

void
clarke_case_clear(clarke_case *c)
{
  for (size_t i = 0; i < c->n_claims; i++) {
    free(c->claim[i].name);
    free(c->claim[i].where);
    free(c->claim[i].says);
    free(c->claim[i].note);
    free(c->claim[i].small);
    free(c->claim[i].cannot);
  }
  for (size_t i = 0; i < c->n_facts; i++)
    facts_clear(&c->facts[i]);
  for (size_t i = 0; i < c->n_checks; i++) {
    free(c->check[i].at);
    free(c->check[i].profile);
    free(c->check[i].against);
    free(c->check[i].wrt);
    free(c->check[i].prices);
  }
  free(c->claim);
  free(c->facts);
  free(c->check);
  free(c->path);
  clarke_code_clear(&c->program);
  clarke_prog_clear(&c->source);
  clarke_file_clear(&c->file);
  clarke_case_init(c);
}

static clarke_status
wrong(const reading *r, const char *what)
{
  return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: %s", r->c->name, r->line, what);
}

static clarke_status
no_memory(const reading *r)
{
  return clarke_no_memory(r->err);
}

/* Room for one more zeroed element of an array of n; NULL when out of memory. */
static void *
one_more(void **array, size_t *n, size_t size)
{
  void *grown = realloc(*array, (*n + 1) * size);

  if (grown == NULL)
    return NULL;
  *array = grown;
  return memset((char *)grown + (*n)++ * size, 0, size);
}

/* text grows by more, after a separator. */
static clarke_status
append(const reading *r, char **text, const char *separator, const char *more)
{
  size_t n = *text != NULL ? strlen(*text) : 0, room = n + strlen(separator) + strlen(more) + 1;
  char *grown = realloc(*text, room);

  if (grown == NULL)
    return no_memory(r);
  grown[n] = '\0';
  if (n > 0)
    strcat(grown, separator);
  strcat(grown, more);
  *text = grown;
  return CLARKE_OK;
}

static clarke_status
set(const reading *r, char **text, const char *value)
{
  char *copy = strdup(value);

  if (copy == NULL)
    return no_memory(r);
  free(*text);
  *text = copy;
  return CLARKE_OK;
}

static clarke_claim *
current_claim(const reading *r)
{
  return &r->c->claim[r->c->n_claims - 1];
}

static clarke_status
begin_claim(reading *r, const char *name)
{
  clarke_claim *claim;

  if (*name == '\0' || strpbrk(name, " \t/\\%") != NULL)
    return wrong(r, "a claim's name is one word without '/', '\\' and '%'");
  if (r->c->n_claims == MOST_CLAIMS)
    return wrong(r, "too many claims");
  claim = one_more((void **)&r->c->claim, &r->c->n_claims, sizeof *claim);
  if (claim == NULL)
    return no_memory(r);
  claim->line = r->line;
  free(r->against);
  free(r->wrt);
  free(r->prices);
  r->against = r->wrt = r->prices = NULL;
  clarke_status status = set(r, &claim->name, name);
  return status == CLARKE_OK ? set(r, &r->profile, "like pytorch-2.13\n") : status;
}

static clarke_status
set_profile(reading *r, const char *name)
{
  free(r->profile);
  r->profile = NULL;
  clarke_status status = append(r, &r->profile, "", "like ");
  if (status == CLARKE_OK)
    status = append(r, &r->profile, "", name);
  return status == CLARKE_OK ? append(r, &r->profile, "", "\n") : status;
}

/* The length of a line's first two words: what a proxy or tie is about. */
static size_t
two_words(const char *line)
{
  size_t n = strcspn(line, " \t\n");

  n += strspn(line + n, " \t");
  return n + strcspn(line + n, " \t\n");
}

/* Adds a proxy line to a profile, in place of an earlier one about the same. */
static clarke_status
set_proxy(const reading *r, char **profile, const char *line)
{
  size_t n = two_words(line);

  if (strlen(*profile) + strlen(line) > MOST_SETTING)
    return wrong(r, "too many proxies");
  for (char *p = *profile; *p != '\0';) {
    size_t length = strcspn(p, "\n") + 1;

    if (two_words(p) == n && strncmp(p, line, n) == 0)
      memmove(p, p + length, strlen(p + length) + 1);
    else
      p += length;
  }
  clarke_status status = append(r, profile, "", line);
  return status == CLARKE_OK ? append(r, profile, "", "\n") : status;
}

/* The other profile begins as the one that is set. */
static clarke_status
set_other(reading *r, const char *line)
{
  const clarke_status status = r->against == NULL ? set(r, &r->against, r->profile) : CLARKE_OK;

  return status == CLARKE_OK ? set_proxy(r, &r->against, line) : status;
}

static clarke_status
begin_check(reading *r, const char *at, clarke_check_kind kind)
{
  clarke_case *c = r->c;
  clarke_check *check;
  clarke_status status;

  if (c->n_checks == MOST_CHECKS)
    return wrong(r, "too many checks");
  if (!r->group_open && one_more((void **)&c->facts, &c->n_facts, sizeof *c->facts) == NULL)
    return no_memory(r);
  check = one_more((void **)&c->check, &c->n_checks, sizeof *check);
  if (check == NULL)
    return no_memory(r);
  check->claim = c->n_claims - 1;
  check->facts = c->n_facts - 1;
  check->line = r->line;
  check->kind = kind;
  status = set(r, &check->at, at);
  if (status == CLARKE_OK)
    status = set(r, &check->profile, r->profile);
  if (status == CLARKE_OK && r->against != NULL)
    status = set(r, &check->against, r->against);
  if (status == CLARKE_OK && r->wrt != NULL)
    status = set(r, &check->wrt, r->wrt);
  if (status == CLARKE_OK && r->prices != NULL)
    status = set(r, &check->prices, r->prices);
  return status;
}

/* The fact about a key of the current checks, new or there already. */
static clarke_fact *
fact_about(const reading *r, const char *key)
{
  clarke_facts *f = &r->c->facts[r->c->n_facts - 1];
  clarke_fact *fact;

  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->fact[i].key, key) == 0)
      return &f->fact[i];
  if (f->n == MOST_FACTS)
    return NULL;
  fact = one_more((void **)&f->fact, &f->n, sizeof *fact);
  if (fact != NULL) {
    fact->line = r->line;
    fact->key = strdup(key);
  }
  return fact != NULL && fact->key != NULL ? fact : NULL;
}

/* expect KEY VALUE, claimed KEY VALUE. */
static clarke_status
add_fact(reading *r, bool claimed, char *text)
{
  char *value = text + strcspn(text, " \t");
  clarke_fact *fact;

  if (r->c->n_checks == 0 || r->c->check[r->c->n_checks - 1].claim != r->c->n_claims - 1)
    return wrong(r, "expect and claimed come after an at, network, line, suite, sweep or training");
  if (*value != '\0')
    *value++ = '\0';
  value += strspn(value, " \t");
  if (*value == '\0')
    return wrong(r, "expected a key and a value");
  if (!clarke_fact_key_known(text, r->c->check[r->c->n_checks - 1].kind))
    return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: no such key: '%s' (docs/reproduce.md)",
                       r->c->name, r->line, text);
  fact = fact_about(r, text);
  if (fact == NULL)
    return wrong(r, "too many facts, or out of memory");
  if ((claimed ? fact->claimed : fact->expect) != NULL)
    return wrong(r, "this is said twice");
  return set(r, claimed ? &fact->claimed : &fact->expect, value);
}

static clarke_status
claim_line(reading *r, const char *key, const char *value)
{
  clarke_claim *claim = current_claim(r);

  if (strcmp(key, "where") == 0)
    return append(r, &claim->where, " ", value);
  if (strcmp(key, "says") == 0)
    return append(r, &claim->says, " ", value);
  if (strcmp(key, "note") == 0)
    return append(r, &claim->note, " ", value);
  if (strcmp(key, "small") == 0)
    return append(r, &claim->small, " ", value);
  if (strcmp(key, "cannot-check") == 0)
    return append(r, &claim->cannot, " ", value);
  return clarke_fail(r->err, CLARKE_EINPUT,
                     "%s:%zu: '%s': expected claim, where, says, note, small, cannot-check, profile, "
                     "proxy, against, wrt, prices, at, network, line, suite, sweep, training, claimed or expect", r->c->name, r->line, key);
}

/* Does a line of that name begin a check? */
static bool
check_kind(clarke_check_kind *kind, const char *name)
{
  static const char *const names[] = {
    [CLARKE_CHECK_AT] = "at",       [CLARKE_CHECK_NETWORK] = "network", [CLARKE_CHECK_LINE] = "line",
    [CLARKE_CHECK_SUITE] = "suite", [CLARKE_CHECK_SWEEP] = "sweep",     [CLARKE_CHECK_TRAINING] = "training",
  };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) {
      *kind = (clarke_check_kind)i;
      return true;
    }
  return false;
}

/* One header line KEY VALUE; it may be written to. */
static clarke_status
header_line(reading *r, char *text)
{
  char *value = text + strcspn(text, " \t");
  bool group_open = r->group_open;
  clarke_check_kind kind;

  if (*text == '\0')
    return CLARKE_OK;
  if (*value != '\0')
    *value++ = '\0';
  value += strspn(value, " \t");
  r->group_open = false;
  if (strcmp(text, "claim") == 0)
    return begin_claim(r, value);
  if (r->c->n_claims == 0)
    return wrong(r, "the first header line is a claim");
  if (*value == '\0')
    return wrong(r, "expected a value");
  if ((strcmp(text, "profile") == 0 || strcmp(text, "wrt") == 0 || strcmp(text, "prices") == 0) && strlen(value) > MOST_SETTING)
    return wrong(r, "too long");
  if (strcmp(text, "profile") == 0)
    return set_profile(r, value);
  if (strcmp(text, "proxy") == 0)
    return set_proxy(r, &r->profile, value);
  if (strcmp(text, "against") == 0)
    return set_other(r, value);
  if (strcmp(text, "wrt") == 0)
    return set(r, &r->wrt, value);
  if (strcmp(text, "prices") == 0)
    return set(r, &r->prices, value);
  if (strcmp(text, "expect") == 0 || strcmp(text, "claimed") == 0)
    return add_fact(r, *text == 'c', value);
  if (check_kind(&kind, text) && kind != CLARKE_CHECK_AT)
    return begin_check(r, value, kind);
  if (strcmp(text, "at") != 0)
    return claim_line(r, text, value);
  r->group_open = group_open;
  clarke_status status = begin_check(r, value, CLARKE_CHECK_AT);
  r->group_open = true;
  return status;
}

static clarke_status
read_headers(reading *r)
{
  size_t n = clarke_prog_headers(NULL, 0, &r->c->source);
  clarke_prog_header *header = calloc(n + 1, sizeof *header);
  clarke_status status = CLARKE_OK;

  if (header == NULL)
    return no_memory(r);
  clarke_prog_headers(header, n, &r->c->source);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    char *line = strndup(header[i].text, header[i].length);

    r->line = header[i].line;
    status = line != NULL ? header_line(r, line) : no_memory(r);
    free(line);
  }
  free(header);
  return status;
}

/* Every check expects something, everything claimed has what is true beside it, every claim is
 * checked or says why it is not. */
static clarke_status
check_headers(reading *r)
{
  clarke_case *c = r->c;

  for (size_t i = 0; i < c->n_checks; i++) {
    const clarke_facts *f = &c->facts[c->check[i].facts];

    r->line = c->check[i].line;
    if (f->n == 0)
      return wrong(r, "nothing is expected here");
    for (size_t k = 0; k < f->n; k++)
      if (f->fact[k].expect == NULL) {
        r->line = f->fact[k].line;
        return wrong(r, "what is claimed needs an expect beside it: what is true");
      }
  }
  for (size_t i = 0; i < c->n_claims; i++) {
    bool checked = c->claim[i].cannot != NULL;

    for (size_t k = 0; k < c->n_checks; k++)
      checked = checked || c->check[k].claim == i;
    r->line = c->claim[i].line;
    if (!checked || c->claim[i].where == NULL || c->claim[i].says == NULL)
      return wrong(r, "a claim needs where, says, and an at, network, line, suite, sweep, training or cannot-check");
  }
  return c->n_claims > 0 ? CLARKE_OK
                         : clarke_fail(r->err, CLARKE_EINPUT, "%s: no claim in it", c->name);
}

static bool
has_program_checks(const clarke_case *c)
{
  for (size_t i = 0; i < c->n_checks; i++)
    if (c->check[i].kind == CLARKE_CHECK_AT || c->check[i].kind == CLARKE_CHECK_LINE)
      return true;
  return false;
}

clarke_status
clarke_case_read(clarke_case *c, const char *path, clarke_error *err)
{
  reading r = {.c = c, .err = err};
  const char *slash;
  clarke_status status;

  c->path = strdup(path);
  if (c->path == NULL)
    return no_memory(&r);
  slash = strrchr(c->path, '/');
  c->name = slash != NULL ? slash + 1 : c->path;
  status = clarke_file_read(&c->file, path, err);
  if (status == CLARKE_OK)
    status = clarke_prog_read(&c->source, c->file.data, c->file.size, c->name, err);
  if (status == CLARKE_OK)
    status = read_headers(&r);
  if (status == CLARKE_OK)
    status = check_headers(&r);
  if (status == CLARKE_OK && has_program_checks(c))
    status = clarke_prog_lower(&c->program, &c->source, err);
  free(r.profile);
  free(r.against);
  free(r.wrt);
  free(r.prices);
  return status;
}
