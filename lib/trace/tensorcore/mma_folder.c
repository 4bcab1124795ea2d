#include "trace/tensorcore/mma_folder.h"

#include "base/text.h"
#include "trace/tensorcore/mma_rule.h"
#include "format/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void
place_clear(clarke_mma_place *p)
{
  free(p->path);
  free(p->folder);
  free(p->gpu);
}

void
clarke_mma_places_clear(clarke_mma_places *p)
{
  for (size_t i = 0; i < p->n; i++)
    place_clear(&p->place[i]);
  free(p->place);
  memset(p, 0, sizeof *p);
}

/* --- names of files -------------------------------------------------------------------------- */

/* LETTER_GPU_FORMAT.txt, LETTER one of a to d. */
typedef struct {
  char letter;
  const char *gpu, *format;
  size_t gpu_length, format_length;
} file_name;

static bool
take_apart(file_name *n, const char *name)
{
  const char *under = strrchr(name, '_');
  size_t length = strlen(name);

  if (length < 8 || !clarke_ends_with(name, ".txt") || name[0] < 'a' || name[0] > 'd' || name[1] != '_' || under <= name + 2)
    return false;
  n->letter = name[0];
  n->gpu = name + 2;
  n->gpu_length = (size_t)(under - n->gpu);
  n->format = under + 1;
  n->format_length = length - 4 - (size_t)(n->format - name);
  return n->format_length > 0;
}

/* CLARKE_MMA_FORMATS: none has that name. */
static int
format_of(const file_name *n)
{
  int f = 0;

  while (f < CLARKE_MMA_FORMATS &&
         (strlen(clarke_mma_formats[f].name) != n->format_length ||
          strncmp(clarke_mma_formats[f].name, n->format, n->format_length) != 0))
    f++;
  return f;
}

/* Two texts as one, with something between unless the first is empty (malloc). */
static char *
joined(const char *a, const char *between, const char *b)
{
  size_t size = strlen(a) + strlen(between) + strlen(b) + 1;
  char *text = malloc(size);

  if (text != NULL)
    snprintf(text, size, "%s%s%s", a, *a != '\0' ? between : "", b);
  return text;
}

/* --- one folder ------------------------------------------------------------------------------ */

typedef struct {
  const char *path, *folder;
  int n;
  struct dirent **entry;
} listing;

