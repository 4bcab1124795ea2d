/* Forged proofs about random small networks: of every kind of evidence, for every verdict, true or not. The checker must
 * verify none of what the oracle knows to be false; and every proof that the library writes.
 *
 *   forge_network [FORGED [SEED [NETWORKS]]]
 *
 * goes on until that many proofs of each kind were forged, and that many networks were seen. */
#include "forge_network_evidence.h"

#include "../network/models.h"
#include "audit/audit.h"

#include <inttypes.h>
#include <unistd.h>

typedef struct {
  size_t forged[EVIDENCES], count[EVIDENCES][3][3][2]; /* by kind, verdict, answer, and was it verified? */
  size_t networks, touched, large, written[EVIDENCES], undecided, known, asked, wrong, crashed, refused;
} tally;

static tally all;
static size_t wanted = 1000, networks;
static uint64_t seed = 1;

/* --- one proof --------------------------------------------------------------------------------------- */

static void
report(const char *what, const verdict_word *w)
{
  fprintf(stderr, "%s: %s\n  %s\n", what, keep_files(), w->said);
  if (all.wrong > 20)
    ck_abort_msg("too many");
}

static verdict_word
judge(const scene *s, evidence_kind kind, clarke_verdict v, const char *proof, size_t size)
{
  answer truth = scene_truth(s, v);
  verdict_word w = checked(proof, size, 256);

  all.forged[kind]++;
  all.count[kind][v][truth][w.status == 0]++;
  all.asked++;
  all.known += truth != UNKNOWN;
  all.refused += w.status == 2;
  if (w.status < 0 || w.status > 3) {
    all.crashed++;
    report("the checker is killed", &w);
  }
  if (w.status == 0 && truth == NO) {
    all.wrong++;
    report("FALSE AND VERIFIED", &w);
  }
  return w;
}

/* Statement and evidence. */
static void
judge_evidence(const scene *s, evidence_kind kind, clarke_verdict v, const char *evidence)
{
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);

  put_statement(out, s, v);
  fputs(evidence, out);
  fclose(out);
  judge(s, kind, v, text, size);
  free(text);
}

static void
say_bound(void *to, const char *proof, size_t size, size_t *line)
{
  verdict_word w = judge(to, BY_BOUND, CLARKE_NOT_IN_CLARKE, proof, size);

  *line = w.status == 1 ? w.line : 0;
}

static clarke_verdict
verdict_of(evidence_kind kind, uint64_t *state)
{
  if (kind == BY_HULL || kind == BY_BALANCE)
    return draw_below(state, 2) ? CLARKE_IN_CLARKE : CLARKE_IN_BOULIGAND;
  return kind <= BY_COMPENSATION ? CLARKE_IN_BOULIGAND : kind >= BY_SEPARATOR ? CLARKE_NOT_IN_CLARKE : CLARKE_IN_CLARKE;
}

static const forge forges[] = {forge_ad, forge_compensation, forge_mix, forge_hull, forge_simplices, forge_balance, forge_separator};

static void
forge_one(scene *s, evidence_kind kind, uint64_t *state)
{
  clarke_verdict v = verdict_of(kind, state);
  char *text, *changed;
  size_t size;
  FILE *out;
  bool made;

  if (kind <= BY_BALANCE && scene_truth(s, v) == YES && draw_below(state, 3) > 0)
    return; /* what is false is harder to come by */
  be_careful(state);
  if (kind == BY_BOUND && scene_truth(s, v) != YES && draw_below(state, 4) > 0)
    return;
  if (kind == BY_BOUND) {
    forge_bounds(s, state, say_bound, s);
    return;
  }
  out = open_memstream(&text, &size);
  made = forges[kind](out, s, v, state);
  fclose(out);
  if (made) {
    if (draw_below(state, 10) == 0) /* of another verdict than its evidence is for */
      v = (clarke_verdict)draw_below(state, 3);
    judge_evidence(s, kind, v, text);
    changed = altered(text, state);
    if (scene_truth(s, v) != YES && draw_below(state, 2))
      judge_evidence(s, kind, v, changed);
    free(changed);
  }
  free(text);
}

/* --- the library's own proofs ---------------------------------------------------------------------------- */

