/* The layout of a ZIP archive (layout.h): PKWARE's APPNOTE.TXT, sections 4.3 and 4.4. */
#include "format/layout.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LOCAL = 30, CENTRAL = 46, END = 22, LOCATOR = 20, END64 = 56, EXTRA64 = 20,
       NEWEST = 45 /* version of the format, times ten: sizes in extra fields */ };

typedef struct {
  const unsigned char *data;
  size_t size;
  size_t start, end; /* of the directory */
  size_t n;          /* its entries */
} archive;

static uint64_t
little(const unsigned char *p, size_t width)
{
  uint64_t x = 0;

  for (size_t k = width; k-- > 0;)
    x = x << 8 | p[k];
  return x;
}

static clarke_status
spread(clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "the ZIP archive is not one from its first byte to its last: "
                     "two in one file, or bytes that belong to no member");
}

/* The directory, whose records must end the file. */
static clarke_status
find_directory(archive *a, const unsigned char *data, size_t size, clarke_error *err)
{
  const unsigned char *end = data + size - END;
  bool wide;

  if (size < END || memcmp(end, "PK\5\6", 4) != 0 || little(end + 20, 2) != 0)
    return spread(err);
  *a = (archive){ data, size, (size_t)little(end + 16, 4), size - END, (size_t)little(end + 10, 2) };
  wide = a->end >= LOCATOR + END64 && memcmp(end - LOCATOR, "PK\6\7", 4) == 0;
  if (wide && memcmp(end - LOCATOR - END64, "PK\6\6", 4) != 0)
    return spread(err);
  if (wide) {
    a->start = (size_t)little(end - LOCATOR - END64 + 48, 8);
    a->end -= LOCATOR + END64;
  }
  if (a->start > a->end || (!wide && little(end + 12, 4) != a->end - a->start))
    return spread(err);
  return CLARKE_OK;
}

/* The sizes in the local header, or, where numpy.savez has them, in an extra field of it. */
static bool
sizes_agree(const unsigned char *local, const unsigned char *entry)
{
  static const unsigned char wide[] = { 1, 0, 16, 0 };
  const size_t name = (size_t)little(local + 26, 2), extra = (size_t)little(local + 28, 2);
  const unsigned char *more = local + LOCAL + name;

  if (extra == 0)
    return memcmp(local + 18, entry + 20, 8) == 0;
  return extra == EXTRA64 && little(local + 18, 8) == UINT64_MAX && memcmp(more, wide, 4) == 0
         && little(more + 4, 8) == little(entry + 24, 4)
         && little(more + 12, 8) == little(entry + 20, 4);
}

/* The member of the entry must begin at *at and end before the directory; *at becomes its end. */
static bool
member_fits(size_t *at, const archive *a, const unsigned char *entry)
{
  const size_t name = (size_t)little(entry + 28, 2), packed = (size_t)little(entry + 20, 4);
  const unsigned char *local = a->data + *at;
  size_t header;

  if (little(entry + 42, 4) != *at || a->start - *at < LOCAL)
    return false;
  header = LOCAL + (size_t)little(local + 26, 2) + (size_t)little(local + 28, 2);
  if (a->start - *at < header || a->start - *at - header < packed)
    return false;
  *at += header + packed;
  return memcmp(local, "PK\3\4", 4) == 0 && memcmp(local + 4, entry + 6, 14) == 0 && little(local + 26, 2) == name
         && memcmp(local + LOCAL, entry + CENTRAL, name) == 0 && sizes_agree(local, entry);
}

/* Python reads a name that is not marked as UTF-8 as code page 437; of other flags there are none. */
static bool
name_is_plain(const unsigned char *entry)
{
  const size_t name = (size_t)little(entry + 28, 2), flags = (size_t)little(entry + 8, 2);

  for (size_t k = 0; k < name; k++)
    if (entry[CENTRAL + k] >= 0x80 && flags == 0)
      return false;
  return flags == 0 || flags == 0x800;
}

clarke_status
clarke_layout_ends(const void *data, size_t size, clarke_error *err)
{
  archive a;

  return find_directory(&a, data, size, err);
}

clarke_status
clarke_layout_check(const void *data, size_t size, clarke_error *err)
{
  archive a;
  size_t at = 0, place;
  clarke_status status = find_directory(&a, data, size, err);

  if (status != CLARKE_OK)
    return status;
  place = a.start;
  for (size_t i = 0; i < a.n; i++) {
    const unsigned char *entry = a.data + place;
    size_t name;

    if (a.end - place < CENTRAL)
      return spread(err);
    name = (size_t)little(entry + 28, 2);
    if (memcmp(entry, "PK\1\2", 4) != 0 || a.end - place - CENTRAL < name
        || little(entry + 30, 6) != 0 || little(entry + 6, 2) > NEWEST)
      return spread(err);
    if (!name_is_plain(entry) || !member_fits(&at, &a, entry))
      return clarke_fail(err, CLARKE_EINPUT, "member %zu is not where and what the ZIP archive's directory "
                         "says, or is encrypted", i);
    place += CENTRAL + name;
  }
  if (place != a.end || at != a.start || a.end != size - END || memcmp(a.data + a.end + 4, "\0\0\0\0", 4) != 0
      || memcmp(a.data + a.end + 8, a.data + a.end + 10, 2) != 0)
    return spread(err);
  return CLARKE_OK;
}
