/* Descriptions of run folders: what is read, and each refusal by its words. */
#include "../suite.h"

#include "format/object.h"
#include "format/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_OF(name) "{\"file\": \"" name "\", \"sha256\": \"" DIGEST "\"}"

static const char whole[] =
  "{\"format\": \"clarke-run\", \"version\": 1, \"more\": [],\n"
  " \"framework\": {\"name\": \"torch\", \"version\": \"2.13.0\"}, \"profile\": \"pytorch-2.13\",\n"
  " \"device\": {\"type\": \"cpu\", \"name\": \"x86_64\"}, \"dtypes\": [\"bfloat16\", \"float32\"],\n"
  " \"flags\": {\"float32_matmul_precision\": \"highest\", \"tf32_matmul\": false, \"tf32_cudnn\": true},\n"
  " \"graph\": " FILE_OF("graph.onnx") ", \"loss\": \"ce\", \"parameters\": [\"0.weight\", \"0.bias\"],\n"
  " \"steps\": [{\"step\": 7, \"loss_scale\": \"1024/3\", \"files\": {\"batch\": " FILE_OF("b.npz") ",\n"
  "   \"parameters\": " FILE_OF("p.safetensors") ", \"gradients\": " FILE_OF("g.safetensors") ",\n"
  "   \"trace\": " FILE_OF("t.safetensors") "}}]}\n";

static clarke_error error;

/* The text with one part in the place of another. */
static char *
edited(const char *old, const char *new)
{
  const char *at = strstr(whole, old);
  const size_t size = sizeof whole + strlen(new);
  char *text = malloc(size);

  ck_assert_ptr_nonnull(at);
  ck_assert_ptr_nonnull(text);
  snprintf(text, size, "%.*s%s%s", (int)(at - whole), whole, new, at + strlen(old));
  return text;
}

static clarke_status
parse(clarke_run_description *r, const char *text)
{
  clarke_run_description_init(r);
  return clarke_run_description_parse(r, text, strlen(text), "run.json", &error);
}

START_TEST(all_is_read)
{
  clarke_run_description r;

  ck_assert_int_eq(parse(&r, whole), CLARKE_OK);
  ck_assert_str_eq(r.framework, "torch");
  ck_assert_str_eq(r.version, "2.13.0");
  ck_assert_str_eq(r.device, "x86_64");
  ck_assert_str_eq(r.profile, "pytorch-2.13");
  ck_assert_str_eq(r.loss, "ce");
  ck_assert(r.n_dtypes == 2 && strcmp(r.dtype[0], "bfloat16") == 0 && strcmp(r.dtype[1], "float32") == 0);
  ck_assert(r.n_parameters == 2 && strcmp(r.parameter[1], "0.bias") == 0);
  ck_assert(r.n_branches == 0);
  ck_assert(r.matmul == 0 && r.conv == 0); /* on a CPU there is no TF32 */
  ck_assert_str_eq(r.graph.name, "graph.onnx");
  ck_assert_str_eq(r.graph.sha256, DIGEST);
  ck_assert(r.n_steps == 1 && r.step[0].step == 7 && mpq_cmp_ui(r.step[0].scale, 1024, 3) == 0);
  ck_assert_str_eq(r.step[0].batch.name, "b.npz");
  ck_assert_str_eq(r.step[0].parameters.name, "p.safetensors");
  ck_assert_str_eq(r.step[0].gradients.name, "g.safetensors");
  ck_assert_str_eq(r.step[0].trace.name, "t.safetensors");
  clarke_run_description_clear(&r);
}
END_TEST

