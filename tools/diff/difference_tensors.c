/* Tensors compared, entry by entry. */
#include "difference.h"

#include "base/text.h"
#include "session/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 160

/* "float32 [2, 3]" */
static void
print_kind(char text[TEXT], const clarke_tensor *t)
{
  size_t n = (size_t)snprintf(text, TEXT, "%s [", clarke_dtype_name(t->dtype));

  for (size_t i = 0; i < t->rank && n < TEXT; i++)
    n += (size_t)snprintf(text + n, TEXT - n, "%s%zu", i > 0 ? ", " : "", t->dims[i]);
  if (n < TEXT)
    snprintf(text + n, TEXT - n, "]");
}

/* "[0, 2]" */
static void
print_index(char text[TEXT], const clarke_tensor *t, size_t entry)
{
  size_t at[CLARKE_MAX_RANK], n = 1;

  for (size_t i = t->rank; i-- > 0; entry /= t->dims[i])
    at[i] = entry % t->dims[i];
  text[0] = '[';
  text[1] = '\0';
  for (size_t i = 0; i < t->rank && n < TEXT; i++)
    n += (size_t)snprintf(text + n, TEXT - n, "%s%zu", i > 0 ? ", " : "", at[i]);
  if (n < TEXT)
    snprintf(text + n, TEXT - n, "]");
}

/* As many digits as tell it from every other of its type. */
static void
print_entry(char text[TEXT], const clarke_tensor *t, size_t i)
{
  if (t->real != NULL)
    snprintf(text, TEXT, "%.*g", t->dtype == CLARKE_F64 ? 17 : 9, t->real[i]);
  else
    snprintf(text, TEXT, "%" PRId64, t->integer[i]);
}

/* Zeros of both signs are one number. */
static double
distance(const clarke_tensor *a, const clarke_tensor *b, size_t i)
{
  if (a->real != NULL)
    return fabs(a->real[i] - b->real[i]);
  return a->integer[i] == b->integer[i] ? 0 : fmax(fabs((double)a->integer[i] - (double)b->integer[i]), 1);
}

static bool
is_alike(const clarke_tensor *a, const clarke_tensor *b)
{
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static void
add_entries(clarke_differences *d, const char *name, const clarke_tensor *a, const clarke_tensor *b)
{
  size_t differing = 0, worst = 0;
  double most = 0;
  char index[TEXT], first[TEXT], second[TEXT], *at;

  for (size_t i = 0; i < a->count; i++) {
    const double far = distance(a, b, i);

    differing += far > 0;
    if (far > most) {
      most = far;
      worst = i;
    }
  }
  if (differing == 0)
    return;
  print_index(index, a, worst);
  print_entry(first, a, worst);
  print_entry(second, b, worst);
  at = clarke_text_print("%s%s", name, index);
  clarke_json_append(&d->rows, at == NULL ? NULL : json_pack("{s:o, s:s, s:s, s:I, s:I}", "at", clarke_json_text(at), "first", first, "second", second,
                                                             "entries", (json_int_t)differing, "of", (json_int_t)a->count));
  free(at);
}

/* One of them may be NULL. */
static clarke_status
add_tensor(clarke_differences *d, const char *before, const clarke_tensor *a, const clarke_tensor *b, clarke_error *err)
{
  char *name = clarke_text_print("%s%s", before, a != NULL ? a->name : b->name), kind[2][TEXT] = {"", ""};

  if (name == NULL)
    return clarke_no_memory(err);
  d->compared++;
  if (a != NULL)
    print_kind(kind[0], a);
  if (b != NULL)
    print_kind(kind[1], b);
  if (a != NULL && b != NULL && is_alike(a, b))
    add_entries(d, name, a, b);
  else
    clarke_differences_add(d, name, a != NULL ? kind[0] : NULL, b != NULL ? kind[1] : NULL);
  free(name);
  return CLARKE_OK;
}

clarke_status
clarke_differences_of_tensors(clarke_differences *d, const char *before, const clarke_tensors *first, const clarke_tensors *second, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0, j = 0; status == CLARKE_OK && (i < first->n || j < second->n);) {
    const clarke_tensor *a = i < first->n ? &first->tensor[i] : NULL, *b = j < second->n ? &second->tensor[j] : NULL;
    const int order = a == NULL ? 1 : b == NULL ? -1 : strcmp(a->name, b->name);

    status = add_tensor(d, before, order <= 0 ? a : NULL, order >= 0 ? b : NULL, err);
    i += order <= 0;
    j += order >= 0;
  }
  return status;
}
