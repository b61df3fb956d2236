// Holes in expected text: what may stand there, and what of it is kept for the blocks that follow. Pure.

const HOLES: Record<string, string> = {
  any: '[\\s\\S]*',
  number: '\\d+',
  date: '[A-Z][a-z]{2}, \\d{2} [A-Z][a-z]{2} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT',
  base64: '[A-Za-z0-9+/=_-]+',
}

/** `<session>` is told by the gateway, and `{{session}}` says it again. */
const KEEPING: Record<string, string> = {
  session: '[!-~]+',
  event: '[^\\r\\n]+',
  id: '-?\\d+|"[^"]*"',
}

/** What was found in the holes that keep, by name and number. */
export type Kept = Map<string, string>

const HOLE = /(<[a-z0-9]+(?: \d+)?>)/

function source(expected: string): string {
  const seen = new Set<string>()
  return expected
    .split(HOLE)
    .map((part) => {
      const [, name = '', number = '1'] = /^<([a-z0-9]+)(?: (\d+))?>$/.exec(part) ?? []
      const keeping = KEEPING[name]
      if (keeping === undefined) return HOLES[name] ?? literal(part)
      const group = `${name}_${number}`
      if (seen.has(group)) return `\\k<${group}>`
      seen.add(group)
      return `(?<${group}>${keeping})`
    })
    .join('')
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

export function fits(expected: string, actual: string, kept?: Kept): boolean {
  const found = new RegExp(`^${source(expected)}$`).exec(actual)
  for (const [group, text] of Object.entries(found?.groups ?? {}))
    kept?.set(group.replace('_', ' '), text)
  return found !== null
}

/** Characters of `actual`, from its start, that fit the expected text; -1 when they do not. */
export function fitsAtStart(expected: string, actual: string): number {
  return new RegExp(`^${source(expected)}`).exec(actual)?.[0].length ?? -1
}

export function fitsWithin(expected: string, actual: string): boolean {
  return new RegExp(source(expected)).test(actual)
}

/** Puts in what was kept; what was not stays as it is. */
export function recall(text: string, kept: Kept): string {
  return text.replace(
    /\{\{([a-z]+)(?: (\d+))?\}\}/g,
    (whole, name: string, number = '1') => kept.get(`${name} ${number}`) ?? whole,
  )
}
