/* Records of training steps certified: the answers, the JSON and the proofs of each; two records beside one another, number by
 * number; what the record followed beside the real function. */
#include "shared.h"

#include "../suites.h"

#include "format/onnx.h"
#include "proof/write_record.h"
#include "session/certify_against.h"
#include "session/gradient.h"
#include "session/twins.h"
#include "session/vague.h"
#include "trace/certify/sieve.h"

#include <math.h>

static const struct {
  const char *name;
  clarke_certainty answer;
  size_t nodes, asked, parted;
  const char *real, *along;
  bool proof;
  const char *why; /* along the record */
} known[] = {
  {"lemma2", CLARKE_BIT_EXACT, 13, 2, 0, "not-in-clarke", "not-in-clarke", true, "is the same"},
  {"parted", CLARKE_WITHIN_BOUND, 8, 9, 5, "in-bouligand", "undecided", true, "at 2 kinks or windows the record took a branch"},
  {"own-side", CLARKE_WITHIN_BOUND, 5, 1, 1, "in-bouligand", "in-bouligand", true, "sides of its own; directions realize them"},
  {"bounds", CLARKE_BIT_EXACT, 11, 2, 0, "in-clarke", "in-clarke", true, "is the same"},
  {"small-light", CLARKE_CANNOT_SAY, 0, 0, 0, "in-bouligand", "undecided", false, "no branches were recorded"},
  {"placed", CLARKE_WITHIN_BOUND, 14, 6, 0, "in-bouligand", "in-bouligand", true, "is the same"}, /* a Reshape of data, no parameter's */
  {"small", CLARKE_WITHIN_BOUND, 33, 716, 0, "in-bouligand", "in-bouligand", true, "is the same"},
};

static void
run_record(clarke_certified *c, const char *name, bool nodes_only, bool sieved)
{
  char folder[256];
  const clarke_certify_request ask = {folder, CLARKE_NONE, nodes_only, sieved, true, false, true};

  snprintf(folder, sizeof folder, CASES "/runs/%s", name);
  clarke_certified_init(c);
  OK(clarke_certified_run(c, &ask, &error));
}

START_TEST(of_known_records)
{
  char proof[128], folder[256];
  clarke_certified c;
  json_t *j, *pattern, *semantics;

  run_record(&c, known[_i].name, false, false);
  ck_assert_int_eq(clarke_certified_answer(&c), known[_i].answer);
  ck_assert_uint_eq(c.nodes.n, known[_i].nodes);
  ck_assert_str_eq(clarke_verdict_name(c.real.verdict), known[_i].real);
  ck_assert_str_eq(clarke_verdict_name(c.along.verdict), known[_i].along);
  ck_assert_ptr_nonnull(strstr(c.along.why, known[_i].why));
  j = clarke_certified_json(&c);
  pattern = json_object_get(j, "pattern");
  semantics = json_object_get(j, "semantics");
  ck_assert_str_eq(text_in(j, "answer"), clarke_certainty_name(known[_i].answer));
  ck_assert_uint_eq(json_array_size(json_object_get(j, "nodes")), known[_i].nodes);
  for (size_t k = 0; k < c.nodes.n; k++) {
    const json_t *node = json_array_get(json_object_get(j, "nodes"), k);

    ck_assert_str_eq(text_in(node, "name"), c.nodes.certificate[k].name);
    ck_assert_str_eq(text_in(node, "answer"), clarke_certainty_name(c.nodes.certificate[k].certainty));
    ck_assert_int_eq(count_in(node, "entries"), (long)c.nodes.certificate[k].entries);
    ck_assert_int_eq(count_in(node, "exact"), (long)c.nodes.certificate[k].exact);
    ck_assert(c.nodes.certificate[k].certainty != CLARKE_BIT_EXACT || c.nodes.certificate[k].exact == c.nodes.certificate[k].entries);
  }
  ck_assert_str_eq(text_in(json_object_get(semantics, "real"), "verdict"), known[_i].real);
  ck_assert_str_eq(text_in(json_object_get(semantics, "recorded"), "verdict"), known[_i].along);
  ck_assert_int_eq(json_is_null(pattern), known[_i].nodes == 0);
  ck_assert_int_eq(count_in(pattern, "asked"), (long)known[_i].asked);
  ck_assert_int_eq(count_in(pattern, "parted"), (long)known[_i].parted);
  ck_assert_uint_eq(json_array_size(json_object_get(pattern, "list")), known[_i].parted);
  json_decref(j);
  snprintf(folder, sizeof folder, CASES "/runs/%s", known[_i].name);
  own_path(proof, "record.proof");
  if (known[_i].proof) {
    OK(clarke_certified_prove(&c, proof, &error));
    ck_assert_int_eq(checked(proof, folder), 0);
    ck_assert_int_ne(checked(proof, CASES "/audit"), 0); /* its files are not there */
    remove(proof);
  } else
    FAILS(clarke_certified_prove(&c, proof, &error), "a light record has no proof");
  clarke_certified_clear(&c);
  ck_assert(c.record.folder == NULL && c.nodes.certificate == NULL && c.nodes.n == 0);
}
END_TEST

/* No proof of what is refuted, or of several types; the checker's own word on a record that is not what the proof was made of. */
/* Lemma 2's gradient is 0 by what AD takes at its kinks: no entry is left over of which the record alone would say so. */
START_TEST(recorded_zeros)
{
  clarke_certified c;
  json_t *list;
  bool has = false;

  run_record(&c, "lemma2", false, false);
  OK(clarke_record_has_zero(&has, &c.record, &error));
  ck_assert(has);
  OK(clarke_record_find_zeros(&c.record, &c.audit, &error));
  ck_assert(c.record.zeros == NULL); /* nobody looked for the exact ones */
  list = clarke_record_zeros_json(&c.record, &c.audit);
  ck_assert(json_is_null(list));
  json_decref(list);
  OK(clarke_audit_find_zeros(&c.audit, false, &error));
  OK(clarke_record_find_zeros(&c.record, &c.audit, &error));
  list = clarke_record_zeros_json(&c.record, &c.audit);
  ck_assert_uint_eq(json_array_size(list), 0);
  json_decref(list);
  clarke_certified_clear(&c);
}
END_TEST

