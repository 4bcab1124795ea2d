/* The machine of a replay in floats, and what is said of declared pieces. */
#include "../suites.h"
#include "executed.h"

#include "program/representation_point.h"
#include "program/representation_words.h"
#include "program/rounded_inside.h"

#include <math.h>

/* --- the machine --- */

#define MOST 32

typedef struct {
  executed x;
  clarke_profile profile;
  clarke_machine m;
} scene;

static void
open_scene(scene *s, const char *text, long a, long b)
{
  memset(s, 0, sizeof *s);
  begin(&s->x, text, a, b);
  ck_assert_uint_lt(s->x.p.n, MOST);
  clarke_profile_init(&s->profile);
  OK(clarke_profile_load(&s->profile, NULL, &error));
  s->m = (clarke_machine){.p = &s->x.p, .profile = &s->profile};
  OK(clarke_machine_begin(&s->m, CLARKE_IEEE_F32, &error));
}

static void
close_scene(scene *s)
{
  clarke_machine_clear(&s->m);
  clarke_profile_clear(&s->profile);
  end(&s->x);
}

/* Small integers round to themselves: the machine does what the exact execution does. */
START_TEST(small_integers_are_computed_exactly)
{
  static const char *const texts[] = {
    "input x, y\noutput x*y + 3*relu(x - y) - max(x, y, 2)*x",
    "input x, y\nlet v = [x, y, x + y]\noutput v*2 + [1, x, y], sum(v*v)",
    "input x, y\noutput if x < y then x*x else 5*y, abs(x) + clamp(y, -1, 1)*x, (x*8)/4",
    "input x, y\nlet v = [x, y] + 1\noutput sort(v, 3), norm2(3*x - 3, 4)",
  };

  for (size_t i = 0; i < 4; i++) {
    clarke_number *ad = clarke_numbers(64);
    double gradient[2];
    scene s;

    open_scene(&s, texts[i], 1, -2);
    OK(clarke_execution_ad(ad, &s.x.e, &s.profile, &error));
    clarke_machine_input(&s.m, s.x.at);
    clarke_machine_forward(&s.m, 0, s.x.p.n);
    clarke_machine_runs(&s.m);
    for (size_t k = 0; k < s.x.p.n; k++)
      ck_assert(!s.x.e.live[k] || s.m.value[k] == clarke_number_double(&s.x.e.value[k]));
    for (size_t o = 0; o < s.x.p.n_outputs; o++) {
      clarke_machine_unreach(&s.m);
      clarke_machine_seed(&s.m, s.x.p.output[o], 1);
      OK(clarke_machine_backward(&s.m, gradient, &error));
      for (size_t k = 0; k < 2; k++)
        ck_assert_msg(gradient[k] == clarke_number_double(&ad[2 * o + k]), "%s: %zu", texts[i], o);
    }
    close_scene(&s);
    clarke_numbers_free(ad, 64);
  }
}
END_TEST

/* Undone in two parts, at the beginning of any run, and run in two parts: the same numbers. */
START_TEST(parts_are_the_whole)
{
  double whole[2], parts[2];
  scene s;

  open_scene(&s, "input x, y\nlet v = [x, y, 3]*[y, x, x]\noutput sum(v*v + 1)", 3, -2);
  clarke_machine_input(&s.m, s.x.at);
  clarke_machine_forward(&s.m, 0, s.x.p.n);
  clarke_machine_runs(&s.m);
  clarke_machine_seed(&s.m, s.x.p.output[0], 1);
  OK(clarke_machine_backward(&s.m, whole, &error));
  ck_assert(whole[0] == 2 * 3 * 4 * 2 + 2 * 9 * 3 && whole[1] == 2 * -2 * 9 * 2);
  for (size_t at = 0; at < s.x.p.n; at++) {
    if (s.m.start[at] != at)
      continue;
    memset(s.m.value + 2, 0, (s.x.p.n - 2) * sizeof *s.m.value);
    clarke_machine_forward(&s.m, 0, at);
    clarke_machine_forward(&s.m, at, s.x.p.n);
    clarke_machine_unreach(&s.m);
    clarke_machine_seed(&s.m, s.x.p.output[0], 1);
    OK(clarke_machine_undo(&s.m, at, s.x.p.n, &error));
    OK(clarke_machine_undo(&s.m, 0, at, &error));
    clarke_machine_gradient(&s.m, parts);
    ck_assert_msg(parts[0] == whole[0] && parts[1] == whole[1], "%zu", at);
  }
  close_scene(&s);
}
END_TEST

