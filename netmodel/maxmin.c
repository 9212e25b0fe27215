#include "maxmin.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { NONE = -1 };

struct element { /* one variable on one constraint */
    int32_t variable, constraint;
    int32_t weight;           /* how often the variable uses the constraint */
    int32_t next_of_variable; /* also the list of free elements */
    int32_t before, after;    /* on the constraint */
};

struct constraint {
    double capacity;
    double left;         /* while filling: capacity that the settled variables leave */
    double weight;       /* while filling: of the variables that still rise */
    int32_t first, last; /* elements, in the order of adding */
    int32_t visit;       /* the last computation that reached it */
    bool dirty;
};

struct variable {
    double cap, rate;
    int32_t owner;
    int32_t first; /* element; also the list of free variables */
    int32_t bottleneck;
    int32_t visit;
    bool used, changed, settled;
};

struct candidate { /* a level at which something may stop rising */
    double level;
    int32_t index; /* of a constraint or variable */
};

struct maxmin {
    struct constraint *constraints;
    int32_t constraint_count;
    ARRAY(struct variable) variables;
    ARRAY(struct element) elements;
    int32_t free_variable, free_element;
    ARRAY(int32_t) changed; /* never longer than `variables` */
    int64_t next_changed;   /* those before it have been taken */
    int32_t *dirty;         /* marked constraints */
    int32_t dirty_count;
    int32_t visit;
    int64_t computations;
    /* The component at hand and its candidates; as large as they can get, so that solving allocates nothing. */
    int32_t *reached_constraints;
    int32_t reached_constraint_count;
    ARRAY(int32_t) reached_variables;
    struct candidate *heap; /* constraints, the lowest level first */
    int32_t heap_count;
    ARRAY(struct candidate) caps; /* ascending */
};

/* ---- making ---- */

struct maxmin *maxmin_create(int32_t constraint_count, struct error *error) {
    struct maxmin *system = alloc_zero(1, sizeof *system, "rates", error);
    if (!system) return NULL;
    size_t count = (size_t)constraint_count;
    system->constraints = alloc_zero(count, sizeof *system->constraints, "constraints", error);
    if (system->constraints) system->dirty = alloc_zero(count, sizeof *system->dirty, "constraints", error);
    if (system->dirty)
        system->reached_constraints = alloc_zero(count, sizeof *system->reached_constraints, "constraints", error);
    if (system->reached_constraints) system->heap = alloc_zero(count, sizeof *system->heap, "constraints", error);
    if (!system->heap) {
        maxmin_free(system);
        return NULL;
    }
    system->constraint_count = constraint_count;
    for (int32_t i = 0; i < constraint_count; i++)
        system->constraints[i] = (struct constraint){.capacity = INFINITY, .first = NONE, .last = NONE};
    system->free_variable = system->free_element = NONE;
    return system;
}

void maxmin_free(struct maxmin *system) {
    if (!system) return;
    alloc_free(system->constraints);
    alloc_free(system->dirty);
    alloc_free(system->reached_constraints);
    alloc_free(system->heap);
    array_clear(&system->variables);
    array_clear(&system->elements);
    array_clear(&system->changed);
    array_clear(&system->reached_variables);
    array_clear(&system->caps);
    alloc_free(system);
}

/* ---- marking ---- */

static void mark_constraint(struct maxmin *system, int32_t index) {
    struct constraint *constraint = &system->constraints[index];
    if (constraint->dirty || constraint->first == NONE) return;
    constraint->dirty = true;
    system->dirty[system->dirty_count++] = index;
}

static void set_rate(struct maxmin *system, int32_t index, double rate, int32_t bottleneck) {
    struct variable *variable = &system->variables.items[index];
    variable->bottleneck = bottleneck;
    if (rate == variable->rate) return;
    variable->rate = rate;
    if (variable->changed) return;
    variable->changed = true;
    system->changed.items[system->changed.count++] = index;
}

void maxmin_set_capacity(struct maxmin *system, int32_t constraint, double capacity) {
    assert(capacity >= 0 && constraint < system->constraint_count);
    if (system->constraints[constraint].capacity == capacity) return;
    system->constraints[constraint].capacity = capacity;
    mark_constraint(system, constraint);
}

