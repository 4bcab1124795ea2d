/* The names of Python's that a state dict's pickle may hold, and what stands for calling them. */
#include "format/pickle.h"
#include "base/text.h"

#include <string.h>

/* NOT_KEPT: lists of torch.jit.save that no state dict has. MODULE_CLASS: of a module's own code. */
typedef enum { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE_CLASS, NOT_KEPT, MODULE_CLASS } meaning;

static const struct {
  const char *module, *name;
  meaning meaning;
  clarke_dtype dtype; /* of a STORAGE_CLASS */
} globals[] = {
  { "collections", "OrderedDict", ORDERED_DICT, 0 },
  { "torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR, 0 },
  { "torch._utils", "_rebuild_parameter", REBUILD_PARAMETER, 0 },
  { "torch.jit._pickle", "build_intlist", NOT_KEPT, 0 },
  { "torch.jit._pickle", "build_doublelist", NOT_KEPT, 0 },
  { "torch.jit._pickle", "build_boollist", NOT_KEPT, 0 },
  { "torch.jit._pickle", "build_tensorlist", NOT_KEPT, 0 },
  { "torch.jit._pickle", "restore_type_tag", NOT_KEPT, 0 },
  { "__torch__", "", MODULE_CLASS, 0 },
  { "torch", "HalfStorage", STORAGE_CLASS, CLARKE_F16 },
  { "torch", "BFloat16Storage", STORAGE_CLASS, CLARKE_BF16 },
  { "torch", "FloatStorage", STORAGE_CLASS, CLARKE_F32 },
  { "torch", "DoubleStorage", STORAGE_CLASS, CLARKE_F64 },
  { "torch", "CharStorage", STORAGE_CLASS, CLARKE_I8 },
  { "torch", "ShortStorage", STORAGE_CLASS, CLARKE_I16 },
  { "torch", "IntStorage", STORAGE_CLASS, CLARKE_I32 },
  { "torch", "LongStorage", STORAGE_CLASS, CLARKE_I64 },
  { "torch", "ByteStorage", STORAGE_CLASS, CLARKE_U8 },
  { "torch", "BoolStorage", STORAGE_CLASS, CLARKE_BOOL },
};

#define N_GLOBALS (sizeof globals / sizeof globals[0])
/* No longer part of a name is put in a message. */
#define SHOWN 200

static bool
is_word(const char *word, const char *text, size_t size)
{
  return strlen(word) == size && memcmp(word, text, size) == 0;
}

/* "__torch__", or what is within it: the code that torch.jit.save writes beside the pickle. */
static bool
is_own_code(const char *module, size_t size)
{
  static const char own[] = "__torch__";
  const size_t n = sizeof own - 1;

  return size >= n && memcmp(module, own, n) == 0 && (size == n || module[n] == '.');
}

static clarke_status
refuse_global(const char *module, size_t module_size, const char *name, size_t name_size,
              clarke_error *err)
{
  if (module_size > SHOWN || name_size > SHOWN || !clarke_text_valid(module, module_size)
      || !clarke_text_valid(name, name_size))
    return clarke_fail(err, CLARKE_EINPUT, "refers to a Python name that is not text or longer "
                       "than %d bytes", SHOWN);
  return clarke_fail(err, CLARKE_EINPUT,
                     "refers to %.*s.%.*s, and no code is run or looked up: save the state_dict() "
                     "alone, of dense tensors of the usual types", (int)module_size, module,
                     (int)name_size, name);
}

clarke_status
clarke_pickle_global(uint32_t *value, clarke_pickle *p, const char *module, size_t module_size,
                     const char *name, size_t name_size, clarke_error *err)
{
  size_t k = 0;
  clarke_status status;

  while (k < N_GLOBALS
         && !(globals[k].meaning == MODULE_CLASS ? is_own_code(module, module_size)
                                                 : is_word(globals[k].module, module, module_size)
                                                       && is_word(globals[k].name, name, name_size)))
    k++;
  if (k == N_GLOBALS)
    return refuse_global(module, module_size, name, name_size, err);
  status = clarke_pickle_add(value, p, CLARKE_PICKLE_GLOBAL, err);
  if (status == CLARKE_OK)
    p->value[*value].what = (uint8_t)k;
  return status;
}

/* Item number k of a container, which has it. */
static uint32_t
item(const clarke_pickle *p, uint32_t container, size_t k)
{
  uint32_t i = p->value[container].first;

  while (k-- > 0)
    i = p->item[i].next;
  return p->item[i].value;
}

static const clarke_pickle_value *
item_value(const clarke_pickle *p, uint32_t container, size_t k)
{
  return &p->value[item(p, container, k)];
}

static bool
is_size(const clarke_pickle_value *v)
{
  return v->kind == CLARKE_PICKLE_INTEGER && v->integer >= 0;
}

/* A shape or strides: a tuple of few integers that are not negative. */
static bool
is_shape(const clarke_pickle *p, const clarke_pickle_value *v)
{
  if (v->kind != CLARKE_PICKLE_TUPLE || v->count > CLARKE_MAX_RANK)
    return false;
  for (uint32_t i = v->first; i != 0; i = p->item[i].next)
    if (!is_size(&p->value[p->item[i].value]))
      return false;
  return true;
}

/* (storage, offset, shape, strides, requires_grad, hooks[, metadata]). What metadata there is (a
 * conjugate or negative view) would change the values. */
static clarke_status
check_tensor(const clarke_pickle *p, uint32_t a, clarke_error *err)
{
  const clarke_pickle_value *shape, *strides;

  if (p->value[a].count < 6 || p->value[a].count > 7)
    return clarke_fail(err, CLARKE_EINPUT, "a tensor of %u parts; expected 6 or 7",
                       p->value[a].count);
  shape = item_value(p, a, 2);
  strides = item_value(p, a, 3);
  if (shape->kind == CLARKE_PICKLE_TUPLE && shape->count > CLARKE_MAX_RANK)
    return clarke_fail(err, CLARKE_EINPUT, "a tensor of %u dimensions; at most %d are read",
                       shape->count, CLARKE_MAX_RANK);
  if (item_value(p, a, 0)->kind != CLARKE_PICKLE_STORAGE || !is_size(item_value(p, a, 1))
      || !is_shape(p, shape) || !is_shape(p, strides) || shape->count != strides->count
      || item_value(p, a, 4)->kind != CLARKE_PICKLE_BOOL
      || item_value(p, a, 5)->kind != CLARKE_PICKLE_DICT)
    return clarke_fail(err, CLARKE_EINPUT, "a tensor's parts are not a storage, an offset, a "
                       "shape, strides, requires_grad and hooks");
  if (p->value[a].count == 7 && item_value(p, a, 6)->kind != CLARKE_PICKLE_NONE
      && (item_value(p, a, 6)->kind != CLARKE_PICKLE_DICT || item_value(p, a, 6)->count != 0))
    return clarke_fail(err, CLARKE_EINPUT, "a tensor with metadata (a conjugate or negative view) "
                       "is not supported");
  return CLARKE_OK;
}

static clarke_status
rebuild_tensor(uint32_t *value, clarke_pickle *p, uint32_t arguments, clarke_error *err)
{
  clarke_status status = check_tensor(p, arguments, err);

  if (status == CLARKE_OK)
    status = clarke_pickle_add(value, p, CLARKE_PICKLE_TENSOR, err);
  if (status == CLARKE_OK)
    p->value[*value].first = p->value[arguments].first;
  return status;
}

clarke_status
clarke_pickle_call(uint32_t *value, clarke_pickle *p, uint32_t function, uint32_t arguments,
                   clarke_error *err)
{
  clarke_status status;

  if (p->value[function].kind != CLARKE_PICKLE_GLOBAL
      || p->value[arguments].kind != CLARKE_PICKLE_TUPLE)
    return clarke_fail(err, CLARKE_EINPUT, "calls what is no name, or with no tuple");
  switch (globals[p->value[function].what].meaning) {
  case REBUILD_TENSOR:
    return rebuild_tensor(value, p, arguments, err);
  case REBUILD_PARAMETER:
    if (p->value[arguments].count != 3
        || item_value(p, arguments, 0)->kind != CLARKE_PICKLE_TENSOR)
      return clarke_fail(err, CLARKE_EINPUT, "a parameter of no tensor");
    *value = item(p, arguments, 0);
    return CLARKE_OK;
  case ORDERED_DICT:
    if (p->value[arguments].count != 0)
      return clarke_fail(err, CLARKE_EINPUT, "an OrderedDict made of something; expected ()");
    status = clarke_pickle_add(value, p, CLARKE_PICKLE_DICT, err);
    if (status == CLARKE_OK)
      p->value[*value].what = 1;
    return status;
  case NOT_KEPT:
    return clarke_pickle_add(value, p, CLARKE_PICKLE_NUMBER, err);
  case MODULE_CLASS:
    return clarke_fail(err, CLARKE_EINPUT, "calls a module's own code");
  default:
    return clarke_fail(err, CLARKE_EINPUT, "calls torch.%s",
                       globals[p->value[function].what].name);
  }
}

clarke_status
clarke_pickle_object(uint32_t *value, clarke_pickle *p, uint32_t class, uint32_t arguments, clarke_error *err)
{
  if (p->value[class].kind != CLARKE_PICKLE_GLOBAL || globals[p->value[class].what].meaning != MODULE_CLASS
      || p->value[arguments].kind != CLARKE_PICKLE_TUPLE || p->value[arguments].count != 0)
    return clarke_fail(err, CLARKE_EINPUT, "makes an object that is no module of torch.jit.save");
  return clarke_pickle_add(value, p, CLARKE_PICKLE_MODULE, err);
}

clarke_status
clarke_pickle_give(clarke_pickle *p, uint32_t module, uint32_t attributes, clarke_error *err)
{
  clarke_pickle_value *to = &p->value[module], *from = &p->value[attributes];

  if (from->kind != CLARKE_PICKLE_DICT || to->what != 0)
    return clarke_fail(err, CLARKE_EINPUT, "a module's attributes are no dictionary, or given twice");
  to->what = 1;
  to->first = from->first;
  to->last = from->last;
  to->count = from->count;
  from->first = from->last = from->count = 0;
  from->kind = CLARKE_PICKLE_NONE; /* it is used up: whoever names it again has no dictionary */
  return CLARKE_OK;
}

/* ('storage', class, key, location, entries[, None]): before 1.6 what came last was of which storage it was a view, which none is today. */
static bool
is_storage(const clarke_pickle *p, uint32_t id)
{
  const clarke_pickle_value *tag, *class;

  if (p->value[id].kind != CLARKE_PICKLE_TUPLE || p->value[id].count < 5 || p->value[id].count > 6
      || (p->value[id].count == 6 && item_value(p, id, 5)->kind != CLARKE_PICKLE_NONE))
    return false;
  tag = item_value(p, id, 0);
  class = item_value(p, id, 1);
  return tag->kind == CLARKE_PICKLE_TEXT
         && is_word("storage", (const char *)p->data + tag->first, tag->count)
         && class->kind == CLARKE_PICKLE_GLOBAL && globals[class->what].meaning == STORAGE_CLASS
         && item_value(p, id, 2)->kind == CLARKE_PICKLE_TEXT
         && item_value(p, id, 3)->kind == CLARKE_PICKLE_TEXT && is_size(item_value(p, id, 4));
}

clarke_status
clarke_pickle_persistent(uint32_t *value, clarke_pickle *p, uint32_t id, clarke_error *err)
{
  clarke_status status;

  if (!is_storage(p, id))
    return clarke_fail(err, CLARKE_EINPUT, "a persistent id is no ('storage', class, key, location, "
                       "entries)");
  status = clarke_pickle_add(value, p, CLARKE_PICKLE_STORAGE, err);
  if (status != CLARKE_OK)
    return status;
  p->value[*value].first = p->value[id].first;
  p->value[*value].what = (uint8_t)globals[item_value(p, id, 1)->what].dtype;
  p->value[*value].integer = item_value(p, id, 4)->integer;
  return CLARKE_OK;
}

const clarke_pickle_value *
clarke_pickle_key(const clarke_pickle *p, uint32_t storage)
{
  return item_value(p, storage, 2);
}

/* The integers of a tuple. */
static void
copy_sizes(size_t *to, const clarke_pickle *p, uint32_t tuple)
{
  for (uint32_t i = p->value[tuple].first; i != 0; i = p->item[i].next)
    *to++ = (size_t)p->value[p->item[i].value].integer;
}

void
clarke_pickle_view_of(clarke_pickle_view *view, const clarke_pickle *p, uint32_t tensor)
{
  memset(view, 0, sizeof *view);
  view->storage = item(p, tensor, 0);
  view->offset = (size_t)item_value(p, tensor, 1)->integer;
  view->rank = item_value(p, tensor, 2)->count;
  copy_sizes(view->dims, p, item(p, tensor, 2));
  copy_sizes(view->strides, p, item(p, tensor, 3));
}
