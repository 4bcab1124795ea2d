#include "format/run_update.h"

#include "base/text.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

void
clarke_run_update_init(clarke_run_update *u)
{
  memset(u, 0, sizeof *u);
  mpq_init(u->scale);
}

static void
setting_clear(clarke_run_setting *s)
{
  free(s->name);
  free(s->text);
  clarke_rationals_free(s->number, s->n);
}

static void
group_clear(clarke_run_group *g)
{
  free(g->path);
  for (size_t i = 0; i < g->n_parameters; i++)
    free(g->parameter[i]);
  for (size_t i = 0; i < g->n_settings; i++)
    setting_clear(&g->setting[i]);
  free(g->parameter);
  free(g->setting);
}

void
clarke_run_update_clear(clarke_run_update *u)
{
  free(u->optimizer);
  free(u->module);
  free(u->skipped);
  free(u->missing);
  for (size_t i = 0; i < u->n_groups; i++)
    group_clear(&u->group[i]);
  free(u->group);
  mpq_clear(u->scale);
  memset(u, 0, sizeof *u);
}

static clarke_status
fail(const char *key, const char *expected, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "'update': '%s': expected %s", key, expected);
}

/* May be missing, or null, where it is not needed. */
static clarke_status
read_text(char **to, const json_t *object, const char *key, bool needed, clarke_error *err)
{
  const json_t *j = json_object_get(object, key);

  if (!needed && (j == NULL || json_is_null(j)))
    return CLARKE_OK;
  if (!json_is_string(j))
    return fail(key, "a text", err);
  return clarke_text_copy(to, json_string_value(j), json_string_length(j), key, err);
}

/* A whole number, or a text that is a hexadecimal float. */
static bool
number_of(mpq_t q, const json_t *j)
{
  if (json_is_integer(j)) {
    mpq_set_si(q, json_integer_value(j), 1);
    return true;
  }
  return json_is_string(j) && strncmp(json_string_value(j) + (*json_string_value(j) == '-'), "0x", 2) == 0
         && clarke_literal_parse(q, json_string_value(j));
}

/* What a tensor of one number holds, or j itself. bits: those of the tensor's type, if they are fewer. */
static const json_t *
held_by(long *bits, const json_t *j)
{
  const json_t *const value = json_object_get(j, "value");
  const char *const type = json_string_value(json_object_get(j, "tensor"));

  if (value == NULL)
    return j;
  if (type == NULL || strcmp(type, "float64") != 0) {
    const long own = type == NULL ? 0 : strcmp(type, "float32") == 0 ? 24 : strcmp(type, "float16") == 0 ? 11 : strcmp(type, "bfloat16") == 0 ? 8 : 0;

    *bits = own < *bits ? own : *bits;
  }
  return value;
}

static clarke_status
read_setting(clarke_run_setting *s, const char *name, const json_t *j, clarke_error *err)
{
  const json_t *value;
  size_t n;
  clarke_status status = clarke_text_copy(&s->name, name, strlen(name), "a setting", err);

  s->bits = 53;
  value = held_by(&s->bits, j);
  n = json_is_array(value) ? json_array_size(value) : 1;
  s->is_null = json_is_null(value);
  s->is_flag = json_is_boolean(value);
  s->flag = json_is_true(value);
  s->number = clarke_rationals(n);
  if (status == CLARKE_OK && s->number == NULL)
    return clarke_no_memory(err);
  s->lacks_first = n > 1 && json_is_null(json_array_get(value, 0));
  s->n = s->lacks_first;
  for (size_t i = s->n; i < n && status == CLARKE_OK; i++)
    s->n += number_of(s->number[i], json_is_array(value) ? held_by(&s->bits, json_array_get(value, i)) : value);
  if (s->n < n) { /* all of them are numbers, or it is none */
    clarke_rationals_free(s->number, n);
    s->number = NULL;
    s->n = 0;
    s->lacks_first = false;
  }
  if (status == CLARKE_OK && json_is_string(value) && s->n == 0)
    status = clarke_text_copy(&s->text, json_string_value(value), json_string_length(value), name, err);
  return status;
}

