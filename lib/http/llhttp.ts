// The llhttp parser that undici ships, and the one read buffer of the process. The buffer is in llhttp's memory, so the
// kernel reads a head to where the parser finds it, without a copy.
// undici does not document this file, hence the exact pin and spec/http/llhttp.spec.ts.

import { createRequire } from 'node:module'
import { READ_BUFFER_BYTES } from '../core/bounds.ts'

// Reusable buffers for bytes that must outlive the shared read buffer until their write is done: a new buffer for every
// 64 KiB of a large body would grow the process by tens of megabytes before a collection.

/** Buffers kept for the next write; more exist only while more writes are in progress. */
const MAX_SPARE = 64

class SpareBuffers {
  readonly #spare: Buffer[] = []

  /** A copy of `bytes`, at most one read, and a function to call when it is no longer needed. */
  lendCopy(bytes: Buffer): { copy: Buffer; done: () => void } {
    const whole = this.#spare.pop() ?? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
    bytes.copy(whole)
    return {
      copy: whole.subarray(0, bytes.length),
      done: () => {
        if (this.#spare.length < MAX_SPARE) this.#spare.push(whole)
      },
    }
  }
}

interface Llhttp {
  memory: WebAssembly.Memory
  malloc(bytes: number): number
  llhttp_alloc(type: number): number
  llhttp_execute(parser: number, at: number, length: number): number
  llhttp_reset(parser: number): void
  llhttp_get_error_pos(parser: number): number
  llhttp_get_error_reason(parser: number): number
}

interface Recorder {
  spans: WebAssembly.Memory
  readonly reset: () => void
  span: unknown
  head: unknown
  skip1: unknown
  stop1: unknown
  skip3: unknown
}

// Calls from WASM to JavaScript cost more than parsing, so llhttp's callbacks are functions of this small module,
// which stores (address, length) pairs in its own memory. Its source, in WAT:
//   (memory (export "spans") 1 1)  (global $at (mut i32) (i32.const 16))
//   reset: $at = 16
//   span(p, from, length): if $at >= 65528 return 24 (HPE_USER); store from, length at $at; $at += 8; return 0
//   head(p, status, upgrade, keepAlive): store the three and $at at 0, 4, 8, 12; $at = 16; return 21 (HPE_PAUSED)
//   skip1(p), skip3(p, a, b): return 0      stop1(p): return 21
const RECORDER =
  'AGFzbQEAAAABGARgAABgA39/fwF/YAR/f39/AX9gAX8BfwMHBgABAgMDAQUEAQEBAQYGAX8BQRALBzcHBXNwYW5zAgAFcmVzZXQA' +
  'AARzcGFuAAEEaGVhZAACBXNraXAxAAMFc3RvcDEABAVza2lwMwAFCmMGBgBBECQACyYAIwBB+P8DTwRAQRgPCyMAIAE2AgAjACAC' +
  'NgIEIwBBCGokAEEACyQAQQAgATYCAEEEIAI2AgBBCCADNgIAQQwjADYCAEEQJABBFQsEAEEACwQAQRULBABBAAs='

export const LLHTTP_PAUSED = 21
export const RECORDER_FULL = 24
export const LLHTTP_INVALID_METHOD = 6
export const LLHTTP_INVALID_VERSION = 9
/** HPE_UNEXPECTED_CONTENT_LENGTH, HPE_INVALID_CONTENT_LENGTH, HPE_INVALID_TRANSFER_ENCODING. */
export const LLHTTP_INVALID_FRAMING: ReadonlySet<number> = new Set([4, 11, 15])

function instantiate<T>(bytes: Uint8Array, imports?: Record<string, Record<string, unknown>>): T {
  // The exports depend on the bytes; the spec checks them against these interfaces.
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports as T
}

const recorder = instantiate<Recorder>(Buffer.from(RECORDER, 'base64'))
const binary = createRequire(import.meta.url)('undici/lib/llhttp/llhttp_simd-wasm.js') as Buffer

export const llhttp = instantiate<Llhttp>(binary, {
  env: {
    wasm_on_message_begin: recorder.skip1,
    wasm_on_url: recorder.span,
    wasm_on_status: recorder.skip3,
    wasm_on_header_field: recorder.span,
    wasm_on_header_value: recorder.span,
    wasm_on_headers_complete: recorder.head,
    wasm_on_body: recorder.skip3,
    wasm_on_message_complete: recorder.stop1,
  },
})

// All allocations happen here: growing the memory would detach the buffers.
const readAddress = llhttp.malloc(READ_BUFFER_BYTES)
const scratchAddress = llhttp.malloc(READ_BUFFER_BYTES)
export const requestParser = llhttp.llhttp_alloc(1)
export const responseParser = llhttp.llhttp_alloc(2)

/** Every plain socket is read into this; its bytes are valid only during the callback. */
export const readBuffer = Buffer.from(llhttp.memory.buffer, readAddress, READ_BUFFER_BYTES)
/** Heads that arrived in parts or over TLS are parsed here. */
export const scratchBuffer = Buffer.from(llhttp.memory.buffer, scratchAddress, READ_BUFFER_BYTES)

/** For bytes that must outlive the next read. */
export const spareBuffers = new SpareBuffers()

/** Status, upgrade flag, keep-alive flag, end of the spans; then address and length per span. */
export const recordedSpans = new Int32Array(recorder.spans.buffer)
export const resetRecordedSpans = recorder.reset

const shared = llhttp.memory.buffer

/** True for bytes that the next read will overwrite. */
export function isSharedBuffer(bytes: Buffer): boolean {
  return bytes.buffer === shared
}

/** llhttp's description of what was wrong with the bytes. */
export function llhttpErrorOf(parser: number): string {
  const memory = Buffer.from(llhttp.memory.buffer)
  const from = llhttp.llhttp_get_error_reason(parser)
  return memory.latin1Slice(from, memory.indexOf(0, from))
}
