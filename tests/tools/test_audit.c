/* clarke audit as its users meet it: exit statuses, the report's keys, the same bytes every time,
 * nothing written on errors, and every shipped case with its proof. */
#include "../draw.h"
#include "../format/files.h"
#include "report.h"
#include "format/file.h"
#include "format/safetensors.h"
#include "format/safetensors_write.h"

#include <math.h>

/* --- the folder's own files ------------------------------------------------------------------ */

/* y = relu(x W + b), 2 -> 2; its weights in NAME.data if they are to lie beside it. */
static void
save_little_model(const char *name, bool beside)
{
  clarke_model m;
  double *w, *b;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2,));
  w = model_floats(&m, "W", SHAPE(2, 2,));
  b = model_floats(&m, "b", SHAPE(2,));
  w[0] = 1, w[1] = -1, w[2] = 2, w[3] = 0;
  b[0] = 0, b[1] = 3;
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, "Add", "p,b", "s");
  model_node(&m, "Relu", "s", "z");
  model_output(&m, "z");
  if (beside)
    save_model_and_data(folder, name, &m);
  else
    save_model(folder, name, &m);
  clarke_model_clear(&m);
}

/* y = the largest of clip(x W + b, -9, 9), which is at no kink. */
static void
save_capped_model(void)
{
  clarke_model m;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2,));
  model_floats(&m, "W", SHAPE(2, 2,))[0] = 1;
  m.tensors[0].real[3] = -1;
  model_floats(&m, "b", SHAPE(2,));
  model_floats(&m, "low", SHAPE())[0] = -9;
  model_floats(&m, "high", SHAPE())[0] = 9;
  memcpy(model_integers(&m, "shape", SHAPE(3,)), (int64_t[]){-1, 1, 2}, 3 * sizeof(int64_t));
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, "Add", "p,b", "s");
  model_node(&m, "Clip", "s,low,high", "c");
  model_node(&m, "Reshape", "c,shape", "r");
  attr_ints(model_node(&m, "MaxPool", "r", "z"), "kernel_shape", SHAPE(2,));
  model_output(&m, "z");
  save_model(folder, "capped.onnx", &m);
  clarke_model_clear(&m);
}

/* sigmoid(p) + sigmoid(-p) - 1 is zero, but no enclosure says so. */
static void
save_open_model(void)
{
  clarke_model m;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2,));
  model_floats(&m, "W", SHAPE(2, 2,))[0] = 1;
  m.tensors[0].real[1] = m.tensors[0].real[2] = -1;
  m.tensors[0].real[3] = 1;
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, "Sigmoid", "p", "s");
  model_floats(&m, "V", SHAPE(2, 1,))[0] = 1;
  m.tensors[1].real[1] = 1;
  model_node(&m, "MatMul", "s,V", "one");
  model_floats(&m, "C", SHAPE(1,))[0] = -1;
  model_node(&m, "Add", "one,C", "zero");
  model_node(&m, "Relu", "zero", "z");
  model_output(&m, "z");
  save_model(folder, "open.onnx", &m);
  clarke_model_clear(&m);
}

/* Weights for net.onnx: those of its own, and with a neuron that is 0 for each of the samples, by a
 * bias of its own. */
static void
save_checkpoints(void)
{
  clarke_tensor t[2] = {tensor_of("W", CLARKE_F64, SHAPE(2, 2,)), tensor_of("b", CLARKE_F64, SHAPE(2,))};
  const clarke_tensor *const both[] = {&t[0], &t[1]};
  static const double w[] = {1, -1, 2, 0}, bias[] = {0, 3};
  clarke_tensors ts = {2, t};
  char path[512];
  bytes b;

  memcpy(t[0].real, w, sizeof w);
  memcpy(t[1].real, bias, sizeof bias);
  b = pt_bytes(t, 2);
  save_bytes(folder, "same.pt", &b);
  b = npz_bytes(both, 2);
  save_bytes(folder, "same.npz", &b);
  snprintf(path, sizeof path, "%s/same.safetensors", folder);
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, NULL), CLARKE_OK);
  t[0].real[1] = t[0].real[3] = t[1].real[1] = 0;
  b = pt_bytes(t, 2);
  save_bytes(folder, "zero.pt", &b);
  snprintf(path, sizeof path, "%s/zero.safetensors", folder);
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, NULL), CLARKE_OK);
  b = pt_bytes(t, 1);
  save_bytes(folder, "half.pt", &b);
  clarke_tensor_clear(&t[0]);
  clarke_tensor_clear(&t[1]);
}

static void
save_files(void)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(3, 2,));
  clarke_tensor y = tensor_of("y", CLARKE_I64, SHAPE(3,));
  clarke_tensor other = tensor_of("y", CLARKE_I64, SHAPE(3,));
  clarke_tensor narrow = tensor_of("x", CLARKE_F64, SHAPE(3, 5,));
  clarke_tensor targets = tensor_of("y", CLARKE_F64, SHAPE(3, 1,));
  static const double values[] = {1, -0.5, 2, 0, 3, 7};

  memcpy(x.real, values, sizeof values);
  y.integer[1] = 1;
  other.integer[2] = 2;
  save_little_model("net.onnx", false);
  save_checkpoints();
  save_open_model();
  save_capped_model();
  save_batch(folder, "batch.npz", &x, &y);
  save_batch(folder, "inputs.npz", &x, NULL);
  save_batch(folder, "badlabels.npz", &x, &other);
  save_batch(folder, "narrow.npz", &narrow, NULL);
  save_batch(folder, "targets.npz", &x, &targets);
  clarke_tensor_clear(&x);
  clarke_tensor_clear(&y);
  clarke_tensor_clear(&other);
  clarke_tensor_clear(&narrow);
  clarke_tensor_clear(&targets);
}

