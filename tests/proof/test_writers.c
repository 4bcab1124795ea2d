/* What the writers write: words by docs/proof-format.md; whole proofs of drawn functions and arrangements, true ones and others,
 * which the checker reads. */
#include "../check/apart.h"
#include "../draw.h"
#include "../ok.h"

#include "format/file.h"
#include "op/operator.h"
#include "proof/record_operators.h"
#include "proof/text.h"
#include "proof/write_arrangement.h"
#include "proof/write_segment.h"
#include "proof/record_claim.h"
#include "proof/write_statistics.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/clarke-writers-XXXXXX", path[64], proof[64];

static void
write_file(const char *text)
{
  FILE *f = fopen(path, "w");

  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
}

/* The checker's exit status: 0 VERIFIED. */
static int
checked(void)
{
  char said[512];

  return check_apart(proof, folder, 1, said, sizeof said);
}

/* --- words --- */

static void
text_is(clarke_text *t, const char *want)
{
  OK(clarke_text_close(t, CLARKE_OK, &error));
  ck_assert_str_eq(t->text, want);
  clarke_text_clear(t);
}

START_TEST(names_rows_and_files)
{
  const clarke_proof_input file = { "a b.onnx", "0123", NULL }, chosen = { "m.onnx", "45", "y 1" }, none = { NULL, NULL, NULL };
  mpq_t row[3];
  clarke_text t;

  for (size_t k = 0; k < 3; k++) {
    mpq_init(row[k]);
    mpq_set_si(row[k], (long)k - 1, 3);
  }
  OK(clarke_text_open(&t, &error));
  clarke_proof_put_name(t.to, "W_1/x.y:0-%\n\xc3\xa9 \"");
  fputc('\n', t.to);
  clarke_proof_put_row(t.to, "to", row, 3);
  clarke_proof_put_row(t.to, "to", row, 0);
  clarke_proof_put_file(t.to, "program", "f.prog", "ab");
  clarke_proof_put_input(t.to, "model", &file);
  clarke_proof_put_input(t.to, "params", &none); /* no line */
  clarke_proof_put_input(t.to, "network", &chosen);
  text_is(&t, "W_1/x.y:0-%25%0A%C3%A9%20%22\nto -1/3 0 1/3\nto\nprogram f.prog ab\nmodel a%20b.onnx 0123\n"
              "network m.onnx 45\noutput y%201\n");
  for (size_t k = 0; k < 3; k++)
    mpq_clear(row[k]);
}
END_TEST

START_TEST(proxies_and_ties)
{
  static const struct {
    const char *profile, *want;
  } cases[] = {
    { "Relu 0 1/3\ntie MaxPool last\n", "proxy Relu 0 1/3\ntie MaxPool last\n" },
    { "Relu 0 left\ntie MaxPool first\n", "proxy Relu 0 left\ntie MaxPool first\n" },
    { "Relu 0 right\ntie MaxPool mean\n", "proxy Relu 0 right\ntie MaxPool mean\n" },
    { "Relu 0 -2\ntie MaxPool hybrid 3/7\n", "proxy Relu 0 -2\ntie MaxPool hybrid 3/7\n" },
    { NULL, "proxy Relu 0 unknown\ntie MaxPool unknown\n" },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clarke_profile p;
    clarke_text t;

    clarke_profile_init(&p);
    if (cases[i].profile != NULL)
      OK(clarke_profile_parse(&p, cases[i].profile, strlen(cases[i].profile), "by hand", &error));
    OK(clarke_text_open(&t, &error));
    clarke_proof_put_proxy(t.to, clarke_operator_find("Relu"), 0, &p);
    clarke_proof_put_tie(t.to, clarke_operator_find("MaxPool"), &p);
    text_is(&t, cases[i].want);
    clarke_profile_clear(&p);
  }
}
END_TEST

