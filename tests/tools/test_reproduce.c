/* clarke reproduce as its users meet it: the shipped cases all come out as they say is true; a case
 * that says something else fails; what is no case is refused with its line; proofs verify. */
#include "report.h"

#include <sys/stat.h>

static void
file_has(const char *name, const char *piece)
{
  char *text = text_of(name);

  ck_assert_msg(strstr(text, piece) != NULL, "expected '%s' in:\n%s", piece, text);
  free(text);
}

/* A case in the folder cases/. */
static void
save_case(const char *name, const char *text)
{
  char path[512];
  FILE *f;

  snprintf(path, sizeof path, "%s/cases/%s", folder, name);
  f = fopen(path, "wb");
  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
}

static void
setup(void)
{
  char path[128];

  make_folder("reproduce");
  snprintf(path, sizeof path, "%s/cases", folder);
  ck_assert_int_eq(mkdir(path, 0777), 0);
}

#define LEMMA "#: claim L\n#: where here\n#: says so\n#: at w=0\n"
#define LEMMA_IN_SMALL "#: claim L\n#: where here\n#: says so\n#: small one step\n#: at w=0\n"
#define SAID "#: claim L\n#: where here\n#: says so\n"
#define PROGRAM "input w\noutput relu(w) - relu(-w)\n"

