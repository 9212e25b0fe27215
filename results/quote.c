#include "quote.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 sequence that begins here, or 0. */
static size_t sequence_length(const unsigned char *at) {
    static const struct {
        unsigned char first, last, second_low, second_high;
        size_t length;
    } rows[] = {{0x01, 0x7F, 0x00, 0xFF, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
                {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (*at < rows[i].first || *at > rows[i].last) continue;
        if (rows[i].length > 1 && (at[1] < rows[i].second_low || at[1] > rows[i].second_high)) return 0;
        for (size_t k = 2; k < rows[i].length; k++)
            if ((at[k] & 0xC0) != 0x80) return 0;
        return rows[i].length;
    }
    return 0;
}

/* Whether the byte means something within a double-quoted gnuplot string. */
static bool is_special(unsigned char byte) {
    return strchr("\"\\`'$@;#{}", byte) != NULL;
}

static void append_quoted(struct text *script, const char *value, const char *percent) {
    text_append_bytes(script, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)value; *at;) {
        size_t length = sequence_length(at);
        if (length == 0)
            text_append_bytes(script, "?", 1);
        else if (*at < 0x20 || *at == 0x7F)
            text_append_bytes(script, " ", 1);
        else if (*at == '%')
            text_append(script, "%s", percent);
        else if (is_special(*at))
            text_append(script, "\\%03o", *at);
        else
            text_append_bytes(script, (const char *)at, length);
        at += length ? length : 1;
    }
    text_append_bytes(script, "\"", 1);
}

void quote_append(struct text *script, const char *value) {
    append_quoted(script, value, "%");
}

void quote_append_tic(struct text *script, const char *value) {
    append_quoted(script, value, "%%");
}

double quote_width(const char *value, double size) {
    double ems = 0;
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        if ((*at & 0xC0) == 0x80) continue; /* counted with its first byte */
        bool narrow = *at == ' ' || *at == 'l' || *at == 'i' || *at == '.' || *at == ',' || *at == '1';
        bool wide = (*at >= 'A' && *at <= 'Z') || *at == 'm' || *at == 'w' || *at == '%' || *at >= 0xE0;
        ems += narrow ? 0.4 : wide ? 0.76 : 0.6;
    }
    return ems * size;
}

char *quote_shorten(char *buffer, size_t size, const char *value, double points, double room) {
    snprintf(buffer, size, "%s", value);
    size_t length = strlen(buffer);
    if (length == strlen(value) && quote_width(buffer, points) <= room) return buffer;
    double ellipsis = quote_width("...", points);
    while (length > 1 && (length + 4 > size || quote_width(buffer, points) + ellipsis > room)) {
        length--;
        while (length > 0 && ((unsigned char)buffer[length] & 0xC0) == 0x80) length--;
        buffer[length] = '\0';
    }
    snprintf(buffer + length, size - length, "...");
    return buffer;
}
