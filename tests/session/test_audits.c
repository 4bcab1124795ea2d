/* Audits of networks whose answers papers tell, from files to JSON and proofs; checkpoints, notes, gradients. */
#include "shared.h"

#include "../suites.h"

#include "format/safetensors.h"
#include "format/safetensors_write.h"
#include "session/handles.h"
#include "session/checkpoint.h"
#include "session/gradient.h"
#include "session/notes.h"

typedef struct {
  clarke_file model, batch, params;
  char model_path[256], batch_path[256], params_path[128];
  clarke_audit_request ask;
  clarke_audit_session s;
} asked;

/* The request of a case; nothing is read yet. */
static void
open_case(asked *a, const char *name)
{
  memset(a, 0, sizeof *a);
  snprintf(a->model_path, sizeof a->model_path, CASES "/audit/%s.onnx", name);
  snprintf(a->batch_path, sizeof a->batch_path, CASES "/audit/%s.npz", name);
  OK(clarke_file_read(&a->model, a->model_path, &error));
  OK(clarke_file_read(&a->batch, a->batch_path, &error));
  a->ask = (clarke_audit_request){.model_path = a->model_path, .model = &a->model, .batch_path = a->batch_path, .batch = &a->batch,
                                  .threads = 1, .touched = true};
  clarke_audit_session_init(&a->s);
}

static void
answer_case(asked *a, const char *name)
{
  open_case(a, name);
  OK(clarke_audit_session_read(&a->s, &a->ask, &error));
  OK(clarke_audit_session_ask(&a->s, &a->ask, &error));
}

static void
close_case(asked *a)
{
  clarke_audit_session_clear(&a->s);
  clarke_file_clear(&a->model);
  clarke_file_clear(&a->batch);
  clarke_file_clear(&a->params);
}

/* What the papers say of these networks. */
typedef struct {
  const char *name, *verdict, *ad;
  clarke_verdict is;
  size_t touches;
  const char *touch[2][3]; /* argument, slopes */
  bool known;              /* is the gradient? Then it is 0 */
} known_case;

static const known_case known[] = {
  {"lemma2", "not-in-clarke", "0", CLARKE_NOT_IN_CLARKE, 2, {{"0", "0", "1"}, {"0", "0", "1"}}, true},
  {"lemma3", "not-in-clarke", "0", CLARKE_NOT_IN_CLARKE, 2, {{"3", "1/6", "0"}, {"-3", "0", "1/6"}}, true},
  {"abs", "in-clarke", "0", CLARKE_IN_CLARKE, 1, {{"0", "-1", "1"}}, true},
  {"global-only", "in-bouligand", "1/4", CLARKE_IN_BOULIGAND, 2, {{"0", "1/4", "1"}, {"0", "1/4", "1"}}, false},
};

/* Where an entry is open nobody says how many kinks are touched, nor which of them move. */
static void
check_open(asked *a)
{
  json_t *j;

  ck_assert(clarke_audit_touches_known(&a->s));
  a->s.replay.open = 1;
  ck_assert(!clarke_audit_touches_known(&a->s));
  j = clarke_audit_json(&a->s);
  ck_assert(json_is_null(json_object_get(j, "touched")) && json_is_null(json_object_get(j, "flat")));
  ck_assert(json_is_null(json_object_get(json_array_get(json_object_get(j, "layers"), 0), "moving")));
  json_decref(j);
  a->s.replay.open = 0;
}

