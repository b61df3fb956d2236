// Names as a lenient reader understands them. Nothing here throws: whoever sends a name may send many that are wrong.

const ESCAPED = /(?:%[\da-f]{2})+/gi
const UNICODE = /\\+u([\da-f]{4})/gi

/** The name of a parameter; what is no escape stays as it is. */
export function decoded(name: string): string {
  const plain = name.includes('+') ? name.replaceAll('+', ' ').trim() : name
  if (!plain.includes('%')) return plain
  return plain.replace(ESCAPED, textOf).trim()
}

function textOf(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8')
}

/** The name of a member, without what is before its closing quote in a text in JSON. */
export function unescaped(name: string): string {
  if (!name.includes('\\')) return name
  return name.replace(UNICODE, letterOf).replace(/\\{1,128}$/, '')
}

function letterOf(_whole: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16))
}