START_TEST(records_without_proofs)
{
  char proof[128];
  clarke_certified c;

  own_path(proof, "record.proof");
  run_record(&c, "own-side", true, false);
  c.nodes.by.casts = true;
  FAILS(clarke_certified_prove(&c, proof, &error), "in several types");
  c.nodes.by.casts = false;
  c.audit.batch_stored = false;
  FAILS(clarke_certified_prove(&c, proof, &error), "uncompressed .npz");
  c.audit.batch_stored = true;
  c.nodes.certificate[0].certainty = CLARKE_IS_REFUTED;
  ck_assert_int_eq(clarke_certified_answer(&c), CLARKE_IS_REFUTED);
  FAILS(clarke_certified_prove(&c, proof, &error), "something is refuted");
  ck_assert_int_ne(access(proof, F_OK), 0);
  c.traced = false;
  ck_assert_int_eq(clarke_certified_answer(&c), CLARKE_CANNOT_SAY);
  clarke_certified_clear(&c);
}
END_TEST

/* What a proof names is hashed as it is read, packed or not; where none is asked for the trace is not, unless run.json has its hash. */
START_TEST(hashes)
{
  static const struct {
    const char *name;
    bool given;
  } one[] = {{"parted", false}, {"small-plain", false}, {"small", true}, {"tied", true}};

  for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
    for (int way = 0; way < 4; way++) {
      const bool sieved = way % 2 != 0, provable = way / 2 != 0;
      char folder[256], trace[300], proof[128];
      const clarke_certify_request ask = {folder, CLARKE_NONE, true, sieved, provable, false, true};
      clarke_certified c;
      clarke_file file;

      snprintf(folder, sizeof folder, CASES "/runs/%s", one[i].name);
      snprintf(trace, sizeof trace, "%s/step-000000.trace.safetensors", folder);
      own_path(proof, "record.proof");
      clarke_certified_init(&c);
      OK(clarke_certified_run(&c, &ask, &error));
      ck_assert_int_eq(*c.record.step->trace.sha256 != '\0', one[i].given);
      if (!provable && !one[i].given) {
        ck_assert_str_eq(c.record.trace_bytes.sha256, "");
        FAILS(clarke_certified_prove(&c, proof, &error), "the trace was not hashed as it was read");
      } else {
        OK(clarke_file_read(&file, trace, &error));
        ck_assert_str_eq(c.record.trace_bytes.sha256, file.sha256);
        clarke_file_clear(&file);
        OK(clarke_certified_prove(&c, proof, &error));
        ck_assert_int_eq(checked(proof, folder), 0);
        remove(proof);
      }
      clarke_certified_clear(&c);
    }
}
END_TEST

/* A certificate that claims more than the record gives is refuted by the checker. */
START_TEST(proofs_that_lie)
{
  char proof[128];
  clarke_certified c;

  own_path(proof, "record.proof");
  run_record(&c, "parted", true, false);
  for (size_t k = 0; k < c.nodes.n; k++)
    if (c.nodes.certificate[k].certainty == CLARKE_WITHIN_BOUND) {
      c.nodes.certificate[k].certainty = CLARKE_BIT_EXACT;
      c.nodes.certificate[k].exact = c.nodes.certificate[k].entries;
    }
  ck_assert_int_eq(clarke_certified_answer(&c), CLARKE_BIT_EXACT);
  OK(clarke_certified_prove(&c, proof, &error));
  ck_assert_int_eq(checked(proof, CASES "/runs/parted"), 1);
  remove(proof);
  clarke_certified_clear(&c);
}
END_TEST

/* The same written by hand: with the pattern and without, and of files that have other hashes. */
START_TEST(proofs_by_hand)
{
  char proof[128], other[65];
  const clarke_run_step *step;
  clarke_proof_record r;
  clarke_certified c;
  clarke_model m;

  own_path(proof, "record.proof");
  run_record(&c, "parted", false, false);
  step = c.record.step;
  clarke_model_init(&m);
  OK(clarke_onnx_parse_at(&m, c.record.graph.data, c.record.graph.size, c.record.graph_path, &error));
  r = (clarke_proof_record){.model = {.name = c.record.run.graph.name, .sha256 = c.record.run.graph.sha256},
                            .params = {.name = step->parameters.name, .sha256 = step->parameters.sha256},
                            .batch = {.name = step->batch.name, .sha256 = step->batch.sha256},
                            .trace = {.name = step->trace.name, .sha256 = c.record.trace_bytes.sha256},
                            .gradients = {.name = step->gradients.name, .sha256 = step->gradients.sha256},
                            .certify = &c.nodes, .pattern = &c.pattern, .nodes = &m};
  OK(clarke_proof_write_record(proof, &r, &error));
  ck_assert_int_eq(checked(proof, CASES "/runs/parted"), 0);
  c.pattern.parted[0].feature++; /* another kink */
  OK(clarke_proof_write_record(proof, &r, &error));
  ck_assert_int_eq(checked(proof, CASES "/runs/parted"), 1);
  r.pattern = NULL;
  OK(clarke_proof_write_record(proof, &r, &error));
  ck_assert_int_eq(checked(proof, CASES "/runs/parted"), 0);
  snprintf(other, sizeof other, "%s", c.record.trace_bytes.sha256);
  other[0] = other[0] == '0' ? '1' : '0';
  r.trace.sha256 = other;
  OK(clarke_proof_write_record(proof, &r, &error));
  ck_assert_int_ne(checked(proof, CASES "/runs/parted"), 0);
  remove(proof);
  clarke_model_clear(&m);
  clarke_certified_clear(&c);
}
END_TEST

