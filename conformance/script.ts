// The text of a block → bytes and directives. A line is a line of HTTP: CRLF is implied. Pure.

export type Part =
  | { bytes: string; directive?: undefined }
  | { directive: string; argument: string; bytes?: undefined }

const START_LINE = /^HTTP\/|HTTP\/[\d.]+$/

/** Lines that start with `> ` are directives; the lines between them are bytes, one part each. */
export function parseScript(text: string): Part[] {
  const parts: Part[] = []
  let lines: string[] = []
  const flush = (): void => {
    if (lines.length > 0) parts.push({ bytes: withLength(bytesOf(lines)) })
    lines = []
  }
  if (text === '') return parts
  for (const line of text.split('\n')) {
    if (!line.startsWith('> ')) {
      lines.push(line)
      continue
    }
    flush()
    const [directive = '', ...rest] = line.substring(2).trim().split(' ')
    parts.push({ directive, argument: rest.join(' ') })
  }
  flush()
  return parts
}

/**
 * Each line ends in CRLF, unless a `\` ends it. A head alone gets its empty line; the last line of anything
 * else (a body) gets no CRLF, unless it is empty.
 */
export function bytesOf(lines: string[]): string {
  let bytes = ''
  let isGlued = false
  for (const line of lines) {
    isGlued = /(?:^|[^\\])(?:\\\\)*\\$/.test(line)
    bytes += isGlued ? unescape(line.slice(0, -1)) : unescape(line) + '\r\n'
  }
  if (isGlued || lines.at(-1) === '') return bytes
  const isHead = START_LINE.test(lines[0] ?? '') && !lines.includes('')
  return isHead ? bytes + '\r\n' : bytes.slice(0, -2)
}

/** `{{length}}` in a head is that of what stands behind it. */
function withLength(bytes: string): string {
  const body = bytes.substring(bytes.indexOf('\r\n\r\n') + 4).replaceAll('<split>', '')
  return bytes.replace('{{length}}', String(body.length))
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' }

function unescape(line: string): string {
  return line.replace(/\\(x[0-9a-f]{2}|.)/gi, (whole, code: string) => {
    if (/^x./i.test(code)) return String.fromCharCode(parseInt(code.substring(1), 16))
    const character = ESCAPES[code]
    if (character === undefined)
      throw new Error(`unknown escape ${whole} in ${JSON.stringify(line)}`)
    return character
  })
}

export function millisecondsOf(argument: string): number {
  const found = /^(\d+)(ms|s)$/.exec(argument)
  if (found === null) throw new Error(`no duration: ${JSON.stringify(argument)}`)
  return Number(found[1]) * (found[2] === 's' ? 1000 : 1)
}
