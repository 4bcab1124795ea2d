/* The .npy and .npz readers on arrays and archives written by hand. */
#include "nonnumbers.h"
#include "describe.h"
#include "zips.h"

#include "format/npy.h"
#include "format/npz.h"

/* An array of version `version` with this dictionary and `size` bytes 0, 1, 2, ... of data. */
static bytes
array_of(unsigned version, const char *dictionary, size_t size)
{
  bytes b = { 0 };

  put_text(&b, "\x93NUMPY");
  put_word(&b, version, 2);
  put_word(&b, strlen(dictionary), (version & 255) == 1 ? 2 : 4);
  put_text(&b, dictionary);
  for (size_t i = 0; i < size; i++)
    put_word(&b, i, 1);
  return b;
}

static clarke_status
parse(clarke_tensor *t, const bytes *b, clarke_error *err)
{
  bytes copy = tight(b);
  clarke_status status = clarke_npy_parse(t, copy.data, copy.size, "dir/a.npy", err);

  bytes_clear(&copy);
  return status;
}

#define DICT(descr, fortran, shape) \
  "{'descr': " descr ", 'fortran_order': " fortran ", 'shape': " shape ", }\n"
#define DESCR(descr) DICT("'" descr "'", "False", "()")
#define SHAPE(shape) DICT("'|u1'", "False", shape)

static const struct {
  unsigned version;
  const char *dictionary;
  size_t size;
  const char *says;
} refused[] = {
  { 0, SHAPE("()"), 1, ".npy version 0.0" },
  { 4, SHAPE("()"), 1, ".npy version 4.0" },
  { 0x101, SHAPE("()"), 1, ".npy version 1.1" },
  { 1, "", 0, "it is no dictionary" },
  { 1, "{", 0, "expected a key" },
  { 1, "{}\n", 0, "is missing" },
  { 1, "{'descr': '|u1', 'fortran_order': False}\n", 0, "is missing" },
  { 1, "{'descr': '|u1', 'descr': '|u1'}\n", 0, "key 'descr' is given twice" },
  { 1, "{'extra': 1}\n", 0, "key 'extra' is not known" },
  { 1, "{'a\\'b': 1}\n", 0, "expected a key" },
  { 1, "{'\x1b': 1}\n", 0, "expected a key" },
  { 1, "{'descr' '|u1'}\n", 0, "expected a key" },
  { 1, "{'descr': '|u1' 'shape': ()}\n", 0, "expected a key" },
  { 1, "{'descr': '|u1", 0, "'descr' has no string" },
  { 1, "{'descr': |u1}", 0, "'descr' has no string" },
  { 1, SHAPE("()") " ", 1, "expected the line's end" },
  { 1, SHAPE("()") "\n", 1, "expected the line's end" },
  { 1, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 1, "expected the line's end" },
  { 1, DESCR("|O"), 8, "an array of Python objects ('|O')" },
  { 1, DICT("[('x', '<f4')]", "False", "()"), 4, "a structured array" },
  { 1, DESCR("<U3"), 12, "element type '<U3' is not supported" },
  { 1, DESCR("<c8"), 8, "element type '<c8' is not supported" },
  { 1, DESCR("<f16"), 16, "element type '<f16' is not supported" },
  { 1, DESCR("<V2"), 2, "'<V2'|bfloat16|float32" },
  { 1, DESCR("|V2"), 2, "'|V2'|bfloat16|float32" },
  { 1, DESCR("|f4"), 4, "element type '|f4' is not supported" },
  { 1, DESCR("=f4"), 4, "element type '=f4' is not supported" },
  { 1, DESCR("f4"), 4, "element type 'f4' is not supported" },
  { 1, DESCR(""), 4, "element type '' is not supported" },
  { 1, DESCR("<"), 4, "element type '<' is not supported" },
  { 1, DICT("'|u1'", "0", "()"), 1, "'fortran_order' is neither" },
  { 1, DICT("'|u1'", "true", "()"), 1, "'fortran_order' is neither" },
  { 1, SHAPE("3"), 3, "'shape' is no tuple" },
  { 1, SHAPE("(3)"), 3, "'shape' is a number" },
  { 1, SHAPE("(,)"), 1, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(1,,)"), 1, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(1 2)"), 2, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(02,)"), 2, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(-1,)"), 1, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(1.0,)"), 1, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(99999999999999999999,)"), 1, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(18446744073709551616,)"), 0, "'shape' is no tuple of sizes" },
  { 1, SHAPE("(1,1,1,1,1,1,1,1,1)"), 1, "more than 8 dimensions" },
  { 1, SHAPE("(4294967296, 4294967296)"), 0, "uint8 [4294967296, 4294967296] has more than" },
  { 1, SHAPE("(2147483648,)"), 5, "5 bytes of data; expected 2147483648 for uint8" },
  { 1, SHAPE("(2, 3)"), 5, "5 bytes of data; expected 6 for uint8 [2, 3]" },
  { 1, SHAPE("(2, 3)"), 7, "7 bytes of data; expected 6 for uint8 [2, 3]" },
  { 1, SHAPE("(0, 3)"), 1, "1 bytes of data; expected 0 for uint8 [0, 3]" },
  { 1, DESCR("<f8"), 7, "7 bytes of data; expected 8 for float64 []" },
};

