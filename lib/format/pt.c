/* PyTorch state dicts (torch.save since 1.6): a ZIP of FOLDER/data.pkl, a pickle that describes the
 * tensors (pickle.h), and FOLDER/data/KEY, the entries of each storage; FOLDER/version, and
 * FOLDER/byteorder since 2.1. Tensors are views of storages, several of one perhaps. */
#include "format/archive.h"
#include "base/limit.h"
#include "format/extent.h"
#include "format/pickle.h"
#include "format/tensors.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The newest version of the archive that PyTorch reads; torch.save writes 3. */
#define MAX_VERSION 10
/* torch.save numbers the storages; no longer key is read. */
#define MAX_KEY 200

typedef struct {
  char *name; /* the folder left out */
  size_t index, size;
} member;

/* A tensor to be read. */
typedef struct {
  const char *name, *key; /* not terminated */
  size_t name_size, key_size;
  const clarke_pickle_value *storage;
  const member *member; /* the storage's */
  clarke_pickle_view view;
  clarke_extent extent;
} entry;

typedef struct {
  clarke_archive archive;
  const char *key; /* the state dict's in the dictionary; NULL: one of the usual */
  char *folder; /* with its slash */
  size_t n_members;
  member *members; /* by name */
  bool big_endian;
  unsigned char *pickled;
  clarke_pickle pickle;
  size_t n;
  entry *entries;
} checkpoint;

static void
checkpoint_clear(checkpoint *c)
{
  for (size_t i = 0; i < c->n_members; i++)
    free(c->members[i].name);
  free(c->members);
  free(c->folder);
  free(c->entries);
  clarke_pickle_clear(&c->pickle);
  free(c->pickled);
  clarke_archive_close(&c->archive);
}

/* A tensor's name for a message: what of it is text, in part when it is long. */
typedef struct {
  char text[204];
} shown;

static shown
show(const entry *e)
{
  shown s = { "(not text)" };
  const size_t most = e->name_size < 200 ? e->name_size : 200;
  size_t n = most;

  /* A cut may fall inside a character. */
  while (!clarke_text_valid(e->name, n) && n < e->name_size && n + 4 > most)
    n--;
  if (clarke_text_valid(e->name, n)) {
    memcpy(s.text, e->name, n);
    s.text[n] = '\0';
  }
  return s;
}

/* --- the archive's members ------------------------------------------------------------------------ */

/* c->folder = what all members' names begin with, up to the first slash: a copy of the first's. */
static clarke_status
find_folder(checkpoint *c, clarke_error *err)
{
  char *slash;
  clarke_status status;

  if (c->archive.n == 0)
    return clarke_fail(err, CLARKE_EINPUT, "the archive is empty");
  status = clarke_archive_name(&c->folder, &c->archive, 0, err);
  if (status != CLARKE_OK)
    return status;
  slash = strchr(c->folder, '/');
  if (slash == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "member \"%s\" lies in no folder: not an archive of "
                       "torch.save", c->folder);
  slash[1] = '\0';
  return CLARKE_OK;
}

/* Takes the member's name without the folder, and its size. */
static clarke_status
read_member(member *m, checkpoint *c, size_t index, clarke_error *err)
{
  const size_t n = strlen(c->folder);
  clarke_status status = clarke_archive_name(&m->name, &c->archive, index, err);

  if (status != CLARKE_OK)
    return status;
  m->index = index;
  status = clarke_archive_look(&m->size, &c->archive, index, err);
  if (status != CLARKE_OK)
    return clarke_fail_in(err, status, "member \"%s\"", m->name);
  if (strncmp(m->name, c->folder, n) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "member \"%s\" lies outside the folder \"%s\"", m->name,
                       c->folder);
  memmove(m->name, m->name + n, strlen(m->name + n) + 1);
  return CLARKE_OK;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const member *)a)->name, ((const member *)b)->name);
}

