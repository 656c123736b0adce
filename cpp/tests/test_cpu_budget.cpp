// Affinity, cgroup quotas from fake files, FRAMEJUDGE_THREADS.
#include "framejudge/cpu_budget.hpp"
#include "framejudge/errors.hpp"

#include <cstdlib>
#include <doctest.h>
#include <fstream>
#include <string>

namespace framejudge::test {
namespace {

namespace fs = std::filesystem;

// A file system with only what a test puts there.
class FakeRoot {
public:
    FakeRoot() {
        std::string path = (fs::temp_directory_path() / "framejudge-cgroup-XXXXXX").string();
        REQUIRE(mkdtemp(path.data()) != nullptr);
        root_ = path;
    }
    ~FakeRoot() { fs::remove_all(root_); }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;
    FakeRoot(FakeRoot&&) = delete;
    FakeRoot& operator=(FakeRoot&&) = delete;

    void write(const std::string& path, const std::string& text) const {
        const fs::path file = root_ / path;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    [[nodiscard]] std::optional<double> quota() const { return cgroup_cpu_quota(root_); }

private:
    fs::path root_;
};

TEST_CASE("cgroup v2: the quota of the process's own group") {
    const FakeRoot root;
    root.write("proc/self/cgroup", "0::/pod/box\n");
    root.write("sys/fs/cgroup/pod/box/cpu.max", "150000 100000\n");
    CHECK(root.quota() == 1.5);
}

TEST_CASE("cgroup v2: the smallest quota up the tree counts") {
    const FakeRoot root;
    root.write("proc/self/cgroup", "0::/pod/box\n");
    root.write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
    root.write("sys/fs/cgroup/pod/cpu.max", "400000 100000\n");
    root.write("sys/fs/cgroup/cpu.max", "800000 100000\n");
    CHECK(root.quota() == 4.0);
}

TEST_CASE("cgroup v2: a group that isn't visible here falls back to the mount") {
    const FakeRoot root;
    root.write("proc/self/cgroup", "0::/docker/abc\n");
    root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK(root.quota() == 2.0);
}

TEST_CASE("cgroup v1: quota over period of the cpu controller") {
    const FakeRoot root;
    root.write("proc/self/cgroup",
               "12:memory:/m\n4:cpu,cpuacct:/jobs/one\n2:cpuset:/other\n0::/\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "300000\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n");
    CHECK(root.quota() == 3.0);
}

TEST_CASE("cgroup v1: the controller may be mounted under its short name") {
    const FakeRoot root;
    root.write("proc/self/cgroup", "4:cpu,cpuacct:/\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(root.quota() == 0.5);
}

TEST_CASE("no limit, no files and unreadable numbers are no quota") {
    const FakeRoot empty;
    CHECK_FALSE(empty.quota().has_value());

    const FakeRoot unlimited;
    unlimited.write("proc/self/cgroup", "4:cpu:/\n0::/\n");
    unlimited.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    unlimited.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    unlimited.write("sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK_FALSE(unlimited.quota().has_value());

    for (const char* text : {"", "\n", "100000", "x y\n", "0 100000\n", "100000 0\n", "- -\n"}) {
        CAPTURE(text);
        const FakeRoot broken;
        broken.write("proc/self/cgroup", "garbage\n:\n0::/\n");
        broken.write("sys/fs/cgroup/cpu.max", text);
        CHECK_FALSE(broken.quota().has_value());
    }
}

TEST_CASE("the budget is the smaller of affinity and quota, never below 1") {
    const auto check = [](std::size_t affinity, std::optional<double> quota, std::size_t threads,
                          ThreadSource source) {
        const CpuBudget budget = decide_cpu_budget(affinity, quota);
        CHECK(budget.threads == threads);
        CHECK(budget.source == source);
    };
    check(8, std::nullopt, 8, ThreadSource::kAffinity);
    check(8, 2.5, 3, ThreadSource::kCgroupQuota);
    check(8, 0.1, 1, ThreadSource::kCgroupQuota);
    check(2, 16.0, 2, ThreadSource::kAffinity);
    check(4, 4.0, 4, ThreadSource::kAffinity);
    check(0, std::nullopt, 1, ThreadSource::kAffinity);
}

TEST_CASE("a thread count is a positive whole number and nothing else") {
    CHECK(parse_thread_count("1") == 1);
    CHECK(parse_thread_count("64") == 64);
    for (const char* text : {"0", "-1", "2.5", "two", " 2", "2 ", "5000", "99999999999999999999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_thread_count(text), ConfigurationError);
    }
}

TEST_CASE("this machine has at least one CPU") {
    CHECK(affinity_cpu_count() >= 1);
    CHECK(current_cpu_budget().threads >= 1);
}

} // namespace
} // namespace framejudge::test
