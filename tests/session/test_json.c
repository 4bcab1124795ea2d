/* Answers as JSON when memory fails: each of jansson's allocations in turn. What comes is the whole text or an error, never a
 * text with a key left out. */
#include "../ok.h"

#include "session/handles.h"
#include "session/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static size_t left; /* allocations until one fails */
static bool failed; /* one has */

static void *
fail_once(size_t n)
{
  if (left-- > 0)
    return malloc(n);
  failed = true;
  return NULL;
}

static void
compare(const clarke_answer *a)
{
  char *whole, *text;
  clarke_error err;
  size_t n = 0, errors = 0;

  left = SIZE_MAX;
  OK(clarke_answer_json(&whole, a, &error));
  do {
    left = n++;
    failed = false;
    if (clarke_answer_json(&text, a, &err) == CLARKE_OK) /* a string is tried twice */
      ck_assert_str_eq(text, whole);
    else {
      errors++;
      ck_assert(failed);
      ck_assert_int_eq(err.code, CLARKE_ENOMEM);
      ck_assert_ptr_null(text);
    }
    free(text);
  } while (failed);
  ck_assert_uint_gt(errors, 50);
  free(whole);
}

START_TEST(of_a_network)
{
  clarke_network *network;
  clarke_batch *batch;
  clarke_answer *answer;
  double *gradient;
  size_t n;

  OK(clarke_network_open(&network, CASES "/audit/lemma2.onnx", &error));
  OK(clarke_batch_open(&batch, CASES "/audit/lemma2.npz", &error));
  OK(clarke_network_ask(&answer, network, batch, &error));
  compare(answer);
  OK(clarke_answer_gradient(&gradient, &n, answer, "w", &error));
  compare(answer);
  free(gradient);
  clarke_answer_free(answer);
  clarke_network_free(network);
  clarke_batch_free(batch);
}
END_TEST

START_TEST(of_a_program)
{
  const char *at[] = {"t=0"};
  clarke_program *program;
  clarke_answer *answer;

  OK(clarke_program_open(&program, CASES "/papers/bolte-relu2.prog", &error));
  OK(clarke_program_ask(&answer, program, at, 1, &error));
  compare(answer);
  clarke_answer_free(answer);
  clarke_program_free(program);
}
END_TEST

/* What fails changes nothing: the weights are the ones there were. */
START_TEST(a_checkpoint_that_cannot_be_read)
{
  clarke_network *network;

  OK(clarke_network_open(&network, CASES "/audit/lemma2.onnx", &error));
  OK(clarke_network_load(network, CASES "/audit/lemma2.npz", &error)); /* any file: it is understood later */
  ck_assert_int_eq(clarke_network_load(network, CASES "/audit/nowhere.npz", &error), CLARKE_EINPUT);
  ck_assert_str_eq(network->params_path, CASES "/audit/lemma2.npz");
  ck_assert_uint_gt(network->params.size, 0);
  OK(clarke_network_load(network, NULL, &error));
  ck_assert_ptr_null(network->params_path);
  clarke_network_free(network);
}
END_TEST

/* What is put where there is nothing stays out, and is dropped; what is nothing leaves nothing. */
START_TEST(nothing_stays_nothing)
{
  json_t *none = NULL, *object = json_object(), *list = json_array();

  left = SIZE_MAX;
  clarke_json_set(&none, "key", json_integer(1));
  clarke_json_append(&none, json_integer(1));
  ck_assert_ptr_null(none);
  clarke_json_set(&object, "key", NULL);
  clarke_json_append(&list, NULL);
  ck_assert(object == NULL && list == NULL);
  ck_assert_int_eq(clarke_json_print(stdout, NULL, 0, "", &error), CLARKE_ENOMEM);
}
END_TEST

/* Every byte in a name is printed as ASCII without control characters, and what is UTF-8 is read back. */
START_TEST(names_of_any_bytes)
{
  for (int byte = 1; byte < 256; byte++) {
    const char name[] = {'a', (char)byte, 'b', '\0'};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *list = json_array(), *again;

    clarke_json_append(&list, clarke_json_text(name));
    clarke_json_append(&list, clarke_json_text(NULL));
    OK(clarke_json_print(out, list, JSON_COMPACT, "END", &error));
    fclose(out);
    ck_assert_uint_gt(size, 3);
    for (size_t i = 0; i < size; i++)
      ck_assert(text[i] >= ' ' && text[i] < '\x7f');
    ck_assert_str_eq(text + size - 3, "END");
    text[size - 3] = '\0';
    again = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(again);
    ck_assert(json_is_null(json_array_get(again, 1)));
    if (byte < 128)
      ck_assert_str_eq(json_string_value(json_array_get(again, 0)), name);
    else
      ck_assert(json_string_value(json_array_get(again, 0))[0] == 'a');
    json_decref(again);
    free(text);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("session");

  json_set_alloc_funcs(fail_once, free);
  left = SIZE_MAX;
  tcase_add_test(tests, nothing_stays_nothing);
  tcase_add_test(tests, names_of_any_bytes);
  tcase_add_test(tests, of_a_network);
  tcase_add_test(tests, of_a_program);
  tcase_add_test(tests, a_checkpoint_that_cannot_be_read);
  return run_tests();
}
