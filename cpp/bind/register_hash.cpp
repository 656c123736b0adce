// Hashes of pictures and of bytes.
#include "pybind.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/hash.hpp"
#include "pixel_arrays.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace framejudge::bind {
namespace {

HashAlgorithm algorithm_named(std::string_view name) {
    return name == "dhash"   ? HashAlgorithm::kDhash
           : name == "phash" ? HashAlgorithm::kPhash
                             : HashAlgorithm::kPdq;
}

template <typename Array> py::bytes text_of(const Array& bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes.data()), size};
}

py::tuple picture_hash(py::handle picture, std::string_view name, const DecodeLimits& limits) {
    const HashAlgorithm algorithm = algorithm_named(name);
    PictureHash hash;
    if (py::isinstance<py::array>(picture) &&
        py::reinterpret_borrow<py::array>(picture).ndim() != 1) {
        const OwnedPixels pixels = pixels_of(picture, "picture");
        const py::gil_scoped_release unlocked; // only views are touched in here
        hash = hash_picture(pixels.view, algorithm);
    } else {
        const OwnedBytes bytes = bytes_of(picture, "picture");
        const py::gil_scoped_release unlocked; // only views are touched in here
        hash = hash_picture(bytes.view, algorithm, limits);
    }
    return py::make_tuple(text_of(hash.bytes, hash.size), hash.quality);
}

// Rows of bytes as rows of whole words, zeros behind each.
struct OwnedHashes {
    std::vector<std::uint64_t> words;
    HashRows rows;
};

OwnedHashes hashes_of(const py::array_t<std::uint8_t, py::array::c_style>& array) {
    if (array.ndim() != 2 || array.shape(1) == 0) {
        throw InvalidInput("hashes must be of shape (n, bytes), got " +
                           py::str(array.attr("shape")).cast<std::string>());
    }
    const auto count = static_cast<std::size_t>(array.shape(0));
    const auto size = static_cast<std::size_t>(array.shape(1));
    const std::size_t width = (size + 7) / 8;
    OwnedHashes hashes;
    hashes.words.resize(count * width);
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(hashes.words.data() + i * width, array.data() + i * size, size);
    }
    hashes.rows = {hashes.words.data(), count, width};
    return hashes;
}

using HashArray = py::array_t<std::uint8_t, py::array::c_style>;

py::array_t<std::uint32_t> distances(const HashArray& a, const HashArray& b) {
    const OwnedHashes x = hashes_of(a);
    const OwnedHashes y = hashes_of(b);
    py::array_t<std::uint32_t> out(static_cast<py::ssize_t>(y.rows.count));
    std::uint32_t* to = out.mutable_data();
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        hamming(x.rows, y.rows, to);
    }
    return out;
}

py::array_t<std::int64_t> duplicates(const HashArray& array, std::uint32_t max_distance) {
    const OwnedHashes hashes = hashes_of(array);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        pairs = find_duplicates(hashes.rows, max_distance);
    }
    py::array_t<std::int64_t> out({static_cast<py::ssize_t>(pairs.size()), py::ssize_t{2}});
    std::int64_t* to = out.mutable_data();
    for (const auto& [i, j] : pairs) {
        *to++ = static_cast<std::int64_t>(i);
        *to++ = static_cast<std::int64_t>(j);
    }
    return out;
}

// Below this size, letting go of the GIL costs more than it gives to others.
constexpr std::size_t kBytesWorthReleasing = 4096;

template <typename Hash> py::bytes hash_bytes(py::handle data, Hash hash) {
    const OwnedBytes bytes = bytes_of(data, "data");
    decltype(hash(bytes.view)) digest;
    if (bytes.view.size < kBytesWorthReleasing) {
        digest = hash(bytes.view);
    } else {
        const py::gil_scoped_release unlocked; // only views are touched in here
        digest = hash(bytes.view);
    }
    return text_of(digest, digest.size());
}

} // namespace

void register_hash(py::module_& module) {
    module.attr("hash_version") = kHashVersion;
    module.def("picture_hash", &picture_hash, py::arg("picture"), py::arg("algorithm"),
               py::arg("limits"));
    module.def("hamming", &distances, py::arg("a"), py::arg("b"));
    module.def("find_duplicates", &duplicates, py::arg("hashes"), py::arg("max_distance"));
    module.def("xxh3_128", [](py::handle data) { return hash_bytes(data, xxh3_128); });
    module.def("sha256", [](py::handle data) { return hash_bytes(data, sha256); });
}

} // namespace framejudge::bind
