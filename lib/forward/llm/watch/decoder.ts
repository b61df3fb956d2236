// Decoders for what an answer may be compressed with.

import zlib from 'node:zlib'
import type { Transform } from 'node:stream'

/** Made when the first bytes are there, for with `deflate` they decide. */
export type MakeDecoder = (first: Buffer) => Transform

// What is cut short is decoded as far as it goes, and everything that has come is handed on at once.
const DEFLATE = {
  flush: zlib.constants.Z_SYNC_FLUSH,
  finishFlush: zlib.constants.Z_SYNC_FLUSH,
}
const BROTLI = {
  flush: zlib.constants.BROTLI_OPERATION_FLUSH,
  finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
}

/** Low bits of a zlib header's first byte. Servers that leave the header out are as old as the coding. */
const ZLIB_METHOD = 8
const METHOD_BITS = 0x0f

// Node has it since 22.15; the types are of 20.
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }

const DECODERS: Readonly<Record<string, MakeDecoder>> = {
  gzip: () => zlib.createGunzip(DEFLATE),
  'x-gzip': () => zlib.createGunzip(DEFLATE),
  deflate: (first) =>
    (first[0]! & METHOD_BITS) === ZLIB_METHOD
      ? zlib.createInflate(DEFLATE)
      : zlib.createInflateRaw(DEFLATE),
  br: () => zlib.createBrotliDecompress(BROTLI),
  ...(createZstdDecompress === undefined ? {} : { zstd: () => createZstdDecompress() }),
}

/** null for a coding that is not known here. */
export function decoderFor(coding: string): MakeDecoder | null {
  return Object.hasOwn(DECODERS, coding) ? DECODERS[coding]! : null
}
