#include "seal.h"
#include "format/file.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
put_hash(buffer *to, const void *data, size_t size)
{
  unsigned char hash[EVP_MAX_MD_SIZE];
  char text[3];

  if (EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL) != 1)
    abort();
  for (size_t i = 0; i < 32; i++) {
    snprintf(text, sizeof text, "%02x", hash[i]);
    buffer_put(to, text, 2);
  }
}

/* The file's name when the line is KEYWORD NAME HASH of a file; else empty. */
static void
named_file(char *name, size_t room, const char *line, size_t size)
{
  static const char *const keywords[] = {"model ", "params ", "batch ", "program ", "arrangement ", "offsets ", "formula ", "box ", "network ",
                                         "trace ", "gradients "};

  *name = '\0';
  for (size_t k = 0; k < sizeof keywords / sizeof keywords[0]; k++) {
    const size_t n = strlen(keywords[k]);
    const char *end = size > n && memcmp(line, keywords[k], n) == 0 ? memchr(line + n, ' ', size - n) : NULL;

    if (end != NULL && (size_t)(end - line) - n < room) {
      memcpy(name, line + n, (size_t)(end - line) - n);
      name[(size_t)(end - line) - n] = '\0';
    }
  }
}

static void
put_line(buffer *to, const char *folder, const char *line, size_t size)
{
  char name[100], path[600];
  clarke_file f = {0};

  named_file(name, sizeof name, line, size);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (*name == '\0' || strchr(name, '/') != NULL || clarke_file_read(&f, path, NULL) != CLARKE_OK) {
    buffer_put(to, line, size);
    return;
  }
  buffer_put(to, line, (size_t)(strchr(line, ' ') - line) + 1);
  buffer_put(to, name, strlen(name));
  buffer_put(to, " ", 1);
  buffer_put(to, f.sha256, 64);
  buffer_put(to, "\n", 1);
  clarke_file_clear(&f);
}

buffer
sealed_proof(const char *folder, const void *text, size_t size)
{
  const char *at = text, *end = at + size;
  buffer b = {0}, whole = {0};

  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t n = newline != NULL ? (size_t)(newline - at) + 1 : (size_t)(end - at);

    if (n < 4 || memcmp(at, "end ", 4) != 0 || at + n < end)
      put_line(&b, folder, at, n);
    at += n;
  }
  if (b.size > 0 && b.data[b.size - 1] != '\n')
    buffer_put(&b, "\n", 1);
  buffer_put(&whole, b.data, b.size);
  buffer_put(&whole, "end ", 4);
  put_hash(&whole, b.data, b.size);
  buffer_put(&whole, "\n", 1);
  buffer_clear(&b);
  return whole;
}