START_TEST(of_papers)
{
  const known_case *k = &known[_i];
  char proof[128];
  asked a;
  json_t *j;

  answer_case(&a, k->name);
  ck_assert_int_eq(a.s.audit.verdict, k->is);
  ck_assert_uint_eq(a.s.replay.n_touches, k->touches);
  ck_assert_ptr_null(a.s.stopped);
  /* Every argument of these is asked for, and the touched ones are not decided. */
  ck_assert_uint_eq(clarke_audit_asked(&a.s), clarke_audit_decided(&a.s) + k->touches);
  check_open(&a);
  j = clarke_audit_json(&a.s);
  ck_assert_str_eq(text_in(j, "verdict"), k->verdict);
  ck_assert_int_eq(count_in(j, "touched"), (long)k->touches);
  ck_assert_uint_eq(json_array_size(json_object_get(j, "touched_kinks")), k->touches);
  ck_assert_str_eq(text_in(j, "zone"), "bifurcation");
  ck_assert_ptr_null(json_object_get(j, "stopped"));
  json_decref(j);
  OK(clarke_audit_session_provable(&a.s, &error));
  OK(clarke_audit_session_prove(&a.s, own_path(proof, "audit.proof"), &error));
  ck_assert_int_eq(checked(proof, CASES "/audit"), 0);
  OK(clarke_audit_session_prove_zone(&a.s, proof, &error));
  ck_assert_int_eq(checked(proof, CASES "/audit"), 0);
  remove(proof);
  close_case(&a);
}
END_TEST

START_TEST(touches_in_words)
{
  const known_case *k = &known[_i];
  asked a;

  answer_case(&a, k->name);
  for (size_t t = 0; t < k->touches; t++) {
    clarke_touch_text text;

    OK(clarke_touch_describe(&text, &a.s, t, &error));
    ck_assert_ptr_eq(text.step, &a.s.graph.steps[a.s.replay.touch[t].step]);
    ck_assert_uint_eq(text.neuron, a.s.replay.touch[t].feature);
    ck_assert_uint_eq(text.sample, a.s.replay.touch[t].sample);
    ck_assert_str_eq(text.argument, k->touch[t][0]);
    ck_assert_uint_eq(text.n_sides, 2);
    ck_assert_ptr_null(text.option);
    ck_assert_str_eq(text.slope[0], k->touch[t][1]);
    ck_assert_str_eq(text.slope[1], k->touch[t][2]);
    ck_assert_str_eq(text.ad, k->ad);
    clarke_touch_text_clear(&text);
    ck_assert(text.slope == NULL && text.argument == NULL && text.ad == NULL);
  }
  close_case(&a);
}
END_TEST

/* AD's gradient as numbers, and as a file. */
START_TEST(gradients_of_papers)
{
  const known_case *k = &known[_i];
  clarke_gradient gradient;
  clarke_tensors saved;
  clarke_file file = {0};
  char path[128];
  bool exact = false, written = false;
  asked a;

  answer_case(&a, k->name);
  if (k->known) {
    clarke_matrix *rational = clarke_matrices_new(a.s.graph.n_parameters);

    OK(clarke_audit_exact(&exact, rational, &a.s, 64, &error));
    ck_assert(exact && !a.s.valued && (rational[0].rows == 0 || clarke_matrix_is_zero(&rational[0])));
    clarke_matrices_free(rational, a.s.graph.n_parameters);
  }
  OK(clarke_audit_gradient(&exact, &gradient, &a.s, &error));
  ck_assert(exact && a.s.valued && a.s.loss_exact && !a.s.bounded);
  if (k->known)
    ck_assert(gradient.entry[0] == NULL || gradient.entry[0][0] == 0);
  OK(clarke_audit_save_gradient(&written, &a.s, own_path(path, "gradient.safetensors"), &error));
  ck_assert(written);
  OK(clarke_file_read(&file, path, &error));
  clarke_tensors_init(&saved);
  OK(clarke_safetensors_parse(&saved, file.data, file.size, "g", &error));
  ck_assert_uint_eq(saved.n, a.s.graph.n_parameters);
  for (size_t p = 0; p < saved.n; p++) {
    const clarke_tensor *t = clarke_tensors_find(&saved, a.s.graph.parameters[p].name);

    ck_assert(t != NULL && t->dtype == CLARKE_F64 && t->count == a.s.graph.parameters[p].count);
    for (size_t e = 0; e < t->count; e++)
      ck_assert(t->real[e] == (gradient.entry[p] != NULL ? gradient.entry[p][e] : 0));
  }
  clarke_tensors_clear(&saved);
  clarke_file_clear(&file);
  clarke_gradient_clear(&gradient);
  remove(path);
  close_case(&a);
}
END_TEST