static void
begin(void)
{
  make_folder("cli");
  save_files();
}

/* --- tests ----------------------------------------------------------------------------------- */

START_TEST(exit_statuses)
{
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --theorems"), 0);
  file_says("out", "in-bouligand|Relu|net.onnx on 3 samples, loss ce|pytorch-2.13|Theorem 8");
  ck_assert_int_eq(run(CLARKE " audit " CASES "/lemma2.onnx -b " CASES "/lemma2.npz -l sum"), 1);
  file_says("out", "not-in-clarke|NOT an element");
  ck_assert_int_eq(run(CLARKE " audit open.onnx --batch inputs.npz"), 3);
  file_says("out", "undecided|transcendental");
  ck_assert_int_eq(run(CLARKE " audit absent.onnx --batch batch.npz"), 2);
  file_says("err", "clarke audit: |absent.onnx");
  ck_assert_int_eq(run(CLARKE " audit net.onnx"), 2);
  file_says("err", "--batch");
  ck_assert_int_eq(run(CLARKE " audit net.onnx net.onnx --batch batch.npz"), 2);
  ck_assert_int_eq(run(CLARKE " audit --no-such-option net.onnx --batch batch.npz"), 2);
  ck_assert_int_eq(run(CLARKE " no-such-command"), 2);
  file_says("err", "no command 'no-such-command'|audit");
  ck_assert_int_eq(run(CLARKE), 2);
  ck_assert_int_eq(run(CLARKE " --help"), 0);
  file_says("out", "audit|Exit status");
  ck_assert_int_eq(run(CLARKE " --version"), 0);
  file_says("out", "clarke 0.");
  ck_assert_int_eq(run(CLARKE " audit --help"), 0);
  file_says("out", "--batch|--loss|--wrt|--proof|--json|--exact|Example|Exit status");
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz > /dev/full"), 2);
}
END_TEST

static void
has_keys(const json_t *j, const char *keys)
{
  char *copy = strdup(keys), *rest = copy;

  for (char *key; (key = strsep(&rest, " ")) != NULL;)
    ck_assert_msg(json_object_get(j, key) != NULL, "no key '%s'", key);
  free(copy);
}

/* The design's list of keys, with their types. */
static void
check_report(const json_t *j)
{
  const json_t *layers = json_object_get(j, "layers"), *theorems = json_object_get(j, "theorems");
  bool undecided = json_is_string(json_object_get(j, "verdict")) && strcmp(json_string_value(json_object_get(j, "verdict")), "undecided") == 0;

  has_keys(j, "verdict profile semantics batch layers theorems zone");
  ck_assert(json_is_string(json_object_get(j, "verdict")));
  ck_assert_str_eq(json_string_value(json_object_get(j, "semantics")), "real");
  ck_assert_uint_gt(json_array_size(layers), 0);
  for (size_t i = 0; i < json_array_size(layers); i++) {
    const json_t *l = json_array_get(layers, i), *system = json_object_get(l, "system");

    has_keys(l, "name op neurons touched ties nontrivial_ties rank columns system");
    ck_assert(json_is_integer(json_object_get(l, "touched")) || (undecided && json_is_null(json_object_get(l, "touched"))));
    has_keys(system, "constraints variables feasible blocks");
  }
  ck_assert_uint_gt(json_array_size(theorems), 0);
  for (size_t i = 0; i < json_array_size(theorems); i++)
    has_keys(json_array_get(theorems, i), "name applies holds why");
}

START_TEST(reports_have_the_keys_and_are_the_same_each_time)
{
  json_t *j;
  char *first, *second;

  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --json --ranks"), 0);
  j = report();
  check_report(j);
  ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")), "in-bouligand");
  ck_assert_int_eq(json_integer_value(json_object_get(j, "batch")), 3);
  json_decref(j);
  first = text_of("out");
  ck_assert_ptr_null(strstr(first, folder));
  /* From elsewhere, by other paths, with other threads. */
  ck_assert_int_eq(run("cd / && OPENBLAS_NUM_THREADS=2 " CLARKE " audit %s/net.onnx --batch "
                       "%s/batch.npz --json --ranks", folder, folder), 0);
  second = text_of("out");
  ck_assert_str_eq(first, second);
  free(first);
  free(second);
}
END_TEST

START_TEST(loss_defaults_and_values)
{
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch inputs.npz --gradient g.st --json"), 0);
  /* relu(x W + b) = (0, 2) (2, 1) (17, 0); the sum is 22. */
  file_says("out", "\"value\": \"22\"|\"exact\": true|\"loss_kind\": \"sum\"");
  ck_assert(exists("g.st"));
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --gradient g.st --json"), 0);
  file_says("out", "\"loss_kind\": \"ce\"|\"exact\": false");
}
END_TEST

static bool
holds(const clarke_file *f, const char *text)
{
  for (size_t i = 0; i + strlen(text) <= f->size; i++)
    if (memcmp(f->data + i, text, strlen(text)) == 0)
      return true;
  return false;
}

