/* The regions of a function in a box, or around a point, printed as they are found (patterns_regions.h). */
#include <stdio.h> /* before flint.h */

#include "patterns_regions.h"
#include "base/limit.h"
#include "base/text.h"
#include "format/readers.h"
#include "patterns_arrangement.h"
#include "patterns_picture.h"
#include "proof/write_regions.h"
#include "region/functions.h"
#include "session/regions.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_regions_command *command;
  clarke_region_function function;
  mpq_t *point, *bounds; /* n; 2 n */
  size_t dim, *varies;   /* the entries that vary: of a slice fewer than all */
  mpq_t *entry;          /* n x (dim + 1) */
  clarke_forms forms;
  clarke_functions functions;
  clarke_picture picture;
  clarke_regions found;
  clarke_regions_proof proof;
} answer;

const char *
clarke_patterns_why_stop(size_t found)
{
  if (clarke_patterns_interrupted())
    return "interrupted";
  return found >= clarke_limit_of(CLARKE_LIMIT_REGIONS) ? "the limit of regions was reached (--limit regions=N raises it)" : NULL;
}

/* --- where ----------------------------------------------------------------------------------- */

static void
choose_entries(answer *a)
{
  for (size_t i = 0; i < a->function.n; i++)
    if (a->bounds == NULL || mpq_cmp(a->bounds[2 * i], a->bounds[2 * i + 1]) < 0)
      a->varies[a->dim++] = i;
}

/* Around a point an entry is it plus a variable; in a box it is a variable, or held fixed. */
static clarke_status
set_entries(answer *a, clarke_error *err)
{
  const size_t n = a->function.n, width = a->dim + 1;

  a->entry = clarke_rationals(n * width);
  if (a->entry == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < a->dim; k++)
    mpq_set_ui(a->entry[a->varies[k] * width + k], 1, 1);
  for (size_t i = 0; i < n; i++)
    if (a->bounds == NULL)
      mpq_set(a->entry[i * width + a->dim], a->point[i]);
    else if (mpq_equal(a->bounds[2 * i], a->bounds[2 * i + 1]))
      mpq_set(a->entry[i * width + a->dim], a->bounds[2 * i]);
  return CLARKE_OK;
}

static clarke_status
read_question(answer *a, clarke_error *err)
{
  const clarke_regions_command *c = a->command;
  clarke_status status = clarke_region_function_open(&a->function, c->model, err);

  if (status == CLARKE_OK && c->box != NULL)
    status = clarke_region_box(&a->bounds, c->box, a->function.n, c->slice, err);
  if (status == CLARKE_OK && c->at != NULL)
    status = clarke_region_point(&a->point, c->at, a->function.n, "--at", err);
  if (status != CLARKE_OK)
    return status;
  a->varies = malloc((a->function.n + 1) * sizeof *a->varies);
  if (a->varies == NULL)
    return clarke_no_memory(err);
  choose_entries(a);
  if (c->svg != NULL && a->dim != 2)
    return clarke_fail(err, CLARKE_EINPUT, "--svg: the box has %zu dimensions; a picture has 2 (--slice holds entries with equal bounds fixed)",
                       a->dim);
  status = set_entries(a, err);
  if (status == CLARKE_OK)
    status = clarke_forms_init(&a->forms, &a->function.program, a->entry, a->dim, err);
  clarke_functions_init(&a->functions, &a->forms);
  if (status == CLARKE_OK && c->proof != NULL)
    status = clarke_regions_proof_init(&a->proof, &a->forms, a->bounds == NULL, err);
  return status;
}

/* The rows x_i - lower_i > 0 and upper_i - x_i > 0, in integers. */
static void
set_box(fmpz_mat_t box, answer *a)
{
  fmpz_mat_init(box, (slong)(2 * a->dim), (slong)a->dim + 1);
  for (size_t k = 0; k < 2 * a->dim; k++) {
    mpq_t *bound = &a->bounds[2 * a->varies[k / 2] + k % 2];
    fmpz *last = fmpz_mat_entry(box, (slong)k, (slong)a->dim), *own = fmpz_mat_entry(box, (slong)k, (slong)(k / 2));

    fmpz_set_mpz(own, mpq_denref(*bound));
    fmpz_set_mpz(last, mpq_numref(*bound));
    if (k % 2 == 0)
      fmpz_neg(last, last);
    else
      fmpz_neg(own, own);
  }
}

/* --- the list -------------------------------------------------------------------------------- */

