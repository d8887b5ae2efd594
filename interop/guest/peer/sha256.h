/* SHA-256 (FIPS 180-4) of one block of memory. */
#ifndef ROCEPEER_SHA256_H
#define ROCEPEER_SHA256_H
#include <stddef.h>
#include <stdint.h>

void sha256(const uint8_t *data, size_t len, uint8_t digest[32]);

#endif
