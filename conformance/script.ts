// Parses the text of a block into bytes and directives. Lines are lines of HTTP: CRLF is implied. Pure.

export type Part =
  | { bytes: string; directive?: undefined }
  | { directive: string; argument: string; bytes?: undefined }

const START_LINE = /^HTTP\/|HTTP\/[\d.]+$/

/** Lines that start with `> ` are directives; the lines between them are bytes, one part each. */
export function parseScript(text: string): Part[] {
  const parts: Part[] = []
  let lines: string[] = []
  const flush = (): void => {
    if (lines.length > 0) parts.push({ bytes: insertLength(bytesOf(lines)) })
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
 * Ends each line with CRLF, unless the line ends with `\`. A head without body gets its empty line; the last line of
 * anything else (a body) gets no CRLF, unless it is empty.
 */
export function bytesOf(lines: string[]): string {
  let bytes = ''
  let isContinued = false
  for (const line of lines) {
    isContinued = /(?:^|[^\\])(?:\\\\)*\\$/.test(line)
    bytes += isContinued ? unescape(line.slice(0, -1)) : unescape(line) + '\r\n'
  }
  if (isContinued || lines.at(-1) === '') return bytes
  const isHead = START_LINE.test(lines[0] ?? '') && !lines.includes('')
  return isHead ? bytes + '\r\n' : bytes.slice(0, -2)
}

/** Replaces `{{length}}` in a head by the length of the body. */
function insertLength(bytes: string): string {
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
  if (found === null) throw new Error(`invalid duration: ${JSON.stringify(argument)}`)
  return Number(found[1]) * (found[2] === 's' ? 1000 : 1)
}
