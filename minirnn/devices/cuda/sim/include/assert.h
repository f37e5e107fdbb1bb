// The assert of a kernel fails the launch, not the process. There is no include guard, as in C: NDEBUG may change.
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : cusim_trap("assertion failed: " #condition, __FILE__, __LINE__))
#endif
