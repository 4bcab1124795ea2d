/* Files that the reference libraries wrote, read and compared bit for bit with what went in
 * (make_fixtures.py says how both were made); and reading files as such. */
#include "bytes.h"
#include "describe.h"
#include "../suite.h"
#include "format/file.h"
#include "format/npy.h"
#include "format/npz.h"
#include "format/onnx.h"
#include "format/pt.h"
#include "format/safetensors.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSED DATA "/../refused"

static bool
ends_with(const char *name, const char *end)
{
  const size_t n = strlen(name), k = strlen(end);

  return n >= k && strcmp(name + n - k, end) == 0;
}

static clarke_status
describe_arrays(FILE *out, const char *name, const clarke_file *f, clarke_error *err)
{
  clarke_tensors ts;
  bool stored;
  clarke_status status;

  clarke_tensors_init(&ts);
  if (ends_with(name, ".npz")) {
    status = clarke_npz_parse(&ts, &stored, f->data, f->size, name, err);
    ck_assert_int_eq(stored, strstr(name, "deflated") == NULL);
  } else if (ends_with(name, ".pt")) {
    status = clarke_pt_parse(&ts, NULL, f->data, f->size, name, err);
  } else {
    status = clarke_safetensors_parse(&ts, f->data, f->size, name, err);
  }
  describe_tensors(out, &ts);
  clarke_tensors_clear(&ts);
  return status;
}

static clarke_status
describe_file(FILE *out, const char *folder, const char *name, const clarke_file *f,
              clarke_error *err)
{
  char path[512];
  clarke_model m;
  clarke_tensor t;
  clarke_status status;

  if (ends_with(name, ".onnx")) {
    clarke_model_init(&m);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    status = clarke_onnx_parse_at(&m, f->data, f->size, path, err);
    if (status == CLARKE_OK)
      ck_assert_str_eq(m.file, name);
    describe_model(out, &m);
    clarke_model_clear(&m);
  } else if (ends_with(name, ".npy")) {
    clarke_tensor_init(&t);
    status = clarke_npy_parse(&t, f->data, f->size, name, err);
    if (status == CLARKE_OK)
      describe_tensor(out, &t);
    clarke_tensor_clear(&t);
  } else {
    status = describe_arrays(out, name, f, err);
  }
  return status;
}

static void
check_fixture(const char *name)
{
  char path[512];
  clarke_file f, expected;
  clarke_error err = { CLARKE_OK, "" };
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);

  snprintf(path, sizeof path, DATA "/%s", name);
  ck_assert_int_eq(clarke_file_read(&f, path, &err), CLARKE_OK);
  snprintf(path, sizeof path, DATA "/%s.expected", name);
  ck_assert_int_eq(clarke_file_read(&expected, path, &err), CLARKE_OK);
  ck_assert_msg(describe_file(out, DATA, name, &f, &err) == CLARKE_OK, "%s", err.text);
  fclose(out);
  ck_assert_msg(size == expected.size && memcmp(text, expected.data, size) == 0,
                "%s: read as\n%s\nexpected\n%.*s", name, text, (int)expected.size,
                (const char *)expected.data);
  free(text);
  clarke_file_clear(&f);
  clarke_file_clear(&expected);
}

START_TEST(fixtures)
{
  DIR *dir = opendir(DATA);
  int n = 0;

  ck_assert_ptr_nonnull(dir);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;)
    if (e->d_name[0] != '.' && !ends_with(e->d_name, ".expected")
        && !ends_with(e->d_name, ".data")) {
      check_fixture(e->d_name);
      n++;
    }
  closedir(dir);
  ck_assert_int_ge(n, 28);
}
END_TEST

/* Reads a file as its ending says, and drops what came of it. */
static void
check_refused(const char *name)
{
  char path[512], message[256] = "";
  clarke_file f, says;
  clarke_error err = { CLARKE_OK, "(none)" };
  FILE *out = fopen("/dev/null", "w");

  snprintf(path, sizeof path, REFUSED "/%s", name);
  ck_assert_int_eq(clarke_file_read(&f, path, NULL), CLARKE_OK);
  snprintf(path, sizeof path, REFUSED "/%s.says", name);
  ck_assert_int_eq(clarke_file_read(&says, path, NULL), CLARKE_OK);
  ck_assert_uint_lt(says.size, sizeof message);
  memcpy(message, says.data, says.size);
  ck_assert_msg(describe_file(out, REFUSED, name, &f, &err) != CLARKE_OK, "%s was read", name);
  ck_assert_msg(strncmp(err.text, name, strlen(name)) == 0, "%s: %s", name, err.text);
  assert_says(err.text, message);
  fclose(out);
  clarke_file_clear(&f);
  clarke_file_clear(&says);
}

START_TEST(refused_fixtures)
{
  DIR *dir = opendir(REFUSED);
  int n = 0;

  ck_assert_ptr_nonnull(dir);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;)
    if (e->d_name[0] != '.' && !ends_with(e->d_name, ".says")) {
      check_refused(e->d_name);
      n++;
    }
  closedir(dir);
  ck_assert_int_ge(n, 36);
}
END_TEST

