#include "graph/profile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN "pytorch-2.13 (also: pytorch)"

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
  free(p->proxy);
  free(p->op);
  free(p->name);
  clarke_profile_init(p);
}

/* [+-]digits[/digits], a decimal such as 0.25, or left, right. */
static bool
parse_proxy(clarke_proxy *proxy, const char *text)
{
  const char *point = strchr(text, '.');
  char digits[128];
  size_t n = strlen(text);

  proxy->kind = strcmp(text, "left") == 0    ? CLARKE_PROXY_LEFT
                : strcmp(text, "right") == 0 ? CLARKE_PROXY_RIGHT
                                             : CLARKE_PROXY_VALUE;
  if (proxy->kind != CLARKE_PROXY_VALUE)
    return true;
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
  if (mpq_set_str(proxy->value, digits, 10) != 0 || mpz_sgn(mpq_denref(proxy->value)) <= 0)
    return false;
  mpq_canonicalize(proxy->value);
  return true;
}

/* The table of the operators' own files. */
static clarke_status
load_pytorch(clarke_profile *p, const char *name, clarke_error *err)
{
  const clarke_op *op;
  size_t n = 0;

  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++)
    n += op->n_kinks > 0;
  p->name = strdup(name);
  p->op = calloc(n, sizeof *p->op);
  p->proxy = calloc(n, sizeof *p->proxy);
  if (p->name == NULL || p->op == NULL || p->proxy == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++) {
    if (op->n_kinks == 0)
      continue;
    p->op[p->n] = op;
    for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
      mpq_init(p->proxy[p->n][k].value);
    p->n++;
    for (size_t k = 0; k < op->n_kinks; k++)
      if (!parse_proxy(&p->proxy[p->n - 1][k], op->pytorch_2_13[k]))
        return clarke_fail(err, CLARKE_EINTERNAL, "operator %s has a bad proxy", op->name);
  }
  return CLARKE_OK;
}

static clarke_status
parse_line(clarke_profile *p, char *line, const char *file, size_t number, clarke_error *err)
{
  char *hash = strchr(line, '#'), *save = NULL;
  char *name, *kink, *value;
  size_t i = 0;

  if (hash != NULL)
    *hash = '\0';
  name = strtok_r(line, " \t\r", &save);
  if (name == NULL)
    return CLARKE_OK;
  kink = strtok_r(NULL, " \t\r", &save);
  value = strtok_r(NULL, " \t\r", &save);
  if (kink == NULL || value == NULL || strtok_r(NULL, " \t\r", &save) != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: expected: OPERATOR KINK VALUE", file, number);
  while (i < p->n && strcmp(p->op[i]->name, name) != 0)
    i++;
  if (i == p->n)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: no operator with kinks is called '%s'", file,
                       number, name);
  if (strlen(kink) != 1 || kink[0] < '0' || (size_t)(kink[0] - '0') >= p->op[i]->n_kinks)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: %s has kinks 0 to %zu, not '%s'", file, number,
                       name, p->op[i]->n_kinks - 1, kink);
  if (!parse_proxy(&p->proxy[i][kink[0] - '0'], value))
    return clarke_fail(err, CLARKE_EINPUT,
                       "%s:%zu: '%s': expected a rational such as 1/2, or left, or right", file,
                       number, value);
  return CLARKE_OK;
}

clarke_status
clarke_profile_parse(clarke_profile *p, const char *text, size_t size, const char *file,
                     clarke_error *err)
{
  clarke_status status = load_pytorch(p, file, err);
  size_t at = 0;

  for (size_t number = 1; status == CLARKE_OK && at < size; number++) {
    const char *end = memchr(text + at, '\n', size - at);
    size_t n = end != NULL ? (size_t)(end - text) - at : size - at;
    char line[512];

    if (n >= sizeof line || memchr(text + at, '\0', n) != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "%s:%zu: not a line of text", file, number);
    memcpy(line, text + at, n);
    line[n] = '\0';
    status = parse_line(p, line, file, number, err);
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

clarke_status
clarke_profile_load(clarke_profile *p, const char *name, clarke_error *err)
{
  if (strcmp(name, "pytorch") == 0 || strcmp(name, "pytorch-2.13") == 0)
    return load_pytorch(p, "pytorch-2.13", err);
  if (strpbrk(name, "/.") != NULL)
    return load_file(p, name, err);
  return clarke_fail(err, CLARKE_EINPUT, "no profile '%s'; known: %s, or a file", name, KNOWN);
}

const clarke_proxy *
clarke_profile_find(const clarke_profile *p, const clarke_op *op, size_t kink)
{
  for (size_t i = 0; i < p->n; i++)
    if (p->op[i] == op)
      return kink < op->n_kinks ? &p->proxy[i][kink] : NULL;
  return NULL;
}
