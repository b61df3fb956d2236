// Parses a case file: markdown whose `##` sections are cases with prose and fenced blocks. Pure.

const KINDS = [
  'config',
  'env',
  'backend',
  'request',
  'response',
  'forwarded',
  'log',
  'exit',
  'stderr',
  'trace',
] as const

export type Kind = (typeof KINDS)[number]

export interface Block {
  kind: Kind
  /** The text after the kind on the fence: a number, `every split`, `to 2`. */
  info: string
  text: string
  line: number
}

export interface Case {
  title: string
  line: number
  blocks: Block[]
}

export interface CaseFile {
  path: string
  /** Blocks before the first case: defaults for cases without that kind; requests and responses start every case. */
  shared: Block[]
  cases: Case[]
}

export function parseCaseFile(path: string, markdown: string): CaseFile {
  const file: CaseFile = { path, shared: [], cases: [] }
  let open: Block | null = null
  let lines: string[] = []
  for (const [index, line] of markdown.split('\n').entries()) {
    const number = index + 1
    if (open !== null) {
      if (line === '```') {
        open.text = lines.join('\n')
        ;(file.cases.at(-1)?.blocks ?? file.shared).push(open)
        open = null
      } else lines.push(line)
    } else if (line.startsWith('```')) {
      open = parseFence(line.substring(3), `${path}:${number}`, number)
      lines = []
    } else if (line.startsWith('## '))
      file.cases.push({ title: line.substring(3).trim(), line: number, blocks: [] })
  }
  if (open !== null) throw new Error(`${path}:${open.line}: block is not closed`)
  checkCases(file)
  return file
}

function parseFence(fence: string, location: string, line: number): Block {
  const [word = '', ...rest] = fence.trim().split(/\s+/)
  const kind = KINDS.find((known) => known === word)
  if (kind === undefined)
    throw new Error(`${location}: unknown block \`${word}\`, expected one of ${KINDS.join(', ')}`)
  return { kind, info: rest.join(' '), text: '', line }
}

function checkCases(file: CaseFile): void {
  const titles = new Set<string>()
  for (const { title, line, blocks } of file.cases) {
    if (titles.has(title)) throw new Error(`${file.path}:${line}: two cases with the same title`)
    titles.add(title)
    if (!blocks.some(({ kind }) => kind !== 'config' && kind !== 'backend' && kind !== 'env'))
      throw new Error(`${file.path}:${line}: case without an expectation`)
  }
}

/** The requests and responses of a case, after the shared ones of its file. */
export function conversationOf(file: CaseFile, aCase: Case): Block[] {
  const isMessage = ({ kind }: Block): boolean => kind === 'request' || kind === 'response'
  const own = aCase.blocks.filter(isMessage)
  return own.length === 0 ? [] : [...file.shared.filter(isMessage), ...own]
}

/** The blocks of a kind for a case: its own, or the shared ones. */
export function blocksOf(file: CaseFile, aCase: Case, kind: Kind): Block[] {
  const own = aCase.blocks.filter((block) => block.kind === kind)
  return own.length > 0 ? own : file.shared.filter((block) => block.kind === kind)
}
