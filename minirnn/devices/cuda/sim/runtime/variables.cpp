// Check mode: the records of __device__ and __constant__ variables of loaded modules.
#include "internal.h"
#include "lock.h"

#include <stdio.h>
#include <stdlib.h>

#include <iterator>
#include <map>
#include <string>

using namespace sim;

struct Variable {
    size_t bytes;
    std::string name;
};
static std::map<const char *, Variable> variables;
static std::map<uintptr_t, Cell *> pages;

CUSIM_API void cusim_name_variable(const void *p, size_t bytes, const char *name) {
    std::lock_guard<std::mutex> hold(the_lock);
    variables[(const char *)p] = {bytes, name};
}

Cell *sim::cells_of_variables(uintptr_t page) {
    Cell *&cells = pages[page];
    if (!cells) cells = (Cell *)calloc(PAGE / 2, sizeof(Cell));
    if (!cells) fail("out of memory for what check mode knows of __device__ variables");
    return cells;
}

void sim::forget_variables() {
    for (auto &entry : pages) memset(entry.second, 0, PAGE / 2 * sizeof(Cell));
}

Text sim::describe_variable(const char *p) {
    Text t;
    auto it = variables.upper_bound(p);
    if (it == variables.begin() || p >= std::prev(it)->first + std::prev(it)->second.bytes) {
        snprintf(t.text, sizeof t.text, "a variable of the module");
        return t;
    }
    --it;
    snprintf(t.text, sizeof t.text, "byte %ld of __device__ variable `%.40s` (%zu bytes)", (long)(p - it->first),
             it->second.name.c_str(), it->second.bytes);
    return t;
}