/* What products keep of float32 numbers, by device and flags. */
START_TEST(products)
{
  static const struct {
    const char *old, *new;
    unsigned matmul, conv;
  } one[] = {{"\"cpu\"", "\"cuda\"", CLARKE_TO_TF32, CLARKE_TO_TF32},
             {"\"tf32_matmul\": false", "\"tf32_matmul\": true", 0, 0},
             {"highest", "high", CLARKE_TO_TF32, CLARKE_TO_TF32},
             {"highest", "medium", CLARKE_TO_TF32 | CLARKE_TO_BF16, CLARKE_TO_TF32 | CLARKE_TO_BF16},
             /* by backend and operator: that of the device alone counts, whatever the other flags say */
             {"\"tf32_matmul\"", "\"precision\": {\"cpu\": {\"matmul\": \"ieee\", \"conv\": \"bf16\"}}, \"tf32_matmul\"", 0, CLARKE_TO_BF16},
             {"\"tf32_matmul\"", "\"precision\": {\"cpu\": {\"matmul\": \"any\", \"conv\": \"fp16\"}}, \"tf32_matmul\"", 7, CLARKE_TO_F16},
             {"\"tf32_matmul\"", "\"precision\": {\"cuda\": {\"matmul\": \"bf16\", \"conv\": \"bf16\"}, \"cpu\": {\"matmul\": \"tf32\", \"conv\": \"ieee\"}}, \"tf32_matmul\"", CLARKE_TO_TF32, 0}};

  for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
    clarke_run_description r;
    char *text = edited(one[i].old, one[i].new);

    ck_assert_int_eq(parse(&r, text), CLARKE_OK);
    ck_assert(r.matmul == one[i].matmul && r.conv == one[i].conv);
    clarke_run_description_clear(&r);
    free(text);
  }
}
END_TEST

/* Of a step that left the reals there is nothing else. */
START_TEST(outside_the_reals)
{
  static const char said[] = "{\"format\": \"clarke-run\", \"version\": 1, \"outside\": {\"lines\": [\"The step\", \"Why\"], \"value\": \"NaN\"}}";
  static const char *const wrong[] = {
    "{\"format\": \"clarke-run\", \"version\": 1, \"outside\": {\"lines\": []}}",
    "{\"format\": \"clarke-run\", \"version\": 1, \"outside\": {\"lines\": [1]}}",
    "{\"format\": \"clarke-run\", \"version\": 1, \"outside\": [\"The step\"]}",
    "{\"format\": \"clarke-run\", \"version\": 2, \"outside\": {\"lines\": [\"The step\"]}}",
  };
  clarke_run_description r;

  ck_assert_int_eq(parse(&r, said), CLARKE_OK);
  ck_assert_uint_eq(r.n_outside, 2);
  ck_assert_str_eq(r.outside[1], "Why");
  ck_assert_ptr_nonnull(strstr(r.outside_json, "\"NaN\""));
  ck_assert_uint_eq(r.n_steps, 0);
  clarke_run_description_clear(&r);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_int_eq(parse(&r, wrong[i]), CLARKE_EINPUT);
    clarke_run_description_clear(&r);
  }
}
END_TEST

/* Lists of texts that other recorders may leave out. */
START_TEST(lists_of_texts)
{
  static const char *const key[] = {"branches", "surrogates", "constants"};

  for (size_t i = 0; i < 3; i++) {
    clarke_run_description r;
    char list[128], *text;
    const char *found[3];

    snprintf(list, sizeof list, "\"loss\": \"ce\", \"%s\": [\"a.py:1\", \"b\"]", key[i]);
    text = edited("\"loss\": \"ce\"", list);
    ck_assert_int_eq(parse(&r, text), CLARKE_OK);
    ck_assert_uint_eq(r.n_branches + r.n_surrogates + r.n_constants, 2);
    found[0] = r.n_branches > 0 ? r.branch[0] : "";
    found[1] = r.n_surrogates > 0 ? r.surrogate[0] : "";
    found[2] = r.n_constants > 0 ? r.constant[0] : "";
    ck_assert_str_eq(found[i], "a.py:1");
    clarke_run_description_clear(&r);
    free(text);
    snprintf(list, sizeof list, "\"loss\": \"ce\", \"%s\": [\"a.py:1\", 2]", key[i]);
    text = edited("\"loss\": \"ce\"", list);
    ck_assert_int_eq(parse(&r, text), CLARKE_EINPUT);
    ck_assert_ptr_nonnull(strstr(error.text, key[i]));
    clarke_run_description_clear(&r);
    free(text);
  }
}
END_TEST

