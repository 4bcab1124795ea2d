/* Recorded steps of optimizers: each entry of the state that a step left behind lies no farther from what the rule makes of the recorded state
 * and gradient than the proof says. The rule is computed as in proofs about steps (update_rule.c). */
#include "check/update/update_record.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"
#include "check/files/tensor_files.h"
#include "check/update/update_settings.h"
#include "check/update/update_statement.h"
#include "check/update/update_whole.h"

#include <stdlib.h>
#include <string.h>

/* What optimizers call the parts of their state. */
static const char *const slot_says[N_SLOTS] = {"theta", "psi", "m", "v", "u", "prev", "size", "ax", "row", "col"};
static const char *const called[N_SLOTS][6] = {[THETA] = {"theta"},
                                               [PSI] = {"psi"},
                                               [M] = {"exp_avg", "momentum_buffer", "m"},
                                               [V] = {"exp_avg_sq", "square_avg", "sum", "v", "variance"},
                                               [U] = {"acc_delta", "exp_inf"},
                                               [PREV] = {"prev"},
                                               [SIZE] = {"step_size"},
                                               [AX] = {"ax"},
                                               [ROW] = {"row_var"},
                                               [COL] = {"col_var"}};

typedef struct {
  tensor *all, *gradients; /* of the optimizer's file; of the record's, or NULL */
  size_t n, n_gradients;
  name_index names, gradient_names, stated;
  bool *read; /* of the optimizer's file: the proof speaks of it */
  update rule;
  bool up; /* along the gradient, not down */
  rational scale;
  update_settings settings; /* of run.json, if the proof says that they are */
} updates;

/* A parameter, before the step and after it. NULL: it has not such a tensor. */
typedef struct {
  char *name;
  size_t k;     /* steps before */
  bool counted; /* the file says so, too */
  const tensor *gradient, *part[2][N_SLOTS];
  const tensor *times;                      /* how often a sparse gradient has each entry; NULL: it is a dense one */
  size_t left;                              /* so many it does not have, and the rule leaves them as they are */
  update_tensor whole;                      /* of rules of whole tensors: the axes, then what the rule makes of it */
  rational within[N_SLOTS], moved[N_SLOTS]; /* as stated; as recorded, the most of all entries */
} stepped_tensor;

/* ---- Tensors */

/* PART/NAME, or PART/SLOT/NAME; NULL: there is none. */
static const tensor *
find(updates *u, const char *part, const char *slot, const char *name)
{
  char *path = allocate(strlen(part) + strlen(slot) + strlen(name) + 3, 1);
  sprintf(path, "%s/%s%s%s", part, slot, *slot != '\0' ? "/" : "", name);
  size_t i = name_find(&u->names, path);
  free(path);
  if (i == NONE)
    return NULL;
  u->read[i] = true;
  return &u->all[i];
}