/* 2^24 + 1 is no float: 2^24 + 1 + 1 is 2^24 from the left, and so is a product's last bit gone. */
START_TEST(what_does_not_fit_is_rounded_in_order)
{
  scene s;

  open_scene(&s, "input x, y\noutput x + y + y, (x + 3)*(x + 1)", 1 << 24, 1);
  clarke_machine_input(&s.m, s.x.at);
  clarke_machine_forward(&s.m, 0, s.x.p.n);
  ck_assert(s.m.value[s.x.p.output[0]] == 16777216);
  ck_assert(s.m.value[s.x.p.output[1]] == (double)(float)((double)16777220 * 16777216));
  close_scene(&s);
}
END_TEST

/* A sum is undone from its end: a chain of additions, of whose first two terms a product is made before the addition. */
START_TEST(sums_are_undone_from_their_end)
{
  static const size_t first_is_one[4] = {3, 2, 0, 1}, other[4] = {3, 2, 1, 0};

  for (size_t turn = 0; turn < 4; turn++) {
    ck_assert_uint_eq(clarke_machine_turn(4, turn, true), first_is_one[turn]);
    ck_assert_uint_eq(clarke_machine_turn(4, turn, false), other[turn]);
  }
  ck_assert_uint_eq(clarke_machine_turn(1, 0, true), 0);
}
END_TEST

/* One operation on vectors is one run; one whose argument is in the run begins another. */
START_TEST(runs_are_operations_on_vectors)
{
  scene s;
  size_t at;

  open_scene(&s, "input x, y\nlet v = [x, y, 3]*[y, x, x]\noutput v + 1", 1, 2);
  clarke_machine_runs(&s.m);
  at = 2;
  while (s.x.p.instruction[at].kind != CLARKE_DO_PRODUCT)
    at++;
  ck_assert(s.m.start[at] == at && s.m.start[at + 1] == at); /* x y and y x; 3 x is linear */
  ck_assert(s.m.start[at + 2] == at + 2 && s.x.p.instruction[at + 2].kind == CLARKE_DO_LINEAR);
  close_scene(&s);
  open_scene(&s, "input x, y\nlet a = x*x\noutput a*a", 1, 2);
  at = s.x.p.output[0];
  s.x.p.instruction[at].group = s.x.p.instruction[at - 1].group; /* one group, but the second needs the first */
  clarke_machine_runs(&s.m);
  ck_assert_uint_eq(s.m.start[at], at);
  s.x.p.instruction[at].in[0] = s.x.p.instruction[at].in[1] = 0;
  clarke_machine_runs(&s.m);
  ck_assert_uint_eq(s.m.start[at], at - 1);
  close_scene(&s);
}
END_TEST

/* Two blocks of 3 x 2 matrices over 5 places: result 17 is of block 1, row 0, place 2; 13 of block 0, row 2, place 3. */
START_TEST(rows_of_blocks)
{
  const clarke_dense shape = {.blocks = 2, .outer = 3, .inner = 2, .repeat = 5}, grouped = {.grouped = true, .blocks = 2, .outer = 3, .inner = 2, .repeat = 5};
  const clarke_dense transposed = {.transposed = true, .blocks = 2, .outer = 3, .inner = 2, .repeat = 5};
  clarke_block_row row = clarke_block_row_of(&shape, 17);

  ck_assert(row.weight == 0 && row.weight_step == 1 && row.x == 12 && row.x_step == 5);
  row = clarke_block_row_of(&grouped, 17);
  ck_assert(row.weight == 6 && row.weight_step == 1 && row.x == 12);
  row = clarke_block_row_of(&transposed, 13);
  ck_assert(row.weight == 2 && row.weight_step == 3 && row.x == 3 && row.x_step == 5);
}
END_TEST

/* y = W x for W = (1 2; 3 4), numbers, then in wrt, and x = (5, padding): y = (5, 15); of y's adjoints (10, 100) the sum of both rows
 * goes to x, and each times x to W's first column. */
