/* Questions about programs and small networks at a point, from files to texts, JSON and proofs. */
#include "shared.h"

#include "../suites.h"

#include "program/hold.h"
#include "program/execute.h"
#include "session/directional.h"

typedef struct {
  char path[160];
  bool own; /* the file, which goes with the rest */
  clarke_file file;
  clarke_derive_request ask;
  clarke_derive_session s;
  clarke_derivation d;
  clarke_derive_text t;
} asked;

static void
open_file(asked *a, const char *path, const char *wrt)
{
  memset(a, 0, sizeof *a);
  snprintf(a->path, sizeof a->path, "%s", path);
  OK(clarke_file_read(&a->file, path, &error));
  a->ask = (clarke_derive_request){.path = a->path, .file = &a->file, .wrt = wrt};
  clarke_derive_session_init(&a->s);
  clarke_derivation_init(&a->d);
  clarke_derive_text_init(&a->t);
}

static void
open_program(asked *a, const char *text, const char *wrt)
{
  char path[128];

  put_file(own_path(path, "asked.prog"), text);
  open_file(a, path, wrt);
  a->own = true;
}

static void
answer(asked *a, const char *const *at, size_t n)
{
  a->ask.at = at;
  a->ask.n_at = n;
  OK(clarke_derive_session_read(&a->s, &a->ask, &error));
  if (!a->s.network)
    OK(clarke_derive_point(&a->s, at, n, CLARKE_NONE, &error));
  OK(clarke_derive_ask(&a->d, &a->s, &error));
  OK(clarke_derive_text_fill(&a->t, &a->s, &a->d, &error));
}

static void
close_file(asked *a)
{
  clarke_derive_text_clear(&a->t);
  clarke_derivation_clear(&a->d);
  clarke_derive_session_clear(&a->s);
  clarke_file_clear(&a->file);
  if (a->own)
    remove(a->path);
}

static void
is_row(const clarke_vectors *v, size_t row, const char *const *want, size_t n)
{
  ck_assert(v->known && row < v->n && v->dim == n);
  for (size_t i = 0; i < n; i++)
    ck_assert_str_eq(v->text[row * n + i], want[i]);
}

static const char both[] = "input x[2]\ninput y\noutput relu(x[0] * y) + max(x[1], y)\n";
static const char *const both_at[] = {"x=0,3", "y=3"};

/* With x alone the kink at 0 and the tie at 3 part freely: all four sums of 0 or 3, and 0 or 1. */
START_TEST(a_kink_and_a_tie)
{
  static const char *const sets[][2] = {{"0", "0"}, {"0", "1"}, {"3", "0"}, {"3", "1"}}, *const ad[] = {"0", "1/2"};
  char proof[128], *line = NULL;
  size_t size;
  FILE *out;
  json_t *j;
  asked a;

  open_program(&a, both, "x");
  answer(&a, both_at, 2);
  ck_assert(!a.t.rows && a.t.n_outputs == 1 && a.t.width == 2);
  ck_assert_str_eq(a.t.value.text[0], "3");
  is_row(&a.t.ad, 0, ad, 2);
  ck_assert(a.t.bouligand.n == 4 && a.t.clarke.n == 4);
  for (size_t i = 0; i < 4; i++) {
    is_row(&a.t.bouligand, i, sets[i], 2);
    is_row(&a.t.clarke, i, sets[i], 2);
  }
  ck_assert_int_eq(a.d.verdict, CLARKE_IN_CLARKE);
  j = clarke_derive_json(&a.s, &a.d, &a.t);
  ck_assert_str_eq(text_in(j, "value"), "3");
  ck_assert_str_eq(text_in(j, "verdict"), "in-clarke");
  ck_assert_str_eq(text_in(j, "zone"), "bifurcation");
  for (size_t i = 0; i < 8; i++)
    ck_assert_str_eq(text_at(j, "bouligand", i / 2, i % 2), sets[i / 2][i % 2]);
  ck_assert_uint_eq(json_array_size(json_object_get(j, "wrt")), 1);
  ck_assert_str_eq(json_string_value(json_array_get(json_object_get(json_object_get(j, "at"), "x"), 1)), "3");
  ck_assert_uint_eq(json_array_size(json_object_get(j, "touched")), 2);
  json_decref(j);
  out = open_memstream(&line, &size);
  OK(clarke_derive_row_json(out, "7/2", &a.d, &a.t, NULL, false, &error));
  OK(clarke_derive_row_json(out, "4", NULL, &a.t, "no \"answer\"", true, &error));
  fclose(out);
  ck_assert_str_eq(line, "{\"t\":\"7/2\",\"value\":\"3\",\"ad\":[\"0\",\"1/2\"],\"zone\":\"bifurcation\",\"verdict\":\"in-clarke\"},\n"
                         "{\"t\":\"4\",\"value\":\"3\",\"ad\":[\"0\",\"1/2\"],\"why\":\"no \\\"answer\\\"\"}\n");
  free(line);
  OK(clarke_derive_prove(&a.s, &a.d, own_path(proof, "derive.proof"), &error));
  ck_assert_int_eq(checked(proof, "/tmp"), 0);
  remove(proof);
  close_file(&a);
}
END_TEST