/* The gradient that a command writes: its tensors. */
static clarke_tensors
written_gradient(const char *options)
{
  clarke_tensors ts;
  clarke_file f;
  char path[512];

  ck_assert_int_eq(run(CLARKE " audit %s/lenet.onnx --batch %s/digits.npz --json --gradient g.st %s", CASES, CASES, options), 0);
  snprintf(path, sizeof path, "%s/g.st", folder);
  clarke_tensors_init(&ts);
  ck_assert_int_eq(clarke_file_read(&f, path, NULL), CLARKE_OK);
  ck_assert(holds(&f, "__metadata__") == (*options == '\0')); /* its bounds */
  ck_assert_int_eq(clarke_safetensors_parse(&ts, f.data, f.size, "g.st", NULL), CLARKE_OK);
  clarke_file_clear(&f);
  return ts;
}

/* Of a network this large it has a bound, which is far below float32's rounding, and holds beside the gradient that --exact
 * rounds. */
START_TEST(large_gradients_have_a_bound)
{
  clarke_tensors near = written_gradient(""), exact;
  json_t *j = report();
  const double within = json_real_value(json_object_get(j, "gradient_within"));
  double most = 0;
  size_t other = 0;

  json_decref(j);
  exact = written_gradient("--exact");
  j = report();
  ck_assert(json_object_get(j, "gradient_within") == NULL);
  json_decref(j);
  ck_assert_uint_eq(near.n, exact.n);
  for (size_t i = 0; i < near.n; i++)
    for (size_t e = 0; e < near.tensor[i].count; e++) {
      ck_assert(fabs(near.tensor[i].real[e] - exact.tensor[i].real[e]) <= 2 * within);
      other += exact.tensor[i].real[e] != 0;
      most = fmax(most, fabs(exact.tensor[i].real[e]));
    }
  ck_assert(within > 0 && within < 0x1p-28 * most);
  ck_assert_uint_gt(other, 100);
  clarke_tensors_clear(&near);
  clarke_tensors_clear(&exact);
}
END_TEST

/* An argument that cannot be told from its kink: AD's slope there is unknown, and the verdict is still printed. */
START_TEST(an_undecided_pattern_has_a_verdict_and_no_gradient)
{
  static const char why[] = "the pattern is undecided: no gradient was written";
  json_t *j;

  ck_assert_int_eq(run(CLARKE " audit open.onnx --batch inputs.npz --gradient g.st"), 3);
  file_says("out", "loss about |undecided: |Reason: some arguments of kinks could not be told from the kink");
  file_says("err", why);
  ck_assert(!exists("g.st"));
  ck_assert_int_eq(run(CLARKE " audit open.onnx --batch inputs.npz --gradient g.st --json"), 3);
  j = report();
  check_report(j);
  ck_assert_str_eq(json_string_value(json_object_get(j, "verdict")), "undecided");
  ck_assert(json_is_null(json_object_get(j, "zone")));
  ck_assert(json_is_false(json_object_get(json_object_get(j, "loss"), "exact")));
  json_decref(j);
  ck_assert(!exists("g.st"));
}
END_TEST

/* What stays undecided says which kinks have no side, where the search stopped, and what would settle it. */
static void
check_obstacle(const char *asked, const char *words, const char *kind, size_t sideless, const char *layer)
{
  json_t *j;
  const json_t *o, *first;

  ck_assert_int_eq(run(CLARKE " audit " CASES "/%s", asked), 3);
  file_says("out", words);
  ck_assert_int_eq(run(CLARKE " audit " CASES "/%s --json", asked), 3);
  j = report();
  o = json_object_get(j, "obstacle");
  first = json_array_get(json_object_get(o, "layers"), 0);
  ck_assert_str_eq(json_string_value(json_object_get(o, "kind")), kind);
  ck_assert_int_eq(json_integer_value(json_object_get(o, "sideless")), (json_int_t)sideless);
  ck_assert_str_eq(json_string_value(json_object_get(first, "name")), layer);
  ck_assert(json_is_null(json_object_get(o, "limit")) == (strcmp(kind, "tree-nodes") != 0));
  json_decref(j);
}

START_TEST(an_undecided_verdict_names_what_would_settle_it)
{
#define HAND "../../tests/check/data/"
  static const char ternary[] = "lenet-ternary.onnx --batch " CASES "/images-binary.npz --loss ce --limit tree-nodes=160";

  ck_assert_int_eq(run("printf 'like pytorch-2.13\nAbs 0 2/3\n' > two-thirds"), 0);
  check_obstacle(HAND "quotient.onnx --batch " CASES "/" HAND "quotient.npz --loss sum --wrt w --profile ./two-thirds",
                 "1 kink in abs (neuron 0) and 1 kink in abs2 (neuron 0) leave sides open; the gradient may be any of 4|2 of these "
                 "patterns were shown to occur: whether the others do would settle it", "not-shown-to-occur", 2, "abs");
  check_obstacle(ternary,
                 "3476 kinks in /relu1 (312 neurons) and 599 windows in /pool1 (86 neurons) leave sides open (233 others have a "
                 "direction to AD's); layer by layer they fall into 6 blocks|reached its limit of 160 nodes: --limit tree-nodes=1280 may "
                 "settle it", "tree-nodes", 4075, "/relu1");
  check_obstacle("lenet-overlap-q.onnx --batch " CASES "/images.npz --loss ce",
                 "13 kinks in /relu1|in none a vector separates AD's output|sides for what lies behind the blocks would "
                 "settle it", "behind-blocks", 29, "/relu1");
  check_obstacle("resnet-pool-gamma.onnx --batch " CASES "/images.npz --loss ce",
                 "in none a vector separates AD's output|among the 510 of one are arguments that are not affine", "not-affine", 1020,
                 "/pool1");
  ck_assert_int_eq(run(CLARKE " audit open.onnx --batch inputs.npz"), 3);
  file_says("out", "(3 of them; an identity between these would settle it)");
  ck_assert_int_eq(run(CLARKE " audit " CASES "/lenet-ternary.onnx --batch " CASES "/images-binary.npz --loss ce --limit tree-nodes=320"), 3);
  file_says("out", "reached its limit of 320 nodes: --limit tree-nodes=2560 may settle it");
  ck_assert_int_eq(run(CLARKE " audit " CASES "/lemma2.onnx --batch " CASES "/lemma2.npz --loss sum --json"), 1);
  file_says("out", "\"verdict\"");
  ck_assert_int_eq(run("grep -q obstacle out"), 1);
}
END_TEST