/* Of the trace alone a hash may be missing. */
START_TEST(without_a_hash)
{
  static const struct {
    const char *file, *says;
  } one[] = {{"t.safetensors", NULL},
             {"g.safetensors", "'gradients': expected a file with its sha256, 64 digits"},
             {"p.safetensors", "'parameters': expected a file with its sha256, 64 digits"},
             {"b.npz", "'batch': expected a file with its sha256, 64 digits"},
             {"graph.onnx", "'graph': expected a file with its sha256, 64 digits"}};

  for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
    char old[128], new[64], *text;
    clarke_run_description r;

    snprintf(old, sizeof old, "\"%s\", \"sha256\": \"" DIGEST "\"", one[i].file);
    snprintf(new, sizeof new, "\"%s\"", one[i].file);
    text = edited(old, new);
    ck_assert_int_eq(parse(&r, text), one[i].says == NULL ? CLARKE_OK : CLARKE_EINPUT);
    if (one[i].says == NULL) {
      ck_assert_str_eq(r.step[0].trace.name, "t.safetensors");
      ck_assert_str_eq(r.step[0].trace.sha256, "");
    } else
      ck_assert_msg(strstr(error.text, one[i].says) != NULL, "%s", error.text);
    clarke_run_description_clear(&r);
    free(text);
  }
}
END_TEST

/* What was run again: of each step, if it is said. */
START_TEST(run_again)
{
  static const struct {
    const char *new;
    clarke_run_again again;
  } one[] = {{"\"step\": 7", CLARKE_AGAIN_NOT_SAID},
             {"\"step\": 7, \"again\": null", CLARKE_AGAIN_NOTHING},
             {"\"step\": 7, \"again\": \"calls\"", CLARKE_AGAIN_CALLS},
             {"\"step\": 7, \"again\": \"loss\"", CLARKE_AGAIN_LOSS}};

  for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
    clarke_run_description r;
    char *text = edited("\"step\": 7", one[i].new);

    ck_assert_int_eq(parse(&r, text), CLARKE_OK);
    ck_assert_int_eq(r.step[0].again, one[i].again);
    clarke_run_description_clear(&r);
    free(text);
  }
}
END_TEST

