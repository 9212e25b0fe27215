#include "tokens.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_INTS = 256, MAGIC_UINT16 = 20240520, MAGIC_UINT32 = 20240801 };

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

/* Skips the header, if there is one, and finds the width of a token. */
static enum status read_header(const char *path, struct tokens_piece *piece, int32_t *width, struct error *error) {
    int32_t header[3] = {0};
    size_t bytes = piece->mapping_bytes, header_bytes = HEADER_INTS * sizeof(int32_t);
    if (bytes >= sizeof header) memcpy(header, piece->mapping, sizeof header);
    bool known = header[0] == MAGIC_UINT16 || header[0] == MAGIC_UINT32;
    *width = known && header[0] == MAGIC_UINT32 ? 4 : 2;
    if (!known) {
        if (bytes % 2)
            return error_at(error, STATUS_INPUT, path, 0, 0, "%zu bytes are no whole number of uint16 tokens", bytes);
        piece->count = (int64_t)(bytes / 2);
        return STATUS_OK;
    }
    if (bytes < header_bytes)
        return error_at(error, STATUS_INPUT, path, 0, 0, "the header is cut off at %zu of %zu bytes", bytes,
                        header_bytes);
    int32_t version = *width == 4 ? 7 : 1;
    if (header[1] != version)
        return error_at(error, STATUS_INPUT, path, 0, 0, "version %d at offset 4; %d is needed", header[1], version);
    if (header[2] <= 0 || (uint64_t)header[2] * (uint64_t)*width != bytes - header_bytes)
        return error_at(error, STATUS_INPUT, path, 0, 0, "the header at offset 8 says %d tokens, the file holds %lld",
                        header[2], (long long)((bytes - header_bytes) / (size_t)*width));
    piece->first = (const char *)piece->mapping + header_bytes;
    piece->count = header[2];
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

static enum status open_shard(struct tokens *tokens, const char *path, int32_t vocab, struct error *error) {
    struct tokens_piece *piece = &tokens->pieces[tokens->piece_count];
    int32_t width;
    TRY(map_file(path, piece, error));
    tokens->piece_count++; /* from here on tokens_close() unmaps it */
    TRY(read_header(path, piece, &width, error));
    if (tokens->width != 0 && tokens->width != width)
        return error_at(error, STATUS_INPUT, path, 0, 0, "tokens of %d bytes, the shards before have %d", width,
                        tokens->width);
    tokens->width = width;
    return check_ids(path, piece, width, vocab, error);
}

enum status tokens_open_shards(struct tokens *tokens, const char *pattern, int32_t vocab, struct error *error) {
    glob_t found;
    int result = glob(pattern, 0, NULL, &found); /* sorted by name */
    if (result != 0) {
        globfree(&found);
        return error_at(error, STATUS_INPUT, pattern, 0, 0, "no file matches; a glob pattern of .bin shards is needed");
    }
    enum status status = make_pieces(tokens, found.gl_pathc, error);
    for (size_t i = 0; i < found.gl_pathc && status == STATUS_OK; i++)
        status = open_shard(tokens, found.gl_pathv[i], vocab, error);
    globfree(&found);
    if (status != STATUS_OK) tokens_close(tokens);
    return status;
}
