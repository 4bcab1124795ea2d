/* Maximal pieces of functions known by hand, told by a search; what a proof hears of such a search; and a search's own steps. */
#include "region/affine_pieces.h"
#include "../ok.h"
#include "../suites.h"
#include "program/prog.h"
#include "region/functions.h"
#include "region/workers.h"
#include "region/sweep.h"

#include <flint/fmpz_vec.h>
#include <string.h>

static void
give_entry(mpq_t *form, size_t entry, void *context)
{
  (void)context;
  mpq_set_ui(form[entry], 1, 1);
}

/* -3 < z < 3 in every entry. */
static void
set_box(fmpz_mat_t box, size_t dim)
{
  fmpz_mat_init(box, (slong)(2 * dim), (slong)dim + 1);
  for (size_t i = 0; i < 2 * dim; i++) {
    fmpz_set_si(fmpz_mat_entry(box, (slong)i, (slong)(i / 2)), i % 2 == 0 ? 1 : -1);
    fmpz_set_ui(fmpz_mat_entry(box, (slong)i, (slong)dim), 3);
  }
}

static void
open_forms(clarke_forms *f, clarke_code *p, const char *text, size_t dim)
{
  clarke_code_init(p);
  OK(clarke_prog_parse(p, text, strlen(text), "f.prog", &error));
  OK(clarke_forms_init(f, p, dim, give_entry, NULL, &error));
}

/* --- pieces ---------------------------------------------------------------------------------- */

typedef struct {
  clarke_functions functions;
  clarke_affine_pieces pieces;
} collected;

static clarke_status
collect(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  collected *c = context;
  size_t number = 0;
  clarke_status status = clarke_functions_add(&number, &c->functions, region->forms, err);

  *go_on = true;
  return status == CLARKE_OK ? clarke_affine_pieces_add(&c->pieces, region, number, err) : status;
}

static void
check_pieces(const char *text, size_t dim, bool local, size_t functions, size_t pieces)
{
  const size_t width = local ? dim : dim + 1;
  fmpz_mat_t box;
  clarke_code p;
  clarke_forms f;
  clarke_regions r;
  collected c;
  size_t n = 0;
  bool decided = false;

  open_forms(&f, &p, text, dim);
  set_box(box, dim);
  clarke_functions_init(&c.functions, &f);
  OK(clarke_affine_pieces_init(&c.pieces, &f, width, &error));
  OK(clarke_regions_find(&r, &f, local ? NULL : box, 1, collect, &c, &error));
  OK(clarke_affine_pieces_count(&n, &decided, &c.pieces, &error));
  ck_assert(decided && r.complete);
  ck_assert_uint_eq(c.pieces.n, r.regions);
  ck_assert_msg(c.functions.set.n == functions && n == pieces, "%zu functions, %zu pieces: %s", c.functions.set.n, n, text);
  clarke_affine_pieces_clear(&c.pieces);
  clarke_affine_pieces_clear(&c.pieces);
  clarke_functions_clear(&c.functions);
  fmpz_mat_clear(box);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
}

START_TEST(known_pieces)
{
  check_pieces("input x\noutput relu(x) - relu(x)\n", 1, false, 1, 1);
  check_pieces("input x\noutput abs(x)\n", 1, false, 2, 2);
  check_pieces("input x\noutput abs(x)\n", 1, true, 2, 2);
  /* A hat is 0 on both sides of it. */
  check_pieces("input x\noutput relu(x + 1) - 2 * relu(x) + relu(x - 1)\n", 1, false, 3, 4);
  check_pieces("input x\noutput relu(x + 1) - 2 * relu(x) + relu(x - 1)\n", 1, true, 2, 2);
  /* 0 on two quadrants that meet in a corner. */
  check_pieces("input x\ninput y\noutput min(relu(x), relu(y)) + min(relu(-x), relu(-y))\n", 2, false, 5, 6);
  check_pieces("input x\ninput y\noutput min(relu(x), relu(y)) + min(relu(-x), relu(-y))\n", 2, true, 5, 6);
  /* The rows' lines cut a piece of max(x, y), and join again. */
  check_pieces("input x\ninput y\nlet a = relu(x - 1)\nlet b = relu(y)\noutput max(x, y) + a - a + b - b\n", 2, false, 2, 2);
  /* One function on three squares of a corner: one piece, in the form of an L. */
  check_pieces("input x\ninput y\noutput relu(min(x, y))\n", 2, false, 3, 3);
  /* A constant where nothing moves. */
  check_pieces("input x\ninput y\noutput relu(x - 5) + relu(y - 7)\n", 2, false, 1, 1);
}
END_TEST

