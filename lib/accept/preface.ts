// Tells an HTTP/2 client with prior knowledge from an HTTP/1 one by its first bytes.

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
/** As much as no HTTP/1 request can start with. */
const TELLING = 16

export function tellsHttp2(bytes: Buffer, from: number, to: number): boolean {
  if (bytes[from] !== 80 || bytes[from + 1] !== 82) return false
  const length = Math.min(to - from, TELLING)
  return length > 2 && bytes.compare(PREFACE, 0, length, from, from + length) === 0
}
