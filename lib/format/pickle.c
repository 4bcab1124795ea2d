/* The pickle machine (pickle.h): a stack, marks on it, a memo. */
#include "format/pickle.h"
#include "format/pickle_value.h"

#include <stdlib.h>
#include <string.h>

void
clarke_pickle_clear(clarke_pickle *p)
{
  free(p->value);
  free(p->item);
  memset(p, 0, sizeof *p);
}

/* --- the machine -------------------------------------------------------------------------------- */

typedef struct {
  clarke_pickle *p;
  const unsigned char *at, *end;
  size_t depth, stack_capacity;
  uint32_t *stack;
  size_t base; /* what lies below the last mark is out of reach */
  size_t n_marks, mark_capacity;
  uint32_t *mark; /* earlier bases */
  size_t n_memo; /* of the memo's places that are there */
  uint32_t *memo; /* a value + 1, 0: none yet */
  bool stopped;
  clarke_error *err;
} machine;

static clarke_status
push(machine *m, uint32_t value)
{
  const clarke_status status =
      clarke_pickle_room(&m->stack, &m->stack_capacity, m->depth, sizeof *m->stack, m->err);

  if (status == CLARKE_OK)
    m->stack[m->depth++] = value;
  return status;
}

/* Are n values above the last mark? */
static clarke_status
need(const machine *m, size_t n)
{
  return m->depth - m->base >= n
             ? CLARKE_OK
             : clarke_fail(m->err, CLARKE_EINPUT, "takes %zu values from a stack of %zu", n,
                           m->depth - m->base);
}

static uint32_t
pop(machine *m)
{
  return m->stack[--m->depth];
}

static clarke_status
push_mark(machine *m)
{
  const clarke_status status =
      clarke_pickle_room(&m->mark, &m->mark_capacity, m->n_marks, sizeof *m->mark, m->err);

  if (status != CLARKE_OK)
    return status;
  m->mark[m->n_marks++] = (uint32_t)m->base;
  m->base = m->depth;
  return CLARKE_OK;
}

/* Takes the last mark away: the n values above it stay on the stack, within reach. */
static clarke_status
pop_mark(machine *m, size_t *n)
{
  *n = 0;
  if (m->n_marks == 0)
    return clarke_fail(m->err, CLARKE_EINPUT, "there is no mark");
  *n = m->depth - m->base;
  m->base = m->mark[--m->n_marks];
  return CLARKE_OK;
}

/* *value = the n bytes that follow, little-endian. */
static clarke_status
take_number(machine *m, size_t n, uint64_t *value)
{
  *value = 0;
  if ((size_t)(m->end - m->at) < n)
    return clarke_fail(m->err, CLARKE_EINPUT, "the pickle ends inside it");
  for (size_t k = n; k-- > 0;)
    *value = *value << 8 | m->at[k];
  m->at += n;
  return CLARKE_OK;
}

static clarke_status
push_integer(machine *m, int64_t integer)
{
  uint32_t value;
  clarke_status status = clarke_pickle_add(&value, m->p, CLARKE_PICKLE_INTEGER, m->err);

  if (status != CLARKE_OK)
    return status;
  m->p->value[value].integer = integer;
  return push(m, value);
}

/* `width` bytes, the top bit a sign or not. */
static clarke_status
do_integer(machine *m, size_t width, bool is_signed)
{
  uint64_t word;
  clarke_status status = take_number(m, width, &word);

  if (status != CLARKE_OK)
    return status;
  if (is_signed && width != 0 && width < 8 && word >> (8 * width - 1) != 0)
    word |= UINT64_MAX << (8 * width);
  return push_integer(m, (int64_t)word);
}

static clarke_status
push_new(machine *m, clarke_pickle_kind kind)
{
  uint32_t value;
  const clarke_status status = clarke_pickle_add(&value, m->p, kind, m->err);

  return status == CLARKE_OK ? push(m, value) : status;
}

/* Skips a number that is not kept. */
static clarke_status
do_number(machine *m, size_t width)
{
  if ((size_t)(m->end - m->at) < width)
    return clarke_fail(m->err, CLARKE_EINPUT, "the pickle ends inside it");
  m->at += width;
  return push_new(m, CLARKE_PICKLE_NUMBER);
}

