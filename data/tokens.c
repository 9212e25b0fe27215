#include "tokens.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_INTS = 256, HEADER_BYTES = 1024, MAGIC_UINT16 = 20240520, MAGIC_UINT32 = 20240801 };

void tokens_close(struct tokens *tokens) {
    for (int32_t i = 0; i < tokens->piece_count; i++) {
        if (tokens->pieces[i].mapping) munmap(tokens->pieces[i].mapping, tokens->pieces[i].mapping_bytes);
        alloc_free(tokens->pieces[i].owned);
    }
    alloc_free(tokens->pieces);
    memset(tokens, 0, sizeof *tokens);
}

static enum status make_pieces(struct tokens *tokens, size_t count, struct error *error) {
    memset(tokens, 0, sizeof *tokens);
    tokens->pieces = alloc_zero(count, sizeof *tokens->pieces, "token files", error);
    return tokens->pieces ? STATUS_OK : STATUS_MEMORY;
}

/* Maps a regular, non-empty file. */
static enum status map_file(const char *path, struct tokens_piece *piece, struct error *error) {
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return error_at(error, STATUS_INPUT, path, 0, 0, "%s", strerror(errno));
    void *mapping = MAP_FAILED;
    const char *reason = NULL;
    if (fstat(descriptor, &info) != 0)
        reason = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        reason = "not a regular file";
    else if (info.st_size == 0)
        reason = "empty; a file with tokens is needed";
    else if ((mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0)) == MAP_FAILED)
        reason = strerror(errno);
    close(descriptor);
    if (reason) return error_at(error, STATUS_INPUT, path, 0, 0, "%s", reason);
    piece->mapping = mapping;
    piece->mapping_bytes = (size_t)info.st_size;
    piece->device = info.st_dev;
    piece->inode = info.st_ino;
    piece->first = mapping;
    piece->count = info.st_size;
    return STATUS_OK;
}

enum status tokens_open_text(struct tokens *tokens, const char *path, struct error *error) {
    TRY(make_pieces(tokens, 1, error));
    tokens->width = 1;
    enum status status = map_file(path, &tokens->pieces[0], error);
    if (status == STATUS_OK)
        tokens->piece_count = 1;
    else
        tokens_close(tokens);
    return status;
}

enum status tokens_take(struct tokens *tokens, uint8_t *bytes, int64_t count, struct error *error) {
    enum status status = make_pieces(tokens, 1, error);
    if (status != STATUS_OK) {
        alloc_free(bytes);
        return status;
    }
    tokens->width = 1;
    tokens->piece_count = 1;
    tokens->pieces[0] = (struct tokens_piece){.first = bytes, .count = count, .owned = bytes};
    return STATUS_OK;
}

/* ---- shards ---- */

/* A file of bare tokens does not begin with two numbers and a thousand zeros; a header of another kind does. */
static bool is_strange_header(const int32_t *header) {
    for (int i = 3; i < HEADER_INTS; i++)
        if (header[i] != 0) return false;
    return header[0] != 0 || header[1] != 0 || header[2] != 0;
}

static enum status check_header(const char *path, const int32_t *header, int32_t width, size_t bytes,
                                struct error *error) {
    int32_t version = width == 4 ? 7 : 1;
    size_t content = bytes - HEADER_BYTES;
    if (header[1] != version)
        return error_at(error, STATUS_INPUT, path, 0, 0, "version %d at offset 4; %d is needed", header[1], version);
    if (header[2] <= 0 || (uint64_t)header[2] * (uint64_t)width != content)
        return error_at(error, STATUS_INPUT, path, 0, 0,
                        "%d tokens said at offset 8; the %zu bytes after the header make %zu of %d bytes", header[2],
                        content, content / (size_t)width, width);
    return STATUS_OK;
}

