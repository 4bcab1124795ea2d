/* A forger of proofs about programs: for small random programs it writes proofs of every kind of evidence and for every
 * verdict, true or not, most of them close to right ones, ends them with the right hash, and has the checker judge
 * them. An oracle of its own (forge_program_oracle.h) says which statements are false: none of these may verify.
 *
 *   forge_program [PROOFS-OF-EACH-KIND [SEED]] */
#include "forge_program_oracle.h"
#include "program/prog.h"
#include "check/proof.h"
#include "check/base/sha256.h"
#include "program/derive.h"
#include "../suite.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum { BY_AD, BY_HULL, BY_SEPARATOR, BY_UNANIMITY, KINDS } evidence;
static const char *const kinds[] = { "ad", "hull", "separator", "unanimous" };
static const char *const verdicts[] = { "in-bouligand", "in-clarke", "not-in-clarke" };

typedef struct {
  char text[1 << 16];
  int n;
} paper;

typedef struct {
  forge_program p;
  forge_truth truth;
  char program[4096], hash[65];
  const clarke_derivation *d;
} subject;

/* By kind; of what is true, false, unknown: forged, and verified. */
typedef struct {
  long programs, torn, forged[KINDS][3], verified[KINDS][3];
} tally;

static char folder[] = "/tmp/clarke-forger-XXXXXX";
static long most = 300;
static uint64_t state = 1;