START_TEST(objects)
{
  clarke_error err = {CLARKE_OK, ""};
  json_t *j;
  char *text = NULL;

  ck_assert_int_eq(clarke_object_parse(&j, "{\"a\": \"b\", \"n\": 1}", 18, "f", &err), CLARKE_OK);
  ck_assert_int_eq(clarke_object_text(&text, json_object_get(j, "a"), "a", &err), CLARKE_OK);
  ck_assert_str_eq(text, "b");
  free(text);
  ck_assert_int_eq(clarke_object_text(&text, json_object_get(j, "n"), "n", &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "'n': expected a text");
  ck_assert_int_eq(clarke_object_text(&text, json_object_get(j, "m"), "m", &err), CLARKE_EINPUT);
  json_decref(j);
  ck_assert_int_eq(clarke_object_parse(&j, "[1,]", 4, "f", &err), CLARKE_EINPUT);
  ck_assert_int_eq(strncmp(err.text, "f: is no JSON: line 1: ", 23), 0);
  ck_assert_int_eq(clarke_object_wrong("k", "1", &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "'k': expected 1");
}
END_TEST

START_TEST(refusals)
{
  static const struct {
    const char *old, *new, *says;
  } one[] = {
    {"{\"format\"", "\"format\"", "no JSON: line 1"},
    {"\"more\"", "\"version\"", "no JSON: line 1: duplicate"},
    {"\"clarke-run\"", "\"run\"", "'format': expected \"clarke-run\""},
    {"\"version\": 1", "\"version\": 2", "'version': expected 1"},
    {"\"version\": 1", "\"version\": \"1\"", "'version': expected 1"},
    {"\"torch\"", "7", "'name': expected a text"},
    {"\"pytorch-2.13\"", "null", "'profile': expected a text"},
    {"\"pytorch-2.13\"", "\"/etc/own.profile\"", "'profile': expected a known profile, or a plain name in the folder"},
    {"\"pytorch-2.13\"", "\"../own.profile\"", "'profile': expected a known profile, or a plain name in the folder"},
    {"[\"bfloat16\", \"float32\"]", "[]", "'dtypes': expected a list of one text or more"},
    {"\"bfloat16\"", "16", "'dtypes': expected a text"},
    {"\"tf32_cudnn\": true", "\"tf32_cudnn\": 1", "'flags': expected precision, or tf32_matmul"},
    {"\"tf32_matmul\"", "\"precision\": {\"cpu\": {\"matmul\": \"ieee\", \"conv\": \"bf17\"}}, \"tf32_matmul\"", "'flags': expected precision, with matmul"},
    {"\"tf32_matmul\"", "\"precision\": {\"cuda\": {\"matmul\": \"ieee\", \"conv\": \"ieee\"}}, \"tf32_matmul\"", "'flags': expected precision, with matmul"},
    {"\"highest\"", "3", "'flags': expected precision, or tf32_matmul"},
    {"\"graph\": {", "\"graphs\": {", "'graph': expected a file with its sha256"},
    {"graph.onnx", "../graph.onnx", "'graph': expected a plain name in the folder"},
    {"b.npz", "/b.npz", "'batch': expected a plain name"},
    {"p.safetensors", ".p", "'parameters': expected a plain name"},
    {"g.safetensors", "", "'gradients': expected a plain name"},
    {"t.safetensors", "a/b", "'trace': expected a plain name"},
    {"\"t.safetensors\", \"sha256\": \"01", "\"t.safetensors\", \"sha256\": \"1", "'trace': expected a file with its sha256, 64 digits"},
    {"\"t.safetensors\", \"sha256\": \"" DIGEST "\"", "\"t.safetensors\", \"sha256\": null", "'trace': expected a file with its sha256"},
    {"\"t.safetensors\", \"sha256\": \"" DIGEST "\"", "\"t.safetensors\", \"sha256\": \"\"", "'trace': expected a file with its sha256"},
    {"\"trace\": " FILE_OF("t.safetensors"), "\"trace\": \"t.safetensors\"", "'trace': expected a file"},
    {"\"trace\": " FILE_OF("t.safetensors"), "\"trace\": {}", "'file': expected a text"},
    {"\"trace\": " FILE_OF("t.safetensors"), "\"trees\": {\"file\": \"t.json\"}", "'trees': expected a file with its sha256"},
    {"\"sha256\": \"01", "\"sha256\": \"0A", "expected a file with its sha256, 64 digits"},
    {"\"sha256\": \"01", "\"sha256\": \"1", "expected a file with its sha256, 64 digits"},
    {"\"gradients\"", "\"gradient\"", "'gradients': expected a file"},
    {"\"step\": 7", "\"step\": -1", "'step': expected a number"},
    {"\"step\": 7", "\"step\": 7, \"again\": true", "'again': expected \"calls\", \"loss\", \"program\" or null"},
    {"\"step\": 7", "\"step\": 7, \"again\": \"all\"", "'again': expected"},
    {"1024/3", "0", "'loss_scale': expected a text that is a number, and not 0"},
    {"1024/3", "many", "'loss_scale': expected"},
    {"\"1024/3\"", "1024", "'loss_scale': expected"},
    {"\"steps\": [{", "\"step\": [{", "'steps': expected a list of one step or more"},
    {"0.bias", "0\\u0007", "parameters"},
  };

  for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
    clarke_run_description r;
    char *text = edited(one[i].old, one[i].new);

    ck_assert_int_eq(parse(&r, text), CLARKE_EINPUT);
    ck_assert_msg(strncmp(error.text, "run.json: ", 10) == 0 && strstr(error.text, one[i].says) != NULL, "%s: %s", one[i].new,
                  error.text);
    ck_assert(r.n_steps == 0 && r.graph.name == NULL);
    free(text);
  }
}
END_TEST

#define UPDATE(more) "\"steps\": [{\"update\": {\"optimizer\": \"SGD\", \"module\": \"torch.optim.sgd\", " more "}, "

/* An optimizer's step: its settings are exact. */
START_TEST(an_update)
{
  static const char group[] = "\"groups\": [{\"parameters\": [\"0.weight\"], \"path\": \"single\", \"lr\": \"-0x1p-3\", \"betas\": [\"0x1.8p-1\", 1],"
                              " \"nesterov\": true, \"foreach\": null, \"name\": \"a\", \"t\": {\"tensor\": \"float32\", \"value\": \"0x1p+1\"}}]";
  char text[1024], *whole_text;
  clarke_run_description r;
  const clarke_run_update *u;
  const clarke_run_group *g;

  snprintf(text, sizeof text, UPDATE("%s, \"grad_scale\": \"0x1p+3\", \"found_inf\": \"0x1p+0\""), group);
  whole_text = edited("\"steps\": [{", text);
  ck_assert_int_eq(parse(&r, whole_text), CLARKE_OK);
  u = &r.step[0].update;
  ck_assert(u->there && u->scaled && u->found_inf && mpq_cmp_ui(u->scale, 8, 1) == 0 && u->skipped == NULL && u->missing == NULL);
  ck_assert(strcmp(u->optimizer, "SGD") == 0 && strcmp(u->module, "torch.optim.sgd") == 0 && u->n_groups == 1);
  g = &u->group[0];
  ck_assert(strcmp(g->path, "single") == 0 && g->n_parameters == 1 && strcmp(g->parameter[0], "0.weight") == 0 && g->n_settings == 6);
  ck_assert(clarke_run_setting_find(g, "lr")->n == 1 && mpq_cmp_si(clarke_run_setting_find(g, "lr")->number[0], -1, 8) == 0);
  ck_assert(clarke_run_setting_find(g, "betas")->n == 2 && mpq_cmp_ui(clarke_run_setting_find(g, "betas")->number[0], 3, 4) == 0);
  ck_assert(clarke_run_setting_find(g, "nesterov")->is_flag && clarke_run_setting_find(g, "nesterov")->flag);
  ck_assert(!clarke_run_setting_find(g, "foreach")->is_flag && clarke_run_setting_find(g, "foreach")->n == 0);
  ck_assert_str_eq(clarke_run_setting_find(g, "name")->text, "a");
  ck_assert(clarke_run_setting_find(g, "t")->bits == 24 && clarke_run_setting_find(g, "lr")->bits == 53 && mpq_cmp_ui(clarke_run_setting_find(g, "t")->number[0], 2, 1) == 0);
  ck_assert_ptr_null(clarke_run_setting_find(g, "eps"));
  clarke_run_description_clear(&r);
  free(whole_text);
}
END_TEST

/* By itself, as other readers may have it. */
START_TEST(an_update_alone)
{
  json_t *j = json_pack("{s:s, s:s}", "optimizer", "Adam", "skipped", "not called");
  clarke_run_update u;

  clarke_run_update_init(&u);
  ck_assert_int_eq(clarke_run_update_read(&u, NULL, &error), CLARKE_OK);
  ck_assert(!u.there);
  ck_assert_int_eq(clarke_run_update_read(&u, j, &error), CLARKE_OK);
  ck_assert(u.there && u.n_groups == 0 && strcmp(u.skipped, "not called") == 0);
  clarke_run_update_clear(&u);
  json_decref(j);
  clarke_run_update_init(&u);
  j = json_integer(3);
  ck_assert_int_eq(clarke_run_update_read(&u, j, &error), CLARKE_EINPUT);
  clarke_run_update_clear(&u);
  json_decref(j);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("run");

  tcase_add_test(tests, all_is_read);
  tcase_add_test(tests, products);
  tcase_add_test(tests, without_a_hash);
  tcase_add_test(tests, lists_of_texts);
  tcase_add_test(tests, outside_the_reals);
  tcase_add_test(tests, run_again);
  tcase_add_test(tests, objects);
  tcase_add_test(tests, refusals);
  tcase_add_test(tests, an_update);
  tcase_add_test(tests, an_update_alone);
  return run_tests();
}