static void
write_new(const char *path, const char *text)
{
  FILE *f = fopen(path, "wb");

  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
}

/* The digests are those of FIPS 180-2, appendix B, and of no bytes at all. */
START_TEST(files)
{
  char path[] = "/tmp/clarke-file-XXXXXX";
  clarke_file f;
  clarke_error err;

  close(mkstemp(path));
  ck_assert_int_eq(clarke_file_read(&f, path, &err), CLARKE_OK);
  ck_assert(f.size == 0 && f.data != NULL);
  ck_assert_str_eq(f.sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  clarke_file_clear(&f);
  write_new(path, "abc");
  ck_assert_int_eq(clarke_file_read(&f, path, &err), CLARKE_OK);
  ck_assert_int_eq(f.size, 3);
  ck_assert_int_eq(memcmp(f.data, "abc", 3), 0);
  ck_assert_str_eq(f.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  clarke_file_clear(&f);
  ck_assert_int_eq(clarke_file_read_bytes(&f, path, &err), CLARKE_OK); /* hashed later, as it was read */
  ck_assert_str_eq(f.sha256, "");
  write_new(path, "abd");
  ck_assert(f.size == 3 && memcmp(f.data, "abc", 3) == 0);
  ck_assert_int_eq(clarke_file_hash(&f, path, &err), CLARKE_OK);
  ck_assert_str_eq(f.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  clarke_file_clear(&f);
  ck_assert_int_eq(clarke_file_map(&f, path, &err), CLARKE_OK); /* not copied: what comes later is seen */
  ck_assert(f.mapped && f.size == 3 && memcmp(f.data, "abd", 3) == 0 && *f.sha256 == '\0');
  ck_assert_int_eq(clarke_file_stayed(&f, path, &err), CLARKE_OK);
  do
    write_new(path, "abc"); /* until the file's times are others */
  while (clarke_file_stayed(&f, path, &err) == CLARKE_OK);
  ck_assert_ptr_nonnull(strstr(err.text, ": was changed while it was being read"));
  ck_assert_int_eq(memcmp(f.data, "abc", 3), 0);
  f.size = 4;
  ck_assert_int_eq(clarke_file_stayed(&f, path, &err), CLARKE_EINPUT);
  f.size = 3;
  ck_assert_int_eq(clarke_file_stayed(&f, "/tmp/nowhere/to/be/seen", &err), CLARKE_EINPUT);
  clarke_file_clear(&f);
  ck_assert_int_eq(clarke_file_read(&f, path, &err), CLARKE_OK); /* what was copied is not asked for */
  ck_assert_int_eq(clarke_file_stayed(&f, "/tmp/nowhere/to/be/seen", &err), CLARKE_OK);
  clarke_file_clear(&f);
  ck_assert(f.data == NULL && !f.mapped);
  ck_assert_int_eq(truncate(path, 0), 0);
  ck_assert_int_eq(clarke_file_map(&f, path, &err), CLARKE_OK); /* of nothing there is no map */
  ck_assert(!f.mapped && f.size == 0 && f.data != NULL);
  clarke_file_clear(&f);
  ck_assert_int_eq(clarke_file_map(&f, "/tmp", &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "/tmp: cannot be read: Is a directory");
  unlink(path);
}
END_TEST

/* A pipe tells no size; the reader must take what comes. */
START_TEST(pipes)
{
  const size_t size = 50000;
  int ends[2];
  char path[64];
  unsigned char *data = malloc(size);
  clarke_file f;

  for (size_t i = 0; i < size; i++)
    data[i] = (unsigned char)(i * i >> 3);
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], data, size), (ssize_t)size);
  close(ends[1]);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  ck_assert_int_eq(clarke_file_read(&f, path, NULL), CLARKE_OK);
  ck_assert(f.size == size && memcmp(f.data, data, size) == 0);
  clarke_file_clear(&f);
  close(ends[0]);
  free(data);
}
END_TEST

START_TEST(unreadable_files)
{
  char path[] = "/tmp/clarke-file-XXXXXX";
  clarke_file f;
  clarke_error err;

  ck_assert_int_eq(clarke_file_read(&f, "/no such/file", &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "/no such/file: cannot be opened: No such file or directory");
  ck_assert_int_eq(clarke_file_read(&f, "/tmp", &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "/tmp: cannot be read: Is a directory");
  ck_assert_int_eq(clarke_file_read(&f, "/dev/zero", &err), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(err.text, "is a device"));
  close(mkstemp(path));
  ck_assert_int_eq(truncate(path, ((off_t)1 << 33) + 1), 0);
  ck_assert_int_eq(clarke_file_read(&f, path, &err), CLARKE_ENOMEM);
  ck_assert_ptr_nonnull(strstr(err.text, "the limit is 8589934592 (--limit file=N raises it)"));
  ck_assert(f.data == NULL && f.size == 0);
  unlink(path);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("fixtures");

  tcase_add_test(tests, fixtures);
  tcase_add_test(tests, refused_fixtures);
  tcase_add_test(tests, files);
  tcase_add_test(tests, pipes);
  tcase_add_test(tests, unreadable_files);
  return run_tests();
}