/* Which rule "Recorded steps" has for a node. A number other than 1 before a matrix, or steeper pieces, make it composed. */
START_TEST(operators_have_rules)
{
  static const struct {
    const char *op;
    double alpha;
    clarke_record_operator want;
  } cases[] = {
    { "Gemm", 1, { .plain = true } },
    { "Gemm", 0.5, { .composed = true } },
    { "ConvTranspose", 1, { .plain = true } },
    { "LeakyRelu", 0.5, { .plain = true, .kinks = true } },
    { "LeakyRelu", -1, { .plain = true, .kinks = true } },
    { "LeakyRelu", 1.5, { .composed = true, .kinks = true } },
    { "MaxPool", 1, { .plain = true, .pools = true, .kinks = true } },
    { "Gather", 1, { .plain = true, .moves = true } },
    { "Split", 1, { .moves = true } },
    { "PRelu", 1, { .composed = true, .weighs = true, .kinks = true } },
    { "LayerNormalization", 1, { .composed = true, .weighs = true } },
    { "Sigmoid", 1, { .composed = true } },
    { "ReduceMax", 1, { false } },
    { "NegativeLogLikelihoodLoss", 1, { false } },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clarke_attr alpha = { .name = (char *)"alpha", .type = CLARKE_ATTR_FLOAT, .f = cases[i].alpha };
    const clarke_model_node node = { .op_type = (char *)cases[i].op, .n_attr = 1, .attr = &alpha };
    const clarke_record_operator got = clarke_record_operator_of(&node);
    const clarke_record_operator *want = &cases[i].want;

    ck_assert_msg(got.plain == want->plain && got.composed == want->composed && got.weighs == want->weighs
                    && got.moves == want->moves && got.pools == want->pools && got.kinks == want->kinks, "%s", cases[i].op);
  }
}
END_TEST

/* The last line is the digest of all before. After an error the file is as it was. */
START_TEST(a_proof_is_sealed_or_not_written)
{
  static const char text[] = "clarke-proof 1\nclaim nothing\n";
  unsigned char digest[EVP_MAX_MD_SIZE];
  char want[160];
  clarke_file f;
  clarke_text t;

  OK(clarke_text_open(&t, &error));
  fputs(text, t.to);
  OK(clarke_proof_save(&t, CLARKE_OK, proof, &error));
  ck_assert_ptr_null(t.text);
  ck_assert_int_eq(EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL), 1);
  strcpy(want, text);
  strcat(want, "end ");
  for (size_t i = 0; i < 32; i++)
    sprintf(want + strlen(want), "%02x", digest[i]);
  strcat(want, "\n");
  for (size_t round = 0; round < 2; round++) {
    OK(clarke_file_read(&f, proof, &error));
    ck_assert_uint_eq(f.size, strlen(want));
    ck_assert_mem_eq(f.data, want, f.size);
    clarke_file_clear(&f);
    OK(clarke_text_open(&t, &error));
    fputs("other", t.to);
    ck_assert_int_eq(clarke_proof_save(&t, CLARKE_EINPUT, proof, &error), CLARKE_EINPUT);
  }
  OK(clarke_text_open(&t, &error));
  ck_assert_int_ne(clarke_proof_save(&t, CLARKE_OK, "/nowhere/at/all.proof", &error), CLARKE_OK);
  ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/at/all.proof"));
}
END_TEST

/* --- segments --- */

enum { MOST = 6 };

/* The sum of coef[i] relu(t - kink[i]), kinks increasing, along a segment: its pieces by the definition. */
typedef struct {
  size_t n, pieces;
  long kink[MOST], coef[MOST], from, to;
  mpq_t end[MOST + 1], slope[MOST + 1], integral, from_q, to_q;
} segment;

static long
value_at(const segment *s, long t)
{
  long sum = 0;

  for (size_t i = 0; i < s->n; i++)
    sum += t > s->kink[i] ? s->coef[i] * (t - s->kink[i]) : 0;
  return sum;
}