/* Thesis, Definition 7: a network on a blank image has its arguments at 0 whatever the weights; a window of equal
 * entries has several Clarke derivatives too. Only where nothing at all is touched or tied is the zone regular. Of an initial
 * LeNet a blank image's derivative by a filter is not 0; of the same without biases it is. */
START_TEST(zones)
{
  static const struct {
    const char *files, *zone;
    json_int_t touched, flat;
  } network[] = {
    {"capped.onnx --batch inputs.npz", "regular", 0, 0},
    {CASES "/digits-relu.onnx --batch " CASES "/digits.npz", "regular", 0, 0},
    {CASES "/digits-relu-init-nobias.onnx --batch " CASES "/digits-blank.npz", "compensation", 96, 96},
    {CASES "/lenet-bf16.onnx --batch " CASES "/images.npz", "compensation", 0, 0},
    {CASES "/lenet.onnx --batch " CASES "/images.npz", "compensation", 0, 0},
    {CASES "/lenet-nobias.onnx --batch " CASES "/images.npz", "compensation", 1674, 1674},
    {CASES "/lenet-init.onnx --batch " CASES "/images-blank.npz", "bifurcation", 9496, 496},
    {CASES "/lenet-q6.onnx --batch " CASES "/images-pair.npz", "bifurcation", 2, 0},
    {CASES "/lemma2.onnx --batch " CASES "/lemma2.npz", "bifurcation", 2, 0},
  };

  for (size_t i = 0; i < sizeof network / sizeof network[0]; i++) {
    json_t *j;

    ck_assert_int_le(run(CLARKE " audit %s --json --zone-proof zone.proof", network[i].files), 1);
    j = report();
    ck_assert_int_eq(exists("zone.proof"), strcmp(network[i].zone, "regular") != 0);
    if (exists("zone.proof"))
      ck_assert_int_eq(run(CHECKER " zone.proof --data " CASES " > checked && rm zone.proof"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(j, "zone")), network[i].zone);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "touched")), network[i].touched);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "flat")), network[i].flat);
    json_decref(j);
  }
}
END_TEST

/* Entry i of a list in the report has these texts; a key that is null has "null". */
static void
entry_says(const json_t *list, size_t i, const char *texts)
{
  char *copy = strdup(texts), *rest = copy;

  for (char *pair; (pair = strsep(&rest, "|")) != NULL;) {
    const char *key = strsep(&pair, "=");
    char *found = json_dumps(json_object_get(json_array_get(list, i), key), JSON_ENCODE_ANY | JSON_COMPACT);

    ck_assert_msg(found != NULL && strcmp(found, pair) == 0, "%s: %s, not %s", key, found, pair);
    free(found);
  }
  free(copy);
}

/* x W + b is (0, 2), (2, 1), (17, 0): two kinks are touched, and the nearest of the others is neuron 1's in sample 1. There
 * the largest number is 2, whose ulp is 2^-22. */
START_TEST(what_is_near_and_what_is_touched)
{
  json_t *j;
  const json_t *near, *touched;

  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --nearest 3 --touched --json"), 0);
  j = report();
  near = json_object_get(j, "nearest");
  ck_assert_uint_eq(json_array_size(near), 3);
  entry_says(near, 0, "op=\"Relu\"|neuron=1|sample=1|kink=\"0\"|distance=\"1\"|at_least=\"1\"|ulp=\"1/4194304\"|"
             "ulps_at_least=\"4.1943e+06\"");
  entry_says(near, 1, "neuron=0|sample=1|distance=\"2\"|ulp=\"1/4194304\"");
  entry_says(near, 2, "neuron=1|sample=0|distance=\"2\"|ulp=\"1/4194304\"");
  touched = json_object_get(j, "touched_kinks");
  ck_assert_uint_eq(json_array_size(touched), 2);
  entry_says(touched, 0, "op=\"Relu\"|neuron=0|sample=0|argument=\"0\"|slopes=[\"0\",\"1\"]|ad=\"0\"");
  entry_says(touched, 1, "neuron=1|sample=2|argument=\"0\"");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --json"), 0);
  j = report();
  ck_assert(json_is_null(json_object_get(j, "nearest")) && json_object_get(j, "touched_kinks") == NULL);
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --nearest 9 --touched --limit listed=1"), 2);
  file_says("err", "9 of each layer|--limit listed=N");
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --touched --limit listed=1"), 2);
  file_says("err", "2 kinks are touched|--limit listed=N");
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --nearest 0"), 2);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --touched --params same.pt zero.pt"), 2);
  file_says("err", "--json");
}
END_TEST

