/* Functions, points and boxes for questions about regions (regions.h). */
#include "session/regions.h"

#include "base/text.h"
#include "format/file.h"
#include "format/npz.h"
#include "format/onnx.h"
#include "format/table.h"
#include "format/vnnlib.h"
#include "network/graph/build.h"
#include "network/graph/choose.h"
#include "network/graph/promote.h"
#include "program/unroll/unroll.h"
#include "program/hold.h"
#include "proof/write.h"
#include "session/names.h"
#include "session/sample.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

/* --- the function ---------------------------------------------------------------------------- */

void
clarke_region_function_init(clarke_region_function *f)
{
  memset(f, 0, sizeof *f);
  clarke_prog_init(&f->prog);
  clarke_graph_init(&f->graph);
  clarke_code_init(&f->program);
}

void
clarke_region_function_clear(clarke_region_function *f)
{
  clarke_rationals_free(f->stored, f->stored != NULL ? f->n_stored : 0);
  clarke_code_clear(&f->program);
  clarke_graph_clear(&f->graph);
  clarke_prog_clear(&f->prog);
  clarke_region_function_init(f);
}

/* The parameters named, or all. */
static clarke_status
mark_parameters(clarke_region_function *f, clarke_error *err)
{
  const bool all = strcmp(f->wrt, "params") == 0;
  char **names = NULL;
  size_t n = 0;
  clarke_status status = clarke_names_split(&names, &n, all ? NULL : f->wrt, "--wrt", err);

  if (status == CLARKE_OK)
    status = clarke_graph_wrt(&f->graph, names, n, err);
  if (status == CLARKE_OK)
    status = clarke_graph_check_wrt(&f->graph, err);
  clarke_names_free(names, n);
  return status;
}

static clarke_status
keep_stored(clarke_region_function *f, mpq_t *point, size_t n, clarke_error *err)
{
  f->n_stored = n - f->n_given;
  f->stored = clarke_rationals(f->n_stored);
  if (f->stored == NULL)
    return clarke_no_memory(err);
  for (size_t i = f->n_given; i < n; i++)
    mpq_set(f->stored[i - f->n_given], point[i]);
  return CLARKE_OK;
}