static clarke_status
do_long(machine *m)
{
  uint64_t width;
  const clarke_status status = take_number(m, 1, &width);

  if (status != CLARKE_OK)
    return status;
  return width <= 8 ? do_integer(m, (size_t)width, true) : do_number(m, (size_t)width);
}

static clarke_status
do_text(machine *m)
{
  uint64_t length;
  clarke_status status = take_number(m, 4, &length);

  if (status == CLARKE_OK && (size_t)(m->end - m->at) < length)
    status = clarke_fail(m->err, CLARKE_EINPUT, "a text of %llu bytes runs past the end",
                         (unsigned long long)length);
  if (status == CLARKE_OK)
    status = push_new(m, CLARKE_PICKLE_TEXT);
  if (status != CLARKE_OK)
    return status;
  m->p->value[m->stack[m->depth - 1]].first = (uint32_t)(m->at - m->p->data);
  m->p->value[m->stack[m->depth - 1]].count = (uint32_t)length;
  m->at += length;
  return CLARKE_OK;
}

/* A tuple of the topmost n values. */
static clarke_status
do_tuple(machine *m, size_t n)
{
  uint32_t tuple;
  clarke_status status = need(m, n);

  if (status == CLARKE_OK && n == 0)
    return push(m, PICKLED_EMPTY_TUPLE);
  if (status == CLARKE_OK)
    status = clarke_pickle_add(&tuple, m->p, CLARKE_PICKLE_TUPLE, m->err);
  for (size_t k = n; k > 0 && status == CLARKE_OK; k--)
    status = clarke_pickle_append(m->p, tuple, m->stack[m->depth - k], m->err);
  if (status != CLARKE_OK)
    return status;
  m->depth -= n;
  return push(m, tuple);
}

/* Adds the topmost n values to the container of the kind just below them. */
static clarke_status
do_add(machine *m, size_t n, clarke_pickle_kind kind)
{
  clarke_status status = need(m, n + 1);
  uint32_t container;

  if (status != CLARKE_OK)
    return status;
  container = m->stack[m->depth - n - 1];
  if (m->p->value[container].kind != kind)
    return clarke_fail(m->err, CLARKE_EINPUT, "adds to what is no %s",
                       kind == CLARKE_PICKLE_LIST ? "list" : "dictionary");
  if (kind == CLARKE_PICKLE_DICT && n % 2 != 0)
    return clarke_fail(m->err, CLARKE_EINPUT, "a key has no value");
  for (size_t k = n; k > 0 && status == CLARKE_OK; k--)
    status = clarke_pickle_append(m->p, container, m->stack[m->depth - k], m->err);
  m->depth -= n;
  return status;
}

/* The memo's places are numbered as they are filled, so that there are fewer than bytes. */
static clarke_status
do_put(machine *m, size_t width)
{
  const size_t places = m->p->size;
  uint64_t place;
  clarke_status status = take_number(m, width, &place);

  if (status == CLARKE_OK)
    status = need(m, 1);
  if (status != CLARKE_OK)
    return status;
  if (place >= places)
    return clarke_fail(m->err, CLARKE_EINPUT, "place %llu of the memo in a pickle of %zu bytes",
                       (unsigned long long)place, places);
  if (m->memo == NULL) {
    m->memo = calloc(places, sizeof *m->memo);
    if (m->memo == NULL)
      return clarke_fail(m->err, CLARKE_ENOMEM, "no memory for %zu values", places);
    m->n_memo = places;
  }
  m->memo[place] = m->stack[m->depth - 1] + 1;
  return CLARKE_OK;
}

static clarke_status
do_get(machine *m, size_t width)
{
  uint64_t place;
  clarke_status status = take_number(m, width, &place);

  if (status != CLARKE_OK)
    return status;
  if (place >= m->n_memo || m->memo[place] == 0)
    return clarke_fail(m->err, CLARKE_EINPUT, "place %llu of the memo is empty",
                       (unsigned long long)place);
  return push(m, m->memo[place] - 1);
}