START_TEST(test_outcomes)
{
  save_case("a.prog", LEMMA "#: expect ad 0\n#: expect clarke {1}\n#: expect verdict not-in-clarke\n"
                      PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  file_has("out", "| L     | agree        | w=0");
  file_has("out", "1 checks of 1 claims: 1 agree");
  save_case("a.prog", LEMMA "#: claimed ad 1\n#: expect ad 0\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  file_has("out", "| L     | paper wrong  | w=0          | ad 1 | ad 0 | here |");
  save_case("a.prog", LEMMA "#: expect ad 1\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 1);
  file_has("out", "| L     | DISAGREE     | w=0          | ad 1 | ad 0 (expected 1) | here |");
  save_case("a.prog", "#: claim L\n#: where here\n#: says so\n#: cannot-check too hard\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  file_has("out", "| L     | cannot check |              | so | too hard | here |");
}
END_TEST

/* A claim whose experiment is asked in small never counts as one that agrees; a wrong one is as wrong. */
START_TEST(test_small)
{
  save_case("a.prog", LEMMA_IN_SMALL "#: expect ad 0\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  file_has("out", "| L     | in small     | w=0          | ad 0 | ad 0 | here; here: one step |");
  file_has("out", "1 checks of 1 claims: 0 agree, 1 in small, the paper is wrong in 0, 0 disagree");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases --json"), 0);
  file_has("out", "\"small\": \"one step\"");
  file_has("out", "\"in_small\": 1");
  save_case("a.prog", LEMMA_IN_SMALL "#: claimed ad 1\n#: expect ad 0\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  file_has("out", "| L     | paper wrong  |");
  save_case("a.prog", LEMMA_IN_SMALL "#: claimed value 1\n#: expect value 0\n#: expect ad 1\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 1);
  file_has("out", "| L     | DISAGREE     |");
}
END_TEST

/* Each of these is false: a check that could not fail would pass them. */
START_TEST(test_wrong_expectations)
{
  static const char *const facts[] = {
    "value 1", "ad 1", "ad (0, 0)", "bouligand {0}", "bouligand {1, 2}", "clarke [0, 1]",
    "clarke {1, 0}", "conservative {1}", "conservative [0, 3]", "conservative-singleton yes",
    "selection {0}", "associated 0", "representation no", "differentiable no", "zone regular",
    "least 0", "verdict in-clarke", "touched 1", "instructions 0", "widths 1", "widths (1, 1)",
    "coefficients {1}", "ascent yes", "float32-ad 1", "float64-value 1/3", "float16-ad unknown",
    "ad ~0.5", "value ~1", "clarke ~1",
  };

  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    char text[512];

    snprintf(text, sizeof text, LEMMA "#: expect %s\n" PROGRAM "piece w\n", facts[i]);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "'%s' did not fail", facts[i]);
  }
}
END_TEST

START_TEST(test_right_expectations)
{
  save_case("a.prog",
            LEMMA "#: at w=0\n#: expect value 0\n#: expect ad ~0.0\n#: expect bouligand {1}\n"
                  "#: expect conservative {2, 0}\n#: expect conservative-singleton no\n"
                  "#: expect selection {1}\n#: expect associated 1\n#: expect representation yes\n"
                  "#: expect differentiable yes\n#: expect zone bifurcation\n#: expect least 1\n"
                  "#: expect touched 2\n#: expect widths 2\n#: expect coefficients {-1, 1}\n"
                  "#: expect ascent no\n#: expect bfloat16-ad 0\n#: proxy Relu 0 1/3\n#: at w=0\n"
                  "#: expect ad 2/3\n#: expect ad 2/3\n" PROGRAM "piece w\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 2); /* ad is said twice */
  file_has("err", "a.prog:25: this is said twice");
  save_case("a.prog",
            LEMMA "#: at w=0\n#: expect value 0\n#: expect ad ~0.0\n#: expect bouligand {1}\n"
                  "#: expect conservative {2, 0}\n#: expect conservative-singleton no\n"
                  "#: expect selection {1}\n#: expect associated 1\n#: expect representation yes\n"
                  "#: expect differentiable yes\n#: expect zone bifurcation\n#: expect least 1\n"
                  "#: expect touched 2\n#: expect widths 2\n#: expect coefficients {-1, 1}\n"
                  "#: expect ascent no\n#: expect bfloat16-ad 0\n#: proxy Relu 0 1/3\n#: at w=0\n"
                  "#: expect ad 2/3\n#: expect float32-ad 0.6666667f\n"
                  "#: claimed verdict in-clarke\n#: expect verdict not-in-clarke\n" PROGRAM
                  "piece w\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  file_has("out", "3 checks of 1 claims: 2 agree, 0 in small, the paper is wrong in 1, 0 disagree");
}
END_TEST

/* Decimals stand for what rounds to them, and for nothing else. */
START_TEST(test_decimals)
{
  static const struct {
    const char *text;
    int status;
  } cases[] = {
    {"value ~0.5", 0},     {"value ~0.54", 0},  {"value ~0.5403023", 0}, {"value ~5.40e-1", 0},
    {"value ~0.55", 1},    {"value ~0.541", 1}, {"value ~5.41e-1", 1},   {"value ~-0.54", 1},
    {"value 0.5403023", 1}, {"ad ~-0.8415", 0}, {"ad ~-0.8414", 1},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[256];

    snprintf(text, sizeof text, "#: claim C\n#: where w\n#: says s\n#: at t=1\n#: expect %s\n"
                                "input t\noutput cos(t)\n", cases[i].text);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == cases[i].status, "%s", cases[i].text);
  }
}
END_TEST

START_TEST(test_bad_cases)
{
  static const struct {
    const char *text, *message;
  } bad[] = {
    {PROGRAM, "a.prog: no claim in it"},
    {"#: where x\n" PROGRAM, "a.prog:1: the first header line is a claim"},
    {"#: claim a/b\n" PROGRAM, "a.prog:1: a claim's name"},
    {"#: claim L\n#: where x\n#: says y\n" PROGRAM, "a.prog:1: a claim needs"},
    {"#: claim L\n#: at w=0\n#: expect ad 0\n" PROGRAM, "a.prog:1: a claim needs"},
    {LEMMA PROGRAM, "a.prog:4: nothing is expected here"},
    {LEMMA "#: claimed ad 0\n" PROGRAM, "a.prog:5: what is claimed needs an expect"},
    {LEMMA "#: expect adx 0\n" PROGRAM, "a.prog:5: no such key: 'adx'"},
    {LEMMA "#: expect ad\n" PROGRAM, "a.prog:5: expected a key and a value"},
    {LEMMA "#: whither ad\n" PROGRAM, "a.prog:5: 'whither': expected claim"},
    {"#: claim L\n#: expect ad 0\n" PROGRAM, "a.prog:2: expect and claimed come after an at"},
    {"#: claim L\n#: network a.onnx a.npz\n#: expect ad 0\n", "a.prog:3: no such key: 'ad'"},
    {LEMMA "#: expect systems none\n" PROGRAM, "a.prog:5: no such key: 'systems'"},
    {"#: claim L\n#: line 0 1\n#: expect ad 0\n" PROGRAM, "a.prog:3: no such key: 'ad'"},
    {LEMMA "#: expect ad 0\ninput w\noutput v\n", "a.prog:7:"},
  };

  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    save_case("a.prog", bad[i].text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 2, "%s", bad[i].message);
    file_has("err", bad[i].message);
  }
  ck_assert_int_eq(run(CLARKE " reproduce --cases nowhere"), 2);
  ck_assert_int_eq(run(CLARKE " reproduce a b"), 2);
}
END_TEST

/* What is wrong at the point is said in the row. */
START_TEST(test_bad_points)
{
  static const struct {
    const char *at, *message;
  } bad[] = {
    {"v=0", "v"}, {"w=1,2", "1"}, {"w=x", "x"}, {"w=0 w=0", "w"},
  };

  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[256];

    snprintf(text, sizeof text,
             "#: claim L\n#: where here\n#: says so\n#: at %s\n#: expect ad 0\n" PROGRAM, bad[i].at);
    save_case("a.prog", text);
    ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 1);
    file_has("out", "a.prog:4");
    file_has("out", bad[i].message);
  }
}
END_TEST

/* A check of a network is one of the files that it names, which lie beside the case. */
START_TEST(test_networks)
{
  static const struct {
    const char *network, *message;
  } bad[] = {
    {"a.onnx", "expected MODEL BATCH"},
    {"a.onnx a.npz sum more", "expected MODEL BATCH"},
    {"../a.onnx a.npz sum", "beside the case"},
    {"a.onnx b.npz sum", "b.npz"},
    {"a.onnx a.npz none", "none"},
  };

  ck_assert_int_eq(run("cp " CASES "/park-h-f1.onnx cases/a.onnx && cp " CASES "/park-h-f1.npz cases/a.npz"), 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[256];

    snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: network %s\n#: expect touched 2\n", bad[i].network);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "%s", bad[i].network);
    file_has("out", "a.prog:4");
    file_has("out", bad[i].message);
  }
  /* Layers are counted that are trained, whatever kinks are touched; a fixed matrix is none. */
  save_case("a.prog", "#: claim L\n#: where here\n#: says so\n#: network a.onnx a.npz sum\n#: expect layers 1\n#: expect depth 1\n"
                      "#: expect convolutions 0\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
  /* A profile is the check's, and so are the inputs; no program is needed. */
  save_case("a.prog", "#: claim L\n#: where here\n#: says so\n#: network a.onnx a.npz sum\n#: expect systems rho: 2 rows, empty\n"
                      "#: expect zone bifurcation\n#: expect theorem-5 none\n#: proxy Relu 0 1/2\n#: network a.onnx a.npz sum\n"
                      "#: expect verdict in-bouligand\n#: expect theorem-8 none\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases --proofs p"), 0);
  ck_assert_int_eq(run(CHECKER " p/L-1.proof --data cases && " CHECKER " p/L-2.proof --data cases"), 0);
  /* The answer is of the files: with other weights it is another one. */
  ck_assert_int_eq(run("cp " CASES "/park-h-f2.onnx cases/a.onnx"), 0);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 1);
}
END_TEST

/* A profile's surrogates make another function: a program's case is none of it, nor is a segment's. */
START_TEST(test_surrogates)
{
  static const char *const asked[] = {"at w=1/4", "line 0 1"};

  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    char text[256];

    snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: proxy surrogate Round all\n#: %s\n#: expect %s\n" PROGRAM, asked[i],
             i == 0 ? "ad 0" : "integral 0");
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "%s", asked[i]);
    file_has("out", "makes another function");
  }
}
END_TEST