static void
draw_segment(segment *s, uint64_t *state)
{
  const long direction = draw_below(state, 2) ? 1 : -1;
  char text[512] = "input t\noutput 0*t";

  s->n = 1 + draw_below(state, MOST);
  s->pieces = 0;
  s->from = -direction * draw_between(state, 1, 12);
  s->to = direction * draw_between(state, 1, 12);
  for (size_t i = 0; i < s->n; i++) {
    s->kink[i] = (i > 0 ? s->kink[i - 1] : -12) + draw_between(state, 1, 4);
    s->coef[i] = draw_between(state, 1, 5) * (draw_below(state, 2) ? 1 : -1);
    sprintf(text + strlen(text), " %c %ld*relu(t %c %ld)", s->coef[i] < 0 ? '-' : '+', labs(s->coef[i]), s->kink[i] > 0 ? '-' : '+',
            labs(s->kink[i]));
  }
  strcat(text, "\n");
  write_file(text);
  for (size_t k = 0; k <= s->n; k++) { /* the kinks strictly inside, in the segment's order; then the end */
    const long kink = k == s->n ? s->to : s->kink[direction > 0 ? k : s->n - 1 - k];

    if (k < s->n && ((kink - s->from) * direction <= 0 || (s->to - kink) * direction <= 0))
      continue;
    mpq_set_si(s->end[s->pieces], (kink - s->from) * direction, (unsigned long)((s->to - s->from) * direction));
    mpq_canonicalize(s->end[s->pieces++]);
  }
  for (size_t p = 0; p < s->pieces; p++) { /* in the piece's middle, at twice the numbers */
    long sum = 0;
    mpq_t middle, at;

    mpq_inits(middle, at, NULL);
    mpq_set(middle, s->end[p]);
    if (p > 0)
      mpq_add(middle, middle, s->end[p - 1]);
    mpq_div_2exp(middle, middle, 1);
    mpq_set_si(at, s->to - s->from, 1);
    mpq_mul(middle, middle, at);
    mpq_set_si(at, s->from, 1);
    mpq_add(middle, middle, at);
    for (size_t i = 0; i < s->n; i++)
      sum += mpq_cmp_si(middle, s->kink[i], 1) > 0 ? s->coef[i] : 0;
    mpq_set_si(s->slope[p], sum * (s->to - s->from), 1);
    mpq_clears(middle, at, NULL);
  }
  mpq_set_si(s->integral, value_at(s, s->to) - value_at(s, s->from), 1);
  mpq_set_si(s->from_q, s->from, 1);
  mpq_set_si(s->to_q, s->to, 1);
}

static void
write_segment(segment *s)
{
  clarke_file f;
  clarke_text t;
  clarke_segment_statement statement = {.network = false, .n = 1, .n_outputs = 1, .pieces = s->pieces, .from = &s->from_q,
                                        .to = &s->to_q, .integral = &s->integral};

  OK(clarke_file_read(&f, path, &error));
  statement.function = (clarke_proof_input){ "given", f.sha256, NULL };
  OK(clarke_segment_proof_begin(&t, &statement, &error));
  for (size_t p = 0; p < s->pieces; p++)
    clarke_segment_proof_piece(&t, s->end[p], &s->slope[p], 1);
  OK(clarke_proof_save(&t, CLARKE_OK, proof, &error));
  clarke_file_clear(&f);
}

/* One number made another: an end, a slope, the integral, or where it leads. */
static void
spoil(segment *s, size_t which)
{
  mpq_t off;

  mpq_init(off);
  mpq_set_ui(off, 1, 1000);
  if (which == 0)
    mpq_sub(s->end[0], s->end[0], off);
  else if (which == 1)
    mpq_add(s->slope[s->pieces - 1], s->slope[s->pieces - 1], off);
  else if (which == 2)
    mpq_add(s->integral, s->integral, off);
  else
    mpq_add(s->to_q, s->to_q, off);
  mpq_clear(off);
}

START_TEST(segments_by_their_definition)
{
  uint64_t state = 1;
  size_t pieces = 0;
  segment s;

  for (size_t p = 0; p <= MOST; p++)
    mpq_inits(s.end[p], s.slope[p], NULL);
  mpq_inits(s.integral, s.from_q, s.to_q, NULL);
  for (size_t i = 0; i < draw_count(60); i++) {
    draw_segment(&s, &state);
    write_segment(&s);
    ck_assert_msg(checked() == 0, "segment %zu is not verified", i);
    pieces += s.pieces;
    spoil(&s, i % 4);
    write_segment(&s);
    ck_assert_msg(checked() == 1, "segment %zu, spoiled, is verified", i);
  }
  ck_assert_uint_gt(pieces, draw_count(120));
  for (size_t p = 0; p <= MOST; p++)
    mpq_clears(s.end[p], s.slope[p], NULL);
  mpq_clears(s.integral, s.from_q, s.to_q, NULL);
}
END_TEST

/* --- arrangements --- */

typedef struct {
  clarke_arrangement_proof proof;
  size_t leaves, left_out; /* this leaf is not told */
} walk;

static clarke_status
tell_circuit(void *context, const clarke_circuit *c, clarke_error *err)
{
  return clarke_arrangement_proof_circuit(&((walk *)context)->proof, c, err);
}

static clarke_status
tell_split(void *context, size_t row, clarke_error *err)
{
  return clarke_arrangement_proof_split(&((walk *)context)->proof, row, err);
}

static clarke_status
tell_forced(void *context, size_t row, int sign, size_t circuit, clarke_error *err)
{
  return clarke_arrangement_proof_forced(&((walk *)context)->proof, row, sign, circuit, err);
}