static clarke_status
unroll(clarke_region_function *f, const clarke_model *m, clarke_error *err)
{
  clarke_tensor x;
  mpq_t *point = NULL;
  size_t n = 0;
  clarke_status status;

  clarke_tensor_init(&x);
  status = clarke_sample_zeros(&x, m, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build(&f->graph, m, &x, err);
  if (status == CLARKE_OK && f->graph.samples != 1)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: its input is of %zu samples; expected one", m->file, f->graph.samples);
  if (status == CLARKE_OK && f->wrt != NULL)
    status = mark_parameters(f, err);
  if (status == CLARKE_OK)
    status = clarke_unroll(&f->program, &point, &n, &f->graph, &x, m->inputs[0].name, err);
  f->n_given = x.count;
  if (status == CLARKE_OK && n > x.count)
    status = keep_stored(f, point, n, err);
  clarke_rationals_free(point, n);
  clarke_tensor_clear(&x);
  return status;
}

static clarke_status
read_network(clarke_region_function *f, const clarke_file *file, const char *path, clarke_error *err)
{
  char **names = NULL;
  size_t n = 0;
  clarke_model model;
  clarke_status status;

  clarke_model_init(&model);
  status = clarke_onnx_parse_at(&model, file->data, file->size, path, err);
  if (status == CLARKE_OK)
    status = clarke_output_choose(&model, f->output, err);
  if (status == CLARKE_OK)
    status = clarke_names_split(&names, &n, f->wrt, "--wrt", err);
  if (status == CLARKE_OK)
    status = clarke_promote_constants(&model, names, n, err);
  clarke_names_free(names, n);
  if (status == CLARKE_OK)
    status = unroll(f, &model, err);
  clarke_model_clear(&model);
  return status;
}

/* Inputs of a program, by name. */
static clarke_status
mark_inputs(clarke_region_function *f, clarke_error *err)
{
  char **names = NULL;
  size_t n = 0;
  clarke_status status = clarke_names_split(&names, &n, f->wrt, "--wrt", err);

  if (status == CLARKE_OK)
    status = clarke_code_wrt(&f->program, names, n, err);
  clarke_names_free(names, n);
  return status;
}

clarke_status
clarke_region_function_open(clarke_region_function *f, const char *path, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  clarke_file file = {0};
  clarke_status status;

  if (!clarke_ends_with(name, ".onnx") && !clarke_ends_with(name, ".prog"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a program (.prog) or a network (.onnx)", name);
  if (f->output != NULL && !clarke_ends_with(name, ".onnx"))
    return clarke_fail(err, CLARKE_EINPUT, "%s is a program: an output is chosen of a network alone", name);
  status = clarke_file_read(&file, path, err);
  if (status == CLARKE_OK && clarke_ends_with(name, ".onnx"))
    status = read_network(f, &file, path, err);
  else if (status == CLARKE_OK)
    status = clarke_prog_parse(&f->program, file.data, file.size, name, err);
  f->network = clarke_ends_with(name, ".onnx");
  f->provable = status == CLARKE_OK && (!f->network || clarke_proof_of_steps(&f->program, true));
  memcpy(f->sha256, file.sha256, sizeof f->sha256);
  clarke_file_clear(&file);
  if (status == CLARKE_OK && f->wrt != NULL && clarke_ends_with(name, ".prog"))
    status = mark_inputs(f, err);
  f->n = status == CLARKE_OK ? clarke_code_entries(&f->program) : 0;
  f->n_given = f->stored != NULL ? f->n_given : f->n;
  return status;
}

clarke_status
clarke_region_function_hold(clarke_region_function *f, mpq_t **point, clarke_error *err)
{
  mpq_t *whole;

  if (f->wrt == NULL)
    return CLARKE_OK;
  whole = clarke_rationals(f->n);
  for (size_t i = 0; whole != NULL && i < f->n; i++)
    mpq_set(whole[i], i < f->n_given ? (*point)[i] : f->stored[i - f->n_given]);
  clarke_rationals_free(*point, f->n_given);
  *point = whole;
  if (whole == NULL)
    return clarke_no_memory(err);
  return clarke_code_hold(&f->program, whole, err);
}

clarke_status
clarke_region_function_may_prove(const clarke_region_function *f, const char *path, clarke_error *err)
{
  if (f->wrt == NULL || f->provable)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s: a proof with --wrt is of sums, products, piecewise functions and maxima; this network has other "
                     "steps", clarke_base_name(path));
}

clarke_status
clarke_region_function_spread(mpq_t **whole, const clarke_region_function *f, mpq_t *point, mpq_t *given, clarke_error *err)
{
  const clarke_code *p = &f->program;

  *whole = clarke_rationals(f->n);
  if (*whole == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0, i = 0; k < p->n_inputs; k++)
    for (size_t j = 0; j < p->input[k].n; j++, i++)
      mpq_set((*whole)[i], p->input[k].wrt ? *given++ : point[i]);
  return CLARKE_OK;
}

/* --- points ---------------------------------------------------------------------------------- */

static clarke_status
fail_length(const char *what, const char *where, size_t found, size_t n, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "%s: %s has %zu number%s; expected %zu, an entry of the input each", what, where, found,
                     found == 1 ? "" : "s", n);
}

static clarke_status
set_tensor(mpq_t *point, const clarke_tensor *t, size_t n, const char *what, const char *name, clarke_error *err)
{
  if (t == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s: expected one array, or one named x", what, name);
  if (t->count != n)
    return fail_length(what, name, t->count, n, err);
  for (size_t i = 0; i < n; i++)
    if (t->real != NULL)
      mpq_set_d(point[i], t->real[i]);
    else
      mpq_set_si(point[i], (long)t->integer[i], 1);
  return CLARKE_OK;
}

static clarke_status
read_arrays(mpq_t *point, const clarke_file *f, size_t n, const char *what, const char *name, clarke_error *err)
{
  clarke_tensors ts;
  bool stored;
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_arrays_parse(&ts, &stored, f->data, f->size, name, err);
  if (status == CLARKE_OK)
    status = set_tensor(point, ts.n == 1 ? &ts.tensor[0] : clarke_tensors_find(&ts, "x"), n, what, name, err);
  clarke_tensors_clear(&ts);
  return status;
}

static clarke_status
read_table(mpq_t *to, const clarke_file *f, size_t rows, size_t columns, const char *name, clarke_error *err)
{
  const size_t n = rows * columns;
  clarke_table t;
  clarke_status status;

  clarke_table_init(&t);
  status = clarke_table_parse(&t, f->data, f->size, name, err);
  if (status == CLARKE_OK && (t.rows * t.columns != n || (columns > 1 && t.columns != columns)))
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %zu by %zu numbers; expected %zu by %zu", name, t.rows, t.columns, rows, columns);
  for (size_t i = 0; status == CLARKE_OK && i < n; i++)
    mpq_set(to[i], t.value[i]);
  clarke_table_clear(&t);
  return status;
}

static clarke_status
read_list(mpq_t *point, const char *text, size_t n, const char *what, clarke_error *err)
{
  char word[256];
  size_t found = 0;

  for (const char *at = text; at != NULL; found++) {
    const size_t length = strcspn(at, ",");

    if (length >= sizeof word)
      return clarke_fail(err, CLARKE_EINPUT, "%s: a number of over 255 characters", what);
    memcpy(word, at, length);
    word[length] = '\0';
    if (found < n && !clarke_literal_parse(point[found], word + strspn(word, " ")))
      return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is no number, and there is no such file; expected numbers with commas between, "
                         "or a file", what, word);
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  return found == n ? CLARKE_OK : fail_length(what, "the list", found, n, err);
}

/* Has it characters of numbers alone? Then it names no file. */
static bool
is_list(const char *text)
{
  return text[strspn(text, "0123456789+-./,eExXaAbBcCdDfFhHpP ")] == '\0' && strpbrk(text, "0123456789") != NULL
         && !clarke_ends_with(text, ".npy") && !clarke_ends_with(text, ".npz");
}

static clarke_status
read_point(mpq_t *point, const char *text, size_t n, const char *what, clarke_error *err)
{
  const char *name = clarke_base_name(text);
  clarke_file file = {0};
  clarke_status status;

  if (is_list(text))
    return read_list(point, text, n, what, err);
  status = clarke_file_read(&file, text, err);
  if (status == CLARKE_OK && (clarke_ends_with(name, ".npy") || clarke_ends_with(name, ".npz")))
    status = read_arrays(point, &file, n, what, name, err);
  else if (status == CLARKE_OK)
    status = read_table(point, &file, n, 1, name, err);
  clarke_file_clear(&file);
  return status;
}

clarke_status
clarke_region_point(mpq_t **point, const char *text, size_t n, const char *what, clarke_error *err)
{
  clarke_status status;

  *point = clarke_rationals(n);
  if (*point == NULL)
    return clarke_no_memory(err);
  status = read_point(*point, text, n, what, err);
  if (status != CLARKE_OK) {
    clarke_rationals_free(*point, n);
    *point = NULL;
  }
  return status;
}

/* --- boxes ----------------------------------------------------------------------------------- */

static clarke_status
read_query(mpq_t *bounds, const clarke_file *f, size_t n, const char *name, clarke_error *err)
{
  clarke_vnnlib v;
  clarke_status status;

  clarke_vnnlib_init(&v);
  status = clarke_vnnlib_parse(&v, f->data, f->size, name, err);
  if (status == CLARKE_OK && v.n != n)
    status = fail_length("--box", name, v.n, n, err);
  for (size_t i = 0; status == CLARKE_OK && i < n; i++) {
    mpq_set(bounds[2 * i], v.lower[i]);
    mpq_set(bounds[2 * i + 1], v.upper[i]);
  }
  clarke_vnnlib_clear(&v);
  return status;
}

static clarke_status
check_box(mpq_t *bounds, size_t n, bool slice, const char *name, clarke_error *err)
{
  bool flat = true;

  for (size_t i = 0; i < n; i++) {
    const int order = mpq_cmp(bounds[2 * i], bounds[2 * i + 1]);

    if (order > 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: the box is empty: the lower bound of entry %zu is above the upper one", name, i);
    if (order == 0 && !slice)
      return clarke_fail(err, CLARKE_EINPUT, "%s: the box is flat: the bounds of entry %zu are equal (--slice holds it fixed)", name, i);
    flat = flat && order == 0;
  }
  return flat ? clarke_fail(err, CLARKE_EINPUT, "%s: the box is a point: all bounds are equal", name) : CLARKE_OK;
}

clarke_status
clarke_region_box(mpq_t **bounds, const char *path, size_t n, bool slice, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  clarke_file file = {0};
  clarke_status status;

  *bounds = clarke_rationals(2 * n);
  if (*bounds == NULL)
    return clarke_no_memory(err);
  status = clarke_file_read(&file, path, err);
  if (status == CLARKE_OK)
    status = clarke_ends_with(name, ".vnnlib") ? read_query(*bounds, &file, n, name, err)
                                               : read_table(*bounds, &file, n, 2, name, err);
  clarke_file_clear(&file);
  return status == CLARKE_OK ? check_box(*bounds, n, slice, name, err) : status;
}