/* Doubles decide as exact numbers do, and no less is bit-exact. */
START_TEST(sieved)
{
  clarke_certified exact, fast;

  run_record(&exact, "small", true, false);
  run_record(&fast, "small", true, true);
  ck_assert_int_eq(clarke_certified_answer(&fast), clarke_certified_answer(&exact));
  ck_assert(!fast.replayed && !fast.compared && exact.real.why[0] == '\0');
  ck_assert_uint_eq(fast.nodes.n, exact.nodes.n);
  for (size_t k = 0; k < exact.nodes.n; k++) {
    const clarke_certificate *a = &exact.nodes.certificate[k], *b = NULL;

    for (size_t i = 0; i < fast.nodes.n && b == NULL; i++)
      if (fast.nodes.certificate[i].part == a->part && strcmp(fast.nodes.certificate[i].name, a->name) == 0)
        b = &fast.nodes.certificate[i];
    ck_assert(b != NULL && b->certainty == a->certainty && b->entries == a->entries && b->exact <= a->exact);
    ck_assert(b->worst >= a->worst * (1 - 1e-9));
  }
  clarke_certified_clear(&exact);
  clarke_certified_clear(&fast);
}
END_TEST

static void
expect_same_pattern(const clarke_branches *a, const clarke_branches *b)
{
  ck_assert(a->asked == b->asked && a->open == b->open && a->unrecorded == b->unrecorded && a->doubtful == b->doubtful);
  ck_assert_uint_eq(a->n, b->n);
  for (size_t i = 0; i < a->n; i++) {
    const clarke_parted *p = &a->parted[i], *q = &b->parted[i];

    ck_assert(p->kind == q->kind && p->step == q->step && p->feature == q->feature && p->sample == q->sample && p->alike == q->alike);
  }
}

/* The whole record by doubles: branches, both semantics and the answer about the gradient are those of the exact pass, which is made where
 * doubles leave something open: a weight that is tied, a gradient that is 0. */
START_TEST(sieved_whole)
{
  static const struct {
    const char *name;
    bool decided, settled;
  } one[] = {{"small", true, true}, {"small-plain", true, true}, {"own-side", true, true}, {"two-zeros", true, false}, {"tied", false, false},
             {"parted", false, false}, {"turned", true, true}, {"lemma2", false, false}, {"bounds", true, true}, {"pooled", false, false}};
  const size_t i = (size_t)_i;
  char folder[256];
  const clarke_certify_request ask = {.folder = folder, .step = CLARKE_NONE, .sieved = true, .small_too = true, .whole = true};
  clarke_certified exact, fast;
  bool settled = false;

  snprintf(folder, sizeof folder, CASES "/runs/%s", one[i].name);
  run_record(&exact, one[i].name, false, true); /* a small network's: no doubles decide */
  ck_assert(!exact.nodes.by_doubles && clarke_audit_is_small(&exact.audit.graph));
  clarke_certified_init(&fast);
  OK(clarke_certified_run(&fast, &ask, &error));
  ck_assert_int_eq(fast.nodes.by_doubles, one[i].decided);
  expect_same_pattern(&exact.pattern, &fast.pattern);
  ck_assert(exact.compared == fast.compared && exact.along.verdict == fast.along.verdict);
  ck_assert_str_eq(exact.along.why, fast.along.why);
  OK(clarke_certified_settle(&settled, &fast, &error));
  ck_assert_int_eq(settled, one[i].settled);
  OK(clarke_certified_gradient(&exact, &error));
  OK(clarke_certified_gradient(&fast, &error));
  ck_assert_int_eq(fast.nodes.by_doubles, settled); /* else it was asked again */
  ck_assert_int_eq(exact.record.ran, fast.record.ran);
  ck_assert_str_eq(exact.record.why, fast.record.why);
  ck_assert(exact.record.entries == fast.record.entries && exact.record.open == fast.record.open
            && exact.record.checked == fast.record.checked);
  clarke_certified_clear(&exact);
  clarke_certified_clear(&fast);
}
END_TEST

/* Explained by its nodes alone, and by the whole gradient, too, in one record; the answer says which. */
START_TEST(explained_by_nodes)
{
  static const char *const name[] = {"small", "small-plain", "bounds"};
  char folder[256];
  clarke_certify_request ask = {.folder = folder, .step = CLARKE_NONE, .sieved = true, .small_too = true};
  clarke_certified nodes, whole;
  bool settled = false;
  json_t *j;

  snprintf(folder, sizeof folder, CASES "/runs/%s", name[_i]);
  clarke_certified_init(&nodes);
  clarke_certified_init(&whole);
  OK(clarke_certified_run(&nodes, &ask, &error));
  ask.whole = true;
  OK(clarke_certified_run(&whole, &ask, &error));
  OK(clarke_certified_settle(&settled, &nodes, &error));
  ck_assert(settled && nodes.nodes.by_doubles && nodes.record.ran == CLARKE_RAN_EXPLAINED);
  ck_assert(nodes.record.by_nodes && !nodes.audit.valued);
  OK(clarke_certified_gradient(&nodes, &error));
  OK(clarke_certified_gradient(&whole, &error));
  ck_assert(clarke_record_rests_on_nodes(&nodes.record) && !clarke_record_rests_on_nodes(&whole.record));
  ck_assert(whole.record.ran == CLARKE_RAN_EXPLAINED && whole.audit.valued);
  ck_assert(nodes.record.entries == whole.record.entries && nodes.record.checked == whole.record.checked);
  j = clarke_record_json(&nodes.record, &nodes.audit);
  ck_assert_str_eq(text_in(j, "by"), "nodes");
  json_decref(j);
  j = clarke_record_json(&whole.record, &whole.audit);
  ck_assert_str_eq(text_in(j, "by"), "whole");
  json_decref(j);
  nodes.record.ran = CLARKE_RAN_UNKNOWN; /* what is said of it later has another reason */
  ck_assert(!clarke_record_rests_on_nodes(&nodes.record));
  clarke_certified_clear(&nodes);
  clarke_certified_clear(&whole);
}
END_TEST

