/* A program of which some inputs are held fixed. */
#ifndef CLARKE_PROGRAM_HOLD_H
#define CLARKE_PROGRAM_HOLD_H

#include "program/code.h"

/* Inputs outside wrt are held at the point (a rational for each entry of all inputs). What they alone decide becomes a number, and
 * its kinks are none any more; a product with such a number, or a quotient by it, becomes linear. Numbers that are not rational
 * stay as they are, and so do branches and what was not executed. Where the inputs in wrt are at the point, errors are as of clarke_execute. */
clarke_status clarke_code_hold(clarke_code *p, mpq_t *point, clarke_error *err);

#endif