START_TEST(refusals)
{
  bytes b = array_of(refused[_i].version, refused[_i].dictionary, refused[_i].size);
  clarke_tensor t;
  clarke_error err;

  clarke_tensor_init(&t);
  strcpy(err.text, "(none)");
  ck_assert_msg(parse(&t, &b, &err) != CLARKE_OK, "accepted; expected: %s", refused[_i].says);
  ck_assert_int_eq(strncmp(err.text, "dir/a.npy: ", 11), 0);
  assert_says(err.text, refused[_i].says);
  ck_assert(t.real == NULL && t.integer == NULL && t.name == NULL);
  ck_assert_int_eq(parse(&t, &b, NULL), err.code);
  bytes_clear(&b);
}
END_TEST

START_TEST(no_numbers)
{
  for (int k = 0; k < 4 && *nonnumbers[_i].npy != '\0'; k++) {
    char header[80];
    bytes b;
    clarke_tensor t;
    clarke_error err;

    snprintf(header, sizeof header, DICT("'%s'", "False", "()"), nonnumbers[_i].npy);
    b = array_of(1, header, 0);
    put_word(&b, nonnumbers[_i].bits[k], nonnumbers[_i].width);
    clarke_tensor_init(&t);
    ck_assert_int_eq(parse(&t, &b, &err), CLARKE_EINPUT);
    assert_says(err.text, k < 2 ? "is infinite" : "is NaN");
    bytes_clear(&b);
  }
}
END_TEST

START_TEST(long_headers)
{
  static const uint64_t lengths[] = { 10001, UINT32_MAX, 100, 10000 };

  for (size_t k = 0; k < 4; k++) {
    bytes b = { 0 };
    clarke_tensor t;
    clarke_error err;

    clarke_tensor_init(&t);
    put_text(&b, "\x93NUMPY");
    put_word(&b, 2, 2);
    put_word(&b, lengths[k], 4);
    put_text(&b, SHAPE("()"));
    ck_assert_int_ne(parse(&t, &b, &err), CLARKE_OK);
    assert_says(err.text, k < 2 ? "at most 10000 are read" : "runs past the end");
    bytes_clear(&b);
  }
}
END_TEST

START_TEST(truncations)
{
  for (unsigned version = 1; version <= 3; version++) {
    bytes b = array_of(version, DICT("'<i2'", "True", "(2, 3)"), 12);
    clarke_tensor t;

    clarke_tensor_init(&t);
    for (size_t size = 0; size < b.size; size++) {
      const bytes cut = { b.data, size };

      ck_assert_int_ne(parse(&t, &cut, NULL), CLARKE_OK);
    }
    ck_assert_int_eq(parse(&t, &b, NULL), CLARKE_OK);
    clarke_tensor_clear(&t);
    bytes_clear(&b);
  }
}
END_TEST

