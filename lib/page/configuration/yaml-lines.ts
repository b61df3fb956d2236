// Splits YAML text into lines with their keys, so that parts can be folded and found.

export interface Section {
  /** The top-level key; empty for lines before the first one. */
  readonly name: string
  /** Number of its first line, from 1. */
  readonly first: number
  readonly lines: readonly string[]
}

/** One for each top-level key. */
export function sectionsOf(yaml: string): readonly Section[] {
  const lines = yaml.replace(/\n$/, '').split('\n')
  const sections: { name: string; first: number; lines: string[] }[] = []
  for (const [at, line] of lines.entries()) {
    const name = /^(?![ #-])("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^:]+):(?: |$)/.exec(line)?.[1]
    if (name !== undefined || sections.length === 0)
      sections.push({ name: name ?? '', first: at + 1, lines: [] })
    sections.at(-1)!.lines.push(line)
  }
  return sections
}

export interface LineParts {
  /** Spaces and list dashes. */
  readonly lead: string
  /** With its colon. */
  readonly name: string
  readonly value: string
  readonly comment: string
}

const PARTS =
  /^(?<lead>\s*(?:- )*-?)(?<name>(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#:][^:#]*):(?= |$))?(?<value> ?(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|.*?)(?<comment>(?:^|\s)\s*#.*)?$/

/** Joined, the parts are the line. */
export function partsOf(line: string): LineParts {
  const {
    lead = '',
    name = '',
    value = '',
    comment = '',
  } = PARTS.exec(line)?.groups ?? {
    value: line,
  }
  return { lead, name, value, comment }
}

export interface Jump {
  readonly label: string
  readonly line: number
  /** Depth of indentation. */
  readonly depth: number
}

/** Names of parts: the top-level keys, and entries in them with a key or name of their own. */
export function jumpsOf(sections: readonly Section[], most: number): readonly Jump[] {
  const jumps: Jump[] = []
  for (const { name, first, lines } of sections) {
    if (name !== '') jumps.push({ label: name, line: first, depth: 0 })
    for (const [at, line] of lines.entries()) {
      const [, lead, label] = /^( *)- (?:key|name): (\S+)/.exec(line) ?? []
      if (lead !== undefined && label !== undefined)
        jumps.push({ label, line: first + at, depth: Math.floor(lead.length / 4) + 1 })
    }
  }
  return jumps.slice(0, most)
}

export interface Match {
  /** Line number, from 1. */
  readonly line: number
  readonly section: number
}

/** Lines that contain the text, ignoring case; none for an empty text. */
export function matchesIn(
  sections: readonly Section[],
  words: string,
  most: number,
): readonly Match[] {
  const needle = words.toLowerCase()
  if (needle === '') return []
  const found: Match[] = []
  for (const [section, { first, lines }] of sections.entries())
    for (const [at, line] of lines.entries()) {
      if (found.length >= most) return found
      if (line.toLowerCase().includes(needle)) found.push({ line: first + at, section })
    }
  return found
}

/** Splits a text at the matches: every second part is a match. */
export function cutAt(text: string, words: string): readonly string[] {
  if (words === '') return [text]
  const [low, needle] = [text.toLowerCase(), words.toLowerCase()]
  // Characters that change their length with their case would shift the positions.
  if (low.length !== text.length) return [text]
  const parts: string[] = []
  let from = 0
  for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + needle.length))
    from = at + needle.length
  }
  return [...parts, text.slice(from)]
}
