/* The pickle machine alone: what it makes of the bytes, which test_pt.c sees only as tensors. */
#include "bytes.h"
#include "pickles.h"

#include "format/pickle_value.h"

static clarke_pickle p;
static clarke_error err;

static void
begin(void)
{
  memset(&p, 0, sizeof p);
}

static void
end(void)
{
  clarke_pickle_clear(&p);
  ck_assert(p.value == NULL && p.n_values == 0);
}

#define READ(pickle) clarke_pickle_read(&p, pickle, sizeof(pickle) - 1, &err)
#define READS(pickle) ck_assert_msg(READ(pickle) == CLARKE_OK, "%s", err.text)

/* The k-th item of a container. */
static uint32_t
item(uint32_t container, size_t k)
{
  uint32_t at = p.value[container].first;

  for (; k > 0; k--)
    at = p.item[at].next;
  ck_assert_uint_ne(at, 0);
  return p.item[at].value;
}

START_TEST(a_pickle_may_be_followed)
{
  static const char two[] = "\x80\2K\7.\x80\2K\10.";
  size_t used = 0;

  ck_assert_int_eq(clarke_pickle_read_first(&p, &used, two, sizeof two - 1, &err), CLARKE_OK);
  ck_assert(used == 5 && p.value[p.root].integer == 7);
  ck_assert_int_eq(clarke_pickle_read_first(&p, &used, two + 5, 5, &err), CLARKE_OK);
  ck_assert(used == 5 && p.value[p.root].integer == 8);
  ck_assert_int_eq(clarke_pickle_read_first(&p, &used, two, 4, &err), CLARKE_EINPUT);
  ck_assert(READ("\x80\2K\7.\x80\2K\10.") == CLARKE_EINPUT && strstr(err.text, "byte 4: 5 bytes follow the end") != NULL);
}
END_TEST

START_TEST(containers_hold_their_items_in_order)
{
  READS("\x80\2](K\3\x88X\2\0\0\0hiNe.");
  ck_assert_int_eq(p.value[p.root].kind, CLARKE_PICKLE_LIST);
  ck_assert_uint_eq(p.value[p.root].count, 4);
  ck_assert(p.value[item(p.root, 0)].kind == CLARKE_PICKLE_INTEGER && p.value[item(p.root, 0)].integer == 3);
  ck_assert(p.value[item(p.root, 1)].kind == CLARKE_PICKLE_BOOL && p.value[item(p.root, 1)].integer == 1);
  ck_assert(p.value[item(p.root, 2)].kind == CLARKE_PICKLE_TEXT && p.value[item(p.root, 2)].count == 2);
  ck_assert_mem_eq(p.data + p.value[item(p.root, 2)].first, "hi", 2);
  ck_assert_int_eq(p.value[item(p.root, 3)].kind, CLARKE_PICKLE_NONE);
}
END_TEST

START_TEST(a_dictionary_keeps_all_that_was_set)
{
  READS("\x80\2}(K\1K\2K\1K\3u.");
  ck_assert_int_eq(p.value[p.root].kind, CLARKE_PICKLE_DICT);
  ck_assert_uint_eq(p.value[p.root].count, 4);
  ck_assert_int_eq(p.value[item(p.root, 1)].integer, 2);
  ck_assert_int_eq(p.value[item(p.root, 3)].integer, 3);
}
END_TEST

START_TEST(a_tensor_is_described)
{
  clarke_pickle_view view;
  const clarke_pickle_value *key;
  uint32_t tensor;

  READS(ENTRY(VIEW(FLOATS, "K\1", PAIR("\2", "\2"), PAIR("\3", "\1"))));
  tensor = item(p.root, 1);
  ck_assert_int_eq(p.value[tensor].kind, CLARKE_PICKLE_TENSOR);
  clarke_pickle_view_of(&view, &p, tensor);
  ck_assert(view.offset == 1 && view.rank == 2 && view.dims[0] == 2 && view.dims[1] == 2);
  ck_assert(view.strides[0] == 3 && view.strides[1] == 1);
  ck_assert_int_eq(p.value[view.storage].kind, CLARKE_PICKLE_STORAGE);
  ck_assert_int_eq(p.value[view.storage].what, CLARKE_F32);
  ck_assert_int_eq(p.value[view.storage].integer, 6);
  key = clarke_pickle_key(&p, view.storage);
  ck_assert(key->kind == CLARKE_PICKLE_TEXT && key->count == 1 && p.data[key->first] == '0');
}
END_TEST

