// The pool, and the process's one instance of it.
#include "framejudge/thread_pool.hpp"

#include "framejudge/errors.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace framejudge {
namespace {

std::atomic<InterruptCheck> interrupt_check{nullptr};

// Whether this thread is inside a job: a nested one runs where it is, and a mutex must not be tried
// twice by its owner.
thread_local bool in_job = false;

// Asks a job's calling thread, ten times a second, whether to stop.
class InterruptPoll {
public:
    void operator()() {
        const InterruptCheck check = interrupt_check.load(std::memory_order_relaxed);
        if (check == nullptr) {
            return;
        }
        const auto now = std::chrono::steady_clock::now();
        if (now >= due_) {
            due_ = now + kEvery;
            check();
        }
    }

private:
    static constexpr std::chrono::milliseconds kEvery{100};
    std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now() + kEvery;
};

} // namespace

struct ThreadPool::Shared {
    std::mutex mutex;
    std::condition_variable work_ready;
    std::condition_variable work_done;
    std::vector<std::thread> threads;
    // Guarded by mutex.
    const Task* task = nullptr;
    std::size_t task_count = 0;
    std::size_t worker_limit = 0;
    std::size_t generation = 0;
    std::size_t busy = 0;
    bool stopping = false;
    std::exception_ptr failure;
    // Claimed without the mutex.
    std::atomic<std::size_t> next{0};

    void work(const Task& run_task, std::size_t count, std::size_t worker) {
        try {
            InterruptPoll poll;
            for (std::size_t i = next++; i < count; i = next++) {
                run_task(i, worker);
                if (worker == 0) {
                    poll();
                }
            }
        } catch (...) {
            const std::scoped_lock lock(mutex);
            if (!failure) {
                failure = std::current_exception();
            }
            next = count;
        }
    }

    void serve(std::size_t worker) {
        in_job = true;
        std::size_t seen = 0;
        std::unique_lock lock(mutex);
        while (true) {
            work_ready.wait(lock, [&] { return stopping || generation != seen; });
            if (stopping) {
                return;
            }
            seen = generation;
            const Task& run_task = *task;
            const std::size_t count = task_count;
            if (worker < worker_limit) {
                lock.unlock();
                work(run_task, count, worker);
                lock.lock();
            }
            if (--busy == 0) {
                work_done.notify_one();
            }
        }
    }

    void stop() {
        {
            const std::scoped_lock lock(mutex);
            stopping = true;
        }
        work_ready.notify_all();
        for (auto& thread : threads) {
            thread.join();
        }
    }
};

ThreadPool::ThreadPool(std::size_t size) : shared_(std::make_unique<Shared>()) {
    if (size == 0) {
        throw InvalidInput("a thread pool needs at least 1 thread, got 0");
    }
    try {
        for (std::size_t worker = 1; worker < size; ++worker) {
            shared_->threads.emplace_back(
                [shared = shared_.get(), worker] { shared->serve(worker); });
        }
    } catch (...) {
        shared_->stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { shared_->stop(); }

std::size_t ThreadPool::size() const { return shared_->threads.size() + 1; }

void ThreadPool::run(std::size_t task_count, const Task& task, std::size_t worker_limit) {
    {
        const std::scoped_lock lock(shared_->mutex);
        shared_->task = &task;
        shared_->task_count = task_count;
        shared_->worker_limit = worker_limit;
        shared_->busy = shared_->threads.size();
        shared_->next = 0;
        shared_->failure = nullptr;
        ++shared_->generation;
    }
    shared_->work_ready.notify_all();
    shared_->work(task, task_count, 0);
    std::unique_lock lock(shared_->mutex);
    shared_->work_done.wait(lock, [&] { return shared_->busy == 0; });
    if (shared_->failure) {
        std::rethrow_exception(std::exchange(shared_->failure, nullptr));
    }
}

namespace {

struct Global {
    std::mutex job; // held while a job runs or the pool is replaced
    std::unique_ptr<ThreadPool> pool;
    std::mutex budget_mutex;
    std::optional<CpuBudget> budget;
};

std::atomic<Global*> global{nullptr};

// NOTE [fork]
// A child of fork() has none of the pool's threads, and a mutex that another thread held stays
// locked for ever. So the child starts over with new state and leaves the old where it is. What
// set_threads() decided is kept; nobody but the forking thread can be changing it in the child.
void start_over_in_child() {
    const Global* old = global.load();
    if (old == nullptr) {
        return;
    }
    auto fresh = std::make_unique<Global>();
    fresh->budget = old->budget;
    global = fresh.release();
}

Global& get_global() {
    static const bool created = [] {
        global = std::make_unique<Global>().release(); // lives as long as the process
        pthread_atfork(nullptr, nullptr, start_over_in_child);
        return true;
    }();
    static_cast<void>(created);
    return *global.load();
}

CpuBudget budget_of(Global& state) {
    const std::scoped_lock lock(state.budget_mutex);
    if (!state.budget) {
        state.budget = current_cpu_budget();
    }
    return *state.budget;
}

void run_on_pool(Global& state, std::size_t task_count, const Task& task,
                 std::size_t worker_limit) {
    if (!state.pool) {
        state.pool = std::make_unique<ThreadPool>(budget_of(state).threads);
    }
    struct InJob {
        InJob() { in_job = true; }
        ~InJob() { in_job = false; }
        InJob(const InJob&) = delete;
        InJob& operator=(const InJob&) = delete;
    } const in_job_now;
    state.pool->run(task_count, task, worker_limit);
}

} // namespace

void set_interrupt_check(InterruptCheck check) { interrupt_check = check; }

CpuBudget thread_budget() { return budget_of(get_global()); }

void set_threads(std::size_t count) {
    if (count == 0 || count > kMaxThreads) {
        throw InvalidInput("threads must be from 1 to " + std::to_string(kMaxThreads) + ", got " +
                           std::to_string(count));
    }
    Global& state = get_global();
    const std::scoped_lock both(state.job, state.budget_mutex);
    state.pool.reset();
    state.budget = CpuBudget{count, ThreadSource::kSetThreads};
}

void parallel_for(std::size_t task_count, const Task& task, std::size_t worker_limit) {
    Global& state = get_global();
    if (task_count > 1 && !in_job && budget_of(state).threads > 1) {
        const std::unique_lock job(state.job, std::try_to_lock);
        if (job.owns_lock()) {
            run_on_pool(state, task_count, task, worker_limit);
            return;
        }
    }
    if (task_count <= 1 || in_job) {
        for (std::size_t i = 0; i < task_count; ++i) {
            task(i, 0);
        }
        return;
    }
    InterruptPoll poll;
    for (std::size_t i = 0; i < task_count; ++i) {
        task(i, 0);
        poll();
    }
}

} // namespace framejudge
