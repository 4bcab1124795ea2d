/* PyTorch state dicts (torch.save since 1.6; pt_legacy.c has those before; pt_script.c modules of torch.jit.save): a ZIP of FOLDER/data.pkl, a pickle that describes the
 * tensors (pickle.h), and FOLDER/data/KEY, the entries of each storage; FOLDER/version, and
 * FOLDER/byteorder since 2.1. Tensors are views of storages, several of one perhaps. */
#include "format/pt.h"

#include "format/archive.h"
#include "format/pt_inside.h"
#include "base/limit.h"
#include "format/extent.h"
#include "format/pickle.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The newest version of the archive that PyTorch reads; torch.save writes 3. */
#define MAX_VERSION 10

static void
checkpoint_clear(clarke_pt *c)
{
  for (size_t i = 0; i < c->n_members; i++)
    free(c->members[i].name);
  free(c->members);
  free(c->folder);
  free(c->entries);
  for (size_t i = 0; i < c->n_names; i++)
    free(c->names[i]);
  free(c->names);
  clarke_pickle_clear(&c->pickle);
  free(c->pickled);
  clarke_archive_close(&c->archive);
}

clarke_pt_shown
clarke_pt_show(const clarke_pt_entry *e)
{
  clarke_pt_shown s = { "(not text)" };
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
find_folder(clarke_pt *c, clarke_error *err)
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
read_member(clarke_pt_member *m, clarke_pt *c, size_t index, clarke_error *err)
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
  return strcmp(((const clarke_pt_member *)a)->name, ((const clarke_pt_member *)b)->name);
}

void
clarke_pt_sort(clarke_pt *c)
{
  if (c->n_members > 1)
    qsort(c->members, c->n_members, sizeof *c->members, by_name);
}

/* Looks at every member: what they hold in all is then known to be bounded by the file. */
static clarke_status
read_members(clarke_pt *c, clarke_error *err)
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
    clarke_pt_sort(c);
  return status;
}

const clarke_pt_member *
clarke_pt_find(const clarke_pt *c, char *name)
{
  const clarke_pt_member key = { name, 0, 0 };

  return c->n_members > 0 ? bsearch(&key, c->members, c->n_members, sizeof *c->members, by_name) : NULL;
}

clarke_status
clarke_pt_bytes(void *to, const clarke_pt *c, const clarke_pt_member *m, clarke_error *err)
{
  clarke_status status;

  if (c->raw != NULL) {
    memcpy(to, c->raw + m->index, m->size);
    return CLARKE_OK;
  }
  status = clarke_archive_read(to, &c->archive, m->index, m->size, err);
  return status == CLARKE_OK
             ? status
             : clarke_fail_in(err, status, "member \"%s%s\"", c->folder, m->name);
}

/* A member of a few characters; empty when there is none. */
static clarke_status
read_word(char word[16], const clarke_pt *c, const char *name, clarke_error *err)
{
  char key[16];
  const clarke_pt_member *m;

  snprintf(key, sizeof key, "%s", name);
  m = clarke_pt_find(c, key);
  memset(word, 0, 16);
  if (m == NULL)
    return CLARKE_OK;
  if (m->size > 15)
    return clarke_fail(err, CLARKE_EINPUT, "member \"%s%s\" has %zu bytes; expected a word",
                       c->folder, name, m->size);
  return clarke_pt_bytes(word, c, m, err);
}

static clarke_status
check_version(const clarke_pt *c, clarke_error *err)
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
read_byte_order(clarke_pt *c, clarke_error *err)
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
read_pickle(clarke_pt *c, clarke_error *err)
{
  static char name[] = "data.pkl";
  const clarke_pt_member *m = clarke_pt_find(c, name);
  clarke_status status;

  if (m == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "not an archive of torch.save: there is no \"%s%s\"",
                       c->folder, name);
  if (m->size > clarke_limit_of(CLARKE_LIMIT_PICKLE))
    return clarke_limit_fail(err, CLARKE_LIMIT_PICKLE, "\"%s%s\" has %zu bytes", c->folder, name, m->size);
  c->pickled = malloc(m->size + 1);
  if (c->pickled == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", m->size);
  status = clarke_pt_bytes(c->pickled, c, m, err);
  if (status != CLARKE_OK)
    return status;
  status = clarke_pickle_read(&c->pickle, c->pickled, m->size, err);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "\"%s%s\"", c->folder, name);
}