START_TEST(blocks_are_matrix_products)
{
  static const double weight[4] = {1, 2, 3, 4};
  static size_t x[2] = {0, CLARKE_NONE}, parameter[4] = {4, 5, 6, 7};
  clarke_block b = {.first = 2, .n = 2, .shape = {.blocks = 1, .inner = 2, .outer = 2, .repeat = 1}, .n_weights = 4, .weight = weight,
                    .n_x = 2, .x = x};
  scene s;

  open_scene(&s, "input x, y\noutput 5*x, 6*x, 7*x, 8*y, 9*y, 10*y", 5, 0);
  s.x.p.input[0].wrt = true;
  clarke_machine_clear(&s.m);
  s.m.block = &b;
  s.m.n_blocks = 1;
  for (int in_wrt = 0; in_wrt < 2; in_wrt++) {
    b.parameter = in_wrt ? parameter : NULL;
    OK(clarke_machine_begin(&s.m, CLARKE_IEEE_F32, &error));
    s.m.value[0] = 5;
    clarke_machine_block_forward(&s.m, 0);
    ck_assert(s.m.value[2] == 5 && s.m.value[3] == 15);
    clarke_machine_seed(&s.m, 2, 10);
    clarke_machine_seed(&s.m, 3, 100);
    clarke_machine_block_backward(&s.m, 0);
    ck_assert(s.m.reached[0] && s.m.adjoint[0] == 310);
    ck_assert(s.m.reached[4] == in_wrt && !s.m.reached[5]);
    ck_assert(!in_wrt || (s.m.adjoint[4] == 50 && s.m.adjoint[6] == 500));
    if (!in_wrt)
      clarke_machine_clear(&s.m);
  }
  close_scene(&s);
}
END_TEST

/* What a run gives is summed before it is added: 2^24 + (1 + 1), where one after another would be lost. */
START_TEST(what_a_run_gives_is_summed_first)
{
  scene s;

  open_scene(&s, "input x, y\noutput x + y", 1, 2);
  for (int several = 0; several < 2; several++) {
    clarke_machine_unreach(&s.m);
    clarke_machine_seed(&s.m, 0, 1 << 24);
    s.m.several = several;
    clarke_machine_give(&s.m, 0, 1);
    clarke_machine_give(&s.m, 0, 1);
    clarke_machine_flush(&s.m);
    ck_assert(s.m.adjoint[0] == (1 << 24) + (several ? 2 : 0));
  }
  clarke_machine_add(&s.m, &s.m.adjoint[1], &s.m.reached[1], 3);
  ck_assert(s.m.reached[1] && s.m.adjoint[1] == 3);
  close_scene(&s);
}
END_TEST

/* --- words --- */

static const char pieces[] = "input x, y\noutput abs(x)\npiece x if x >= 0\npiece -x if x < 0";

START_TEST(words_name_pieces_points_and_places)
{
  mpq_t *point = clarke_rationals(2), q;
  clarke_sentence w = {.n = 0};
  executed x;

  mpq_init(q);
  begin(&x, pieces, 1, 2);
  clarke_say(&w, "of %s", "it ");
  clarke_say_piece(&w, &x.p, 1);
  ck_assert_str_eq(w.text, "of it piece 2 (line 4)");
  ck_assert_uint_eq(w.n, strlen(w.text));
  w.n = 0;
  clarke_say_holding(&w, &x.p, CLARKE_NONE, CLARKE_NONE);
  ck_assert_str_eq(w.text, "no piece holds");
  w.n = 0;
  clarke_say_holding(&w, &x.p, 0, 1);
  ck_assert_str_eq(w.text, "piece 1 (line 3) and piece 2 (line 4) both hold");
  w.n = 0;
  mpq_set_si(point[0], -3, 2);
  clarke_say_point(&w, &x.p, x.at, point);
  ck_assert_str_eq(w.text, " at x=-3/2 y=0");
  x.p.input[0].wrt = false; /* then it is at its own value, and y is the point's first */
  w.n = 0;
  clarke_say_point(&w, &x.p, x.at, point);
  ck_assert_str_eq(w.text, " at x=1 y=-3/2");
  w.n = 0;
  clarke_say_instruction(&w, &x.p, x.p.output[0]);
  ck_assert_str_eq(w.text, "the expression at 2:8");
  x.p.instruction[x.p.output[0]].line = 0;
  w.n = 0;
  clarke_say_instruction(&w, &x.p, x.p.output[0]);
  ck_assert(strncmp(w.text, "instruction ", 12) == 0 && strtoul(w.text + 12, NULL, 10) == x.p.output[0]);
  w.n = 0;
  mpq_set_si(q, 22, 7);
  clarke_say_number(&w, q);
  ck_assert_str_eq(w.text, "22/7");
  mpz_ui_pow_ui(mpq_numref(q), 10, 70);
  mpz_ui_pow_ui(mpq_denref(q), 7, 3);
  w.n = 0;
  clarke_say_number(&w, q);
  ck_assert(strncmp(w.text, "about 2.915", 11) == 0);
  for (int i = 0; i < 300; i++)
    clarke_say(&w, "%d ", i);
  ck_assert(w.n == sizeof w.text - 1 && strlen(w.text) == w.n); /* cut where it is full */
  end(&x);
  mpq_clear(q);
  clarke_rationals_free(point, 2);
}
END_TEST