/* A limit of dimensions: facets of intervals are points, of which nothing is to be decided. */
START_TEST(hyperplanes_of_kinks)
{
  clarke_code p;
  clarke_forms f;
  clarke_affine_pieces s;

  open_forms(&f, &p, "input x\ninput y\noutput relu(x) + relu(2 * x) + relu(-x) + relu(x + y) + relu(relu(y) - 1)\n", 2);
  OK(clarke_affine_pieces_init(&s, &f, 3, &error));
  ck_assert_uint_eq(s.fixed, 3); /* x = 0, x + y = 0, y = 0; not the one behind y's kink */
  for (size_t h = 0; h < s.plane.n; h++) {
    size_t first = 0;

    while (fmpz_is_zero(s.plane.vector + h * 3 + first))
      first++;
    ck_assert_int_gt(fmpz_sgn(s.plane.vector + h * 3 + first), 0);
  }
  clarke_affine_pieces_clear(&s);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
}
END_TEST

/* --- what a proof hears ---------------------------------------------------------------------- */

typedef struct {
  const clarke_rows *rows[64];
  size_t depth, enters, begins, ends, circuits, splits, forced;
} heard;

static clarke_status
hear_begin(void *context, const clarke_rows *rows, size_t above, size_t fixed, size_t winner, clarke_error *err)
{
  heard *h = context;

  (void)err;
  (void)winner;
  ck_assert(above <= fixed && fixed <= rows->n && h->depth < 63);
  if (h->depth > 0) /* its first rows are those of the one around it */
    ck_assert_uint_eq(above, h->rows[h->depth]->n);
  h->rows[++h->depth] = rows;
  h->begins++;
  return CLARKE_OK;
}

static clarke_status
hear_enter(void *context, const signed char *sign, clarke_error *err)
{
  heard *h = context;

  (void)err;
  for (size_t i = 0; i < h->rows[h->depth]->n; i++)
    ck_assert_int_ne(sign[i], 0);
  h->enters++;
  return CLARKE_OK;
}

static void
hear_end(void *context)
{
  heard *h = context;

  h->depth--;
  h->ends++;
}

static clarke_status
hear_circuit(void *context, const clarke_circuit *c, clarke_error *err)
{
  heard *h = context;
  const clarke_rows *rows = h->rows[h->depth];
  fmpz *sum = _fmpz_vec_init((slong)rows->dim);

  (void)err;
  for (size_t k = 0; k < c->n; k++)
    _fmpz_vec_scalar_addmul_fmpz(sum, fmpz_mat_entry(rows->exact, (slong)c->row[k], 0), (slong)rows->dim, c->value + k);
  ck_assert(c->n > 0 && _fmpz_vec_is_zero(sum, (slong)rows->dim));
  _fmpz_vec_clear(sum, (slong)rows->dim);
  h->circuits++;
  return CLARKE_OK;
}

static clarke_status
hear_split(void *context, size_t row, clarke_error *err)
{
  heard *h = context;

  (void)err;
  ck_assert_uint_lt(row, h->rows[h->depth]->n);
  h->splits++;
  return CLARKE_OK;
}

static clarke_status
hear_forced(void *context, size_t row, int sign, size_t circuit, clarke_error *err)
{
  heard *h = context;

  (void)err;
  ck_assert(row < h->rows[h->depth]->n && (sign == 1 || sign == -1) && circuit < h->circuits);
  h->forced++;
  return CLARKE_OK;
}

static clarke_status
count_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  (void)region;
  (void)err;
  ++*(size_t *)context;
  *go_on = true;
  return CLARKE_OK;
}

/* As many regions as are found without a listener; what begins ends. */
static void
check_told(const char *text, size_t dim, bool local, size_t expected)
{
  heard h = {0};
  const clarke_region_listener listener = {&h, hear_begin, hear_enter, hear_end, hear_circuit, hear_split, hear_forced};
  fmpz_mat_t box;
  clarke_code p;
  clarke_forms f;
  clarke_regions told, found;
  size_t n = 0, m = 0;

  open_forms(&f, &p, text, dim);
  set_box(box, dim);
  OK(clarke_regions_tell(&told, &f, local ? NULL : box, count_region, &n, &listener, &error));
  OK(clarke_regions_find(&found, &f, local ? NULL : box, 1, count_region, &m, &error));
  ck_assert_msg(told.complete && n == expected && m == expected && told.regions == n, "%zu and %zu regions: %s", n, m, text);
  ck_assert(h.begins == h.ends && h.depth == 0 && h.begins > 0 && h.enters >= 1);
  fmpz_mat_clear(box);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
}

