// Placeholders in expected text: what each matches, and which values are kept for later blocks. Pure.

const PATTERNS: Record<string, string> = {
  any: '[\\s\\S]*',
  number: '\\d+',
  date: '[A-Z][a-z]{2}, \\d{2} [A-Z][a-z]{2} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT',
  base64: '[A-Za-z0-9+/=_-]+',
}

/** `<session>` matches and keeps a value of the gateway; `{{session}}` inserts it into a later block. */
const KEPT_PATTERNS: Record<string, string> = {
  session: '[!-~]+',
  event: '[^\\r\\n]+',
  id: '-?\\d+|"[^"]*"',
}

/** Values of the keeping placeholders, by name and number. */
export type Kept = Map<string, string>

const PLACEHOLDER = /(<[a-z0-9]+(?: \d+)?>)/

function patternOf(expected: string): string {
  const seen = new Set<string>()
  return expected
    .split(PLACEHOLDER)
    .map((part) => {
      const [, name = '', number = '1'] = /^<([a-z0-9]+)(?: (\d+))?>$/.exec(part) ?? []
      const keeping = KEPT_PATTERNS[name]
      if (keeping === undefined) return PATTERNS[name] ?? escapeRegExp(part)
      const group = `${name}_${number}`
      if (seen.has(group)) return `\\k<${group}>`
      seen.add(group)
      return `(?<${group}>${keeping})`
    })
    .join('')
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

export function fits(expected: string, actual: string, kept?: Kept): boolean {
  const found = new RegExp(`^${patternOf(expected)}$`).exec(actual)
  for (const [group, text] of Object.entries(found?.groups ?? {}))
    kept?.set(group.replace('_', ' '), text)
  return found !== null
}

/** The length of the match at the start of `actual`; -1 without a match. */
export function fitsAtStart(expected: string, actual: string): number {
  return new RegExp(`^${patternOf(expected)}`).exec(actual)?.[0].length ?? -1
}

export function fitsWithin(expected: string, actual: string): boolean {
  return new RegExp(patternOf(expected)).test(actual)
}

/** Inserts kept values; unknown placeholders stay. */
export function insertKept(text: string, kept: Kept): string {
  return text.replace(
    /\{\{([a-z]+)(?: (\d+))?\}\}/g,
    (whole, name: string, number = '1') => kept.get(`${name} ${number}`) ?? whole,
  )
}