/* Skips the header, if there is one, and finds the width of a token. */
static enum status read_header(const char *path, struct tokens_piece *piece, int32_t *width, struct error *error) {
    int32_t header[HEADER_INTS] = {0};
    size_t bytes = piece->mapping_bytes;
    memcpy(header, piece->mapping, bytes < HEADER_BYTES ? bytes : HEADER_BYTES);
    *width = header[0] == MAGIC_UINT32 ? 4 : 2;
    if (header[0] == MAGIC_UINT16 || header[0] == MAGIC_UINT32) {
        if (bytes < HEADER_BYTES)
            return error_at(error, STATUS_INPUT, path, 0, 0, "the header is cut off at %zu of %d bytes", bytes,
                            HEADER_BYTES);
        TRY(check_header(path, header, *width, bytes, error));
        piece->first = (const char *)piece->mapping + HEADER_BYTES;
        piece->count = header[2];
        return STATUS_OK;
    }
    if (bytes >= HEADER_BYTES && is_strange_header(header))
        return error_at(error, STATUS_INPUT, path, 0, 0,
                        "magic %d at offset 0; %d (uint16), %d (uint32) or tokens without a header are needed",
                        header[0], MAGIC_UINT16, MAGIC_UINT32);
    if (bytes % 2)
        return error_at(error, STATUS_INPUT, path, 0, 0, "%zu bytes are no whole number of uint16 tokens", bytes);
    piece->count = (int64_t)(bytes / 2);
    return STATUS_OK;
}

static enum status check_ids(const char *path, const struct tokens_piece *piece, int32_t width, int32_t vocab,
                             struct error *error) {
    struct tokens view = {.width = width};
    size_t start = (size_t)((const char *)piece->first - (const char *)piece->mapping);
    for (int64_t i = 0; i < piece->count; i++) {
        uint32_t id = (uint32_t)tokens_get(&view, piece, i);
        if (id >= (uint32_t)vocab)
            return error_at(error, STATUS_INPUT, path, 0, 0,
                            "token %u at offset %zu; ids below the vocabulary of %d are needed", id,
                            start + (size_t)i * (size_t)width, vocab);
    }
    return STATUS_OK;
}

/* Tokens taken twice could be trained on and held out. */
static enum status check_new(const struct tokens *tokens, char *const *paths, int32_t index, struct error *error) {
    const struct tokens_piece *piece = &tokens->pieces[index];
    for (int32_t i = 0; i < index; i++)
        if (tokens->pieces[i].inode == piece->inode && tokens->pieces[i].device == piece->device)
            return error_at(error, STATUS_INPUT, paths[index], 0, 0, "the same file as '%s'; each is needed once",
                            paths[i]);
    return STATUS_OK;
}

static enum status open_shard(struct tokens *tokens, char *const *paths, int32_t vocab, struct error *error) {
    int32_t index = tokens->piece_count, width;
    struct tokens_piece *piece = &tokens->pieces[index];
    TRY(map_file(paths[index], piece, error));
    tokens->piece_count++; /* from here on tokens_close() unmaps it */
    TRY(check_new(tokens, paths, index, error));
    TRY(read_header(paths[index], piece, &width, error));
    if (tokens->width != 0 && tokens->width != width)
        return error_at(error, STATUS_INPUT, paths[index], 0, 0, "tokens of %d bytes; the shards before have %d", width,
                        tokens->width);
    tokens->width = width;
    return check_ids(paths[index], piece, width, vocab, error);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum status tokens_open_shards(struct tokens *tokens, const char *pattern, int32_t vocab, struct error *error) {
    glob_t found;
    int result = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found); /* glob() would sort by the locale */
    enum status status = STATUS_OK;
    if (result == GLOB_NOSPACE)
        status = error_at(error, STATUS_MEMORY, pattern, 0, 0, "no memory for the names of the shards");
    else if (result == GLOB_ABORTED)
        status = error_at(error, STATUS_INPUT, pattern, 0, 0, "a directory is missing or cannot be read");
    else if (result != 0)
        status = error_at(error, STATUS_INPUT, pattern, 0, 0, "no file matches; a glob pattern of shards is needed");
    if (result == 0) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, compare_names);
        status = make_pieces(tokens, found.gl_pathc, error);
        for (size_t i = 0; i < found.gl_pathc && status == STATUS_OK; i++)
            status = open_shard(tokens, found.gl_pathv, vocab, error);
        if (status != STATUS_OK) tokens_close(tokens);
    }
    globfree(&found);
    return status;
}