/* The same touches as a person reads them. */
START_TEST(touched_in_words)
{
  asked a;

  open_program(&a, both, NULL);
  answer(&a, both_at, 2);
  clarke_derive_text_clear(&a.t);
  clarke_derive_text_init(&a.t);
  OK(clarke_derive_touched(&a.t, &a.s, &a.d.execution, a.d.profile, &error));
  ck_assert_uint_eq(a.t.n_touched, 2);
  ck_assert_str_eq(a.t.touched[0].node, "relu at line 3, column 8");
  ck_assert_str_eq(a.t.touched[0].argument, "0");
  ck_assert(a.t.touched[0].n_slopes == 2 && a.t.touched[0].n_proxies == 1 && !a.t.touched[0].several);
  ck_assert_str_eq(a.t.touched[0].slope[0], "0");
  ck_assert_str_eq(a.t.touched[0].slope[1], "1");
  ck_assert_str_eq(a.t.touched[0].proxy[0], "0");
  ck_assert_str_eq(a.t.touched[1].node, "max at line 3, column 25");
  ck_assert_str_eq(a.t.touched[1].argument, "3");
  ck_assert(a.t.touched[1].several && a.t.touched[1].n_proxies == 2);
  ck_assert_str_eq(a.t.touched[1].slope[1], "1"); /* its place among the arguments */
  ck_assert_str_eq(a.t.touched[1].proxy[0], "1/2");
  clarke_touched_text_clear(&a.t.touched[1]);
  a.t.n_touched = 1; /* the other is cleared with the whole */
  close_file(&a);
}
END_TEST

