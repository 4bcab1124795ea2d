/* Messages of an ONNX file, one at a time, and the files beside one. */
#include "protobuf.h"

#include "format/onnx_inside.h"

#include <sys/stat.h>
#include <unistd.h>

static clarke_error err;

static clarke_wire_span
span_of(const bytes *b)
{
  return (clarke_wire_span){ b->data, b->data, b->size };
}

START_TEST(types_have_names)
{
  clarke_dtype dtype = CLARKE_F64;

  ck_assert_str_eq(clarke_onnx_type_name(1), "FLOAT");
  ck_assert_str_eq(clarke_onnx_type_name(16), "BFLOAT16");
  ck_assert_str_eq(clarke_onnx_type_name(26), "INT2");
  ck_assert_str_eq(clarke_onnx_type_name(27), "unknown");
  ck_assert(clarke_onnx_dtype(&dtype, 7) && dtype == CLARKE_I64);
  ck_assert(!clarke_onnx_dtype(&dtype, 8) && !clarke_onnx_dtype(&dtype, 27) && !clarke_onnx_dtype(&dtype, UINT64_MAX));
}
END_TEST

/* int32 of shape (2, 1), as varints. */
static bytes
small_tensor(const char *name)
{
  bytes b = { 0 };

  put_int(&b, 1, 2);
  put_int(&b, 1, 1);
  put_int(&b, 2, 6);
  put_int(&b, 5, 3);
  put_int(&b, 5, (uint64_t)-4);
  if (name != NULL)
    put_string(&b, 8, name);
  return b;
}

START_TEST(a_tensor_is_read_alone)
{
  bytes b = small_tensor("w"), without = small_tensor(NULL);
  clarke_wire_span name = clarke_onnx_tensor_name(span_of(&b)), bare;
  clarke_tensor t;

  ck_assert(name.size == 1 && *name.data == 'w');
  ck_assert_uint_eq(clarke_onnx_tensor_name(span_of(&without)).size, 0);
  clarke_tensor_init(&t);
  ck_assert_int_eq(clarke_onnx_tensor(&t, span_of(&b), "none", NULL, &err), CLARKE_OK);
  ck_assert_str_eq(t.name, "w");
  ck_assert(t.rank == 2 && t.dims[0] == 2 && t.dims[1] == 1 && t.dtype == CLARKE_I32);
  ck_assert(t.integer[0] == 3 && t.integer[1] == -4);
  clarke_tensor_clear(&t);
  ck_assert_int_eq(clarke_onnx_tensor(&t, span_of(&without), "value of node 3", NULL, &err), CLARKE_OK);
  ck_assert_str_eq(t.name, "value of node 3");
  clarke_tensor_clear(&t);
  bare = span_of(&without);
  bare.size -= 11; /* the -4: a tag and ten bytes */
  ck_assert_int_eq(clarke_onnx_tensor(&t, bare, "t", NULL, &err), CLARKE_EINPUT);
  clarke_tensor_clear(&t);
  bytes_clear(&b);
  bytes_clear(&without);
}
END_TEST

START_TEST(a_node_is_read_alone)
{
  bytes b = { 0 }, a = { 0 };
  clarke_model_node node = { 0 };

  put_string(&b, 1, "x");
  put_string(&b, 2, "y");
  put_string(&b, 4, "Relu");
  put_string(&a, 1, "axis");
  put_int(&a, 3, (uint64_t)-1);
  put_int(&a, 20, 2);
  put_message(&b, 5, &a);
  ck_assert_msg(clarke_onnx_node(&node, 4, 0, span_of(&b), &err) == CLARKE_OK, "%s", err.text);
  ck_assert_str_eq(node.op_type, "Relu");
  ck_assert(node.n_in == 1 && node.n_out == 1 && node.n_attr == 1);
  ck_assert_str_eq(node.attr[0].name, "axis");
  ck_assert_int_eq(node.attr[0].i, -1);
  put_string(&a, 1, "alpha");
  put_int(&a, 3, 1);
  put_int(&a, 20, 1); /* FLOAT, but in the field of integers */
  put_message(&b, 5, &a);
  clarke_model m = { .n_nodes = 1, .nodes = malloc(sizeof node) };
  *m.nodes = node;
  clarke_model_clear(&m);
  memset(&node, 0, sizeof node);
  ck_assert_int_eq(clarke_onnx_node(&node, 4, 0, span_of(&b), &err), CLARKE_EINPUT);
  assert_says(err.text, "node 4|Relu|alpha|is of type 1 but holds i");
  m = (clarke_model){ .n_nodes = 1, .nodes = malloc(sizeof node) };
  *m.nodes = node;
  clarke_model_clear(&m);
  bytes_clear(&b);
}
END_TEST

START_TEST(a_port_needs_a_name)
{
  bytes b = { 0 };
  clarke_model_port port = { 0 };

  put_string(&b, 3, "documentation");
  ck_assert_int_eq(clarke_onnx_port(&port, "output", true, span_of(&b), &err), CLARKE_EINPUT);
  assert_says(err.text, "graph output: has no name");
  bytes_clear(&b);
}
END_TEST

/* --- files beside the model --- */

static char folder[32];

static void
begin(void)
{
  char path[64];
  FILE *f;

  strcpy(folder, "/tmp/clarke-external-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/in", folder);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/in/data", folder);
  f = fopen(path, "w");
  ck_assert(f != NULL && fputs("0123456789", f) >= 0 && fclose(f) == 0);
  snprintf(path, sizeof path, "%s/link", folder);
  ck_assert_int_eq(symlink("in", path), 0);
}

