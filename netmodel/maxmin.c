#include "maxmin.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* An edge between a variable and a constraint, in the lists of both. */
struct edge {
    int32_t constraint, variable;
    int32_t times;                    /* how often the variable uses the constraint */
    int32_t next_of_variable;         /* -1 ends; also the free list */
    int32_t next, previous;           /* of the constraint */
};

struct constraint {
    double capacity;
    double used;      /* while filling: by variables whose rate is fixed */
    int32_t weight;   /* while filling: uses by variables not yet fixed */
    uint32_t version; /* of its entry in the queue of levels */
    int32_t first;    /* edge */
    bool marked;
    bool visited;
};

struct variable {
    double bound;
    double rate;
    int64_t tag;
    int32_t first; /* edge; -1 none */
    int32_t next_free;
    bool used;
    bool visited;
    bool fixed;
    bool listed; /* in `alone`: marked though it has no constraint */
};

/* The rate at which a constraint saturates, or a variable meets its bound. */
struct level {
    double rate;
    int32_t index; /* constraint, or ~variable */
    uint32_t version;
};

struct maxmin {
    ARRAY(struct constraint) constraints;
    ARRAY(struct variable) variables;
    ARRAY(struct edge) edges;
    ARRAY(int32_t) marked; /* constraints */
    ARRAY(int32_t) alone;  /* variables without constraints, to be given their bound */
    ARRAY(int32_t) component;
    ARRAY(int32_t) changed;
    ARRAY(struct level) levels; /* binary heap */
    int32_t free_edge, free_variable;
};

struct maxmin *maxmin_create(struct error *error) {
    struct maxmin *system = alloc_zero(1, sizeof *system, "max-min system", error);
    if (system) system->free_edge = system->free_variable = -1;
    return system;
}

void maxmin_free(struct maxmin *system) {
    if (!system) return;
    array_clear(&system->constraints);
    array_clear(&system->variables);
    array_clear(&system->edges);
    array_clear(&system->marked);
    array_clear(&system->alone);
    array_clear(&system->component);
    array_clear(&system->changed);
    array_clear(&system->levels);
    alloc_free(system);
}

int32_t maxmin_add_constraint(struct maxmin *system, double capacity, struct error *error) {
    int64_t count = system->constraints.count + 1;
    if (array_reserve(&system->constraints, count, error) != STATUS_OK ||
        array_reserve(&system->marked, count, error) != STATUS_OK ||
        array_reserve(&system->component, count, error) != STATUS_OK)
        return -1;
    system->constraints.items[system->constraints.count] = (struct constraint){.capacity = capacity, .first = -1};
    return (int32_t)system->constraints.count++;
}

/* Room was made when the constraint was added: each is in the list at most once. */
static void mark(struct maxmin *system, int32_t index) {
    struct constraint *constraint = &system->constraints.items[index];
    if (constraint->marked) return;
    constraint->marked = true;
    system->marked.items[system->marked.count++] = index;
}

void maxmin_set_capacity(struct maxmin *system, int32_t constraint, double capacity) {
    system->constraints.items[constraint].capacity = capacity;
    mark(system, constraint);
}

double maxmin_capacity(const struct maxmin *system, int32_t constraint) {
    return system->constraints.items[constraint].capacity;
}

/* ---- variables ---- */

static int32_t take_variable(struct maxmin *system, struct error *error) {
    int32_t index = system->free_variable;
    if (index >= 0) {
        system->free_variable = system->variables.items[index].next_free;
        return index;
    }
    int64_t count = system->variables.count + 1;
    if (array_reserve(&system->variables, count, error) != STATUS_OK ||
        array_reserve(&system->alone, count, error) != STATUS_OK ||
        array_reserve(&system->changed, count, error) != STATUS_OK)
        return -1;
    return (int32_t)system->variables.count++;
}

static int32_t take_edge(struct maxmin *system) {
    int32_t index = system->free_edge;
    if (index < 0) return (int32_t)system->edges.count++;
    system->free_edge = system->edges.items[index].next_of_variable;
    return index;
}

static void link_edge(struct maxmin *system, int32_t variable, int32_t constraint) {
    struct edge *edges = system->edges.items;
    struct variable *owner = &system->variables.items[variable];
    for (int32_t e = owner->first; e >= 0; e = edges[e].next_of_variable)
        if (edges[e].constraint == constraint) {
            edges[e].times++;
            return;
        }
    int32_t index = take_edge(system);
    struct constraint *at = &system->constraints.items[constraint];
    edges[index] = (struct edge){.constraint = constraint, .variable = variable, .times = 1,
                                 .next_of_variable = owner->first, .next = at->first, .previous = -1};
    if (at->first >= 0) edges[at->first].previous = index;
    at->first = index;
    owner->first = index;
    mark(system, constraint);
}