/* --- the state dict --------------------------------------------------------------------------------- */

static const clarke_pickle_value *
value_at(const clarke_pt *c, uint32_t item)
{
  return &c->pickle.value[c->pickle.item[item].value];
}

static uint32_t
next_of(const clarke_pt *c, uint32_t item)
{
  return c->pickle.item[item].next;
}

/* Does a dictionary inside a checkpoint's, by its key, hold the state dict? */
static bool
names_state_dict(const clarke_pt *c, const clarke_pickle_value *key)
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
list_keys(char *list, size_t size, const clarke_pt *c, const clarke_pickle_value *root, bool named)
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

/* Where a key is given twice PyTorch takes what comes last. */
static clarke_status
check_once(const clarke_pt *c, const clarke_pickle_value *root, const clarke_pickle_value *wanted, clarke_error *err)
{
  size_t n = 0;

  for (uint32_t key = root->first; key != 0; key = next_of(c, next_of(c, key))) {
    const clarke_pickle_value *k = value_at(c, key);

    n += k->kind == CLARKE_PICKLE_TEXT && k->count == wanted->count &&
         memcmp(c->pickle.data + k->first, c->pickle.data + wanted->first, k->count) == 0;
  }
  return n == 1 ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "two entries are named '%.*s'", (int)(wanted->count < 60 ? wanted->count : 60),
                                          (const char *)c->pickle.data + wanted->first);
}

/* The dictionary in the root under that very key. */
static clarke_status
find_under_key(const clarke_pickle_value **dict, const clarke_pt *c, const clarke_pickle_value *root, clarke_error *err)
{
  char list[400];

  for (uint32_t key = root->first; key != 0; key = next_of(c, next_of(c, key))) {
    const clarke_pickle_value *k = value_at(c, key);

    if (k->kind != CLARKE_PICKLE_TEXT || k->count != strlen(c->key) ||
        memcmp(c->key, c->pickle.data + k->first, k->count) != 0)
      continue;
    *dict = value_at(c, next_of(c, key));
    return (*dict)->kind == CLARKE_PICKLE_DICT
             ? check_once(c, root, k, err)
             : clarke_fail(err, CLARKE_EINPUT, "what it has under '%.80s' is no dictionary", c->key);
  }
  list_keys(list, sizeof list, c, root, false);
  return clarke_fail(err, CLARKE_EINPUT, "has nothing under '%.80s'; it has dictionaries under: %s", c->key,
                     *list != '\0' ? list : "no key");
}

/* *dict = the pickle's own dictionary, or the one in it that is asked for, or named as a model's. */
static clarke_status
find_state_dict(const clarke_pickle_value **dict, const clarke_pt *c, clarke_error *err)
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
    if (check_once(c, root, value_at(c, key), err) != CLARKE_OK)
      return CLARKE_EINPUT;
    if (*dict != root) {
      list_keys(list, sizeof list, c, root, true);
      return clarke_fail(err, CLARKE_EINPUT, "holds several state dicts, under %s; say which: --params FILE:KEY", list);
    }
    *dict = value;
  }
  return CLARKE_OK;
}

void
clarke_pt_entry_of(clarke_pt_entry *e, const clarke_pt *c, uint32_t tensor)
{
  const clarke_pickle_value *storage_key;

  clarke_pickle_view_of(&e->view, &c->pickle, tensor);
  e->storage = &c->pickle.value[e->view.storage];
  storage_key = clarke_pickle_key(&c->pickle, e->view.storage);
  e->key = (const char *)c->pickle.data + storage_key->first;
  e->key_size = storage_key->count;
}

