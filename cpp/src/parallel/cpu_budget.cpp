// CPU affinity, cgroup quota and FRAMEJUDGE_THREADS.
#include "framejudge/cpu_budget.hpp"

#include "framejudge/errors.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <string>
#include <thread>

namespace framejudge {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> first_line(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    if (!std::getline(stream, line)) {
        return std::nullopt;
    }
    return line;
}

std::optional<double> to_number(const std::optional<std::string>& text) {
    if (!text) {
        return std::nullopt;
    }
    std::istringstream stream(*text);
    double value = 0.0;
    if (!(stream >> value)) {
        return std::nullopt; // "max" means no limit
    }
    return value;
}

std::optional<double> ratio(std::optional<double> quota, std::optional<double> period) {
    // v1 writes -1 for "no limit".
    if (!quota || !period || !(*quota > 0.0) || !(*period > 0.0)) {
        return std::nullopt;
    }
    return *quota / *period;
}

// cpu.max is "QUOTA PERIOD" or "max PERIOD".
std::optional<double> quota_v2(const fs::path& group) {
    const auto line = first_line(group / "cpu.max");
    if (!line) {
        return std::nullopt;
    }
    const auto space = line->find(' ');
    if (space == std::string::npos) {
        return std::nullopt;
    }
    return ratio(to_number(line->substr(0, space)), to_number(line->substr(space + 1)));
}

std::optional<double> quota_v1(const fs::path& group) {
    return ratio(to_number(first_line(group / "cpu.cfs_quota_us")),
                 to_number(first_line(group / "cpu.cfs_period_us")));
}

// The smallest limit from `group` (a path such as "/a/b") up to the mount itself. A group that is
// not visible here, as in a container without its own namespace, is passed over.
template <typename ReadQuota>
std::optional<double> smallest_up(const fs::path& mount, fs::path group, ReadQuota read_quota) {
    std::optional<double> smallest;
    while (true) {
        const auto quota = read_quota(mount / group.relative_path());
        if (quota && (!smallest || *quota < *smallest)) {
            smallest = quota;
        }
        if (!group.has_relative_path()) {
            return smallest;
        }
        group = group.parent_path();
    }
}

// A comma-separated list such as "cpu,cpuacct" names the controller.
bool names_cpu(std::string_view controllers) {
    while (!controllers.empty()) {
        const auto comma = controllers.find(',');
        if (controllers.substr(0, comma) == "cpu") {
            return true;
        }
        controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
    }
    return false;
}

} // namespace

std::string_view thread_source_name(ThreadSource source) {
    switch (source) {
    case ThreadSource::kAffinity:
        return "affinity";
    case ThreadSource::kCgroupQuota:
        return "cgroup quota";
    case ThreadSource::kEnvironment:
        return "FRAMEJUDGE_THREADS";
    case ThreadSource::kSetThreads:
        return "set_threads";
    }
    return "unknown";
}

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
    const fs::path mount = root / "sys/fs/cgroup";
    std::ifstream groups(root / "proc/self/cgroup");
    std::optional<double> smallest;
    std::string line;
    // A line is "ID:CONTROLLERS:PATH"; v2 has ID 0 and no controllers.
    while (std::getline(groups, line)) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path group = line.substr(second + 1);
        std::optional<double> quota;
        if (controllers.empty()) {
            quota = smallest_up(mount, group, quota_v2);
        } else if (names_cpu(controllers)) {
            quota = smallest_up(mount / controllers, group, quota_v1);
            if (!quota) {
                quota = smallest_up(mount / "cpu", group, quota_v1);
            }
        }
        if (quota && (!smallest || *quota < *smallest)) {
            smallest = quota;
        }
    }
    return smallest;
}

std::size_t affinity_cpu_count() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        return static_cast<std::size_t>(CPU_COUNT(&set));
    }
    // Fails on machines with more CPUs than cpu_set_t has bits.
    const unsigned count = std::thread::hardware_concurrency();
    return count == 0 ? 1 : count;
}

CpuBudget decide_cpu_budget(std::size_t affinity, std::optional<double> quota) {
    const std::size_t by_affinity = affinity == 0 ? 1 : affinity;
    if (quota && std::ceil(*quota) < static_cast<double>(by_affinity)) {
        const double whole = std::ceil(*quota);
        return {whole < 1.0 ? 1 : static_cast<std::size_t>(whole), ThreadSource::kCgroupQuota};
    }
    return {by_affinity, ThreadSource::kAffinity};
}

std::size_t parse_thread_count(std::string_view text) {
    std::size_t count = 0;
    const std::string digits(text);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, count);
    if (error != std::errc() || stop != end || count == 0 || count > kMaxThreads) {
        throw ConfigurationError("FRAMEJUDGE_THREADS must be a whole number from 1 to " +
                                 std::to_string(kMaxThreads) + ", got '" + digits + "'");
    }
    return count;
}

CpuBudget current_cpu_budget() {
    const char* text = std::getenv("FRAMEJUDGE_THREADS");
    if (text != nullptr && *text != '\0') {
        return {parse_thread_count(text), ThreadSource::kEnvironment};
    }
    return decide_cpu_budget(affinity_cpu_count(), cgroup_cpu_quota("/"));
}

} // namespace framejudge
