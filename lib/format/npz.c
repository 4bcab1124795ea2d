/* .npz archives (numpy.savez, savez_compressed): a ZIP whose members are .npy arrays. */
#include "format/npz.h"

#include "base/text.h"
#include "format/archive.h"
#include "format/layout.h"
#include "format/npy.h"

#include <stdlib.h>
#include <string.h>

/* Reads the array's start, checks what it says against the member's size, and only then makes room
 * for all of it. */
static clarke_status
read_array(clarke_tensor *t, zip_file_t *f, const char *name, size_t size, unsigned char *start,
           clarke_error *err)
{
  const size_t first = size < CLARKE_NPY_MAX_START ? size : CLARKE_NPY_MAX_START;
  clarke_npy_header h;
  unsigned char *data;
  clarke_status status = clarke_archive_bytes(f, start, first, err);

  if (status == CLARKE_OK)
    status = clarke_npy_read_header(&h, start, first, size, err);
  if (status != CLARKE_OK)
    return status;
  data = malloc(h.extent.bytes + 1);
  if (data == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", h.extent.bytes);
  memcpy(data, start + h.start, first - h.start);
  status = clarke_archive_bytes(f, data + (first - h.start), size - first, err);
  if (status == CLARKE_OK)
    status = clarke_archive_check_end(f, err);
  if (status == CLARKE_OK)
    status = clarke_npy_read_data(t, &h, name, data, err);
  free(data);
  return status;
}

static clarke_status
read_member(clarke_tensor *t, const clarke_archive *a, size_t index, const char *name, size_t size,
            clarke_error *err)
{
  zip_file_t *f;
  unsigned char *start;
  clarke_status status = clarke_archive_enter(&f, a, index, err);

  if (status != CLARKE_OK)
    return status;
  start = malloc(CLARKE_NPY_MAX_START);
  if (start == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for its header");
  else
    status = read_array(t, f, name, size, start, err);
  free(start);
  zip_fclose(f);
  return status;
}

/* *name = the member's name without ".npy". */
static clarke_status
array_name(char **name, const clarke_archive *a, size_t index, clarke_error *err)
{
  clarke_status status = clarke_archive_name(name, a, index, err);
  size_t n;

  if (status != CLARKE_OK)
    return status;
  n = strlen(*name);
  if (n <= 4 || strcmp(*name + n - 4, ".npy") != 0) {
    status = clarke_fail(err, CLARKE_EINPUT, "member \"%s\" is no NAME.npy", *name);
    free(*name);
    *name = NULL;
    return status;
  }
  if (n >= 8 && strncmp(*name + n - 8, ".npy", 4) == 0) {
    status = clarke_fail(err, CLARKE_EINPUT, "member \"%s\": numpy may take it for NAME.npy or for NAME",
                         *name);
    free(*name);
    *name = NULL;
    return status;
  }
  (*name)[n - 4] = '\0';
  return CLARKE_OK;
}

static clarke_status
read_one(clarke_tensor *t, clarke_archive *a, size_t index, clarke_error *err)
{
  char *name;
  size_t size;
  clarke_status status = array_name(&name, a, index, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_archive_look(&size, a, index, err);
  if (status == CLARKE_OK)
    status = read_member(t, a, index, name, size, err);
  if (status != CLARKE_OK)
    clarke_fail_in(err, status, "member \"%s.npy\"", name);
  free(name);
  return status;
}

clarke_status
clarke_npz_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size, const char *file,
                 clarke_error *err)
{
  clarke_archive a;
  clarke_status status;

  clarke_tensors_clear(ts);
  status = clarke_archive_open(&a, data, size, "an .npz archive", err);
  if (status == CLARKE_OK)
    status = clarke_tensors_alloc(ts, a.n, err);
  for (size_t i = 0; i < a.n && status == CLARKE_OK; i++)
    status = read_one(&ts->tensor[i], &a, i, err);
  if (status == CLARKE_OK)
    status = clarke_layout_check(data, size, err);
  if (status == CLARKE_OK)
    status = clarke_tensors_sort(ts, err);
  *stored = status == CLARKE_OK && a.stored;
  clarke_archive_close(&a);
  if (status == CLARKE_OK)
    return status;
  clarke_tensors_clear(ts);
  return clarke_fail_in(err, status, "%s", file);
}

clarke_status
clarke_arrays_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size, const char *file,
                    clarke_error *err)
{
  clarke_status status;

  if (!clarke_ends_with(file, ".npy"))
    return clarke_npz_parse(ts, stored, data, size, file, err);
  *stored = true;
  status = clarke_tensors_alloc(ts, 1, err);
  return status == CLARKE_OK ? clarke_npy_parse(&ts->tensor[0], data, size, file, err) : status;
}
