/* The safetensors reader on headers written by hand, and the writer by reading back its files. */
#include "nonnumbers.h"
#include "bytes.h"
#include "describe.h"
#include "format/file.h"
#include "format/safetensors.h"
#include "format/safetensors_write.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file with this header, as long as `length` says (or as it is: -1), and `size` bytes of data. */
static bytes
file_of(const char *header, int64_t length, size_t size)
{
  bytes b = { 0 };

  put_word(&b, length < 0 ? strlen(header) : (uint64_t)length, 8);
  put_text(&b, header);
  for (size_t i = 0; i < size; i++)
    put_word(&b, i % 2, 1);
  return b;
}

static clarke_status
parse(clarke_tensors *ts, const bytes *b, clarke_error *err)
{
  bytes copy = tight(b);
  clarke_status status = clarke_safetensors_parse(ts, copy.data, copy.size, "a.safetensors", err);

  bytes_clear(&copy);
  return status;
}

#define ONE(dtype, shape, offsets) \
  "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(a, b) \
  "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" a "}," \
  "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" b "}}"

static const struct {
  const char *header;
  int64_t length; /* -1: the header's */
  size_t size;
  const char *says;
} refused[] = {
  { "", 0, 0, "does not begin with '{'" },
  { " {}", -1, 0, "does not begin with '{'" },
  { "{}", 100000001, 0, "not a safetensors file|100000001 bytes; at most 100000000" },
  { "{}", INT64_MAX, 0, "not a safetensors file" },
  { "{}", 3, 0, "a header of 3 bytes in a file of 10" },
  { "{}", -1, 1, "1 bytes of data; the tensors hold 0" },
  { "{", -1, 0, "the header is no JSON" },
  { "{}x", -1, 0, "the header is no JSON" },
  { "{\"a\":\"\xff\"}", -1, 0, "the header is no JSON" },
  { "{\"a\\u0000b\":1}", -1, 0, "the header is no JSON" },
  { "{\"a\":1,\"\\u0061\":1}", -1, 0, "the header is no JSON|duplicate" },
  { "{\"a\":\x1b}", -1, 0, "the header is no JSON" },
  { "{\"\\u001b[2J\":{}}", -1, 0, "control characters" },
  { "{\"w\":1}", -1, 0, "tensor \"w\": is no object" },
  { "{\"w\":{}}", -1, 0, "tensor \"w\": has no dtype" },
  { "{\"__metadata__\":1}", -1, 0, "__metadata__ is no object" },
  { "{\"__metadata__\":{\"a\":1}}", -1, 0, "__metadata__ holds what is no string" },
  { ONE("1", "[]", "[0,1]"), -1, 1, "tensor \"w\": has no dtype; expected a string" },
  { ONE("\"F8_E4M3\"", "[]", "[0,1]"), -1, 1, "tensor \"w\": dtype \"F8_E4M3\" is not supported" },
  { ONE("\"f32\"", "[]", "[0,4]"), -1, 4, "dtype \"f32\" is not supported" },
  { ONE("\"U8\"", "1", "[0,1]"), -1, 1, "tensor \"w\": has no shape" },
  { ONE("\"U8\"", "[1.0]", "[0,1]"), -1, 1, "tensor \"w\": shape holds" },
  { ONE("\"U8\"", "[-1]", "[0,1]"), -1, 1, "tensor \"w\": shape holds" },
  { ONE("\"U8\"", "[18446744073709551616]", "[0,1]"), -1, 1, "no JSON" },
  { ONE("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), -1, 1, "tensor \"w\": has 9 dimensions" },
  { ONE("\"F64\"", "[2147483648,2147483648,4]", "[0,0]"), -1, 0, "tensor \"w\"|more than" },
  { ONE("\"U8\"", "[4294967296,4294967296]", "[0,0]"), -1, 0, "tensor \"w\"|more than" },
  { ONE("\"U8\"", "[1]", "[0]"), -1, 1, "tensor \"w\": has no data_offsets" },
  { ONE("\"U8\"", "[1]", "[0,-1]"), -1, 1, "tensor \"w\": data_offsets holds" },
  { ONE("\"U8\"", "[1]", "[1,0]"), -1, 1, "data_offsets [1, 0] lie outside the 1 bytes" },
  { ONE("\"U8\"", "[1]", "[0,2]"), -1, 1, "data_offsets [0, 2] lie outside the 1 bytes" },
  { ONE("\"F32\"", "[2]", "[0,4]"), -1, 4, "hold 4 bytes; expected 8 for float32 [2]" },
  { ONE("\"F32\"", "[2147483648]", "[0,4]"), -1, 4, "hold 4 bytes; expected 8589934592" },
  { ONE("\"U8\"", "[1]", "[1,2]"), -1, 2, "tensor \"w\": its data begins at 1, past a hole" },
  { ONE("\"U8\"", "[1]", "[0,1],\"more\":0"), -1, 1, "tensor \"w\": has a key other than" },
  { TWO("[0,2]", "[1,3]"), -1, 3, "tensor \"b\": its data begins at 1, inside|ends at 2" },
  { TWO("[3,5]", "[0,2]"), -1, 5, "tensor \"a\": its data begins at 3, past a hole" },
  { TWO("[0,2]", "[0,2]"), -1, 2, "tensor \"b\": its data begins at 0, inside" },
  { TWO("[0,2]", "[2,4]"), -1, 6, "6 bytes of data; the tensors hold 4" },
  { TWO("[0,2]", "[2,4]"), -1, 3, "outside the 3 bytes" },
};

START_TEST(refusals)
{
  bytes b = file_of(refused[_i].header, refused[_i].length, refused[_i].size);
  clarke_tensors ts;
  clarke_error err;

  clarke_tensors_init(&ts);
  strcpy(err.text, "(none)");
  ck_assert_msg(parse(&ts, &b, &err) != CLARKE_OK, "accepted; expected: %s", refused[_i].says);
  ck_assert_int_eq(strncmp(err.text, "a.safetensors: ", 15), 0);
  assert_says(err.text, refused[_i].says);
  ck_assert(ts.n == 0 && ts.tensor == NULL);
  ck_assert_int_eq(parse(&ts, &b, NULL), err.code);
  bytes_clear(&b);
}
END_TEST

/* Header keys in any order, escapes in names, spaces, metadata, empty tensors between others. */
START_TEST(no_numbers)
{
  for (int k = 0; k < 4; k++) {
    char header[96];
    bytes b = { 0 };
    clarke_tensors ts;
    clarke_error err;

    snprintf(header, sizeof header, ONE("\"%s\"", "[]", "[0,%u]"), nonnumbers[_i].safetensors,
             nonnumbers[_i].width);
    put_word(&b, strlen(header), 8);
    put_text(&b, header);
    put_word(&b, nonnumbers[_i].bits[k], nonnumbers[_i].width);
    clarke_tensors_init(&ts);
    ck_assert_int_eq(parse(&ts, &b, &err), CLARKE_EINPUT);
    assert_says(err.text, k < 2 ? "is infinite" : "is NaN");
    bytes_clear(&b);
  }
}
END_TEST

START_TEST(accepted)
{
  const char *header =
      "{ \"b\" : {\"shape\":[0,7],\"data_offsets\":[1,1],\"dtype\":\"F64\"},"
      "\"\\u0061\":{\"dtype\":\"BOOL\",\"shape\":[1,1],\"data_offsets\":[1,2]},"
      "\"__metadata__\":{\"format\":\"pt\",\"x\":\"\\u001b\"},"
      "\"c\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
      "\"d\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[2,2]}}   \n ";
  bytes b = file_of(header, -1, 2);
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "" };
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);

  clarke_tensors_init(&ts);
  ck_assert_msg(parse(&ts, &b, &err) == CLARKE_OK, "%s", err.text);
  describe_tensors(out, &ts);
  fclose(out);
  ck_assert_str_eq(text, "tensor a bool [1, 1] 1\ntensor b float64 [0, 7]\ntensor c uint8 [] 0\n"
                         "tensor d int8 [0]\n");
  ck_assert(clarke_tensors_find(&ts, "c") == &ts.tensor[2]);
  ck_assert_ptr_null(clarke_tensors_find(&ts, "e"));
  clarke_tensors_clear(&ts);
  free(text);
  bytes_clear(&b);
}
END_TEST