/* Along a segment, whose ends are numbers: no file is read for them. */
START_TEST(test_lines)
{
  static const char *const bad[] = {"0", "0 1 2", "out 1", "0,1 2,3", "0 0", "a.prog 1", ". ,"};

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[256];

    snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: line %s\n#: expect integral 0\n" PROGRAM, bad[i]);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "%s", bad[i]);
    file_has("out", "a.prog:4");
  }
  save_case("a.prog", "#: claim L\n#: where here\n#: says so\n#: proxy Relu 0 5\n#: line -1 3\n#: expect integral 6\n#: expect pieces 2\n"
                      "#: line -1 3/2\n#: expect difference 3\ninput w\noutput 2*relu(w)\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases --proofs p"), 0);
  ck_assert_int_eq(run(CHECKER " p/L-1.proof --data cases && " CHECKER " p/L-2.proof --data cases"), 0);
}
END_TEST

/* Drawn instances are the same each time; what is counted is compared. No proof is of them, nor are they counted among proofs. */
START_TEST(test_suites)
{
  static const struct {
    const char *suite, *message;
  } bad[] = {
    {"lemma-12", "expected NAME COUNT SEED"},
    {"lemma-12 5", "expected NAME COUNT SEED"},
    {"lemma-12 5 1 2", "expected NAME COUNT SEED"},
    {"lemma-12 -5 1", "expected NAME COUNT SEED"},
    {"lemma-12 0 1", "expected NAME COUNT SEED"},
    {"lemma-12 100001 1", "at most 100000"},
    {"lemma-99 5 1", "no such suite: 'lemma-99'"},
  };
  static const char *const facts[] = {"holds 4", "holds 6", "fails 1", "not-known 1", "touched 0", "empty 1", "differ 1", "holds unknown"};
  char text[512];

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: suite %s\n#: expect fails 0\n", bad[i].suite);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "%s", bad[i].suite);
    file_has("out", bad[i].message);
  }
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: suite lemma-12 5 1\n#: expect %s\n", facts[i]);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "'%s' did not fail", facts[i]);
  }
  save_case("a.prog", LEMMA "#: expect verdict not-in-clarke\n#: suite lemma-12 5 1\n#: expect holds 5\n#: expect fails 0\n#: expect empty 0\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases --proofs p --json > first && ls p"), 0);
  file_has("out", "L.proof");
  ck_assert_int_eq(run("test ! -e p/L-1.proof && test ! -e p/L-2.proof"), 0);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases --proofs p --json | cmp - first"), 0);
  save_case("a.prog", "#: claim L\n#: where here\n#: says so\n#: suite lemma-12 5 1\n#: expect ad 0\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 2);
  file_has("err", "no such key: 'ad'");
}
END_TEST