START_TEST(listeners)
{
  check_told("input x\ninput y\noutput relu(x) + relu(y) + relu(x + y)\n", 2, false, 6);
  check_told("input x\ninput y\noutput relu(x) + relu(y) + relu(x + y)\n", 2, true, 6);
  check_told("input x\ninput y\noutput max(x, y, 0)\n", 2, false, 3);
  check_told("input x\ninput y\noutput relu(relu(x) + relu(y) - 1)\n", 2, false, 7);
}
END_TEST

/* --- a search's own steps -------------------------------------------------------------------- */

/* A sweep knows all that no kink stands before, and asks for the kinks whose sides are open; taken back, nothing is known. */
START_TEST(sweeps)
{
  clarke_code p;
  clarke_forms f;
  clarke_regions result = {0};
  clarke_rays rays = {0};
  size_t told = 0, fork = 0, known = 0;
  clarke_region_question question[8];
  clarke_region_search s;
  clarke_region_level l = {.s = &s, .rays = &rays, .question = question};

  open_forms(&f, &p, "input x\nlet a = relu(x + 1)\nlet b = relu(0 * x - 2)\nlet c = max(x, 1, x - 1)\noutput relu(a - 3) + b + c\n", 1);
  s = (clarke_region_search){.result = &result, .forms = &f, .width = 2, .visit = count_region, .context = &told, .rays = &rays,
                             .threads = 1};
  OK(clarke_region_search_init(&s, &error));
  OK(clarke_region_sweep(&s, &l, &fork, &error));
  ck_assert_uint_eq(l.n, 1); /* a's; b's side is a matter of course, and the kink behind a waits */
  ck_assert(question[0].kink == 0 && p.instruction[question[0].instruction].kind == CLARKE_DO_PIECEWISE);
  ck_assert(s.asked[question[0].instruction] && !s.known[question[0].instruction]);
  ck_assert(fork != CLARKE_NONE && p.instruction[fork].kind == CLARKE_DO_ORDER);
  ck_assert(clarke_region_may_win(&s, fork, 0) && clarke_region_may_win(&s, fork, 1) && !clarke_region_may_win(&s, fork, 2));
  clarke_region_settle(&s, question[0].instruction, 1);
  ck_assert(s.known[question[0].instruction]);
  l.n = 0;
  OK(clarke_region_sweep(&s, &l, &fork, &error));
  ck_assert_uint_eq(l.n, 1); /* now the one behind it */
  clarke_region_take_back(&s, 0);
  for (size_t i = 0; i < p.n; i++)
    known += s.known[i] || s.asked[i];
  ck_assert(known == 0 && s.n_done == 0);
  clarke_region_search_clear(&s);
  clarke_region_search_clear(&s);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
}
END_TEST

/* What was told, in its order: each region's choices, and the signs of its point. */
typedef struct {
  size_t n, most; /* no more are wanted; 0: all */
  unsigned char choice[64][32];
  int sign[64][4];
} told_list;

static clarke_status
list_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  told_list *list = context;
  fmpz_t x;

  (void)err;
  ck_assert_uint_lt(list->n, 64);
  ck_assert_uint_le(region->forms->p->n, 32);
  for (size_t i = 0; i < region->forms->p->n; i++)
    list->choice[list->n][i] = region->forms->needed[i] ? region->choice[i] : CLARKE_NO_SIDE;
  fmpz_init(x);
  for (size_t k = 0; k < 4; k++) {
    clarke_witness_get(x, region->point, k);
    list->sign[list->n][k] = fmpz_sgn(x);
  }
  fmpz_clear(x);
  list->n++;
  *go_on = list->n != list->most;
  return CLARKE_OK;
}

