// Payloads in Amazon's event stream framing, as Bedrock sends them. Checksums are zero.

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** The type of a header with a text value. */
const TEXT = 7

/** `type` is the `:event-type` header. */
export function frameOf(type: string, payload: string): Buffer {
  const headers = Buffer.concat([
    headerOf(':event-type', type),
    headerOf(':content-type', 'application/json'),
    headerOf(':message-type', 'event'),
  ])
  const prelude = Buffer.alloc(PRELUDE_BYTES)
  const body = Buffer.from(payload)
  prelude.writeUInt32BE(PRELUDE_BYTES + headers.length + body.length + CHECKSUM_BYTES, 0)
  prelude.writeUInt32BE(headers.length, 4)
  return Buffer.concat([prelude, headers, body, Buffer.alloc(CHECKSUM_BYTES)])
}

/** A chunk of a model in its own dialect. */
export function wrappedFrameOf(event: string): Buffer {
  const bytes = Buffer.from(event).toString('base64')
  return frameOf('chunk', JSON.stringify({ bytes, p: 'abcdef' }))
}

function headerOf(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(value.length)
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([TEXT]),
    length,
    Buffer.from(value),
  ])
}
