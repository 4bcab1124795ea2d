/* Vectors of files: JSON, npz, npy, safetensors. */
#include "step_report.h"

#include "base/text.h"
#include "exact/literal.h"
#include "format/file.h"
#include "format/npz.h"
#include "format/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_step_vectors_clear(clarke_step_vectors *v)
{
  for (size_t i = 0; i < v->n; i++) {
    free(v->vector[i].name);
    clarke_numbers_free(v->vector[i].x, v->vector[i].n);
  }
  free(v->vector);
  free(v->file);
  memset(v, 0, sizeof *v);
}

const clarke_step_vector *
clarke_step_vectors_find(const clarke_step_vectors *v, const char *name)
{
  for (size_t i = 0; i < v->n; i++)
    if (strcmp(v->vector[i].name, name) == 0)
      return &v->vector[i];
  return NULL;
}

/* A new vector of n zeros; NULL when out of memory. */
static clarke_step_vector *
append(clarke_step_vectors *v, const char *name, clarke_step_shape shape, bool scalar)
{
  const size_t n = shape.n;
  clarke_step_vector *grown = realloc(v->vector, (v->n + 1) * sizeof *grown), *one;

  if (grown == NULL)
    return NULL;
  v->vector = grown;
  one = &grown[v->n];
  *one = (clarke_step_vector){.name = strdup(name), .scalar = scalar, .shape = shape, .n = n, .x = clarke_numbers(n)};
  if (one->name == NULL || one->x == NULL) {
    free(one->name);
    clarke_numbers_free(one->x, one->x != NULL ? n : 0);
    return NULL;
  }
  v->n++;
  return one;
}

/* --- JSON ------------------------------------------------------------------------------------------------ */

/* A number as JSON has it, or a literal as text: 0.1 is one tenth in either. */
static bool
number_of(mpq_t q, const json_t *j)
{
  char text[40];

  if (json_is_string(j))
    return clarke_literal_parse(q, json_string_value(j));
  if (json_is_integer(j)) {
    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
    return clarke_literal_parse(q, text);
  }
  for (int digits = 1; json_is_real(j) && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, json_real_value(j));
    if (strtod(text, NULL) == json_real_value(j))
      return clarke_literal_parse(q, text);
  }
  return false;
}

#define MOST_AXES 8

/* The axes of lists in lists, by the first of each. */
static size_t
axes_of(size_t dims[MOST_AXES], const json_t *j)
{
  size_t rank = 0;

  for (; json_is_array(j) && rank < MOST_AXES; rank++) {
    dims[rank] = json_array_size(j);
    j = json_array_get(j, 0);
  }
  return rank;
}

/* The numbers of a list, or of lists in it, one after another; at: how many were read. */
static clarke_status
take_numbers(clarke_step_vector *one, size_t *at, const json_t *j, const size_t *dims, size_t rank, const char *file, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t q;

  if (rank > 0 && json_array_size(j) != dims[0])
    return clarke_fail(err, CLARKE_EINPUT, "%s: lists of '%s' are of several lengths, %zu and %zu", file, one->name, json_array_size(j), dims[0]);
  for (size_t i = 0; rank > 0 && i < dims[0] && status == CLARKE_OK; i++)
    status = take_numbers(one, at, json_array_get(j, i), dims + 1, rank - 1, file, err);
  if (rank > 0)
    return status;
  mpq_init(q);
  if (number_of(q, j))
    clarke_number_set_q(&one->x[(*at)++], q);
  else
    status = clarke_fail(err, CLARKE_EINPUT, "%s: entry %zu of '%s' is no finite number; expected one, or a text such as \"1/10\"", file, *at, one->name);
  mpq_clear(q);
  return status;
}

static clarke_status
take_json(clarke_step_vectors *v, const char *name, const json_t *j, clarke_error *err)
{
  size_t dims[MOST_AXES], at = 0;
  const size_t rank = axes_of(dims, j);
  clarke_step_vector *one = append(v, name, clarke_step_shape_of(dims, rank), rank == 0);

  return one != NULL ? take_numbers(one, &at, j, dims, rank, v->file, err) : clarke_no_memory(err);
}

