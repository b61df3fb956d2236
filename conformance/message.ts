// Parses one HTTP/1 message from text, simply and independently of the gateway's own code.

export interface Message {
  start: string
  fields: [name: string, value: string][]
  /** The bytes after the head, as sent. */
  body: string
  /** The decoded content; equal to `body` unless it is chunked. */
  content: string
  trailers: [name: string, value: string][]
  isComplete: boolean
  /** Characters of the whole message. */
  length: number
}

export interface Reading {
  role: 'request' | 'response'
  /** The method of the request that a response answers. */
  method?: string | undefined
  /** Whether the connection has ended. */
  hasEnded: boolean
}

/** Returns null while the head is incomplete. */
export function readMessage(text: string, reading: Reading): Message | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [start = '', ...lines] = text.substring(0, end).split('\r\n')
  const fields = lines.map(parseField)
  const rest = text.substring(end + 4)
  const framed = frame(start, fields, rest, reading)
  return { start, fields, ...framed, length: end + 4 + framed.body.length }
}

type Framed = Pick<Message, 'body' | 'content' | 'trailers' | 'isComplete'>

function frame(start: string, fields: Message['fields'], rest: string, reading: Reading): Framed {
  const plain = (length: number): Framed => {
    const body = rest.substring(0, length)
    return { body, content: body, trailers: [], isComplete: body.length === length }
  }
  const isResponse = reading.role === 'response'
  if (isResponse && (/^\S+ (1\d\d|204|304)/.test(start) || reading.method === 'HEAD'))
    return plain(0)
  const valueOf = (name: string): string | undefined => fields.find(([key]) => key === name)?.[1]
  if (/chunked$/i.test(valueOf('transfer-encoding') ?? '')) return unchunk(rest)
  const length = valueOf('content-length')
  if (length !== undefined) return plain(Number(length))
  if (!isResponse) return plain(0)
  return { body: rest, content: rest, trailers: [], isComplete: reading.hasEnded }
}

/** Decodes chunks as far as the text is complete. */
export function unchunk(text: string): Framed {
  let at = 0
  let content = ''
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return { body: text, content, trailers: [], isComplete: false }
    const size = parseInt(text.substring(at, lineEnd), 16)
    at = lineEnd + 2
    if (size === 0) break
    content += text.substring(at, at + size)
    at += size + 2
    if (!(at <= text.length)) return { body: text, content, trailers: [], isComplete: false }
  }
  const trailers: Message['trailers'] = []
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return { body: text, content, trailers, isComplete: false }
    const line = text.substring(at, lineEnd)
    at = lineEnd + 2
    if (line === '') return { body: text.substring(0, at), content, trailers, isComplete: true }
    trailers.push(parseField(line))
  }
}

function parseField(line: string): [string, string] {
  const colon = line.indexOf(':')
  if (colon < 0) return [line.toLowerCase(), '']
  return [line.substring(0, colon).toLowerCase(), line.substring(colon + 1).trim()]
}
