#include "mutate.h"

#include <stdlib.h>
#include <string.h>

size_t
below(chance *c, size_t n)
{
  c->state = c->state * 6364136223846793005u + 1442695040888963407u;
  return n == 0 ? 0 : (size_t)(c->state >> 33) % n;
}

bool
one_in(chance *c, size_t n)
{
  return below(c, n) == 0;
}

void
mutate_bytes(buffer *b, size_t growth)
{
  const size_t most = b->size + growth;
  unsigned char *room = calloc(1, most + 1);

  if (room == NULL)
    abort();
  if (b->size != 0)
    memcpy(room, b->data, b->size);
  buffer_set(b, room, LLVMFuzzerMutate(room, b->size, most + 1));
  free(room);
}

size_t
mutated(uint8_t *data, size_t size, size_t most, unsigned seed, bool (*mutate)(buffer *b, chance *c))
{
  chance c = {seed * 2654435761u + 88172645463325252u};
  buffer b = {0};
  bool known = true;

  if (one_in(&c, 12))
    return LLVMFuzzerMutate(data, size, most);
  buffer_put(&b, data, size);
  for (size_t times = one_in(&c, 3) ? 2 + below(&c, 3) : 1; times > 0 && known; times--)
    known = mutate(&b, &c);
  if (!known || b.size > most || b.size == 0)
    size = LLVMFuzzerMutate(data, size, most);
  else
    memcpy(data, b.data, size = b.size);
  buffer_clear(&b);
  return size;
}

/* --- lines of words --- */

typedef struct {
  size_t from, size;
} part;

/* Parts that end with (lines) or are between (words) such bytes. */
static part
pick(const buffer *b, const char *ends, bool with_end, chance *c)
{
  part found = {0, b->size};
  size_t from = 0, n = 0;

  for (size_t i = 0; i <= b->size; i++) {
    if (i < b->size && strchr(ends, b->data[i]) == NULL)
      continue;
    if (b->size > 0 && (i > from || with_end) && from < b->size && one_in(c, ++n))
      found = (part){from, i - from + (with_end && i < b->size)};
    from = i + 1;
  }
  return found;
}

static void
copy_part(buffer *b, part from, size_t at, size_t out)
{
  buffer copy = {0};

  buffer_put(&copy, b->data + from.from, from.size);
  buffer_replace(b, at, out, copy.data, copy.size);
  buffer_clear(&copy);
}

static void
mutate_number(buffer *b, part word)
{
  static const char *const numbers[] = {"0", "1", "-1", "2", "1/2", "-1/3", "3/4", "10", "100000", "65536",
                                        "9223372036854775807", "18446744073709551616", "0x1p-3", "0.1f", "1e3", "left"};
  static size_t next;
  const char *number = numbers[next++ % (sizeof numbers / sizeof numbers[0])];

  buffer_replace(b, word.from, word.size, number, strlen(number));
}

bool
mutate_text(buffer *b, chance *c)
{
  static const char words[] = " \n=,()";
  const part line = pick(b, "\n", true, c), other = pick(b, "\n", true, c);
  const part word = pick(b, words, false, c), from = pick(b, words, false, c);

  if (b->size == 0)
    return false;
  switch (below(c, 7)) {
  case 0:
    copy_part(b, line, other.from, 0);
    break;
  case 1:
    buffer_replace(b, line.from, line.size, NULL, 0);
    break;
  case 2:
    copy_part(b, line, other.from, other.size);
    break;
  case 3:
    copy_part(b, from, word.from, word.size);
    break;
  case 4:
    mutate_number(b, word);
    break;
  case 5:
    buffer_replace(b, word.from, word.size, NULL, 0);
    break;
  default:
    mutate_bytes(b, 16);
    break;
  }
  return true;
}