static clarke_status
tell_leaf(void *context, bool *go_on, const signed char *sign, const clarke_witness *witness, clarke_error *err)
{
  walk *w = context;

  (void)sign;
  (void)err;
  if (w->leaves++ != w->left_out)
    clarke_arrangement_proof_leaf(&w->proof, witness);
  *go_on = true;
  return CLARKE_OK;
}

/* The proof of a; less: so many regions too few are claimed. */
static void
write_arrangement(const clarke_arrangement *a, size_t left_out, size_t less)
{
  walk w = {.left_out = left_out};
  const clarke_sign_visitor visitor = { &w, tell_circuit, tell_split, tell_forced, tell_leaf };
  const clarke_proof_input none = { NULL, NULL, NULL };
  clarke_proof_input matrix;
  clarke_sign_tree tree;
  clarke_file f;

  OK(clarke_file_read(&f, path, &error));
  matrix = (clarke_proof_input){ "given", f.sha256, NULL };
  OK(clarke_arrangement_proof_init(&w.proof, a, &error));
  OK(clarke_arrangement_enumerate(&tree, a, &visitor, &error));
  ck_assert(tree.complete && tree.leaves == w.leaves);
  OK(clarke_arrangement_proof_save(&w.proof, proof, &matrix, &none, clarke_arrangement_count(a, tree.leaves) - less, &error));
  clarke_arrangement_proof_clear(&w.proof);
  clarke_file_clear(&f);
}

/* 2 or 3 rows, up to 6 columns of small whole numbers. */
START_TEST(arrangements_as_they_are_walked)
{
  uint64_t state = 2;

  for (size_t i = 0; i < draw_count(30); i++) {
    const size_t n = 2 + i % 2, p = 2 + draw_below(&state, 5);
    char text[256] = "";
    clarke_arrangement a = {0};
    mpq_t v[18];

    for (size_t k = 0; k < n * p; k++) {
      mpq_init(v[k]);
      mpq_set_si(v[k], k < p ? draw_between(&state, 1, 3) : draw_between(&state, -3, 3), 1);
      sprintf(text + strlen(text), "%ld%c", (long)mpz_get_si(mpq_numref(v[k])), k % p == p - 1 ? '\n' : ' ');
    }
    write_file(text);
    OK(clarke_arrangement_init(&a, n, p, v, NULL, &error));
    write_arrangement(&a, SIZE_MAX, 0);
    ck_assert_msg(checked() == 0, "arrangement %zu is not verified:\n%s", i, text);
    write_arrangement(&a, SIZE_MAX, 2);
    ck_assert_msg(checked() == 1, "arrangement %zu with two regions too few is verified", i);
    write_arrangement(&a, 0, 0);
    ck_assert_msg(checked() == 1, "arrangement %zu without a leaf is verified", i);
    clarke_arrangement_clear(&a);
    for (size_t k = 0; k < n * p; k++)
      mpq_clear(v[k]);
  }
}
END_TEST

