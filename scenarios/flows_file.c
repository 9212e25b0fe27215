/* flows_read(): hosts, links, routes and flows of a file for `thinwire flows`.
 *
 * Each kind of map has a small table of its keys; one reader serves all. Links' outages and changes become one
 * ascending list of states per link. Linear, but for sorting names and changes.
 */
#include "yaml.h"

#include "scenarios.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flows_memory {
    struct host_def *hosts;
    struct link_def *links;   /* each owns its changes */
    struct route_def *routes; /* each owns its links */
};

/* ---- names to indices ---- */

struct name {
    const char *text;
    int32_t index;
};
struct names {
    struct name *sorted;
    int32_t count;
    const char *what; /* "host" */
};

static int compare_names(const void *left, const void *right) {
    return strcmp(((const struct name *)left)->text, ((const struct name *)right)->text);
}

static enum status names_init(struct names *names, const struct yaml_node *map, const char *what, struct error *error) {
    *names = (struct names){.what = what};
    int32_t count = map ? map->count : 0;
    names->sorted = alloc_zero((size_t)count, sizeof *names->sorted, "names", error);
    if (!names->sorted) return STATUS_MEMORY;
    for (const struct yaml_node *child = map ? map->first : NULL; child; child = child->next, names->count++)
        names->sorted[names->count] = (struct name){.text = child->key, .index = names->count};
    qsort(names->sorted, (size_t)count, sizeof *names->sorted, compare_names);
    return STATUS_OK;
}

#define MAX_CANDIDATES 1000

static enum status names_find(const struct names *names, const struct yaml_node *node, const char *path, int32_t *index,
                              struct error *error) {
    if (node->kind != YAML_SCALAR)
        return yaml_error(node, error, path, "must be the name of a %s, not %s", names->what,
                          yaml_kind_name(node->kind));
    const struct name wanted = {.text = node->text};
    const struct name *found =
        names->count ? bsearch(&wanted, names->sorted, (size_t)names->count, sizeof *names->sorted, compare_names)
                     : NULL;
    if (found) {
        *index = found->index;
        return STATUS_OK;
    }
    const char *candidates[MAX_CANDIDATES];
    size_t count = 0;
    while (count < MAX_CANDIDATES && count < (size_t)names->count) {
        candidates[count] = names->sorted[count].text;
        count++;
    }
    const char *nearest = text_nearest(node->text, candidates, count);
    if (nearest)
        return yaml_error(node, error, path, "unknown %s '%.47s'; did you mean '%.47s'?", names->what, node->text,
                          nearest);
    return yaml_error(node, error, path, "unknown %s '%.47s'; list it under %ss", names->what, node->text, names->what);
}

/* ---- one map by a table of its keys ---- */

enum field_kind {
    FIELD_DURATION,
    FIELD_RATE,
    FIELD_BYTES,
    FIELD_RETRIES,
    FIELD_BOOLEAN,
    FIELD_CUT,
    FIELD_NAME,
    FIELD_HOST,
    FIELD_OTHER
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    bool required;
};

#define NAME_BYTES 48
#define MAX_FIELDS 16

static enum status read_rate(const struct yaml_node *node, double *rate_Bps, struct error *cause) {
    int64_t bps = 0;
    TRY(units_parse_rate_bps(node->text, &bps, cause));
    *rate_Bps = bps == INT64_MAX ? (double)INFINITY : (double)bps / 8.0;
    return STATUS_OK;
}

static enum status read_retries(const struct yaml_node *node, int32_t *retries, struct error *cause) {
    int64_t value = 0;
    TRY(units_parse_integer(node->text, &value, cause));
    if (value < 0 || value > 1000000000)
        return error_set(cause, STATUS_INPUT, "'%.40s' is out of range; write 0 to 1000000000", node->text);
    *retries = (int32_t)value;
    return STATUS_OK;
}