/* Lemma 2: AD takes 0 at both kinks, and with other slopes the gradient is not 0. Of |w| at 0 it is the zero's own mean. */
START_TEST(zeros_of_papers)
{
  clarke_zero_summary z;
  char causes[64];
  json_t *list;
  asked a;

  answer_case(&a, "lemma2");
  ck_assert(!a.s.zeros_asked);
  OK(clarke_audit_find_zeros(&a.s, false, &error));
  ck_assert(a.s.zeros_asked && a.s.zeros.known && a.s.near_zeros.known);
  z = clarke_audit_zeros_of(&a.s, 0);
  ck_assert(z.entries == 1 && z.ad.zero == 1 && z.near == 0 && z.stays == 0);
  ck_assert(clarke_zero_causes(causes, sizeof causes, &z.ad));
  ck_assert_str_eq(causes, "slope 0 taken at a kink 1");
  list = clarke_zeros_json(&a.s);
  ck_assert_uint_eq(json_array_size(list), 1);
  ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(json_array_get(list, 0), "why"), "slope 0 taken at a kink")), 1);
  ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "along")), 1);
  json_decref(list);
  close_case(&a);
  answer_case(&a, "global-only");
  OK(clarke_audit_find_zeros(&a.s, false, &error));
  z = clarke_audit_zeros_of(&a.s, 0);
  ck_assert(z.ad.zero == 0 && !clarke_zero_causes(causes, sizeof causes, &z.ad) && *causes == '\0');
  close_case(&a);
}
END_TEST

/* The function of Lemma 2 is w, so that off 0 its gradient is 1 in any direction. Afterwards the weights are as before. */
START_TEST(a_direction_off_zero)
{
  const bool yes = true;
  json_t *direction;
  asked a;

  answer_case(&a, "lemma2");
  OK(clarke_audit_find_zeros(&a.s, false, &error));
  ck_assert(a.s.moved.known && a.s.moved.along[0] == 1 && a.s.graph.parameters[0].real[0] == 0);
  clarke_moved_clear(&a.s.moved);
  ck_assert(!a.s.moved.known && a.s.moved.along == NULL);
  ck_assert(json_is_null(direction = clarke_moved_json(&a.s)));
  json_decref(direction);
  OK(clarke_moved_find(&a.s, &yes, 1, &error));
  ck_assert(a.s.moved.known && a.s.moved.along[0] == 1);
  direction = clarke_moved_json(&a.s);
  ck_assert_int_eq(json_integer_value(json_object_get(direction, "modulus")), 101);
  ck_assert_int_eq(json_integer_value(json_object_get(direction, "step")), a.s.moved.step);
  json_decref(direction);
  close_case(&a);
}
END_TEST

/* Where all of w is 0 a direction is found on its behalf; where an entry of it is not, only if single entries are asked for. */
START_TEST(directions_of_whole_parameters)
{
  bool of[8] = {false};
  asked a;
  size_t w = 0;

  answer_case(&a, "zero-gamma");
  while (w < a.s.graph.n_parameters && strcmp(a.s.graph.parameters[w].name, "w") != 0)
    w++;
  OK(clarke_audit_find_zeros(&a.s, true, &error));
  ck_assert(a.s.moved.known && a.s.moved.along[w] == 4);
  a.s.zeros.cause[w][0] |= CLARKE_ZERO_NOT;
  clarke_moved_clear(&a.s.moved);
  ck_assert_uint_lt(w, 8);
  OK(clarke_moved_find(&a.s, of, 0, &error));
  ck_assert(!a.s.moved.known);
  clarke_moved_clear(&a.s.moved);
  of[w] = true;
  OK(clarke_moved_find(&a.s, of, 3, &error));
  ck_assert(a.s.moved.known && a.s.moved.along[w] == 3);
  close_case(&a);
}
END_TEST

/* Causes that do not fit are cut off where one ends. */
START_TEST(causes_in_words)
{
  const clarke_zero_counts counts = {9, {2, 0, 5, 0, 0, 1}};
  char text[96], little[24];

  ck_assert(clarke_zero_causes(text, sizeof text, &counts));
  ck_assert_str_eq(text, "weights or constants that are 0 5, dead units 2, no path to the loss 1");
  ck_assert(clarke_zero_causes(little, sizeof little, &counts));
  ck_assert(strncmp(little, text, 20) == 0);
}
END_TEST