/* Keys in any order, either quote, no spaces or many; the name is the file's. */
START_TEST(accepted)
{
  bytes b = array_of(1, "{ \"shape\":(2,1,),\"fortran_order\":True , 'descr' : '>u2' }   \n", 4);
  clarke_tensor t;
  clarke_error err = { CLARKE_OK, "" };

  clarke_tensor_init(&t);
  ck_assert_msg(parse(&t, &b, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_str_eq(t.name, "a");
  ck_assert(t.dtype == CLARKE_U16 && t.rank == 2 && t.dims[0] == 2 && t.dims[1] == 1);
  ck_assert(t.integer[0] == 0x0001 && t.integer[1] == 0x0203);
  clarke_tensor_clear(&t);
  bytes_clear(&b);
}
END_TEST

/* The entry of index (i_0, ..., i_{r-1}) stands in Fortran order at sum i_k prod_{j<k} d_j; look it
 * up for every index, for every shape of rank up to 4 with sides up to 3. */
START_TEST(fortran_order)
{
  for (unsigned code = 0; code < 256; code++) {
    const size_t d[4] = { code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3 };
    const size_t count = d[0] * d[1] * d[2] * d[3];
    char dictionary[128];
    clarke_tensor t;
    bytes b;

    snprintf(dictionary, sizeof dictionary, DICT("'|u1'", "True", "(%zu, %zu, %zu, %zu)"), d[0],
             d[1], d[2], d[3]);
    b = array_of(1, dictionary, count);
    clarke_tensor_init(&t);
    ck_assert_int_eq(parse(&t, &b, NULL), CLARKE_OK);
    for (size_t i = 0; i < count; i++) {
      const size_t l = i % d[3], k = i / d[3] % d[2], j = i / d[3] / d[2] % d[1];
      const size_t h = i / d[3] / d[2] / d[1];

      ck_assert_int_eq(t.integer[i], (int64_t)(h + d[0] * (j + d[1] * (k + d[2] * l))));
    }
    clarke_tensor_clear(&t);
    bytes_clear(&b);
  }
}
END_TEST

/* --- archives --- */

static member
array_member(const char *name, const char *dictionary, size_t size)
{
  return member_of(name, array_of(1, dictionary, size));
}

static clarke_status
parse_archive(clarke_tensors *ts, bool *stored, const bytes *b, clarke_error *err)
{
  bytes copy = tight(b);
  clarke_status status = clarke_npz_parse(ts, stored, copy.data, copy.size, "b.npz", err);

  bytes_clear(&copy);
  return status;
}

static void
refuse_archive(member *members, size_t n, const char *says)
{
  bytes b = archive_of(members, n);
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "(none)" };
  bool stored = true;

  clarke_tensors_init(&ts);
  ck_assert_msg(parse_archive(&ts, &stored, &b, &err) != CLARKE_OK, "accepted; expected: %s", says);
  ck_assert_int_eq(strncmp(err.text, "b.npz: ", 7), 0);
  assert_says(err.text, says);
  ck_assert(ts.n == 0 && ts.tensor == NULL && !stored);
  bytes_clear(&b);
}

START_TEST(archives)
{
  member members[] = { array_member("z.npy", SHAPE("(2,)"), 2),
                       array_member("a b/c.npy", DESCR("<i4"), 4) };
  bytes b = archive_of(members, 2);
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "" };
  bool stored = false;

  clarke_tensors_init(&ts);
  ck_assert_msg(parse_archive(&ts, &stored, &b, &err) == CLARKE_OK, "%s", err.text);
  ck_assert(stored && ts.n == 2);
  ck_assert_str_eq(ts.tensor[0].name, "a b/c");
  ck_assert_int_eq(ts.tensor[0].integer[0], 0x03020100);
  ck_assert_str_eq(ts.tensor[1].name, "z");
  ck_assert_int_eq(ts.tensor[1].integer[1], 1);
  clarke_tensors_clear(&ts);
  for (size_t size = 0; size < b.size; size++) {
    const bytes cut = { b.data, size };

    ck_assert_int_ne(parse_archive(&ts, &stored, &cut, NULL), CLARKE_OK);
  }
  bytes_clear(&b);
}
END_TEST

START_TEST(refused_names)
{
  member twice[] = { array_member("a.npy", SHAPE("()"), 1), array_member("a.npy", SHAPE("()"), 1) };
  member other[] = { array_member("a.txt", SHAPE("()"), 1) };
  member folder[] = { array_member("a/", SHAPE("()"), 1) };
  member empty[] = { array_member(".npy", SHAPE("()"), 1) };
  member control[] = { array_member("a\nb.npy", SHAPE("()"), 1) };
  member odd[] = { array_member("\xff.npy", SHAPE("()"), 1) };

  refuse_archive(twice, 2, "two members have the same name");
  refuse_archive(other, 1, "member \"a.txt\" is no NAME.npy");
  refuse_archive(folder, 1, "member \"a/\" is no NAME.npy");
  refuse_archive(empty, 1, "member \".npy\" is no NAME.npy");
  refuse_archive(control, 1, "a member's name is not text");
  refuse_archive(odd, 1, "a member's name is not text");
}
END_TEST

