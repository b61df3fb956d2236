// Unpacks a body with what the browser has for it.

export type Unpacked =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly isCut: boolean }
  /** It stays as it is, and why. */
  | { readonly kind: 'packed'; readonly reason: string }

const MAX_UNPACKED = 16 * 1024 * 1024

type Format = ConstructorParameters<typeof DecompressionStream>[0]

/** What HTTP calls them, and what browsers do; some servers send `deflate` without its frame. */
const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ['gzip', ['gzip']],
  ['x-gzip', ['gzip']],
  ['deflate', ['deflate', 'deflate-raw']],
  ['br', ['brotli']],
  ['zstd', ['zstd']],
])

export function isPacked(encoding: string): boolean {
  return !['', 'identity'].includes(encoding.trim().toLowerCase())
}

/** One that was cut gives what it has. */
export async function unpack(bytes: Uint8Array<ArrayBuffer>, encoding: string): Promise<Unpacked> {
  const name = encoding.trim().toLowerCase()
  const formats = FORMATS.get(name)
  if (formats === undefined) return { kind: 'packed', reason: `nobody here knows ${name}` }
  const streams = formats.flatMap(streamOf)
  if (streams.length === 0) return { kind: 'packed', reason: `this browser cannot unpack ${name}` }
  for (const stream of streams) {
    const found = await through(bytes, stream)
    if (found.bytes.length > 0 || bytes.length === 0) return { kind: 'bytes', ...found }
  }
  return { kind: 'packed', reason: `it is not ${name}, whatever its head says` }
}

/** None where the browser does not know it. */
function streamOf(format: string): DecompressionStream[] {
  try {
    return [new DecompressionStream(format as Format)]
  } catch {
    return []
  }
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: DecompressionStream,
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  let isCut = false
  const writer = stream.writable.getWriter()
  // Whatever is wrong with it, the reader is told as well.
  writer.write(bytes).catch(() => {})
  writer.close().catch(() => {})
  const reader = (stream.readable as ReadableStream<Uint8Array>).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      parts.push(value)
      length += value.length
      if (length < MAX_UNPACKED) continue
      isCut = true
      await reader.cancel()
      break
    }
  } catch {
    isCut = true
  }
  return { bytes: joined(parts, length), isCut }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
