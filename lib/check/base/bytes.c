/* Files and their bytes. */
#include "check/base/bytes.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bytes
slice(bytes b, size_t from, size_t n)
{
  expect(from <= b.size && n <= b.size - from, "a file is cut off, or its parts are not inside");
  return (bytes){from > 0 ? b.data + from : b.data, n};
}

bytes
take(bytes *b, size_t n)
{
  bytes taken = slice(*b, 0, n);
  *b = slice(*b, n, b->size - n);
  return taken;
}

uint64_t
little(bytes b, size_t at, size_t width)
{
  uint64_t x = 0;
  for (size_t i = width; i-- > 0;)
    x = x << 8 | slice(b, at, width).data[i];
  return x;
}

/* Well-formed: no surrogate, and no point in more bytes than it takes (Unicode, table 3-7). */
bool
is_text(bytes b)
{
  static const uint32_t least[] = {0x20, 0xa0, 0x800, 0x10000};
  while (b.size > 0) {
    uint32_t c = *take(&b, 1).data, more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (c > 0xf7 || (c >= 0x7f && c < 0xc0) || b.size < more)
      return false;
    c &= more > 0 ? 0x3fu >> more : 0x7f;
    for (uint32_t i = 0; i < more; i++) {
      uint32_t next = *take(&b, 1).data;
      if ((next & 0xc0) != 0x80)
        return false;
      c = c << 6 | (next & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
      return false;
  }
  return true;
}

/* A pipe may wait for ever and a device has no end: neither is read. */
static bytes
read_by(const char *path, int flags)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
  struct stat st;
  bytes b = {NULL, 0};
  expect(fd >= 0 || errno != ELOOP || flags == 0,
         "%s is a symbolic link: what a record's proof names lies in the folder itself", path);
  expect(fd >= 0, "%s cannot be opened", path);
  expect(fstat(fd, &st) == 0 && S_ISREG(st.st_mode), "%s is no regular file", path);
  within(LIMIT_FILE, (size_t)st.st_size, "%s has %zu bytes", path, (size_t)st.st_size);
  limit_input((size_t)st.st_size);
  b.data = allocate((size_t)st.st_size + 1, 1); /* one more, to see that it ends there */
  for (ssize_t got = 1; got > 0; b.size += (size_t)got) {
    got = read(fd, b.data + b.size, (size_t)st.st_size + 1 - b.size);
    expect(got >= 0 && b.size + (size_t)got <= (size_t)st.st_size, "%s cannot be read, or changes", path);
  }
  close(fd);
  return b;
}

bytes
read_file(const char *path)
{
  return read_by(path, 0);
}

bytes
read_no_link(const char *path)
{
  return read_by(path, O_NOFOLLOW);
}
