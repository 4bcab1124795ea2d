/* Modules that torch.jit.save wrote (TorchScript): FOLDER/data.pkl has objects whose attributes are tensors, modules, and what no state
 * dict has. A tensor's name is its attribute's, after those of the modules that it lies in: "0.weight". The code beside it is not read. */
#include "format/pt_inside.h"
#include "base/room.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* How deep modules lie in each other, how long a name may be, and how much longer than the pickle all names. */
#define MAX_DEPTH 64
#define MAX_NAME 4096
#define MAX_LETTERS 4

/* A module that is being walked: its next attribute, and how long the name is before it. */
typedef struct {
  uint32_t key;
  size_t prefix;
} level;

/* An attribute's name, not terminated. */
typedef struct {
  const char *text;
  size_t size;
} word;

typedef struct {
  clarke_pt *c;
  level level[MAX_DEPTH];
  size_t depth, steps, capacity, letters; /* letters: of all names */
  char name[MAX_NAME];
  clarke_error *err;
} walk;

static uint32_t
value_of(const clarke_pt *c, uint32_t item)
{
  return c->pickle.item[item].value;
}

/* Appends the attribute's name to the prefix: *size is what both have. */
static clarke_status
append(size_t *size, walk *w, size_t prefix, const clarke_pickle_value *key)
{
  if (key->kind != CLARKE_PICKLE_TEXT)
    return clarke_fail(w->err, CLARKE_EINPUT, "an attribute of a module has no text for a name");
  if (key->count + 2 > sizeof w->name - prefix)
    return clarke_fail(w->err, CLARKE_EINPUT, "a tensor's name of more than %d bytes", MAX_NAME);
  memcpy(w->name + prefix, w->c->pickle.data + key->first, key->count);
  *size = prefix + key->count;
  return CLARKE_OK;
}

static clarke_status
add_tensor(walk *w, size_t size, uint32_t tensor)
{
  clarke_pt *c = w->c;
  size_t of_entries = w->capacity;
  char *name;

  if (!clarke_room(&c->entries, &of_entries, c->n + 1, sizeof *c->entries) ||
      !clarke_room(&c->names, &w->capacity, c->n + 1, sizeof *c->names))
    return clarke_no_memory(w->err);
  w->letters += size;
  if (w->letters > MAX_LETTERS * c->pickle.size)
    return clarke_fail(w->err, CLARKE_ENOMEM, "the tensors' names are more than %d times as long as the pickle", MAX_LETTERS);
  name = malloc(size + 1);
  if (name == NULL)
    return clarke_no_memory(w->err);
  memcpy(name, w->name, size);
  c->names[c->n_names++] = name;
  memset(&c->entries[c->n], 0, sizeof c->entries[c->n]);
  c->entries[c->n].name = name;
  c->entries[c->n].name_size = size;
  clarke_pt_entry_of(&c->entries[c->n++], c, tensor);
  return CLARKE_OK;
}

static int
by_text(const void *a, const void *b)
{
  const word *x = a, *y = b;
  const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);

  return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Where an attribute is given twice PyTorch takes the last, which may be no tensor. */
static clarke_status
check_attributes(const walk *w, uint32_t module)
{
  const clarke_pickle *p = &w->c->pickle;
  word *names = malloc((p->value[module].count / 2 + 1) * sizeof *names);
  size_t n = 0;
  clarke_status status = CLARKE_OK;

  if (names == NULL)
    return clarke_no_memory(w->err);
  for (uint32_t key = p->value[module].first; key != 0; key = p->item[p->item[key].next].next) {
    const clarke_pickle_value *text = &p->value[p->item[key].value];

    if (text->kind == CLARKE_PICKLE_TEXT)
      names[n++] = (word){(const char *)p->data + text->first, text->count};
  }
  qsort(names, n, sizeof *names, by_text);
  for (size_t i = 1; i < n && status == CLARKE_OK; i++)
    if (by_text(&names[i - 1], &names[i]) == 0)
      status = clarke_fail(w->err, CLARKE_EINPUT, "a module has two attributes of one name");
  free(names);
  return status;
}

static clarke_status
enter(walk *w, size_t size, uint32_t module)
{
  if (w->depth == MAX_DEPTH)
    return clarke_fail(w->err, CLARKE_EINPUT, "modules lie in each other more than %d deep", MAX_DEPTH);
  w->level[w->depth++] = (level){w->c->pickle.value[module].first, size};
  return check_attributes(w, module);
}

/* The next attribute of the innermost module. One module may stand in several, yet all are no more than the pickle has items. */
static clarke_status
step(walk *w)
{
  clarke_pt *c = w->c;
  level *in = &w->level[w->depth - 1];
  const uint32_t key = in->key, item = c->pickle.item[key].next, value = value_of(c, item);
  size_t size = 0;
  clarke_status status;

  if (++w->steps > c->pickle.n_items)
    return clarke_fail(w->err, CLARKE_EINPUT, "a module lies in itself, or in so many that all have more attributes than the pickle has items");
  in->key = c->pickle.item[item].next;
  if (c->pickle.value[value].kind != CLARKE_PICKLE_TENSOR && c->pickle.value[value].kind != CLARKE_PICKLE_MODULE)
    return CLARKE_OK;
  status = append(&size, w, in->prefix, &c->pickle.value[value_of(c, key)]);
  if (status != CLARKE_OK)
    return status;
  if (c->pickle.value[value].kind == CLARKE_PICKLE_TENSOR)
    return add_tensor(w, size, value);
  w->name[size++] = '.';
  return enter(w, size, value);
}

clarke_status
clarke_pt_read_module(clarke_pt *c, clarke_error *err)
{
  walk w = {.c = c, .err = err};
  clarke_status status = CLARKE_OK;

  if (c->key != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "is a module of torch.jit.save, which has nothing under '%.80s': leave the key out", c->key);
  status = enter(&w, 0, c->pickle.root);
  while (w.depth > 0 && status == CLARKE_OK)
    if (w.level[w.depth - 1].key == 0)
      w.depth--;
    else
      status = step(&w);
  if (status == CLARKE_OK && c->n == 0)
    return clarke_fail(err, CLARKE_EINPUT, "is a module of torch.jit.save without tensors: torch.jit.freeze makes constants of them, which are "
                       "not read");
  return status;
}
