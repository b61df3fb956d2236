// Tells whether a stretch of an event stream stops behind an empty line, which is where events end.

const LF = 10
const CR = 13

/** The two line ends the bytes stop with; '' if they do not, or if they are mixed. */
export function blankLineAt(
  bytes: Buffer,
  from: number,
  to: number,
): '\n\n' | '\r\n\r\n' | '\r\r' | '' {
  if (to - from < 4) return ''
  const [last, before] = [bytes[to - 1], bytes[to - 2]]
  if (last === LF && before === LF) return '\n\n'
  if (last === CR && before === CR) return '\r\r'
  const isCrlf = last === LF && before === CR && bytes[to - 3] === LF && bytes[to - 4] === CR
  return isCrlf ? '\r\n\r\n' : ''
}