void maxmin_set_cap(struct maxmin *system, int32_t index, double cap) {
    struct variable *variable = &system->variables.items[index];
    assert(variable->used && cap >= 0);
    if (variable->cap == cap) return;
    variable->cap = cap;
    for (int32_t e = variable->first; e != NONE; e = system->elements.items[e].next_of_variable)
        mark_constraint(system, system->elements.items[e].constraint);
    if (variable->first == NONE) set_rate(system, index, cap, NONE);
}

/* ---- adding and removing variables ---- */

static enum status reserve_variable(struct maxmin *system, int32_t elements, struct error *error) {
    int64_t wanted = system->variables.count + 1;
    TRY(array_reserve(&system->changed, wanted, error));
    TRY(array_reserve(&system->reached_variables, wanted, error));
    TRY(array_reserve(&system->caps, wanted, error));
    TRY(array_reserve(&system->variables, wanted, error));
    return array_reserve(&system->elements, system->elements.count + elements, error);
}

static int32_t take_variable(struct maxmin *system) {
    int32_t index = system->free_variable;
    if (index == NONE) return (int32_t)system->variables.count++;
    system->free_variable = system->variables.items[index].first;
    return index;
}

static int32_t take_element(struct maxmin *system) {
    int32_t index = system->free_element;
    if (index == NONE) return (int32_t)system->elements.count++;
    system->free_element = system->elements.items[index].next_of_variable;
    return index;
}

static void attach(struct maxmin *system, int32_t variable, int32_t constraint) {
    struct variable *user = &system->variables.items[variable];
    for (int32_t e = user->first; e != NONE; e = system->elements.items[e].next_of_variable) {
        if (system->elements.items[e].constraint != constraint) continue;
        system->elements.items[e].weight++;
        return;
    }
    int32_t index = take_element(system), before = system->constraints[constraint].last;
    system->elements.items[index] = (struct element){.variable = variable,
                                                     .constraint = constraint,
                                                     .weight = 1,
                                                     .next_of_variable = user->first,
                                                     .before = before,
                                                     .after = NONE};
    if (before != NONE)
        system->elements.items[before].after = index;
    else
        system->constraints[constraint].first = index;
    system->constraints[constraint].last = index;
    user->first = index;
}

static void detach(struct maxmin *system, int32_t index) {
    struct element *element = &system->elements.items[index];
    if (element->before != NONE)
        system->elements.items[element->before].after = element->after;
    else
        system->constraints[element->constraint].first = element->after;
    if (element->after != NONE)
        system->elements.items[element->after].before = element->before;
    else
        system->constraints[element->constraint].last = element->before;
}

/* Whether no other variable uses any of its constraints. */
static bool is_alone(const struct maxmin *system, const struct variable *variable) {
    for (int32_t e = variable->first; e != NONE; e = system->elements.items[e].next_of_variable)
        if (system->elements.items[e].before != NONE || system->elements.items[e].after != NONE) return false;
    return true;
}

static void solve_alone(struct maxmin *system, int32_t index) {
    const struct variable *variable = &system->variables.items[index];
    double rate = variable->cap;
    int32_t bottleneck = NONE;
    for (int32_t e = variable->first; e != NONE; e = system->elements.items[e].next_of_variable) {
        const struct element *element = &system->elements.items[e];
        double level = system->constraints[element->constraint].capacity / element->weight;
        if (level >= rate) continue;
        rate = level;
        bottleneck = element->constraint;
    }
    system->computations++;
    set_rate(system, index, rate, bottleneck);
}

enum status maxmin_add_variable(struct maxmin *system, int32_t owner, double cap, const int32_t *constraints,
                                int32_t count, int32_t *variable, struct error *error) {
    assert(cap >= 0);
    TRY(reserve_variable(system, count, error));
    int32_t index = take_variable(system);
    struct variable *added = &system->variables.items[index];
    bool changed = added->changed; /* the slot's last user may still stand in the list */
    *added = (struct variable){
        .cap = cap, .rate = -1, .owner = owner, .first = NONE, .bottleneck = NONE, .used = true, .changed = changed};
    for (int32_t i = 0; i < count; i++) attach(system, index, constraints[i]);
    if (is_alone(system, added))
        solve_alone(system, index);
    else
        mark_constraint(system, system->elements.items[added->first].constraint);
    *variable = index;
    return STATUS_OK;
}

