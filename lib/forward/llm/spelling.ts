// Paths in other spellings, which lead to the same place at most servers: encoded, in capitals, with dots, with parameters.

const ENCODED = /%([0-9a-f]{2})/gi

/** Nothing in it is to be decoded, resolved, cut off or made small. */
const AS_IT_IS = /^(?:\/(?!\.)[a-z\d_:.-]+)+(?<!\.)$/

/** What servers do not take for a part of a path's last name. */
const BEHIND = /[/.\s\0]+$/

/** Byte by byte: what is no UTF-8 is no reason not to read the rest. */
function decoded(path: string): string {
  return path.replace(ENCODED, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
}

/**
 * All ways in which servers may read a path, in small letters, each at most once. Parameters are cut off each name by some
 * servers, and with all that follows by others.
 */
export function readings(path: string): readonly string[] {
  if (AS_IT_IS.test(path)) return [path]
  const plain = decoded(path).toLowerCase().replaceAll('\\', '/')
  if (!plain.includes(';')) return [resolved(plain)]
  const [first = ''] = plain.split(';', 1)
  return [resolved(first), resolved(plain.replace(/;[^/]*/g, ''))]
}

/** Whether all servers read it in the same way, but for what is encoded, capital letters and slashes at its end. */
export function isPlain(path: string): boolean {
  if (AS_IT_IS.test(path)) return true
  const plain = decoded(path).replace(/\/+$/, '')
  return !/[;\\\s\0]/.test(plain) && resolved(plain) === plain
}

/** Without dots that stand for this place or the one above, and without empty names. */
function resolved(path: string): string {
  const names: string[] = []
  for (const name of path.split('/'))
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  return `/${names.join('/')}`.replace(BEHIND, '')
}
