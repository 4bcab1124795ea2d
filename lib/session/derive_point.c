/* The point of --at: NAME=v,... once for each input, or arrays of an .npz by the inputs' names. */
#include "session/derive.h"

#include "base/text.h"
#include "format/npz.h"

#include <stdlib.h>
#include <string.h>

static size_t
find_input(size_t *first, const clarke_code *p, const char *name)
{
  *first = 0;
  for (size_t i = 0; i < p->n_inputs; i++) {
    if (strcmp(p->input[i].name, name) == 0)
      return i;
    *first += p->input[i].n;
  }
  return CLARKE_NONE;
}

/* Entries are dyadic rationals or integers: nothing is rounded. */
static clarke_status
set_array(clarke_derive_session *s, const clarke_tensor *t, const char *file, clarke_error *err)
{
  size_t first, i = find_input(&first, &s->program, t->name);
  const clarke_code_input *in;

  if (i == CLARKE_NONE)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s has no input '%s'", file, s->program.file,
                       t->name);
  in = &s->program.input[i];
  if (s->given[i])
    return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' is given twice", file, t->name);
  if (t->count != in->n)
    return clarke_fail(err, CLARKE_EINPUT, "%s: array '%s' has %zu entries, the input has %zu",
                       file, t->name, t->count, in->n);
  for (size_t k = 0; k < in->n; k++)
    if (t->real != NULL)
      mpq_set_d(s->at[first + k], t->real[k]);
    else
      mpq_set_si(s->at[first + k], (long)t->integer[k], 1);
  s->given[i] = true;
  return CLARKE_OK;
}

static clarke_status
set_arrays(clarke_derive_session *s, const char *path, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  clarke_file file = {0};
  clarke_tensors arrays;
  bool stored;
  clarke_status status = clarke_file_read(&file, path, err);

  if (status != CLARKE_OK)
    return status;
  clarke_tensors_init(&arrays);
  status = clarke_npz_parse(&arrays, &stored, file.data, file.size, name, err);
  for (size_t i = 0; i < arrays.n && status == CLARKE_OK; i++)
    status = set_array(s, &arrays.tensor[i], name, err);
  clarke_tensors_clear(&arrays);
  clarke_file_clear(&file);
  return status;
}

static clarke_status
all_given(const clarke_derive_session *s, size_t without, clarke_error *err)
{
  const clarke_code *p = &s->program;

  for (size_t i = 0; i < p->n_inputs; i++) {
    const clarke_code_input *in = &p->input[i];

    if (i == without && s->given[i])
      return clarke_fail(err, CLARKE_EINPUT, "input '%s' is swept: a value given for it has no meaning",
                         in->name);
    if (i != without && !s->given[i])
      return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' has no value: the point wants %s=%s (clarke derive --at %s=...)",
                         p->file, in->name, in->name, in->vector ? "V,V,..." : "V", in->name);
  }
  return CLARKE_OK;
}

clarke_status
clarke_derive_point(clarke_derive_session *s, const char *const *at, size_t n_at, size_t without, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  s->n_at = clarke_code_entries(&s->program);
  s->at = malloc((s->n_at + 1) * sizeof *s->at);
  s->given = calloc(s->program.n_inputs + 1, sizeof *s->given);
  for (size_t i = 0; s->at != NULL && i < s->n_at; i++)
    mpq_init(s->at[i]);
  if (s->at == NULL || s->given == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < n_at && status == CLARKE_OK; i++)
    status = clarke_ends_with(at[i], ".npz") ? set_arrays(s, at[i], err)
                                      : clarke_point_parse(s->at, s->given, &s->program, at[i], err);
  return status == CLARKE_OK ? all_given(s, without, err) : status;
}