/* Where nothing is touched a line for each layer: also with integers alone, the same. */
START_TEST(a_line_for_each_layer_where_nothing_is_touched)
{
  char *first, *second;

  ck_assert_int_eq(run(CLARKE " audit " CASES "/lenet.onnx --batch " CASES "/images.npz"), 0);
  file_says("out", "nearest to a kink|/relu1 |/pool1 |tie|/relu2 |/pool2 |/relu3 ");
  first = text_of("out");
  ck_assert_int_eq(run(CLARKE " audit " CASES "/lenet.onnx --batch " CASES "/images.npz --exact --threads 2"), 0);
  second = text_of("out");
  ck_assert_str_eq(first, second);
  free(first);
  free(second);
  ck_assert_int_eq(run(CLARKE " audit " CASES "/lemma7.onnx --batch " CASES "/lemma7.npz --touched --json"), 1);
  file_says("out", "\"tied\": [");
  ck_assert_int_eq(run(CLARKE " audit " CASES "/lemma7.onnx --batch " CASES "/lemma7.npz --touched"), 1);
  file_says("out", "tied entries ");
}
END_TEST

/* What cannot be asked writes nothing. */
START_TEST(errors_write_nothing)
{
  static const struct {
    const char *arguments, *message;
  } wrong[] = {
    {"net.onnx --batch badlabels.npz --loss ce", "entry 2 is 2|0 to 1"},
    {"net.onnx --batch narrow.npz", "net.onnx|(?, 2)|5 entries"},
    {"net.onnx --batch targets.npz", "targets 'y'|shape"},
    {"net.onnx --batch inputs.npz --loss ce", "needs an array 'y'"},
    {"net.onnx --batch batch.npz --loss hinge", "no loss 'hinge'|sum, mse, ce"},
    {"net.onnx --batch batch.npz --profile pytorch-1", "pytorch-1|pytorch-2.13"},
    {"net.onnx --batch batch.npz --wrt W,nothing", "net.onnx has no parameter 'nothing'"},
    {"net.onnx --batch batch.npz --params net.onnx", "net.onnx"},
    {"net.onnx --batch net.onnx", "expected a .npz or .npy"},
    {"batch.npz --batch batch.npz", "batch.npz"},
    {"cut.onnx --batch batch.npz", "cut.onnx"},
    {"net.onnx --batch cut.npz", "cut.npz"},
  };
  size_t before;

  ck_assert_int_eq(run("head -c 150 net.onnx > cut.onnx; head -c 200 batch.npz > cut.npz"), 0);
  before = files_in_folder();
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    ck_assert_msg(run(CLARKE " audit %s --proof p.proof --gradient g.st", wrong[i].arguments) == 2,
                  "%s", wrong[i].arguments);
    file_says("err", "clarke audit: ");
    file_says("err", wrong[i].message);
    ck_assert_msg(is_empty("out"), "'%s' printed a report", wrong[i].arguments);
    ck_assert_msg(files_in_folder() == before, "'%s' left a file", wrong[i].arguments);
  }
  ck_assert_int_eq(run(CLARKE " audit open.onnx --batch inputs.npz --proof p.proof"), 3);
  file_says("err", "no proof was written");
  ck_assert_uint_eq(files_in_folder(), before);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --proof no/such/folder"), 2);
  ck_assert_uint_eq(files_in_folder(), before);
}
END_TEST

static void
theorems_shown(const char *options, bool shown)
{
  char *text;

  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz %s", options), 0);
  text = text_of("out");
  ck_assert_int_eq(strstr(text, "theorem         applies") != NULL, shown);
  ck_assert_int_eq(strstr(text, "system (constraints x variables)") != NULL, shown);
  free(text);
}

START_TEST(theorems_systems_and_ranks_are_asked_for)
{
  theorems_shown("", false);
  theorems_shown("-v", false);
  theorems_shown("--theorems", true);
  theorems_shown("--ranks", true);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --theorems --params later.pt later.pt"), 2);
  file_says("err", "--theorems and --ranks of several checkpoints or steps need --json");
}
END_TEST

START_TEST(what_is_not_touched_needs_no_proxy)
{
  ck_assert_int_eq(run("echo tie MaxPool stable > stable"), 0);
  ck_assert_int_eq(run(CLARKE " audit capped.onnx --batch inputs.npz --profile ./stable"), 0);
  file_says("out", "no kink is touched");
  ck_assert_int_eq(run(CLARKE " audit capped.onnx --batch inputs.npz --profile jax-0.10 --theorems"), 0);
  file_says("out", "no kink is touched|Theorem 6       yes      ?|the profile has no proxy at a kink of layer /c");
}
END_TEST

