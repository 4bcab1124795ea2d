/* Every allocation of every reader fails in turn: each time the reader must say so, leave its output
 * clear and lose nothing (the sanitizers and valgrind watch that). */
#include "failing.h"
#include "../suite.h"
#include "format/file.h"
#include "format/npy.h"
#include "format/npz.h"
#include "format/onnx.h"
#include "format/pt.h"
#include "format/safetensors.h"
#include "format/safetensors_write.h"

#include <stdio.h>
#include <unistd.h>

/* The true ones, for what follows. */
#undef malloc
#undef calloc
#undef realloc
#undef strdup
#undef strndup

static clarke_status
try_onnx(const clarke_file *f, clarke_error *err)
{
  clarke_model m;
  clarke_status status;

  clarke_model_init(&m);
  status = clarke_onnx_parse(&m, f->data, f->size, "x", err);
  ck_assert(status == CLARKE_OK || (m.nodes == NULL && m.tensors == NULL && m.file == NULL));
  clarke_model_clear(&m);
  return status;
}

static clarke_status
try_external(const clarke_file *f, clarke_error *err)
{
  clarke_model m;
  clarke_status status;

  clarke_model_init(&m);
  status = clarke_onnx_parse_at(&m, f->data, f->size, DATA "/external.onnx", err);
  ck_assert(status == CLARKE_OK || (m.nodes == NULL && m.tensors == NULL && m.file == NULL));
  clarke_model_clear(&m);
  return status;
}

static clarke_status
try_npy(const clarke_file *f, clarke_error *err)
{
  clarke_tensor t;
  clarke_status status;

  clarke_tensor_init(&t);
  status = clarke_npy_parse(&t, f->data, f->size, "x", err);
  ck_assert(status == CLARKE_OK || (t.name == NULL && t.real == NULL));
  clarke_tensor_clear(&t);
  return status;
}

static clarke_status
try_npz(const clarke_file *f, clarke_error *err)
{
  clarke_tensors ts;
  bool stored;
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_npz_parse(&ts, &stored, f->data, f->size, "x", err);
  ck_assert(status == CLARKE_OK || (ts.n == 0 && ts.tensor == NULL));
  clarke_tensors_clear(&ts);
  return status;
}

static clarke_status
try_safetensors(const clarke_file *f, clarke_error *err)
{
  clarke_tensors ts;
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_safetensors_parse(&ts, f->data, f->size, "x", err);
  ck_assert(status == CLARKE_OK || (ts.n == 0 && ts.tensor == NULL));
  clarke_tensors_clear(&ts);
  return status;
}

static clarke_status
try_pt(const clarke_file *f, clarke_error *err)
{
  clarke_tensors ts;
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_pt_parse(&ts, NULL, f->data, f->size, "x", err);
  ck_assert(status == CLARKE_OK || (ts.n == 0 && ts.tensor == NULL));
  clarke_tensors_clear(&ts);
  return status;
}

static const struct {
  const char *file;
  clarke_status (*attempt)(const clarke_file *, clarke_error *);
} readers[] = {
  { "attributes.onnx", try_onnx },      { "dtypes-typed.onnx", try_onnx },
  { "ir3.onnx", try_onnx },             { "external.onnx", try_external },
  { "version1.npy", try_npy },
  { "odd-deflated.npz", try_npz },      { "little-stored.npz", try_npz },
  { "odd.safetensors", try_safetensors }, { "views.pt", try_pt },
  { "deflated.pt", try_pt },            { "checkpoint.pt", try_pt },
};

START_TEST(readers_out_of_memory)
{
  char path[512];
  clarke_file f;
  clarke_error err = { CLARKE_OK, "" };
  size_t k = 0;

  snprintf(path, sizeof path, DATA "/%s", readers[_i].file);
  ck_assert_int_eq(clarke_file_read(&f, path, NULL), CLARKE_OK);
  for (;; k++) {
    clarke_status status;

    countdown = k;
    status = readers[_i].attempt(&f, &err);
    if (countdown != SIZE_MAX && status == CLARKE_OK)
      break; /* it needed no more than k */
    ck_assert_int_eq(status, CLARKE_ENOMEM);
    ck_assert_msg(strstr(err.text, "no memory") != NULL || strstr(err.text, "out of memory") != NULL, "%s", err.text);
  }
  countdown = SIZE_MAX;
  ck_assert_int_gt(k, 2);
  clarke_file_clear(&f);
}
END_TEST

START_TEST(files_out_of_memory)
{
  clarke_file f;
  clarke_error err;

  countdown = 0;
  ck_assert_int_eq(clarke_file_read(&f, DATA "/ir3.onnx", &err), CLARKE_ENOMEM);
  ck_assert_ptr_nonnull(strstr(err.text, "ir3.onnx: no memory"));
  ck_assert(f.data == NULL && f.size == 0);
  countdown = SIZE_MAX;
}
END_TEST

START_TEST(writer_out_of_memory)
{
  char path[] = "/tmp/clarke-memory-XXXXXX";
  clarke_tensors ts;

  close(mkstemp(path));
  ck_assert_int_eq(unlink(path), 0);
  clarke_tensors_init(&ts);
  countdown = 0;
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, NULL), CLARKE_ENOMEM);
  ck_assert_int_ne(access(path, F_OK), 0);
  countdown = SIZE_MAX;
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("memory");

  tcase_add_loop_test(tests, readers_out_of_memory, 0, (int)(sizeof readers / sizeof readers[0]));
  tcase_add_test(tests, files_out_of_memory);
  tcase_add_test(tests, writer_out_of_memory);
  return run_tests();
}