static evidence_kind
kind_of(const char *text)
{
  evidence_kind kind = BY_AD;

  while (strncmp(text + strlen("evidence "), evidence_name[kind], strlen(evidence_name[kind])) != 0)
    kind++;
  return kind;
}

/* Its evidence, or NULL. */
static char *
audit(scene *s, clarke_verdict *verdict)
{
  clarke_audit a;
  char *text, *proof;
  size_t size;
  FILE *out;

  clarke_audit_init(&a);
  text = library_proof(&a, s);
  *verdict = a.verdict;
  clarke_audit_clear(&a);
  all.undecided += text == NULL;
  if (text == NULL)
    return NULL;
  out = open_memstream(&proof, &size);
  put_statement(out, s, *verdict);
  fputs(text, out);
  fclose(out);
  verdict_word w = checked(proof, size, 4096);
  free(proof);
  all.written[kind_of(text)]++;
  if (w.status != 0) {
    all.wrong++;
    report("the library's proof is not verified", &w);
  } else if (scene_truth(s, *verdict) == NO) {
    all.wrong++;
    report("the library's proof is FALSE AND VERIFIED", &w);
  }
  return text;
}

/* Another statement: a proxy, a rule, the loss, the weights or wrt. */
static void
alter_claim(network *net, uint64_t *state)
{
  claim old = net->claim;
  size_t o = draw_below(state, OPERATORS), w = draw_below(state, net->n_weights + 1);

  switch (draw_below(state, 5)) {
  case 0:
    draw_wrt(net, state);
    if (net->claim.n_variables > 0)
      break;
    /* fall through */
  case 1:
    draw_statement(net, state);
    break;
  case 2:
    draw_statement(net, state);
    memcpy(old.proxy[o], net->claim.proxy[o], sizeof old.proxy[o]);
    net->claim = old;
    break;
  case 3:
    draw_statement(net, state);
    old.loss = net->claim.loss;
    net->claim = old;
    break;
  default:
    for (size_t t = 0; t < net->m.n_tensors; t++)
      if (net->role[t] == IS_WEIGHT && w >= net->base[t] && w < net->base[t] + net->m.tensors[t].count)
        net->claim.weight[w] = net->claim.weight[w] == 0 ? 1 : -net->claim.weight[w];
    break;
  }
}

/* The evidence of one statement under another. */
static void
borrow(network *net, clarke_verdict v, const char *text, bool params, uint64_t *state)
{
  claim old = net->claim;
  bool wrt[MOST_TENSORS];
  scene s;
  char *changed;

  memcpy(wrt, net->wrt, sizeof wrt);
  do
    alter_claim(net, state);
  while (net->claim.n_variables == 0);
  if (scene_begin(&s, net, params)) {
    judge_evidence(&s, kind_of(text), v, text);
    changed = altered(text, state);
    judge_evidence(&s, kind_of(text), v, changed);
    free(changed);
    judge_evidence(&s, kind_of(text), (clarke_verdict)draw_below(state, 3), text);
  }
  scene_end(&s);
  net->claim = old;
  memcpy(net->wrt, wrt, sizeof wrt);
}

/* --- runs --------------------------------------------------------------------------------------------------- */

static void
alter_library(const scene *s, clarke_verdict v, const char *text, uint64_t *state)
{
  char *changed = altered(text, state);

  judge_evidence(s, kind_of(text), (clarke_verdict)draw_below(state, 3), text);
  judge_evidence(s, kind_of(text), v, changed);
  free(changed);
}

/* Kinds that seldom can be forged are forged more than once where they can. */
static size_t
times_of(evidence_kind e)
{
  size_t most = 0;

  for (evidence_kind k = 0; k < EVIDENCES; k++)
    most = all.forged[k] > most ? all.forged[k] : most;
  return all.forged[e] >= wanted ? 0 : 2 * all.forged[e] < most ? 4 : 1;
}

