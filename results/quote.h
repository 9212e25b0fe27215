/* Text of users inside gnuplot scripts. Private to results/. */
#ifndef QUOTE_H
#define QUOTE_H

#include "base/text.h"

/* A single-quoted gnuplot string, in which nothing is interpreted (with `noenhanced`). Control characters become
 * blanks, bytes that are no UTF-8 question marks. */
void quote_append(struct text *script, const char *value);
/* The same for tic labels, where gnuplot takes % for the start of a number format. */
void quote_append_tic(struct text *script, const char *value);

/* Estimated width in points of a text in DejaVu Sans of that size: generous, so that what is laid out by it fits. */
double quote_width(const char *value, double size);
/* Copies a text that is to fit into `room` points at font size `points`, cut short with "..." if need be. */
char *quote_shorten(char *buffer, size_t size, const char *value, double points, double room);

#endif