/* Other seeds draw other instances. */
START_TEST(test_seeds)
{
  ck_assert_int_eq(run("for seed in 1 2 3; do printf '#: claim L\n#: where here\n#: says so\n#: suite lemma-12 50 %%s\n#: expect holds 50\n"
                       "#: expect touched 1\n' $seed > cases/a.prog; " CLARKE " reproduce --cases cases --json | grep -o '\"computed\": \"[0-9]*\"' > $seed; done; "
                       "cat 1 2 3 && ! cmp -s 1 2 && ! cmp -s 2 3"), 0);
}
END_TEST

/* In how many of 300 steps a kink is touched. */
static unsigned
touching(unsigned seed)
{
  char text[256];
  json_t *j;
  unsigned n;

  snprintf(text, sizeof text, SAID "#: training a.onnx a.npz bfloat16 %u 300 1/256 sum\n#: expect touching 1000\n", seed);
  save_case("a.prog", text);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases --json"), 1);
  j = report();
  n = (unsigned)strtoul(json_string_value(json_object_get(json_array_get(json_object_get(json_array_get(json_object_get(j, "rows"), 0), "facts"), 0),
                                                          "computed")), NULL, 10);
  json_decref(j);
  return n;
}

/* One weight w, drawn in [-1, 1), and w -> relu(w) - relu(-w) = w: the gradient is 1, until w is at 0. There AD gives 0, which is not in
 * the Clarke set, and the training stays; with ReLU'(0) = 1/2 it gives 1, and goes on. */
