/* Tensors of a checkpoint and the storages that they are views of. */
#include "format/pt_inside.h"
#include "base/limit.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* torch.save numbers the storages; no longer key is read. */
#define MAX_KEY 200

static clarke_status
find_storage(clarke_pt_entry *e, const clarke_pt *c, clarke_error *err)
{
  const size_t width = clarke_dtype_size((clarke_dtype)e->storage->what);
  char name[MAX_KEY + 8];

  if (e->key_size > MAX_KEY || !clarke_text_valid(e->key, e->key_size))
    return clarke_fail(err, CLARKE_EINPUT, "its storage's key is not text of at most %d bytes",
                       MAX_KEY);
  snprintf(name, sizeof name, "data/%.*s", (int)e->key_size, e->key);
  e->member = clarke_pt_find(c, name);
  if (e->member == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "its storage \"%s%s\" is missing", c->folder, name);
  if (e->member->size % width != 0 || (int64_t)(e->member->size / width) != e->storage->integer)
    return clarke_fail(err, CLARKE_EINPUT, "its storage \"%s%s\" has %zu bytes; expected %lld "
                       "entries of %s", c->folder, name, e->member->size,
                       (long long)e->storage->integer,
                       clarke_dtype_name((clarke_dtype)e->storage->what));
  return CLARKE_OK;
}

/* Does the storage have every entry that the view reaches? */
static clarke_status
check_reach(const clarke_pt_entry *e, clarke_error *err)
{
  const size_t entries = (size_t)e->storage->integer;
  size_t left;

  if (e->extent.count == 0)
    return CLARKE_OK;
  if (e->view.offset >= entries)
    return clarke_fail(err, CLARKE_EINPUT, "%s begins at entry %zu of a storage of %zu",
                       e->extent.text, e->view.offset, entries);
  left = entries - 1 - e->view.offset;
  for (size_t k = 0; k < e->view.rank; k++) {
    const size_t steps = e->view.dims[k] - 1, stride = e->view.strides[k];

    if (steps != 0 && stride > left / steps)
      return clarke_fail(err, CLARKE_EINPUT, "%s, from entry %zu, reaches past the %zu entries of "
                         "its storage (stride %zu of dimension %zu)", e->extent.text,
                         e->view.offset, entries, stride, k);
    left -= steps * stride;
  }
  return CLARKE_OK;
}

static clarke_status
check_entry(clarke_pt_entry *e, const clarke_pt *c, clarke_error *err)
{
  clarke_status status = clarke_extent_of(&e->extent, (clarke_dtype)e->storage->what, e->view.rank,
                                          e->view.dims, err);

  if (status == CLARKE_OK)
    status = find_storage(e, c, err);
  if (status == CLARKE_OK)
    status = check_reach(e, err);
  return status == CLARKE_OK ? status
                             : clarke_fail_in(err, status, "tensor \"%s\"", clarke_pt_show(e).text);
}

/* A storage has one type: PyTorch takes the first that is stated, whatever others say. */
static clarke_status
check_same_storage(const clarke_pt_entry *e, const clarke_pt_entry *before, clarke_error *err)
{
  if (e->member != before->member || e->storage->what == before->storage->what)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT,
                     "tensors \"%s\" and \"%s\" share a storage that is %s to one and %s to the "
                     "other", clarke_pt_show(before).text, clarke_pt_show(e).text,
                     clarke_dtype_name((clarke_dtype)before->storage->what),
                     clarke_dtype_name((clarke_dtype)e->storage->what));
}

clarke_status
clarke_pt_check_entries(clarke_pt *c, clarke_error *err)
{
  size_t limit = CLARKE_MAX_SHARING * c->archive.size, total = 0;
  clarke_status status = CLARKE_OK;

  if (c->archive.unpacked > limit)
    limit = (size_t)c->archive.unpacked;
  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++) {
    status = check_entry(&c->entries[i], c, err);
    total += status == CLARKE_OK ? c->entries[i].extent.bytes : 0;
    if (status == CLARKE_OK && total > limit)
      status = clarke_fail(err, CLARKE_ENOMEM,
                           "the tensors share storages so that they hold more than %d times the "
                           "file's bytes", CLARKE_MAX_SHARING);
  }
  if (c->n > 1 && status == CLARKE_OK)
    qsort(c->entries, c->n, sizeof *c->entries, clarke_pt_by_storage);
  for (size_t i = 1; i < c->n && status == CLARKE_OK; i++)
    status = check_same_storage(&c->entries[i], &c->entries[i - 1], err);
  return status;
}

static bool
is_row_major(const clarke_pickle_view *v)
{
  size_t step = 1;

  for (size_t k = v->rank; k-- > 0; step *= v->dims[k])
    if (v->dims[k] != 1 && v->strides[k] != step)
      return false;
  return true;
}

/* The view's entries out of its storage's bytes. */
static clarke_status
decode_view(clarke_tensor *t, const clarke_pt_entry *e, const unsigned char *bytes, bool big_endian,
            clarke_error *err)
{
  const size_t width = clarke_dtype_size(t->dtype);
  unsigned char *ordered;
  clarke_status status;

  if (e->extent.count == 0)
    return CLARKE_OK;
  bytes += e->view.offset * width;
  if (is_row_major(&e->view))
    return clarke_tensor_decode(t, bytes, big_endian, err);
  ordered = malloc(e->extent.bytes);
  if (ordered == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", e->extent.bytes);
  clarke_extent_gather(ordered, bytes, &e->extent, width, e->view.rank, e->view.dims,
                       e->view.strides);
  status = clarke_tensor_decode(t, ordered, big_endian, err);
  free(ordered);
  return status;
}

static clarke_status
decode_entry(clarke_tensor *t, const clarke_pt_entry *e, const unsigned char *bytes, bool big_endian,
             clarke_error *err)
{
  char *name;
  clarke_status status = clarke_text_copy(&name, e->name, e->name_size, "a tensor's name", err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_tensor_shape(t, name, (clarke_dtype)e->storage->what, e->view.rank, e->view.dims,
                               err);
  free(name);
  return status == CLARKE_OK ? decode_view(t, e, bytes, big_endian, err) : status;
}

clarke_status
clarke_pt_decode_entries(clarke_tensors *ts, const clarke_pt *c, clarke_error *err)
{
  unsigned char *bytes = NULL;
  const clarke_pt_member *read = NULL;
  clarke_status status = clarke_tensors_alloc(ts, c->n, err);

  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++) {
    const clarke_pt_entry *e = &c->entries[i];

    if (e->member != read) {
      free(bytes);
      read = e->member;
      bytes = malloc(read->size + 1);
      status = bytes != NULL
                   ? clarke_pt_bytes(bytes, c, read, err)
                   : clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", read->size);
    }
    if (status == CLARKE_OK)
      status = decode_entry(&ts->tensor[i], e, bytes, c->big_endian, err);
  }
  free(bytes);
  return status == CLARKE_OK ? clarke_tensors_sort(ts, err) : status;
}