/* A proof states the proxies and the rule for ties of all operators. */
START_TEST(a_proof_leaves_no_proxy_unsaid)
{
  static const struct {
    const char *profile, *message;
  } wrong[] = {
    {"jax-0.10", "profile jax-0.10 says nothing of Clip kink 0"},
    {"./stable", "profile stable has no rule for ties of MaxPool|first, last, mean or hybrid"},
  };
  size_t before;

  ck_assert_int_eq(run("echo tie MaxPool stable > stable"), 0);
  before = files_in_folder();
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    ck_assert_int_eq(run(CLARKE " audit capped.onnx --batch inputs.npz --profile %s --proof p.proof "
                         "--gradient g.st", wrong[i].profile), 2);
    file_says("err", wrong[i].message);
    ck_assert(is_empty("out"));
    ck_assert_uint_eq(files_in_folder(), before);
  }
  ck_assert_int_eq(run(CLARKE " audit capped.onnx --batch inputs.npz --proof p.proof"), 0);
  ck_assert_int_eq(run(CHECKER " p.proof"), 0);
}
END_TEST

START_TEST(a_proof_is_of_its_own_files)
{
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --proof p.proof"), 0);
  ck_assert_int_eq(run(CHECKER " p.proof"), 0);
  file_says("out", "VERIFIED");
  ck_assert_int_eq(run("mkdir other && cp net.onnx batch.npz p.proof other && "
                       "printf '\\001' | dd of=other/net.onnx bs=1 seek=120 conv=notrunc"), 0);
  ck_assert_int_ne(run(CHECKER " other/p.proof"), 0);
  ck_assert_int_ne(run(CHECKER " p.proof --data other"), 0);
  ck_assert_int_eq(run(CHECKER " other/p.proof --data ."), 0);
  ck_assert_int_eq(run("cp open.onnx other/net.onnx"), 0);
  ck_assert_int_ne(run(CHECKER " other/p.proof"), 0);
  ck_assert_int_eq(run("sed s/in-bouligand/not-in-clarke/ p.proof > q.proof"), 0);
  ck_assert_int_ne(run(CHECKER " q.proof"), 0);
}
END_TEST

/* --- checkpoints ----------------------------------------------------------------------------- */

/* The same weights in any form say the same. */
START_TEST(checkpoints_of_every_kind)
{
  static const char *const files[] = {"same.pt", "same.npz", "same.safetensors"};
  json_t *own, *j;

  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --json"), 0);
  own = report();
  for (size_t i = 0; i < 3; i++) {
    ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --json --params %s", files[i]), 0);
    j = report();
    ck_assert(json_equal(own, j));
    json_decref(j);
  }
  json_decref(own);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params zero.pt"), 0);
  file_says("out", "Relu");
  ck_assert_int_eq(run("cp same.pt same.checkpoint && " CLARKE
                       " audit net.onnx --batch batch.npz --params same.checkpoint"), 0);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params half.pt"), 2);
  file_says("err", "half.pt does not fit net.onnx: missing: 'b'");
  ck_assert_int_eq(run("head -c 300 same.pt > cut.pt; " CLARKE
                       " audit net.onnx --batch batch.npz --params cut.pt"), 2);
  file_says("err", "cut.pt: the ZIP archive cannot be read");
}
END_TEST

/* What clarke-check cannot read gets no proof. */
START_TEST(proofs_of_checkpoints)
{
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params same.npz --proof p"), 0);
  ck_assert_int_eq(run(CHECKER " p"), 0);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params same.pt --proof q"), 2);
  file_says("err", "same.pt: a proof needs the checkpoint as one file, .safetensors");
  ck_assert(!exists("q"));
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params zero.safetensors "
                       "same.safetensors --proof '%%-%%.proof' --gradient %%.st"), 0);
  ck_assert(exists("zero.safetensors.st") && exists("same.safetensors.st"));
  ck_assert_int_eq(run(CHECKER " zero.safetensors-zero.safetensors.proof"), 0);
  ck_assert_int_eq(run(CHECKER " same.safetensors-same.safetensors.proof"), 0);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params zero.safetensors "
                       "same.safetensors --proof p.proof"), 2);
  file_says("err", "--proof p.proof: of several checkpoints|%");
  ck_assert(!exists("p.proof") && is_empty("out"));
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params same.safetensors "
                       "./same.safetensors --gradient %%.g"), 2);
  file_says("err", "--gradient: same.safetensors and ./same.safetensors have one name");
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params same.safetensors "
                       "--proof %%.alone"), 0);
  ck_assert(exists("same.safetensors.alone"));
}
END_TEST

/* One row each, in the order given; the exit status is the worst. */
START_TEST(several_checkpoints)
{
  char *text;
  const char *first, *second;
  json_t *j;
  const json_t *rows;

  ck_assert_int_eq(run(CLARKE " audit net.onnx --params zero.pt same.npz --batch batch.npz"), 0);
  ck_assert_int_eq(run(CLARKE " audit --batch batch.npz net.onnx --params zero.pt same.npz "
                       "--params same.safetensors same.pt"), 0);
  file_says("out", "net.onnx on 3 samples, loss ce, in 6 parameters|checkpoint|touched|verdict");
  text = text_of("out");
  first = strstr(text, "\nzero.pt  ");
  second = strstr(text, "\nsame.npz  ");
  ck_assert(first != NULL && second > first);
  first = strstr(text, "\nsame.safetensors  ");
  ck_assert(first > second && strstr(text, "\nsame.pt  ") > first);
  free(text);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --json --params zero.pt half.pt "
                       "same.pt"), 2);
  file_says("err", "half.pt does not fit net.onnx: missing: 'b'");
  j = report();
  rows = json_object_get(j, "checkpoints");
  ck_assert_uint_eq(json_array_size(rows), 3);
  ck_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "file")), "zero.pt");
  ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(rows, 0), "touched")), 4);
  check_report(json_array_get(rows, 0));
  has_keys(json_array_get(rows, 1), "file error");
  check_report(json_array_get(rows, 2));
  ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(rows, 2), "touched")), 2);
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " audit net.onnx same.pt --batch batch.npz"), 2);
  file_says("err", "one MODEL is expected; checkpoints come with --params");
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --params same.pt same.pt > "
                       "/dev/full"), 2);
}
END_TEST