START_TEST(test_trainings)
{
  static const struct {
    const char *training, *message;
  } bad[] = {
    {"a.onnx a.npz", "expected MODEL BATCH FORMAT"},
    {"a.onnx a.npz float99 1 2 1 sum", "float99"},
    {"a.onnx a.npz float32 0 2 1 sum", "expected MODEL BATCH FORMAT"},
    {"a.onnx a.npz float32 1 0 1 sum", "expected MODEL BATCH FORMAT"},
    {"a.onnx a.npz float32 1 2 x sum", "expected MODEL BATCH FORMAT"},
    {"a.onnx a.npz float32 1 2 1 sum more", "expected MODEL BATCH FORMAT"},
    {"a.onnx b.npz float32 1 2 1 sum", "b.npz"},
    {"a.onnx a.npz float32 1 100001 1 sum", "at most 100000 steps"},
    {"a.onnx a.npz float32 5000000000 1 1 sum", "seed of 32 bits"},
  };
  char text[1024];
  unsigned met = 0;

  ck_assert_int_eq(run("cp " CASES "/park-h-f1.onnx cases/a.onnx && cp " CASES "/park-h-f1.npz cases/a.npz"), 0);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    snprintf(text, sizeof text, SAID "#: training %s\n#: expect steps 2\n", bad[i].training);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "%s", bad[i].training);
    file_has("out", bad[i].message);
  }
  /* In bfloat16 a weight of at least 1/2 is a multiple of 1/256. */
  for (unsigned seed = 1; seed < 20 && met < 2; seed++) {
    const unsigned at_zero = touching(seed), n = 300 - at_zero;

    if (at_zero == 0)
      continue;
    met++;
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_lt(n, 256);
    snprintf(text, sizeof text,
             SAID "#: training a.onnx a.npz bfloat16 %u 300 1/256 sum\n#: expect steps 300\n#: expect touched %u\n#: expect not-in-clarke %u\n"
             "#: expect in-bouligand %u\n#: expect theorem-8 %u\n#: expect bifurcation %u\n#: expect regular %u\n"
             "#: training a.onnx a.npz bfloat16 %u %u 1/256 sum\n#: expect touching 0\n"
             "#: training a.onnx a.npz bfloat16 %u %u 1/256 sum\n#: expect touching 1\n"
             "#: against Relu 0 1/2\n#: training a.onnx a.npz bfloat16 %u 300 1/256 sum\n#: expect touching %u\n#: expect parts-at %u\n"
             "#: proxy Relu 0 1/2\n#: training a.onnx a.npz bfloat16 %u 300 1/256 sum\n#: expect touching 1\n#: expect in-bouligand 300\n",
             seed, 2 * at_zero, at_zero, n, n, at_zero, n, seed, n, seed, n + 1, seed, at_zero, n + 1, seed);
    save_case("a.prog", text);
    ck_assert_int_eq(run(CLARKE " reproduce --cases cases --proofs p && ls p | wc -l | grep -x 0"), 0);
  }
  ck_assert_uint_eq(met, 2);
}
END_TEST

/* A sweep of drawn weights says what `clarke sweep` says of the same seeds. */
START_TEST(test_sweeps)
{
  static const char *const bad[] = {"small-relu.onnx", "small-relu.onnx small-digits.npz 0 2", "small-relu.onnx small-digits.npz 1 0",
                                    "small-relu.onnx small-digits.npz 1 2 ce more", "small-relu.onnx small-digits.npz 1 10001",
                                    "small-relu.onnx none.npz 1 2"};
  static const char *const keys[][2] = {{"equal", "zero"}, {"rounding", "rounding"}, {"branch", "branch"}, {"bifurcation", "bifurcation"}};
  char text[1024];
  json_t *j, *counts;

  ck_assert_int_eq(run("cp " CASES "/small-* cases && echo 'Relu 0 1' > cases/one.profile"), 0);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: against Relu 0 1\n#: sweep %s\n#: expect jobs 2\n", bad[i]);
    save_case("a.prog", text);
    ck_assert_msg(run(CLARKE " reproduce --cases cases") == 1, "%s", bad[i]);
  }
  save_case("a.prog", "#: claim L\n#: where here\n#: says so\n#: sweep small-relu.onnx small-digits.npz 1 2\n#: expect jobs 2\n");
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 1);
  file_has("out", "another profile");
  save_case("sweep.json", "{\"model\": \"small-relu.onnx\", \"batches\": [\"small-digits.npz\"], \"profiles\": [\"pytorch-2.13\", \"one.profile\"], "
                          "\"formats\": [\"float16\"], \"seeds\": {\"from\": 7, \"count\": 25}}");
  ck_assert_int_eq(run(CLARKE " sweep cases/sweep.json -o s.jsonl --json"), 0);
  j = report();
  counts = json_array_get(json_object_get(j, "groups"), 0);
  ck_assert_ptr_nonnull(counts);
  snprintf(text, sizeof text, "#: claim L\n#: where here\n#: says so\n#: against Relu 0 1\n#: sweep small-relu.onnx small-digits.npz 7 25\n#: expect jobs 25\n");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "#: expect float16-%s %d\n", keys[i][0],
             (int)json_integer_value(json_object_get(counts, keys[i][1])));
  ck_assert(json_integer_value(json_object_get(counts, "branch")) > 0);
  json_decref(j);
  save_case("a.prog", text);
  ck_assert_int_eq(run(CLARKE " reproduce --cases cases"), 0);
}
END_TEST