/* *text .. the line's end, which is passed. */
static clarke_status
take_line(machine *m, const char **text, size_t *size)
{
  const unsigned char *end = m->at == m->end ? NULL : memchr(m->at, '\n', (size_t)(m->end - m->at));

  *text = NULL;
  *size = 0;
  if (end == NULL)
    return clarke_fail(m->err, CLARKE_EINPUT, "the pickle ends inside it");
  *text = (const char *)m->at;
  *size = (size_t)(end - m->at);
  m->at = end + 1;
  return CLARKE_OK;
}

static clarke_status
do_global(machine *m)
{
  const char *module, *name;
  size_t module_size, name_size;
  uint32_t value;
  clarke_status status = take_line(m, &module, &module_size);

  if (status == CLARKE_OK)
    status = take_line(m, &name, &name_size);
  if (status == CLARKE_OK)
    status = clarke_pickle_global(&value, m->p, module, module_size, name, name_size, m->err);
  return status == CLARKE_OK ? push(m, value) : status;
}

static clarke_status
do_persistent(machine *m)
{
  uint32_t value;
  clarke_status status = need(m, 1);

  if (status == CLARKE_OK)
    status = clarke_pickle_persistent(&value, m->p, pop(m), m->err);
  return status == CLARKE_OK ? push(m, value) : status;
}

static clarke_status
do_reduce(machine *m)
{
  uint32_t value, arguments;
  clarke_status status = need(m, 2);

  if (status != CLARKE_OK)
    return status;
  arguments = pop(m);
  status = clarke_pickle_call(&value, m->p, pop(m), arguments, m->err);
  return status == CLARKE_OK ? push(m, value) : status;
}

static clarke_status
do_new_object(machine *m)
{
  uint32_t value, arguments;
  clarke_status status = need(m, 2);

  if (status != CLARKE_OK)
    return status;
  arguments = pop(m);
  status = clarke_pickle_object(&value, m->p, pop(m), arguments, m->err);
  return status == CLARKE_OK ? push(m, value) : status;
}

/* The state of an OrderedDict is its attributes (torch keeps _metadata there), not its items; that of a module is all it has. */
static clarke_status
do_build(machine *m)
{
  const clarke_pickle_value *object;
  clarke_status status = need(m, 2);
  uint32_t state;

  if (status != CLARKE_OK)
    return status;
  state = pop(m);
  object = &m->p->value[m->stack[m->depth - 1]];
  if (object->kind == CLARKE_PICKLE_MODULE)
    return clarke_pickle_give(m->p, m->stack[m->depth - 1], state, m->err);
  if (object->kind != CLARKE_PICKLE_DICT || object->what == 0)
    return clarke_fail(m->err, CLARKE_EINPUT, "gives attributes to what is no OrderedDict");
  return CLARKE_OK;
}

static clarke_status
do_stop(machine *m)
{
  clarke_status status = need(m, 1);

  if (status != CLARKE_OK)
    return status;
  if (m->n_marks != 0 || m->depth != 1)
    return clarke_fail(m->err, CLARKE_EINPUT, "leaves %zu values on the stack", m->depth);
  m->p->root = pop(m);
  m->stopped = true;
  return CLARKE_OK;
}

/* All that lies above the last mark. */
static clarke_status
do_tuple_from_mark(machine *m)
{
  size_t n;
  const clarke_status status = pop_mark(m, &n);

  return status == CLARKE_OK ? do_tuple(m, n) : status;
}

static clarke_status
do_add_from_mark(machine *m, clarke_pickle_kind kind)
{
  size_t n;
  const clarke_status status = pop_mark(m, &n);

  return status == CLARKE_OK ? do_add(m, n, kind) : status;
}

static clarke_status
refuse(const machine *m, unsigned char opcode)
{
  const char shown[] = { ' ', '\'', (char)opcode, '\'', '\0' };

  return clarke_fail(m->err, CLARKE_EINPUT,
                     "opcode 0x%02x%s is none of those that a state dict needs", opcode,
                     opcode > 0x20 && opcode < 0x7f ? shown : "");
}