/* relu at 1e-10: a half's 0, whose slope is AD's 0 at the kink; the wider types have the exact slope. */
START_TEST(in_floating_point)
{
  static const char *const at[] = {"t=1e-10"};
  asked a;

  open_program(&a, "input t\noutput relu(t)\n", NULL);
  for (size_t f = 0; f < CLARKE_FORMATS; f++)
    a.ask.format[f] = f != CLARKE_IEEE_F32;
  answer(&a, at, 1);
  ck_assert(a.t.rounded[CLARKE_IEEE_F16].asked && !a.t.rounded[CLARKE_IEEE_F32].asked && a.t.rounded[CLARKE_IEEE_F64].asked);
  ck_assert_str_eq(a.t.rounded[CLARKE_IEEE_F16].value.text[0], "0");
  ck_assert_str_eq(a.t.rounded[CLARKE_IEEE_F16].ad.text[0], "0");
  ck_assert_int_eq(a.t.rounded[CLARKE_IEEE_F16].agrees, CLARKE_NO);
  ck_assert_str_eq(a.t.rounded[CLARKE_IEEE_F64].value.text[0], "1e-10");
  ck_assert_str_eq(a.t.rounded[CLARKE_IEEE_F64].ad.text[0], "1");
  ck_assert_int_eq(a.t.rounded[CLARKE_IEEE_F64].agrees, CLARKE_YES);
  clarke_derive_text_clear(&a.t);
  clarke_derive_text_init(&a.t);
  for (size_t f = 0; f < CLARKE_FORMATS; f++)
    a.s.format[f] = f == CLARKE_IEEE_F32;
  OK(clarke_derive_floats(&a.t, &a.s, &a.d, &error));
  ck_assert(!a.t.rounded[CLARKE_IEEE_F16].asked && a.t.rounded[CLARKE_IEEE_F32].asked);
  ck_assert(strtof(a.t.rounded[CLARKE_IEEE_F32].value.text[0], NULL) == 1e-10f);
  a.d.ad_exact = false; /* then nothing is there to compare with */
  clarke_derive_text_clear(&a.t);
  clarke_derive_text_init(&a.t);
  OK(clarke_derive_floats(&a.t, &a.s, &a.d, &error));
  ck_assert_int_eq(a.t.rounded[CLARKE_IEEE_F32].agrees, CLARKE_UNKNOWN);
  close_file(&a);
}
END_TEST

static void
read_again(asked *a)
{
  clarke_derive_session_clear(&a->s);
  OK(clarke_derive_session_read(&a->s, &a->ask, &error));
}

START_TEST(points)
{
  static const char *const twice[] = {"x=1,2", "x=3,4"}, *const some[] = {"x=1/2,-3"}, *const all[] = {"y=7", "x=1/2,-3"},
                    *const file[] = {CASES "/audit/lemma2.npz"};
  asked a;

  open_program(&a, both, NULL);
  read_again(&a);
  FAILS(clarke_derive_point(&a.s, some, 1, CLARKE_NONE, &error), "input 'y' has no value: the point wants y=V");
  read_again(&a);
  FAILS(clarke_derive_point(&a.s, twice, 2, CLARKE_NONE, &error), "x");
  read_again(&a);
  OK(clarke_derive_point(&a.s, some, 1, 1, &error)); /* y is swept, and 0 until then */
  ck_assert(a.s.n_at == 3 && mpq_cmp_si(a.s.at[0], 1, 2) == 0 && mpq_cmp_si(a.s.at[1], -3, 1) == 0 && mpq_sgn(a.s.at[2]) == 0);
  read_again(&a);
  FAILS(clarke_derive_point(&a.s, all, 2, 1, &error), "input 'y' is swept");
  read_again(&a);
  OK(clarke_derive_point(&a.s, all, 2, CLARKE_NONE, &error));
  ck_assert(mpq_cmp_si(a.s.at[1], -3, 1) == 0 && mpq_cmp_si(a.s.at[2], 7, 1) == 0 && a.s.given[0] && a.s.given[1]);
  read_again(&a);
  FAILS(clarke_derive_point(&a.s, file, 1, CLARKE_NONE, &error), "array 'x' has 1 entries, the input has 2");
  close_file(&a);
  open_program(&a, "input x\noutput relu(x)\n", NULL);
  read_again(&a);
  OK(clarke_derive_point(&a.s, file, 1, CLARKE_NONE, &error)); /* x is 1 there */
  ck_assert(a.s.n_at == 1 && mpq_cmp_ui(a.s.at[0], 1, 1) == 0);
  close_file(&a);
}
END_TEST

