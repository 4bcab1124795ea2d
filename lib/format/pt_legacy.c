/* Files of torch.save before version 1.6 (since with _use_new_zipfile_serialization=False): five pickles one after another, and then the
 * storages. The pickles are a number by which such files are known, a version, a dictionary that says in which order bytes lie, what was
 * saved, and the storages' keys in the order in which they follow: each is 8 bytes, how many entries, and these. */
#include "base/limit.h"
#include "base/text.h"
#include "format/pt_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char start[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

#define START (sizeof start - 1)
#define VERSION 1001
#define LONGEST_KEY 200

typedef struct {
  const unsigned char *data;
  size_t size, at;
} reading;

bool
clarke_pt_is_legacy(const void *data, size_t size)
{
  return size >= START && memcmp(data, start, START) == 0;
}

/* The next pickle. No more of the file is looked at than a pickle may have. */
static clarke_status
next_pickle(clarke_pickle *p, reading *r, const char *what, clarke_error *err)
{
  const size_t limit = clarke_limit_of(CLARKE_LIMIT_PICKLE), left = r->size - r->at;
  size_t used = 0;
  clarke_status status = clarke_pickle_read_first(p, &used, r->data + r->at, left < limit ? left : limit, err);

  if (status != CLARKE_OK && left > limit && used >= limit)
    return clarke_limit_fail(err, CLARKE_LIMIT_PICKLE, "the pickle of %s has more bytes", what);
  r->at += status == CLARKE_OK ? used : 0;
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "the pickle of %s", what);
}

static clarke_status
read_version(reading *r, clarke_error *err)
{
  clarke_pickle p = {0};
  clarke_status status = next_pickle(&p, r, "the version", err);

  if (status == CLARKE_OK && (p.value[p.root].kind != CLARKE_PICKLE_INTEGER || p.value[p.root].integer != VERSION))
    status = clarke_fail(err, CLARKE_EINPUT, "another version than %d of the files before torch 1.6", VERSION);
  clarke_pickle_clear(&p);
  return status;
}

static bool
is_text(const clarke_pickle *p, const clarke_pickle_value *v, const char *text)
{
  return v->kind == CLARKE_PICKLE_TEXT && v->count == strlen(text) && memcmp(p->data + v->first, text, v->count) == 0;
}

/* {'protocol_version': ..., 'little_endian': True, 'type_sizes': {...}}. What a machine of the other order writes was seen nowhere. */
static clarke_status
read_system(reading *r, clarke_error *err)
{
  clarke_pickle p = {0};
  clarke_status status = next_pickle(&p, r, "the system", err);
  bool little = false;

  if (status != CLARKE_OK)
    return status;
  for (uint32_t key = p.value[p.root].kind == CLARKE_PICKLE_DICT ? p.value[p.root].first : 0; key != 0; key = p.item[p.item[key].next].next) {
    const clarke_pickle_value *value = &p.value[p.item[p.item[key].next].value];

    if (is_text(&p, &p.value[p.item[key].value], "little_endian")) /* the last one that is set counts */
      little = value->kind == CLARKE_PICKLE_BOOL && value->integer != 0;
  }
  if (!little)
    status = clarke_fail(err, CLARKE_EINPUT, "the pickle of the system does not say that bytes lie as little-endian machines have them");
  clarke_pickle_clear(&p);
  return status;
}

/* --- storages --------------------------------------------------------------------------------------- */

/* What a pickle calls a storage: its key, and how long its entries are. */
typedef struct {
  const unsigned char *key;
  size_t size, width;
} stated;

