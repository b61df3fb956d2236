// YAML as the server writes it, one line for each value, cut into what folds and what is coloured. Nothing here draws.

export interface Section {
  /** The name at the top level; empty for what stands before the first. */
  readonly name: string
  /** Number of its first line, from 1. */
  readonly first: number
  readonly lines: readonly string[]
}

/** One for each name at the top level. */
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
  /** Blanks and the dashes of lists. */
  readonly lead: string
  /** With its colon. */
  readonly name: string
  readonly value: string
  readonly comment: string
}

const PARTS =
  /^(?<lead>\s*(?:- )*-?)(?<name>(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#:][^:#]*):(?= |$))?(?<value> ?(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|.*?)(?<comment>(?:^|\s)\s*#.*)?$/

/** All of them joined are the line again. */
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
  /** How deep it lies. */
  readonly depth: number
}

/** What parts are called: the names at the top, and whatever in them has a key or a name of its own. */
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
  /** Of the line, from 1. */
  readonly line: number
  readonly section: number
}

/** Lines that hold the words, in any case; none for no words. */
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

/** A text cut at what is searched: every second part is a hit. */
export function cutAt(text: string, words: string): readonly string[] {
  if (words === '') return [text]
  const [low, needle] = [text.toLowerCase(), words.toLowerCase()]
  // Letters that change their length with their case would cut elsewhere than they stand.
  if (low.length !== text.length) return [text]
  const parts: string[] = []
  let from = 0
  for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + needle.length))
    from = at + needle.length
  }
  return [...parts, text.slice(from)]
}