START_TEST(test_pattern_and_json)
{
  json_t *j, *row;

  save_case("a.prog", LEMMA "#: expect ad 0\n#: claim M\n#: where there\n#: says more\n#: at w=1\n"
                            "#: claimed ad 2\n#: expect ad 1\n" PROGRAM);
  ck_assert_int_eq(run(CLARKE " reproduce 'M*' --cases cases --json"), 0);
  j = report();
  ck_assert_uint_eq(json_array_size(json_object_get(j, "rows")), 1);
  row = json_array_get(json_object_get(j, "rows"), 0);
  ck_assert_str_eq(json_string_value(json_object_get(row, "claim")), "M");
  ck_assert_str_eq(json_string_value(json_object_get(row, "outcome")), "paper wrong");
  row = json_array_get(json_object_get(row, "facts"), 0);
  ck_assert_str_eq(json_string_value(json_object_get(row, "claimed")), "2");
  ck_assert_str_eq(json_string_value(json_object_get(row, "computed")), "1");
  ck_assert(json_is_true(json_object_get(row, "agrees")));
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " reproduce 'X*' --cases cases"), 2);
  file_has("err", "no claim matches 'X*'");
}
END_TEST

#ifdef SANITIZED /* they keep what was freed */
#define MEMORY " --memory 16G"
#else
#define MEMORY ""
#endif

/* Every shipped case that draws nothing; the same bytes each time; each proof verifies. No proof is of what is drawn. */
START_TEST(test_shipped)
{
  json_t *j, *row, *proof;
  size_t i, proofs = 0;

  ck_assert_int_eq(run("cp " CASES "/* cases && rm $(grep -lE '^#: (suite|sweep|training) ' cases/*.prog)"), 0);
  ck_assert_int_eq(run(CLARKE " reproduce" MEMORY " --cases cases --json --proofs proofs > first"), 0);
  ck_assert_int_eq(run(CLARKE " reproduce" MEMORY " --cases cases --json --proofs proofs > second"), 0);
  ck_assert_int_eq(run("cmp first second && cat first"), 0);
  j = report();
  json_array_foreach(json_object_get(j, "rows"), i, row) {
    proof = json_object_get(row, "proof");
    if (proof == NULL || !json_is_string(proof))
      continue;
    proofs++;
    ck_assert_msg(run(CHECKER " proofs/%s --data " CASES, json_string_value(proof)) == 0, "%s",
                  json_string_value(proof));
  }
  ck_assert_uint_ge(proofs, 100);
  json_decref(j);
  /* What is stored are these proofs: none is missing or another, and none is of no check. */
  ck_assert_int_eq(run("diff -r proofs " STORED), 0);
}
END_TEST

int
main(void)
{
  TCase *c = tests_of("reproduce");

  tcase_add_checked_fixture(c, setup, remove_folder);
  tcase_add_test(c, test_outcomes);
  tcase_add_test(c, test_small);
  tcase_add_test(c, test_wrong_expectations);
  tcase_add_test(c, test_right_expectations);
  tcase_add_test(c, test_decimals);
  tcase_add_test(c, test_bad_cases);
  tcase_add_test(c, test_bad_points);
  tcase_add_test(c, test_networks);
  tcase_add_test(c, test_surrogates);
  tcase_add_test(c, test_lines);
  tcase_add_test(c, test_suites);
  tcase_add_test(c, test_seeds);
  tcase_add_test(c, test_trainings);
  tcase_add_test(c, test_sweeps);
  tcase_add_test(c, test_pattern_and_json);
  tcase_add_test(c, test_shipped);
  return run_tests();
}
