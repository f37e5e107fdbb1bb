// The one lock, in a separate header: <mutex> takes as long to compile as all the rest of what most parts include.
#pragma once
#include <mutex>

namespace sim {
extern std::mutex the_lock;  // held by a launch, and by whatever changes what a launch reads
}
