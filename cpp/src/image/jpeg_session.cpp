// libjpeg's callbacks.
#include "jpeg_session.hpp"

#include "jpeg_scan.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <jerror.h>

namespace framejudge {
namespace {

// Cameras write a few bytes too many before a marker; an entropy decoder that lost its way leaves
// more.
constexpr int kMostStrayBytes = 16;

bool is_loss(const jpeg_error_mgr& error) {
    switch (error.msg_code) {
    case JWRN_EXTRANEOUS_DATA:
        return error.msg_parm.i[0] > kMostStrayBytes;
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
        return true;
    default:
        return false;
    }
}

JpegFailure failure_of(int code) {
    switch (code) {
    case JERR_OUT_OF_MEMORY:
        return JpegFailure::kMemory;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
        return JpegFailure::kUnsupported;
    default:
        return JpegFailure::kDamaged;
    }
}

} // namespace

JpegSession::JpegSession(ByteView bytes, const DecodeLimits& limits, bool stop_at_loss)
    : bytes_(bytes), deadline_(limits.time_budget_s), max_scans_(limits.max_scans),
      stop_at_loss_(stop_at_loss) {
    std::memset(&cinfo, 0, sizeof cinfo);
    cinfo.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    errors_.output_message = on_output;
    cinfo.client_data = this;
    progress_ = {};
    progress_.progress_monitor = on_progress;
    source_ = {};
    source_.next_input_byte = bytes.data;
    source_.bytes_in_buffer = bytes.size;
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = on_empty;
    source_.skip_input_data = on_skip;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    const bool created = run([](JpegSession& session) {
        jpeg_create_decompress(&session.cinfo); // clears all but err and client_data
        session.cinfo.src = &session.source_;
        session.cinfo.progress = &session.progress_;
    });
    if (!created) {
        jpeg_destroy_decompress(&cinfo);
        throw_failure();
    }
}

JpegSession::~JpegSession() { jpeg_destroy_decompress(&cinfo); }

bool JpegSession::run(Step step) {
    if (setjmp(jump_) != 0) { // NOLINT(modernize-avoid-setjmp-longjmp): see NOTE [libjpeg]
        return false;
    }
    step(*this);
    return true;
}

void JpegSession::give_up(JpegFailure why) {
    failure = why;
    std::longjmp(jump_, 1); // NOLINT(modernize-avoid-setjmp-longjmp): see NOTE [libjpeg]
}

void JpegSession::on_error(j_common_ptr cinfo) {
    JpegSession& session = of(cinfo);
    char text[JMSG_LENGTH_MAX];
    session.errors_.format_message(cinfo, text);
    char where[80];
    session.say_where(where, sizeof where);
    std::snprintf(session.failure_text_, sizeof session.failure_text_, "%s%s", text, where);
    session.note_lost_row();
    session.give_up(failure_of(session.errors_.msg_code));
}

void JpegSession::on_message(j_common_ptr cinfo, int level) {
    if (level >= 0) {
        return; // a trace
    }
    JpegSession& session = of(cinfo);
    ++session.errors_.num_warnings;
    const bool loss = is_loss(session.errors_);
    session.note(loss);
    if (!loss) {
        return;
    }
    session.damaged = true;
    // A Huffman decoder reads ahead: it says so when it misses bits. An arithmetic one never does.
    const int code = session.errors_.msg_code;
    if (code == JWRN_HIT_MARKER || (code == JWRN_JPEG_EOF && session.cinfo.arith_code != FALSE)) {
        session.note_lost_row();
    }
    if (session.stop_at_loss_) {
        std::memcpy(session.failure_text_, session.notes_[session.note_count_ - 1].text,
                    sizeof session.failure_text_);
        session.give_up(JpegFailure::kDamaged);
    }
}

void JpegSession::on_output(j_common_ptr /*cinfo*/) {}

void JpegSession::on_progress(j_common_ptr common) {
    JpegSession& session = of(common);
    const jpeg_decompress_struct& cinfo = session.cinfo;
    for (int i = 0; i < cinfo.comps_in_scan; ++i) {
        session.components_seen_ |=
            1U << static_cast<unsigned>(cinfo.cur_comp_info[i]->component_index);
    }
    if (cinfo.input_scan_number > session.max_scans_) {
        std::snprintf(session.failure_text_, sizeof session.failure_text_,
                      "more scans than the limit of %d", session.max_scans_);
        session.give_up(JpegFailure::kLimit);
    }
    // Each call is a row of blocks or less; asking the clock would cost as much as a small one.
    constexpr unsigned kCallsPerLook = 16;
    if (++session.progress_calls_ % kCallsPerLook == 0 && session.deadline_.passed()) {
        char where[80];
        session.say_where(where, sizeof where);
        std::snprintf(session.failure_text_, sizeof session.failure_text_,
                      "the time budget is used up%s", where);
        session.give_up(JpegFailure::kLimit);
    }
}

// At the end of the bytes libjpeg gets end markers until it is content, as its own source does.
boolean JpegSession::on_empty(j_decompress_ptr cinfo) {
    static constexpr JOCTET kEnd[2] = {0xFF, kEoi};
    JpegSession& session = of(reinterpret_cast<j_common_ptr>(cinfo));
    if (!session.at_end_) {
        session.at_end_ = true;
        WARNMS(cinfo, JWRN_JPEG_EOF);
    }
    cinfo->src->next_input_byte = kEnd;
    cinfo->src->bytes_in_buffer = sizeof kEnd;
    return TRUE;
}

void JpegSession::on_skip(j_decompress_ptr cinfo, long count) {
    if (count <= 0) {
        return;
    }
    jpeg_source_mgr& source = *cinfo->src;
    if (static_cast<std::size_t>(count) > source.bytes_in_buffer) {
        on_empty(cinfo);
        return;
    }
    source.next_input_byte += count;
    source.bytes_in_buffer -= static_cast<std::size_t>(count);
}

std::size_t JpegSession::offset() const {
    return at_end_ ? bytes_.size : bytes_.size - source_.bytes_in_buffer;
}

bool JpegSession::all_components_seen() const {
    return components_seen_ == (1U << static_cast<unsigned>(cinfo.num_components)) - 1U;
}

void JpegSession::say_where(char* text, std::size_t size) const {
    if (cinfo.input_scan_number == 0) {
        std::snprintf(text, size, " (in the header, near byte %zu of %zu)", offset(), bytes_.size);
        return;
    }
    const JDIMENSION mcu_rows = static_cast<JDIMENSION>(cinfo.max_v_samp_factor) * DCTSIZE;
    const JDIMENSION row = std::min(cinfo.input_iMCU_row * mcu_rows, cinfo.image_height);
    std::snprintf(text, size, " (scan %d, row %u of %u, near byte %zu of %zu)",
                  cinfo.input_scan_number, row, cinfo.image_height, offset(), bytes_.size);
}

void JpegSession::note(bool loss) {
    if (note_count_ == kMostNotes) {
        if (!loss || (stop_at_loss_ ? false : notes_[kMostNotes - 1].loss)) {
            return;
        }
        --note_count_; // a loss matters more than the last warning
    }
    Note& note = notes_[note_count_++];
    note.loss = loss;
    char text[JMSG_LENGTH_MAX];
    errors_.format_message(reinterpret_cast<j_common_ptr>(&cinfo), text);
    char where[80];
    say_where(where, sizeof where);
    std::snprintf(note.text, sizeof note.text, "%s%s", text, where);
}

// The data of the running scan end here. That loses rows only if it is the scan that brings the
// first data of the luma (or only) component; later scans refine. At a restart marker the next
// interval goes on.
void JpegSession::note_lost_row() {
    const bool at_restart =
        cinfo.unread_marker >= JPEG_RST0 && cinfo.unread_marker <= JPEG_RST0 + 7;
    if (cinfo.input_scan_number == 0 || at_restart || lost_row != kNoLoss ||
        cinfo.input_iMCU_row >= cinfo.total_iMCU_rows) {
        return;
    }
    bool has_first = false;
    for (int i = 0; i < cinfo.comps_in_scan; ++i) {
        has_first = has_first || cinfo.cur_comp_info[i]->component_index == 0;
    }
    if (has_first && cinfo.Ss == 0 && cinfo.Ah == 0) {
        const std::size_t row = std::size_t{cinfo.input_iMCU_row} *
                                static_cast<std::size_t>(cinfo.max_v_samp_factor) * DCTSIZE;
        // Chroma of fewer rows is interpolated: the row before the gap already sees it.
        lost_row = row - (row > 0 && cinfo.max_v_samp_factor > 1 ? 1 : 0);
    }
}

void JpegSession::throw_failure() const {
    const std::string text = std::string("JPEG: ") + failure_text_;
    switch (failure) {
    case JpegFailure::kMemory:
        throw std::bad_alloc();
    case JpegFailure::kLimit:
        throw ImageLimitError(text);
    case JpegFailure::kUnsupported:
        throw ImageUnsupportedError(text);
    case JpegFailure::kNone:
    case JpegFailure::kDamaged:
        break;
    }
    throw ImageDamagedError(text);
}

void JpegSession::report(std::vector<std::string>& damage,
                         std::vector<std::string>& warnings) const {
    for (std::size_t i = 0; i < note_count_; ++i) {
        (notes_[i].loss ? damage : warnings).emplace_back(notes_[i].text);
    }
    if (failure == JpegFailure::kDamaged) {
        damage.emplace_back(failure_text_);
    }
}

} // namespace framejudge