/* --- pieces at a point --- */

static const struct {
  const char *text;
  long x;
  size_t active;    /* CLARKE_NONE: none, or several */
  int answer;
  const char *why;
  long selection[2]; /* gradients in x of pieces equal to the function; -9: none */
  long associated;   /* -9: none */
} points[] = {
  {pieces, 2, 0, CLARKE_REPRESENTS_UNKNOWN, "", {1, -9}, 1},
  {pieces, -2, 1, CLARKE_REPRESENTS_UNKNOWN, "", {-1, -9}, -1},
  {pieces, 0, 0, CLARKE_REPRESENTS_UNKNOWN, "", {-1, 1}, 1},
  {"input x, y\noutput abs(x)\npiece x if x > 0\npiece -x if x < 0", 0, CLARKE_NONE, CLARKE_MISREPRESENTS, "no piece holds at x=0 y=0", {-1, 1}, -9},
  {"input x, y\noutput abs(x)\npiece x if x >= 0\npiece -x if x <= 0", 0, CLARKE_NONE, CLARKE_MISREPRESENTS, "both hold at x=0", {-1, 1}, -9},
  {"input x, y\noutput abs(x)\npiece x if x <= 0\npiece -x if x > 0", 3, 1, CLARKE_MISREPRESENTS, "piece 2 (line 4) is less than the function at x=3", {1, -9}, -1},
};

START_TEST(a_point_chooses_its_piece)
{
  mpq_t *point = clarke_rationals(2);

  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
    const size_t n = (points[i].selection[0] != -9) + (points[i].selection[1] != -9);
    clarke_representation r;
    executed x;

    begin(&x, points[i].text, points[i].x, 0);
    clarke_wrt_point(point, &x.p, x.at);
    ck_assert(mpq_cmp_si(point[0], points[i].x, 1) == 0 && mpq_sgn(point[1]) == 0);
    clarke_representation_init(&r);
    clarke_points_init(&r.selection, 2);
    OK(clarke_representation_check_point(&r, &x.p, x.at, &error));
    ck_assert_msg(r.active == points[i].active && (int)r.answer == points[i].answer, "%zu: %s", i, r.why);
    ck_assert_msg(strstr(r.why, points[i].why) != NULL, "%s", r.why);
    ck_assert(r.selection_known && r.selection.n == n);
    for (size_t k = 0; k < n; k++)
      ck_assert(mpq_cmp_si(r.selection.entry[2 * k], points[i].selection[k], 1) == 0);
    ck_assert((r.associated == NULL) == (points[i].associated == -9));
    ck_assert(r.associated == NULL || mpq_cmp_si(r.associated[0], points[i].associated, 1) == 0);
    clarke_representation_clear(&r);
    end(&x);
  }
  clarke_rationals_free(point, 2);
}
END_TEST

START_TEST(the_point_is_of_inputs_in_wrt)
{
  mpq_t *point = clarke_rationals(2);
  executed x;

  begin(&x, pieces, 5, 7);
  x.p.input[0].wrt = false;
  clarke_wrt_point(point, &x.p, x.at);
  ck_assert(mpq_cmp_ui(point[0], 7, 1) == 0 && mpq_sgn(point[1]) == 0);
  end(&x);
  clarke_rationals_free(point, 2);
}
END_TEST

MODULE(machine)
{
  TCase *tests = tests_of("machine");

  tcase_add_test(tests, small_integers_are_computed_exactly);
  tcase_add_test(tests, parts_are_the_whole);
  tcase_add_test(tests, what_does_not_fit_is_rounded_in_order);
  tcase_add_test(tests, sums_are_undone_from_their_end);
  tcase_add_test(tests, rows_of_blocks);
  tcase_add_test(tests, blocks_are_matrix_products);
  tcase_add_test(tests, what_a_run_gives_is_summed_first);
  tcase_add_test(tests, runs_are_operations_on_vectors);
  tcase_add_test(tests, words_name_pieces_points_and_places);
  tcase_add_test(tests, a_point_chooses_its_piece);
  tcase_add_test(tests, the_point_is_of_inputs_in_wrt);
  return all_tests;
}
