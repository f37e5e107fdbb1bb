// async.cuh in the simulator: copies are made when they are waited for, so that who does not wait finds nothing.
#pragma once

CUSIM_API void cusim_copy_async(void *shared, const void *global, unsigned bytes, void *pc);
CUSIM_API void cusim_copy_commit();
CUSIM_API void cusim_copy_wait(unsigned left);
CUSIM_API void cusim_meeting_init(void *m, unsigned count, void *pc);
CUSIM_API void cusim_meeting_arrive(void *m, unsigned bytes, void *pc);
CUSIM_API void cusim_meeting_arrive_at(void *m, unsigned rank, void *pc);
CUSIM_API void cusim_meeting_wait(void *m, unsigned parity, int until_over, int *over, void *pc);
CUSIM_API void cusim_store_async(void *to, const void *value, unsigned bytes, void *m, unsigned rank, void *pc);

template <int BYTES>
CUSIM_OWN void copy_async(void *shared, const void *global) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    cusim_copy_async(shared, global, BYTES, CUSIM_CALLER);
}
CUSIM_OWN void copy_commit() { cusim_copy_commit(); }
template <int N>
CUSIM_OWN void copy_wait() {
    cusim_copy_wait(N);
}

CUSIM_OWN void meeting_init(Meeting *m, unsigned count) { cusim_meeting_init(m, count, CUSIM_CALLER); }
CUSIM_INLINE void meeting_visible() { cusim_fence(); }
CUSIM_OWN void meeting_arrive(Meeting *m) { cusim_meeting_arrive(m, 0, CUSIM_CALLER); }
CUSIM_OWN void meeting_arrive(Meeting *m, unsigned rank) { cusim_meeting_arrive_at(m, rank, CUSIM_CALLER); }
CUSIM_OWN void meeting_expect(Meeting *m, unsigned bytes) { cusim_meeting_arrive(m, bytes, CUSIM_CALLER); }
CUSIM_OWN bool meeting_over(Meeting *m, unsigned parity) {
    int over = 0;
    cusim_meeting_wait(m, parity, 0, &over, CUSIM_CALLER);
    return over;
}
CUSIM_OWN void meeting_wait(Meeting *m, unsigned parity) {
    int over = 0;
    cusim_meeting_wait(m, parity, 1, &over, CUSIM_CALLER);
}

template <class T>
CUSIM_OWN void store_async(T *to, typename cusim::same<T>::type value, Meeting *m, unsigned rank) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "st.async stores 4, 8 or 16 bytes");
    cusim_store_async(to, &value, sizeof(T), m, rank, CUSIM_CALLER);
}