/* A proof's conditions, one after the other. */
START_TEST(without_a_proof)
{
  char path[128];
  asked a;

  answer_case(&a, "abs");
  own_path(path, "no.proof");
  a.s.batch_stored = false;
  FAILS(clarke_audit_session_provable(&a.s, &error), "uncompressed .npz");
  FAILS(clarke_audit_session_prove(&a.s, path, &error), "uncompressed .npz");
  a.s.batch_stored = a.s.external = true;
  FAILS(clarke_audit_session_provable(&a.s, &error), "the model in one file");
  a.s.external = false;
  a.s.audit.verdict = CLARKE_UNDECIDED;
  FAILS(clarke_audit_session_prove(&a.s, path, &error), "undecided: there is no proof");
  a.s.audit.zone.zone = CLARKE_ZONE_UNKNOWN;
  FAILS(clarke_audit_session_prove_zone(&a.s, path, &error), "zone unknown: there is no proof");
  a.s.audit.zone.zone = CLARKE_ZONE_BIFURCATION;
  a.s.audit.verdict = CLARKE_IN_CLARKE;
  a.s.params.name = strdup("later.pt");
  FAILS(clarke_audit_session_prove(&a.s, path, &error), "later.pt: a proof needs the checkpoint");
  ck_assert_int_ne(access(path, F_OK), 0);
  close_case(&a);
}
END_TEST

START_TEST(what_cannot_be_asked)
{
  asked a;

  open_case(&a, "abs");
  a.ask.wrt = "nobody";
  FAILS(clarke_audit_session_read(&a.s, &a.ask, &error), "nobody");
  clarke_audit_session_clear(&a.s);
  a.ask.wrt = NULL;
  a.ask.loss = "ce"; /* labels are missing */
  FAILS(clarke_audit_session_read(&a.s, &a.ask, &error), "y");
  clarke_audit_session_clear(&a.s);
  a.ask.loss = NULL;
  a.ask.profile = "no such profile";
  ck_assert_int_ne(clarke_audit_session_read(&a.s, &a.ask, &error), CLARKE_OK);
  clarke_audit_session_clear(&a.s);
  ck_assert(a.s.x == NULL && a.s.wrt == NULL && a.s.graph.n_steps == 0);
  close_case(&a);
}
END_TEST

/* --- checkpoints --- */

/* A file with one number under a name. */
static void
write_checkpoint(asked *a, const char *name, double value)
{
  clarke_tensors ts;

  clarke_tensors_init(&ts);
  ts.tensor = calloc(1, sizeof *ts.tensor);
  ts.n = 1;
  clarke_tensor_init(ts.tensor);
  OK(clarke_tensor_shape(ts.tensor, name, CLARKE_F64, a->s.graph.parameters[0].rank, a->s.graph.parameters[0].dims, &error));
  ts.tensor->real[0] = value;
  OK(clarke_safetensors_write(own_path(a->params_path, "later.safetensors"), &ts, NULL, &error));
  clarke_tensors_clear(&ts);
  clarke_file_clear(&a->params);
  OK(clarke_file_read(&a->params, a->params_path, &error));
  a->ask.params = &a->params;
  a->ask.params_path = a->params_path;
}

/* Where w is not 0 the network of Lemma 2 is differentiable, with slope 1. A wrapper's prefix is taken off, and then no checker can
 * read it. */
