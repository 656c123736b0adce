// One run of libjpeg over one picture: its errors, its source and its limits.
#pragma once

#include "codecs.hpp"

#include <csetjmp>
#include <cstddef>
#include <cstdio> // before jpeglib.h, which needs it

#include <jpeglib.h>

namespace framejudge {

enum class JpegFailure : std::uint8_t { kNone, kDamaged, kUnsupported, kLimit, kMemory };

// NOTE [libjpeg]
// libjpeg leaves by longjmp(). The setjmp() is in JpegSession::run alone, whose frame holds nothing
// that needs a destructor, and so do the steps it calls. What a step changes lives here, so it is
// well defined after the jump. Nothing is ever printed.
//
// A warning of libjpeg either lost data or it did not; see is_loss(). Losing data ends a strict
// run at once.
class JpegSession {
public:
    JpegSession(ByteView bytes, const DecodeLimits& limits, bool stop_at_loss);
    ~JpegSession();
    JpegSession(const JpegSession&) = delete;
    JpegSession& operator=(const JpegSession&) = delete;
    JpegSession(JpegSession&&) = delete;
    JpegSession& operator=(JpegSession&&) = delete;

    // Runs a step; false if libjpeg gave up in it, and then no other step may follow.
    using Step = void (*)(JpegSession& session);
    bool run(Step step);

    // Throws what `failure` stands for.
    [[noreturn]] void throw_failure() const;
    void report(std::vector<std::string>& damage, std::vector<std::string>& warnings) const;
    [[nodiscard]] std::size_t offset() const;
    // Whether every component had data.
    [[nodiscard]] bool all_components_seen() const;

    static constexpr std::size_t kNoLoss = static_cast<std::size_t>(-1);

    jpeg_decompress_struct cinfo;
    JpegFailure failure = JpegFailure::kNone;
    bool damaged = false;
    std::size_t lost_row = kNoLoss; // the first row of pixels whose data are missing
    // Where the rows of the picture go.
    std::uint8_t* target = nullptr;
    std::uint8_t* scratch = nullptr; // one row of CMYK, if that must be converted
    RowResizer* resizer = nullptr;   // takes the rows instead, if they are resized on the way
    bool stop_at_lost_row = false;

private:
    struct Note {
        bool loss;
        char text[JMSG_LENGTH_MAX + 80];
    };
    static constexpr std::size_t kMostNotes = 8;

    static JpegSession& of(j_common_ptr cinfo) {
        return *static_cast<JpegSession*>(cinfo->client_data);
    }
    static void on_error(j_common_ptr cinfo);
    static void on_message(j_common_ptr cinfo, int level);
    static void on_output(j_common_ptr cinfo);
    static void on_progress(j_common_ptr cinfo);
    static boolean on_empty(j_decompress_ptr cinfo);
    static void on_skip(j_decompress_ptr cinfo, long count);

    [[noreturn]] void give_up(JpegFailure why);
    void note(bool loss);
    void note_lost_row();
    void say_where(char* text, std::size_t size) const;

    jpeg_error_mgr errors_;
    jpeg_source_mgr source_;
    jpeg_progress_mgr progress_;
    std::jmp_buf jump_;
    ByteView bytes_;
    Deadline deadline_;
    int max_scans_;
    bool stop_at_loss_;
    bool at_end_ = false;
    unsigned components_seen_ = 0;
    unsigned progress_calls_ = 0;
    std::size_t note_count_ = 0;
    Note notes_[kMostNotes];
    char failure_text_[JMSG_LENGTH_MAX + 80];
};

} // namespace framejudge
