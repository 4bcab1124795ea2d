/* The file of trees (summation.h): one JSON object. */
#include "format/summation.h"

#include "format/object.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void
clarke_summations_init(clarke_summations *s)
{
  *s = (clarke_summations){0, NULL};
}

static void
sum_clear(clarke_summation *s)
{
  for (size_t i = 0; i < s->n_parts; i++)
    free(s->at[i].tree);
  free(s->at);
  free(s->part);
  free(s->name);
}

void
clarke_summations_clear(clarke_summations *s)
{
  for (size_t i = 0; i < s->n; i++)
    sum_clear(&s->sum[i]);
  free(s->sum);
  clarke_summations_init(s);
}

static clarke_status
read_text(char **to, const json_t *object, const char *key, clarke_error *err)
{
  return clarke_object_text(to, json_object_get(object, key), key, err);
}

/* [first, last] */
static clarke_status
read_range(size_t range[2], const json_t *object, const char *key, clarke_error *err)
{
  const json_t *j = json_object_get(object, key);

  if (!json_is_array(j) || json_array_size(j) != 2)
    return clarke_object_wrong(key, "the first and the last", err);
  for (size_t i = 0; i < 2; i++) {
    const json_t *end = json_array_get(j, i);

    if (!json_is_integer(end) || json_integer_value(end) < 0)
      return clarke_object_wrong(key, "the first and the last", err);
    range[i] = (size_t)json_integer_value(end);
  }
  return range[0] <= range[1] ? CLARKE_OK : clarke_object_wrong(key, "the first and the last", err);
}

/* "form" may be missing. */
static clarke_status
read_form(clarke_summation_form *form, const json_t *object, clarke_error *err)
{
  static const char *const names[] = {"first", "second", "sum", "fused"};
  const json_t *j = json_object_get(object, "form");

  *form = CLARKE_FORM_NONE;
  if (j == NULL)
    return CLARKE_OK;
  for (size_t i = 0; i < 4; i++)
    if (json_is_string(j) && strcmp(json_string_value(j), names[i]) == 0)
      *form = (clarke_summation_form)(CLARKE_FORM_FIRST + i);
  return *form != CLARKE_FORM_NONE ? CLARKE_OK
                                     : clarke_object_wrong("form", "\"first\", \"second\", \"sum\" or \"fused\"", err);
}

static clarke_status
read_part(clarke_summation_part *p, const json_t *j, clarke_error *err)
{
  clarke_status status = read_text(&p->tree, j, "tree", err);

  if (status == CLARKE_OK)
    status = read_form(&p->form, j, err);
  if (status == CLARKE_OK)
    status = read_range(p->row, j, "rows", err);
  return status == CLARKE_OK ? read_range(p->column, j, "columns", err) : status;
}

static clarke_status
read_parts(clarke_summation *s, const json_t *object, clarke_error *err)
{
  const json_t *list = json_object_get(object, "trees");
  clarke_status status = CLARKE_OK;

  if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > CLARKE_SUMMATION_TREES)
    return clarke_object_wrong("trees", "a list of 1 to 16", err);
  s->at = calloc(json_array_size(list), sizeof *s->at);
  if (s->at == NULL)
    return clarke_no_memory(err);
  while (s->n_parts < json_array_size(list) && status == CLARKE_OK) {
    s->n_parts++;
    status = read_part(&s->at[s->n_parts - 1], json_array_get(list, s->n_parts - 1), err);
  }
  return status;
}

static clarke_status
read_type(clarke_dtype *type, const json_t *object, clarke_error *err)
{
  const char *name = json_string_value(json_object_get(object, "type"));

  *type = CLARKE_F32;
  if (name != NULL && strcmp(name, clarke_dtype_name(CLARKE_F32)) == 0)
    return CLARKE_OK;
  *type = CLARKE_F64;
  return name != NULL && strcmp(name, clarke_dtype_name(CLARKE_F64)) == 0 ? CLARKE_OK
                                                                          : clarke_object_wrong("type", "\"float32\" or \"float64\"", err);
}

static clarke_status
read_sum(clarke_summation *s, const json_t *j, clarke_error *err)
{
  const json_t *leaves = json_object_get(j, "leaves");
  clarke_status status = read_text(&s->part, j, "part", err);

  if (status == CLARKE_OK)
    status = read_text(&s->name, j, "name", err);
  if (status == CLARKE_OK && (!json_is_integer(leaves) || json_integer_value(leaves) < 1))
    status = clarke_object_wrong("leaves", "a number, at least 1", err);
  if (status == CLARKE_OK) {
    s->leaves = (size_t)json_integer_value(leaves);
    status = read_type(&s->type, j, err);
  }
  return status == CLARKE_OK ? read_parts(s, j, err) : status;
}

static clarke_status
read_sums(clarke_summations *s, const json_t *j, clarke_error *err)
{
  const char *format = json_string_value(json_object_get(j, "format"));
  const json_t *version = json_object_get(j, "version"), *list = json_object_get(j, "sums");
  clarke_status status = CLARKE_OK;

  if (format == NULL || strcmp(format, "clarke-trees") != 0)
    return clarke_object_wrong("format", "\"clarke-trees\"", err);
  if (!json_is_integer(version) || json_integer_value(version) != 1)
    return clarke_object_wrong("version", "1", err);
  if (!json_is_array(list))
    return clarke_object_wrong("sums", "a list", err);
  s->sum = calloc(json_array_size(list) + 1, sizeof *s->sum);
  if (s->sum == NULL)
    return clarke_no_memory(err);
  while (s->n < json_array_size(list) && status == CLARKE_OK) {
    s->n++;
    status = read_sum(&s->sum[s->n - 1], json_array_get(list, s->n - 1), err);
  }
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "sum %zu", s->n);
}

clarke_status
clarke_summations_parse(clarke_summations *s, const void *data, size_t size, const char *file, clarke_error *err)
{
  json_t *j;
  clarke_status status = clarke_object_parse(&j, data, size, file, err);

  clarke_summations_clear(s);
  if (status != CLARKE_OK)
    return status;
  status = read_sums(s, j, err);
  json_decref(j);
  if (status == CLARKE_OK)
    return status;
  clarke_summations_clear(s);
  return clarke_fail_in(err, status, "%s", file);
}