static enum status read_word(const struct yaml_node *node, const char *on, const char *off, bool *value,
                             struct error *cause) {
    *value = strcmp(node->text, on) == 0;
    if (*value || strcmp(node->text, off) == 0) return STATUS_OK;
    return error_set(cause, STATUS_INPUT, "'%.40s' is neither %s nor %s", node->text, on, off);
}

static enum status read_name(const char *text, char *name, struct error *cause) {
    if (text[0] == '\0' || strlen(text) >= NAME_BYTES)
        return error_set(cause, STATUS_INPUT, "a name must have 1 to %d bytes", NAME_BYTES - 1);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 32) return error_set(cause, STATUS_INPUT, "a name must be one line without tabs");
    snprintf(name, NAME_BYTES, "%s", text);
    return STATUS_OK;
}

static enum status read_field(const struct field *field, const struct yaml_node *node, const struct names *hosts,
                              void *target, struct error *error) {
    void *at = (char *)target + field->offset;
    struct error cause;
    error_clear(&cause);
    enum status status = STATUS_OK;
    if (field->kind == FIELD_OTHER) return STATUS_OK;
    if (field->kind == FIELD_HOST) return names_find(hosts, node, field->name, at, error);
    if (node->kind != YAML_SCALAR)
        return yaml_error(node, error, field->name, "must be one value, not %s", yaml_kind_name(node->kind));
    if (node->text[0] == '\0')
        return yaml_error(node, error, field->name, "is empty; write a value or leave the key out");
    switch (field->kind) {
    case FIELD_DURATION:
        status = units_parse_duration_ns(node->text, at, &cause);
        break;
    case FIELD_RATE:
        status = read_rate(node, at, &cause);
        break;
    case FIELD_BYTES:
        status = units_parse_bytes(node->text, at, &cause);
        break;
    case FIELD_RETRIES:
        status = read_retries(node, at, &cause);
        break;
    case FIELD_BOOLEAN:
        status = read_word(node, "true", "false", at, &cause);
        break;
    case FIELD_CUT:
        status = read_word(node, "cut", "stall", at, &cause);
        break;
    case FIELD_NAME:
        status = read_name(node->text, at, &cause);
        break;
    case FIELD_HOST:
    case FIELD_OTHER:
        break;
    }
    return status == STATUS_OK ? status : yaml_error(node, error, field->name, "%s", cause.message);
}

static enum status unknown_field(const struct field *fields, int32_t count, const struct yaml_node *child,
                                 const char *what, struct error *error) {
    const char *names[MAX_FIELDS];
    for (int32_t i = 0; i < count; i++) names[i] = fields[i].name;
    const char *nearest = text_nearest(child->key, names, (size_t)count);
    char list[256] = "";
    for (int32_t i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    if (nearest)
        return yaml_key_error(child, error, "", "unknown key '%.40s' in %s; did you mean '%s'?", child->key, what,
                              nearest);
    return yaml_key_error(child, error, "", "unknown key '%.40s' in %s; there are %s", child->key, what, list);
}

/* Reads the map `node` (a link, a flow, ...) into target, field by field. */
static enum status read_map(const struct field *fields, int32_t count, const struct yaml_node *node, const char *what,
                            const struct names *hosts, void *target, struct error *error) {
    if (node->kind != YAML_MAP)
        return yaml_error(node, error, "", "%s must be a map of keys, not %s", what, yaml_kind_name(node->kind));
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        int32_t i = 0;
        while (i < count && strcmp(fields[i].name, child->key) != 0) i++;
        if (i == count) return unknown_field(fields, count, child, what, error);
        TRY(read_field(&fields[i], child, hosts, target, error));
    }
    for (int32_t i = 0; i < count; i++)
        if (fields[i].required && !yaml_child(node, fields[i].name))
            return yaml_error(node, error, "", "%s has no '%s'", what, fields[i].name);
    return STATUS_OK;
}

#define FIELDS(table) (table), (int32_t)(sizeof(table) / sizeof(table)[0])