static int
by_key(const void *a, const void *b)
{
  const stated *x = a, *y = b;
  const int order = x->key == y->key ? 0 : memcmp(x->key, y->key, x->size < y->size ? x->size : y->size);

  return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Those that the saved object speaks of, by key (malloc). */
static clarke_status
list_stated(stated **list, size_t *n, const clarke_pickle *p, clarke_error *err)
{
  *list = malloc((p->n_values + 1) * sizeof **list);
  *n = 0;
  if (*list == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < p->n_values; i++)
    if (p->value[i].kind == CLARKE_PICKLE_STORAGE) {
      const clarke_pickle_value *key = clarke_pickle_key(p, (uint32_t)i);

      (*list)[(*n)++] = (stated){p->data + key->first, key->count, clarke_dtype_size((clarke_dtype)p->value[i].what)};
    }
  if (*n > 1)
    qsort(*list, *n, sizeof **list, by_key);
  for (size_t i = 1; i < *n; i++)
    if (by_key(&(*list)[i - 1], &(*list)[i]) == 0 && (*list)[i - 1].width != (*list)[i].width)
      return clarke_fail(err, CLARKE_EINPUT, "one storage has entries of %zu bytes to one tensor and of %zu to another", (*list)[i - 1].width,
                         (*list)[i].width);
  return CLARKE_OK;
}

static uint64_t
count_at(const unsigned char *bytes)
{
  uint64_t n = 0;

  for (size_t k = 8; k-- > 0;)
    n = n << 8 | bytes[k];
  return n;
}

/* The storage that comes next, whose key is `key`. */
static clarke_status
add_storage(clarke_pt *c, reading *r, const clarke_pickle *keys, const clarke_pickle_value *key, const stated *list, size_t n, clarke_error *err)
{
  const char *text = (const char *)keys->data + (key->kind == CLARKE_PICKLE_TEXT ? key->first : 0);
  const stated wanted = {.key = (const unsigned char *)text, .size = key->count}, *found;
  clarke_pt_member *m = &c->members[c->n_members];
  uint64_t entries;

  if (key->kind != CLARKE_PICKLE_TEXT || key->count > LONGEST_KEY || !clarke_text_valid(text, key->count))
    return clarke_fail(err, CLARKE_EINPUT, "a storage's key is no text of at most %d bytes", LONGEST_KEY);
  found = n > 0 ? bsearch(&wanted, list, n, sizeof *list, by_key) : NULL;
  if (found == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "storage '%.*s' is of no tensor", (int)key->count, text);
  if (r->size - r->at < 8)
    return clarke_fail(err, CLARKE_EINPUT, "the file ends before storage '%.*s'", (int)key->count, text);
  entries = count_at(r->data + r->at);
  r->at += 8;
  if (entries > (r->size - r->at) / found->width)
    return clarke_fail(err, CLARKE_EINPUT, "the file ends inside storage '%.*s' of %llu entries", (int)key->count, text, (unsigned long long)entries);
  m->name = malloc(key->count + sizeof "data/");
  if (m->name == NULL)
    return clarke_no_memory(err);
  snprintf(m->name, key->count + sizeof "data/", "data/%.*s", (int)key->count, text);
  m->index = r->at;
  m->size = (size_t)entries * found->width;
  c->n_members++;
  r->at += m->size;
  return CLARKE_OK;
}

static clarke_status
add_storages(clarke_pt *c, reading *r, const clarke_pickle *keys, const stated *list, size_t n, clarke_error *err)
{
  const clarke_pickle_value *root = &keys->value[keys->root];
  clarke_status status = CLARKE_OK;

  if (root->kind != CLARKE_PICKLE_LIST)
    return clarke_fail(err, CLARKE_EINPUT, "the storages' keys are no list");
  c->members = calloc((size_t)root->count + 1, sizeof *c->members);
  if (c->members == NULL)
    return clarke_no_memory(err);
  for (uint32_t i = root->first; i != 0 && status == CLARKE_OK; i = keys->item[i].next)
    status = add_storage(c, r, keys, &keys->value[keys->item[i].value], list, n, err);
  if (status == CLARKE_OK && r->at != r->size)
    return clarke_fail(err, CLARKE_EINPUT, "%zu bytes follow the last storage", r->size - r->at);
  clarke_pt_sort(c);
  for (size_t i = 1; i < c->n_members && status == CLARKE_OK; i++)
    if (strcmp(c->members[i - 1].name, c->members[i].name) == 0)
      status = clarke_fail(err, CLARKE_EINPUT, "storage '%s' is there twice", c->members[i].name + strlen("data/"));
  return status;
}

static clarke_status
read_storages(clarke_pt *c, reading *r, clarke_error *err)
{
  clarke_pickle keys = {0};
  stated *list = NULL;
  size_t n = 0;
  clarke_status status = next_pickle(&keys, r, "the storages' keys", err);

  if (status == CLARKE_OK)
    status = list_stated(&list, &n, &c->pickle, err);
  if (status == CLARKE_OK)
    status = add_storages(c, r, &keys, list, n, err);
  free(list);
  clarke_pickle_clear(&keys);
  return status;
}

clarke_status
clarke_pt_read_legacy(clarke_pt *c, const void *data, size_t size, clarke_error *err)
{
  reading r = {.data = data, .size = size, .at = START};
  clarke_status status;

  c->raw = data;
  c->archive.size = size;
  c->folder = strdup("");
  status = c->folder != NULL ? read_version(&r, err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = read_system(&r, err);
  if (status == CLARKE_OK)
    status = next_pickle(&c->pickle, &r, "what was saved", err);
  return status == CLARKE_OK ? read_storages(c, &r, err) : status;
}
