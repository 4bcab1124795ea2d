#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The next word of letters and digits, at *from: how long it is; *from is moved to it. */
static size_t
word(const char **from)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

  *from += strcspn(*from, letters);
  return strspn(*from, letters);
}

static void
append(char to[RECORD_NAME], const char *from, size_t n)
{
  size_t used = strlen(to);

  if (n > RECORD_NAME - 1 - used)
    n = RECORD_NAME - 1 - used;
  memcpy(to + used, from, n);
  to[used + n] = '\0';
}

static int
is_maker(const char *from, size_t n)
{
  return (n == 6 && strncmp(from, "NVIDIA", n) == 0) || (n == 7 && strncmp(from, "GeForce", n) == 0) ||
         (n == 5 && strncmp(from, "Tesla", n) == 0);
}

void
record_gpu_name(char to[RECORD_NAME], const char *device)
{
  size_t n = word(&device);
  int words = 1;

  to[0] = '\0';
  for (; is_maker(device, n); n = word(&device))
    device += n;
  if (n == 3 && strncmp(device, "RTX", 3) == 0) /* the model is in the words after it: "RTX 6000 Ada" */
    words = 3;
  for (int i = 0; i < words && n > 0; i++) {
    if (i < 2 || (n == 3 && strncmp(device, "Ada", 3) == 0))
      append(to, device, n);
    device += n;
    n = word(&device);
  }
}

static FILE *
create(const char *folder, const char *which, const char *gpu, const char *format)
{
  char path[4096];
  FILE *f;

  snprintf(path, sizeof path, "%s/%s_%s_%s.txt", folder, which, gpu, format);
  f = fopen(path, "w");
  if (f == NULL)
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
  return f;
}

static int
close_all(FILE *f)
{
  int failed = ferror(f);

  if (fclose(f) != 0 || failed) {
    perror("writing a record");
    return -1;
  }
  return 0;
}

static void
write_bits(FILE *to, uint32_t bits)
{
  for (int i = 31; i >= 0; i--)
    putc('0' + (int)(bits >> i & 1), to);
  putc('\n', to);
}

static int
write_factors(const char *folder, const char *gpu, const number_format *f, int k, size_t n, const product *p, int second)
{
  FILE *to = create(folder, second ? "b" : "a", gpu, f->name);

  if (to == NULL)
    return -1;
  for (size_t i = 0; i < n; i++) {
    const uint32_t *factor = second ? p[i].b : p[i].a;

    for (int j = 0; j < k; j++)
      fprintf(to, "%08x ", (unsigned)number_to_float32(f, factor[j]));
    putc('\n', to);
  }
  return close_all(to);
}

static int
write_addends(const char *folder, const char *gpu, size_t n, const product *p)
{
  FILE *to = create(folder, "c", gpu, "fp32");

  if (to == NULL)
    return -1;
  for (size_t i = 0; i < n; i++)
    write_bits(to, p[i].c);
  return close_all(to);
}

static int
write_results(const char *folder, const char *gpu, const char *format, size_t n, const record_results *r)
{
  FILE *to = r->instruction != NULL ? create(folder, "d", gpu, format) : NULL;

  if (r->instruction == NULL)
    return 0;
  if (to == NULL)
    return -1;
  for (size_t i = 0; i < n; i++)
    write_bits(to, r->d[i]);
  return close_all(to);
}

static int
write_instruction(const char *folder, const record_results *fp32, const record_results *fp16, const char *comment)
{
  char path[4096];
  FILE *to;

  snprintf(path, sizeof path, "%s/instruction.txt", folder);
  to = fopen(path, "w");
  if (to == NULL) {
    perror(path);
    return -1;
  }
  fprintf(to, "# %s\n", comment);
  if (fp32->instruction != NULL)
    fprintf(to, "fp32 %s\n", fp32->instruction);
  if (fp16->instruction != NULL)
    fprintf(to, "fp16 %s\n", fp16->instruction);
  return close_all(to);
}

/* And the folders that it lies in. */
static int
make_folder(const char *folder)
{
  char path[4096];

  snprintf(path, sizeof path, "%s", folder);
  for (char *end = path + 1;; end++)
    if (*end == '/' || *end == '\0') {
      char was = *end;

      *end = '\0';
      if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        perror(path);
        return -1;
      }
      *end = was;
      if (was == '\0')
        return 0;
    }
}

int
record_write(const char *folder, const char *gpu, const number_format *f, int k, size_t n, const product *p,
             const record_results *fp32, const record_results *fp16, const char *comment)
{
  if (make_folder(folder) != 0 || write_factors(folder, gpu, f, k, n, p, 0) != 0 ||
      write_factors(folder, gpu, f, k, n, p, 1) != 0 || write_addends(folder, gpu, n, p) != 0 ||
      write_results(folder, gpu, "fp32", n, fp32) != 0 || write_results(folder, gpu, "fp16", n, fp16) != 0)
    return -1;
  return write_instruction(folder, fp32, fp16, comment);
}