START_TEST(names_are_known_or_refused)
{
  uint32_t a, b;

  READS("\x80\2}.");
  ck_assert_int_eq(clarke_pickle_global(&a, &p, "torch", 5, "FloatStorage", 12, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_global(&b, &p, "collections", 11, "OrderedDict", 11, &err), CLARKE_OK);
  ck_assert(p.value[a].kind == CLARKE_PICKLE_GLOBAL && p.value[a].what != p.value[b].what);
  ck_assert_int_eq(clarke_pickle_global(&a, &p, "os", 2, "system", 6, &err), CLARKE_EINPUT);
  assert_says(err.text, "refers to os.system|no code is run");
  ck_assert_int_eq(clarke_pickle_global(&a, &p, "torch", 5, "FloatStorage ", 13, &err), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_pickle_global(&a, &p, "o\0s", 3, "system", 6, &err), CLARKE_EINPUT);
}
END_TEST

START_TEST(only_names_are_called_with_tuples)
{
  uint32_t dict, list, tuple, made;

  READS("\x80\2}.");
  ck_assert_int_eq(clarke_pickle_global(&dict, &p, "collections", 11, "OrderedDict", 11, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_add(&tuple, &p, CLARKE_PICKLE_TUPLE, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_add(&list, &p, CLARKE_PICKLE_LIST, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_call(&made, &p, dict, tuple, &err), CLARKE_OK);
  ck_assert(p.value[made].kind == CLARKE_PICKLE_DICT && p.value[made].what == 1 && p.value[made].count == 0);
  ck_assert_int_eq(clarke_pickle_call(&made, &p, dict, list, &err), CLARKE_EINPUT);
  assert_says(err.text, "calls what is no name, or with no tuple");
  ck_assert_int_eq(clarke_pickle_call(&made, &p, tuple, tuple, &err), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_pickle_persistent(&made, &p, tuple, &err), CLARKE_EINPUT);
  assert_says(err.text, "a persistent id is no ('storage', class, key, location, entries)");
}
END_TEST

/* A module of torch.jit.save takes its attributes once, and from a dictionary that nobody else has then. */
START_TEST(modules_take_their_attributes)
{
  uint32_t class, dict, other, module, tuple, text, ordered;

  READS("\x80\2}(X\1\0\0\0aK\7u.");
  dict = p.root;
  text = item(dict, 0);
  ck_assert_int_eq(clarke_pickle_global(&class, &p, "__torch__.net", 13, "Net", 3, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_global(&ordered, &p, "collections", 11, "OrderedDict", 11, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_add(&tuple, &p, CLARKE_PICKLE_TUPLE, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_object(&module, &p, ordered, tuple, &err), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_pickle_object(&module, &p, class, text, &err), CLARKE_EINPUT);
  assert_says(err.text, "makes an object that is no module of torch.jit.save");
  ck_assert_int_eq(clarke_pickle_object(&module, &p, class, tuple, &err), CLARKE_OK);
  ck_assert(p.value[module].kind == CLARKE_PICKLE_MODULE && p.value[module].count == 0);
  ck_assert_int_eq(clarke_pickle_give(&p, module, text, &err), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_pickle_give(&p, module, dict, &err), CLARKE_OK);
  ck_assert(p.value[module].count == 2 && item(module, 0) == text && p.value[item(module, 1)].integer == 7);
  ck_assert(p.value[dict].kind != CLARKE_PICKLE_DICT && p.value[dict].count == 0);
  ck_assert_int_eq(clarke_pickle_add(&other, &p, CLARKE_PICKLE_DICT, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_pickle_give(&p, module, other, &err), CLARKE_EINPUT);
  assert_says(err.text, "or given twice");
}
END_TEST

START_TEST(refusals_say_where)
{
  ck_assert_int_eq(READ("\x80\3}."), CLARKE_EINPUT);
  assert_says(err.text, "pickle protocol 3; protocol 2");
  clarke_pickle_clear(&p);
  ck_assert_int_eq(READ("\x80\2}}."), CLARKE_EINPUT);
  assert_says(err.text, "byte 4|on the stack");
  clarke_pickle_clear(&p);
  ck_assert_int_eq(READ("\x80\2}K"), CLARKE_EINPUT);
  assert_says(err.text, "byte 3|the pickle ends inside it");
  clarke_pickle_clear(&p);
  ck_assert_int_eq(READ("\x80\2}cos\nsystem\n."), CLARKE_EINPUT);
  assert_says(err.text, "byte 3|os.system");
}
END_TEST

START_TEST(values_that_every_pickle_has)
{
  ck_assert_int_eq(clarke_pickle_constants(&p, &err), CLARKE_OK);
  ck_assert_uint_eq(p.n_values, PICKLED_N_CONSTANTS);
  ck_assert_int_eq(p.value[PICKLED_NONE].kind, CLARKE_PICKLE_NONE);
  ck_assert(p.value[PICKLED_FALSE].kind == CLARKE_PICKLE_BOOL && p.value[PICKLED_FALSE].integer == 0);
  ck_assert(p.value[PICKLED_TRUE].kind == CLARKE_PICKLE_BOOL && p.value[PICKLED_TRUE].integer == 1);
  ck_assert(p.value[PICKLED_EMPTY_TUPLE].kind == CLARKE_PICKLE_TUPLE && p.value[PICKLED_EMPTY_TUPLE].count == 0);
  ck_assert_uint_eq(p.n_items, 1); /* number 0 is no item */
}
END_TEST

/* Items of two containers, in turn: each keeps its own, in order. */
START_TEST(items_are_appended)
{
  uint32_t container[2], value;

  ck_assert_int_eq(clarke_pickle_constants(&p, &err), CLARKE_OK);
  for (size_t c = 0; c < 2; c++)
    ck_assert_int_eq(clarke_pickle_add(&container[c], &p, CLARKE_PICKLE_LIST, &err), CLARKE_OK);
  for (uint32_t k = 0; k < 400; k++) {
    ck_assert_int_eq(clarke_pickle_add(&value, &p, CLARKE_PICKLE_INTEGER, &err), CLARKE_OK);
    p.value[value].integer = k;
    ck_assert_int_eq(clarke_pickle_append(&p, container[k % 2], value, &err), CLARKE_OK);
  }
  for (size_t c = 0; c < 2; c++) {
    uint32_t at = p.value[container[c]].first;

    ck_assert_uint_eq(p.value[container[c]].count, 200);
    for (size_t k = 0; k < 200; k++, at = p.item[at].next)
      ck_assert(p.value[p.item[at].value].integer == (int64_t)(2 * k + c) && (k < 199) == (p.item[at].next != 0));
  }
}
END_TEST

START_TEST(room_for_one_more)
{
  size_t capacity = 0;
  int *array = NULL;

  for (size_t n = 0; n < 1000; n++) {
    const size_t before = capacity;

    ck_assert_int_eq(clarke_pickle_room(&array, &capacity, n, sizeof *array, &err), CLARKE_OK);
    ck_assert(capacity > n && (n < before ? capacity == before : capacity >= before + before / 2));
    array[n] = (int)n; /* asan looks on */
  }
  for (size_t n = 0; n < 1000; n++)
    ck_assert_int_eq(array[n], (int)n);
  free(array);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("pickle");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, a_pickle_may_be_followed);
  tcase_add_test(tests, containers_hold_their_items_in_order);
  tcase_add_test(tests, a_dictionary_keeps_all_that_was_set);
  tcase_add_test(tests, a_tensor_is_described);
  tcase_add_test(tests, names_are_known_or_refused);
  tcase_add_test(tests, only_names_are_called_with_tuples);
  tcase_add_test(tests, modules_take_their_attributes);
  tcase_add_test(tests, refusals_say_where);
  tcase_add_test(tests, values_that_every_pickle_has);
  tcase_add_test(tests, items_are_appended);
  tcase_add_test(tests, room_for_one_more);
  return run_tests();
}
