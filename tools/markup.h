/* HTML and XML, of which nothing that others named can be a part: every text is escaped. */
#ifndef CLARKE_TOOLS_MARKUP_H
#define CLARKE_TOOLS_MARKUP_H

#include <stdio.h>

/* As fprintf, but what %s stands for is escaped, and so shown as it is: no character of it is markup, leaves a quoted
 * attribute, turns the direction of writing or hides. The rest of the format is markup. Only %s, %zu, %d and %% are known.
 * What is printed is ASCII. */
void clarke_markup(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One text, escaped. It is UTF-8; bytes that are none show as U+FFFD. */
void clarke_markup_text(FILE *to, const char *text);

#endif
