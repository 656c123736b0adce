/* Decodes one JPEG again and again by libjpeg alone, as the floor that a call from Python is held
   against. Built as a shared library by frames_decode.py. */
#include <stdio.h>

#include <jpeglib.h>

void libjpeg_loop(const unsigned char *data, unsigned long size, unsigned char *pixels, long count) {
    for (long i = 0; i < count; ++i) {
        struct jpeg_decompress_struct cinfo;
        struct jpeg_error_mgr errors;
        cinfo.err = jpeg_std_error(&errors);
        jpeg_create_decompress(&cinfo);
        jpeg_mem_src(&cinfo, (unsigned char *)data, size);
        jpeg_read_header(&cinfo, TRUE);
        jpeg_start_decompress(&cinfo);
        while (cinfo.output_scanline < cinfo.output_height) {
            JSAMPROW row = pixels + (size_t)cinfo.output_scanline * cinfo.output_width * 3;
            jpeg_read_scanlines(&cinfo, &row, 1);
        }
        jpeg_finish_decompress(&cinfo);
        jpeg_destroy_decompress(&cinfo);
    }
}