START_TEST(truncations)
{
  bytes b = file_of(TWO("[0,2]", "[2,4]"), -1, 4);

  for (size_t size = 0; size < b.size; size++) {
    const bytes cut = { b.data, size };
    clarke_tensors ts;

    clarke_tensors_init(&ts);
    ck_assert_int_ne(parse(&ts, &cut, NULL), CLARKE_OK);
  }
  bytes_clear(&b);
}
END_TEST

/* JSON nested deeper than the parser goes is an error, not a crash. */
START_TEST(deep_nesting)
{
  static char brackets[200000];
  bytes b = { 0 };
  clarke_tensors ts;

  memset(brackets, '[', sizeof brackets);
  put_word(&b, sizeof brackets + 5, 8);
  put_text(&b, "{\"a\":");
  put(&b, brackets, sizeof brackets);
  clarke_tensors_init(&ts);
  ck_assert_int_eq(parse(&ts, &b, NULL), CLARKE_EINPUT);
  bytes_clear(&b);
}
END_TEST

/* --- the writer --- */

static uint64_t
next_random(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 11;
}

/* Tensors of random shapes and finite bit patterns. */
static void
random_tensors(clarke_tensors *ts, uint64_t *state)
{
  ts->n = next_random(state) % 6;
  ts->tensor = calloc(ts->n + 1, sizeof *ts->tensor);
  for (size_t i = 0; i < ts->n; i++) {
    const char name[] = { (char)('z' - (int)i), '"', '\\', '\0' };
    size_t dims[CLARKE_MAX_RANK];
    const size_t rank = next_random(state) % 4;

    for (size_t k = 0; k < rank; k++)
      dims[k] = next_random(state) % 5;
    clarke_tensor_init(&ts->tensor[i]);
    ck_assert_int_eq(clarke_tensor_shape(&ts->tensor[i], name, CLARKE_F64, rank, dims, NULL), 0);
    for (size_t k = 0; k < ts->tensor[i].count; k++) {
      const uint64_t word = next_random(state) << 11 ^ next_random(state);

      memcpy(&ts->tensor[i].real[k], &word, sizeof word);
      if (!isfinite(ts->tensor[i].real[k]))
        ts->tensor[i].real[k] = -0.0;
    }
  }
}

