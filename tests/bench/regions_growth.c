/* How the time to enumerate grows with what is found.
 *
 *   regions_growth [LARGEST]
 *
 * Prints the tables of docs/arrangements.md and docs/regions.md: arrangements, and networks drawn with seeds; for each the number of
 * regions, of programs and of circuits, the processor time, and how often as long that is as the float products of all rows with a
 * point of each region would take: no list of regions with points could be checked in less. LARGEST (8): the permutations
 * arrangement up to that dimension. */
#include "../region/drawn.h"

#include "program/prog.h"
#include "region/regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static clarke_error err;

static double
now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
must(clarke_status status)
{
  if (status == CLARKE_OK)
    return;
  fprintf(stderr, "regions_growth: %s\n", err.text);
  exit(2);
}

/* Seconds for `points` times rows x dim products of doubles. */
static double
products(size_t rows, size_t dim, size_t points)
{
  double *a = calloc(rows * dim + 1, sizeof *a), *x = calloc(dim + 1, sizeof *x), start = now();
  volatile double sink = 0;

  for (size_t k = 0; k < points; k++) {
    x[k % dim] = (double)k;
    for (size_t i = 0; i < rows; i++) {
      double sum = 0;

      for (size_t j = 0; j < dim; j++)
        sum += a[i * dim + j] * x[j];
      sink += sum;
    }
  }
  start = now() - start;
  (void)sink;
  free(a);
  free(x);
  return start;
}

static void
arrangement(const char *name, drawn d)
{
  const clarke_sign_visitor visitor = {0};
  clarke_arrangement a;
  clarke_sign_tree tree;
  double start = now();
  size_t count;

  must(clarke_arrangement_init(&a, d.n, d.p, d.v, d.t, &err));
  must(clarke_arrangement_enumerate(&tree, &a, &visitor, &err));
  start = now() - start;
  count = clarke_arrangement_count(&a, tree.leaves);
  printf("| %s, n = %zu, p = %zu | %zu | %zu | %zu | %.3f | %.0f |\n", name, d.n, d.p, count, tree.programs, tree.circuits, start,
         start / products(a.rows.n, a.rank, tree.leaves));
  clarke_arrangement_clear(&a);
  drawn_free(&d);
}

static drawn
drawn_at_random(size_t n, size_t p, uint64_t state)
{
  drawn d = drawn_new(n, p, false);

  for (size_t i = 0; i < n * p; i++)
    mpq_set_si(d.v[i], draw_entry(&state, 10), 1);
  return d;
}

/* --- networks -------------------------------------------------------------------------------- */

static clarke_status
count_region(void *context, bool *go_on, const clarke_region *region, clarke_error *e)
{
  (void)context;
  (void)region;
  (void)e;
  *go_on = true;
  return CLARKE_OK;
}

/* Two layers of ReLUs, weights multiples of 2^-23 between -1 and 1. */
static char *
network(size_t inputs, size_t width, uint64_t state)
{
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);

  fprintf(f, "input x[%zu]\n", inputs);
  for (int layer = 0; layer < 3; layer++)
    for (size_t i = 0; i < (layer < 2 ? width : 1); i++) {
      fprintf(f, layer < 2 ? "let %c%zu = relu(" : "output (", 'a' + layer, i);
      for (size_t j = 0; j < (layer == 0 ? inputs : width); j++)
        fprintf(f, layer == 0 ? "%ld/8388608 * x[%zu] + " : layer == 1 ? "%ld/8388608 * a%zu + " : "%ld/8388608 * b%zu + ",
                draw_entry(&state, 8388608), j);
      fprintf(f, "%ld/8388608)\n", draw_entry(&state, 8388608));
    }
  fclose(f);
  return text;
}

static void
set_box(fmpz_mat_t box, size_t dim)
{
  fmpz_mat_init(box, (slong)(2 * dim), (slong)dim + 1);
  for (size_t i = 0; i < 2 * dim; i++) {
    fmpz_set_si(fmpz_mat_entry(box, (slong)i, (slong)(i / 2)), i % 2 == 0 ? 1 : -1);
    fmpz_set_ui(fmpz_mat_entry(box, (slong)i, (slong)dim), 4);
  }
}

/* A variable each. */
static void
set_entry(mpq_t *form, size_t entry, void *context)
{
  (void)context;
  mpq_set_ui(form[entry], 1, 1);
}

static void
inside(size_t inputs, size_t width)
{
  char *text = network(inputs, width, 88172645463325252u + width);
  clarke_code p;
  clarke_forms f;
  clarke_regions r;
  fmpz_mat_t box;
  double start;

  clarke_code_init(&p);
  must(clarke_prog_parse(&p, text, strlen(text), "drawn.prog", &err));
  set_box(box, inputs);
  must(clarke_forms_init(&f, &p, inputs, set_entry, NULL, &err));
  start = now();
  must(clarke_regions_inside(&r, &f, box, count_region, NULL, &err));
  start = now() - start;
  printf("| %zu-%zu-%zu-1 | %zu | %zu | %zu | %.3f | %.0f | %.0f |\n", inputs, width, width, r.regions, r.programs, r.circuits, start,
         (double)r.regions / start, start / products(2 * width, inputs + 1, r.regions));
  fmpz_mat_clear(box);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
  free(text);
}

int
main(int argc, char **argv)
{
  const size_t largest = argc > 1 ? (size_t)atoi(argv[1]) : 8;

  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);

  puts("| arrangement | sign vectors | programs | circuits | seconds | times the float products |\n|---|---|---|---|---|---|");
  for (size_t n = 5; n <= largest; n++)
    arrangement("permutations", drawn_permutations(n));
  arrangement("random", drawn_at_random(7, 14, 3));
  arrangement("random", drawn_at_random(10, 17, 3));
  arrangement("random", drawn_at_random(5, 25, 3));
  arrangement("generic, affine", drawn_generic(3, 20, true));
  puts("\n| network | patterns | programs | circuits | seconds | patterns a second | times the float products |\n|---|---|---|---|---|---|---|");
  for (size_t width = 15; width <= 120; width *= 2)
    inside(2, width);
  inside(3, 12);
  inside(4, 10);
  return 0;
}
