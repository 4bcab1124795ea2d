/* Python pickles (protocol 2) as torch.save writes them for a state dict, and torch.jit.save for a module: read as data, by a machine
 * of the 32 opcodes that takes. Nothing is imported, constructed or called: a name of Python's must
 * be one of the few below, or a class of the module's own code, which is not looked at. "Calling" one makes an empty dictionary, a
 * tensor's description, or nothing. Anything else is refused, with its offset.
 *
 * Values lie in one array and are meant by their index; containers are lists of items. Values may
 * be shared and may contain themselves, so whoever walks them must bound the walk. Nothing here
 * recurses, and memory is at most about 60 times the pickle. */
#ifndef CLARKE_FORMAT_PICKLE_H
#define CLARKE_FORMAT_PICKLE_H

#include "exact/tensor.h"

/* No larger pickle is read: 64 MiB, which is some 400,000 tensors. */
#define CLARKE_PICKLE_MAX_SIZE ((size_t)1 << 26)

typedef enum {
  CLARKE_PICKLE_NONE,
  CLARKE_PICKLE_BOOL,    /* integer */
  CLARKE_PICKLE_INTEGER, /* integer */
  CLARKE_PICKLE_NUMBER,  /* a float, or an integer of more than 64 bits: not kept */
  CLARKE_PICKLE_TEXT,    /* count bytes at data + first, of any kind */
  CLARKE_PICKLE_TUPLE,   /* items */
  CLARKE_PICKLE_LIST,    /* items */
  CLARKE_PICKLE_DICT,    /* items: key, value, key, value, ... as set, later ones of a key too */
  CLARKE_PICKLE_GLOBAL,  /* what: its place in the list of those known */
  CLARKE_PICKLE_STORAGE, /* what: clarke_dtype; integer: entries; items: see clarke_pickle_key */
  CLARKE_PICKLE_TENSOR,  /* items: see clarke_pickle_view_of */
  CLARKE_PICKLE_MODULE,  /* of torch.jit.save; what: was it given its attributes? items: as a DICT's */
} clarke_pickle_kind;

typedef struct {
  uint8_t kind; /* clarke_pickle_kind */
  uint8_t what; /* of DICT: is it an OrderedDict? */
  uint32_t first, last, count; /* items, 0: none */
  int64_t integer;
} clarke_pickle_value;

typedef struct {
  uint32_t value, next; /* 0: the last */
} clarke_pickle_item;

typedef struct {
  const unsigned char *data;
  size_t size;
  size_t n_values, value_capacity;
  clarke_pickle_value *value;
  size_t n_items, item_capacity;
  clarke_pickle_item *item; /* the first is none */
  uint32_t root;
} clarke_pickle;

void clarke_pickle_clear(clarke_pickle *p);

/* data must outlive p, which must be zero. */
clarke_status clarke_pickle_read(clarke_pickle *p, const void *data, size_t size,
                                 clarke_error *err);
/* The same where more may follow: the pickle is the first *used bytes. */
clarke_status clarke_pickle_read_first(clarke_pickle *p, size_t *used, const void *data, size_t size, clarke_error *err);

/* The name of the member that holds a STORAGE's entries: TEXT. */
const clarke_pickle_value *clarke_pickle_key(const clarke_pickle *p, uint32_t storage);

/* A TENSOR: entry (i_0, i_1, ...) is the storage's entry offset + sum of i_k strides[k]. Whether the
 * storage has it is not known yet. */
typedef struct {
  uint32_t storage; /* a STORAGE */
  size_t offset, rank;
  size_t dims[CLARKE_MAX_RANK], strides[CLARKE_MAX_RANK];
} clarke_pickle_view;

/* What a value that is a tensor says of itself. */
void clarke_pickle_view_of(clarke_pickle_view *view, const clarke_pickle *p, uint32_t tensor);

/* --- what the files of the reader share ----------------------------------------------------------- */

/* *value = a new value without items. */
clarke_status clarke_pickle_add(uint32_t *value, clarke_pickle *p, clarke_pickle_kind kind,
                                clarke_error *err);

/* pickle_call.c. A name of Python's, "module" and "name" without terminators. */
clarke_status clarke_pickle_global(uint32_t *value, clarke_pickle *p, const char *module,
                                   size_t module_size, const char *name, size_t name_size,
                                   clarke_error *err);
/* What calling `function` with the arguments makes. */
clarke_status clarke_pickle_call(uint32_t *value, clarke_pickle *p, uint32_t function,
                                 uint32_t arguments, clarke_error *err);
/* What making an object of that class, with these arguments, makes: a module without attributes. */
clarke_status clarke_pickle_object(uint32_t *value, clarke_pickle *p, uint32_t class, uint32_t arguments,
                                   clarke_error *err);
/* The module's attributes are the dictionary's items from here on, and the dictionary has none. */
clarke_status clarke_pickle_give(clarke_pickle *p, uint32_t module, uint32_t attributes, clarke_error *err);
/* What a persistent id stands for: a storage. */
clarke_status clarke_pickle_persistent(uint32_t *value, clarke_pickle *p, uint32_t id,
                                       clarke_error *err);

#endif
