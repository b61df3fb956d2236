// Reads responses of a Streamable HTTP server: HTTP/1.1 framing, then JSON or an event stream.

export type Answer = { status: number; head: string; body: string }

/** The response in what was read so far, one byte per character, or null while it is not complete. */
export function answerIn(text: string): Answer | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const head = text.slice(0, end + 2)
  const body = bodyIn(text, head, end + 4)
  if (body === null) return null
  return { status: Number(text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)), head, body }
}

function bodyIn(text: string, head: string, from: number): string | null {
  if (/\r\ntransfer-encoding: *chunked\r/i.test(head)) return chunksIn(text, from)
  const length = Number(/\r\ncontent-length: *(\d+)\r/i.exec(head)?.[1] ?? 0)
  return text.length < from + length ? null : text.slice(from, from + length)
}

function chunksIn(text: string, from: number): string | null {
  let body = ''
  for (let at = from; ;) {
    const end = text.indexOf('\r\n', at)
    if (end < 0) return null
    const size = Number.parseInt(text.slice(at, end), 16)
    if (Number.isNaN(size)) throw new Error('the chunks of the answer are broken')
    const next = end + 2 + size + 2
    if (text.length < next) return null
    if (size === 0) return body
    body += text.slice(end + 2, end + 2 + size)
    at = next
  }
}

/** The message of a response: its body, or the data of the last event that has any. */
export function messageIn({ head, body }: Answer): string {
  if (!/\r\ncontent-type: *text\/event-stream/i.test(head)) return body
  let message = ''
  for (const line of body.split(/\r?\n/)) {
    const data = /^data: ?(.+)$/.exec(line)?.[1]
    if (data !== undefined) message = data
  }
  return message
}

export function fieldIn({ head }: Answer, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: *([^\\r]+)`, 'i').exec(head)?.[1]
}
