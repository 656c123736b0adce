// How many threads this process may usefully run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace framejudge {

enum class ThreadSource : std::uint8_t { kAffinity, kCgroupQuota, kEnvironment, kSetThreads };

std::string_view thread_source_name(ThreadSource source);

// More than any machine has: a typing error is told, not obeyed.
constexpr std::size_t kMaxThreads = 4096;

struct CpuBudget {
    std::size_t threads;
    ThreadSource source;
};

// CPUs' worth of time that cgroup v2 or v1 allows, the smallest over this process's group and its
// ancestors; none if unlimited. `root` is "/" but for tests.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root);

// The number of CPUs in the affinity mask, at least 1.
std::size_t affinity_cpu_count();

// The smaller of affinity and quota (rounded up), at least 1.
CpuBudget decide_cpu_budget(std::size_t affinity, std::optional<double> quota);

// A count from 1 to kMaxThreads, from the text of FRAMEJUDGE_THREADS; throws ConfigurationError.
std::size_t parse_thread_count(std::string_view text);

// FRAMEJUDGE_THREADS if set, else decide_cpu_budget() of this machine.
CpuBudget current_cpu_budget();

} // namespace framejudge