static void
assert_same(const clarke_tensors *ts, const clarke_tensors *back)
{
  ck_assert_int_eq(ts->n, back->n);
  for (size_t i = 0; i < ts->n; i++) {
    const clarke_tensor *t = &ts->tensor[i], *u = clarke_tensors_find(back, t->name);

    ck_assert_ptr_nonnull(u);
    ck_assert(u->dtype == CLARKE_F64 && u->rank == t->rank && u->count == t->count);
    ck_assert_int_eq(memcmp(u->dims, t->dims, t->rank * sizeof *t->dims), 0);
    ck_assert_int_eq(memcmp(u->real, t->real, t->count * sizeof *t->real), 0);
  }
}

START_TEST(round_trips)
{
  char path[] = "/tmp/clarke-write-XXXXXX";
  uint64_t state = 1;

  close(mkstemp(path));
  for (int trial = 0; trial < 50; trial++) {
    clarke_tensors ts, back;
    clarke_file f;
    clarke_error err = { CLARKE_OK, "" };

    random_tensors(&ts, &state);
    clarke_tensors_init(&back);
    ck_assert_msg(clarke_safetensors_write(path, &ts, NULL, &err) == CLARKE_OK, "%s", err.text);
    ck_assert_int_eq(clarke_file_read(&f, path, NULL), CLARKE_OK);
    ck_assert_int_eq(f.data[0] % 8, 0);
    ck_assert_msg(clarke_safetensors_parse(&back, f.data, f.size, path, &err) == CLARKE_OK, "%s",
                  err.text);
    assert_same(&ts, &back);
    clarke_file_clear(&f);
    clarke_tensors_clear(&ts);
    clarke_tensors_clear(&back);
  }
  unlink(path);
}
END_TEST

static size_t
entries_in(const char *path)
{
  DIR *dir = opendir(path);
  size_t n = 0;

  for (const struct dirent *e; (e = readdir(dir)) != NULL;)
    n += e->d_name[0] != '.';
  closedir(dir);
  return n;
}

/* A failure leaves nothing behind, neither a part of the file nor the temporary one. */
START_TEST(failed_writes)
{
  char directory[] = "/tmp/clarke-write-XXXXXX", path[64];
  clarke_tensors ts;
  clarke_error err;
  const size_t one = 1;

  ck_assert_ptr_nonnull(mkdtemp(directory));
  clarke_tensors_init(&ts);
  ck_assert_int_eq(clarke_safetensors_write("/no such/dir/x", &ts, NULL, &err), CLARKE_EINPUT);
  assert_says(err.text, "/no such/dir/x: cannot be created: No such file");
  snprintf(path, sizeof path, "%s/sub", directory);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, &err), CLARKE_EINPUT);
  assert_says(err.text, "/sub: cannot be created: Is a directory");
  ck_assert_int_eq(entries_in(directory), 1);
  ck_assert_int_eq(rmdir(path), 0);
  ts.n = 2;
  ts.tensor = calloc(2, sizeof *ts.tensor);
  ck_assert_int_eq(clarke_tensor_shape(&ts.tensor[0], "w", CLARKE_F64, 1, &one, NULL), 0);
  ck_assert_int_eq(clarke_tensor_shape(&ts.tensor[1], "w", CLARKE_F64, 1, &one, NULL), 0);
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, &err), CLARKE_EINPUT);
  assert_says(err.text, "two tensors are named \"w\"");
  ts.tensor[0].real[0] = NAN;
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, &err), CLARKE_EINPUT);
  assert_says(err.text, "tensor \"w\": entry 0 is not finite");
  ck_assert_int_eq(clarke_tensor_shape(&ts.tensor[0], "v", CLARKE_F32, 1, &one, NULL), 0);
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, &err), CLARKE_EINPUT);
  assert_says(err.text, "tensor \"v\" is float32; expected float64");
  ck_assert_int_eq(entries_in(directory), 0);
  clarke_tensors_clear(&ts);
  rmdir(directory);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("safetensors");

  tcase_add_loop_test(tests, refusals, 0, (int)(sizeof refused / sizeof refused[0]));
  tcase_add_loop_test(tests, no_numbers, 0, N_NONNUMBERS);
  tcase_add_test(tests, accepted);
  tcase_add_test(tests, truncations);
  tcase_add_test(tests, deep_nesting);
  tcase_add_test(tests, round_trips);
  tcase_add_test(tests, failed_writes);
  return run_tests();
}