START_TEST(refused_members)
{
  member bad = array_member("a.npy", SHAPE("(3,)"), 2);

  refuse_archive(&bad, 1, "member \"a.npy\": 2 bytes of data; expected 3");
  bad = array_member("a.npy", DESCR("|O"), 8);
  refuse_archive(&bad, 1, "member \"a.npy\": an array of Python objects");
  bad = array_member("a.npy", SHAPE("()"), 1);
  bad.crc ^= 1;
  refuse_archive(&bad, 1, "member \"a.npy\": cannot be read: CRC error");
  bad = array_member("a.npy", SHAPE("()"), 1);
  bad.method = 12;
  refuse_archive(&bad, 1, "member \"a.npy\": compression method 12");
  bad = array_member("a.npy", SHAPE("()"), 1);
  bad.flags = 1;
  refuse_archive(&bad, 1, "member \"a.npy\": is encrypted");
  bad = array_member("a.npy", SHAPE("()"), 1);
  bad.size += 1;
  refuse_archive(&bad, 1, "member \"a.npy\": is stored, but with two sizes");
  bad = member_of("a.npy", (bytes){ 0 });
  refuse_archive(&bad, 1, "member \"a.npy\": not an .npy array");
}
END_TEST

/* Sizes that the bytes cannot bear: more than deflate can pack, more than the archive in all. */
START_TEST(bombs)
{
  member packed = array_member("a.npy", SHAPE("(4000000000,)"), 1);
  member nested[2];
  bytes inner = { 0 };

  packed.method = 8;
  packed.size = 4000000000u;
  refuse_archive(&packed, 1, "member \"a.npy\": 4000000000 bytes cannot come from");
  packed = array_member("a.npy", SHAPE("()"), 1);
  packed.method = 8;
  refuse_archive(&packed, 1, "member \"a.npy\": cannot be read");
  /* b.npy holds a.npy, header and all: what lies in both would be unpacked twice. */
  packed = array_member("a.npy", SHAPE("(2000,)"), 2000);
  put_local(&inner, &packed);
  nested[0] = packed;
  nested[1] = member_of("b.npy", inner);
  nested[0].offset = 35;
  refuse_archive(nested, 2, "member \"b.npy\": the members hold more bytes than the archive");
}
END_TEST

static void
refuse_bytes(const bytes *b, const char *says)
{
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "(none)" };
  bool stored;

  clarke_tensors_init(&ts);
  ck_assert_msg(parse_archive(&ts, &stored, b, &err) != CLARKE_OK, "accepted; expected: %s", says);
  assert_says(err.text, says);
}

static bytes
one_array(unsigned char value)
{
  member m = array_member("x.npy", SHAPE("(2,)"), 2);

  m.data.data[m.data.size - 1] = value;
  m.crc = crc32_of(m.data.data, m.data.size);
  return archive_of(&m, 1);
}

/* Two archives in one file: zipfile (NumPy) reads the second, a reader that goes by stated places the first. */
START_TEST(two_archives)
{
  bytes first = one_array(1), second = one_array(2), changed;

  put(&first, second.data, second.size);
  refuse_bytes(&first, "two in one file");
  bytes_clear(&first);
  for (int k = 0; k < 2; k++) { /* a byte more, before and after */
    bytes more = { 0 };

    if (k == 0)
      put_text(&more, "P");
    put(&more, second.data, second.size);
    if (k == 1)
      put_text(&more, "P");
    refuse_bytes(&more, "b.npz: ");
    bytes_clear(&more);
  }
  changed = tight(&second); /* a comment, though empty of arrays */
  changed.data[changed.size - 2] = 1;
  put_text(&changed, "c");
  refuse_bytes(&changed, "b.npz: ");
  bytes_clear(&changed);
  bytes_clear(&second);
}
END_TEST

/* The local header and the directory disagree: readers go by the one or by the other. */
START_TEST(headers_that_disagree)
{
  static const size_t places[] = { 0, 6, 8, 14, 18, 22, 26, 28, 30 };

  for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
    bytes b = one_array(1);

    b.data[places[k]] ^= 1;
    refuse_bytes(&b, "b.npz: ");
    bytes_clear(&b);
  }
}
END_TEST

/* numpy.load's z["x.npy"] is the member x.npy, whatever is called x.npy.npy. */
START_TEST(two_readings)
{
  member m = array_member("x.npy.npy", SHAPE("()"), 1);

  refuse_archive(&m, 1, "numpy may take it for");
  m = array_member("\xc3\xa9.npy", SHAPE("()"), 1); /* code page 437, says zipfile */
  refuse_archive(&m, 1, "member 0 is not where and what");
  m = array_member("\xc3\xa9.npy", SHAPE("()"), 1);
  m.flags = 0x800;
  bytes b = archive_of(&m, 1);
  clarke_tensors ts;
  bool stored;

  clarke_tensors_init(&ts);
  ck_assert_int_eq(parse_archive(&ts, &stored, &b, NULL), CLARKE_OK);
  clarke_tensors_clear(&ts);
  bytes_clear(&b);
}
END_TEST