static clarke_status
read_json(clarke_step_vectors *v, const clarke_file *file, const char *alone, clarke_error *err)
{
  json_error_t wrong;
  json_t *j = json_loadb((const char *)file->data, file->size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &wrong), *value;
  const char *name;
  clarke_status status = CLARKE_OK;

  if (j == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: line %d: no JSON: %s", v->file, wrong.line, wrong.text);
  if (!json_is_object(j))
    status = take_json(v, alone, j, err);
  else
    json_object_foreach(j, name, value)
      if (status == CLARKE_OK)
        status = take_json(v, name, value, err);
  json_decref(j);
  return status;
}

/* --- arrays ------------------------------------------------------------------------------------------------ */

static clarke_status
take_tensor(clarke_step_vectors *v, const clarke_tensor *t, const char *name, clarke_error *err)
{
  clarke_step_vector *one = append(v, name, clarke_step_shape_of(t->dims, t->rank), t->rank == 0);
  clarke_status status = one != NULL ? CLARKE_OK : clarke_no_memory(err);
  mpq_t q;

  mpq_init(q);
  for (size_t i = 0; i < t->count && status == CLARKE_OK; i++) {
    if (t->real != NULL)
      mpq_set_d(q, t->real[i]);
    else
      mpq_set_si(q, (long)t->integer[i], 1);
    clarke_number_set_q(&one->x[i], q);
  }
  mpq_clear(q);
  return status;
}

static clarke_status
read_arrays(clarke_step_vectors *v, const clarke_file *file, const char *path, const char *alone, clarke_error *err)
{
  clarke_tensors arrays;
  bool stored;
  clarke_status status;

  clarke_tensors_init(&arrays);
  status = clarke_ends_with(path, ".safetensors") ? clarke_safetensors_parse(&arrays, file->data, file->size, v->file, err)
                                                  : clarke_arrays_parse(&arrays, &stored, file->data, file->size, v->file, err);
  for (size_t i = 0; i < arrays.n && status == CLARKE_OK; i++)
    status = take_tensor(v, &arrays.tensor[i], clarke_ends_with(path, ".npy") ? alone : arrays.tensor[i].name, err);
  clarke_tensors_clear(&arrays);
  return status;
}

clarke_status
clarke_step_vectors_read(clarke_step_vectors *v, const char *path, const char *alone, clarke_error *err)
{
  const bool json = clarke_ends_with(path, ".json");
  clarke_file file = {0};
  clarke_status status;

  v->file = strdup(clarke_base_name(path));
  if (v->file == NULL)
    return clarke_no_memory(err);
  if (!json && !clarke_ends_with(path, ".npz") && !clarke_ends_with(path, ".npy") && !clarke_ends_with(path, ".safetensors"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a .json, .npz, .npy or .safetensors file", v->file);
  status = clarke_file_read(&file, path, err);
  if (status == CLARKE_OK)
    status = json ? read_json(v, &file, alone, err) : read_arrays(v, &file, path, alone, err);
  clarke_file_clear(&file);
  return status;
}

clarke_status
clarke_step_vectors_count(size_t *k, const clarke_step_vectors *v, clarke_error *err)
{
  const clarke_step_vector *found = clarke_step_vectors_find(v, "k");

  *k = 0;
  if (found == NULL)
    return CLARKE_OK;
  if (found->n != 1 || mpz_cmp_ui(mpq_denref(found->x[0].q), 1) != 0 || mpq_sgn(found->x[0].q) < 0 || mpq_cmp_ui(found->x[0].q, 1000000, 1) > 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'k' is no whole number from 0 to a million", v->file);
  *k = mpz_get_ui(mpq_numref(found->x[0].q));
  return CLARKE_OK;
}

clarke_status
clarke_step_vectors_gradient(const clarke_step_vector **g, const clarke_step_vectors *v, clarke_error *err)
{
  static const char *const names[] = {"g", "gradient", "grad", "theta"};

  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    *g = clarke_step_vectors_find(v, names[i]);
    if (*g != NULL)
      return CLARKE_OK;
  }
  return clarke_fail(err, CLARKE_EINPUT, "%s: no 'g' (or 'gradient', 'grad', 'theta')", v->file);
}
