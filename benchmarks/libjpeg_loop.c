/* Decodes one JPEG again and again by libjpeg alone, as the floor that a call from Python is held
   against. Built as a shared library by frames_decode.py. */
#include <stdio.h>

#include <jpeglib.h>

enum { MAX_ROWS = 4096 };

void libjpeg_loop(const unsigned char *data, unsigned long size, unsigned char *pixels, long count) {
    for (long i = 0; i < count; ++i) {
        struct jpeg_decompress_struct cinfo;
        struct jpeg_error_mgr errors;
        JSAMPROW rows[MAX_ROWS];
        cinfo.err = jpeg_std_error(&errors);
        jpeg_create_decompress(&cinfo);
        jpeg_mem_src(&cinfo, (unsigned char *)data, size);
        jpeg_read_header(&cinfo, TRUE);
        jpeg_start_decompress(&cinfo);
        for (JDIMENSION y = 0; y < cinfo.output_height && y < MAX_ROWS; ++y) {
            rows[y] = pixels + (size_t)y * cinfo.output_width * 3;
        }
        /* All rows that are left in each call: one row a call is a quarter slower. */
        while (cinfo.output_scanline < cinfo.output_height) {
            jpeg_read_scanlines(&cinfo, rows + cinfo.output_scanline,
                                cinfo.output_height - cinfo.output_scanline);
        }
        jpeg_finish_decompress(&cinfo);
        jpeg_destroy_decompress(&cinfo);
    }
}