static void list_alone(struct maxmin *system, int32_t index) {
    struct variable *variable = &system->variables.items[index];
    if (variable->first >= 0 || variable->listed) return;
    variable->listed = true;
    system->alone.items[system->alone.count++] = index;
}

int32_t maxmin_add_variable(struct maxmin *system, double bound, const int32_t *constraints, int32_t count, int64_t tag,
                            struct error *error) {
    if (array_reserve(&system->edges, system->edges.count + count, error) != STATUS_OK) return -1;
    int32_t index = take_variable(system, error);
    if (index < 0) return -1;
    bool listed = system->variables.items[index].listed;
    system->variables.items[index] =
        (struct variable){.bound = bound, .tag = tag, .first = -1, .used = true, .listed = listed};
    for (int32_t i = 0; i < count; i++) link_edge(system, index, constraints[i]);
    list_alone(system, index);
    return index;
}

void maxmin_remove_variable(struct maxmin *system, int32_t index) {
    struct variable *variable = &system->variables.items[index];
    assert(variable->used);
    for (int32_t e = variable->first, next; e >= 0; e = next) {
        struct edge *edge = &system->edges.items[e];
        next = edge->next_of_variable;
        if (edge->next >= 0) system->edges.items[edge->next].previous = edge->previous;
        if (edge->previous >= 0)
            system->edges.items[edge->previous].next = edge->next;
        else
            system->constraints.items[edge->constraint].first = edge->next;
        mark(system, edge->constraint);
        edge->next_of_variable = system->free_edge;
        system->free_edge = e;
    }
    variable->used = false;
    variable->first = -1;
    variable->next_free = system->free_variable;
    system->free_variable = index;
}

void maxmin_set_bound(struct maxmin *system, int32_t index, double bound) {
    struct variable *variable = &system->variables.items[index];
    variable->bound = bound;
    list_alone(system, index);
    for (int32_t e = variable->first; e >= 0; e = system->edges.items[e].next_of_variable)
        mark(system, system->edges.items[e].constraint);
}

/* ---- the queue of levels ---- */

static void push_level(struct maxmin *system, double rate, int32_t index, uint32_t version) {
    struct level *items = system->levels.items;
    int64_t at = system->levels.count++;
    while (at > 0 && items[(at - 1) / 2].rate > rate) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = (struct level){rate, index, version};
}

static struct level pop_level(struct maxmin *system) {
    struct level *items = system->levels.items, top = items[0], last = items[--system->levels.count];
    int64_t at = 0, count = system->levels.count;
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && items[child + 1].rate < items[child].rate) child++;
        if (items[child].rate >= last.rate) break;
        items[at] = items[child];
    }
    if (count > 0) items[at] = last;
    return top;
}

/* ---- filling one component ---- */

/* Constraints reachable from `start` into component, their variables into changed (from `first_changed` on). */
static void collect(struct maxmin *system, int32_t start) {
    system->component.count = 0;
    system->component.items[system->component.count++] = start;
    system->constraints.items[start].visited = true;
    for (int64_t i = 0; i < system->component.count; i++) {
        const struct constraint *constraint = &system->constraints.items[system->component.items[i]];
        for (int32_t e = constraint->first; e >= 0; e = system->edges.items[e].next) {
            int32_t index = system->edges.items[e].variable;
            struct variable *variable = &system->variables.items[index];
            if (variable->visited) continue;
            variable->visited = true;
            variable->fixed = false;
            system->changed.items[system->changed.count++] = index;
            for (int32_t f = variable->first; f >= 0; f = system->edges.items[f].next_of_variable) {
                struct constraint *other = &system->constraints.items[system->edges.items[f].constraint];
                if (other->visited) continue;
                other->visited = true;
                system->component.items[system->component.count++] = system->edges.items[f].constraint;
            }
        }
    }
}

static double saturation(const struct constraint *constraint) {
    double left = constraint->capacity - constraint->used;
    return left > 0 ? left / constraint->weight : 0;
}

static void enqueue_constraint(struct maxmin *system, int32_t index) {
    struct constraint *constraint = &system->constraints.items[index];
    constraint->version++;
    if (constraint->weight > 0 && !isinf(constraint->capacity))
        push_level(system, saturation(constraint), index, constraint->version);
}

