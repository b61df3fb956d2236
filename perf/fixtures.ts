// The bytes the load generator and the backend exchange. spec/perf/fixtures.spec.ts checks them.

/** A small JSON request, about 200 bytes: a tool call as an MCP client sends it. */
export const REQUEST_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: {
    name: 'search_documents',
    arguments: { query: 'how does a proxy relay a streaming answer', limit: 10, offset: 0 },
    _meta: { progressToken: 'p-000000000007', trace: 'a1b2c3d4' },
  },
})

/** A small JSON answer, about 300 bytes. */
export const ANSWER_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 7,
  result: {
    content: [
      {
        type: 'text',
        text:
          'A proxy that relays a streaming answer passes each chunk on in the tick in which it came, ' +
          'holds nothing back, and stops reading when the reader on the other side stops.',
      },
    ],
    isError: false,
    _meta: { took: '00003ms', source: 'index-0' },
  },
})

export const MIB = 1024 * 1024

const STAMP_DIGITS = 16
const STAMP_MARK = '"t":"'
const EVENT_BEFORE = 'data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","t":"'
const EVENT_AFTER = '","choices":[{"index":0,"delta":{"content":" token"}}]}\n\n'
const EVENT_SIZE = EVENT_BEFORE.length + STAMP_DIGITS + EVENT_AFTER.length
const CHUNK_BEFORE = `${EVENT_SIZE.toString(16)}\r\n${EVENT_BEFORE}`
const CHUNK_AFTER = `${EVENT_AFTER}\r\n`

/** Microseconds of the system's monotonic clock: the same in every process of the machine. */
export function nowMicros(): number {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1e6 + nanos / 1e3
}

/** One HTTP chunk with one SSE event that contains the time it was sent. */
export function eventChunk(micros: number): string {
  return CHUNK_BEFORE + String(Math.floor(micros)).padStart(STAMP_DIGITS, '0') + CHUNK_AFTER
}

/** Calls back with every complete time stamp in a piece of an event stream. */
export function eachStamp(text: string, found: (micros: number) => void): void {
  for (let at = text.indexOf(STAMP_MARK); at >= 0; at = text.indexOf(STAMP_MARK, at)) {
    at += STAMP_MARK.length
    if (at + STAMP_DIGITS > text.length) return
    found(Number(text.substring(at, at + STAMP_DIGITS)))
  }
}
