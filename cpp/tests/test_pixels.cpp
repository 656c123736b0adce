// Pixel memory: aligned, zero, reused within a bound, usable after fork().
#include "framejudge/pixels.hpp"

#include <doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace framejudge::test {
namespace {

bool all_zero(const Pixels& pixels) {
    return std::all_of(pixels.data(), pixels.data() + pixels.size(),
                       [](std::uint8_t sample) { return sample == 0; });
}

TEST_CASE("pixels are zero and aligned to 64 bytes at every size") {
    for (const std::size_t side : {1U, 7U, 64U, 295U, 296U, 600U, 1500U}) {
        for (int round = 0; round < 3; ++round) { // later rounds get used memory
            Pixels pixels(side, side, 3);
            CHECK(reinterpret_cast<std::uintptr_t>(pixels.data()) % 64 == 0);
            CHECK(all_zero(pixels));
            std::fill_n(pixels.data(), pixels.size(), std::uint8_t{0xAB});
        }
    }
}

TEST_CASE("big memory is used again") {
    clear_pixel_pool();
    const std::uint8_t* first = nullptr;
    {
        const Pixels pixels(1920, 1080, 3);
        first = pixels.data();
    }
    CHECK(pixel_pool_state().idle_buffers == 1);
    const Pixels again(1920, 1080, 3);
    CHECK(again.data() == first);
    CHECK(pixel_pool_state().idle_buffers == 0);
}

TEST_CASE("a much smaller picture doesn't hold a big buffer") {
    clear_pixel_pool();
    {
        const Pixels big(4000, 4000, 3);
    }
    const std::size_t idle = pixel_pool_state().idle_bytes;
    CHECK(idle >= 48'000'000);
    const Pixels small(640, 480, 3);
    CHECK(pixel_pool_state().idle_bytes == idle);
}

TEST_CASE("idle memory stays within its bound, the newest kept") {
    clear_pixel_pool();
    set_pixel_pool_limit(8 << 20);
    {
        std::vector<Pixels> many;
        many.reserve(5);
        for (int i = 0; i < 5; ++i) {
            many.emplace_back(1000, 1000, 3);
        }
    }
    const PixelPoolState state = pixel_pool_state();
    CHECK(state.idle_buffers == 2);
    CHECK(state.idle_bytes <= state.limit_bytes);
    set_pixel_pool_limit(kDefaultPixelPoolBytes);
    clear_pixel_pool();
    CHECK(pixel_pool_state().idle_bytes == 0);
}

TEST_CASE("a size that can't be is refused, not wrapped round") {
    const std::size_t huge = std::numeric_limits<std::size_t>::max() / 2;
    const auto wraps = [&] { return Pixels(huge, 4, 3); };
    const auto too_big = [] { return Pixels::uninitialized(std::size_t{1} << 40, 1 << 20, 4); };
    CHECK_THROWS_AS(wraps(), std::bad_alloc);
    CHECK_THROWS_AS(too_big(), std::bad_alloc);
}

TEST_CASE("released memory goes back when its owner lets it go") {
    clear_pixel_pool();
    Pixels pixels(1000, 1000, 3);
    const std::uint8_t* data = pixels.data();
    auto owner = pixels.release();
    CHECK(owner.get() == data);
    CHECK(pixels.size() == 0);
    owner.reset();
    CHECK(pixel_pool_state().idle_buffers == 1);
}

TEST_CASE("threads share the pool") {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            for (std::size_t i = 0; i < 200; ++i) {
                Pixels pixels(400 + i % 3, 300 + static_cast<std::size_t>(t), 3);
                pixels.data()[pixels.size() - 1] = static_cast<std::uint8_t>(i);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(pixel_pool_state().idle_bytes <= pixel_pool_state().limit_bytes);
}

TEST_CASE("a child forked while another thread uses the pool can use it") {
    std::atomic<bool> stop{false};
    std::thread busy([&] {
        while (!stop) {
            const Pixels pixels(640, 480, 3);
        }
    });
    int failures = 0;
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10); // ends a child that waits for a lock for ever
            const Pixels pixels(640, 480, 3);
            _exit(all_zero(pixels) ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        failures += status == 0 ? 0 : 1;
    }
    stop = true;
    busy.join();
    CHECK(failures == 0);
}

} // namespace
} // namespace framejudge::test