static bool
by_nodes(clarke_certified *c)
{
  c->record.by_nodes = false;
  OK(clarke_record_say(&c->record, CLARKE_RAN_UNKNOWN, &error, "too wide"));
  OK(clarke_certified_by_nodes(c, &error));
  ck_assert(c->record.by_nodes == (c->record.ran == CLARKE_RAN_EXPLAINED));
  ck_assert(c->record.by_nodes || strcmp(c->record.why, "too wide") == 0);
  return c->record.by_nodes;
}

/* Nodes that exact arithmetic certified explain a gradient, too. Not where the whole one was asked for, where a branch or the loss is in doubt, or where
 * one of them has a bound that would explain another. */
START_TEST(explained_by_exact_nodes)
{
  const clarke_certify_request ask = {.folder = CASES "/runs/small", .step = CLARKE_NONE};
  clarke_certificate *last;
  clarke_certified c;
  clarke_run_step *step;
  double slack;

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  ck_assert(!c.nodes.by_doubles && by_nodes(&c));
  ck_assert(clarke_record_rests_on_nodes(&c.record));
  c.whole = true;
  ck_assert(!by_nodes(&c));
  c.whole = false;
  c.compared = false;
  ck_assert(!by_nodes(&c));
  c.compared = true;
  c.pattern.doubtful = 1;
  ck_assert(!by_nodes(&c));
  c.pattern.doubtful = 0;
  step = (clarke_run_step *)c.record.step;
  step->loss *= 2;
  ck_assert(!by_nodes(&c));
  step->loss /= 2;
  last = &c.nodes.certificate[c.nodes.n - 1];
  while (last->certainty == CLARKE_BIT_EXACT)
    last--;
  slack = last->slack;
  last->slack = last->norm;
  ck_assert(!by_nodes(&c));
  last->slack = slack;
  ck_assert(by_nodes(&c));
  clarke_certified_clear(&c);
}
END_TEST

/* One node whose bounds would explain a wrong record, of whatever part, and the nodes explain nothing; so if there is none, or it is not followed. */
START_TEST(nodes_that_explain_nothing)
{
  const clarke_certify_request ask = {.folder = CASES "/runs/small", .step = CLARKE_NONE, .sieved = true, .small_too = true};
  clarke_certified c;
  size_t followed = 0;
  bool settled;
  char of[64];

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  for (size_t i = 0; i < c.nodes.n; i++)
    followed += c.nodes.certificate[i].certainty == CLARKE_FOLLOWED;
  for (size_t i = 0; i < c.nodes.n; i++) {
    clarke_certificate *made = &c.nodes.certificate[i];
    const clarke_certificate keep = *made;

    if (keep.certainty != CLARKE_WITHIN_BOUND)
      continue;
    ck_assert(keep.norm > 0 && keep.slack > 0 && keep.slack < keep.norm / 5);
    made->slack = made->norm / 4;
    OK(clarke_certified_settle(&settled, &c, &error));
    ck_assert(!c.record.by_nodes);
    made->slack = keep.slack;
    made->certainty = CLARKE_CANNOT_SAY;
    OK(clarke_certified_settle(&settled, &c, &error));
    ck_assert(!c.record.by_nodes);
    made->certainty = CLARKE_FOLLOWED;
    OK(clarke_certified_settle(&settled, &c, &error));
    ck_assert(settled && c.record.by_nodes);
    snprintf(of, sizeof of, " of %zu tensors,", c.nodes.n - followed - 1); /* that one is no record */
    ck_assert_uint_eq(clarke_certify_recorded(&c.nodes), c.nodes.n - followed - 1);
    ck_assert_msg(strstr(c.record.why, of) != NULL, "%s: %s", of, c.record.why);
    made->certainty = CLARKE_WITHIN_BOUND;
    if (made->part == CLARKE_PARAMETER) {
      made->part = CLARKE_OUTPUT; /* nobody judged that parameter */
      OK(clarke_certified_settle(&settled, &c, &error));
      ck_assert(!c.record.by_nodes);
    }
    *made = keep;
  }
  clarke_certified_clear(&c);
}
END_TEST

/* At most the norm of a record, of what somebody asks about. */
START_TEST(norms_of_records)
{
  const float recorded[] = {3, -4, 12, 0};
  clarke_certify c = {.branched = true};
  clarke_sieve s = {.c = &c};
  clarke_certificate made = {.entries = 4, .certainty = CLARKE_WITHIN_BOUND};
  const double norm = clarke_sieve_norm(&s, &made, recorded);

  ck_assert(norm <= 13 && norm > 12.9999);
  made.entries = 2;
  ck_assert(clarke_sieve_norm(&s, &made, recorded) <= 5);
  made.certainty = CLARKE_BIT_EXACT;
  ck_assert(clarke_sieve_norm(&s, &made, recorded) == 0);
  made.certainty = CLARKE_WITHIN_BOUND;
  s.open = true;
  ck_assert(clarke_sieve_norm(&s, &made, recorded) == 0);
  s.open = c.branched = false;
  ck_assert(clarke_sieve_norm(&s, &made, recorded) == 0);
}
END_TEST

/* So wide a bound that the whole gradient would not be told either: that is the answer, and no gradient is computed. */
START_TEST(vague_by_nodes)
{
  const clarke_certify_request ask = {.folder = CASES "/runs/small", .step = CLARKE_NONE, .sieved = true, .small_too = true};
  clarke_certificate *last;
  clarke_certified c;
  bool settled = false;

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  last = &c.nodes.certificate[c.nodes.n - 1];
  while (last->certainty == CLARKE_BIT_EXACT)
    last--;
  ck_assert(last->part == CLARKE_PARAMETER && last->certainty == CLARKE_WITHIN_BOUND);
  last->slack = last->norm;
  last->slack_least = last->norm / 2;
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(settled && !c.audit.valued && c.record.ran == CLARKE_RAN_UNKNOWN && strstr(c.record.why, last->name) != NULL);
  last->slack_least = last->norm / 4; /* which the exact pass may call told */
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(c.audit.valued);
  clarke_certified_clear(&c);
}
END_TEST

