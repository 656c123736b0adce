// Baseline tier: the compiler's portable vectors of 16 bytes, which every ABI's floor has.
#include "kernel_template.hpp"

namespace framejudge {
namespace {

template <typename To, typename From> To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

float to_float(float value) { return value; }

float to_float(Bfloat16 value) {
    return bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}

// IEEE 754 binary16. Its exponent and fraction are moved to float32's place; the product with
// 2^112 then corrects the exponent's bias and makes subnormals right as well.
float to_float(Half value) {
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = value.bits & 0x7fffU;
    if (magnitude >= 0x7c00U) { // infinity or NaN
        return bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13U));
    }
    const float scaled = bit_cast<float>(magnitude << 13U) * 0x1p112F;
    return bit_cast<float>(sign | bit_cast<std::uint32_t>(scaled));
}

using Floats [[gnu::vector_size(16)]] = float;
using Doubles [[gnu::vector_size(16)]] = double;

template <typename S, typename V> struct PortableLanes {
    using Scalar = S;
    using Vector = V;
    static constexpr std::size_t kWidth = sizeof(V) / sizeof(S);

    static Vector zero() { return Vector{}; }
    static Vector broadcast(S value) { return Vector{} + value; }
    template <typename T> static Vector load(const T* from) {
        Vector vector = {};
        for (std::size_t i = 0; i < kWidth; ++i) {
            vector[i] = static_cast<S>(to_float(from[i]));
        }
        return vector;
    }
    static Vector load(const S* from) {
        Vector vector = {};
        std::memcpy(&vector, from, sizeof(vector));
        return vector;
    }
    static Vector fma(Vector a, Vector b, Vector c) { return a * b + c; }
    static S sum(Vector vector) {
        S total = vector[0];
        for (std::size_t i = 1; i < kWidth; ++i) {
            total += vector[i];
        }
        return total;
    }
    static void store_clipped(float* to, Vector vector) {
        for (std::size_t i = 0; i < kWidth; ++i) {
            const auto value = static_cast<float>(vector[i]);
            const float below = value > 1.0F ? 1.0F : value; // both keep NaN
            to[i] = below < -1.0F ? -1.0F : below;
        }
    }
    static void transpose(const S* from, std::size_t from_stride, S* to, std::size_t to_stride) {
        transpose_4x4(from, from_stride, to, to_stride);
    }
};

using LanesF = PortableLanes<float, Floats>;
using LanesD = PortableLanes<double, Doubles>;

std::size_t find_above(const float* values, std::size_t begin, std::size_t end, float threshold) {
    constexpr std::size_t kGroup = 16;
    std::size_t i = begin;
    for (; i + kGroup <= end; i += kGroup) {
        unsigned above = 0;
        for (std::size_t j = 0; j < kGroup; ++j) {
            above += values[i + j] > threshold ? 1U : 0U;
        }
        if (above != 0) {
            break;
        }
    }
    while (i < end && !(values[i] > threshold)) {
        ++i;
    }
    return i;
}

} // namespace

const KernelTable& baseline_kernels() {
    static constexpr KernelTable kTable = {
        Isa::kBaseline,
        {{moments<LanesF, float>, moments<LanesF, Half>, moments<LanesF, Bfloat16>},
         {moments<LanesD, float>, moments<LanesD, Half>, moments<LanesD, Bfloat16>}},
        {make_gemm<LanesF, 4, 2>(), make_gemm<LanesD, 4, 2>()},
        find_above};
    return kTable;
}

} // namespace framejudge
