/* The regions of a function in a box, or around a point, printed as they are found (patterns_regions.h). */
#include <stdio.h> /* before flint.h */

#include "patterns_regions.h"
#include "check_needs.h"
#include "patterns_around.h"
#include "base/limit.h"
#include "base/stop.h"
#include "base/text.h"
#include "patterns_arrangement.h"
#include "patterns_picture.h"
#include "patterns_list.h"
#include "patterns_text.h"
#include "proof/write_regions.h"
#include "region/affine_pieces.h"
#include "region/functions.h"
#include "session/grid.h"
#include "session/regions.h"
#include "watch.h"
#include "format/file.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_regions_command *command;
  clarke_region_function function;
  mpq_t *point, *bounds; /* n; 2 n */
  size_t dim, *varies;   /* the entries that vary: of a slice fewer than all */
  bool *held;            /* by entry: it is not in --wrt */
  bool polynomial;       /* what varies multiplies: the forms are none */
  clarke_forms forms;
  clarke_functions functions;
  clarke_affine_pieces pieces;
  size_t n_pieces;
  const char *no_pieces; /* why they were not counted, though asked for */
  clarke_picture picture;
  clarke_regions found;
  clarke_regions_proof proof;
  clarke_grid grid; /* with --grid */
  clarke_patterns_list list;
} answer;

bool
clarke_patterns_below_limit(size_t found)
{
  return found < clarke_limit_of(CLARKE_LIMIT_REGIONS);
}

const char *
clarke_patterns_why(bool undecided, bool stopped)
{
  if (undecided)
    return "a system could not be decided";
  return stopped ? clarke_work_stopped() : "the limit of regions was reached (--limit regions=N raises it)";
}

const char *
clarke_regions_why(const clarke_regions *r)
{
  return r->deep ? "kinks lie behind each other in more than 1024 layers" : clarke_patterns_why(r->undecided, r->stopped);
}

/* --- where ----------------------------------------------------------------------------------- */

static void
choose_entries(answer *a)
{
  const clarke_code *p = &a->function.program;

  for (size_t k = 0, i = 0; k < p->n_inputs; k++)
    for (size_t j = 0; j < p->input[k].n; j++, i++) {
      const bool named = a->command->wrt == NULL || p->input[k].wrt;

      if (a->bounds != NULL ? mpq_cmp(a->bounds[2 * i], a->bounds[2 * i + 1]) < 0 : named)
        a->varies[a->dim++] = i;
    }
}

static int
compare_entries(const void *a, const void *b)
{
  const size_t i = *(const size_t *)a, j = *(const size_t *)b;

  return (i > j) - (i < j);
}

/* Around a point an entry is it plus a variable; in a box it is a variable, or held fixed. */
static void
set_entry(mpq_t *form, size_t entry, void *context)
{
  const answer *a = context;
  const size_t *at = bsearch(&entry, a->varies, a->dim, sizeof *at, compare_entries);

  if (at != NULL)
    mpq_set_ui(form[at - a->varies], 1, 1);
  if (a->bounds == NULL)
    mpq_set(form[a->dim], a->point[entry]);
  else if (at == NULL)
    mpq_set(form[a->dim], a->bounds[2 * entry]);
}

/* The bounds of what --wrt names, in its order; what is held has its number as both bounds. */
static clarke_status
read_narrow_box(answer *a, clarke_error *err)
{
  const clarke_code *p = &a->function.program;
  const size_t n = clarke_code_wrt_count(p);
  mpq_t *narrow = NULL;
  clarke_status status;

  status = clarke_region_box(&narrow, a->command->box, n, a->command->slice, err);
  a->bounds = clarke_rationals(2 * a->function.n);
  if (status == CLARKE_OK && a->bounds == NULL)
    status = clarke_no_memory(err);
  for (size_t k = 0, i = 0, at = 0; status == CLARKE_OK && k < p->n_inputs; k++)
    for (size_t j = 0; j < p->input[k].n; j++, i++)
      for (size_t side = 0; side < 2; side++)
        mpq_set(a->bounds[2 * i + side], p->input[k].wrt ? narrow[at++] : a->point[i]);
  clarke_rationals_free(narrow, narrow != NULL ? 2 * n : 0);
  return status;
}