/* Looks at every member: what they hold in all is then known to be bounded by the file. */
static clarke_status
read_members(checkpoint *c, clarke_error *err)
{
  clarke_status status = find_folder(c, err);

  if (status != CLARKE_OK)
    return status;
  c->members = calloc(c->archive.n, sizeof *c->members);
  if (c->members == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu members", c->archive.n);
  while (c->n_members < c->archive.n && status == CLARKE_OK) {
    status = read_member(&c->members[c->n_members], c, c->n_members, err);
    c->n_members++;
  }
  if (status == CLARKE_OK)
    qsort(c->members, c->n_members, sizeof *c->members, by_name);
  return status;
}

/* NULL when there is none. */
static const member *
find_member(const checkpoint *c, char *name)
{
  const member key = { name, 0, 0 };

  return bsearch(&key, c->members, c->n_members, sizeof *c->members, by_name);
}

static clarke_status
read_bytes(void *to, const checkpoint *c, const member *m, clarke_error *err)
{
  const clarke_status status = clarke_archive_read(to, &c->archive, m->index, m->size, err);

  return status == CLARKE_OK
             ? status
             : clarke_fail_in(err, status, "member \"%s%s\"", c->folder, m->name);
}

/* A member of a few characters; empty when there is none. */
static clarke_status
read_word(char word[16], const checkpoint *c, const char *name, clarke_error *err)
{
  char key[16];
  const member *m;

  snprintf(key, sizeof key, "%s", name);
  m = find_member(c, key);
  memset(word, 0, 16);
  if (m == NULL)
    return CLARKE_OK;
  if (m->size > 15)
    return clarke_fail(err, CLARKE_EINPUT, "member \"%s%s\" has %zu bytes; expected a word",
                       c->folder, name, m->size);
  return read_bytes(word, c, m, err);
}

static clarke_status
check_version(const checkpoint *c, clarke_error *err)
{
  char word[16], *end;
  clarke_status status = read_word(word, c, "version", err);
  unsigned long version;

  if (status != CLARKE_OK)
    return status;
  version = *word >= '1' && *word <= '9' ? strtoul(word, &end, 10) : 0;
  if (version == 0 || (*end != '\0' && strcmp(end, "\n") != 0))
    return clarke_fail(err, CLARKE_EINPUT, "not an archive of torch.save: \"%sversion\" is missing "
                       "or holds no number", c->folder);
  if (version > MAX_VERSION)
    return clarke_fail(err, CLARKE_EINPUT, "version %lu of the archive; versions 1 to %d are read",
                       version, MAX_VERSION);
  return CLARKE_OK;
}

/* Before torch 2.1 there was no such member, and all files were little-endian. */
static clarke_status
read_byte_order(checkpoint *c, clarke_error *err)
{
  char word[16];
  const clarke_status status = read_word(word, c, "byteorder", err);

  if (status != CLARKE_OK)
    return status;
  c->big_endian = strcmp(word, "big") == 0;
  if (!c->big_endian && strcmp(word, "little") != 0 && *word != '\0')
    return clarke_fail(err, CLARKE_EINPUT, "member \"%sbyteorder\" is neither \"little\" nor "
                       "\"big\"", c->folder);
  return CLARKE_OK;
}

static clarke_status
read_pickle(checkpoint *c, clarke_error *err)
{
  static char name[] = "data.pkl";
  const member *m = find_member(c, name);
  clarke_status status;

  if (m == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "not an archive of torch.save: there is no \"%s%s\"",
                       c->folder, name);
  if (m->size > clarke_limit_of(CLARKE_LIMIT_PICKLE))
    return clarke_limit_fail(err, CLARKE_LIMIT_PICKLE, "\"%s%s\" has %zu bytes", c->folder, name, m->size);
  c->pickled = malloc(m->size + 1);
  if (c->pickled == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", m->size);
  status = read_bytes(c->pickled, c, m, err);
  if (status != CLARKE_OK)
    return status;
  status = clarke_pickle_read(&c->pickle, c->pickled, m->size, err);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "\"%s%s\"", c->folder, name);
}

/* --- the state dict --------------------------------------------------------------------------------- */

static const clarke_pickle_value *
value_at(const checkpoint *c, uint32_t item)
{
  return &c->pickle.value[c->pickle.item[item].value];
}

static uint32_t
next_of(const checkpoint *c, uint32_t item)
{
  return c->pickle.item[item].next;
}

/* Does a dictionary inside a checkpoint's, by its key, hold the state dict? */
static bool
names_state_dict(const checkpoint *c, const clarke_pickle_value *key)
{
  static const char *const names[] = { "state_dict", "model_state_dict", "model" };

  for (size_t k = 0; k < sizeof names / sizeof names[0] && key->kind == CLARKE_PICKLE_TEXT; k++)
    if (strlen(names[k]) == key->count
        && memcmp(names[k], c->pickle.data + key->first, key->count) == 0)
      return true;
  return false;
}

/* The dictionary's keys that hold dictionaries, named as a model's or all, as a list for messages. */
static void
list_keys(char *list, size_t size, const checkpoint *c, const clarke_pickle_value *root, bool named)
{
  size_t n = 0;

  *list = '\0';
  for (uint32_t key = root->first; key != 0 && n + 8 < size; key = next_of(c, next_of(c, key))) {
    const clarke_pickle_value *k = value_at(c, key);
    const char *text = (const char *)c->pickle.data + k->first;

    if (value_at(c, next_of(c, key))->kind != CLARKE_PICKLE_DICT || k->kind != CLARKE_PICKLE_TEXT ||
        (named && !names_state_dict(c, k)) || !clarke_text_valid(text, k->count))
      continue;
    n += (size_t)snprintf(list + n, size - n, "%s'%.*s'", n > 0 ? ", " : "", (int)(k->count < 60 ? k->count : 60), text);
  }
}

/* The dictionary in the root under that very key. */
static clarke_status
find_under_key(const clarke_pickle_value **dict, const checkpoint *c, const clarke_pickle_value *root, clarke_error *err)
{
  char list[400];

  for (uint32_t key = root->first; key != 0; key = next_of(c, next_of(c, key))) {
    const clarke_pickle_value *k = value_at(c, key);

    if (k->kind != CLARKE_PICKLE_TEXT || k->count != strlen(c->key) ||
        memcmp(c->key, c->pickle.data + k->first, k->count) != 0)
      continue;
    *dict = value_at(c, next_of(c, key));
    return (*dict)->kind == CLARKE_PICKLE_DICT
             ? CLARKE_OK
             : clarke_fail(err, CLARKE_EINPUT, "what it has under '%.80s' is no dictionary", c->key);
  }
  list_keys(list, sizeof list, c, root, false);
  return clarke_fail(err, CLARKE_EINPUT, "has nothing under '%.80s'; it has dictionaries under: %s", c->key,
                     *list != '\0' ? list : "no key");
}

/* *dict = the pickle's own dictionary, or the one in it that is asked for, or named as a model's. */
static clarke_status
find_state_dict(const clarke_pickle_value **dict, const checkpoint *c, clarke_error *err)
{
  const clarke_pickle_value *root = &c->pickle.value[c->pickle.root];
  char list[400];

  *dict = root;
  if (root->kind != CLARKE_PICKLE_DICT)
    return clarke_fail(err, CLARKE_EINPUT, "holds no dictionary; expected a state dict, as "
                       "torch.save(model.state_dict(), FILE) writes it");
  if (c->key != NULL)
    return find_under_key(dict, c, root, err);
  for (uint32_t key = root->first; key != 0; key = next_of(c, next_of(c, key))) {
    const clarke_pickle_value *value = value_at(c, next_of(c, key));

    if (!names_state_dict(c, value_at(c, key)) || value->kind != CLARKE_PICKLE_DICT)
      continue;
    if (*dict != root) {
      list_keys(list, sizeof list, c, root, true);
      return clarke_fail(err, CLARKE_EINPUT, "holds several state dicts, under %s; say which: --params FILE:KEY", list);
    }
    *dict = value;
  }
  return CLARKE_OK;
}

/* A key of the state dict, and its tensor. */
static clarke_status
read_entry(entry *e, const checkpoint *c, const clarke_pickle_value *key, uint32_t value,
           clarke_error *err)
{
  const clarke_pickle_value *storage_key;

  if (key->kind != CLARKE_PICKLE_TEXT)
    return clarke_fail(err, CLARKE_EINPUT, "a key of the state dict is not text");
  e->name = (const char *)c->pickle.data + key->first;
  e->name_size = key->count;
  if (c->pickle.value[value].kind != CLARKE_PICKLE_TENSOR)
    return clarke_fail(err, CLARKE_EINPUT, "entry \"%s\" is no tensor; expected a state dict, or "
                       "a dictionary with one under 'state_dict', 'model_state_dict' or 'model'",
                       show(e).text);
  clarke_pickle_view_of(&e->view, &c->pickle, value);
  e->storage = &c->pickle.value[e->view.storage];
  storage_key = clarke_pickle_key(&c->pickle, e->view.storage);
  e->key = (const char *)c->pickle.data + storage_key->first;
  e->key_size = storage_key->count;
  return CLARKE_OK;
}

static clarke_status
read_entries(checkpoint *c, clarke_error *err)
{
  const clarke_pickle_value *dict;
  clarke_status status = find_state_dict(&dict, c, err);

  if (status != CLARKE_OK)
    return status;
  c->entries = calloc(dict->count / 2 + 1, sizeof *c->entries);
  if (c->entries == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %u tensors", dict->count / 2);
  for (uint32_t key = dict->first; key != 0 && status == CLARKE_OK;
       key = next_of(c, next_of(c, key)))
    status = read_entry(&c->entries[c->n++], c, value_at(c, key),
                        c->pickle.item[next_of(c, key)].value, err);
  return status;
}

static int
compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
  const int order = a == b ? 0 : memcmp(a, b, a_size < b_size ? a_size : b_size);

  return order != 0 ? order : a_size < b_size ? -1 : a_size > b_size;
}

static int
by_tensor(const void *a, const void *b)
{
  const entry *p = a, *q = b;

  return compare(p->name, p->name_size, q->name, q->name_size);
}

static int
by_storage(const void *a, const void *b)
{
  const entry *p = a, *q = b;
  const int order = compare(p->key, p->key_size, q->key, q->key_size);

  return order != 0 ? order : by_tensor(a, b);
}

/* Before names are looked into or copied: one text may be the key of any number of entries. */
static clarke_status
check_unique(checkpoint *c, clarke_error *err)
{
  if (c->n > 1)
    qsort(c->entries, c->n, sizeof *c->entries, by_tensor);
  for (size_t i = 1; i < c->n; i++)
    if (by_tensor(&c->entries[i - 1], &c->entries[i]) == 0)
      return clarke_fail(err, CLARKE_EINPUT, "two tensors are named \"%s\"",
                         show(&c->entries[i]).text);
  return CLARKE_OK;
}

/* --- tensors and their storages ------------------------------------------------------------------- */

static clarke_status
find_storage(entry *e, const checkpoint *c, clarke_error *err)
{
  const size_t width = clarke_dtype_size((clarke_dtype)e->storage->what);
  char name[MAX_KEY + 8];

  if (e->key_size > MAX_KEY || !clarke_text_valid(e->key, e->key_size))
    return clarke_fail(err, CLARKE_EINPUT, "its storage's key is not text of at most %d bytes",
                       MAX_KEY);
  snprintf(name, sizeof name, "data/%.*s", (int)e->key_size, e->key);
  e->member = find_member(c, name);
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
check_reach(const entry *e, clarke_error *err)
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
check_entry(entry *e, const checkpoint *c, clarke_error *err)
{
  clarke_status status = clarke_extent_of(&e->extent, (clarke_dtype)e->storage->what, e->view.rank,
                                          e->view.dims, err);

  if (status == CLARKE_OK)
    status = find_storage(e, c, err);
  if (status == CLARKE_OK)
    status = check_reach(e, err);
  return status == CLARKE_OK ? status
                             : clarke_fail_in(err, status, "tensor \"%s\"", show(e).text);
}

/* A storage has one type: PyTorch takes the first that is stated, whatever others say. */
static clarke_status
check_same_storage(const entry *e, const entry *before, clarke_error *err)
{
  if (e->member != before->member || e->storage->what == before->storage->what)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT,
                     "tensors \"%s\" and \"%s\" share a storage that is %s to one and %s to the "
                     "other", show(before).text, show(e).text,
                     clarke_dtype_name((clarke_dtype)before->storage->what),
                     clarke_dtype_name((clarke_dtype)e->storage->what));
}

static clarke_status
check_entries(checkpoint *c, clarke_error *err)
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
    qsort(c->entries, c->n, sizeof *c->entries, by_storage);
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
decode_view(clarke_tensor *t, const entry *e, const unsigned char *bytes, bool big_endian,
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
decode_entry(clarke_tensor *t, const entry *e, const unsigned char *bytes, bool big_endian,
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

/* Storage by storage, each read once and dropped before the next. */
static clarke_status
decode_entries(clarke_tensors *ts, const checkpoint *c, clarke_error *err)
{
  unsigned char *bytes = NULL;
  const member *read = NULL;
  clarke_status status = clarke_tensors_alloc(ts, c->n, err);

  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++) {
    const entry *e = &c->entries[i];

    if (e->member != read) {
      free(bytes);
      read = e->member;
      bytes = malloc(read->size + 1);
      status = bytes != NULL
                   ? read_bytes(bytes, c, read, err)
                   : clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", read->size);
    }
    if (status == CLARKE_OK)
      status = decode_entry(&ts->tensor[i], e, bytes, c->big_endian, err);
  }
  free(bytes);
  return status == CLARKE_OK ? clarke_tensors_sort(ts, err) : status;
}

/* --- the whole ---------------------------------------------------------------------------------------- */

/* Before torch 1.6, and with _use_new_zipfile_serialization=False, files begin with a pickle of this
 * number: several pickles and the entries, one after another. */
static clarke_status
refuse_legacy(const void *data, size_t size, clarke_error *err)
{
  static const unsigned char start[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

  if (size < sizeof start - 1 || memcmp(data, start, sizeof start - 1) != 0)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT,
                     "is in the form of torch.save before version 1.6, which is not read: load it "
                     "in PyTorch and save it again");
}

static clarke_status
read_checkpoint(clarke_tensors *ts, checkpoint *c, clarke_error *err)
{
  clarke_status status = read_members(c, err);

  if (status == CLARKE_OK)
    status = check_version(c, err);
  if (status == CLARKE_OK)
    status = read_byte_order(c, err);
  if (status == CLARKE_OK)
    status = read_pickle(c, err);
  if (status == CLARKE_OK)
    status = read_entries(c, err);
  if (status == CLARKE_OK)
    status = check_unique(c, err);
  if (status == CLARKE_OK)
    status = check_entries(c, err);
  return status == CLARKE_OK ? decode_entries(ts, c, err) : status;
}

clarke_status
clarke_pt_parse(clarke_tensors *ts, const char *key, const void *data, size_t size, const char *file,
                clarke_error *err)
{
  checkpoint c = { .key = key };
  clarke_status status = refuse_legacy(data, size, err);

  clarke_tensors_clear(ts);
  if (status == CLARKE_OK)
    status = clarke_archive_open(&c.archive, data, size, "an archive of torch.save", err);
  if (status == CLARKE_OK)
    status = read_checkpoint(ts, &c, err);
  checkpoint_clear(&c);
  if (status == CLARKE_OK)
    return status;
  clarke_tensors_clear(ts);
  return clarke_fail_in(err, status, "%s", file);
}