static clarke_status
step(machine *m)
{
  const unsigned char opcode = *m->at++;

  switch (opcode) {
  case '(': return push_mark(m);
  case '.': return do_stop(m);
  case 'N': return push(m, PICKLED_NONE);
  case 0x88: return push(m, PICKLED_TRUE);
  case 0x89: return push(m, PICKLED_FALSE);
  case ')': return push(m, PICKLED_EMPTY_TUPLE);
  case ']': return push_new(m, CLARKE_PICKLE_LIST);
  case '}': return push_new(m, CLARKE_PICKLE_DICT);
  case 'J': return do_integer(m, 4, true);
  case 'K': return do_integer(m, 1, false);
  case 'M': return do_integer(m, 2, false);
  case 0x8a: return do_long(m);
  case 'G': return do_number(m, 8);
  case 'X': return do_text(m);
  case 't': return do_tuple_from_mark(m);
  case 0x85: return do_tuple(m, 1);
  case 0x86: return do_tuple(m, 2);
  case 0x87: return do_tuple(m, 3);
  case 'q': return do_put(m, 1);
  case 'r': return do_put(m, 4);
  case 'h': return do_get(m, 1);
  case 'j': return do_get(m, 4);
  case 'c': return do_global(m);
  case 'Q': return do_persistent(m);
  case 'R': return do_reduce(m);
  case 0x81: return do_new_object(m);
  case 'b': return do_build(m);
  case 's': return do_add(m, 2, CLARKE_PICKLE_DICT);
  case 'u': return do_add_from_mark(m, CLARKE_PICKLE_DICT);
  case 'a': return do_add(m, 1, CLARKE_PICKLE_LIST);
  case 'e': return do_add_from_mark(m, CLARKE_PICKLE_LIST);
  default: return refuse(m, opcode);
  }
}

static clarke_status
run(machine *m)
{
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && !m->stopped) {
    const size_t offset = (size_t)(m->at - m->p->data);

    if (m->at == m->end)
      return clarke_fail(m->err, CLARKE_EINPUT, "byte %zu: the pickle ends without saying so",
                         offset);
    status = step(m);
    if (status != CLARKE_OK)
      clarke_fail_in(m->err, status, "byte %zu", offset);
  }
  return status;
}

static clarke_status
check_start(const unsigned char *data, size_t size, clarke_error *err)
{
  if (size > CLARKE_PICKLE_MAX_SIZE)
    return clarke_fail(err, CLARKE_ENOMEM, "a pickle of %zu bytes; at most %zu are read", size,
                       CLARKE_PICKLE_MAX_SIZE);
  if (size < 2 || data[0] != 0x80)
    return clarke_fail(err, CLARKE_EINPUT, "not a pickle of protocol 2");
  if (data[1] != 2)
    return clarke_fail(err, CLARKE_EINPUT, "pickle protocol %d; protocol 2, torch.save's default, "
                       "is read", data[1]);
  return CLARKE_OK;
}

clarke_status
clarke_pickle_read_first(clarke_pickle *p, size_t *used, const void *data, size_t size, clarke_error *err)
{
  machine m = { .p = p, .err = err };
  clarke_status status = check_start(data, size, err);

  clarke_pickle_clear(p);
  if (status != CLARKE_OK)
    return status;
  p->data = data;
  p->size = size;
  m.at = p->data + 2;
  m.end = p->data + size;
  status = clarke_pickle_constants(p, err);
  if (status == CLARKE_OK)
    status = run(&m);
  *used = (size_t)(m.at - p->data);
  free(m.stack);
  free(m.mark);
  free(m.memo);
  if (status != CLARKE_OK)
    clarke_pickle_clear(p);
  return status;
}

clarke_status
clarke_pickle_read(clarke_pickle *p, const void *data, size_t size, clarke_error *err)
{
  size_t used;
  clarke_status status = clarke_pickle_read_first(p, &used, data, size, err);

  if (status != CLARKE_OK || used == size)
    return status;
  clarke_pickle_clear(p);
  return clarke_fail(err, CLARKE_EINPUT, "byte %zu: %zu bytes follow the end", used - 1, size - used);
}