/* What is beside a record that doubles certified is asked of the exact pass: another loss in run.json, and a gradient that is another's. */
START_TEST(not_settled)
{
  const clarke_certify_request ask = {.folder = CASES "/runs/small", .step = CLARKE_NONE, .sieved = true, .small_too = true, .whole = true};
  clarke_certified c;
  clarke_run_step *step;
  bool settled = true;
  double keep;

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  step = (clarke_run_step *)c.record.step;
  ck_assert(step->has_loss);
  step->loss *= 1 + 0x1p-10;
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(!settled);
  step->loss /= 1 + 0x1p-10;
  for (size_t i = 0; i < c.nodes.n; i++) /* would allow any number */
    c.nodes.certificate[i].slack = c.nodes.certificate[i].part == CLARKE_PARAMETER ? 1e9 : 0;
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(!settled);
  for (size_t i = 0; i < c.nodes.n; i++)
    c.nodes.certificate[i].slack = 0;
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(settled && c.record.ran == CLARKE_RAN_EXPLAINED);
  c.record.gradients.tensor[0].real[0] += 1e3; /* nodes that lie would not hide it */
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(!settled);
  c.record.gradients.tensor[0].real[0] -= 1e3;
  keep = c.nodes.rounded.error[c.audit.graph.output][0]; /* no bound on the loss is none that it keeps */
  c.nodes.rounded.error[c.audit.graph.output][0] = INFINITY;
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(!settled);
  c.nodes.rounded.error[c.audit.graph.output][0] = keep;
  c.pattern.doubtful = 1;
  OK(clarke_certified_settle(&settled, &c, &error));
  ck_assert(!settled);
  OK(clarke_certified_again(&c, &error)); /* all numbers, exactly */
  ck_assert(!c.nodes.by_doubles && c.nodes.pass.value[c.audit.graph.output].rows > 0);
  clarke_certified_clear(&c);
}
END_TEST

/* Along its own replay the bounded gradient is AD's, within what it says. */
START_TEST(gradient_along)
{
  clarke_gradient near = {0}, exact = {0};
  clarke_certified c;
  bool found, told;

  run_record(&c, "small", false, false);
  OK(clarke_gradient_init(&near, c.audit.graph.n_parameters, &error));
  OK(clarke_audit_gradient_along(&found, &near, &c.audit, &c.audit.replay, 12, &error));
  OK(clarke_audit_gradient(&told, &exact, &c.audit, &error));
  ck_assert(found && told && !c.audit.bounded);
  for (size_t p = 0; p < near.n; p++)
    for (size_t e = 0; near.entry[p] != NULL && e < c.audit.graph.parameters[p].count; e++)
      ck_assert(fabs(near.entry[p][e] - exact.entry[p][e]) <= near.within[p] + exact.within[p]);
  clarke_gradient_clear(&near);
  clarke_gradient_clear(&exact);
  clarke_certified_clear(&c);
}
END_TEST

/* Norms of 3 and 4 entry by entry; a quarter of the norm is allowed, and of a zero a part of the whole. */
START_TEST(norms)
{
  clarke_vague vague = {0};
  clarke_record r;
  clarke_norms n = {0}, none = {0};

  clarke_norms_add(&n, 3, 0.5, 3.5, 1);
  clarke_norms_add(&n, -4, 0.5, -4, 1);
  ck_assert_double_eq_tol(n.exact, hypot(2.5, 3.5), 1e-12);
  ck_assert_double_eq_tol(n.recorded, hypot(3.5, 4), 1e-12);
  ck_assert_double_eq_tol(n.apart, hypot(1, 0.5), 1e-12);
  ck_assert_double_eq_tol(n.bound, hypot(1, 1), 1e-12);
  ck_assert(!clarke_norms_are_vague(&n, n.exact / 4.001, 10) && clarke_norms_are_vague(&n, n.exact / 3.999, 10));
  clarke_norms_add(&none, 0.25, 0.5, 0.25, 1);
  ck_assert(none.exact == 0 && !clarke_norms_are_vague(&none, 0.1, 10) && clarke_norms_are_vague(&none, 0.2, 10));
  clarke_record_init(&r);
  for (size_t i = 0; i < 4; i++)
    clarke_vague_add(&vague, (const char *const[]){"a", "b", "c", "d"}[i], 1, 0.5, "allowed");
  OK(clarke_vague_say(&vague, &r, &error));
  ck_assert(r.ran == CLARKE_RAN_UNKNOWN && vague.n == 4);
  ck_assert_str_eq(r.why, "rounding would explain a wrong gradient, too, of 4 parameters: a (norm 1, 0.5 allowed), b (norm 1, 0.5 allowed), "
                          "c (norm 1, 0.5 allowed), ...");
  clarke_record_clear(&r);
}
END_TEST

/* The replay asked for afterwards says what it says at once. */
START_TEST(both_semantics)
{
  clarke_audit_request ask = {.threads = 1};
  clarke_certified whole, later;

  run_record(&whole, known[_i].name, false, false);
  run_record(&later, known[_i].name, true, false);
  ask.wrt = later.record.wrt;
  OK(clarke_record_request(&ask, &later.record, &error));
  OK(clarke_certified_semantics(&later, &ask, &error));
  ck_assert(later.compared == whole.compared && later.real.verdict == whole.real.verdict && later.along.verdict == whole.along.verdict);
  ck_assert_str_eq(later.real.why, whole.real.why);
  ck_assert_str_eq(later.along.why, whole.along.why);
  ck_assert_uint_eq(later.pattern.n, whole.pattern.n);
  ck_assert_uint_eq(later.pattern.asked, whole.pattern.asked);
  clarke_certified_clear(&whole);
  clarke_certified_clear(&later);
}
END_TEST