static void
put_entry(const mpq_t q, bool quoted)
{
  char *text = mpq_get_str(NULL, 10, q);

  printf(quoted ? "\"%s\"" : "%s", text);
  free(text);
}

static void
put_rational(const fmpz_t num, const fmpz_t den, bool quoted)
{
  mpq_t q;

  mpq_init(q);
  fmpz_get_mpz(mpq_numref(q), num);
  fmpz_get_mpz(mpq_denref(q), den);
  mpq_canonicalize(q);
  put_entry(q, quoted);
  mpq_clear(q);
}

/* Each kink's piece as a digit, a maximum's winner as a letter; a point where no side is chosen. */
static void
put_pattern(const answer *a, const clarke_region *region)
{
  const clarke_code *p = &a->function.program;

  for (size_t i = 0; i < p->n; i++) {
    const clarke_do kind = p->instruction[i].kind;
    const unsigned char choice = region->choice[i];

    if (!a->forms.needed[i] || (kind != CLARKE_DO_PIECEWISE && kind != CLARKE_DO_ORDER))
      continue;
    if (choice == CLARKE_NO_SIDE)
      putchar('.');
    else if (kind == CLARKE_DO_PIECEWISE)
      putchar('0' + choice);
    else if (choice < 26)
      putchar('a' + choice);
    else
      printf("(%d)", choice);
  }
}

/* The interior point, or the direction that leads into the region. */
static void
put_point(const answer *a, const clarke_region *region, const char *between)
{
  fmpz_t x, last;

  fmpz_init(x);
  fmpz_init_set_ui(last, 1);
  if (a->bounds != NULL)
    clarke_witness_get(last, region->point, a->dim);
  for (size_t i = 0, k = 0; i < a->function.n; i++) {
    if (i > 0)
      fputs(between, stdout);
    if (k < a->dim && a->varies[k] == i) {
      clarke_witness_get(x, region->point, k++);
      put_rational(x, last, a->command->json);
    } else
      put_entry(a->bounds[2 * i], a->command->json);
  }
  fmpz_clear(x);
  fmpz_clear(last);
}

static void
put_gradient(const answer *a, size_t output, const char *between)
{
  const size_t i = a->function.program.output[output];

  for (size_t k = 0; k < a->dim; k++) {
    if (k > 0)
      fputs(between, stdout);
    put_rational(clarke_forms_at(&a->forms, i) + k, a->forms.den + i, a->command->json);
  }
}

static void
put_text(const answer *a, const clarke_region *region)
{
  put_pattern(a, region);
  fputs(a->bounds != NULL ? "  at " : "  along ", stdout);
  put_point(a, region, " ");
  for (size_t o = 0; o < a->function.program.n_outputs; o++) {
    fputs("  gradient ", stdout);
    put_gradient(a, o, " ");
  }
  putchar('\n');
}

static void
put_json(const answer *a, const clarke_region *region, size_t function)
{
  printf("%s\n  {\"pattern\": \"", a->found.regions > 1 ? "," : "");
  put_pattern(a, region);
  printf("\", \"%s\": [", a->bounds != NULL ? "at" : "along");
  put_point(a, region, ", ");
  fputs("], \"gradient\": [", stdout);
  for (size_t o = 0; o < a->function.program.n_outputs; o++) {
    fputs(o > 0 ? ", [" : "[", stdout);
    put_gradient(a, o, ", ");
    putchar(']');
  }
  fputs("], \"constant\": [", stdout);
  for (size_t o = 0; o < a->function.program.n_outputs; o++) {
    const size_t i = a->function.program.output[o];

    fputs(o > 0 ? ", " : "", stdout);
    put_rational(clarke_forms_at(&a->forms, i) + a->dim, a->forms.den + i, true);
  }
  printf("], \"function\": %zu}", function);
}

static clarke_status
take_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  answer *a = context;
  size_t function;
  clarke_status status = clarke_functions_add(&function, &a->functions, err);

  if (status == CLARKE_OK && a->command->svg != NULL)
    status = clarke_picture_add(&a->picture, region, function, err);
  if (status == CLARKE_OK && a->command->proof != NULL)
    status = clarke_regions_proof_leaf(&a->proof, region, function, err);
  if (status == CLARKE_OK && !a->command->count && a->command->json)
    put_json(a, region, function);
  else if (status == CLARKE_OK && !a->command->count)
    put_text(a, region);
  *go_on = clarke_patterns_why_stop(a->found.regions) == NULL;
  return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void