static clarke_status
read_parameters(clarke_run_group *g, const json_t *list, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (!json_is_array(list))
    return fail("parameters", "a list of texts", err);
  g->parameter = calloc(json_array_size(list) + 1, sizeof *g->parameter);
  if (g->parameter == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < json_array_size(list) && status == CLARKE_OK; i++) {
    const json_t *j = json_array_get(list, i);

    if (!json_is_string(j))
      return fail("parameters", "a list of texts", err);
    status = clarke_text_copy(&g->parameter[i], json_string_value(j), json_string_length(j), "parameters", err);
    g->n_parameters++;
  }
  return status;
}

static clarke_status
read_group(clarke_run_group *g, json_t *j, clarke_error *err)
{
  const char *name;
  json_t *value;
  clarke_status status = read_text(&g->path, j, "path", true, err);

  if (status == CLARKE_OK)
    status = read_parameters(g, json_object_get(j, "parameters"), err);
  g->setting = status == CLARKE_OK ? calloc(json_object_size(j) + 1, sizeof *g->setting) : NULL;
  if (status == CLARKE_OK && g->setting == NULL)
    return clarke_no_memory(err);
  json_object_foreach(j, name, value)
    if (status == CLARKE_OK && strcmp(name, "path") != 0 && strcmp(name, "parameters") != 0)
      status = read_setting(&g->setting[g->n_settings++], name, value, err);
  return status;
}

static clarke_status
read_groups(clarke_run_update *u, const json_t *list, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (list == NULL && u->skipped != NULL)
    return CLARKE_OK;
  if (!json_is_array(list))
    return fail("groups", "a list", err);
  u->group = calloc(json_array_size(list) + 1, sizeof *u->group);
  if (u->group == NULL)
    return clarke_no_memory(err);
  while (u->n_groups < json_array_size(list) && status == CLARKE_OK) {
    clarke_run_group *g = &u->group[u->n_groups];

    status = read_group(g, json_array_get(list, u->n_groups++), err);
  }
  return status;
}

/* A GradScaler's numbers, for steps that divide by the scale themselves. */
static clarke_status
read_scaler(clarke_run_update *u, const json_t *j, clarke_error *err)
{
  const json_t *scale = json_object_get(j, "grad_scale"), *found = json_object_get(j, "found_inf");
  mpq_t q;
  bool good;

  mpq_init(q);
  u->scaled = scale != NULL;
  good = found == NULL || number_of(q, found);
  u->found_inf = mpq_sgn(q) != 0;
  mpq_clear(q);
  if (!good)
    return fail("found_inf", "a text that is a hexadecimal float", err);
  if (scale != NULL && (!number_of(u->scale, scale) || mpq_sgn(u->scale) <= 0))
    return fail("grad_scale", "a text that is a hexadecimal float above 0", err);
  return CLARKE_OK;
}

clarke_status
clarke_run_update_read(clarke_run_update *u, const json_t *j, clarke_error *err)
{
  clarke_status status;

  u->there = j != NULL;
  u->averages = json_is_true(json_object_get(j, "averages"));
  if (j == NULL)
    return CLARKE_OK;
  if (!json_is_object(j))
    return clarke_fail(err, CLARKE_EINPUT, "'update': expected an object");
  status = read_text(&u->optimizer, j, "optimizer", true, err);
  if (status == CLARKE_OK)
    status = read_text(&u->module, j, "module", false, err);
  if (status == CLARKE_OK)
    status = read_text(&u->skipped, j, "skipped", false, err);
  if (status == CLARKE_OK)
    status = read_text(&u->missing, j, "missing", false, err);
  if (status == CLARKE_OK)
    status = read_groups(u, json_object_get(j, "groups"), err);
  return status == CLARKE_OK ? read_scaler(u, j, err) : status;
}

const clarke_run_setting *
clarke_run_setting_find(const clarke_run_group *g, const char *name)
{
  for (size_t i = 0; i < g->n_settings; i++)
    if (strcmp(g->setting[i].name, name) == 0)
      return &g->setting[i];
  return NULL;
}
