// The lock, in a separate header because <mutex> takes as long to compile as everything else in most parts.
#pragma once
#include <mutex>

namespace sim {
extern std::mutex the_lock;  // held by a launch, and by functions that change data that a launch reads
}