static bool
same_shape(const tensor *a, const tensor *b)
{
  return a->rank == b->rank && a->count == b->count && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static const tensor *
find_slot(updates *u, int when, int slot, const char *name)
{
  static const char *const parts[] = {"before", "after"};
  const tensor *found = NULL;
  for (size_t i = 0; called[slot][i] != NULL; i++) {
    const tensor *t = find(u, parts[when], called[slot][i], name);
    require(t == NULL || found == NULL, "%s has two tensors for one slot", name);
    found = t != NULL ? t : found;
  }
  return found;
}

/* The count of steps in the file, if it has one, is the stated one. Has it? */
static bool
check_count(updates *u, const char *part, const char *name, size_t k)
{
  RATIONAL(q);
  const tensor *t = find(u, part, "step", name);
  if (t == NULL)
    return false;
  require(t->count == 1, "%s/step/%s is no number", part, name);
  tensor_entry(&q, t, 0);
  require(mpq_cmp_ui(&q, k, 1) == 0, "%s/step/%s is another number of steps than %zu", part, name, k);
  return true;
}

/* May the state have that part? */
static bool
has_slot(const updates *u, const stepped_tensor *p, int s)
{
  return s == THETA || (u->rule.of->whole != NULL ? update_whole_has(&p->whole, &u->rule, s) : u->rule.of->slot[s]);
}

/* Averages of rows, or columns, have one entry on that axis. */
static bool
fits(const tensor *theta, const tensor *part, int s)
{
  size_t gone = s == ROW ? 1 : 2;
  bool fit = part->rank == theta->rank && theta->rank >= 2;
  if (s != ROW && s != COL)
    return same_shape(theta, part);
  for (size_t i = 0; fit && i < part->rank; i++)
    fit = part->dims[i] == (i + gone == part->rank ? 1 : theta->dims[i]);
  return fit;
}

/* The axes of theta, as rules of whole tensors see them. */
static void
find_axes(const updates *u, stepped_tensor *p, const tensor *theta)
{
  update_tensor *t = &p->whole;
  t->n = theta->count;
  if (theta->rank >= 2) {
    t->rows = theta->dims[theta->rank - 2];
    t->cols = theta->dims[theta->rank - 1];
    t->batches = 1;
    for (size_t i = 0; i + 2 < theta->rank; i++)
      t->batches *= theta->dims[i];
  }
  if (u->rule.of->whole == NULL)
    return;
  require(t->n > 0, "%s has no entries", p->name);
  update_whole_check(t, &u->rule);
}

/* Must it? m only where there is momentum: a number that is not 0, or one that grows; else the step does not depend on it. And torch-sgd has
 * none before its first step. */
static bool
is_kept(const updates *u, const stepped_tensor *p, int s)
{
  return has_slot(u, p, s)
         && (s != M || u->rule.of->whole != NULL || u->rule.grows || !u->rule.of->number[MOMENTUM]
             || mpq_sgn(&u->rule.number[MOMENTUM]) != 0);
}

static void
find_parts(updates *u, stepped_tensor *p)
{
  p->gradient = find(u, "gradient", "", p->name);
  for (int when = 0; when < 2; when++)
    p->part[when][THETA] = find_slot(u, when, THETA, p->name);
  const tensor *theta = p->part[0][THETA];
  require(theta != NULL && p->part[1][THETA] != NULL && p->gradient != NULL,
          "%s: theta before, theta after or the gradient is not recorded", p->name);
  require(same_shape(theta, p->gradient), "%s: the gradient has another shape", p->name);
  find_axes(u, p, theta);
  for (int when = 0; when < 2; when++)
    for (int s = PSI; s < N_SLOTS; s++)
      if (has_slot(u, p, s))
        p->part[when][s] = find_slot(u, when, s, p->name);
  p->times = u->rule.of->sparse ? find(u, "times", "", p->name) : NULL;
  require(p->times == NULL || same_shape(theta, p->times), "%s: 'times' has another shape", p->name);
  for (int s = 0; s < N_SLOTS; s++) {
    const tensor *before = p->part[0][s], *after = p->part[1][s];
    require(before == NULL || fits(theta, before, s), "%s: a part before has another shape", p->name);
    require(after == NULL || fits(theta, after, s), "%s: a part after has another shape", p->name);
    require(!is_kept(u, p, s) || (after != NULL && (before != NULL || p->k == 0)), "%s: its %s is missing", p->name,
            slot_says[s]);
    require(s != M || before == NULL || p->k > 0 || !u->rule.of->number[DAMPENING],
            "%s has a buffer before its first step", p->name);
  }
  p->counted = check_count(u, "before", p->name, p->k);
  if (check_count(u, "after", p->name, p->k + 1) && p->k == 0)
    p->counted = true;
}

/* The gradient that the optimizer was given is that of the record's file, bit for bit. */
static void
check_given(const updates *u, const stepped_tensor *p)
{
  if (u->gradients == NULL)
    return;
  size_t i = name_find(&u->gradient_names, p->name);
  require(i != NONE, "%s has no recorded gradient", p->name);
  const tensor *of = &u->gradients[i], *given = p->gradient;
  require(of->type == given->type && same_shape(of, given) && of->packed.size == given->packed.size
              && memcmp(of->packed.data, given->packed.data, given->packed.size) == 0,
          "%s: the optimizer was given another gradient than the recorded one", p->name);
}

/* ---- An entry */

static void
set_entry(interval *x, const tensor *t, size_t i)
{
  RATIONAL(q);
  tensor_entry(&q, t, i);
  interval_set(x, &q, &q);
}

/* Before the first step: what is not recorded begins as the rule says. */
static void
begin_entry(const updates *u, update_entry *e, const stepped_tensor *p, size_t i)
{
  RATIONAL(q);
  for (int s = 0; s < N_SLOTS; s++) {
    interval_set(&e->slot[s], &zero, &zero);
    if (p->part[0][s] != NULL)
      set_entry(&e->slot[s], p->part[0][s], i);
  }
  for (int s = V; s <= U; s++)
    require(!u->rule.of->slot[s] || mpq_sgn(&e->slot[s].lo) >= 0, "%s: %s is below 0", p->name, slot_says[s]);
  if (p->part[0][SIZE] == NULL && u->rule.of->slot[SIZE])
    interval_set(&e->slot[SIZE], &u->rule.number[ETA], &u->rule.number[ETA]);
  if (p->part[0][V] == NULL && u->rule.of->v_is_one)
    interval_set(&e->slot[V], &plus_one, &plus_one);
  if (p->part[0][PSI] != NULL || !u->rule.of->slot[PSI])
    return;
  mpq_mul(&q, &u->rule.number[ALPHA], &u->rule.number[BETA]);
  mpq_sub(&q, &plus_one, &q);
  interval_add(&e->slot[PSI], &e->slot[THETA], &q);
}

/* The same in words. */
static const char *
begins_with(const updates *u, int s)
{
  if (s == PSI)
    return "theta (1 - alpha beta), as the rule begins";
  if (s == SIZE)
    return "0, not from eta, with which the rule begins";
  return s == V && u->rule.of->v_is_one ? "1, as the rule begins" : "0, as the rule begins";
}

/* The most by which it has moved, from where it began. (Rprop's size, which may stay at what it began with: from 0.) */
static void
add_move(stepped_tensor *p, int s, const interval *start, size_t i)
{
  RATIONAL(q);
  tensor_entry(&q, p->part[1][s], i);
  if (s != SIZE || p->part[0][s] != NULL)
    mpq_sub(&q, &q, &start->lo);
  mpq_abs(&q, &q);
  if (mpq_cmp(&q, &p->moved[s]) > 0)
    mpq_set(&p->moved[s], &q);
}

/* The recorded number lies within the stated distance of the interval that holds the rule's. */
static void
check_near(const stepped_tensor *p, const interval *x, const rational *after, int s, size_t i)
{
  RATIONAL(far);
  RATIONAL(q);
  mpq_sub(&far, &x->hi, after);
  mpq_sub(&q, after, &x->lo);
  if (mpq_cmp(&q, &far) > 0)
    mpq_swap(&q, &far);
  if (mpq_cmp(&far, &p->within[s]) <= 0)
    return;
  mpq_sub(&far, &x->lo, after);
  mpq_sub(&q, after, &x->hi);
  require(mpq_cmp(&far, &p->within[s]) <= 0 && mpq_cmp(&q, &p->within[s]) <= 0,
          "%s: entry %zu of %s is farther from the rule's", p->name, i, slot_says[s]);
  leave(UNDECIDED, "%s: entry %zu of %s may be farther from the rule's, with intervals of %d bits", p->name, i,
        slot_says[s], MAX_BITS);
}

/* Is the entry one that a sparse gradient, of a rule that asks for it, does not have? */
static bool
is_left(const stepped_tensor *p, const rational *gradient, size_t i)
{
  RATIONAL(q);
  if (p->times == NULL)
    return false;
  tensor_entry(&q, p->times, i);
  require(mpq_sgn(&q) >= 0, "%s: entry %zu of its gradient is there less than 0 times", p->name, i);
  require(mpq_sgn(&q) > 0 || mpq_sgn(gradient) == 0, "%s: entry %zu of its gradient is not 0, and not there", p->name,
          i);
  return mpq_sgn(&q) == 0;
}

static void
check_entry(const updates *u, update_entry *e, stepped_tensor *p, size_t i)
{
  RATIONAL(g);
  begin_entry(u, e, p, i);
  for (int s = 0; s < N_SLOTS; s++)
    if (p->part[1][s] != NULL)
      add_move(p, s, &e->slot[s], i);
  tensor_entry(&g, p->gradient, i);
  mpq_div(&g, &g, &u->scale);
  if (u->up)
    mpq_neg(&g, &g);
  if (is_left(p, &g, i))
    p->left++;
  else
    update_step(&u->rule, e, &g);
  for (int s = 0; s < N_SLOTS; s++) {
    if (p->part[1][s] == NULL)
      continue;
    tensor_entry(&g, p->part[1][s], i);
    check_near(p, &e->slot[s], &g, s, i);
  }
}

/* ---- A tensor as a whole */

/* The state before, as recorded; what is not there begins with 0. And the gradient. */
static void
begin_tensor(const updates *u, stepped_tensor *p, interval *gradient)
{
  update_tensor *t = &p->whole;
  update_whole_begin(t, &u->rule);
  for (int s = 0; s < N_SLOTS; s++)
    for (size_t i = 0; p->part[1][s] != NULL && i < update_whole_count(t, s); i++) {
      if (p->part[0][s] != NULL)
        set_entry(&t->slot[s][i], p->part[0][s], i);
      require((s != V && s != ROW && s != COL) || mpq_sgn(&t->slot[s][i].lo) >= 0, "%s: %s is below 0", p->name,
              slot_says[s]);
      add_move(p, s, &t->slot[s][i], i);
    }
  for (size_t i = 0; i < t->n; i++) {
    tensor_entry(&gradient[i].lo, p->gradient, i);
    mpq_div(&gradient[i].lo, &gradient[i].lo, &u->scale);
    if (u->up)
      mpq_neg(&gradient[i].lo, &gradient[i].lo);
    mpq_set(&gradient[i].hi, &gradient[i].lo);
  }
}

static void
check_tensor(updates *u, stepped_tensor *p)
{
  update_tensor *t = &p->whole;
  interval *gradient = intervals(t->n);
  RATIONAL(q);
  begin_tensor(u, p, gradient);
  u->rule.k = p->k;
  update_whole_step(&u->rule, t, gradient);
  for (int s = 0; s < N_SLOTS; s++)
    for (size_t i = 0; p->part[1][s] != NULL && i < update_whole_count(t, s); i++) {
      tensor_entry(&q, p->part[1][s], i);
      check_near(p, &t->slot[s][i], &q, s, i);
    }
  intervals_free(gradient, t->n);
  update_whole_end(t);
}

/* ---- A parameter */

/* A distance that is not small beside how far the tensor moved would let a wrong state pass. */
static void
state_part(const updates *u, const stepped_tensor *p, int s)
{
  RATIONAL(four);
  mpq_mul_2exp(&four, &p->within[s], 2);
  require(mpq_cmp(&four, &p->moved[s]) <= 0, "%s: the distance of %s is not small beside how far it moved", p->name,
          slot_says[s]);
  gmp_fprintf(account, "      %s within %Qd, having moved by up to about %.3g%s%s\n", slot_says[s], &p->within[s],
              mpq_get_d(&p->moved[s]), p->part[0][s] == NULL ? " from " : "",
              p->part[0][s] == NULL ? begins_with(u, s) : "");
}

/* The digits behind the point of the type of its group's first parameter: 2^-digits is that type's epsilon. */
static size_t
finfo_bits(updates *u, const char *name)
{
  char *first = update_settings_first(&u->settings, name);
  const tensor *t = find(u, "before", "theta", first);
  require(t != NULL, "%s: it is the first of a group, and not recorded", first);
  free(first);
  return dtypes[t->type].fraction;
}

/* `parameter NAME K`, and the distance of each part that is recorded after the step. */
static void
check_parameter(updates *u)
{
  stepped_tensor p = {0};
  update_entry *e = (update_entry *)intervals(N_SLOTS);
  next_line("parameter");
  p.name = next_name();
  p.k = next_number();
  require(name_add(&u->stated, p.name), "%s is there twice", p.name);
  find_parts(u, &p);
  check_given(u, &p);
  fputs("    ", account);
  state_name(p.name);
  fprintf(account, ", %zu entries of %s, %s %zu steps\n", p.gradient->count, dtypes[p.part[0][THETA]->type].name[1],
          p.counted ? "after" : "not counted in the file, taken as after", p.k);
  for (int s = 0; s < N_SLOTS; s++) {
    p.within[s] = rational_zero();
    p.moved[s] = rational_zero();
    if (p.part[1][s] != NULL)
      next_rational(&p.within[s]);
  }
  if (u->settings.of != NULL)
    update_settings_check(&u->settings, p.name, &u->rule, u->up, p.k, finfo_bits(u, p.name));
  if (u->rule.of->whole != NULL)
    check_tensor(u, &p);
  else
    update_share(&u->rule, p.k);
  for (size_t i = 0; u->rule.of->whole == NULL && i < p.gradient->count; i++)
    check_entry(u, e, &p, i);
  if (p.times != NULL)
    fprintf(account, "      %zu entries are not in its sparse gradient: the rule leaves them as they are\n", p.left);
  for (int s = 0; s < N_SLOTS; s++) {
    if (p.part[1][s] != NULL)
      state_part(u, &p, s);
    mpq_clear(&p.within[s]);
    mpq_clear(&p.moved[s]);
  }
  intervals_free((interval *)e, N_SLOTS);
}

static void
check_group(updates *u)
{
  next_line("group");
  size_t n = next_number();
  fprintf(account, "  Parameters: %zu\n", n);
  update_read_settings(&u->rule);
  require(!u->rule.preconditioned, "a recorded gradient is not divided by its root");
  next_line("direction");
  const char *word = next_word();
  u->up = strcmp(word, "up") == 0;
  require(u->up || strcmp(word, "down") == 0, "'down' or 'up' is expected");
  if (u->up)
    fputs("  up along the gradient: it is negated first\n", account);
  for (size_t i = 0; i < n; i++)
    check_parameter(u);
  update_end(&u->rule);
}

/* ---- The statement */

/* `settings run.json`, if it is there: what follows is as the folder's run.json has it of the step with that optimizer's file. */
static void
read_settings(updates *u, const char *folder, const char *file, const char *hash)
{
  if (!line_is("settings"))
    return;
  require(strcmp(next_word(), "run.json") == 0, "'run.json' is expected");
  update_settings_read(&u->settings, folder, file, hash);
  update_settings_check_scale(&u->settings, &u->scale);
}

static void
read_files(updates *u, const char *folder)
{
  next_line("optimizer");
  const char *word = next_word();
  unread_word(word);
  char *file = next_name();
  unread_word(word);
  bytes optimizer = next_file(folder, "Optimizer's step");
  char hash[65];
  sha256(optimizer, hash);
  u->all = tensors_read(optimizer, &u->n, &u->names);
  u->read = allocate(u->n, sizeof *u->read);
  if (line_is("gradients")) {
    u->gradients = tensors_read(next_file(folder, "Gradients"), &u->n_gradients, &u->gradient_names);
    fputs("The optimizer was given these gradients, bit for bit.\n", account);
  } else {
    fputs("Of the gradient that the optimizer was given nothing else is said.\n", account);
  }
  next_line("scale");
  u->scale = rational_zero();
  next_rational(&u->scale);
  require(mpq_sgn(&u->scale) > 0, "the scale is not above 0");
  if (mpq_cmp_ui(&u->scale, 1, 1) != 0)
    gmp_fprintf(account, "The step divided them by %Qd.\n", &u->scale);
  read_settings(u, folder, file, hash);
  free(file);
}

/* Every parameter of the file is stated. Of what else it has nothing is said. */
static void
check_whole(const updates *u)
{
  static const char theta[] = "after/theta/";
  size_t unsaid = 0;
  require(u->stated.n > 0, "one parameter or more is expected");
  for (size_t i = 0; i < u->n; i++) {
    const char *name = u->all[i].name;
    require(u->read[i] || strncmp(name, theta, strlen(theta)) != 0, "nothing is said of %s", name + strlen(theta));
    if (u->read[i])
      continue;
    fputs(unsaid++ == 0 ? "Nothing is said of these, whose numbers may be any:\n    " : "    ", account);
    state_name(name);
    fputs("\n", account);
  }
}

void
check_recorded_update(const char *folder)
{
  updates u = {0};
  read_files(&u, folder);
  update_read_rule(&u.rule);
  fprintf(account, "The step of an optimizer, %s: %s\n  %s\n",
          u.rule.of->whole != NULL ? "each tensor as a whole" : "each entry by itself", u.rule.of->name,
          u.rule.of->says);
  next_line("groups");
  size_t n = next_number();
  require(n > 0, "one group or more is expected");
  for (size_t i = 0; i < n; i++)
    check_group(&u);
  last_line();
  check_whole(&u);
  mpq_clear(&u.scale);
  if (u.settings.of != NULL)
    update_settings_state(&u.settings);
  else
    fputs("The rule and its settings are this proof's: they were not compared with those in run.json.\n", account);
  printf("VERIFIED\n%s"
         "Each recorded number is no farther from what the rule makes, in real arithmetic, of the recorded state and "
         "gradient.\n",
         account_text());
}
