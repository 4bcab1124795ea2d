/* .npy and stored .npz. What NumPy or Python's zipfile would read otherwise, or refuse, is refused. */
#include "check/files/arrays.h"
#include "check/base/allocate.h"
#include "check/files/header_text.h"

#include <string.h>

/* The type of that name; 0, which is unsupported, when there is none. */
size_t
type_named(const char *name, int format)
{
  size_t type = N_DTYPES - 1;
  while (type > 0 && strcmp(dtypes[type].name[format], name) != 0)
    type--;
  return *name != '\0' && dtypes[type].part == 0 && !is_float8(type) ? type : 0;
}

/* Numbers between commas up to the end, at most `most`; returns how many. trailing: is there a comma after the last? */
static size_t
numbers(bytes *b, size_t *n, size_t most, const char *end, bool *trailing)
{
  size_t i = 0;
  *trailing = false;
  for (text_spaces(b); !text_skip(b, end); i++, text_spaces(b)) {
    refuse_if(i == most || (i > 0 && !*trailing), "a header with a list that is too long, or not of numbers");
    n[i] = text_number(b);
    text_spaces(b);
    *trailing = text_skip(b, ",");
  }
  return i;
}

/* What an .npy file's header says. */
typedef struct {
  size_t type;
  bool big, columns; /* the highest byte first; the first index fastest */
} layout;

static void
npy_type(layout *l, bytes *h)
{
  char *name = text_quoted(h, h->size > 0 && *h->data == '"' ? "\"" : "'"), order = *name;
  size_t width = order != '\0' ? (size_t)(name[1] == '\0' ? 0 : name[2] - '0') : 0;
  if (order == '<' || order == '>')
    *name = width == 1 ? '|' : '<';
  l->big = order == '>';
  l->type = type_named(name, 0);
  refuse_if(l->type == 0, "an array of an unsupported type");
}

static void
npy_shape(tensor *t, bytes *h)
{
  bool trailing;
  text_over(h, "(");
  t->rank = numbers(h, t->dims, MAX_RANK, ")", &trailing);
  refuse_if(t->rank == 1 && !trailing, "a header whose shape is a number");
}

/* Key and value of the header's dictionary; returns which key. */
static unsigned
npy_entry(layout *l, tensor *t, bytes *h)
{
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  const char *quote = h->size > 0 && *h->data == '"' ? "\"" : "'";
  char *key = text_quoted(h, quote);
  unsigned k = 0;
  while (k < 3 && strcmp(key, keys[k]) != 0)
    k++;
  text_spaces(h);
  text_over(h, ":");
  text_spaces(h);
  if (k == 0)
    npy_type(l, h);
  if (k == 1 && !(l->columns = text_skip(h, "True")))
    text_over(h, "False");
  if (k == 2)
    npy_shape(t, h);
  refuse_if(k == 3, "a header with a key that NumPy does not write");
  return k;
}

/* A Python dictionary as NumPy writes it, {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, its keys in any
 * order; then spaces and the line's end. */
static layout
npy_header(tensor *t, bytes h)
{
  layout l = {0, false, false};
  unsigned seen = 0;
  bool comma = true;
  text_spaces(&h);
  text_over(&h, "{");
  for (text_spaces(&h); !text_skip(&h, "}"); text_spaces(&h)) {
    unsigned bit = comma ? 1u << npy_entry(&l, t, &h) : seen;
    refuse_if((seen & bit) != 0, "a header with a key twice, or without a comma");
    seen |= bit;
    text_spaces(&h);
    comma = text_skip(&h, ",");
  }
  text_spaces(&h);
  refuse_if(seen != 7 || !text_skip(&h, "\n") || h.size > 0,
            "a header without its three keys, or with more after them");
  return l;
}

/* The entries of a type of that width, each with its lowest byte first. */
static bytes
turned(bytes b, size_t width)
{
  bytes all = {allocate(b.size, 1), b.size};
  for (size_t i = 0; i < b.size; i++) {
    size_t at = i - i % width + (width - 1 - i % width);
    all.data[i] = at < b.size ? b.data[at] : 0;
  }
  return all;
}

/* Entries stored with the first index fastest, put into row-major order. */
static void
transpose(tensor *t)
{
  rational *rows = allocate(t->count, sizeof *rows);
  for (size_t f = 0; f < t->count; f++) {
    size_t from = 0, rest = f, apart = t->count;
    for (size_t i = t->rank; i-- > 0; rest /= t->dims[i]) {
      apart /= t->dims[i];
      from += rest % t->dims[i] * apart;
    }
    rows[f] = t->value[from];
  }
  t->value = rows;
}

/* Versions 1 to 3. NumPy reads no header of over 10,000 bytes. */
static void
npy(tensor *t, bytes b)
{
  refuse_if(!text_skip(&b, "\x93NUMPY") || little(b, 0, 1) < 1 || little(b, 0, 1) > 3 || little(b, 1, 1) != 0,
            "'%s' is not an .npy file", t->name);
  size_t wide = little(b, 0, 1) == 1 ? 2 : 4, length = little(b, 2, wide);
  take(&b, 2 + wide);
  refuse_if(length > 10000, "'%s' has a header of over 10000 bytes", t->name);
  layout l = npy_header(t, take(&b, length));
  tensor_fill(t, l.type, l.big ? turned(b, dtypes[l.type].width) : b);
  if (l.columns && t->count > 0)
    transpose(t);
}