/* A model whose weights lie beside it is audited, and proved only in one file. */
START_TEST(external_data)
{
  save_little_model("beside.onnx", true);
  ck_assert_int_eq(run(CLARKE " audit beside.onnx --batch inputs.npz"), 0);
  ck_assert_int_eq(run(CLARKE " audit beside.onnx --batch inputs.npz --proof p.proof"), 2);
  file_says("err", "beside.onnx: a proof needs the model in one file|save_as_external_data=False");
  ck_assert(!exists("p.proof"));
  ck_assert_int_eq(run("rm beside.onnx.data; " CLARKE " audit beside.onnx --batch inputs.npz"), 2);
  file_says("err", "beside.onnx: |external file \"beside.onnx.data\": cannot be opened");
}
END_TEST

/* --- the shipped cases ----------------------------------------------------------------------- */

static bool slow_cases; /* these, or the others */

static size_t
touched_in(const json_t *layer)
{
  const json_t *kinks = json_object_get(layer, "touched");
  size_t n = 0;

  for (size_t k = 0; k < json_array_size(kinks); k++)
    n += (size_t)json_integer_value(json_array_get(kinks, k));
  return n;
}

/* Is any kink touched, flat or not, or any window tied? Thesis, Definition 7: then the zone is not the regular one. */
static bool
expects_a_choice(const json_t *c)
{
  const json_t *layers = json_object_get(c, "layers");
  bool any = false;

  for (size_t i = 0; i < json_array_size(layers); i++)
    any = any || touched_in(json_array_get(layers, i)) > 0 ||
          json_integer_value(json_object_get(json_array_get(layers, i), "tied")) > 0;
  return any;
}

static void
check_zone(const json_t *c, const json_t *j)
{
  const json_t *zone = json_object_get(j, "zone");

  const bool compensates = strcmp(json_string_value(zone), "compensation") == 0;

  if (expects_a_choice(c))
    ck_assert(compensates ? strcmp(json_string_value(json_object_get(j, "verdict")), "in-bouligand") == 0
                          : strcmp(json_string_value(zone), "bifurcation") == 0);
  else
    ck_assert_str_eq(json_string_value(zone), "regular");
}

static void
check_layers(const json_t *c, const json_t *j)
{
  const json_t *expected = json_object_get(c, "layers"), *found = json_object_get(j, "layers");

  ck_assert_uint_eq(json_array_size(found), json_array_size(expected));
  for (size_t i = 0; i < json_array_size(expected); i++) {
    const json_t *e = json_array_get(expected, i), *f = json_array_get(found, i);

    ck_assert_str_eq(json_string_value(json_object_get(f, "name")),
                     json_string_value(json_object_get(e, "node")));
    ck_assert_str_eq(json_string_value(json_object_get(f, "op")),
                     json_string_value(json_object_get(e, "op")));
    ck_assert_int_eq(json_integer_value(json_object_get(f, "neurons")),
                     json_integer_value(json_object_get(e, "neurons")));
    ck_assert_int_eq((json_int_t)touched_in(e),
                     json_integer_value(json_object_get(f, "touched")));
    if (strcmp(json_string_value(json_object_get(e, "op")), "MaxPool") != 0)
      continue;
    ck_assert_int_eq(json_integer_value(json_object_get(f, "ties")),
                     json_integer_value(json_object_get(e, "tied")));
    ck_assert_int_eq(json_integer_value(json_object_get(f, "nontrivial_ties")),
                     (json_int_t)touched_in(e));
  }
}

/* Two threads, where samples may be coupled. */
static void
check_threads(const json_t *one, const char *arguments, int status)
{
  json_t *two;

  ck_assert_int_eq(run("%s --threads 2", arguments), status);
  two = report();
  ck_assert(json_equal(one, two));
  json_decref(two);
}

/* Fresh memory holds other bytes, and more samples are passed exactly: the same report, the same proof. */
static void
check_exact(const json_t *fast, const char *arguments, int status, const char *model)
{
  json_t *exact;

  ck_assert_int_eq(run("MALLOC_PERTURB_=165 %s --exact --proof q.proof", arguments), status);
  exact = report();
  ck_assert_msg(json_equal(fast, exact), "%s: --exact says otherwise", model);
  ck_assert_msg(status == 3 || run("cmp p.proof q.proof") == 0, "%s: --exact proves otherwise", model);
  json_decref(exact);
}

/* The option of that name, with the file or name that the case has for it, or nothing. */
static const char *
option_of(char text[256], const json_t *c, const char *name, const char *folder_of)
{
  const char *value = json_string_value(json_object_get(c, name));

  text[0] = '\0';
  if (value != NULL)
    ck_assert_int_lt(snprintf(text, 256, " --%s %s%s", name, folder_of, value), 256);
  return text;
}

