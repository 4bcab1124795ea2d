/* A tree from its text (summation.h). */
#include "format/summation.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_summation_tree *tree;
  const char *text, *at;
  bool *seen;                          /* by leaf */
  size_t found;                        /* leaves so far */
  size_t depth;                        /* open brackets, */
  size_t items[CLARKE_SUMMATION_DEPTH + 1]; /* and what each holds so far; items[0] of the whole text */
  clarke_error *err;
} reader;

void
clarke_summation_tree_clear(clarke_summation_tree *t)
{
  free(t->step);
  *t = (clarke_summation_tree){0, 0, NULL};
}

static clarke_status
fail(const reader *r, const char *what)
{
  return clarke_fail(r->err, CLARKE_EINPUT, "character %zu: %s", (size_t)(r->at - r->text) + 1, what);
}

/* The leaves are distinct, so there are at most 2 n - 1 steps. */
static void
put(reader *r, clarke_summation_act act, size_t leaf)
{
  r->tree->step[r->tree->n++] = (clarke_summation_step){act, (uint32_t)leaf};
}

/* What was made last is in its bracket now. */
static void
join(reader *r)
{
  if (r->items[r->depth]++ > 0)
    put(r, CLARKE_SUMMATION_ADD, 0);
}

static clarke_status
read_leaf(reader *r, size_t leaf, bool fused)
{
  if (leaf >= r->tree->leaves)
    return fail(r, "there is no such leaf");
  if (r->seen[leaf])
    return fail(r, "a leaf is there twice");
  if (fused && r->items[r->depth] == 0)
    return fail(r, "a product is fused with the sum before it, and there is none");
  r->seen[leaf] = true;
  r->found++;
  if (fused) {
    put(r, CLARKE_SUMMATION_FUSE, leaf);
    r->items[r->depth]++;
    return CLARKE_OK;
  }
  put(r, CLARKE_SUMMATION_PUSH, leaf);
  join(r);
  return CLARKE_OK;
}

static clarke_status
read_number(size_t *number, reader *r)
{
  *number = 0;
  if (*r->at < '0' || *r->at > '9')
    return fail(r, "expected a number");
  for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
    *number = 10 * *number + (size_t)(*r->at - '0');
    if (*number > UINT32_MAX)
      return fail(r, "there is no such leaf");
  }
  return CLARKE_OK;
}

/* A leaf, or a range of leaves. */
static clarke_status
read_leaves(reader *r)
{
  size_t first, last, by = 1;
  bool range, fused;
  clarke_status status = read_number(&first, r);

  last = first;
  range = *r->at == '-';
  if (status == CLARKE_OK && range) {
    r->at++;
    status = read_number(&last, r);
  }
  if (status == CLARKE_OK && range && *r->at == '/') {
    r->at++;
    status = read_number(&by, r);
  }
  if (status != CLARKE_OK)
    return status;
  if (by == 0 || (range && last <= first) || (last - first) % by != 0)
    return fail(r, "a range goes up, and ends at one of its leaves");
  fused = *r->at == '*';
  if (fused)
    r->at++;
  for (size_t leaf = first; leaf <= last && status == CLARKE_OK; leaf += by)
    status = read_leaf(r, leaf, fused);
  return status;
}

static clarke_status
read_item(reader *r)
{
  switch (*r->at) {
  case '[':
    if (r->depth == CLARKE_SUMMATION_DEPTH)
      return fail(r, "too many brackets in brackets");
    r->items[++r->depth] = 0;
    r->at++;
    return CLARKE_OK;
  case ']':
    if (r->depth == 0 || r->items[r->depth] < 2)
      return fail(r, "a bracket ends that was not begun, or holds less than two");
    r->depth--;
    join(r);
    r->at++;
    return CLARKE_OK;
  case '(':
    return fail(r, "no rule is known for sums of several at once");
  default:
    return read_leaves(r);
  }
}

static clarke_status
read_whole(reader *r)
{
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && *r->at != '\0') {
    if (*r->at == ' ')
      r->at++;
    else if (r->depth == 0 && r->items[0] > 0)
      return fail(r, "a tree is one bracket, and nothing after it");
    else
      status = read_item(r);
  }
  if (status != CLARKE_OK)
    return status;
  if (r->depth > 0 || r->items[0] != 1)
    return fail(r, "the tree is not finished");
  return r->found == r->tree->leaves ? CLARKE_OK : fail(r, "a leaf is missing");
}

clarke_status
clarke_summation_tree_parse(clarke_summation_tree *t, const char *text, size_t leaves, clarke_error *err)
{
  reader r = {.tree = t, .text = text, .at = text, .err = err};
  clarke_status status;

  *t = (clarke_summation_tree){leaves, 0, NULL};
  if (leaves == 0 || leaves > CLARKE_MAX_ENTRIES)
    return clarke_fail(err, CLARKE_EINPUT, "a sum of %zu products", leaves);
  t->step = malloc(2 * leaves * sizeof *t->step);
  r.seen = calloc(leaves, sizeof *r.seen);
  status = t->step != NULL && r.seen != NULL ? read_whole(&r) : clarke_no_memory(err);
  free(r.seen);
  if (status != CLARKE_OK)
    clarke_summation_tree_clear(t);
  return status;
}