static clarke_status
read_question(answer *a, clarke_error *err)
{
  const clarke_regions_command *c = a->command;
  clarke_status status;

  a->function.wrt = c->wrt;
  a->function.output = c->output;
  status = clarke_region_function_open(&a->function, c->model, err);
  if (status == CLARKE_OK && c->box != NULL && c->wrt == NULL)
    status = clarke_region_box(&a->bounds, c->box, a->function.n, c->slice, err);
  if (status == CLARKE_OK && c->at != NULL)
    status = clarke_region_point(&a->point, c->at, a->function.n_given, "--at", err);
  if (status == CLARKE_OK)
    status = clarke_region_function_hold(&a->function, &a->point, err);
  if (status == CLARKE_OK && c->box != NULL && c->wrt != NULL)
    status = read_narrow_box(a, err);
  if (status != CLARKE_OK)
    return status;
  a->varies = malloc((a->function.n + 1) * sizeof *a->varies);
  a->held = calloc(a->function.n + 1, sizeof *a->held);
  if (a->varies == NULL || a->held == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0, i = 0; k < a->function.program.n_inputs; i += a->function.program.input[k++].n)
    if (c->wrt != NULL && !a->function.program.input[k].wrt)
      memset(a->held + i, true, a->function.program.input[k].n * sizeof *a->held);
  choose_entries(a);
  if (c->grid != NULL && a->dim != 2)
    return clarke_fail(err, CLARKE_EINPUT, "--grid: the box has %zu entries that vary; a grid has 2 (--slice holds entries with equal bounds fixed)",
                       a->dim);
  if (c->svg != NULL && a->dim != 2)
    return clarke_fail(err, CLARKE_EINPUT, "--svg: the box has %zu dimensions; a picture has 2 (--slice holds entries with equal bounds fixed)",
                       a->dim);
  status = clarke_forms_init(&a->forms, &a->function.program, a->dim, set_entry, a, err);
  if (status == CLARKE_EINPUT && c->wrt != NULL) {
    status = clarke_around_may_ask(c, &a->function, err);
    a->polynomial = status == CLARKE_OK;
  }
  if (a->polynomial)
    return status;
  if (status == CLARKE_OK && c->proof != NULL)
    status = clarke_region_function_may_prove(&a->function, c->model, err);
  clarke_functions_init(&a->functions, &a->forms);
  if (status == CLARKE_OK && c->pieces)
    status = clarke_affine_pieces_init(&a->pieces, &a->forms, a->dim + (a->bounds != NULL), err);
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
put_rational(FILE *to, const fmpz_t num, const fmpz_t den, bool quoted)
{
  mpq_t q;

  mpq_init(q);
  fmpz_get_mpz(mpq_numref(q), num);
  fmpz_get_mpz(mpq_denref(q), den);
  mpq_canonicalize(q);
  clarke_patterns_put_rational(to, q, quoted);
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
    clarke_patterns_put_choice(a->list.to, kind, choice == CLARKE_NO_SIDE ? CLARKE_NONE : choice);
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
  for (size_t i = 0, k = 0, told = 0; i < a->function.n; i++) {
    const bool varies = k < a->dim && a->varies[k] == i;

    if (!varies && a->held[i])
      continue;
    if (told++ > 0)
      fputs(between, a->list.to);
    if (varies) {
      clarke_witness_get(x, region->point, k++);
      put_rational(a->list.to, x, last, a->command->json);
    } else
      clarke_patterns_put_rational(a->list.to, a->bounds[2 * i], a->command->json);
  }
  fmpz_clear(x);
  fmpz_clear(last);
}

static void
put_gradient(const answer *a, const clarke_forms *forms, size_t output, const char *between)
{
  const size_t i = a->function.program.output[output];

  for (size_t k = 0; k < a->dim; k++) {
    if (k > 0)
      fputs(between, a->list.to);
    put_rational(a->list.to, clarke_forms_at(forms, i) + k, forms->den + i, a->command->json);
  }
}

static void
put_text(const answer *a, const clarke_region *region)
{
  put_pattern(a, region);
  fputs(a->bounds != NULL ? "  at " : "  along ", a->list.to);
  put_point(a, region, " ");
  for (size_t o = 0; o < a->function.program.n_outputs; o++) {
    fputs("  gradient ", a->list.to);
    put_gradient(a, region->forms, o, " ");
  }
  putc('\n', a->list.to);
}

static void
put_json(const answer *a, const clarke_region *region, size_t function)
{
  fprintf(a->list.to, "%s\n  {\"pattern\": \"", a->found.regions > 1 ? "," : "");
  put_pattern(a, region);
  fprintf(a->list.to, "\", \"%s\": [", a->bounds != NULL ? "at" : "along");
  put_point(a, region, ", ");
  fputs("], \"gradient\": [", a->list.to);
  for (size_t o = 0; o < a->function.program.n_outputs; o++) {
    fputs(o > 0 ? ", [" : "[", a->list.to);
    put_gradient(a, region->forms, o, ", ");
    putc(']', a->list.to);
  }
  fputs("], \"constant\": [", a->list.to);
  for (size_t o = 0; o < a->function.program.n_outputs; o++) {
    const size_t i = a->function.program.output[o];

    fputs(o > 0 ? ", " : "", a->list.to);
    put_rational(a->list.to, clarke_forms_at(region->forms, i) + a->dim, region->forms->den + i, true);
  }
  fprintf(a->list.to, "], \"function\": %zu}", function);
}

static clarke_status
take_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  answer *a = context;
  size_t function;
  clarke_status status = clarke_functions_add(&function, &a->functions, region->forms, err);

  if (status == CLARKE_OK && a->command->pieces)
    status = clarke_affine_pieces_add(&a->pieces, region, function, err);
  if (status == CLARKE_OK && a->command->svg != NULL)
    status = clarke_picture_add(&a->picture, region, function, err);
  if (status == CLARKE_OK && a->command->proof != NULL)
    status = clarke_regions_proof_leaf(&a->proof, region, function, err);
  if (status == CLARKE_OK && !a->command->count && a->command->json)
    put_json(a, region, function);
  else if (status == CLARKE_OK && !a->command->count)
    put_text(a, region);
  clarke_work_done();
  *go_on = clarke_patterns_below_limit(a->found.regions);
  return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

static clarke_status
count_pieces(answer *a, clarke_error *err)
{
  bool decided;
  clarke_status status;

  clarke_work_begin("regions joined", 0);
  status = clarke_affine_pieces_count(&a->n_pieces, &decided, &a->pieces, err);
  if (status == CLARKE_ESTOPPED || (status == CLARKE_OK && !decided)) {
    a->no_pieces = clarke_patterns_why(status == CLARKE_OK, true);
    a->found.stopped = status == CLARKE_ESTOPPED;
    status = CLARKE_OK;
  }
  return status;
}

static const char *
plural(size_t n)
{
  return n == 1 ? "" : "s";
}

static clarke_status
print_json(answer *a, clarke_error *err)
{
  if (clarke_patterns_list_keys(&a->list, a->found.regions > 0, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  printf("\"patterns\": \"%zu\", \"functions\": \"%zu\", ", a->found.regions, a->functions.set.n);
  if (a->command->pieces && a->found.complete && a->no_pieces == NULL)
    printf("\"pieces\": \"%zu\", ", a->n_pieces);
  else if (a->command->pieces)
    fputs("\"pieces\": null, ", stdout);
  printf("\"complete\": %s, \"inputs\": %zu, \"kinks\": %zu, ", a->found.complete ? "true" : "false", a->function.n, a->forms.kinks);
  if (a->found.complete)
    printf("\"programs\": %zu, \"circuits\": %zu", a->found.programs, a->found.circuits);
  else /* of what was begun; how much that is depends on threads */
    fputs("\"programs\": null, \"circuits\": null", stdout);
  if (a->command->grid != NULL)
    clarke_patterns_put_grid_key(&a->grid, a->command->grid);
  return clarke_patterns_list_end(&a->list, a->found.regions > 0, a->found.stopped, err);
}

static void
put_asked(FILE *to, const answer *a)
{
  const clarke_regions_command *c = a->command;

  fputs(a->bounds != NULL ? "On which parts of the box is it linear? " : "On which parts around the point is it linear? ", to);
  if (c->wrt != NULL) {
    fputs("Only ", to);
    fputs(c->wrt, to);
    fputs(" may change. ", to);
  }
  clarke_patterns_put_file(to, c->model, a->function.sha256);
}

/* What is not known is the number of parts, or how they join. */
static clarke_status
tell(answer *a, clarke_error *err)
{
  const char *why = !a->found.complete ? clarke_regions_why(&a->found) : a->no_pieces;
  clarke_summary s = {0};
  clarke_status status = clarke_summary_begin(&s, err);

  if (status != CLARKE_OK)
    return status;
  put_asked(s.asked.to, a);
  clarke_patterns_put_begun(s.answer.to, a->found.complete);
  clarke_put_count(s.answer.to, a->found.regions, "part");
  fputs(", with ", s.answer.to);
  clarke_put_count(s.answer.to, a->functions.set.n, "linear function");
  fputs(" (patterns of kinks, and affine functions)", s.answer.to);
  if (a->found.complete && a->command->pieces && a->no_pieces == NULL) {
    fputs("; joined where the function is one, ", s.answer.to);
    clarke_put_count(s.answer.to, a->n_pieces, "piece");
  }
  fputs(".", s.answer.to);
  clarke_patterns_put_next(&a->list, s.next.to, why,
                           a->bounds != NULL ? "a part: the side of each kink, a point inside, the gradient there"
                                             : "a part: the side of each kink, a direction into it, the gradient there",
                           a->command->proof);
  return clarke_patterns_list_tell(&a->list, &s, status, err);
}

static void
print_summary(const answer *a)
{
  const char *where = a->bounds != NULL ? "inside the box" : "around the point";
  const size_t patterns = a->found.regions, functions = a->functions.set.n;

  if (!a->found.complete)
    printf("at least %zu patterns, %zu affine functions; undecided: %s\n", patterns, functions,
           clarke_regions_why(&a->found));
  else if (a->command->count && a->no_pieces == NULL)
    printf("%zu\n", a->command->pieces ? a->n_pieces : patterns);
  else {
    printf("%zu pattern%s %s, %zu affine function%s", patterns, plural(patterns), where, functions, plural(functions));
    if (a->no_pieces != NULL)
      printf("; the maximal affine pieces are undecided: %s", a->no_pieces);
    else if (a->command->pieces)
      printf(", %zu maximal affine piece%s", a->n_pieces, plural(a->n_pieces));
    putchar('\n');
  }
}

static clarke_status
search(answer *a, clarke_error *err)
{
  const size_t threads = a->command->threads;
  const clarke_region_listener listener = clarke_regions_proof_listener(&a->proof);
  const clarke_region_listener *hears = a->command->proof != NULL ? &listener : NULL;
  fmpz_mat_t box;
  clarke_status status;

  if (a->bounds == NULL)
    return hears != NULL ? clarke_regions_tell(&a->found, &a->forms, NULL, take_region, a, hears, err)
                         : clarke_regions_find(&a->found, &a->forms, NULL, threads, take_region, a, err);
  set_box(box, a);
  status = hears != NULL ? clarke_regions_tell(&a->found, &a->forms, box, take_region, a, hears, err)
                         : clarke_regions_find(&a->found, &a->forms, box, threads, take_region, a, err);
  fmpz_mat_clear(box);
  return status;
}

/* Where a box is a table the proof names the file; else it has the bounds. */
static clarke_status
prove(answer *a, clarke_error *err)
{
  const clarke_regions_command *c = a->command;
  clarke_regions_statement s = {.function = {clarke_base_name(c->model), a->function.sha256, c->output}, .network = a->function.network,
                                .n = a->function.n, .bounds = a->bounds, .point = a->point, .local = a->bounds == NULL,
                                .held = c->wrt != NULL ? &a->function.program : NULL};
  clarke_check_needs needs;
  clarke_file box = {0};
  clarke_status status = CLARKE_OK;

  if (!a->found.complete) {
    fputs("clarke patterns: no proof is written of a list that is not complete\n", stderr);
    return CLARKE_OK;
  }
  if (a->bounds != NULL && !clarke_ends_with(c->box, ".vnnlib")) {
    status = clarke_file_read(&box, c->box, err);
    s.box = (clarke_proof_input){clarke_base_name(c->box), box.sha256, NULL};
    s.bounds = NULL;
  }
  if (status == CLARKE_OK)
    status = clarke_regions_proof_save(&a->proof, c->proof, &s, err);
  if (status == CLARKE_OK) {
    clarke_check_needs_read(&needs, c->proof, &c->model, 1);
    clarke_check_needs_forms(&needs, &a->function.program, clarke_code_wrt_count(&a->function.program), !a->function.network);
    clarke_say_check_needs("patterns", &needs);
  }
  clarke_file_clear(&box);
  return status;
}

static clarke_status
count_grid(answer *a, clarke_error *err)
{
  const size_t n = a->function.n;
  mpq_t *corner[2] = {clarke_rationals(n), clarke_rationals(n)};
  clarke_ieee format = CLARKE_IEEE_F16;
  clarke_status status = corner[0] != NULL && corner[1] != NULL ? clarke_ieee_parse(&format, a->command->grid, err) : clarke_no_memory(err);

  for (size_t i = 0; i < 2 * n && status == CLARKE_OK; i++)
    mpq_set(corner[i % 2][i / 2], a->bounds[i]);
  clarke_work_begin("numbers counted", 0);
  if (status == CLARKE_OK)
    status = clarke_grid_find_plane(&a->grid, &a->function, corner[0], corner[1], format, err);
  for (size_t k = 0; k < 2; k++)
    clarke_rationals_free(corner[k], n);
  return status;
}

static clarke_status
draw(answer *a, clarke_error *err)
{
  if (a->point != NULL)
    clarke_picture_mark(&a->picture, a->point[a->varies[0]], a->point[a->varies[1]]);
  if (!a->found.complete)
    clarke_picture_unfinished(&a->picture, clarke_regions_why(&a->found));
  return clarke_picture_save(&a->picture, a->command->svg, err);
}

static void
clear(answer *a)
{
  clarke_patterns_list_clear(&a->list);
  clarke_regions_proof_clear(&a->proof);
  clarke_picture_clear(&a->picture);
  clarke_functions_clear(&a->functions);
  clarke_affine_pieces_clear(&a->pieces);
  clarke_forms_clear(&a->forms);
  clarke_grid_clear(&a->grid);
  clarke_rationals_free(a->point, a->point != NULL ? a->function.n : 0);
  clarke_rationals_free(a->bounds, a->bounds != NULL ? 2 * a->function.n : 0);
  free(a->varies);
  free(a->held);
  clarke_region_function_clear(&a->function);
}

clarke_status
clarke_regions_answer(bool *complete, const clarke_regions_command *c, clarke_error *err)
{
  answer a = {.command = c};
  clarke_status status;

  clarke_region_function_init(&a.function);
  clarke_grid_init(&a.grid);
  status = read_question(&a, err);
  if (a.polynomial) {
    status = clarke_around_answer(complete, c, &a.function, a.point, err);
    clear(&a);
    return status;
  }
  if (status == CLARKE_OK && c->svg != NULL)
    status = clarke_picture_init(&a.picture, &a.bounds[2 * a.varies[0]], &a.bounds[2 * a.varies[1]], err);
  clarke_work_begin("regions found", 0);
  a.list = (clarke_patterns_list){c->json, c->count, c->as_found, "regions", NULL};
  if (status == CLARKE_OK)
    status = clarke_patterns_list_begin(&a.list, err);
  if (status == CLARKE_OK)
    status = search(&a, err);
  if (status == CLARKE_OK && c->pieces && a.found.complete)
    status = count_pieces(&a, err);
  if (status == CLARKE_OK && c->grid != NULL)
    status = count_grid(&a, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK && c->proof != NULL)
    status = prove(&a, err);
  if (status == CLARKE_OK)
    status = c->json ? print_json(&a, err) : tell(&a, err);
  if (status == CLARKE_OK && !c->json)
    print_summary(&a);
  if (status == CLARKE_OK && !c->json && c->grid != NULL)
    clarke_patterns_put_grid(&a.grid, c->grid, true);
  if (status == CLARKE_OK && c->svg != NULL)
    status = draw(&a, err);
  *complete = a.found.complete && a.no_pieces == NULL;
  clear(&a);
  return status;
}