/* --- two records --- */

static void
difference_is(const clarke_certified *a, const clarke_certified *b, clarke_difference_kind kind, const char *name, size_t differing)
{
  clarke_difference d;
  json_t *j;

  OK(clarke_certified_against(&d, a, b, &error));
  ck_assert_int_eq(d.kind, kind);
  ck_assert_uint_eq(d.differing, differing);
  ck_assert_uint_eq(d.entries, clarke_graph_wrt_count(&a->audit.graph));
  ck_assert_int_eq(d.forked, kind == CLARKE_BY_BRANCHES);
  j = clarke_difference_json(&d, a, b);
  ck_assert_str_eq(text_in(j, "difference"), name);
  ck_assert_str_eq(text_in(j, "answer"), clarke_certainty_name(clarke_certified_answer(b)));
  ck_assert_int_eq(count_in(j, "entries"), (long)d.entries);
  ck_assert_int_eq(count_in(j, "differing"), (long)differing);
  ck_assert_int_eq(json_is_null(json_object_get(j, "first")), !d.forked);
  ck_assert_int_eq(json_is_null(json_object_get(j, "values")), differing == 0);
  if (differing > 0) {
    const json_t *values = json_object_get(j, "values");

    ck_assert_str_eq(text_in(j, "parameter"), d.parameter);
    ck_assert_str_eq(text_in(j, "index"), d.index);
    ck_assert(strtod(json_string_value(json_array_get(values, 0)), NULL) == d.value[0]);
    ck_assert(strtod(json_string_value(json_array_get(values, 1)), NULL) == d.value[1]);
  }
  json_decref(j);
}