/* The first arrangement inside a box, made by hand; followed by one thread as a visitor of sign vectors, or by workers. */
static void
follow(told_list *list, clarke_regions *result, clarke_forms *f, const fmpz_mat_t box, size_t threads)
{
  clarke_rays rays = {0};
  clarke_region_search s = {.result = result, .forms = f, .width = 4, .visit = list_region, .context = list, .rays = &rays, .threads = 1};
  clarke_region_question question[8];
  clarke_region_level l = {.s = &s, .rays = &rays, .question = question, .winner = CLARKE_NONE, .threads = threads};
  const clarke_sign_visitor visitor = {.context = &l, .leaf = clarke_region_search_follow};
  clarke_sign_tree tree = {0};
  clarke_rows rows = {0};
  fmpz_mat_t all;
  size_t fork;

  memset(result, 0, sizeof *result);
  OK(clarke_region_search_init(&s, &error));
  OK(clarke_region_sweep(&s, &l, &fork, &error));
  l.above = l.fixed = (size_t)fmpz_mat_nrows(box);
  fmpz_mat_init(all, (slong)(l.fixed + l.n), 4);
  for (slong i = 0; i < fmpz_mat_nrows(box); i++)
    _fmpz_vec_set(fmpz_mat_entry(all, i, 0), fmpz_mat_entry(box, i, 0), 4);
  for (size_t q = 0; q < l.n; q++)
    clarke_forms_kink(fmpz_mat_entry(all, (slong)(l.fixed + q), 0), f, question[q].instruction, question[q].kink);
  OK(clarke_rows_init(&rows, all, &error));
  l.rows = &rows;
  if (threads > 1)
    OK(clarke_workers_enumerate(&tree, &l, NULL, &error));
  else
    OK(clarke_sign_vectors(&tree, &rows, l.fixed, NULL, &visitor, &error));
  ck_assert_int_eq(s.ended, list->most > 0);
  clarke_rows_clear(&rows);
  clarke_region_search_clear(&s);
  fmpz_mat_clear(all);
}

/* Four planes in general position inside a box part it into 15; behind each there is another kink. Workers tell the same, in the same
 * order, as one thread and as the search itself. */
START_TEST(workers)
{
  static const char text[] = "input x\ninput y\ninput z\nlet a = relu(x)\nlet b = relu(y)\nlet c = relu(z)\n"
                             "let d = relu(x + y + z - 1/2)\noutput a + b + c + relu(d - 1)\n";
  static told_list want, list;
  clarke_regions whole, result;
  clarke_forms f;
  clarke_code p;
  fmpz_mat_t box;

  open_forms(&f, &p, text, 3);
  fmpz_mat_init(box, 7, 4); /* |each| < 10, and the last entry is positive */
  for (slong i = 0; i < 6; i++) {
    fmpz_set_si(fmpz_mat_entry(box, i, i / 2), i % 2 == 0 ? 1 : -1);
    fmpz_set_si(fmpz_mat_entry(box, i, 3), 10);
  }
  fmpz_one(fmpz_mat_entry(box, 6, 3));
  memset(&want, 0, sizeof want);
  OK(clarke_regions_find(&whole, &f, box, 1, list_region, &want, &error));
  ck_assert(whole.complete && want.n == whole.regions && want.n > 15);
  for (size_t threads = 1; threads <= 4; threads++) {
    memset(&list, 0, sizeof list);
    follow(&list, &result, &f, box, threads);
    ck_assert(result.regions == want.n && list.n == want.n);
    ck_assert(memcmp(list.choice, want.choice, sizeof list.choice) == 0 && memcmp(list.sign, want.sign, sizeof list.sign) == 0);
    memset(&list, 0, sizeof list);
    list.most = 7;
    follow(&list, &result, &f, box, threads); /* no more are wanted */
    ck_assert(list.n == 7 && result.regions == 7);
    ck_assert(memcmp(list.sign, want.sign, 7 * sizeof *list.sign) == 0);
  }
  fmpz_mat_clear(box);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
}
END_TEST

/* One region told: counted, and the visitor's word is the search's end. */
START_TEST(one_region)
{
  static told_list list;
  clarke_regions result = {0};
  clarke_region_search s = {.result = &result, .visit = list_region, .context = &list};
  const unsigned char choice[8] = {0};
  clarke_witness w;
  clarke_forms f;
  clarke_code p;
  clarke_region region;

  open_forms(&f, &p, "input x\noutput relu(x)\n", 1);
  memset(&list, 0, sizeof list);
  list.most = 2;
  OK(clarke_witness_init(&w, 4, &error));
  region = (clarke_region){.forms = &f, .point = &w, .choice = choice};
  OK(clarke_region_search_tell(&s, &region, &error));
  ck_assert(result.regions == 1 && list.n == 1 && !s.ended);
  OK(clarke_region_search_tell(&s, &region, &error));
  ck_assert(result.regions == 2 && list.n == 2 && s.ended);
  clarke_witness_clear(&w);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
}
END_TEST

MODULE(affine_pieces)
{
  TCase *tests = tests_of("affine pieces");

  tcase_add_test(tests, known_pieces);
  tcase_add_test(tests, hyperplanes_of_kinks);
  tcase_add_test(tests, listeners);
  tcase_add_test(tests, sweeps);
  tcase_add_test(tests, workers);
  tcase_add_test(tests, one_region);
  return all_tests;
}