/* y is held at 3 in the copy's product, whatever it is given; x still varies. */
START_TEST(what_is_held)
{
  clarke_execution e;
  mpq_t *held_at = numbers(3, (const int[]){0, 3, 3}), *other = numbers(3, (const int[]){5, 1, 100});
  asked a;

  open_program(&a, "input x[2]\ninput y\noutput relu(x[0] * y) + x[1]\n", "x");
  read_again(&a);
  OK(clarke_prog_lower(&a.s.held, &a.s.prog, &error));
  OK(clarke_code_wrt(&a.s.held, a.s.wrt, a.s.n_wrt, &error));
  OK(clarke_derive_hold(&a.s, held_at, &error));
  ck_assert(a.s.is_held);
  clarke_execution_init(&e);
  OK(clarke_execute(&e, &a.s.held, other, &error));
  ck_assert(mpq_cmp_ui(e.value[a.s.held.output[0]].q, 15 + 1, 1) == 0);
  clarke_execution_clear(&e);
  close_file(&a);
  /* What has no value there is not held, and no error either: the tree is asked. */
  open_program(&a, "input x[2]\ninput y\noutput x[0] * x[1] / (y - 3)\n", "x");
  read_again(&a);
  OK(clarke_prog_lower(&a.s.held, &a.s.prog, &error));
  OK(clarke_code_wrt(&a.s.held, a.s.wrt, a.s.n_wrt, &error));
  OK(clarke_derive_hold(&a.s, held_at, &error));
  ck_assert(!a.s.is_held);
  clarke_rationals_free(held_at, 3);
  clarke_rationals_free(other, 3);
  close_file(&a);
}
END_TEST

/* Lemma 2's network computes w: its slope is 1, and AD says 0. */
START_TEST(of_a_network)
{
  static const char *const at[] = {CASES "/audit/lemma2.npz"}, *const list[] = {"x=1"}, *const wrong[] = {"z=1"}, *const none[] = {"1,2"};
  static const char *const zero[] = {"0"}, *const one[] = {"1"};
  char proof[128];
  json_t *j;
  asked a;

  for (size_t k = 0; k < 2; k++) {
    open_file(&a, CASES "/audit/lemma2.onnx", "params");
    answer(&a, k == 0 ? at : list, 1);
    ck_assert(a.s.network && a.s.all_parameters && a.s.is_held);
    is_row(&a.t.ad, 0, zero, 1);
    is_row(&a.t.clarke, 0, one, 1);
    ck_assert_int_eq(a.d.verdict, CLARKE_NOT_IN_CLARKE);
    ck_assert_int_eq(a.d.differentiable, CLARKE_YES);
    ck_assert_str_eq(a.t.touched[1].node, "Relu 'rho', entry 1");
    j = clarke_derive_json(&a.s, &a.d, &a.t);
    ck_assert_ptr_null(json_object_get(j, "at")); /* it is in the file */
    ck_assert_str_eq(text_in(j, "verdict"), "not-in-clarke");
    ck_assert(json_is_true(json_object_get(j, "differentiable")));
    json_decref(j);
    OK(clarke_derive_prove(&a.s, &a.d, own_path(proof, "network.proof"), &error));
    ck_assert_int_eq(checked(proof, CASES "/audit"), 0);
    remove(proof);
    close_file(&a);
  }
  open_file(&a, CASES "/audit/lemma2.onnx", NULL);
  a.ask.at = wrong;
  a.ask.n_at = 1;
  FAILS(clarke_derive_network(&a.s, &a.ask, &error), "the input is called");
  a.ask.at = none;
  FAILS(clarke_derive_network(&a.s, &a.ask, &error), "2 numbers; expected 1");
  a.ask.n_at = 2;
  FAILS(clarke_derive_network(&a.s, &a.ask, &error), "of a network, the point is one");
  close_file(&a);
}
END_TEST