START_TEST(one_record_twice)
{
  clarke_certified a, b;
  clarke_difference d;
  double *entry;

  run_record(&a, "small", true, false);
  run_record(&b, "small", true, false);
  difference_is(&a, &b, CLARKE_NO_DIFFERENCE, "none", 0);
  /* Two entries of the gradient, the farther one in another tensor */
  b.record.gradients.tensor[0].real[0] += 0x1p-20;
  entry = &b.record.gradients.tensor[1].real[5];
  *entry += 1;
  OK(clarke_certified_against(&d, &a, &b, &error));
  ck_assert_str_eq(d.parameter, b.record.gradients.tensor[1].name);
  ck_assert(d.value[1] == *entry && d.value[0] == a.record.gradients.tensor[1].real[5]);
  difference_is(&a, &b, CLARKE_BY_ROUNDING, "rounding", 2);
  b.nodes.certificate[3].certainty = CLARKE_NOT_CERTIFIED;
  difference_is(&a, &b, CLARKE_NOT_EXPLAINED, "not explained", 2);
  difference_is(&b, &a, CLARKE_NOT_EXPLAINED, "not explained", 2);
  b.nodes.certificate[3].certainty = CLARKE_BIT_EXACT;
  b.traced = false;
  difference_is(&a, &b, CLARKE_NOT_EXPLAINED, "not explained", 2);
  b.traced = true;
  b.record.trace.tensor[0].real[0] += 1;
  b.record.gradients.tensor[0].real[0] = a.record.gradients.tensor[0].real[0];
  *entry = a.record.gradients.tensor[1].real[5];
  difference_is(&a, &b, CLARKE_BY_ROUNDING, "rounding", 0);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

/* At one kink the second record took another branch. */
START_TEST(two_branches)
{
  clarke_certified a, b;
  clarke_difference d;
  size_t step = 0, e = 3;
  size_t x;

  run_record(&a, "small", true, false);
  run_record(&b, "small", true, false);
  while (a.audit.graph.steps[step].kind != CLARKE_PIECEWISE)
    step++;
  x = a.audit.graph.steps[step].in[0].value;
  b.nodes.pass.piece[step][e] = (clarke_branch)!a.nodes.pass.piece[step][e];
  b.nodes.recorded[x][e] = 77;
  difference_is(&a, &b, CLARKE_BY_BRANCHES, "branches", 0);
  OK(clarke_certified_against(&d, &a, &b, &error));
  ck_assert(d.kind == CLARKE_BY_BRANCHES && d.forked && d.differing == 0 && d.parameter == NULL);
  ck_assert(d.at.step == step && d.at.feature == e / a.nodes.pass.n && d.at.sample == e % a.nodes.pass.n);
  ck_assert(d.argument[0] == a.nodes.recorded[x][e] && d.argument[1] == 77);
  free(b.nodes.recorded[x]);
  b.nodes.recorded[x] = NULL; /* its branches are not known then */
  OK(clarke_certified_against(&d, &a, &b, &error));
  ck_assert(d.kind == CLARKE_NOT_EXPLAINED && !d.forked);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

/* As if it were light, without a trace, beside the whole: what it took is not known. */
START_TEST(beside_a_light_record)
{
  clarke_certified a, b;
  clarke_difference d;

  run_record(&a, "small", true, false);
  run_record(&b, "small", true, false);
  for (size_t v = 0; v < b.nodes.g->n_values; v++)
    free(b.nodes.recorded[v]);
  free(b.nodes.recorded);
  b.nodes.recorded = NULL;
  b.traced = false;
  OK(clarke_certified_against(&d, &a, &b, &error));
  ck_assert(d.kind == CLARKE_NOT_EXPLAINED && !d.forked);
  OK(clarke_certified_against(&d, &b, &a, &error));
  ck_assert(d.kind == CLARKE_NOT_EXPLAINED && !d.forked);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

START_TEST(two_steps)
{
  clarke_certified a, b;
  clarke_difference d;

  run_record(&a, "small", true, false);
  run_record(&b, "lemma2", true, false);
  FAILS(clarke_certified_against(&d, &a, &b, &error), "are no records of one step: graph or loss is not the same");
  clarke_certified_clear(&b);
  run_record(&b, "small", true, false);
  b.audit.batch.tensor[0].real[0] += 1;
  FAILS(clarke_certified_against(&d, &a, &b, &error), "batch is not the same");
  b.audit.batch.tensor[0].real[0] -= 1;
  b.audit.graph.parameters[1].real[0] += 1;
  FAILS(clarke_certified_against(&d, &a, &b, &error), "parameters are not the same");
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

/* A graph is its own twin. With a step that hands on its input it is, too, on either side; with one that does anything else it is not. */
START_TEST(twins)
{
  clarke_certified a, b;
  clarke_twins t = {NULL};
  clarke_graph *h = &b.audit.graph;
  clarke_step *steps, *own;
  size_t count, hole[4096];
  bool same;

  run_record(&a, "attention", true, false);
  run_record(&b, "attention", true, false);
  OK(clarke_twins_find(&t, &same, &a.audit.graph, h, &error));
  for (size_t i = 0; i < h->n_steps; i++)
    ck_assert(same && (t.step[i] == i || (t.step[i] == CLARKE_NONE && h->steps[i].kind == CLARKE_GATHER)));
  clarke_twins_clear(&t);

  own = h->steps;
  steps = calloc(h->n_steps + 1, sizeof *steps);
  memcpy(steps + 1, own, h->n_steps * sizeof *steps);
  h->values = realloc(h->values, (h->n_values + 1) * sizeof *h->values);
  h->values[h->n_values] = h->values[h->input];
  h->values[h->n_values].producer = 0;
  steps[0] = (clarke_step){.kind = CLARKE_GATHER, .op = own[0].op, .name = "cast", .out = h->n_values, .n_in = 1,
                           .in = &(clarke_operand){.value = h->input, .coef = 1}};
  count = h->values[h->input].count;
  ck_assert_uint_le(count, 4096);
  for (size_t i = 0; i < h->n_steps; i++)
    for (size_t k = 0; k < own[i].n_in; k++)
      own[i].in[k].value = own[i].in[k].value == h->input ? h->n_values : own[i].in[k].value;
  for (size_t v = 0; v < h->n_values; v++)
    h->values[v].producer += h->values[v].producer != CLARKE_NONE;
  h->steps = steps;
  h->n_steps++;
  h->n_values++;
  OK(clarke_twins_find(&t, &same, &a.audit.graph, h, &error));
  for (size_t i = 0; i < a.audit.graph.n_steps; i++)
    ck_assert(same && (t.step[i] == i + 1 || own[i].kind == CLARKE_GATHER));
  clarke_twins_clear(&t);
  OK(clarke_twins_find(&t, &same, h, &a.audit.graph, &error));
  ck_assert(same && t.step[0] == CLARKE_NONE);
  clarke_twins_clear(&t);
  for (size_t f = 0; f < count; f++)
    hole[f] = f;
  steps[0].in[0].map = hole;
  OK(clarke_twins_find(&t, &same, &a.audit.graph, h, &error)); /* entry by entry, as well */
  ck_assert(same);
  clarke_twins_clear(&t);
  hole[count - 1] = 0;
  OK(clarke_twins_find(&t, &same, &a.audit.graph, h, &error));
  ck_assert(!same);
  clarke_twins_clear(&t);
  hole[count - 1] = CLARKE_NONE;
  OK(clarke_twins_find(&t, &same, h, &a.audit.graph, &error));
  ck_assert(!same);
  clarke_twins_clear(&t);
  ck_assert(clarke_twins_numbers(NULL, NULL, 3) && !clarke_twins_numbers(NULL, h->parameters[0].real, 1));
  h->n_steps--;
  h->n_values--;
  for (size_t v = 0; v < h->n_values; v++)
    h->values[v].producer -= h->values[v].producer != CLARKE_NONE;
  memcpy(own, steps + 1, h->n_steps * sizeof *steps);
  h->steps = own;
  free(steps);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

/* What makes a step another one: each of these alone. */
START_TEST(no_twins)
{
  clarke_certified a, b;
  size_t changed = 0;

  run_record(&a, "attention", true, false);
  run_record(&b, "attention", true, false);
  for (size_t i = 0; i < a.audit.graph.n_steps; i++)
    for (int k = 0; k < 7; k++) {
      clarke_step *s = &b.audit.graph.steps[i], was = *s;
      const double coef = s->in[0].coef;
      const size_t from = s->in[0].value;
      clarke_twins t = {NULL};
      bool same, what[7] = {true, true, s->n_in > 1, s->kind == CLARKE_PRODUCT && s->contraction.rows != s->contraction.cols,
                            s->kind == CLARKE_SOFTMAX, s->kind == CLARKE_ANALYTIC, s->kind == CLARKE_DENSE};

      if (!what[k])
        continue;
      switch (k) {
      case 0: s->kind = s->kind == CLARKE_SUM ? CLARKE_SCALE : CLARKE_SUM; break;
      case 1: s->in[0].coef = coef + 1; break;
      case 2: s->in[0].value = s->in[1].value; break;
      case 3: s->contraction.rows = was.contraction.cols; break;
      case 4: s->log = !s->log; break;
      case 5: s->function = s->function == CLARKE_TANH ? CLARKE_EXP : CLARKE_TANH; break;
      default: s->dense.transposed = !s->dense.transposed; break;
      }
      OK(clarke_twins_find(&t, &same, &a.audit.graph, &b.audit.graph, &error));
      ck_assert_msg(!same || (k == 2 && from == was.in[1].value) || (k < 3 && was.kind == CLARKE_GATHER), "step %zu, change %d", i, k);
      changed += !same;
      clarke_twins_clear(&t);
      *s = was;
      s->in[0].coef = coef;
      s->in[0].value = from;
    }
  ck_assert_uint_gt(changed, 20);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

/* The answers about the gradient that ran, and what a wrong one is told. */
START_TEST(the_gradient_that_ran)
{
  static const struct {
    const char *name;
    clarke_ran ran;
    size_t turned;
    const char *why;
  } want[] = {{"small", CLARKE_RAN_EXPLAINED, 0, "certified, node by node"},
              {"small-light", CLARKE_RAN_EXPLAINED, 0, "of its bound"},
              {"parted", CLARKE_RAN_TURNED, 3, "at 3 of 9 kinks and windows rounding took a branch"},
              {"own-side", CLARKE_RAN_TURNED, 1, "1/relu[0, 0, 0] of sample 0"}};
  char folder[256];
  const clarke_certify_request q = {.folder = folder, .step = CLARKE_NONE};
  clarke_audit_request ask = {.threads = 1};
  clarke_certified c;
  json_t *turned, *j;

  snprintf(folder, sizeof folder, CASES "/runs/%s", want[_i].name);
  clarke_certified_init(&c);
  OK(clarke_certified_ask(&c, &ask, &q, &error));
  OK(clarke_certified_gradient(&c, &error));
  ck_assert_int_eq(c.record.ran, want[_i].ran);
  ck_assert_ptr_nonnull(strstr(c.record.why, want[_i].why));
  turned = clarke_turned_json(&c);
  j = clarke_record_json(&c.record, &c.audit);
  ck_assert_uint_eq(json_array_size(json_object_get(turned, "kinks")), want[_i].turned);
  ck_assert_int_eq(json_is_null(turned), want[_i].turned == 0);
  ck_assert_str_eq(text_in(j, "answer"), clarke_ran_name(want[_i].ran));
  ck_assert_str_eq(text_in(j, "types"), "float32");
  json_decref(turned);
  json_decref(j);
  for (size_t e = 0; want[_i].turned == 0 && e < c.record.gradients.tensor[0].count; e++)
    c.record.gradients.tensor[0].real[e] *= -1; /* certificates are of what was recorded before: it is far from AD's all the same */
  OK(clarke_certified_gradient(&c, &error));
  ck_assert(want[_i].turned > 0 || c.record.ran == CLARKE_RAN_REFUTED);
  clarke_certified_clear(&c);
}
END_TEST

static void
surrogates_are(const clarke_record *r, size_t n, const char *first)
{
  json_t *list = clarke_record_surrogates_json(r);

  ck_assert_uint_eq(json_array_size(list), n);
  if (n > 0)
    ck_assert_str_eq(json_string_value(json_array_get(list, 0)), first);
  json_decref(list);
}

/* What run.json says, beside what the record shows. */
START_TEST(claims)
{
  clarke_certified c;
  size_t n;

  run_record(&c, "small", true, false);
  n = c.record.n_claims;
  ck_assert_uint_eq(n, 1);
  ck_assert_str_eq(c.record.claim[0], "a loss scale of 1024/3");
  OK(clarke_record_tell(&c.record, &error, "that of %d", 7));
  ck_assert_str_eq(c.record.claim[n], "that of 7");
  OK(clarke_record_say(&c.record, CLARKE_RAN_TURNED, &error, "so %s", "it is"));
  ck_assert(c.record.ran == CLARKE_RAN_TURNED && strcmp(c.record.why, "so it is") == 0);
  ck_assert(!c.record.widened);
  free(c.record.run.dtype[0]);
  c.record.run.dtype[0] = strdup("bfloat16");
  FAILS(clarke_record_claims(&c.record, &c.audit, &error), "numbers of type bfloat16 were computed; no tensor of the trace is of it");
  free(c.record.run.dtype[0]);
  c.record.run.dtype[0] = strdup("float32");
  c.record.run.n_parameters--;
  FAILS(clarke_record_claims(&c.record, &c.audit, &error), "has a gradient of '8.weight', which run.json does not count");
  c.record.run.n_parameters++;
  surrogates_are(&c.record, 0, NULL);
  c.record.run.surrogate = calloc(1, sizeof *c.record.run.surrogate);
  c.record.run.surrogate[c.record.run.n_surrogates++] = strdup("net.py:3: aten.detach.default: a constant to AD");
  c.record.run.constant = calloc(1, sizeof *c.record.run.constant);
  c.record.run.constant[c.record.run.n_constants++] = strdup("row 0 of e.weight is not trained (padding_idx)");
  surrogates_are(&c.record, 1, "net.py:3: aten.detach.default: a constant to AD");
  n = c.record.n_claims;
  OK(clarke_record_claims(&c.record, &c.audit, &error));
  ck_assert_str_eq(c.record.claim[n], "row 0 of e.weight is not trained (padding_idx)");
  clarke_certified_clear(&c);
}
END_TEST

MODULE(records)
{
  TCase *tests = tests_of("records");

  tcase_add_loop_test(tests, the_gradient_that_ran, 0, 4);
  tcase_add_test(tests, claims);
  tcase_add_test(tests, twins);
  tcase_add_test(tests, no_twins);

  tcase_add_loop_test(tests, of_known_records, 0, sizeof known / sizeof known[0]);
  tcase_add_test(tests, recorded_zeros);
  tcase_add_test(tests, records_without_proofs);
  tcase_add_test(tests, proofs_that_lie);
  tcase_add_test(tests, hashes);
  tcase_add_test(tests, proofs_by_hand);
  tcase_add_test(tests, sieved);
  tcase_add_loop_test(tests, sieved_whole, 0, 10);
  tcase_add_loop_test(tests, explained_by_nodes, 0, 3);
  tcase_add_test(tests, explained_by_exact_nodes);
  tcase_add_test(tests, nodes_that_explain_nothing);
  tcase_add_test(tests, vague_by_nodes);
  tcase_add_test(tests, norms_of_records);
  tcase_add_test(tests, not_settled);
  tcase_add_test(tests, norms);
  tcase_add_test(tests, gradient_along);
  tcase_add_loop_test(tests, both_semantics, 0, 5);
  tcase_add_test(tests, one_record_twice);
  tcase_add_test(tests, two_branches);
  tcase_add_test(tests, beside_a_light_record);
  tcase_add_test(tests, two_steps);
  return all_tests;
}