print_summary(const answer *a)
{
  const char *why = a->found.complete ? NULL : a->found.undecided ? "a system could not be decided" : clarke_patterns_why_stop(a->found.regions);

  if (a->command->json)
    printf("%s\"patterns\": \"%zu\", \"functions\": \"%zu\", \"complete\": %s, \"inputs\": %zu, \"kinks\": %zu, \"programs\": %zu, "
           "\"circuits\": %zu}\n", a->command->count ? "{" : a->found.regions > 0 ? "\n ],\n " : "],\n ", a->found.regions, a->functions.n,
           a->found.complete ? "true" : "false", a->function.n, a->forms.kinks, a->found.programs, a->found.circuits);
  else if (why != NULL)
    printf("at least %zu patterns, %zu affine functions; undecided: %s\n", a->found.regions, a->functions.n, why);
  else if (a->command->count)
    printf("%zu\n", a->found.regions);
  else
    printf("%zu pattern%s %s, %zu affine function%s\n", a->found.regions, a->found.regions == 1 ? "" : "s",
           a->bounds != NULL ? "inside the box" : "around the point", a->functions.n, a->functions.n == 1 ? "" : "s");
}

static clarke_status
search(answer *a, clarke_error *err)
{
  const clarke_region_listener listener = clarke_regions_proof_listener(&a->proof);
  const clarke_region_listener *hears = a->command->proof != NULL ? &listener : NULL;
  fmpz_mat_t box;
  clarke_status status;

  if (a->bounds == NULL)
    return clarke_regions_tell(&a->found, &a->forms, NULL, take_region, a, hears, err);
  set_box(box, a);
  status = clarke_regions_tell(&a->found, &a->forms, box, take_region, a, hears, err);
  fmpz_mat_clear(box);
  return status;
}

/* Of a box that is a table the proof names the file; of another one it has the bounds. */
static clarke_status
prove(answer *a, clarke_error *err)
{
  const clarke_regions_command *c = a->command;
  clarke_regions_statement s = {.function = {clarke_base_name(c->model), a->function.sha256}, .network = a->function.network,
                                .n = a->function.n, .bounds = a->bounds, .point = a->bounds == NULL ? a->point : NULL};
  clarke_file box = {0};
  clarke_status status = CLARKE_OK;

  if (!a->found.complete) {
    fputs("clarke patterns: no proof is written of a list that is not complete\n", stderr);
    return CLARKE_OK;
  }
  if (a->bounds != NULL && !clarke_ends_with(c->box, ".vnnlib")) {
    status = clarke_file_read(&box, c->box, err);
    s.box = (clarke_proof_input){clarke_base_name(c->box), box.sha256};
    s.bounds = NULL;
  }
  if (status == CLARKE_OK)
    status = clarke_regions_proof_save(&a->proof, c->proof, &s, err);
  clarke_file_clear(&box);
  return status;
}

static clarke_status
draw(answer *a, clarke_error *err)
{
  if (a->point != NULL)
    clarke_picture_mark(&a->picture, a->point[a->varies[0]], a->point[a->varies[1]]);
  return clarke_picture_save(&a->picture, a->command->svg, err);
}

static void
clear(answer *a)
{
  clarke_regions_proof_clear(&a->proof);
  clarke_picture_clear(&a->picture);
  clarke_functions_clear(&a->functions);
  clarke_forms_clear(&a->forms);
  clarke_rationals_free(a->entry, a->entry != NULL ? a->function.n * (a->dim + 1) : 0);
  clarke_rationals_free(a->point, a->point != NULL ? a->function.n : 0);
  clarke_rationals_free(a->bounds, a->bounds != NULL ? 2 * a->function.n : 0);
  free(a->varies);
  clarke_region_function_clear(&a->function);
}

clarke_status
clarke_regions_answer(bool *complete, const clarke_regions_command *c, clarke_error *err)
{
  answer a = {.command = c};
  clarke_status status;

  clarke_region_function_init(&a.function);
  status = read_question(&a, err);
  if (status == CLARKE_OK && c->svg != NULL)
    status = clarke_picture_init(&a.picture, &a.bounds[2 * a.varies[0]], &a.bounds[2 * a.varies[1]], err);
  clarke_patterns_catch_interrupt();
  if (status == CLARKE_OK && c->json && !c->count)
    fputs("{\"regions\": [", stdout);
  if (status == CLARKE_OK)
    status = search(&a, err);
  if (status == CLARKE_OK)
    print_summary(&a);
  if (status == CLARKE_OK && c->svg != NULL)
    status = draw(&a, err);
  if (status == CLARKE_OK && c->proof != NULL)
    status = prove(&a, err);
  *complete = a.found.complete;
  clear(&a);
  return status;
}