/* A key of the state dict, and its tensor. */
static clarke_status
read_entry(clarke_pt_entry *e, const clarke_pt *c, const clarke_pickle_value *key, uint32_t value,
           clarke_error *err)
{
  if (key->kind != CLARKE_PICKLE_TEXT)
    return clarke_fail(err, CLARKE_EINPUT, "a key of the state dict is not text");
  e->name = (const char *)c->pickle.data + key->first;
  e->name_size = key->count;
  if (c->pickle.value[value].kind != CLARKE_PICKLE_TENSOR)
    return clarke_fail(err, CLARKE_EINPUT, "entry \"%s\" is no tensor; expected a state dict, or "
                       "a dictionary with one under 'state_dict', 'model_state_dict' or 'model'",
                       clarke_pt_show(e).text);
  clarke_pt_entry_of(e, c, value);
  return CLARKE_OK;
}

static clarke_status
read_entries(clarke_pt *c, clarke_error *err)
{
  const clarke_pickle_value *dict;
  clarke_status status;

  if (c->pickle.value[c->pickle.root].kind == CLARKE_PICKLE_MODULE)
    return clarke_pt_read_module(c, err);
  status = find_state_dict(&dict, c, err);
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
  const clarke_pt_entry *p = a, *q = b;

  return compare(p->name, p->name_size, q->name, q->name_size);
}

int
clarke_pt_by_storage(const void *a, const void *b)
{
  const clarke_pt_entry *p = a, *q = b;
  const int order = compare(p->key, p->key_size, q->key, q->key_size);

  return order != 0 ? order : by_tensor(a, b);
}

/* Before names are looked into or copied: one text may be the key of any number of entries. */
static clarke_status
check_unique(clarke_pt *c, clarke_error *err)
{
  if (c->n > 1)
    qsort(c->entries, c->n, sizeof *c->entries, by_tensor);
  for (size_t i = 1; i < c->n; i++)
    if (by_tensor(&c->entries[i - 1], &c->entries[i]) == 0)
      return clarke_fail(err, CLARKE_EINPUT, "two tensors are named \"%s\"",
                         clarke_pt_show(&c->entries[i]).text);
  return CLARKE_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------- */

static clarke_status
read_archive(clarke_pt *c, const void *data, size_t size, clarke_error *err)
{
  clarke_status status = clarke_archive_open(&c->archive, data, size, "an archive of torch.save", err);

  if (status == CLARKE_OK)
    status = read_members(c, err);
  if (status == CLARKE_OK)
    status = check_version(c, err);
  if (status == CLARKE_OK)
    status = read_byte_order(c, err);
  return status == CLARKE_OK ? read_pickle(c, err) : status;
}

static clarke_status
read_checkpoint(clarke_tensors *ts, clarke_pt *c, const void *data, size_t size, clarke_error *err)
{
  clarke_status status = clarke_pt_is_legacy(data, size) ? clarke_pt_read_legacy(c, data, size, err) : read_archive(c, data, size, err);

  if (status == CLARKE_OK)
    status = read_entries(c, err);
  if (status == CLARKE_OK)
    status = check_unique(c, err);
  if (status == CLARKE_OK)
    status = clarke_pt_check_entries(c, err);
  return status == CLARKE_OK ? clarke_pt_decode_entries(ts, c, err) : status;
}

clarke_status
clarke_pt_parse(clarke_tensors *ts, const char *key, const void *data, size_t size, const char *file,
                clarke_error *err)
{
  clarke_pt c = { .key = key };
  clarke_status status;

  clarke_tensors_clear(ts);
  status = read_checkpoint(ts, &c, data, size, err);
  checkpoint_clear(&c);
  if (status == CLARKE_OK)
    return status;
  clarke_tensors_clear(ts);
  return clarke_fail_in(err, status, "%s", file);
}