/* One network: its proof by the library, forged ones of the kinds that are still wanted, and borrowed ones. */
static void
forge_network(uint64_t *state)
{
  network net;
  scene s;
  clarke_verdict v;
  char *text = NULL;
  bool params = draw_below(state, 12) == 0, grown = network_grow(&net, state), begun = false;

  if (grown) {
    begun = scene_begin(&s, &net, params);
    all.networks++;
    all.touched += s.n > 0;
    all.large += !begun;
    text = audit(&s, &v);
    for (evidence_kind e = 0; begun && e < EVIDENCES; e++)
      for (size_t k = times_of(e); k > 0 && (s.n > 0 || draw_below(state, 40) == 0); k--)
        forge_one(&s, e, state);
    if (begun && text != NULL && draw_below(state, 3) == 0)
      alter_library(&s, v, text, state);
    scene_end(&s);
    if (begun && text != NULL && s.n > 0)
      borrow(&net, v, text, params, state);
    free(text);
  }
  network_clear(&net);
}

static void
print_tally(void)
{
  static const clarke_verdict verdicts[] = {CLARKE_IN_BOULIGAND, CLARKE_IN_CLARKE, CLARKE_NOT_IN_CLARKE};

  printf("%zu networks, %zu touched, %zu too large to forge; %zu undecided; written and verified:", all.networks,
         all.touched, all.large, all.undecided);
  for (evidence_kind e = 0; e < EVIDENCES; e++)
    printf(" %s %zu", evidence_name[e], all.written[e]);
  printf("\nforged %zu, of which the oracle knows %zu; refused as inputs %zu, killed %zu\n", all.asked, all.known,
         all.refused, all.crashed);
  for (evidence_kind e = 0; e < EVIDENCES; e++)
    for (size_t v = 0; v < 3; v++) {
      size_t (*c)[2] = all.count[e][verdicts[v]];

      if (c[YES][1] + c[NO][0] > 0)
        printf("  %-9s %-13s true: %zu verified, %zu not; false: %zu VERIFIED, %zu not; unknown: %zu and %zu\n",
               evidence_name[e], clarke_verdict_name(verdicts[v]), c[YES][1], c[YES][0], c[NO][1], c[NO][0],
               c[UNKNOWN][1], c[UNKNOWN][0]);
    }
  fflush(stdout);
}

/* Each kind must have been verified where it is true and rejected where it is false. */
static void
expect_both(void)
{
  static const struct {
    evidence_kind e;
    clarke_verdict v;
    size_t share; /* one of so many must verify */
  } kinds[] = {{BY_AD, CLARKE_IN_BOULIGAND, 10},      {BY_COMPENSATION, CLARKE_IN_BOULIGAND, 50}, {BY_MIX, CLARKE_IN_CLARKE, 200},
               {BY_HULL, CLARKE_IN_BOULIGAND, 50},    {BY_HULL, CLARKE_IN_CLARKE, 50},
               {BY_SIMPLICES, CLARKE_IN_CLARKE, 200}, {BY_BALANCE, CLARKE_IN_CLARKE, 200}, {BY_SEPARATOR, CLARKE_NOT_IN_CLARKE, 50},
               {BY_BOUND, CLARKE_NOT_IN_CLARKE, 100}};

  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t (*c)[2] = all.count[kinds[i].e][kinds[i].v];

    if (c[YES][1] < wanted / kinds[i].share || c[NO][0] < wanted / 20)
      ck_abort_msg("%s proves too little: %zu true verified, %zu false rejected", evidence_name[kinds[i].e],
                   c[YES][1], c[NO][0]);
  }
}

static bool
some_wanted(void)
{
  bool some = all.networks < networks;

  for (evidence_kind e = 0; e < EVIDENCES; e++)
    some = some || all.forged[e] < wanted;
  return some;
}

START_TEST(no_false_proof_verifies)
{
  uint64_t state = seed;
  char line[128];

  snprintf(forge_folder, sizeof forge_folder, "%s/clarke-forger-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(forge_folder));
  while (some_wanted())
    forge_network(&state);
  snprintf(line, sizeof line, "rm -r %s", forge_folder);
  ck_assert_int_eq(system(line), 0);
  print_tally();
  ck_assert_uint_eq(all.wrong + all.crashed, 0);
  expect_both();
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *tcase = tests_of("forge-network");

  if (argc > 1)
    wanted = strtoul(argv[1], NULL, 10);
  if (argc > 2)
    seed = strtoul(argv[2], NULL, 10);
  if (argc > 3)
    networks = strtoul(argv[3], NULL, 10);
  tcase_add_test(tcase, no_false_proof_verifies);
  return run_tests();
}