void maxmin_remove_variable(struct maxmin *system, int32_t index) {
    struct variable *variable = &system->variables.items[index];
    assert(variable->used);
    for (int32_t e = variable->first, next; e != NONE; e = next) {
        next = system->elements.items[e].next_of_variable;
        detach(system, e);
        mark_constraint(system, system->elements.items[e].constraint);
        system->elements.items[e].next_of_variable = system->free_element;
        system->free_element = e;
    }
    variable->used = false;
    variable->first = system->free_variable;
    system->free_variable = index;
}

/* ---- the component of a constraint ---- */

static void reach_constraint(struct maxmin *system, int32_t index) {
    struct constraint *constraint = &system->constraints[index];
    if (constraint->visit == system->visit) return;
    constraint->visit = system->visit;
    constraint->left = constraint->capacity;
    constraint->weight = 0;
    system->reached_constraints[system->reached_constraint_count++] = index;
}

static void reach_variable(struct maxmin *system, int32_t index) {
    struct variable *variable = &system->variables.items[index];
    if (variable->visit == system->visit) return;
    variable->visit = system->visit;
    variable->settled = false;
    system->reached_variables.items[system->reached_variables.count++] = index;
    for (int32_t e = variable->first; e != NONE; e = system->elements.items[e].next_of_variable)
        reach_constraint(system, system->elements.items[e].constraint);
}

/* Collects everything that shares a constraint with `start`, directly or through others, and sums the weights. */
static void collect(struct maxmin *system, int32_t start) {
    system->reached_constraint_count = 0;
    system->reached_variables.count = 0;
    reach_constraint(system, start);
    for (int32_t i = 0; i < system->reached_constraint_count; i++) {
        struct constraint *constraint = &system->constraints[system->reached_constraints[i]];
        for (int32_t e = constraint->first; e != NONE; e = system->elements.items[e].after) {
            constraint->weight += system->elements.items[e].weight;
            reach_variable(system, system->elements.items[e].variable);
        }
    }
}

/* ---- filling ---- */

/* Ties go by index, so that the result does not depend on the order of reaching. */
static bool is_lower(struct candidate a, struct candidate b) {
    return a.level != b.level ? a.level < b.level : a.index < b.index;
}

static int compare_candidates(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    return is_lower(*a, *b) ? -1 : is_lower(*b, *a);
}