static enum status check_list(const struct yaml_node *node, const char *path, struct error *error) {
    if (node->kind == YAML_LIST) return STATUS_OK;
    return yaml_error(node, error, path, "must be a list, not %s", yaml_kind_name(node->kind));
}

/* ---- hosts ---- */

static enum status read_host(const struct yaml_node *node, struct host_def *host, struct error *error) {
    static const struct field fields[] = {{"up", FIELD_RATE, offsetof(struct host_def, up_Bps), false},
                                          {"down", FIELD_RATE, offsetof(struct host_def, down_Bps), false},
                                          {"latency", FIELD_DURATION, offsetof(struct host_def, latency_ns), false}};
    struct error cause;
    error_clear(&cause);
    host->up_Bps = host->down_Bps = (double)INFINITY;
    if (read_name(node->key, host->name, &cause) != STATUS_OK)
        return yaml_key_error(node, error, "hosts", "%s", cause.message);
    if (yaml_is_null(node) || yaml_is_empty(node)) return STATUS_OK;
    TRY(read_map(FIELDS(fields), node, "a host", NULL, host, error));
    host->has_links = node->count > 0;
    return STATUS_OK;
}

static enum status read_hosts(const struct yaml_node *map, struct flows_file *file, struct error *error) {
    if (!map || map->kind != YAML_MAP || map->count == 0)
        return map ? yaml_error(map, error, "hosts",
                                "must be a map of hosts, such as {A: {up: 100 Mbps, down: 100 Mbps}}")
                   : STATUS_OK;
    struct host_def *hosts = alloc_zero((size_t)map->count, sizeof *hosts, "hosts", error);
    if (!hosts) return STATUS_MEMORY;
    file->memory->hosts = hosts;
    file->network.hosts = hosts;
    for (const struct yaml_node *child = map->first; child; child = child->next)
        TRY(read_host(child, &hosts[file->network.host_count++], error));
    return STATUS_OK;
}

/* ---- links ---- */

struct outage {
    int64_t from_ns, to_ns;
};

/* A change as the file has it, before the link's states are worked out. */
struct event {
    int64_t at_ns;
    int32_t order;        /* in the file */
    int32_t down;         /* +1: an outage begins, -1: one ends */
    double bandwidth_Bps; /* negative: as before */
};