static void
end(void)
{
  char command[64];

  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static clarke_status
entry(clarke_external_range *r, bytes *b, const char *key, const char *value)
{
  clarke_status status;
  bytes one = { 0 };

  put_string(&one, 1, key);
  put_string(&one, 2, value);
  put_message(b, 1, &one); /* what r points into */
  one = (bytes){ b->data + b->size - strlen(key) - strlen(value) - 4, strlen(key) + strlen(value) + 4 };
  status = clarke_external_entry(r, span_of(&one), &err);
  return status;
}

START_TEST(a_range_is_stated_by_its_keys)
{
  clarke_external_range r = { 0 };
  bytes b[5] = { 0 };

  ck_assert_int_eq(clarke_external_check(&r, 4, &err), CLARKE_EINPUT);
  assert_says(err.text, "names no location");
  ck_assert_int_eq(entry(&r, &b[0], "location", "in/data"), CLARKE_OK);
  ck_assert_int_eq(entry(&r, &b[1], "offset", "12"), CLARKE_OK);
  ck_assert(r.placed && r.offset == 12 && !r.sized && r.location.size == 7);
  ck_assert_int_eq(clarke_external_check(&r, 4, &err), CLARKE_OK);
  ck_assert_int_eq(entry(&r, &b[2], "length", "5"), CLARKE_OK);
  ck_assert_int_eq(clarke_external_check(&r, 5, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_external_check(&r, 4, &err), CLARKE_EINPUT);
  assert_says(err.text, "holds 5 bytes; expected 4");
  ck_assert_int_eq(entry(&r, &b[3], "offset", "0"), CLARKE_EINPUT);
  assert_says(err.text, "a key given twice, or other than");
  r.sized = false;
  ck_assert_int_eq(entry(&r, &b[4], "length", "-5"), CLARKE_EINPUT);
  assert_says(err.text, "the length is no number");
  for (size_t i = 0; i < 5; i++)
    bytes_clear(&b[i]);
}
END_TEST

/* Reads from the folder; what is read must be `expected`, or NULL: refused so that the message says `says`. */
static void
reads(const char *location, size_t offset, bool sized, size_t n, const char *expected, const char *says)
{
  clarke_external x;
  clarke_external_range r = { .offset = offset, .sized = sized, .length = n };
  unsigned char *data;
  char path[64];
  clarke_status status;

  r.location = (clarke_wire_span){ (const unsigned char *)location, (const unsigned char *)location, strlen(location) };
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  clarke_external_init(&x, path);
  status = clarke_external_read(&data, &x, &r, n, &err);
  ck_assert_msg((status == CLARKE_OK) == (expected != NULL), "%s: %s", location, err.text);
  if (expected != NULL)
    ck_assert_mem_eq(data, expected, n);
  else {
    ck_assert_ptr_null(data);
    assert_says(err.text, location);
    assert_says(err.text, says);
  }
  free(data);
  clarke_external_clear(&x);
  ck_assert(x.folder == -1 && x.n == 0);
}

START_TEST(bytes_are_read_from_the_folder_alone)
{
  reads("in/data", 2, true, 3, "234", NULL);
  reads("in/data", 7, false, 3, "789", NULL);
  reads("in/data", 6, false, 3, NULL, "has 4 bytes from byte 6 to its end, and no length is stated; expected 3");
  reads("in/data", 8, true, 3, NULL, "has 10 bytes; expected 3 from byte 8");
  reads("in/data", SIZE_MAX - 1, true, 3, NULL, "has 10 bytes");
  reads("in/none", 0, true, 3, NULL, "cannot be opened: No such file");
  reads("in/../in/data", 0, true, 3, NULL, "is no plain path inside the model's folder");
  reads("/etc/passwd", 0, true, 3, NULL, "is no plain path");
  reads("in//data", 0, true, 3, NULL, "is no plain path");
  reads("./in/data", 0, true, 3, NULL, "is no plain path");
  reads("link/data", 0, true, 3, NULL, "symbolic links are not followed");
  reads("in", 0, true, 3, NULL, "is no regular file");
}
END_TEST

START_TEST(bytes_may_not_be_asked_for_over_and_over)
{
  static const char location[] = "in/data";
  clarke_external x;
  clarke_external_range r = { .location = { (const unsigned char *)location, (const unsigned char *)location, 7 } };
  unsigned char *data;
  char path[64];
  size_t n = 0;

  snprintf(path, sizeof path, "%s/model.onnx", folder);
  clarke_external_init(&x, path);
  while (n < 10000 && clarke_external_read(&data, &x, &r, 10, &err) == CLARKE_OK) {
    free(data);
    n++;
  }
  ck_assert_ptr_null(data);
  ck_assert_int_eq(err.code, CLARKE_ENOMEM);
  assert_says(err.text, "the tensors share data");
  ck_assert(x.n == 1 && x.held == 10);
  ck_assert_uint_eq(x.claimed, 10 * (n + 1));
  ck_assert_int_eq(clarke_external_read(&data, NULL, &r, 10, &err), CLARKE_EINPUT);
  assert_says(err.text, "and not here");
  clarke_external_clear(&x);
}
END_TEST

int
main(void)
{
  TCase *messages = tests_of("messages"), *files = tests_of("files beside the model");

  tcase_add_test(messages, types_have_names);
  tcase_add_test(messages, a_tensor_is_read_alone);
  tcase_add_test(messages, a_node_is_read_alone);
  tcase_add_test(messages, a_port_needs_a_name);
  tcase_add_test(messages, a_range_is_stated_by_its_keys);
  tcase_add_checked_fixture(files, begin, end);
  tcase_add_test(files, bytes_are_read_from_the_folder_alone);
  tcase_add_test(files, bytes_may_not_be_asked_for_over_and_over);
  return run_tests();
}