/* ISO 3309, as in ZIP. */
static uint32_t
crc32(bytes b)
{
  uint32_t table[256], crc = UINT32_MAX;
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int k = 0; k < 8; k++)
      table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
  }
  for (size_t i = 0; i < b.size; i++)
    crc = crc >> 8 ^ table[(crc ^ b.data[i]) & 255];
  return ~crc;
}

/* Whether the local header says what the directory's entry e does: version, flags, method, time, date and CRC in the same order,
 * then the sizes, which may be in an extra field (numpy.savez puts them there); then the name. */
static bool
local_agrees(bytes local, bytes e)
{
  static const unsigned char wide[4] = {1, 0, 16, 0};
  size_t size = little(e, 20, 4), name = little(e, 28, 2), extra = little(local, 28, 2);
  bool same = memcmp(slice(local, 0, 4).data, "PK\3\4", 4) == 0 && little(local, 26, 2) == name
              && memcmp(slice(local, 4, 14).data, slice(e, 6, 14).data, 14) == 0
              && memcmp(slice(local, 30, name).data, slice(e, 46, name).data, name) == 0;
  if (!same || extra == 0)
    return same && little(local, 18, 4) == size && little(local, 22, 4) == size;
  bytes more = slice(local, 30 + name, extra);
  return extra == 20 && little(local, 18, 8) == UINT64_MAX && memcmp(more.data, wide, 4) == 0
         && little(more, 4, 8) == size && little(more, 12, 8) == size;
}

/* The member at *at, of the directory's entry e; *at becomes its end. Names that are not ASCII are marked as UTF-8. */
static void
npz_member(tensor *t, bytes file, bytes e, size_t *at)
{
  size_t flags = little(e, 8, 2), size = little(e, 20, 4), name = little(e, 28, 2);
  bytes full = slice(e, 46, name);
  bool ascii = true;
  for (size_t i = 0; i < name; i++)
    ascii = ascii && full.data[i] < 128;
  refuse_if(!is_text(full) || (!ascii && flags == 0), "a member's name is no text");
  t->name = copy_text(full.data, name);
  refuse_if(little(e, 10, 2) != 0 || (flags & ~(size_t)0x800) != 0 || little(e, 24, 4) != size || name < 5
                || strcmp(t->name + name - 4, ".npy") != 0,
            "member '%s' is compressed, encrypted or no .npy: write it with numpy.savez", t->name);
  t->name[name - 4] = '\0';
  refuse_if(name >= 8 && strcmp(t->name + name - 8, ".npy") == 0, "member '%s' has two readings", t->name);
  bytes local = slice(file, *at, file.size - *at);
  refuse_if(little(e, 42, 4) != *at || !local_agrees(local, e), "member '%s' is not where and what the archive says",
            t->name);
  *at += 30 + name + little(local, 28, 2);
  bytes data = slice(file, *at, size);
  refuse_if(crc32(data) != little(e, 16, 4), "member '%s' does not have its checksum", t->name);
  npy(t, data);
  *at += size;
}

/* The members one after another from the file's first byte, the directory, its end record, and nothing else: readers that
 * find these in other ways find the same. */
static tensor *
npz(bytes file, size_t *n)
{
  size_t end = file.size - 22, size = little(file, end + 12, 4), start = little(file, end + 16, 4), at = 0;
  refuse_if(memcmp(file.data + end, "PK\5\6", 4) != 0 || little(file, end + 4, 4) != 0 || little(file, end + 20, 2) != 0
                || little(file, end + 8, 2) != little(file, end + 10, 2) || start > end || size != end - start,
            "an archive without a directory at its end, or with more than one");
  *n = little(file, end + 10, 2);
  tensor *t = allocate(*n, sizeof *t);
  bytes directory = slice(file, start, size), members = slice(file, 0, start);
  for (size_t i = 0; i < *n; i++) {
    size_t name = little(directory, 28, 2);
    bytes e = take(&directory, 46 + name);
    refuse_if(memcmp(e.data, "PK\1\2", 4) != 0 || little(e, 30, 6) != 0 || little(e, 6, 2) > 45,
              "the archive's directory is broken");
    npz_member(&t[i], members, e, &at);
  }
  refuse_if(directory.size > 0 || at != start, "an archive with bytes that belong to no member");
  return t;
}

bool
is_of_arrays(bytes file)
{
  return (file.size >= 6 && memcmp(file.data, "\x93NUMPY", 6) == 0)
         || (file.size >= 22 && memcmp(file.data, "PK", 2) == 0);
}

tensor *
arrays_read(bytes file, size_t *n)
{
  refuse_if(!is_of_arrays(file), "neither .npy nor .npz");
  if (*file.data == 'P')
    return npz(file, n);
  tensor *t = allocate(1, sizeof *t);
  t->name = copy_text("x", 1);
  npy(t, file);
  *n = 1;
  return t;
}

void
tensors_name(const tensor *t, size_t n, name_index *names)
{
  for (size_t i = 0; i < n; i++)
    expect(name_add(names, t[i].name), "two tensors named '%s'", t[i].name);
}

tensor *
array_named(const arrays *b, const char *name)
{
  size_t i = name_find(&b->names, name);
  return i != NONE ? &b->array[i] : NULL;
}

arrays
batch_read(bytes file)
{
  arrays b = {0};
  refuse_if(file.size < 2 || (memcmp(file.data, "PK", 2) != 0 && file.data[0] != 0x93), "the batch is no .npz or .npy");
  b.array = arrays_read(file, &b.n);
  tensors_name(b.array, b.n, &b.names);
  b.x = array_named(&b, "x");
  b.y = array_named(&b, "y");
  refuse_if(b.x == NULL, "the batch holds no x");
  return b;
}
