/* Regions of programs and proofs about them, read by the checker: an input is a program (the file P), a line "===", a box (the
 * file B), a line "===", and a proof about them, whose hashes are put right first. What it verifies the library counts alike. */
#include "checker.h"
#include "format/table.h"
#include "mutate.h"
#include "program/hold.h"
#include "program/prog.h"
#include "region/regions.h"
#include "session/segment.h"
#include "seal.h"
#include "target.h"

#include <unistd.h>

MUTATED_AS(mutate_text)

static char folder[] = "/tmp/clarke-fuzz-XXXXXX", program[64], box[64];

static void
remove_folder(void)
{
  unlink(program);
  unlink(box);
  rmdir(folder);
}

static void
write_file(const char *path, const uint8_t *data, size_t size)
{
  FILE *f = fopen(path, "wb");

  REQUIRE(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void
write_files(const uint8_t *text, size_t n, const uint8_t *bounds, size_t m)
{
  if (*program == '\0') {
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(program, sizeof program, "%s/P", folder);
    snprintf(box, sizeof box, "%s/B", folder);
    atexit(remove_folder);
  }
  write_file(program, text, n);
  write_file(box, bounds, m);
}

/* The end of a part: "===\n" at the beginning of a line, or the end of the input. */
static size_t
end_of_part(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i + 4 <= size; i++)
    if ((i == 0 || data[i - 1] == '\n') && memcmp(data + i, "===\n", 4) == 0)
      return i;
  return size;
}

static size_t
behind(size_t at, size_t size)
{
  return at < size ? at + 4 : size;
}

static clarke_status
go_on_counting(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  (void)context;
  (void)region;
  (void)err;
  *go_on = true;
  return CLARKE_OK;
}

/* How many of the first so many entries vary. */
static size_t
varying(const clarke_table *t, size_t entries)
{
  size_t k = 0;

  for (size_t i = 0; i < entries; i++)
    k += !mpq_equal(t->value[2 * i], t->value[2 * i + 1]);
  return k;
}

/* An entry whose bounds differ is a variable, another one a number. */
static void
set_entry(mpq_t *form, size_t entry, void *context)
{
  const clarke_table *t = context;

  if (mpq_equal(t->value[2 * entry], t->value[2 * entry + 1]))
    mpq_set(form[varying(t, t->rows)], t->value[2 * entry]);
  else
    mpq_set_ui(form[varying(t, entry)], 1, 1);
}

static void
set_cone(fmpz_mat_t cone, const clarke_table *t, size_t dim)
{
  slong row = 0;

  fmpz_mat_init(cone, (slong)(2 * dim), (slong)dim + 1);
  for (size_t i = 0; i < t->rows; i++)
    for (size_t b = 0; b < 2 && !mpq_equal(t->value[2 * i], t->value[2 * i + 1]); b++, row++) {
      fmpz *own = fmpz_mat_entry(cone, row, row / 2), *last = fmpz_mat_entry(cone, row, (slong)dim);

      fmpz_set_mpz(own, mpq_denref(t->value[2 * i + b]));
      fmpz_set_mpz(last, mpq_numref(t->value[2 * i + b]));
      fmpz_neg(b == 0 ? last : own, b == 0 ? last : own);
    }
}

/* "exactly N activation pattern" must be the library's number, of the box in the file. */
static void
require_count(const char *said, const clarke_code *p, clarke_table *t)
{
  const size_t dim = varying(t, t->rows);
  clarke_forms f;
  clarke_regions r;
  fmpz_mat_t cone;
  clarke_error err = {CLARKE_OK, ""};
  char expected[64];

  REQUIRE(clarke_code_entries(p) == t->rows);
  set_cone(cone, t, dim);
  REQUIRE(clarke_forms_init(&f, p, dim, set_entry, t, &err) == CLARKE_OK);
  REQUIRE(clarke_regions_inside(&r, &f, cone, go_on_counting, NULL, &err) == CLARKE_OK && r.complete);
  snprintf(expected, sizeof expected, "exactly %zu activation pattern", r.regions);
  REQUIRE(strstr(said, expected) != NULL);
  clarke_forms_clear(&f);
  fmpz_mat_clear(cone);
}

/* Is the input in the list of names, "F is a function of: w b; the other inputs are fixed"? */
static bool
is_named(const char *list, const char *name)
{
  const size_t n = strlen(name);

  for (const char *at = list; *at != ';'; at += strcspn(at + 1, " ;") + 1)
    if (strncmp(at, " ", 1) == 0 && strncmp(at + 1, name, n) == 0 && strchr(" ;", at[n + 1]) != NULL)
      return true;
  return false;
}

/* The numbers after "NAME =" in "Held fixed: x = 1 1 y = 0". */
static void
read_held(mpq_t *value, size_t n, const char *list, const char *name)
{
  char mark[300], word[5000];

  snprintf(mark, sizeof mark, " %s =", name);
  list = strstr(list, mark) + strlen(mark);
  for (size_t e = 0; e < n; e++, list += strlen(word) + 1) {
    REQUIRE(sscanf(list, " %4999s", word) == 1 && mpq_set_str(value[e], word, 10) == 0);
  }
}

static const char varies[] = "\nF is a function of:";

/* The inputs named vary; the others' entries get the numbers told. */
static void
mark_named(clarke_code *p, mpq_t *point, const char *said)
{
  const char *list = strstr(said, varies) + strlen(varies), *held = strstr(list, "\nHeld fixed:");

  REQUIRE(held != NULL);
  for (size_t k = 0, i = 0; k < p->n_inputs; i += p->input[k++].n) {
    p->input[k].wrt = is_named(list, p->input[k].name);
    if (!p->input[k].wrt)
      read_held(point + i, p->input[k].n, held, p->input[k].name);
  }
}

/* What is not named is held at the numbers told, and the table gets their rows. False: the library cannot hold it there. */
static bool
hold(clarke_code *p, clarke_table *t, const char *said)
{
  const size_t n = clarke_code_entries(p);
  mpq_t *bound = clarke_rationals(2 * n), *point = clarke_rationals(n);
  clarke_error err = {CLARKE_OK, ""};
  size_t row = 0;
  bool good;

  REQUIRE(bound != NULL && point != NULL);
  mark_named(p, point, said);
  for (size_t i = 0; i < n; row += clarke_code_varies(p, i++)) {
    for (size_t b = 0; b < 2; b++)
      mpq_set(bound[2 * i + b], clarke_code_varies(p, i) ? t->value[2 * row + b] : point[i]);
    mpq_set(point[i], bound[2 * i]);
  }
  REQUIRE(row == t->rows);
  clarke_table_clear(t);
  *t = (clarke_table){n, 2, bound};
  good = clarke_code_hold(p, point, &err) == CLARKE_OK;
  clarke_rationals_free(point, n);
  return good;
}

static void
compare(const char *said, const uint8_t *text, size_t n, const uint8_t *bounds, size_t m)
{
  bool counts = true;
  clarke_code p;
  clarke_table t;
  clarke_error err = {CLARKE_OK, ""};

  clarke_code_init(&p);
  clarke_table_init(&t);
  REQUIRE(clarke_prog_parse(&p, text, n, "P", &err) == CLARKE_OK);
  REQUIRE(clarke_table_parse(&t, bounds, m, "B", &err) == CLARKE_OK);
  if (strstr(said, varies) != NULL)
    counts = hold(&p, &t, said);
  if (counts)
    require_count(said, &p, &t);
  clarke_code_clear(&p);
  clarke_table_clear(&t);
}

/* The point, but of what varies the numbers after the mark. */
static mpq_t *
numbers_after(const char *said, const char *mark, const clarke_code *p, mpq_t *point)
{
  const size_t n = clarke_code_entries(p);
  mpq_t *x = clarke_rationals(n);
  char *copy = strdup(strstr(said, mark) + strlen(mark)), *next = copy, *rest = copy;

  REQUIRE(x != NULL && copy != NULL);
  *strchr(copy, '\n') = '\0';
  for (size_t i = 0; i < n; i++)
    if (!clarke_code_varies(p, i))
      mpq_set(x[i], point[i]);
    else {
      REQUIRE(mpq_set_str(x[i], strtok_r(next, " ", &rest), 10) == 0);
      next = NULL;
    }
  free(copy);
  return x;
}

/* "there are N pieces" must be the library's number, along the segment that the account tells. */
static void
compare_segment(const char *said, const uint8_t *text, size_t size)
{
  clarke_region_function f;
  clarke_segment s;
  clarke_profile profile;
  clarke_error err = {CLARKE_OK, ""};
  char expected[64];
  mpq_t *a, *b, *point;

  clarke_region_function_init(&f);
  clarke_profile_init(&profile);
  REQUIRE(clarke_profile_load(&profile, NULL, &err) == CLARKE_OK && clarke_prog_parse(&f.program, text, size, "P", &err) == CLARKE_OK);
  f.n = f.n_given = clarke_code_entries(&f.program);
  f.wrt = strstr(said, varies);
  REQUIRE((point = clarke_rationals(f.n)) != NULL);
  if (f.wrt != NULL)
    mark_named(&f.program, point, said);
  a = numbers_after(said, "\nA:", &f.program, point);
  b = numbers_after(said, "\nB:", &f.program, point);
  if (f.wrt == NULL || clarke_code_hold(&f.program, a, &err) == CLARKE_OK) {
    REQUIRE(clarke_segment_find(&s, &f, a, b, &profile, NULL, &err) == CLARKE_OK && s.integral != NULL && s.agree);
    snprintf(expected, sizeof expected, "%s %zu piece", s.n == 1 ? "there is" : "there are", s.n);
    REQUIRE(strstr(said, expected) != NULL);
    clarke_segment_clear(&s);
  }
  clarke_rationals_free(point, f.n);
  clarke_rationals_free(a, f.n);
  clarke_rationals_free(b, f.n);
  clarke_profile_clear(&profile);
  clarke_region_function_clear(&f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const size_t n = end_of_part(data, size), second = behind(n, size), m = end_of_part(data + second, size - second),
               third = second + behind(m, size - second);
  checker_proof what = {NULL, folder};
  checker_answer answer;
  buffer proof;

  write_files(data, n, data + second, m);
  proof = sealed_proof(folder, data + third, size - third);
  what.proof = checker_file(0, proof.data, proof.size);
  answer = checker_run(checker_check, &what);
  REQUIRE(answer.status >= 0 && answer.status <= 3);
  if (answer.status == 0) {
    REQUIRE(strncmp(answer.said, "VERIFIED\n", 9) == 0);
    if (strstr(answer.said, "Program, whose output is F: P\n") != NULL && strstr(answer.said, "Box: B\n") != NULL)
      compare(answer.said, data, n, data + second, m);
    if (strstr(answer.said, "Program, whose output is F: P\n") != NULL && strstr(answer.said, "\nSegment: ") != NULL)
      compare_segment(answer.said, data, n);
  }
  buffer_clear(&proof);
  return 0;
}