/* Lemma 2's network in its input x, which is 1, at w = 0: constant. And what is neither. */
START_TEST(of_a_network_in_its_input)
{
  static const char *const at[] = {"1"}, *const zero[] = {"0"};
  asked a;

  open_file(&a, CASES "/audit/lemma2.onnx", NULL);
  a.ask.at = at;
  a.ask.n_at = 1;
  OK(clarke_derive_network(&a.s, &a.ask, &error));
  ck_assert(a.s.n_at == 1 && mpq_cmp_ui(a.s.at[0], 1, 1) == 0);
  close_file(&a);
  open_file(&a, CASES "/audit/lemma2.onnx", NULL);
  answer(&a, at, 1);
  is_row(&a.t.ad, 0, zero, 1);
  is_row(&a.t.bouligand, 0, zero, 1);
  close_file(&a);
  open_file(&a, CASES "/audit/lemma2.npz", NULL);
  FAILS(clarke_derive_session_read(&a.s, &a.ask, &error), "expected a program (.prog) or a network (.onnx)");
  close_file(&a);
}
END_TEST

/* Directions as text, asked, told, proved. */
START_TEST(along_directions)
{
  const char *const ways[] = {"x=1,0,y=2", "0,-1,0"};
  char path[128];
  asked a;
  clarke_directional_answer answer;
  mpq_t *d = clarke_rationals(3);
  json_t *j;
  char *side;

  open_program(&a, both, NULL);
  a.ask.at = both_at;
  a.ask.n_at = 2;
  OK(clarke_derive_session_read(&a.s, &a.ask, &error));
  OK(clarke_derive_point(&a.s, both_at, 2, CLARKE_NONE, &error));
  OK(clarke_directional_parse(d, &a.s.program, "y=1/2", &error));
  ck_assert(mpq_sgn(d[0]) == 0 && mpq_sgn(d[1]) == 0 && mpq_cmp_ui(d[2], 1, 2) == 0);
  FAILS(clarke_directional_parse(d, &a.s.program, "1,2", &error), "a direction of 2 entries: --wrt has 3");
  FAILS(clarke_directional_parse(d, &a.s.program, "1,2,3,4", &error), "a direction of 4 entries: --wrt has 3");
  FAILS(clarke_directional_parse(d, &a.s.program, "1,2,z", &error), "'z' is no number");
  FAILS(clarke_directional_parse(d, &a.s.program, "x=1,2,x=1,2", &error), "given twice");
  FAILS(clarke_directional_parse(d, &a.s.program, "y=0", &error), "all its entries are 0");
  clarke_directional_answer_init(&answer);
  OK(clarke_directional_ask(&answer, &a.s, ways, 2, &error));
  ck_assert(answer.found.known && mpq_cmp_ui(answer.found.derivative[0].q, 5, 1) == 0 && mpq_sgn(answer.found.derivative[1].q) == 0);
  side = clarke_turn_text(&answer, 0);
  ck_assert_str_eq(side, "right");
  free(side);
  j = clarke_directional_json(&answer, &a.s);
  ck_assert_uint_eq(json_array_size(json_object_get(j, "directions")), 2);
  json_decref(j);
  OK(clarke_directional_prove(&answer, &a.s, own_path(path, "along.proof"), &error));
  remove(path);
  OK(clarke_proof_write_direction(path, false, &(clarke_proof_input){"asked.prog", a.s.sha256, NULL}, &answer.found, answer.line, &a.s.profile, &error));
  remove(path);
  answer.found.ad_known = false;
  FAILS(clarke_directional_prove(&answer, &a.s, path, &error), "an undecided question has no proof");
  clarke_directional_answer_clear(&answer);
  clarke_rationals_free(d, 3);
  close_file(&a);
}
END_TEST

MODULE(derivations)
{
  TCase *tests = tests_of("derivations");

  tcase_add_test(tests, a_kink_and_a_tie);
  tcase_add_test(tests, touched_in_words);
  tcase_add_test(tests, in_floating_point);
  tcase_add_test(tests, points);
  tcase_add_test(tests, what_is_held);
  tcase_add_test(tests, of_a_network);
  tcase_add_test(tests, of_a_network_in_its_input);
  tcase_add_test(tests, along_directions);
  return all_tests;
}