START_TEST(a_later_checkpoint)
{
  static const struct {
    const char *name;
    bool stored;
  } written[] = {{"w", true}, {"module.w", false}, {"_orig_mod.module.w", false}};

  for (size_t k = 0; k < 3; k++) {
    clarke_gradient gradient;
    bool exact;
    asked a;

    open_case(&a, "lemma2");
    OK(clarke_audit_session_read(&a.s, &a.ask, &error));
    ck_assert_uint_eq(a.s.graph.n_parameters, 1);
    ck_assert(a.s.graph.parameters[0].real[0] == 0);
    OK(clarke_checkpoint_provable(&a.s, &error)); /* there is none */
    write_checkpoint(&a, written[k].name, -5);
    OK(clarke_checkpoint_read(&a.s, &a.ask, &error));
    ck_assert(a.s.graph.parameters[0].real[0] == -5);
    ck_assert_int_eq(a.s.params_stored, written[k].stored);
    if (written[k].stored)
      OK(clarke_checkpoint_provable(&a.s, &error));
    else
      FAILS(clarke_checkpoint_provable(&a.s, &error), "takes no prefix off");
    a.ask.params = NULL;
    OK(clarke_audit_session_ask(&a.s, &a.ask, &error));
    ck_assert_int_eq(a.s.audit.verdict, CLARKE_IN_BOULIGAND);
    ck_assert_uint_eq(clarke_audit_decided(&a.s), clarke_audit_asked(&a.s));
    OK(clarke_audit_gradient(&exact, &gradient, &a.s, &error));
    ck_assert(exact && gradient.entry[0][0] == 1);
    ck_assert_str_eq(a.s.loss_value, "-5");
    clarke_gradient_clear(&gradient);
    remove(a.params_path);
    close_case(&a);
  }
}
END_TEST

/* What a file holds, under its own names; a key is for dictionaries alone. */
START_TEST(tensors_of_a_checkpoint)
{
  clarke_tensors ts;
  bool checked = false;
  asked a;

  open_case(&a, "lemma2");
  OK(clarke_audit_session_read(&a.s, &a.ask, &error));
  write_checkpoint(&a, "module.w", -5);
  clarke_tensors_init(&ts);
  OK(clarke_checkpoint_tensors(&ts, &checked, a.params_path, NULL, &a.params, &error));
  ck_assert(checked && ts.n == 1 && ts.tensor[0].real[0] == -5);
  ck_assert_str_eq(ts.tensor[0].name, "module.w");
  clarke_tensors_clear(&ts);
  FAILS(clarke_checkpoint_tensors(&ts, &checked, a.params_path, "ema", &a.params, &error), "nothing under 'ema'");
  clarke_tensors_clear(&ts);
  remove(a.params_path);
  close_case(&a);
}
END_TEST

START_TEST(checkpoints_that_do_not_fit)
{
  asked a;

  open_case(&a, "lemma2");
  OK(clarke_audit_session_read(&a.s, &a.ask, &error));
  write_checkpoint(&a, "other", 1);
  FAILS(clarke_checkpoint_read(&a.s, &a.ask, &error), "w");
  clarke_audit_session_clear(&a.s);
  OK(clarke_audit_session_read(&a.s, &a.ask, &error));
  a.ask.params_key = "ema";
  FAILS(clarke_checkpoint_read(&a.s, &a.ask, &error), "nothing under 'ema'");
  remove(a.params_path);
  close_case(&a);
}
END_TEST

START_TEST(names_of_checkpoints)
{
  char given[128], with[160], *path;
  const char *key;

  own_path(given, "model.pt");
  put_file(given, "");
  OK(clarke_checkpoint_name(&path, &key, given, &error));
  ck_assert_str_eq(path, given);
  ck_assert_ptr_null(key);
  free(path);
  snprintf(with, sizeof with, "%s:ema", given);
  OK(clarke_checkpoint_name(&path, &key, with, &error));
  ck_assert_str_eq(path, given);
  ck_assert_str_eq(key, "ema");
  free(path);
  put_file(with, ""); /* a file of that name */
  OK(clarke_checkpoint_name(&path, &key, with, &error));
  ck_assert_str_eq(path, with);
  ck_assert_ptr_null(key);
  free(path);
  remove(with);
  remove(given);
  OK(clarke_checkpoint_name(&path, &key, with, &error)); /* neither is there */
  ck_assert_str_eq(path, with);
  ck_assert_ptr_null(key);
  free(path);
}
END_TEST

/* --- notes --- */

static void
rename_parameter(asked *a, const char *name)
{
  free(a->s.graph.parameters[0].name);
  a->s.graph.parameters[0].name = strdup(name);
}