static void put(paper *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
put(paper *w, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  w->n += vsnprintf(w->text + w->n, sizeof w->text - (size_t)w->n, format, list);
  va_end(list);
  ck_assert_int_lt(w->n, (int)sizeof w->text);
}

/* x as a fraction with a small denominator, or the nearest in 64ths. */
static void
put_fraction(paper *w, long double x)
{
  mpq_t q;
  long d = 1;

  while (d < 64 && fabsl(x * d - roundl(x * d)) > 1e-9L)
    d++;
  mpq_init(q);
  mpq_set_si(q, (long)roundl(x * d), (unsigned long)d);
  mpq_canonicalize(q);
  w->n += gmp_snprintf(w->text + w->n, sizeof w->text - (size_t)w->n, " %Qd", q);
  mpq_clear(q);
}

static void
put_point(paper *w, const subject *s, const char *word, const long double *x)
{
  put(w, "%s", word);
  for (int k = 0; k < s->p.n_wrt; k++)
    put_fraction(w, x[k]);
  put(w, "\n");
}

/* --- evidence --------------------------------------------------------------------------------- */

static void
put_random_arc(paper *w, const subject *s)
{
  int steps = draw_int(&state, 8) ? 1 + draw_int(&state, 2) : 0;

  put(w, "arc %d\n", steps);
  for (int r = 0; r < steps; r++) {
    long double d[FORGE_WRT] = { draw_int(&state, 7) - 3, draw_int(&state, 7) - 3 };

    put_point(w, s, "step", d);
  }
}

/* An arc that the library found, a direction of the oracle's, or any. */
static void
put_arc(paper *w, const subject *s)
{
  const clarke_patterns *t = &s->d->patterns;
  const clarke_pattern *p = t->n > 0 ? &t->pattern[draw_int(&state, (int)t->n)] : NULL;
  int chosen = draw_int(&state, 4);

  if (chosen < 2 && p != NULL && p->realized) {
    put(w, "arc %zu\n", p->n_directions);
    for (size_t r = 0; r < p->n_directions; r++) {
      put(w, "step");
      for (size_t k = 0; k < t->width; k++)
        w->n += gmp_snprintf(w->text + w->n, sizeof w->text - (size_t)w->n, " %Qd", p->direction[r][k]);
      put(w, "\n");
    }
  } else if (chosen == 2 && s->truth.n_limits > 0) {
    put(w, "arc 1\n");
    put_point(w, s, "step", s->truth.direction[draw_int(&state, s->truth.n_limits)]);
  } else
    put_random_arc(w, s);
}

/* Two cells on a line through AD's output, or any cells with any weights. */
static void
put_hull(paper *w, const subject *s)
{
  const forge_truth *t = &s->truth;
  int n = draw_int(&state, 3) ? 1 + draw_int(&state, 3) : 1;
  int left = 12;

  if (t->n_limits > 1 && draw_int(&state, 3)) {
    int i = draw_int(&state, t->n_limits), j = draw_int(&state, t->n_limits), k;

    for (k = 0; k + 1 < s->p.n_wrt && fabsl(t->limit[i][k] - t->limit[j][k]) < 1e-9L;)
      k++;
    long double share = (t->ad[k] - t->limit[j][k]) / (t->limit[i][k] - t->limit[j][k]);

    if (share > 0.01L && share < 0.99L) {
      long double whole = roundl(share * 24) / 24; /* often the share itself */

      put(w, "evidence hull 2\ncell");
      put_fraction(w, whole);
      put(w, "\narc 1\n");
      put_point(w, s, "step", t->direction[i]);
      put(w, "cell");
      put_fraction(w, 1 - whole);
      put(w, "\narc 1\n");
      put_point(w, s, "step", t->direction[j]);
      return;
    }
  }
  put(w, "evidence hull %d\n", n);
  for (int k = 0; k < n; k++) {
    int part = k + 1 == n ? left : 1 + draw_int(&state, left - (n - k - 1));

    left -= part;
    put(w, "cell");
    put_fraction(w, part / 12.0L);
    put(w, "\n");
    put_arc(w, s);
  }
}

static void
put_dead(paper *w, size_t decisions)
{
  int n = 1 + draw_int(&state, 2), from = 0;

  put(w, "dead %d\n", n);
  for (int k = 0; k < n; k++) {
    int at = from + draw_int(&state, (int)decisions + 1);

    put(w, "u %d %d\n", at, 1 + draw_int(&state, 2));
    from = at + 1;
  }
}

/* The library's tree, or that with one node of another kind. */
static void
put_tree(paper *w, const subject *s)
{
  const clarke_patterns *t = &s->d->patterns;
  size_t change = draw_int(&state, 3) && t->tree.n > 0 ? (size_t)draw_int(&state, (int)t->tree.n) : CLARKE_NONE;

  put(w, "tree\n");
  if (draw_int(&state, 5) == 0) { /* some forks left open, then a leaf */
    for (int k = draw_int(&state, 5); k > 0; k--)
      put(w, "open\n");
    put(w, "leaf\n");
    return;
  }
  for (size_t i = 0; i < t->tree.n && w->n < 60000; i++) {
    const clarke_node *f = &t->tree.node[i];
    bool changed = i == change;

    if (f->kind == CLARKE_BRANCH)
      put(w, "branch %zu\n", f->n_branches + (changed ? 1 : 0));
    else if ((f->kind == CLARKE_LEAF) != changed)
      put(w, "leaf\n");
    else if (changed)
      put_dead(w, f->depth);
    else {
      put(w, "dead %zu\n", f->gordan.n);
      for (size_t k = 0; k < f->gordan.n; k++) {
        put(w, "u %zu", f->gordan.multiplier[k].of);
        w->n += gmp_snprintf(w->text + w->n, sizeof w->text - (size_t)w->n, " %Qd\n", f->gordan.multiplier[k].u);
      }
    }
  }
}

static void
put_separator(paper *w, const subject *s)
{
  const forge_truth *t = &s->truth;
  long double v[FORGE_WRT] = { draw_int(&state, 7) - 3, draw_int(&state, 7) - 3 };

  if (t->n_limits > 0 && draw_int(&state, 3)) {
    const long double *away = t->limit[draw_int(&state, t->n_limits)];

    for (int k = 0; k < FORGE_WRT; k++)
      v[k] = roundl(16 * (t->ad[k] - away[k])) / 16;
  }
  for (int k = 0; k < FORGE_WRT; k++)
    v[k] = fabsl(v[k]) < 1e6L ? v[k] : 1;
  put(w, "evidence separator\n");
  put_point(w, s, "v", v);
  put_tree(w, s);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* The verdict that is argued for; any, now and then. */
static int
put_proof(paper *w, const subject *s, evidence how)
{
  int verdict = how == BY_SEPARATOR ? 2 : how == BY_HULL ? draw_int(&state, 2) : 0;
  char hex[65];

  if (draw_int(&state, 10) == 0)
    verdict = draw_int(&state, 3);
  w->n = 0;
  put(w, "clarke-proof 1\nverdict %s\nsemantics real\nprogram forged.prog %s\n", verdicts[verdict], s->hash);
  for (int k = 0; k < s->p.n_wrt; k++)
    put(w, "at x%d %g\n", k, s->p.w[k]);
  put(w, "wrt *\nprofile forged\ntouched %d\n", s->truth.touched);
  if (how == BY_AD) {
    put(w, "evidence ad\n");
    put_arc(w, s);
  } else if (how == BY_HULL) {
    put_hull(w, s);
  } else if (how == BY_SEPARATOR) {
    put_separator(w, s);
  } else {
    put(w, "evidence unanimous\n");
    put_tree(w, s);
  }
  sha256((bytes){ (unsigned char *)w->text, (size_t)w->n }, hex);
  put(w, "end %s\n", hex);
  return verdict;
}

static void
save(const char *name, const char *text, size_t n)
{
  char path[64];
  int f;

  snprintf(path, sizeof path, "%s/%s", folder, name);
  f = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (f < 0 || write(f, text, n) != (ssize_t)n || close(f) != 0)
    ck_abort_msg("%s cannot be written", path);
}

/* The checker, in a child; with more bits where it asks for them, a few times. */
static outcome
check(void)
{
  char path[64];
  int status = UNDECIDED;

  snprintf(path, sizeof path, "%s/forged.proof", folder);
  for (unsigned long bits = 64; bits <= 256 && status == UNDECIDED; bits *= 2) {
    pid_t child = fork();

    if (child == 0) {
      int nowhere = open("/dev/null", O_WRONLY);

      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
      session_set_bits(bits);
      clarke_check_proof(path, NULL);
      _exit(VERIFIED);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
      ck_abort_msg("the checker was killed");
    status = WEXITSTATUS(status);
  }
  return (outcome)status;
}

static forge_answer
is_true(const forge_truth *t, int verdict)
{
  if (t->torn)
    return FORGE_FALSE;
  if (verdict == 0)
    return t->bouligand;
  if (verdict == 1)
    return t->clarke;
  return t->clarke == FORGE_UNKNOWN ? FORGE_UNKNOWN : t->clarke == FORGE_TRUE ? FORGE_FALSE : FORGE_TRUE;
}

static void
forge(tally *count, const subject *s, evidence how)
{
  static paper w;
  int verdict = put_proof(&w, s, how);
  forge_answer truth = is_true(&s->truth, verdict);
  outcome said;

  save("forged.proof", w.text, (size_t)w.n);
  said = check();
  count->forged[how][truth]++;
  count->verified[how][truth] += said == VERIFIED;
  if (said == VERIFIED && truth == FORGE_FALSE)
    ck_abort_msg("verified, and false (AD %Lg %Lg, %d limits%s):\n%s%s", s->truth.ad[0], s->truth.ad[1], s->truth.n_limits,
                 s->truth.torn ? ", torn" : "", s->program, w.text);
}

static bool
wanted(const tally *count)
{
  for (int k = 0; k < KINDS; k++)
    if (count->forged[k][0] + count->forged[k][1] + count->forged[k][2] < most)
      return true;
  return false;
}

static void
try_program(tally *count, const clarke_profile *profile)
{
  static subject s;
  clarke_error err = { CLARKE_OK, "" };
  clarke_code p;
  clarke_derivation d;
  mpq_t at[FORGE_WRT];

  forge_program_draw(&s.p, &state);
  forge_program_judge(&s.truth, &s.p, &state);
  if (!s.truth.usable)
    return;
  forge_program_write(s.program, sizeof s.program, &s.p);
  sha256((bytes){ (unsigned char *)s.program, strlen(s.program) }, s.hash);
  save("forged.prog", s.program, strlen(s.program));
  clarke_code_init(&p);
  clarke_derivation_init(&d);
  for (int k = 0; k < FORGE_WRT; k++) {
    mpq_init(at[k]);
    mpq_set_d(at[k], s.p.w[k]);
  }
  /* A divisor that is the constant 0 is refused, and so is a point where AD's output is not finite. */
  if (clarke_prog_parse(&p, s.program, strlen(s.program), "forged.prog", &err) == CLARKE_OK
      && clarke_code_wrt(&p, NULL, 0, &err) == CLARKE_OK && clarke_derive(&d, &p, at, profile, &err) == CLARKE_OK
      && !d.execution.open) {
    s.d = &d;
    count->programs++;
    count->torn += s.truth.torn;
    for (int round = 0; round < 3; round++)
      for (int k = 0; k < KINDS; k++)
        forge(count, &s, (evidence)k);
  }
  clarke_derivation_clear(&d);
  clarke_code_clear(&p);
  mpq_clears(at[0], at[1], NULL);
}

static void
report(const tally *count)
{
  printf("%ld programs, %ld not Lipschitz\n", count->programs, count->torn);
  for (int k = 0; k < KINDS; k++)
    printf("  %-9s  false: %ld, verified %ld; true: %ld, verified %ld; not known: %ld, verified %ld\n", kinds[k],
           count->forged[k][0], count->verified[k][0], count->forged[k][1], count->verified[k][1], count->forged[k][2],
           count->verified[k][2]);
  fflush(stdout);
}

START_TEST(forged_proofs)
{
  tally count = { 0 };
  clarke_profile profile;
  clarke_error err = { CLARKE_OK, "" };

  clarke_profile_init(&profile);
  ck_assert_int_eq(clarke_profile_load(&profile, "pytorch-2.13", &err), CLARKE_OK);
  while (wanted(&count))
    try_program(&count, &profile);
  clarke_profile_clear(&profile);
  report(&count);
  ck_assert_int_gt(count.torn, count.programs / 50);
  for (int k = 0; k < KINDS; k++) { /* true and false ones, the truth mostly known, some of the true ones proofs */
    const long *forged = count.forged[k];

    ck_assert_int_gt(forged[FORGE_FALSE], most / 10);
    ck_assert_int_gt(forged[FORGE_TRUE], most / 20);
    ck_assert_int_lt(5 * forged[FORGE_UNKNOWN], forged[0] + forged[1] + forged[2]);
    ck_assert_int_gt(count.verified[k][FORGE_TRUE], forged[FORGE_TRUE] / 20);
  }
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *t = tests_of("forged proofs about programs");

  if (mkdtemp(folder) == NULL)
    return EXIT_FAILURE;
  most = argc > 1 ? atol(argv[1]) : most;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : state;
  tcase_add_test(t, forged_proofs);
  return run_tests();
}