/* What a line claims of a tensor, by the checker's rule, and of a record with numbers that may overflow. */
START_TEST(claims_of_records)
{
  static const struct {
    clarke_certificate of;
    clarke_record_rule by;
    bool moderate;
    const char *says;
  } one[] = {
    {{.certainty = CLARKE_BIT_EXACT}, CLARKE_NO_RULE, true, "not-covered"},
    {{.certainty = CLARKE_FOLLOWED}, CLARKE_OF_SUMS, true, "not-covered"},
    {{.certainty = CLARKE_BIT_EXACT}, CLARKE_OF_SUMS, false, "bit-exact"},
    {{.certainty = CLARKE_BIT_EXACT}, CLARKE_OF_ENCLOSED, true, "within"},
    {{.certainty = CLARKE_WITHIN_BOUND, .worst = 0.8}, CLARKE_OF_SUMS, true, "within"},
    {{.certainty = CLARKE_WITHIN_BOUND, .worst = 0.81}, CLARKE_OF_SUMS, true, "not-shown"},
    {{.certainty = CLARKE_WITHIN_BOUND}, CLARKE_OF_SUMS, false, "where-bounded"},
    {{.certainty = CLARKE_WITHIN_BOUND}, CLARKE_OF_UNRECORDED, true, "where-bounded"},
    {{.certainty = CLARKE_CANNOT_SAY, .open = 1}, CLARKE_OF_SUMS, true, "where-bounded"},
    {{.certainty = CLARKE_CANNOT_SAY}, CLARKE_OF_SUMS, true, "not-covered"},
    {{.certainty = CLARKE_NOT_CERTIFIED, .beyond = 3}, CLARKE_OF_SUMS, true, "not-shown"},
  };
  double numbers[] = {1, -1e12};
  clarke_tensor t = {.dtype = CLARKE_F32, .count = 2, .real = numbers};
  clarke_tensors some = {.tensor = &t, .n = 1}, none = {.n = 0};
  clarke_certificate open = {.certainty = CLARKE_CANNOT_SAY, .open = 1};
  mpq_t scale;
  clarke_certify c = {.trace = &some, .gradients = &none, .scale = scale};

  ck_assert_str_eq(clarke_record_claim(NULL, CLARKE_OF_SUMS, true), "not-covered");
  for (size_t i = 0; i < sizeof one / sizeof *one; i++)
    ck_assert_str_eq(clarke_record_claim(&one[i].of, one[i].by, one[i].moderate), one[i].says);
  mpq_init(scale);
  ck_assert(clarke_record_is_moderate(&c));
  numbers[1] = 2e12;
  ck_assert(!clarke_record_is_moderate(&c));
  numbers[1] = 0;
  t.dtype = CLARKE_BF16;
  ck_assert(!clarke_record_is_moderate(&c));
  t.dtype = CLARKE_F64;
  ck_assert(clarke_record_is_moderate(&c));
  c.certificate = &open;
  c.n = 1;
  ck_assert(!clarke_record_is_moderate(&c));
  mpq_clear(scale);
}
END_TEST

/* What is within, what is too near to its bound, what is counted, and what nothing can be said of. */
START_TEST(lines_of_statistics)
{
  clarke_run_statistics update[2] = {{.node = "a node", .mean = "m", .variance = "v", .count = "c", .samples = 1},
                                     {.node = "b", .mean = "m", .variance = "w", .samples = 3}};
  clarke_certificate made[] = {
    {.part = CLARKE_OUTPUT, .name = "m"},
    {.part = CLARKE_STATISTIC, .name = "m", .certainty = CLARKE_WITHIN_BOUND, .worst = 0.8},
    {.part = CLARKE_STATISTIC, .name = "v", .certainty = CLARKE_WITHIN_BOUND, .worst = 0.81},
    {.part = CLARKE_STATISTIC, .name = "c", .certainty = CLARKE_BIT_EXACT},
    {.part = CLARKE_STATISTIC, .name = "w", .certainty = CLARKE_CANNOT_SAY}};
  const clarke_certify c = {.statistics = update, .n_statistics = 2, .certificate = made, .n = 5};
  const bool all[2] = {true, true}, first[2] = {true, false};
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);

  for (int i = 0; i < 2; i++) {
    mpq_init(update[i].momentum);
    mpq_set_ui(update[i].momentum, 1, i == 0 ? 10 : 2);
  }
  clarke_proof_put_statistics(out, &c, all, true);
  clarke_proof_put_statistics(out, &c, first, true); /* the checker has no rule where it is not recorded what b read */
  fclose(out);
  ck_assert_str_eq(text, "statistic m mean 2 a%20node 1/10 1 b 1/2 3 within\nstatistic v variance 1 a%20node 1/10 1 not-shown\n"
                         "statistic c count 1 bit-exact\n"
                         "statistic m mean 2 a%20node 1/10 1 b 1/2 3 not-covered\nstatistic v variance 1 a%20node 1/10 1 not-shown\n"
                         "statistic c count 1 bit-exact\n");
  free(text);
  for (int i = 0; i < 2; i++)
    mpq_clear(update[i].momentum);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("writers");
  int failed;

  if (mkdtemp(folder) == NULL)
    return 1;
  snprintf(path, sizeof path, "%s/given", folder);
  snprintf(proof, sizeof proof, "%s/made.proof", folder);
  tcase_add_test(tests, names_rows_and_files);
  tcase_add_test(tests, proxies_and_ties);
  tcase_add_test(tests, operators_have_rules);
  tcase_add_test(tests, claims_of_records);
  tcase_add_test(tests, lines_of_statistics);
  tcase_add_test(tests, a_proof_is_sealed_or_not_written);
  tcase_add_test(tests, segments_by_their_definition);
  tcase_add_test(tests, arrangements_as_they_are_walked);
  failed = run_tests();
  unlink(path);
  unlink(proof);
  rmdir(folder);
  return failed;
}
