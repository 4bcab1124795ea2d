/* Files of numbers: .npy, safetensors, and archives. */
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was begun of a file, its header and its data become b; they are cleared. */
static void
put_in_place(buffer *b, buffer whole, buffer *header, buffer *data)
{
  buffer_put(&whole, header->data, header->size);
  buffer_put(&whole, data->data, data->size);
  buffer_clear(header);
  buffer_clear(data);
  buffer_clear(b);
  *b = whole;
}

/* --- .npy --- */

static const char *const types[] = {"<f4", "<f8", "<f2", ">f4", ">f8", "|u1", "|i1", "<i2", ">i2", "<i4", "<i8", ">u8",
                                    "<u4", "|b1", "<V2", "|O", "<c8", "<U3"};

/* In text, replaces what stands between the two, if it does. */
static bool
put_between(buffer *text, const char *before, const char *after, const char *what)
{
  const size_t n = strlen(before);

  for (size_t i = 0; i + n <= text->size; i++)
    if (memcmp(text->data + i, before, n) == 0)
      for (size_t k = i + n; k + strlen(after) <= text->size; k++)
        if (memcmp(text->data + k, after, strlen(after)) == 0) {
          buffer_replace(text, i + n, k - i - n, what, strlen(what));
          return true;
        }
  return false;
}

static void
mutate_shape(buffer *header, buffer *data, size_t width, chance *c)
{
  char shape[80] = "(";
  size_t count = 1, rank = below(c, 5);

  for (size_t k = 0; k < rank; k++) {
    const size_t dim = one_in(c, 12) ? 0 : 1 + below(c, 4);

    count *= dim;
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%zu%s", k > 0 ? ", " : "", dim, rank == 1 ? "," : "");
  }
  strcat(shape, ")");
  put_between(header, "'shape': ", ", }", shape);
  for (size_t fit = count * width; data->size < fit;)
    buffer_put_word(data, one_in(c, 2) ? 0 : 0x3f, 1);
  data->size = count * width;
}

/* The width that the header's type has, or 4. */
static size_t
width_of(const buffer *header)
{
  for (size_t i = 0; i + 3 < header->size; i++)
    if (strchr("<>|", header->data[i]) != NULL && header->data[i + 2] >= '1' && header->data[i + 2] <= '8')
      return header->data[i + 2] - '0';
  return 4;
}

static void
mutate_header(buffer *header, buffer *data, chance *c)
{
  switch (below(c, 6)) {
  case 0:
    put_between(header, "'descr': '", "'", types[below(c, sizeof types / sizeof types[0])]);
    break;
  case 1:
    put_between(header, "'fortran_order': ", ",", one_in(c, 2) ? "True" : "False");
    break;
  case 2:
    mutate_bytes(header, 16);
    break;
  case 3:
    put_between(header, "'descr': '", "'", types[below(c, 13)]);
    mutate_shape(header, data, width_of(header), c);
    break;
  default:
    mutate_shape(header, data, width_of(header), c);
    break;
  }
}

bool
mutate_array(buffer *b, chance *c)
{
  const size_t wide = b->size > 6 && b->data[6] > 1 ? 4 : 2;
  buffer header = {0}, data = {0}, whole = {0};
  unsigned char version;
  size_t length;

  if (b->size < 8 + wide || memcmp(b->data, "\x93NUMPY", 6) != 0)
    return false;
  length = word_at(b->data + 8, wide);
  if (length > b->size - 8 - wide)
    return false;
  buffer_put(&header, b->data + 8 + wide, length);
  buffer_put(&data, b->data + 8 + wide + length, b->size - 8 - wide - length);
  version = one_in(c, 8) ? (unsigned char)(1 + below(c, 4)) : b->data[6];
  if (one_in(c, 3))
    mutate_bytes(&data, one_in(c, 4) ? 8 : 0);
  else
    mutate_header(&header, &data, c);
  buffer_put(&whole, "\x93NUMPY", 6);
  buffer_put(&whole, &version, 1);
  buffer_put(&whole, "", 1);
  buffer_put_word(&whole, header.size, version > 1 ? 4 : 2);
  put_in_place(b, whole, &header, &data);
  return true;
}

/* --- safetensors: the length of the header, the header, the data --- */

bool
mutate_safetensors(buffer *b, chance *c)
{
  static const char *const dtypes[] = {"F32", "F64", "F16", "BF16", "I64", "U8", "BOOL", "I16", "F8_E4M3", "U64"};
  buffer header = {0}, data = {0}, whole = {0};
  size_t length;

  if (b->size < 8 || word_at(b->data, 8) > b->size - 8)
    return false;
  length = word_at(b->data, 8);
  buffer_put(&header, b->data + 8, length);
  buffer_put(&data, b->data + 8 + length, b->size - 8 - length);
  switch (below(c, 4)) {
  case 0:
    put_between(&header, "\"dtype\":\"", "\"", dtypes[below(c, sizeof dtypes / sizeof dtypes[0])]);
    break;
  case 1:
    mutate_bytes(&data, one_in(c, 3) ? 8 : 0);
    break;
  case 2:
    mutate_text(&header, c);
    break;
  default:
    mutate_bytes(&header, 32);
    break;
  }
  buffer_put_word(&whole, header.size, 8);
  put_in_place(b, whole, &header, &data);
  return true;
}

/* --- archives --- */

static void
copy_member(member *to, const member *from)
{
  *to = (member){.deflated = from->deflated};
  buffer_put(&to->name, from->name.data, from->name.size);
  buffer_put(&to->content, from->content.data, from->content.size);
}

static void
mutate_content(member *m, chance *c)
{
  if (one_in(c, 16) || !mutate_array(&m->content, c))
    mutate_bytes(&m->content, 32);
}

/* One more, one less, another order, or a change of one. There is room for one more. */
static size_t
mutate_members(member *members, size_t n, chance *c)
{
  const size_t i = below(c, n), k = below(c, n);
  const member other = members[k];

  switch (below(c, 12)) {
  case 0:
    copy_member(&members[n], &members[i]);
    if (!one_in(c, 4))
      mutate_bytes(&members[n].name, 4);
    return n + 1;
  case 1:
    buffer_clear(&members[i].name);
    buffer_clear(&members[i].content);
    members[i] = members[n - 1];
    return n - 1;
  case 2:
    members[k] = members[i];
    members[i] = other;
    return n;
  case 3:
    members[i].deflated = !members[i].deflated;
    return n;
  case 4:
    mutate_bytes(&members[i].name, 8);
    members[i].name.size = members[i].name.size < 200 ? members[i].name.size : 200;
    return n;
  case 5:
    buffer_set(&members[i].content, other.content.data, other.content.size);
    return n;
  default:
    mutate_content(&members[i], c);
    return n;
  }
}

bool
mutate_archive(buffer *b, chance *c)
{
  member *members, *more;
  size_t n = archive_split(&members, b->data, b->size);

  if (n == 0) {
    free(members);
    return false;
  }
  more = realloc(members, (n + 1) * sizeof *members);
  if (more == NULL)
    abort();
  n = mutate_members(more, n, c);
  buffer_clear(b);
  archive_seal(b, more, n);
  members_free(more, n);
  return true;
}

bool
mutate_numbers(buffer *b, chance *c)
{
  if (b->size > 2 && memcmp(b->data, "PK", 2) == 0)
    return mutate_archive(b, c);
  return mutate_array(b, c) || mutate_safetensors(b, c);
}
