// zlib streams by libdeflate, else by zlib; a damaged one is read again by our own decoder.
#include "inflate.hpp"

#include "framejudge/errors.hpp"

#ifdef FRAMEJUDGE_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>

namespace framejudge {

#ifdef FRAMEJUDGE_HAVE_LIBDEFLATE

namespace {

struct FreeDecompressor {
    void operator()(libdeflate_decompressor* it) const { libdeflate_free_decompressor(it); }
};

struct FreeCompressor {
    void operator()(libdeflate_compressor* it) const { libdeflate_free_compressor(it); }
};

} // namespace

Inflated inflate_zlib(ByteView stream, std::uint8_t* out, std::size_t size) {
    const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
        libdeflate_alloc_decompressor());
    if (!decompressor) {
        throw std::bad_alloc();
    }
    std::size_t consumed = 0;
    std::size_t written = 0;
    const libdeflate_result result = libdeflate_zlib_decompress_ex(
        decompressor.get(), stream.data, stream.size, out, size, &consumed, &written);
    if (result == LIBDEFLATE_SUCCESS) {
        return {InflateEnd::kComplete, written, consumed};
    }
    // It neither says how far it came nor fills the memory before it gives up.
    return inflate_damaged_zlib(stream, out, size);
}

void deflate_zlib(ByteView bytes, int level, std::vector<std::uint8_t>& to) {
    const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
        libdeflate_alloc_compressor(level));
    if (!compressor) {
        throw std::bad_alloc();
    }
    const std::size_t bound = libdeflate_zlib_compress_bound(compressor.get(), bytes.size);
    const std::size_t start = to.size();
    to.resize(start + bound);
    const std::size_t size = libdeflate_zlib_compress(compressor.get(), bytes.data, bytes.size,
                                                      to.data() + start, bound);
    if (size == 0) {
        throw std::logic_error("libdeflate: " + std::to_string(bytes.size) +
                               " bytes did not fit into the bound it gave");
    }
    to.resize(start + size);
}

std::uint32_t crc32(std::uint32_t crc, ByteView bytes) {
    return libdeflate_crc32(crc, bytes.data, bytes.size);
}

std::uint32_t adler32(std::uint32_t adler, ByteView bytes) {
    return libdeflate_adler32(adler, bytes.data, bytes.size);
}

#else

namespace {

// zlib counts in 32 bits.
uInt next_part(std::size_t left) {
    return static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max() / 2));
}

struct InflateStream {
    InflateStream() {
        if (::inflateInit(&state) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    ~InflateStream() { ::inflateEnd(&state); }
    InflateStream(const InflateStream&) = delete;
    InflateStream& operator=(const InflateStream&) = delete;

    z_stream state{};
};

struct DeflateStream {
    explicit DeflateStream(int level) {
        if (::deflateInit(&state, level) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    ~DeflateStream() { ::deflateEnd(&state); }
    DeflateStream(const DeflateStream&) = delete;
    DeflateStream& operator=(const DeflateStream&) = delete;

    z_stream state{};
};

} // namespace

Inflated inflate_zlib(ByteView stream, std::uint8_t* out, std::size_t size) {
    InflateStream inflater;
    std::size_t consumed = 0;
    std::size_t written = 0;
    int status = Z_OK;
    while (status == Z_OK && consumed < stream.size && written < size) {
        const uInt in_part = next_part(stream.size - consumed);
        const uInt out_part = next_part(size - written);
        inflater.state.next_in = const_cast<Bytef*>(stream.data + consumed);
        inflater.state.avail_in = in_part;
        inflater.state.next_out = out + written;
        inflater.state.avail_out = out_part;
        status = ::inflate(&inflater.state, Z_NO_FLUSH);
        consumed += in_part - inflater.state.avail_in;
        written += out_part - inflater.state.avail_out;
    }
    if (status == Z_STREAM_END) {
        return {InflateEnd::kComplete, written, consumed};
    }
    return inflate_damaged_zlib(stream, out, size); // it tells one damage from another
}

void deflate_zlib(ByteView bytes, int level, std::vector<std::uint8_t>& to) {
    DeflateStream deflater(level);
    const std::size_t start = to.size();
    to.resize(start + ::deflateBound(&deflater.state, static_cast<uLong>(bytes.size)));
    std::size_t consumed = 0;
    std::size_t written = start;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        const uInt in_part = next_part(bytes.size - consumed);
        const uInt out_part = next_part(to.size() - written);
        deflater.state.next_in = const_cast<Bytef*>(bytes.data + consumed);
        deflater.state.avail_in = in_part;
        deflater.state.next_out = to.data() + written;
        deflater.state.avail_out = out_part;
        const bool is_last = consumed + in_part == bytes.size;
        status = ::deflate(&deflater.state, is_last ? Z_FINISH : Z_NO_FLUSH);
        consumed += in_part - deflater.state.avail_in;
        written += out_part - deflater.state.avail_out;
        if (status != Z_OK && status != Z_STREAM_END) {
            throw std::logic_error("zlib: " + std::to_string(bytes.size) +
                                   " bytes did not fit into the bound it gave");
        }
    }
    to.resize(written);
}

std::uint32_t crc32(std::uint32_t crc, ByteView bytes) {
    return static_cast<std::uint32_t>(::crc32_z(crc, bytes.data, bytes.size));
}

std::uint32_t adler32(std::uint32_t adler, ByteView bytes) {
    return static_cast<std::uint32_t>(::adler32_z(adler, bytes.data, bytes.size));
}

#endif

} // namespace framejudge
