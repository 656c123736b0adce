// Chooses the tier, once.
#include "framejudge/isa.hpp"

#include "framejudge/errors.hpp"
#include "kernels.hpp"
#include "parallel/cpu_features.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

namespace framejudge {
namespace {

std::vector<const KernelTable*> supported_tables() {
    std::vector<const KernelTable*> tables = {&baseline_kernels()};
#if defined(__x86_64__)
    const CpuFeatures features = cpu_features();
    if (features.has_avx2) {
        tables.push_back(&avx2_kernels());
    }
    if (features.has_avx512) {
        tables.push_back(&avx512_kernels());
    }
#elif defined(__aarch64__)
    tables.push_back(&neon_kernels()); // part of the architecture
#endif
    return tables;
}

std::string names_of(const std::vector<const KernelTable*>& tables) {
    std::string names;
    for (const KernelTable* table : tables) {
        names += names.empty() ? "" : ", ";
        names += isa_name(table->isa);
    }
    return names;
}

const KernelTable& table_named(std::string_view name) {
    const auto tables = supported_tables();
    std::string wanted(name);
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    for (const KernelTable* table : tables) {
        if (isa_name(table->isa) == wanted) {
            return *table;
        }
    }
    throw ConfigurationError("FRAMEJUDGE_ISA: this machine runs " + names_of(tables) +
                             "; it can't run '" + std::string(name) + "'");
}

std::atomic<const KernelTable*> active{nullptr};

} // namespace

std::string_view isa_name(Isa isa) {
    switch (isa) {
    case Isa::kBaseline:
        return "baseline";
    case Isa::kAvx2:
        return "avx2";
    case Isa::kAvx512:
        return "avx512";
    case Isa::kNeon:
        return "neon";
    }
    return "unknown";
}

std::vector<Isa> supported_isas() {
    std::vector<Isa> isas;
    for (const KernelTable* table : supported_tables()) {
        isas.push_back(table->isa);
    }
    return isas;
}

const KernelTable& active_kernels() {
    const KernelTable* table = active.load(std::memory_order_acquire);
    if (table == nullptr) {
        // Two first callers choose the same.
        const char* forced = std::getenv("FRAMEJUDGE_ISA");
        table =
            forced != nullptr && *forced != '\0' ? &table_named(forced) : supported_tables().back();
        active.store(table, std::memory_order_release);
    }
    return *table;
}

Isa active_isa() { return active_kernels().isa; }

void set_isa(std::string_view name) { active.store(&table_named(name), std::memory_order_release); }

} // namespace framejudge
