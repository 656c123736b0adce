// The pool: every task once, exceptions, nesting, contention, fork.
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <doctest.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace framejudge::test {
namespace {

TEST_CASE("every task runs once, on a worker below the pool's size") {
    for (const std::size_t size : {1U, 2U, 5U}) {
        ThreadPool pool(size);
        CHECK(pool.size() == size);
        for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
            std::vector<std::atomic<int>> runs(count);
            std::atomic<bool> in_range{true};
            pool.run(count, [&](std::size_t task, std::size_t worker) {
                ++runs[task];
                in_range = in_range && worker < size;
            });
            for (const auto& one : runs) {
                CHECK(one == 1);
            }
            CHECK(in_range);
        }
    }
}

TEST_CASE("workers above the limit stay out") {
    ThreadPool pool(4);
    std::atomic<std::size_t> highest{0};
    pool.run(
        1000,
        [&](std::size_t, std::size_t worker) {
            std::size_t seen = highest;
            while (worker > seen && !highest.compare_exchange_weak(seen, worker)) {
            }
        },
        2);
    CHECK(highest < 2);
}

TEST_CASE("the caller's thread is asked now and then whether to stop") {
    static std::thread::id asked;
    const auto stop = [] {
        asked = std::this_thread::get_id();
        throw std::runtime_error("stop");
    };
    set_interrupt_check(stop);
    std::atomic<int> runs{0};
    const auto slow = [&](std::size_t, std::size_t) {
        ++runs;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    };
    ThreadPool pool(2);
    CHECK_THROWS_WITH_AS(pool.run(1000, slow), "stop", std::runtime_error);
    CHECK(asked == std::this_thread::get_id());
    CHECK(runs < 1000);
    CHECK_THROWS_WITH_AS(parallel_for(1000, slow), "stop", std::runtime_error);
    set_interrupt_check(nullptr);
    CHECK_NOTHROW(pool.run(10, slow));
}

TEST_CASE("a task's exception reaches the caller and the pool goes on") {
    ThreadPool pool(3);
    const auto failing = [](std::size_t task, std::size_t) {
        if (task == 40) {
            throw std::runtime_error("task 40");
        }
    };
    for (int round = 0; round < 20; ++round) {
        CHECK_THROWS_WITH_AS(pool.run(100, failing), "task 40", std::runtime_error);
    }
    std::atomic<int> runs{0};
    pool.run(100, [&](std::size_t, std::size_t) { ++runs; });
    CHECK(runs == 100);
}

TEST_CASE("a task may itself ask for parallel work") {
    set_threads(3);
    std::atomic<int> runs{0};
    parallel_for(10, [&](std::size_t, std::size_t) {
        parallel_for(10, [&](std::size_t, std::size_t) { ++runs; });
    });
    CHECK(runs == 100);
}

TEST_CASE("several callers at once each get all their tasks done") {
    set_threads(2);
    std::atomic<int> runs{0};
    std::vector<std::thread> callers;
    callers.reserve(4);
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                parallel_for(20, [&](std::size_t, std::size_t) { ++runs; });
            }
        });
    }
    for (int round = 0; round < 20; ++round) {
        set_threads(1 + static_cast<std::size_t>(round) % 3);
    }
    for (auto& caller : callers) {
        caller.join();
    }
    CHECK(runs == 4 * 50 * 20);
}

TEST_CASE("set_threads decides and is reported") {
    set_threads(3);
    CHECK(thread_budget().threads == 3);
    CHECK(thread_budget().source == ThreadSource::kSetThreads);
    CHECK_THROWS_AS(set_threads(0), InvalidInput);
}

#if !defined(__SANITIZE_THREAD__) // which doesn't follow threads into a forked child
TEST_CASE("a forked child has a pool that works") {
    set_threads(3);
    std::atomic<int> before{0};
    parallel_for(100, [&](std::size_t, std::size_t) { ++before; });
    REQUIRE(before == 100);
    const pid_t child = fork();
    if (child == 0) {
        std::atomic<int> runs{0};
        parallel_for(100, [&](std::size_t, std::size_t) { ++runs; });
        _exit(runs == 100 && thread_budget().threads == 3 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
#endif

} // namespace
} // namespace framejudge::test