/* Sets the variable's rate and takes it out of its constraints; `cause` (-1: none) is not queued again. */
static void fix(struct maxmin *system, int32_t index, double rate, int32_t cause) {
    struct variable *variable = &system->variables.items[index];
    variable->rate = rate;
    variable->fixed = true;
    for (int32_t e = variable->first; e >= 0; e = system->edges.items[e].next_of_variable) {
        const struct edge *edge = &system->edges.items[e];
        struct constraint *constraint = &system->constraints.items[edge->constraint];
        constraint->used += rate * edge->times;
        constraint->weight -= edge->times;
        if (edge->constraint != cause) enqueue_constraint(system, edge->constraint);
    }
}

/* Room for every entry that filling can push: one per constraint and variable, and one per edge of a fixed variable. */
static enum status prepare(struct maxmin *system, int64_t first_changed, struct error *error) {
    int64_t edges = 0;
    for (int64_t i = 0; i < system->component.count; i++) {
        struct constraint *constraint = &system->constraints.items[system->component.items[i]];
        constraint->used = 0;
        constraint->weight = 0;
        for (int32_t e = constraint->first; e >= 0; e = system->edges.items[e].next) {
            constraint->weight += system->edges.items[e].times;
            edges++;
        }
    }
    system->levels.count = 0;
    return array_reserve(&system->levels, system->component.count + system->changed.count - first_changed + edges + 1,
                         error);
}

static enum status fill(struct maxmin *system, int64_t first_changed, struct error *error) {
    TRY(prepare(system, first_changed, error));
    for (int64_t i = 0; i < system->component.count; i++) enqueue_constraint(system, system->component.items[i]);
    for (int64_t i = first_changed; i < system->changed.count; i++) {
        int32_t index = system->changed.items[i];
        push_level(system, system->variables.items[index].bound, ~index, 0);
    }
    while (system->levels.count > 0) {
        struct level level = pop_level(system);
        if (level.index < 0) {
            if (!system->variables.items[~level.index].fixed) fix(system, ~level.index, level.rate, -1);
            continue;
        }
        struct constraint *constraint = &system->constraints.items[level.index];
        if (constraint->version != level.version || constraint->weight == 0) continue;
        for (int32_t e = constraint->first; e >= 0; e = system->edges.items[e].next)
            if (!system->variables.items[system->edges.items[e].variable].fixed)
                fix(system, system->edges.items[e].variable, level.rate, level.index);
    }
    return STATUS_OK;
}

static void unvisit(struct maxmin *system, int64_t first_changed) {
    for (int64_t i = 0; i < system->component.count; i++) {
        struct constraint *constraint = &system->constraints.items[system->component.items[i]];
        constraint->visited = constraint->marked = false;
    }
    for (int64_t i = first_changed; i < system->changed.count; i++)
        system->variables.items[system->changed.items[i]].visited = false;
}

bool maxmin_dirty(const struct maxmin *system) { return system->marked.count > 0 || system->alone.count > 0; }

enum status maxmin_solve(struct maxmin *system, struct error *error) {
    system->changed.count = 0;
    for (int64_t i = 0; i < system->alone.count; i++) {
        int32_t index = system->alone.items[i];
        struct variable *variable = &system->variables.items[index];
        variable->listed = false;
        if (!variable->used || variable->first >= 0) continue;
        variable->rate = variable->bound;
        system->changed.items[system->changed.count++] = index;
    }
    system->alone.count = 0;
    for (int64_t i = 0; i < system->marked.count; i++) {
        int32_t start = system->marked.items[i];
        if (!system->constraints.items[start].marked) continue; /* done with an earlier component */
        int64_t first_changed = system->changed.count;
        collect(system, start);
        enum status status = fill(system, first_changed, error);
        unvisit(system, first_changed);
        if (status != STATUS_OK) return status;
    }
    system->marked.count = 0;
    return STATUS_OK;
}

int64_t maxmin_changed(const struct maxmin *system, const int32_t **variables) {
    *variables = system->changed.items;
    return system->changed.count;
}

double maxmin_rate(const struct maxmin *system, int32_t variable) { return system->variables.items[variable].rate; }
int64_t maxmin_tag(const struct maxmin *system, int32_t variable) { return system->variables.items[variable].tag; }

double maxmin_load(const struct maxmin *system, int32_t constraint) {
    double sum = 0;
    for (int32_t e = system->constraints.items[constraint].first; e >= 0; e = system->edges.items[e].next)
        sum += system->variables.items[system->edges.items[e].variable].rate * system->edges.items[e].times;
    return sum;
}