static int
is_shown(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

/* By bytes, whatever the locale. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void
listing_clear(listing *l)
{
  for (int i = 0; i < l->n; i++)
    free(l->entry[i]);
  free(l->entry);
}

static clarke_status
add_place(clarke_mma_places *p, const listing *l, const file_name *n, int input, clarke_error *err)
{
  clarke_mma_place *grown = realloc(p->place, (p->n + 1) * sizeof *grown), *new;

  if (grown == NULL)
    return clarke_no_memory(err);
  p->place = grown;
  new = &grown[p->n++];
  *new = (clarke_mma_place){
    .path = strdup(l->path), .folder = strdup(l->folder), .gpu = strndup(n->gpu, n->gpu_length), .input = input};
  return new->path != NULL && new->folder != NULL && new->gpu != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static bool
is_of(const clarke_mma_place *p, const file_name *n)
{
  return strlen(p->gpu) == n->gpu_length && strncmp(p->gpu, n->gpu, n->gpu_length) == 0;
}

/* The set of the GPU among those from the first on, which are this folder's. */
static clarke_mma_place *
place_of(clarke_mma_places *p, size_t first, const file_name *n)
{
  for (size_t i = first; i < p->n; i++)
    if (is_of(&p->place[i], n))
      return &p->place[i];
  return NULL;
}

/* A file a begins a set; the others must belong to one. */
static clarke_status
take_file(clarke_mma_places *p, size_t first, const listing *l, const char *name, clarke_error *err)
{
  file_name n;
  clarke_mma_place *place;
  int format;

  if (!take_apart(&n, name))
    return CLARKE_OK;
  format = format_of(&n);
  place = place_of(p, first, &n);
  if (n.letter == 'a' && place != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s: the folder has another set of this GPU, and files c and d would be both sets'",
                       l->path, name);
  if (n.letter == 'a' && format >= CLARKE_MMA_INPUTS)
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s: unknown format; known are fp16, bf16, tf32, E4M3 and E5M2", l->path, name);
  if (n.letter == 'a')
    return add_place(p, l, &n, format, err);
  if (place == NULL || (n.letter == 'b' && format != place->input))
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s: there is no file a to go with it", l->path, name);
  if (n.letter == 'c' && format != CLARKE_MMA_FP32)
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s: addends are read from a file of format fp32 alone", l->path, name);
  if (n.letter == 'd' && format != CLARKE_MMA_FP32 && format != CLARKE_MMA_FP16)
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s: results are fp32 or fp16", l->path, name);
  place->has_fp32 |= n.letter == 'd' && format == CLARKE_MMA_FP32;
  place->has_fp16 |= n.letter == 'd' && format == CLARKE_MMA_FP16;
  return CLARKE_OK;
}

static clarke_status search(clarke_mma_places *p, const char *path, const char *folder, int depth, clarke_error *err);

/* Into the folder of that name, if it is one. */
static clarke_status
enter(clarke_mma_places *p, const listing *l, const char *name, int depth, clarke_error *err)
{
  char *path = joined(l->path, "/", name), *folder = joined(l->folder, "/", name);
  clarke_status status = path != NULL && folder != NULL ? CLARKE_OK : clarke_no_memory(err);
  struct stat st;

  const bool there = status == CLARKE_OK && stat(path, &st) == 0;
  if (status == CLARKE_OK && !there && errno != ENOENT && errno != ELOOP)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %s", path, strerror(errno));
  if (there && S_ISDIR(st.st_mode))
    status = search(p, path, folder, depth + 1, err);
  free(path);
  free(folder);
  return status;
}

static clarke_status
search_listing(clarke_mma_places *p, const listing *l, int depth, clarke_error *err)
{
  const size_t first = p->n;
  clarke_status status = CLARKE_OK;

  for (int i = 0; i < l->n && status == CLARKE_OK; i++)
    status = take_file(p, first, l, l->entry[i]->d_name, err);
  for (size_t i = first; i < p->n && status == CLARKE_OK; i++)
    if (!p->place[i].has_fp32 && !p->place[i].has_fp16)
      status = clarke_fail(err, CLARKE_EINPUT, "%s: no d_%s_fp32.txt or d_%s_fp16.txt: nothing was computed", l->path, p->place[i].gpu,
                           p->place[i].gpu);
  for (int i = 0; i < l->n && status == CLARKE_OK; i++)
    status = enter(p, l, l->entry[i]->d_name, depth, err);
  return status;
}

static clarke_status
search(clarke_mma_places *p, const char *path, const char *folder, int depth, clarke_error *err)
{
  listing l = {path, folder, 0, NULL};
  clarke_status status;

  if (depth > CLARKE_MMA_DEPTH)
    return clarke_fail(err, CLARKE_EINPUT, "%s: more than %d folders in folders", path, CLARKE_MMA_DEPTH);
  l.n = scandir(path, &l.entry, is_shown, by_name);
  if (l.n < 0)
    return errno == ENOMEM ? clarke_no_memory(err) : clarke_fail(err, CLARKE_EINPUT, "%s: %s", path, strerror(errno));
  status = search_listing(p, &l, depth, err);
  listing_clear(&l);
  return status;
}

clarke_status
clarke_mma_places_find(clarke_mma_places *p, const char *directory, clarke_error *err)
{
  clarke_status status = search(p, directory, "", 0, err);

  if (status == CLARKE_OK && p->n == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no a_GPU_FORMAT.txt in it or below", directory);
  return status;
}

/* --- reading --------------------------------------------------------------------------------- */

void
clarke_mma_set_clear(clarke_mma_set *s)
{
  clarke_mma_rows_clear(&s->a);
  clarke_mma_rows_clear(&s->b);
  clarke_mma_rows_clear(&s->c);
  clarke_mma_rows_clear(&s->fp32);
  clarke_mma_rows_clear(&s->fp16);
}

/* FOLDER/LETTER_GPU_FORMAT.txt (malloc). */
static char *
path_of(const clarke_mma_place *p, char letter, int format)
{
  const char *name = clarke_mma_formats[format].name;
  size_t size = strlen(p->path) + strlen(p->gpu) + strlen(name) + sizeof "/x__.txt";
  char *path = malloc(size);

  if (path != NULL)
    snprintf(path, size, "%s/%c_%s_%s.txt", p->path, letter, p->gpu, name);
  return path;
}

/* As many lines and columns as a? */
static clarke_status
compare_size(const clarke_mma_set *s, const clarke_mma_rows *r, const char *path, clarke_error *err)
{
  if (r->rows != s->a.rows)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu lines, but its file a has %zu", path, r->rows, s->a.rows);
  if (r == &s->b && r->columns != s->a.columns)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %d numbers in a line, but its file a has %d", path, r->columns, s->a.columns);
  return CLARKE_OK;
}

static clarke_status
read_rows(clarke_mma_set *s, clarke_mma_rows *r, const clarke_mma_place *p, char letter, int format, clarke_error *err)
{
  char *path = path_of(p, letter, format);
  clarke_file f = {0};
  clarke_status status = path != NULL ? clarke_file_read_found(&f, path, err) : clarke_no_memory(err);

  if (status == CLARKE_OK && letter <= 'b')
    status = clarke_mma_parse_factors(r, &clarke_mma_formats[format], f.data, f.size, path, err);
  else if (status == CLARKE_OK)
    status = clarke_mma_parse_bits(r, letter == 'c', f.data, f.size, path, err);
  if (status == CLARKE_OK)
    status = compare_size(s, r, path, err);
  clarke_file_clear(&f);
  free(path);
  return status;
}

/* What an instruction says of its operands must be what is there. */
static clarke_status
compare_instruction(const char *name, const clarke_mma_set *s, const clarke_mma_place *p, int output, const char *path,
                    clarke_error *err)
{
  if (*name == '\0' || clarke_mma_instruction_says(name, p->input, output, s->a.columns))
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s: %s is no instruction for %d products of %s with results in %s", path, name,
                     s->a.columns, clarke_mma_formats[p->input].name, clarke_mma_formats[output].name);
}

static clarke_status
read_instructions(clarke_mma_set *s, const clarke_mma_place *p, clarke_error *err)
{
  char *path = joined(p->path, "/", "instruction.txt");
  clarke_status status = path != NULL ? CLARKE_OK : clarke_no_memory(err);
  clarke_file f = {0};
  struct stat st;

  if (status == CLARKE_OK && (stat(path, &st) == 0 || errno != ENOENT)) {
    status = clarke_file_read_found(&f, path, err);
    if (status == CLARKE_OK)
      status = clarke_mma_parse_instructions(&s->instruction, f.data, f.size, path, err);
    if (status == CLARKE_OK)
      status = compare_instruction(s->instruction.fp32, s, p, CLARKE_MMA_FP32, path, err);
    if (status == CLARKE_OK)
      status = compare_instruction(s->instruction.fp16, s, p, CLARKE_MMA_FP16, path, err);
  }
  clarke_file_clear(&f);
  free(path);
  return status;
}

clarke_status
clarke_mma_set_read(clarke_mma_set *s, const clarke_mma_place *p, clarke_error *err)
{
  clarke_status status = read_rows(s, &s->a, p, 'a', p->input, err);

  if (status == CLARKE_OK)
    status = read_rows(s, &s->b, p, 'b', p->input, err);
  if (status == CLARKE_OK)
    status = read_rows(s, &s->c, p, 'c', CLARKE_MMA_FP32, err);
  if (status == CLARKE_OK && p->has_fp32)
    status = read_rows(s, &s->fp32, p, 'd', CLARKE_MMA_FP32, err);
  if (status == CLARKE_OK && p->has_fp16)
    status = read_rows(s, &s->fp16, p, 'd', CLARKE_MMA_FP16, err);
  return status == CLARKE_OK ? read_instructions(s, p, err) : status;
}
