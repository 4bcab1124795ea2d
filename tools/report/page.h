/* What pages are made of: texts that are cut, lists that end, and bars. A page says what it left out, and is complete without
 * its style. */
#ifndef CLARKE_TOOLS_PAGE_H
#define CLARKE_TOOLS_PAGE_H

#include "clarke.h"
#include "plain.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Beside the numbers that a list has for itself: from here on no list goes on. A page is smaller than 1 MB. */
#define CLARKE_PAGE_FULL ((long)800000)

/* What comes before the first heading: the document's head with its style, and the verdict in a word, a colour and a sentence.
 * why: a further one, or "". The title has the command, and what it was about, or "". What is printed up to
 * clarke_page_head_end stands with it. */
void clarke_page_begin(FILE *to, const char *command, const char *about, clarke_tone tone, const char *word,
                       const char *sentence, const char *why);
void clarke_page_head_end(FILE *to);
void clarke_page_end(FILE *to);
/* The report's first three lines, where the answer has them (summary.h): the page's sentence is the answer's up to the field's word in
 * brackets, put into text; where there is none, it is `sentence`. What else the lines say stands with the verdict. */
#define CLARKE_PAGE_SENTENCE 400
const char *clarke_page_sentence(char text[CLARKE_PAGE_SENTENCE], const json_t *answer, const char *sentence);
void clarke_page_summary(FILE *to, const json_t *answer);
/* A section with the reason that the answer gives; "": none. */
void clarke_page_why(FILE *to, const char *why);

void clarke_page_section(FILE *to, const char *heading);
void clarke_page_section_end(FILE *to);

/* A text; of a long one the beginning, and how much more there is. */
void clarke_page_text(FILE *to, const char *text);
/* Any value but a list or an object: as JSON has it, and a dash for null. */
void clarke_page_scalar(FILE *to, const json_t *value);

/* A row of a list of facts. */
void clarke_page_fact(FILE *to, const char *name, const char *text);
void clarke_page_fact_of(FILE *to, const char *name, const json_t *object, const char *key);

/* A table with a head (names with tabs between) and a row an item: row writes its cells. Of a long list it says how many more
 * there are. */
typedef void clarke_page_row(FILE *to, const json_t *item);
void clarke_page_table(FILE *to, const char *head, const json_t *list, size_t most, clarke_page_row *row);
void clarke_page_cell(FILE *to, const char *text);
void clarke_page_cell_of(FILE *to, const json_t *object, const char *key);

/* Does an item still fit on the page, as the i-th of at most `most`? The stream is one that tells its position. */
bool clarke_page_goes_on(FILE *to, size_t i, size_t most);
/* Behind the items shown: "n more", unless n is 0. */
void clarke_page_more(FILE *to, size_t n);

/* A bar that is filled to share (0 to 1) and named, for who cannot see it. */
void clarke_page_bar(FILE *to, const char *name, double share, clarke_tone tone);

#endif