static int compare_events(const void *left, const void *right) {
    const struct event *a = left, *b = right;
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static enum status read_changes(const struct yaml_node *list, struct event *events, int32_t *count,
                                struct error *error) {
    static const struct field fields[] = {{"at", FIELD_DURATION, offsetof(struct event, at_ns), true},
                                          {"bandwidth", FIELD_RATE, offsetof(struct event, bandwidth_Bps), true}};
    for (const struct yaml_node *item = list ? list->first : NULL; item; item = item->next, ++*count) {
        events[*count].order = *count;
        TRY(read_map(FIELDS(fields), item, "a change", NULL, &events[*count], error));
    }
    return STATUS_OK;
}

static enum status read_outages(const struct yaml_node *list, struct event *events, int32_t *count,
                                struct error *error) {
    static const struct field fields[] = {{"from", FIELD_DURATION, offsetof(struct outage, from_ns), true},
                                          {"to", FIELD_DURATION, offsetof(struct outage, to_ns), false}};
    for (const struct yaml_node *item = list ? list->first : NULL; item; item = item->next) {
        struct outage outage = {.from_ns = 0, .to_ns = TIME_NEVER};
        TRY(read_map(FIELDS(fields), item, "an outage", NULL, &outage, error));
        if (outage.to_ns <= outage.from_ns)
            return yaml_error(item, error, "down", "ends at or before it begins; write from: earlier, to: later");
        events[*count] = (struct event){.at_ns = outage.from_ns, .order = *count, .down = 1, .bandwidth_Bps = -1};
        ++*count;
        if (outage.to_ns == TIME_NEVER) continue;
        events[*count] = (struct event){.at_ns = outage.to_ns, .order = *count, .down = -1, .bandwidth_Bps = -1};
        ++*count;
    }
    return STATUS_OK;
}

/* Events in time order to states: a link is down while any outage lasts. */
static void states_of_events(struct event *events, int32_t count, struct link_change *states) {
    int32_t down = 0;
    qsort(events, (size_t)count, sizeof *events, compare_events);
    for (int32_t i = 0; i < count; i++) {
        down += events[i].down;
        states[i] =
            (struct link_change){.at_ns = events[i].at_ns, .up = down == 0, .bandwidth_Bps = events[i].bandwidth_Bps};
    }
}

static enum status read_link_changes(const struct yaml_node *node, struct link_def *link, struct error *error) {
    const struct yaml_node *changes = yaml_child(node, "changes"), *down = yaml_child(node, "down");
    if (changes) TRY(check_list(changes, "changes", error));
    if (down) TRY(check_list(down, "down", error));
    size_t most = (size_t)(changes ? changes->count : 0) + 2 * (size_t)(down ? down->count : 0);
    if (most == 0) return STATUS_OK;
    struct event *events = alloc_zero(most, sizeof *events, "changes of a link", error);
    struct link_change *states = alloc_zero(most, sizeof *states, "changes of a link", error);
    link->changes = states; /* owned by the link from here on, also on failure */
    int32_t count = 0;
    enum status status = events && states ? STATUS_OK : STATUS_MEMORY;
    if (status == STATUS_OK) status = read_changes(changes, events, &count, error);
    if (status == STATUS_OK) status = read_outages(down, events, &count, error);
    if (status == STATUS_OK) states_of_events(events, count, states);
    link->change_count = status == STATUS_OK ? count : 0;
    alloc_free(events);
    return status;
}

static enum status read_link(const struct yaml_node *node, struct link_def *link, struct error *error) {
    static const struct field fields[] = {{"bandwidth", FIELD_RATE, offsetof(struct link_def, bandwidth_Bps), true},
                                          {"latency", FIELD_DURATION, offsetof(struct link_def, latency_ns), false},
                                          {"shared", FIELD_BOOLEAN, offsetof(struct link_def, shared), false},
                                          {"changes", FIELD_OTHER, 0, false},
                                          {"down", FIELD_OTHER, 0, false},
                                          {"on_down", FIELD_CUT, offsetof(struct link_def, cut_when_down), false}};
    struct error cause;
    error_clear(&cause);
    link->shared = true;
    if (read_name(node->key, link->name, &cause) != STATUS_OK)
        return yaml_key_error(node, error, "links", "%s", cause.message);
    TRY(read_map(FIELDS(fields), node, "a link", NULL, link, error));
    return read_link_changes(node, link, error);
}

static enum status read_links(const struct yaml_node *map, struct flows_file *file, struct error *error) {
    if (!map || yaml_is_null(map)) return STATUS_OK;
    if (map->kind != YAML_MAP)
        return yaml_error(map, error, "links", "must be a map of links, such as {trunk: {bandwidth: 10 MB/s}}");
    struct link_def *links = alloc_zero((size_t)map->count, sizeof *links, "links", error);
    if (!links) return STATUS_MEMORY;
    file->memory->links = links;
    file->network.links = links;
    for (const struct yaml_node *child = map->first; child; child = child->next)
        TRY(read_link(child, &links[file->network.link_count++], error));
    return STATUS_OK;
}

/* ---- routes ---- */

static enum status read_route_ends(const struct yaml_node *node, const struct names *hosts, struct route_def *route,
                                   struct error *error) {
    const struct yaml_node *between = yaml_child(node, "between"), *from = yaml_child(node, "from"),
                           *to = yaml_child(node, "to");
    if (between && (from || to))
        return yaml_error(node, error, "", "a route has both 'between' and 'from'/'to'; write one");
    if (!between && (!from || !to))
        return yaml_error(node, error, "", "a route needs between: [A, B], or from: A and to: B");
    route->both_ways = between != NULL;
    if (between && (between->kind != YAML_LIST || between->count != 2))
        return yaml_error(between, error, "between", "must be a list of two hosts");
    TRY(names_find(hosts, between ? between->first : from, between ? "between" : "from", &route->source, error));
    TRY(names_find(hosts, between ? between->last : to, between ? "between" : "to", &route->destination, error));
    if (route->source == route->destination)
        return yaml_error(node, error, "", "a route leads from a host to itself; name two hosts");
    return STATUS_OK;
}

static enum status read_route(const struct yaml_node *node, const struct names *hosts, const struct names *links,
                              struct route_def *route, struct error *error) {
    static const struct field fields[] = {{"between", FIELD_OTHER, 0, false},
                                          {"from", FIELD_OTHER, 0, false},
                                          {"to", FIELD_OTHER, 0, false},
                                          {"over", FIELD_OTHER, 0, true}};
    TRY(read_map(FIELDS(fields), node, "a route", NULL, route, error));
    TRY(read_route_ends(node, hosts, route, error));
    const struct yaml_node *over = yaml_child(node, "over");
    TRY(check_list(over, "over", error));
    int32_t *indices = alloc_zero((size_t)over->count, sizeof *indices, "links of a route", error);
    if (!indices) return STATUS_MEMORY;
    route->links = indices;
    for (const struct yaml_node *item = over->first; item; item = item->next)
        TRY(names_find(links, item, "over", &indices[route->link_count++], error));
    return STATUS_OK;
}

static enum status read_routes(const struct yaml_node *list, const struct names *hosts, const struct names *links,
                               struct flows_file *file, struct error *error) {
    if (!list || yaml_is_null(list)) return STATUS_OK;
    TRY(check_list(list, "routes", error));
    struct route_def *routes = alloc_zero((size_t)list->count, sizeof *routes, "routes", error);
    if (!routes) return STATUS_MEMORY;
    file->memory->routes = routes;
    file->network.routes = routes;
    for (const struct yaml_node *item = list->first; item; item = item->next)
        TRY(read_route(item, hosts, links, &routes[file->network.route_count++], error));
    return STATUS_OK;
}

/* ---- flows ---- */

struct flow_entry {
    char name[NAME_BYTES];
    struct flow_def flow;
    int64_t start_ns;
};

static enum status read_flow(const struct yaml_node *node, const struct names *hosts, int64_t index,
                             struct flow_entry *entry, struct error *error) {
#define IN_FLOW(field) offsetof(struct flow_entry, flow.field)
    static const struct field fields[] = {{"name", FIELD_NAME, offsetof(struct flow_entry, name), false},
                                          {"from", FIELD_HOST, IN_FLOW(source), true},
                                          {"to", FIELD_HOST, IN_FLOW(destination), true},
                                          {"bytes", FIELD_BYTES, IN_FLOW(bytes), true},
                                          {"start", FIELD_DURATION, offsetof(struct flow_entry, start_ns), false},
                                          {"rate", FIELD_RATE, IN_FLOW(rate_cap_Bps), false},
                                          {"delay", FIELD_DURATION, IN_FLOW(delay_ns), false},
                                          {"retries", FIELD_RETRIES, IN_FLOW(retries), false},
                                          {"backoff", FIELD_DURATION, IN_FLOW(backoff_ns), false}};
#undef IN_FLOW
    memset(entry, 0, sizeof *entry);
    snprintf(entry->name, sizeof entry->name, "flow%lld", (long long)index + 1);
    TRY(read_map(FIELDS(fields), node, "a flow", hosts, entry, error));
    if (entry->flow.source == entry->flow.destination)
        return yaml_error(node, error, "", "flow '%s' goes from a host to itself; name two hosts", entry->name);
    const struct yaml_node *rate = yaml_child(node, "rate");
    if (rate && entry->flow.rate_cap_Bps <= 0) /* 0 would mean no cap */
        return yaml_error(rate, error, "rate", "'%.40s' is out of range; write more than 0", rate->text);
    return STATUS_OK;
}

static enum status read_flows(const struct yaml_node *list, const struct names *hosts, struct flows_file *file,
                              struct error *error) {
    TRY(check_list(list, "flows", error));
    size_t count = (size_t)list->count;
    file->flows = alloc_zero(count, sizeof *file->flows, "flows", error);
    file->start_ns = alloc_zero(count, sizeof *file->start_ns, "flows", error);
    file->names = alloc_zero(count, sizeof *file->names, "flows", error);
    if (!file->flows || !file->start_ns || !file->names) return STATUS_MEMORY;
    for (const struct yaml_node *item = list->first; item; item = item->next) {
        struct flow_entry entry;
        TRY(read_flow(item, hosts, file->count, &entry, error));
        file->flows[file->count] = entry.flow;
        file->start_ns[file->count] = entry.start_ns;
        memcpy(file->names[file->count], entry.name, sizeof entry.name);
        file->count++;
    }
    return STATUS_OK;
}

/* ---- the file ---- */

static enum status read_sections(const struct yaml_node *root, const struct names *hosts, const struct names *links,
                                 struct flows_file *file, struct error *error) {
    TRY(read_hosts(yaml_child(root, "hosts"), file, error));
    TRY(read_links(yaml_child(root, "links"), file, error));
    TRY(read_routes(yaml_child(root, "routes"), hosts, links, file, error));
    TRY(read_flows(yaml_child(root, "flows"), hosts, file, error));
    struct error cause;
    error_clear(&cause);
    enum status status = network_check(&file->network, &cause);
    if (status == STATUS_INPUT) return error_at(error, status, root->origin->file, 0, 0, "%s", cause.message);
    return status == STATUS_OK ? status : error_set(error, status, "%s", cause.message);
}

static enum status read_root(const struct yaml_node *root, struct flows_file *file, struct error *error) {
    static const struct field fields[] = {{"hosts", FIELD_OTHER, 0, true},
                                          {"links", FIELD_OTHER, 0, false},
                                          {"routes", FIELD_OTHER, 0, false},
                                          {"flows", FIELD_OTHER, 0, true}};
    if (yaml_is_empty(root)) return yaml_error(root, error, "", "the file is empty; it needs hosts and flows");
    TRY(read_map(FIELDS(fields), root, "a file of flows", NULL, file, error));
    const struct yaml_node *host_map = yaml_child(root, "hosts"), *link_map = yaml_child(root, "links");
    struct names hosts = {0}, links = {0};
    enum status status = names_init(&hosts, host_map->kind == YAML_MAP ? host_map : NULL, "host", error);
    if (status == STATUS_OK)
        status = names_init(&links, link_map && link_map->kind == YAML_MAP ? link_map : NULL, "link", error);
    if (status == STATUS_OK) status = read_sections(root, &hosts, &links, file, error);
    alloc_free(hosts.sorted);
    alloc_free(links.sorted);
    return status;
}

enum status flows_read(const char *path, struct flows_file *file, struct error *error) {
    *file = (struct flows_file){0};
    struct yaml *yaml = NULL;
    enum status status = yaml_read_file(path, &yaml, error);
    if (status != STATUS_OK) return status;
    file->memory = alloc_zero(1, sizeof *file->memory, "flows", error);
    status = file->memory ? read_root(yaml_root(yaml), file, error) : STATUS_MEMORY;
    yaml_free(yaml);
    if (status != STATUS_OK) flows_clear(file);
    return status;
}

void flows_clear(struct flows_file *file) {
    if (file->memory) {
        for (int32_t i = 0; i < file->network.link_count; i++) alloc_free((void *)file->memory->links[i].changes);
        for (int32_t i = 0; i < file->network.route_count; i++) alloc_free((void *)file->memory->routes[i].links);
        alloc_free(file->memory->hosts);
        alloc_free(file->memory->links);
        alloc_free(file->memory->routes);
        alloc_free(file->memory);
    }
    alloc_free(file->flows);
    alloc_free(file->start_ns);
    alloc_free(file->names);
    *file = (struct flows_file){0};
}
