/* Gives a fuzz target every file of a corpus, and a fixed number of mutations of each: half of them the target's own, which
 * know the format (mutate.h), half of them cuts, flipped bits, extreme bytes and words, blocks taken out, doubled, or spliced
 * in from another file. The generator's seed is fixed, so a failure comes again; the last file named is the one it was.
 *
 *   replay CORPUS [MUTATIONS]
 */
#include "mutate.h"
#include "target.h"
#include "../draw.h"
#include "format/file.h"

#include <dirent.h>

typedef struct {
  char path[600];
  unsigned char *data;
  size_t size;
} seed;

static chance random_state = {20240229};

static size_t
smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Replaces data[at, at + out) by the `in` bytes of `from`. */
static void
replace(seed *s, size_t at, size_t out, const unsigned char *from, size_t in)
{
  unsigned char *data = malloc(s->size - out + in + 1);

  REQUIRE(data != NULL);
  memcpy(data, s->data, at);
  if (in != 0)
    memcpy(data + at, from, in);
  memcpy(data + at + in, s->data + at + out, s->size - at - out);
  free(s->data);
  s->data = data;
  s->size += in - out;
}

/* Overwrites up to 8 bytes with a number that readers stumble over. */
static void
put_extreme(seed *s, size_t at)
{
  static const uint64_t extremes[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, INT32_MAX,
                                       UINT32_MAX, INT64_MAX, UINT64_MAX, (uint64_t)1 << 63 };
  const uint64_t word = extremes[below(&random_state, sizeof extremes / sizeof extremes[0])];
  const size_t width = smaller((size_t)1 << below(&random_state, 4), s->size - at);

  for (size_t k = 0; k < width; k++)
    s->data[at + k] = (unsigned char)(word >> (8 * k));
}

static void
mutate(seed *s, const seed *other)
{
  const size_t at = below(&random_state, s->size), block = 1 + below(&random_state, smaller(s->size - at, 64));
  const size_t from = below(&random_state, other->size);

  if (s->size == 0 || other->size == 0)
    return;
  switch (below(&random_state, 6)) {
  case 0:
    s->data[at] ^= (unsigned char)(1u << below(&random_state, 8));
    break;
  case 1:
    put_extreme(s, at);
    break;
  case 2:
    s->size = at;
    break;
  case 3:
    replace(s, at, block, NULL, 0);
    break;
  case 4:
    replace(s, at, 0, s->data + at, block);
    break;
  default:
    replace(s, at, block, other->data + from, smaller(1 + below(&random_state, 64), other->size - from));
    break;
  }
}

/* What the targets' own mutations ask for: some bytes other, more or fewer. */
size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
  seed s = {.size = size}, other = {.size = size};

  if (size == 0 || most < size + 64) {
    if (size > 0)
      data[below(&random_state, size)] ^= (uint8_t)(1u << below(&random_state, 8));
    return size;
  }
  s.data = malloc(size);
  other.data = data;
  REQUIRE(s.data != NULL);
  memcpy(s.data, data, size);
  mutate(&s, &other);
  size = smaller(s.size, most);
  if (size > 0)
    memcpy(data, s.data, size);
  free(s.data);
  return size;
}

static void
mutate_by_format(seed *s)
{
  const size_t most = s->size + 512;

  s->data = realloc(s->data, most);
  REQUIRE(s->data != NULL);
  s->size = LLVMFuzzerCustomMutator(s->data, s->size, most, (unsigned)below(&random_state, UINT32_MAX));
}

/* The bytes in a block of their own length, so that a sanitizer sees any read past them. */
static void
run(const seed *s)
{
  unsigned char *copy = malloc(s->size);

  REQUIRE(copy != NULL || s->size == 0);
  if (s->size != 0)
    memcpy(copy, s->data, s->size);
  LLVMFuzzerTestOneInput(copy, s->size);
  free(copy);
}

static void
run_mutations(const seed *seeds, size_t n, size_t which, size_t mutations)
{
  for (size_t k = 0; k < mutations; k++) {
    seed s = seeds[which];

    s.data = malloc(s.size + 1);
    REQUIRE(s.data != NULL);
    memcpy(s.data, seeds[which].data, s.size);
    for (size_t times = 1 + below(&random_state, 3); times > 0; times--)
      if (k % 2 == 0)
        mutate_by_format(&s);
      else
        mutate(&s, &seeds[below(&random_state, n)]);
    run(&s);
    free(s.data);
  }
}

static int
by_path(const void *a, const void *b)
{
  return strcmp(((const seed *)a)->path, ((const seed *)b)->path);
}

/* The corpus sorted by name, whatever order the directory is in. */
static seed *
load(const char *corpus, size_t *n)
{
  DIR *dir = opendir(corpus);
  seed *seeds = NULL;

  *n = 0;
  REQUIRE(dir != NULL);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    clarke_file f;
    seed *s;

    if (e->d_name[0] == '.')
      continue;
    seeds = realloc(seeds, (*n + 1) * sizeof *seeds);
    REQUIRE(seeds != NULL);
    s = &seeds[(*n)++];
    snprintf(s->path, sizeof s->path, "%s/%s", corpus, e->d_name);
    REQUIRE(clarke_file_read(&f, s->path, NULL) == CLARKE_OK);
    s->data = f.data;
    s->size = f.size;
  }
  closedir(dir);
  qsort(seeds, *n, sizeof *seeds, by_path);
  return seeds;
}

int
main(int argc, char **argv)
{
  const size_t mutations = draw_count(argc > 2 ? strtoul(argv[2], NULL, 10) : 5000);
  seed *seeds;
  size_t n;

  REQUIRE(argc > 1);
  seeds = load(argv[1], &n);
  REQUIRE(n > 0);
  for (size_t i = 0; i < n; i++) {
    fprintf(stderr, "%s\n", seeds[i].path);
    run(&seeds[i]);
    run_mutations(seeds, n, i, mutations);
  }
  for (size_t i = 0; i < n; i++)
    free(seeds[i].data);
  free(seeds);
  return 0;
}