static void
check_case(const json_t *c)
{
  const char *model = json_string_value(json_object_get(c, "model"));
  const char *batch = json_string_value(json_object_get(c, "batch"));
  const char *verdict = json_string_value(json_object_get(c, "verdict"));
  const json_t *theory = json_object_get(c, "theory");
  bool normalizes = strstr(model, "norm") != NULL; /* some by the whole minibatch */
  const char *name;
  char arguments[1024], more[3][256];
  int status = strcmp(verdict, "not-in-clarke") == 0 ? 1 : strcmp(verdict, "undecided") == 0 ? 3 : 0;
  json_t *fast;

  snprintf(arguments, sizeof arguments,
           "%s audit " CASES "/%s --batch " CASES "/%s --loss %s --json%s%s%s", CLARKE, model, batch,
           json_string_value(json_object_get(c, "loss")), option_of(more[0], c, "params", CASES "/"),
           option_of(more[1], c, "profile", CASES "/"), option_of(more[2], c, "output", ""));
  /* Theory says what it knows where the program does not: no other verdict. */
  ck_assert(theory == NULL || status == 3);
  ck_assert_int_eq(run("%s --threads 1 --proof p.proof", arguments), status);
  fast = report();
  ck_assert_str_eq(json_string_value(json_object_get(fast, "verdict")), verdict);
  ck_assert_int_eq(json_integer_value(json_object_get(fast, "touched")),
                   json_integer_value(json_object_get(c, "touched")));
  check_layers(c, fast);
  check_zone(c, fast);
  if (status != 3 || draw_one_in() == 1) /* the undecided take longest: once, under the sanitizers */
    check_exact(fast, arguments, status, model);
  if (normalizes)
    check_threads(fast, arguments, status);
  json_decref(fast);
  if (status == 3)
    return;
  ck_assert_int_eq(run(CHECKER " p.proof --data " CASES), 0);
  file_says("out", "VERIFIED");
  name = json_string_value(json_object_get(c, "name"));
  ck_assert_msg(json_is_true(json_object_get(c, "unstored")) || run("cmp p.proof " STORED "/%s.proof", name) == 0,
                "%s: another proof than the stored one: proofs-data/regenerate", name);
}

START_TEST(shipped_cases)
{
  json_error_t e;
  json_t *all = json_load_file(CASES "/cases.json", JSON_REJECT_DUPLICATES, &e);
  const json_t *cases = json_object_get(all, "cases");

  ck_assert_uint_gt(json_array_size(cases), 50);
  for (size_t i = 0; i < json_array_size(cases); i++)
    if (slow_cases == json_is_true(json_object_get(json_array_get(cases, i), "slow")))
      check_case(json_array_get(cases, i));
  json_decref(all);
}
END_TEST

/* Says the stored proof of the case what it must? */
static void
check_stored(const json_t *c)
{
  static const char *const keys[] = {"verdict", "model", "params", "batch", "loss", "output"};
  const char *name = json_string_value(json_object_get(c, "name"));
  char line[256];

  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
    const char *value = json_string_value(json_object_get(c, keys[k]));

    snprintf(line, sizeof line, "grep -q '^%s %s\\( \\|$\\)' " STORED "/%s.proof", keys[k],
             value != NULL ? value : "", name);
    if (value != NULL)
      ck_assert_msg(run("%s", line) == 0, "%s.proof: no line '%s %s'", name, keys[k], value);
  }
}

/* Every decided case has its proof in proofs-data, or is said to be too large for that; every proof there is of a case. */
START_TEST(stored_proofs_are_those_of_the_cases)
{
  json_error_t e;
  json_t *all = json_load_file(CASES "/cases.json", JSON_REJECT_DUPLICATES, &e);
  const json_t *cases = json_object_get(all, "cases");
  size_t wanted = 0;

  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *c = json_array_get(cases, i);

    if (strcmp(json_string_value(json_object_get(c, "verdict")), "undecided") == 0 ||
        json_is_true(json_object_get(c, "unstored")))
      continue;
    check_stored(c);
    wanted++;
  }
  ck_assert_uint_gt(wanted, 50);
  ck_assert_int_eq(run("test $(ls " STORED "/*.proof | wc -l) -eq %zu", wanted), 0);
  json_decref(all);
}
END_TEST

/* test_cli slow: the slow cases alone. */
int
main(int argc, char **argv)
{
  TCase *tcase = tests_of("tools-audit");
  const TTest *const tests[] = {
    exit_statuses, reports_have_the_keys_and_are_the_same_each_time, loss_defaults_and_values,
    large_gradients_have_a_bound,
    an_undecided_pattern_has_a_verdict_and_no_gradient, an_undecided_verdict_names_what_would_settle_it, zones,
    what_is_near_and_what_is_touched, a_line_for_each_layer_where_nothing_is_touched,
    errors_write_nothing, theorems_systems_and_ranks_are_asked_for, what_is_not_touched_needs_no_proxy, a_proof_leaves_no_proxy_unsaid,
    a_proof_is_of_its_own_files, checkpoints_of_every_kind, proofs_of_checkpoints,
    several_checkpoints, external_data, stored_proofs_are_those_of_the_cases,
  };

  slow_cases = argc > 1 && strcmp(argv[1], "slow") == 0;
  tcase_add_checked_fixture(tcase, begin, remove_folder);
  for (size_t i = 0; i < sizeof tests / sizeof tests[0] && !slow_cases; i++)
    tcase_add_test(tcase, tests[i]);
  tcase_add_test(tcase, shipped_cases);
  return run_tests();
}