/* Puts `value` at `at` or below, where the heap is in order. */
static void sift_down(struct maxmin *system, int32_t at, struct candidate value) {
    struct candidate *heap = system->heap;
    for (int32_t child; (child = 2 * at + 1) < system->heap_count; at = child) {
        if (child + 1 < system->heap_count && is_lower(heap[child + 1], heap[child])) child++;
        if (!is_lower(heap[child], value)) break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

static void drop_top(struct maxmin *system) {
    system->heap_count--;
    if (system->heap_count > 0) sift_down(system, 0, system->heap[system->heap_count]);
}

static void make_candidates(struct maxmin *system) {
    system->heap_count = system->reached_constraint_count;
    for (int32_t i = 0; i < system->heap_count; i++) {
        int32_t index = system->reached_constraints[i];
        const struct constraint *constraint = &system->constraints[index];
        double level = constraint->weight > 0 ? constraint->left / constraint->weight : INFINITY;
        system->heap[i] = (struct candidate){.level = level, .index = index};
    }
    for (int32_t i = system->heap_count / 2 - 1; i >= 0; i--) sift_down(system, i, system->heap[i]);
    system->caps.count = 0;
    for (int64_t i = 0; i < system->reached_variables.count; i++) {
        int32_t index = system->reached_variables.items[i];
        double cap = system->variables.items[index].cap;
        if (cap < INFINITY) system->caps.items[system->caps.count++] = (struct candidate){.level = cap, .index = index};
    }
    if (system->caps.count > 1)
        qsort(system->caps.items, (size_t)system->caps.count, sizeof *system->caps.items, compare_candidates);
}

static void settle(struct maxmin *system, int32_t index, double rate, int32_t bottleneck) {
    struct variable *variable = &system->variables.items[index];
    variable->settled = true;
    set_rate(system, index, rate, bottleneck);
    for (int32_t e = variable->first; e != NONE; e = system->elements.items[e].next_of_variable) {
        const struct element *element = &system->elements.items[e];
        struct constraint *constraint = &system->constraints[element->constraint];
        constraint->weight -= element->weight;
        if (constraint->capacity < INFINITY) constraint->left -= element->weight * rate;
    }
}

static void settle_all_of(struct maxmin *system, int32_t constraint, double rate) {
    for (int32_t e = system->constraints[constraint].first; e != NONE; e = system->elements.items[e].after) {
        int32_t variable = system->elements.items[e].variable;
        if (!system->variables.items[variable].settled) settle(system, variable, rate, constraint);
    }
}

/* The lowest constraint settles its variables at its level. Levels only rise while variables settle below them, so an
 * entry of the heap may be too low, never too high: then it goes back with its present level. In exact arithmetic no
 * level lies below `level`, the one reached; in rounded arithmetic it is held there. */
static double settle_lowest_constraint(struct maxmin *system, double level) {
    struct candidate top = system->heap[0];
    const struct constraint *constraint = &system->constraints[top.index];
    if (constraint->weight <= 0) {
        drop_top(system);
        return level;
    }
    double present = fmax(constraint->left / constraint->weight, level);
    if (present > top.level) {
        sift_down(system, 0, (struct candidate){.level = present, .index = top.index});
        return level;
    }
    drop_top(system);
    settle_all_of(system, top.index, present);
    return present;
}

static void fill(struct maxmin *system) {
    make_candidates(system);
    system->computations++;
    double level = 0;
    int64_t next_cap = 0;
    while (system->heap_count > 0) {
        if (next_cap < system->caps.count && system->caps.items[next_cap].level <= system->heap[0].level) {
            struct candidate cap = system->caps.items[next_cap++];
            if (system->variables.items[cap.index].settled) continue;
            level = cap.level;
            settle(system, cap.index, level, NONE);
        } else {
            level = settle_lowest_constraint(system, level);
        }
    }
}

static void begin_visit(struct maxmin *system) {
    if (system->visit == INT32_MAX) { /* old marks would come to life again */
        for (int32_t i = 0; i < system->constraint_count; i++) system->constraints[i].visit = 0;
        for (int64_t i = 0; i < system->variables.count; i++) system->variables.items[i].visit = 0;
        system->visit = 0;
    }
    system->visit++;
}

void maxmin_solve(struct maxmin *system) {
    if (system->dirty_count == 0) return;
    begin_visit(system);
    for (int32_t i = 0; i < system->dirty_count; i++) {
        struct constraint *constraint = &system->constraints[system->dirty[i]];
        constraint->dirty = false;
        if (constraint->first == NONE || constraint->visit == system->visit) continue;
        collect(system, system->dirty[i]);
        fill(system);
    }
    system->dirty_count = 0;
}

/* ---- results ---- */

bool maxmin_next_changed(struct maxmin *system, int32_t *variable) {
    while (system->next_changed < system->changed.count) {
        int32_t index = system->changed.items[system->next_changed++];
        system->variables.items[index].changed = false;
        if (!system->variables.items[index].used) continue;
        *variable = index;
        return true;
    }
    system->changed.count = system->next_changed = 0;
    return false;
}

bool maxmin_is_dirty(const struct maxmin *system) {
    return system->dirty_count > 0 || system->changed.count > 0;
}
double maxmin_rate(const struct maxmin *system, int32_t variable) {
    return system->variables.items[variable].rate;
}
int32_t maxmin_owner(const struct maxmin *system, int32_t variable) {
    return system->variables.items[variable].owner;
}
int32_t maxmin_bottleneck(const struct maxmin *system, int32_t variable) {
    return system->variables.items[variable].bottleneck;
}
int64_t maxmin_computations(const struct maxmin *system) {
    return system->computations;
}
