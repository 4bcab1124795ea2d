/* Folders of dot products that tensor cores computed: which sets are in them, and their rows. */
#include "../session/shared.h"
#include "../suites.h"

#include "trace/tensorcore/mma_folder.h"
#include "trace/tensorcore/mma_rule.h"

#include <sys/stat.h>

static char root[64];

static void
begin(void)
{
  snprintf(root, sizeof root, "/tmp/clarke-folders-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
}

static void
end(void)
{
  char command[128];

  snprintf(command, sizeof command, "rm -r %s", root);
  ck_assert_int_eq(system(command), 0);
}

static void
put(const char *name, const char *text)
{
  char path[256];

  snprintf(path, sizeof path, "%s/%s", root, name);
  for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  if (text != NULL)
    put_file(path, text);
}

static void
drop(const char *name)
{
  char path[256];

  snprintf(path, sizeof path, "%s/%s", root, name);
  remove(path);
}

#define ONE "3f800000 40000000 \n40400000 40800000 \n" /* 1 2; 3 4 */
#define TWO "00111111100000000000000000000000\n01000000000000000000000000000000\n" /* 1; 2 */

static void
put_set(const char *folder, const char *gpu, const char *format)
{
  static const char *const file[] = {"%sa_%s_%s.txt", "%sb_%s_%s.txt", "%sc_%s_fp32.txt", "%sd_%s_fp32.txt"};
  char name[128];

  for (size_t k = 0; k < 4; k++) {
    snprintf(name, sizeof name, file[k], folder, gpu, format);
    put(name, k < 2 ? ONE : TWO);
  }
}

START_TEST(sets_of_folders)
{
  clarke_mma_places p = {0};

  begin();
  put_set("", "H100", "bf16");
  put_set("", "A100_80", "tf32");
  put_set("deep/er/", "V100", "fp16");
  put("deep/er/d_V100_fp16.txt", TWO);
  put("readme.txt", "nothing");
  put(".hidden/a_X_fp16.txt", ONE);
  OK(clarke_mma_places_find(&p, root, &error));
  ck_assert_uint_eq(p.n, 3);
  ck_assert_str_eq(p.place[0].gpu, "A100_80");
  ck_assert_str_eq(p.place[1].gpu, "H100");
  ck_assert_str_eq(p.place[2].gpu, "V100");
  ck_assert_str_eq(p.place[0].folder, "");
  ck_assert_str_eq(p.place[2].folder, "deep/er");
  ck_assert_str_eq(clarke_mma_formats[p.place[0].input].name, "tf32");
  ck_assert_str_eq(clarke_mma_formats[p.place[1].input].name, "bf16");
  ck_assert(p.place[1].has_fp32 && !p.place[1].has_fp16 && p.place[2].has_fp32 && p.place[2].has_fp16);
  clarke_mma_places_clear(&p);
  ck_assert(p.n == 0 && p.place == NULL);
  end();
}
END_TEST

/* A set, and one thing too many or too few. */
START_TEST(folders_that_are_refused)
{
  static const struct {
    const char *put, *drop, *words;
  } wrong[] = {
    {NULL, "a_G_bf16.txt", "there is no file a to go with it"},
    {"b_G_fp16.txt", NULL, "there is no file a to go with it"},
    {"a_G_fp16.txt", NULL, "another set of this GPU"},
    {"a_H_fp12.txt", NULL, "unknown format"},
    {"c_G_fp16.txt", NULL, "fp32 alone"},
    {"d_G_bf16.txt", NULL, "results are fp32 or fp16"},
    {NULL, "d_G_fp32.txt", "nothing was computed"},
    {"1/2/3/4/5/6/7/x", NULL, "more than 6 folders in folders"},
  };
  clarke_mma_places p = {0};

  begin();
  FAILS(clarke_mma_places_find(&p, root, &error), "no a_GPU_FORMAT.txt");
  put_set("", "G", "bf16");
  if (wrong[_i].put != NULL)
    put(wrong[_i].put, ONE);
  if (wrong[_i].drop != NULL)
    drop(wrong[_i].drop);
  FAILS(clarke_mma_places_find(&p, root, &error), wrong[_i].words);
  clarke_mma_places_clear(&p);
  end();
  FAILS(clarke_mma_places_find(&p, root, &error), "No such file");
}
END_TEST

START_TEST(rows_of_sets)
{
  clarke_mma_places p = {0};
  clarke_mma_set s = {0};

  begin();
  put_set("", "G", "bf16");
  OK(clarke_mma_places_find(&p, root, &error));
  OK(clarke_mma_set_read(&s, &p.place[0], &error));
  ck_assert(s.a.rows == 2 && s.a.columns == 2 && s.a.bits[0] == 0x3f800000 && s.a.bits[3] == 0x40800000);
  ck_assert(s.b.rows == 2 && s.c.rows == 2 && s.c.columns == 1 && s.c.bits[1] == 0x40000000 && s.fp32.bits[0] == 0x3f800000);
  ck_assert(s.fp16.rows == 0 && s.instruction.fp32[0] == '\0');
  clarke_mma_set_clear(&s);
  put("c_G_fp32.txt", "00111111100000000000000000000000\n");
  FAILS(clarke_mma_set_read(&s, &p.place[0], &error), "c_G_fp32.txt: 1 lines, but its file a has 2");
  clarke_mma_set_clear(&s);
  put("c_G_fp32.txt", TWO);
  put("b_G_bf16.txt", "3f800000\n40000000\n");
  FAILS(clarke_mma_set_read(&s, &p.place[0], &error), "1 numbers in a line, but its file a has 2");
  clarke_mma_set_clear(&s);
  put("b_G_bf16.txt", ONE);
  put("instruction.txt", "fp32 HMMA.16816.F32\n"); /* of other numbers of products */
  FAILS(clarke_mma_set_read(&s, &p.place[0], &error), "HMMA.16816.F32 is no instruction for 2 products of bf16");
  clarke_mma_set_clear(&s);
  clarke_mma_places_clear(&p);
  end();
}
END_TEST

MODULE(folders)
{
  TCase *tests = tests_of("folders");

  tcase_add_test(tests, sets_of_folders);
  tcase_add_loop_test(tests, folders_that_are_refused, 0, 8);
  tcase_add_test(tests, rows_of_sets);
  return all_tests;
}
