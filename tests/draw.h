/* Draws that are the same in every run: splitmix64 (Steele, Lea, Flood), from a seed that moves on with each. */
#ifndef CLARKE_TESTS_DRAW_H
#define CLARKE_TESTS_DRAW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint64_t
draw(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;

  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* 0..n-1 */
static inline size_t
draw_below(uint64_t *state, size_t n)
{
  return (size_t)(draw(state) % n);
}

static inline int
draw_int(uint64_t *state, int n)
{
  return (int)draw_below(state, (size_t)n);
}

/* low..high */
static inline long
draw_between(uint64_t *state, long low, long high)
{
  return low + (long)draw_below(state, (size_t)(high - low + 1));
}

/* One of how many is drawn: DRAW_ONE_IN of the environment, which tests/run and tests/sanitized set; all without it. (draw.py reads it
 * for the tests in Python.) */
static inline size_t
draw_one_in(void)
{
  const char *text = getenv("DRAW_ONE_IN");
  const int n = text != NULL ? atoi(text) : 1;

  return n > 1 ? (size_t)n : 1;
}

/* How many of n networks to draw: all in tests/long. */
static inline size_t
draw_count(size_t n)
{
  return n / draw_one_in();
}

#endif