START_TEST(notes)
{
  asked a;
  size_t n;

  answer_case(&a, "abs");
  n = a.s.n_notes;
  a.s.graph.parameters[0].uses = 1;
  OK(clarke_audit_notes(&a.s, &error));
  ck_assert_uint_eq(a.s.n_notes, n); /* nothing to say, again */
  a.s.graph.parameters[0].uses = 2;
  rename_parameter(&a, "onnx::MatMul_12");
  OK(clarke_audit_notes(&a.s, &error));
  ck_assert_uint_eq(a.s.n_notes, n + 2);
  ck_assert_ptr_nonnull(strstr(a.s.notes[n], "'onnx::MatMul_12' has a name that an exporter gave"));
  ck_assert_ptr_nonnull(strstr(a.s.notes[n + 1], "is read 2 times"));
  a.s.graph.parameters[0].uses = 1;
  rename_parameter(&a, "val_7");
  OK(clarke_audit_notes(&a.s, &error));
  ck_assert_uint_eq(a.s.n_notes, n + 3);
  rename_parameter(&a, "val_x");
  a.s.loss.kind = CLARKE_LOSS_MSE;
  OK(clarke_audit_notes(&a.s, &error));
  ck_assert_uint_eq(a.s.n_notes, n + 4);
  ck_assert_ptr_nonnull(strstr(a.s.notes[n + 3], "so it is mse"));
  a.s.loss_by_y = false;
  a.s.graph.parameters[0].wrt = false;
  rename_parameter(&a, "9");
  OK(clarke_audit_notes(&a.s, &error));
  ck_assert_uint_eq(a.s.n_notes, n + 4);
  close_case(&a);
}
END_TEST

/* A recorded program's branches: at most eight lines, and how many more. */
START_TEST(notes_of_branches)
{
  static char *const lines[] = {"a.py:1", "a.py:2", "a.py:3", "a.py:4", "a.py:5", "a.py:6", "a.py:7", "a.py:8", "a.py:9"};
  clarke_audit_request r = {.branch = lines};
  asked a;
  size_t n;

  answer_case(&a, "abs");
  n = a.s.n_notes;
  OK(clarke_audit_note_branches(&a.s, &r, &error));
  ck_assert_uint_eq(a.s.n_notes, n);
  r.n_branches = 8;
  OK(clarke_audit_note_branches(&a.s, &r, &error));
  ck_assert_uint_eq(a.s.n_notes, n + 8);
  ck_assert_ptr_nonnull(strstr(a.s.notes[n + 7], "at a.py:8 the program read"));
  r.n_branches = 9;
  OK(clarke_audit_note_branches(&a.s, &r, &error));
  ck_assert_uint_eq(a.s.n_notes, n + 17);
  ck_assert_str_eq(a.s.notes[n + 16], "so it did at so many other lines: 1");
  close_case(&a);
}
END_TEST

/* An answer before anything was asked: nothing is in it, and it goes as it came. */
START_TEST(an_answer_without_content)
{
  for (int network = 0; network < 2; network++) {
    clarke_answer *a = clarke_answer_new(network);

    ck_assert_int_eq(a->of_network, network);
    ck_assert_int_eq(clarke_answer_verdict(a), CLARKE_UNDECIDED);
    ck_assert_str_eq(clarke_answer_reason(a), "");
    ck_assert(a->audit.x == NULL && !a->audit.replayed && a->derive.at == NULL);
    clarke_answer_free(a);
  }
}
END_TEST

MODULE(audits)
{
  TCase *tests = tests_of("audits");

  tcase_add_loop_test(tests, of_papers, 0, 4);
  tcase_add_loop_test(tests, touches_in_words, 0, 4);
  tcase_add_loop_test(tests, gradients_of_papers, 0, 4);
  tcase_add_test(tests, zeros_of_papers);
  tcase_add_test(tests, a_direction_off_zero);
  tcase_add_test(tests, directions_of_whole_parameters);
  tcase_add_test(tests, causes_in_words);
  tcase_add_test(tests, without_a_proof);
  tcase_add_test(tests, what_cannot_be_asked);
  tcase_add_test(tests, a_later_checkpoint);
  tcase_add_test(tests, tensors_of_a_checkpoint);
  tcase_add_test(tests, checkpoints_that_do_not_fit);
  tcase_add_test(tests, names_of_checkpoints);
  tcase_add_test(tests, notes);
  tcase_add_test(tests, notes_of_branches);
  tcase_add_test(tests, an_answer_without_content);
  return all_tests;
}