START_TEST(no_archives)
{
  static const char *const files[] = { "", "PK", "PK\3\4", "PK\5\6", "hello, world", "\x93NUMPY" };

  for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
    bytes b = { 0 };
    clarke_tensors ts;
    clarke_error err;
    bool stored;

    put_text(&b, files[k]);
    clarke_tensors_init(&ts);
    ck_assert_int_eq(parse_archive(&ts, &stored, &b, &err), CLARKE_EINPUT);
    ck_assert(strstr(err.text, "b.npz: not an .npz archive") != NULL
              || strstr(err.text, "b.npz: the ZIP archive cannot be read") != NULL);
    bytes_clear(&b);
  }
}
END_TEST

/* The header of an array whose data is elsewhere: 2 x 3 of big-endian halves, by columns. */
START_TEST(a_header_is_read_alone)
{
  bytes b = array_of(2, DICT("'>f2'", "True", "(2, 3)"), 0);
  static const unsigned char halves[] = { 0x3c, 0, 0x40, 0, 0x42, 0, 0x44, 0, 0x45, 0, 0x46, 0 }; /* 1 to 6 */
  static const double rows[] = { 1, 3, 5, 2, 4, 6 };
  clarke_npy_header h;
  clarke_tensor t;
  clarke_error err;

  ck_assert_int_eq(clarke_npy_read_header(&h, b.data, b.size, b.size + 12, &err), CLARKE_OK);
  ck_assert(h.dtype == CLARKE_F16 && h.big_endian && h.fortran_order && h.start == b.size);
  ck_assert(h.rank == 2 && h.dims[0] == 2 && h.dims[1] == 3);
  clarke_tensor_init(&t);
  ck_assert_int_eq(clarke_npy_read_data(&t, &h, "x", halves, &err), CLARKE_OK);
  ck_assert_str_eq(t.name, "x");
  for (size_t k = 0; k < 6; k++)
    ck_assert(t.real[k] == rows[k]);
  clarke_tensor_clear(&t);
  for (size_t total = b.size; total < b.size + 20; total++)
    ck_assert_int_eq(clarke_npy_read_header(&h, b.data, b.size, total, &err), total == b.size + 12 ? CLARKE_OK : CLARKE_EINPUT);
  ck_assert_int_eq(clarke_npy_read_header(&h, b.data, b.size - 1, b.size + 12, &err), CLARKE_EINPUT);
  bytes_clear(&b);
}
END_TEST

/* An array or an archive, by the name's ending. */
START_TEST(the_ending_says_what_it_is)
{
  bytes b = array_of(1, DESCR("|u1"), 1), copy = tight(&b);
  member one = member_of("a.npy", copy);
  bytes archive = archive_of(&one, 1);
  clarke_tensors ts;
  clarke_error err;
  bool stored = false;

  clarke_tensors_init(&ts);
  ck_assert_int_eq(clarke_arrays_parse(&ts, &stored, b.data, b.size, "dir/a.npy", &err), CLARKE_OK);
  ck_assert(ts.n == 1 && stored);
  ck_assert_str_eq(ts.tensor[0].name, "a");
  clarke_tensors_clear(&ts);
  ck_assert_int_eq(clarke_arrays_parse(&ts, &stored, b.data, b.size, "dir/a.npz", &err), CLARKE_EINPUT);
  clarke_tensors_clear(&ts);
  ck_assert_int_eq(clarke_arrays_parse(&ts, &stored, archive.data, archive.size, "dir/a.npz", &err), CLARKE_OK);
  ck_assert_str_eq(ts.tensor[0].name, "a");
  clarke_tensors_clear(&ts);
  ck_assert_int_eq(clarke_arrays_parse(&ts, &stored, archive.data, archive.size, "dir/a.npy", &err), CLARKE_EINPUT);
  clarke_tensors_clear(&ts);
  bytes_clear(&archive);
  bytes_clear(&b);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("npy");

  tcase_add_loop_test(tests, refusals, 0, (int)(sizeof refused / sizeof refused[0]));
  tcase_add_loop_test(tests, no_numbers, 0, N_NONNUMBERS);
  tcase_add_test(tests, long_headers);
  tcase_add_test(tests, truncations);
  tcase_add_test(tests, accepted);
  tcase_add_test(tests, fortran_order);
  tcase_add_test(tests, archives);
  tcase_add_test(tests, refused_names);
  tcase_add_test(tests, refused_members);
  tcase_add_test(tests, bombs);
  tcase_add_test(tests, two_archives);
  tcase_add_test(tests, headers_that_disagree);
  tcase_add_test(tests, two_readings);
  tcase_add_test(tests, no_archives);
  tcase_add_test(tests, a_header_is_read_alone);
  tcase_add_test(tests, the_ending_says_what_it_is);
  return run_tests();
}
