// The one thread pool of the core.
#pragma once

#include "framejudge/cpu_budget.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace framejudge {

// `task` is below the task count; `worker` is below the worker limit and is held by one thread at
// a time, so it can index scratch memory.
using Task = std::function<void(std::size_t task, std::size_t worker)>;

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

class ThreadPool {
public:
    // `size` counts the calling thread: size - 1 threads are started.
    explicit ThreadPool(std::size_t size);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ThreadPool(ThreadPool&&) = delete;
    ThreadPool& operator=(ThreadPool&&) = delete;

    // Runs every task once and returns when all are done; tasks are handed out in ascending
    // order. The first exception stops the handing out and is rethrown here. One caller at a time.
    void run(std::size_t task_count, const Task& task, std::size_t worker_limit = kNoLimit);

    [[nodiscard]] std::size_t size() const;

private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

// Runs tasks on the process's pool, which starts with the first call that needs it. A caller that
// finds the pool busy (another thread's job, or a task inside a task) runs its tasks itself: the
// result is the same and the machine is not oversubscribed. A caller with scratch memory for so
// many workers says so: another thread may resize the pool at any time.
void parallel_for(std::size_t task_count, const Task& task, std::size_t worker_limit = kNoLimit);

// Called now and then on the thread that called parallel_for, between two tasks; what it throws
// stops the job as a task's exception does. Null for none. Set once, before the first job.
using InterruptCheck = void (*)();
void set_interrupt_check(InterruptCheck check);

// The pool's size (started or not) and what decided it. Throws ConfigurationError if
// FRAMEJUDGE_THREADS can't be used.
CpuBudget thread_budget();

// Resizes the pool; waits for a running job. Throws InvalidInput outside 1 to kMaxThreads.
void set_threads(std::size_t count);

} // namespace framejudge
