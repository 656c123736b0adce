// Any bytes as PNG: as they are, and with the CRC of every chunk put right, since what a mutation
// breaks would end there.
#include "image/png_chunks.hpp"
#include "image_target.hpp"

#include <vector>

namespace framejudge::fuzz {
namespace {

std::vector<std::uint8_t> with_right_crcs(ByteView bytes) {
    std::vector<std::uint8_t> file(bytes.data, bytes.data + bytes.size);
    PngChunks chunks(bytes);
    PngChunk chunk;
    while (chunks.next(chunk)) {
        if (!chunk.is_cut) {
            const std::uint32_t crc = chunk.computed_crc();
            std::uint8_t* const stored = file.data() + chunk.offset + 8 + chunk.data.size;
            for (unsigned i = 0; i < 4; ++i) {
                stored[i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i));
            }
        }
    }
    return file;
}

} // namespace
} // namespace framejudge::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace framejudge;
    fuzz::decode_all({data, size}, ImageFormat::kPng);
    if (has_png_signature({data, size})) {
        const std::vector<std::uint8_t> file = fuzz::with_right_crcs({data, size});
        fuzz::decode_all({file.data(), file.size()}, ImageFormat::kPng);
    }
    return 0;
}
